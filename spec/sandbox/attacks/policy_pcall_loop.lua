-- expect: instructions per call
require('blis').run { routing = function() while true do pcall(error) end end }
