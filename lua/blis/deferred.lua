--- A module that is loaded when something of it is first used, or when it is called, for what most
--- runs do without: they start sooner.
---@param name string as require has it
---@return table
return function(name)
  return setmetatable({}, {
    __index = function(_, key) return require(name)[key] end,
    __call = function(_, ...) return require(name)(...) end,
  })
end
