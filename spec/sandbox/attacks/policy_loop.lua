-- expect: instructions per call
require('blis').run { routing = function() while true do end end }
