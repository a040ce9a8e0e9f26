-- expect: memory limit
local s = ('x'):rep(60000)
pcall(function() local t = {} for i = 1, 1e9 do t[i] = s .. i end end) print('went on')
