-- expect: string.rep returns at most
local s=('x=1 '):rep(3e7) load(s)
