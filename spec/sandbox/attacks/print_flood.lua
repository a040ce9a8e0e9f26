-- expect: prints at most
while true do print(('x'):rep(60000)) end
