--- Reports whether strings, numbers, and tables have equal contents.
---@param a any
---@param b any
---@return boolean
local function are_alike(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not are_alike(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

return are_alike
