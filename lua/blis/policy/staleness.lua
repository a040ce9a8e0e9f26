--- The options of a cluster by which the signals of a routing policy age. A policy that keeps
--- counts of its own decisions reads no such signal, so stale signals do not change it.
local catalogue = require "blis.policy.catalogue"
local definition = require "blis.policy.definition"
local usual_scorers = require "blis.policy.usual_scorers"

local staleness = {}

--- In the order in which texts list them.
staleness.options = { "snapshot_refresh_us", "cache_signal_delay_us" }

local function add(set, names)
  for _, name in ipairs(names or {}) do set[name] = true end
end

-- A policy in Lua can read any signal.
local function add_all(set) add(set, staleness.options) end

--- The stages of a weighted router: a stage without parameters is in Lua.
local function add_stage(set, kind, stage)
  if not stage.parameters then return add_all(set) end
  add(set, definition.entry(kind, catalogue[kind], stage.name, kind).ages)
end

local function add_usual_scorers(set, name)
  for scorer in (usual_scorers.of(name) or ""):gmatch "([%w-]+):" do
    add(set, definition.entry("scorer", catalogue.scorers, scorer, "scorers").ages)
  end
end

--- The options that age a signal of this policy.
---@param router table a definition (policy.read_router)
---@return table<string, boolean>
function staleness.of(router)
  local set = {}
  if not router.parameters then
    add_all(set)
    return set
  end
  add(set, definition.entry("routing policy", catalogue.routers, router.name, "routing").ages)
  for _, item in ipairs(router.scorers or {}) do add_stage(set, "scorers", item.scorer) end
  for _, filter in ipairs(router.filters or {}) do add_stage(set, "filters", filter) end
  if router.picker then add_stage(set, "pickers", router.picker) end
  if not router.scorers then add_usual_scorers(set, router.name) end
  return set
end

--- "can read signals delayed by snapshot_refresh_us", of an entry of the catalogue. Returns nil
--- for other kinds of policies.
---@param kind string "routers"
---@param entry table
---@return string?
function staleness.text(kind, entry)
  if not entry.ages then return nil end
  local set, names = {}, {}
  add(set, entry.ages)
  if kind == "routers" then add_usual_scorers(set, entry.name) end
  for _, name in ipairs(staleness.options) do
    if set[name] then names[#names + 1] = name end
  end
  if #names == 0 then return "reads no delayed signal" end
  return "can read signals delayed by " .. table.concat(names, " and ")
end

return staleness
