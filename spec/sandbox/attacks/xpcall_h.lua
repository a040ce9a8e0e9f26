-- expect: global 'xpcall'
local function h() while true do end end xpcall(function() while true do end end, h)
