-- expect: tables without a metatable
table.sort(setmetatable({}, {__len=function() return 1<<30 end, __index=function(t,i) return i end, __newindex=function() end}))
