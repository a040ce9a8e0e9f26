--- The built-in policies by their kind: `catalogue.routers` and so on, as `core.policies` describes
--- them, what the words for the gateway's queue mean, policies that are processes of the user's,
--- and those that are written in Lua. A kind is described when it is first asked for: most scripts
--- use two or three of them.
local core = require "blis.core"
local deferred = require "blis.deferred"
local external = deferred "blis.policy.external"
local labels = deferred "blis.policy.labels"
local queue_policies = deferred "blis.config.queue_policies"

local external_kinds = { routers = true, admissions = true, priorities = true, autoscalers = true }

--- What most runs do without is read when something beside its name is asked for.
local function late_entry(name, aliases, find)
  return setmetatable({ name = name, aliases = aliases },
    { __index = function(_, key) return find()[key] end })
end

local function external_entry(kind)
  return late_entry("external", {}, function() return external.entries[kind] end)
end

-- Policies that are written in Lua, with their aliases.
local of_labels = {
  filters = { { "llm-d.label-selector-filter", { "label-selector-filter" } },
    { "llm-d.context-length-aware", {} } },
  scorers = { { "llm-d.context-length-aware", {} },
    { "llm-d.header-label-affinity-scorer", { "header-label-affinity-scorer" } } },
}

local function add_of_labels(kind, entries)
  for _, one in ipairs(of_labels[kind] or {}) do
    entries[#entries + 1] = late_entry(one[1], one[2], function()
      return labels.entries[kind][one[1]]
    end)
  end
end

return setmetatable({}, {
  __index = function(catalogue, kind)
    local entries = core.policies(kind) or queue_policies[kind]
    add_of_labels(kind, entries)
    if external_kinds[kind] then entries[#entries + 1] = external_entry(kind) end
    catalogue[kind] = entries
    return entries
  end,
})
