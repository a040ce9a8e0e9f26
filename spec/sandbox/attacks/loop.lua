-- expect: instructions per call
while true do end
