-- expect: string.rep makes texts of at most
local s=('a'):rep(1e6); s:gsub('a','b'); s:gsub('.-b','x')
