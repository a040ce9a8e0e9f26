-- expect: instructions per call
tostring(setmetatable({}, { __tostring = function() while true do end end }))
