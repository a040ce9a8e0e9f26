--- The built-in policies by their kind: `catalogue.routers` and so on, as `core.policies` describes
--- them, what the words for the gateway's queue mean, and policies that are processes of the
--- user's. A kind is described when it is first asked for: most scripts use two or three of them.
local core = require "blis.core"
local deferred = require "blis.deferred"
local external = deferred "blis.policy.external"
local queue_policies = deferred "blis.config.queue_policies"

local external_kinds = { routers = true, admissions = true, priorities = true, autoscalers = true }

--- What most runs do without is read when something beside its name is asked for.
local function external_entry(kind)
  return setmetatable({ name = "external", aliases = {} },
    { __index = function(_, key) return external.entries[kind][key] end })
end

return setmetatable({}, {
  __index = function(catalogue, kind)
    local entries = core.policies(kind) or queue_policies[kind]
    if external_kinds[kind] then entries[#entries + 1] = external_entry(kind) end
    catalogue[kind] = entries
    return entries
  end,
})
