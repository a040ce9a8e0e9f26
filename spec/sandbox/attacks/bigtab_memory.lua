-- expect: memory limit
local s, t = ('x'):rep(60000), {} for i = 1, 1e9 do t[i] = s .. i end
