-- expect: memory limit
local s, t = ('x'):rep(60000), {}
require('blis').run { routing = function() for i = 1, 1e9 do t[i] = s .. i end end }
