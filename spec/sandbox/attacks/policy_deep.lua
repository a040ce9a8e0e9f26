-- expect: memory limit
local function f() return 1 + f() end require('blis').run { routing = f }
