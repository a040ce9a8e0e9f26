--- The built-in policies by their kind: `catalogue.routers` and so on, as `core.policies` describes
--- them. A kind is described when it is first asked for: most scripts use two or three of them.
local core = require "blis.core"

return setmetatable({}, {
  __index = function(catalogue, kind)
    local entries = core.policies(kind)
    catalogue[kind] = entries
    return entries
  end,
})
