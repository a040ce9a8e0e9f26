-- expect: index a boolean value
local m = getmetatable('') m.__index = nil
