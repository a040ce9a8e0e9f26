--- A module that is loaded when it is called or a field is first used. Most runs do not use these
--- modules, and start sooner.
---@param name string as require has it
---@return table
return function(name)
  return setmetatable({}, {
    __index = function(_, key) return require(name)[key] end,
    __call = function(_, ...) return require(name)(...) end,
  })
end
