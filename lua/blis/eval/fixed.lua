--- Libraries that a candidate cannot change, for evaluations with a frozen text: an EVOLVE-BLOCK
--- that replaced `blis.scorer` or `ipairs` would change the meaning of the text behind it.
local fixed = {}

local function refuse(name)
  error(("'%s' belongs to a library, and the EVOLVE-BLOCK of a frozen text cannot replace it")
    :format(tostring(name)), 3)
end

--- Puts libraries into an environment that scripts can read, and cannot write to. New global
--- variables are allowed.
---@param environment table of sandbox.environment
---@return table environment with the libraries of the given one
function fixed.environment(environment)
  local contents = {}

  --- A table that shows a library; of a library, it is always the same one.
  local function shown(library)
    local view = setmetatable({}, { __index = library, __metatable = false,
      __newindex = function(_, name) refuse(name) end })
    contents[view] = library
    return view
  end

  local rawset, require_blis = environment.rawset, environment.require
  local blis = require_blis "blis"
  local vec, views = rawget(blis, "vec"), {}
  views.blis, views.vec = shown(blis), shown(vec)
  for _, name in ipairs { "string", "table", "math" } do
    environment[name] = shown(environment[name])
  end
  rawset(blis, "vec", views.vec)

  function environment.require(name)
    require_blis(name)
    return views.blis
  end
  local view = setmetatable({}, { __index = environment, __metatable = false,
    __newindex = function(globals, name, value)
      if environment[name] ~= nil then refuse(name) end
      rawset(globals, name, value)
    end })
  function environment.rawset(t, name, value)
    if contents[t] or t == view and environment[name] ~= nil then refuse(name) end
    return rawset(t, name, value)
  end
  for _, name in ipairs { "next", "pairs", "rawget" } do
    local read = environment[name]
    environment[name] = function(t, ...) return read(contents[t] or t, ...) end
  end
  environment._G = view
  return view
end

return fixed
