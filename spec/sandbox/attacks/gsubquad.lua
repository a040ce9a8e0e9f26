-- expect: string.rep returns at most
local s=('a'):rep(1e6); s:gsub('a','b'); s:gsub('.-b','x')
