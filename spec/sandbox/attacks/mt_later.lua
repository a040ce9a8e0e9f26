-- expect: instructions per call
local mt = {} local o = setmetatable({}, mt) mt.__close = function() end mt.__index = 1
while o.x == nil do end
