-- expect: instructions per call
while true do pcall(function() return ('x'):rep(1<<40) end) pcall(string.rep,'x',1<<29) end
