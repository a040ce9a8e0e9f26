-- expect: string.rep makes texts
local s=('x=1 '):rep(3e7) load(s)
