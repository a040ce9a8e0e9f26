-- expect: expected the index of a candidate
require('blis').run { routing = function() return 0 / 0 end }
