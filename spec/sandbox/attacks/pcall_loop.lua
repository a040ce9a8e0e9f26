-- expect: instructions per call
while true do pcall(function() while true do end end) end
