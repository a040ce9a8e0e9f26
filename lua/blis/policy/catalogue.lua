--- The built-in policies by their kind: `catalogue.routers` and so on, as `core.policies` describes
--- them, what the words for the gateway's queue mean, policies that are processes of the user's,
--- and those that are written in Lua. A kind is described when it is first asked for: most scripts
--- use two or three of them.
local core = require "blis.core"
local deferred = require "blis.deferred"
local external = deferred "blis.policy.external"
local inverted = deferred "blis.policy.inverted"
local labels = deferred "blis.policy.labels"
local queue_policies = deferred "blis.config.queue_policies"

local external_kinds = { routers = true, admissions = true, priorities = true, autoscalers = true }

-- Fields other than the name are read on first use, because most runs do not need them.
local function late_entry(name, aliases, find)
  return setmetatable({ name = name, aliases = aliases },
    { __index = function(_, key) return find()[key] end })
end

local function add_external(kind, entries)
  entries[#entries + 1] = late_entry("external", {}, function() return external.entries[kind] end)
  entries[#entries + 1] = late_entry("external-http", {}, function()
    return external.http_entries[kind]
  end)
end

-- Policies that are written in Lua: the file, with their names and aliases there.
local in_lua = {
  filters = { { labels, "llm-d.label-selector-filter", { "label-selector-filter" } },
    { labels, "llm-d.context-length-aware", {} } },
  scorers = { { labels, "llm-d.context-length-aware", {} },
    { labels, "llm-d.header-label-affinity-scorer", { "header-label-affinity-scorer" } },
    { inverted, "inverted", {} } },
}

local function add_in_lua(kind, entries)
  for _, one in ipairs(in_lua[kind] or {}) do
    local file, name, aliases = table.unpack(one)
    entries[#entries + 1] = late_entry(name, aliases, function()
      return file.entries[kind][name]
    end)
  end
end

return setmetatable({}, {
  __index = function(catalogue, kind)
    local entries = core.policies(kind) or queue_policies[kind]
    add_in_lua(kind, entries)
    if external_kinds[kind] then add_external(kind, entries) end
    catalogue[kind] = entries
    return entries
  end,
})
