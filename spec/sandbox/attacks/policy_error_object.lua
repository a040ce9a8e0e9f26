-- expect: instructions per call
require('blis').run { routing = function() error(setmetatable({}, { __tostring = function() while true do end end })) end }
