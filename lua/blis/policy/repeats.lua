--- Notices when an experiment that is run again comes to another result, because a function of the
--- script remembers something between runs.
local repeats = {}

-- Experiments that are remembered.
local most = 8

-- The last ones with functions of a script, latest first: { values =, hash = }.
local known = {}

--- Everything an experiment says, by path. Functions and objects are held weakly: one that is gone
--- is in no later experiment.
local function flatten(given, prefix, values)
  for key, value in pairs(given) do
    local path = ("%s.%s"):format(prefix, tostring(key))
    if type(value) == "table" then
      flatten(value, path, values)
    else
      values[path] = value
    end
  end
  return values
end

local function is_same(a, b)
  for path, value in pairs(a) do
    if b[path] ~= value then return false end
  end
  for path in pairs(b) do
    if a[path] == nil then return false end
  end
  return true
end

local main_functions = { "route", "decide", "pick", "score", "observe", "keep", "goes_before",
  "victim", "quality", "escalate", "measure", "ceilings", "key" }

--- Whether a definition of a policy has functions that outlive a run.
local function is_plain(definition)
  for _, name in ipairs(main_functions) do
    if definition[name] ~= nil then return true end
  end
  return definition.base ~= nil and is_plain(definition.base)
end

--- True if state of a run can change the next run: functions of the script that are not created
--- for every run.
---@param policies table[] definitions
---@return boolean
function repeats.may_remember(policies)
  for _, one in ipairs(policies) do
    if is_plain(one) then return true end
  end
  return false
end

--- The note about an experiment with two results.
repeats.note = "two runs of the same experiment gave different results: one of its functions keeps "
  .. "state between runs. To create new state for every run, write the policy as { name =, new = "
  .. "function(context) ... return { ... } end }"

--- Runs so far whose functions may remember something.
repeats.runs = 0

--- What a table says of a policy, or of a trial.
repeats.short_note = "keeps state between runs, so its metrics depend on earlier runs"

--- True when the experiment was run before, with another result.
---@param spec table
---@param hash string
---@return boolean
function repeats.is_other(spec, hash)
  repeats.runs = repeats.runs + 1
  local values = flatten(spec, "", setmetatable({}, { __mode = "v" }))
  for i, one in ipairs(known) do
    if is_same(one.values, values) then
      table.insert(known, 1, table.remove(known, i))
      return one.hash ~= hash
    end
  end
  table.insert(known, 1, { values = values, hash = hash })
  known[most + 1] = nil
  return false
end

return repeats
