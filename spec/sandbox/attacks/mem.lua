-- expect: string.rep returns at most
local s=('x'):rep(1<<20) local t={} while true do t[#t+1]=s..#t end
