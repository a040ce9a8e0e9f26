--- Plugins of llm-d that use labels of endpoints and headers of requests, as policies of blis that
--- receive the labels. A file does not contain the labels of its pods, so these are examples.
local errors = require "blis.errors"
local lua_text = require "blis.production.lua_text"
local sorted = require "blis.sorted"

local labels = {}

local code = lua_text.code

local range_label = "llm-d.ai/context-length-range"

--- Headers, and the corresponding fields of requests. The first two headers of a field are from
--- llm-d and from the Gateway API Inference Extension.
local fields = {
  ["x-llm-d-inference-fairness-id"] = "tenant", ["x-gateway-inference-fairness-id"] = "tenant",
  ["x-session-id"] = "session", ["x-session-token"] = "session",
  ["x-llm-d-inference-objective"] = "slo_class", ["x-gateway-inference-objective"] = "slo_class",
  ["x-gateway-model-name"] = "model",
}

--- The header that is written for a field.
labels.headers = { tenant = "x-llm-d-inference-fairness-id", session = "x-session-id",
  slo_class = "x-llm-d-inference-objective", model = "x-gateway-model-name" }

--- The field of requests that corresponds to a header, or nil.
---@param header any
---@return string?
function labels.field_of(header) return fields[tostring(header):lower()] end

--- Records that a plugin reads a label; examples are its values unless the user sets others.
local function use(importer, plugin, label, examples)
  local known = importer.known_labels[label]
  importer.labels[label] = importer.labels[label] or known or examples
  if not known then
    importer:add("note", plugin, "the values of the label %s are examples: replace them with those "
      .. "of your endpoints", errors.show(label))
  end
  return code "labels"
end

-- Selectors: those of Kubernetes, and the parameters of by-label. Each reader adds to the filter
-- what it finds, or returns what is wrong with it.

local function is_texts(value)
  if type(value) ~= "table" or #value == 0 then return false end
  for _, one in ipairs(value) do
    if type(one) ~= "string" or one == "" then return false end
  end
  return true
end

--- Those of a that are in b, too.
local function common(a, b)
  local is_there, both = {}, {}
  for _, one in ipairs(b) do is_there[one] = true end
  for _, one in ipairs(a) do
    if is_there[one] then both[#both + 1] = one end
  end
  return both
end

local function add_once(list, one)
  if #common(list, { one }) == 0 then list[#list + 1] = one end
end

--- A label has one of some values; said twice, both hold.
local function match(made, label, values)
  made.match = made.match or {}
  made.match[label] = made.match[label] and common(made.match[label], values) or values
  if #made.match[label] == 0 then
    return ("no endpoint can satisfy its condition on the label %s"):format(errors.show(label))
  end
end

local operators = {}

operators.In = { has_values = true, add = match }

operators.NotIn = { has_values = true, add = function(made, label, values)
  made.exclude = made.exclude or {}
  made.exclude[label] = made.exclude[label] or {}
  for _, value in ipairs(values) do add_once(made.exclude[label], value) end
end }

operators.Exists = { add = function(made, label)
  made.present = made.present or {}
  add_once(made.present, label)
end }

operators.DoesNotExist = { add = function(made, label)
  made.absent = made.absent or {}
  add_once(made.absent, label)
end }

--- One of matchExpressions: { key, operator, values }.
local function expression(made, one, at)
  if type(one) ~= "table" or type(one.key) ~= "string" or one.key == "" then
    return at .. ": expected { key, operator, values }"
  end
  local operator = operators[one.operator]
  if not operator then
    return ("%s.operator is %s, expected In, NotIn, Exists or DoesNotExist%s"):format(at,
      errors.show(one.operator), errors.suggestion(tostring(one.operator), sorted.names(operators)))
  end
  for _, name in ipairs(sorted.names(one)) do
    if name ~= "key" and name ~= "operator" and name ~= "values" then
      return ("%s has no field '%s', only key, operator and values"):format(at, name)
    end
  end
  local has_values = one.values ~= nil and not (type(one.values) == "table" and #one.values == 0)
  if operator.has_values and not is_texts(one.values) then
    return ("%s.values: %s requires a list of one or more strings"):format(at, one.operator)
  elseif not operator.has_values and has_values then
    return ("%s.values: %s accepts no values"):format(at, one.operator)
  end
  return operator.add(made, one.key, one.values)
end

local selector = {}

function selector.matchLabels(made, value)
  if type(value) ~= "table" or #value > 0 then return "matchLabels: expected { label: value }" end
  for _, label in ipairs(sorted.names(value)) do
    if not is_texts { value[label] } then
      return ("matchLabels: the value of %s is %s, expected a string"):format(errors.show(label),
        errors.show(value[label]))
    end
    local problem = match(made, label, { value[label] })
    if problem then return problem end
  end
end

function selector.matchExpressions(made, value)
  if type(value) ~= "table" or (next(value) ~= nil and #value == 0) then
    return "matchExpressions: expected a list of { key, operator, values }"
  end
  for i, one in ipairs(value) do
    local problem = expression(made, one, ("matchExpressions[%d]"):format(i))
    if problem then return problem end
  end
end

function selector.label(made, value, given)
  if type(value) ~= "string" or not is_texts(given.validValues) then
    return "label: expected a string, together with validValues"
  end
  return match(made, value, given.validValues)
end

function selector.validValues(_, _, given)
  if given.label == nil then return "validValues: label is missing" end
end

function selector.allowsNoLabel(made, value)
  if type(value) ~= "boolean" then return "allowsNoLabel: expected true or false" end
  made.allows_unlabelled = value or nil
end

-- Values of a label for which a requirement holds for some instances and not for others.
local function examples_of(made, label)
  if made.match and made.match[label] then return { made.match[label][1], "-" } end
  if made.exclude and made.exclude[label] then return { made.exclude[label][1], "other" } end
  return { "any", "-" }
end

--- The labels that a selector uses.
local function labels_of(made)
  local all = {}
  for _, kind in ipairs { "match", "exclude" } do
    for label in pairs(made[kind] or {}) do all[label] = true end
  end
  for _, kind in ipairs { "present", "absent" } do
    for _, label in ipairs(made[kind] or {}) do all[label] = true end
  end
  return sorted.names(all)
end

--- A filter on labels.
function labels.selector(importer, plugin, profile)
  local made, given = { plugin.known.name }, plugin.parameters
  for _, name in ipairs(sorted.names(given)) do
    local problem
    if selector[name] then
      problem = selector[name](made, given[name], given)
    else
      problem = ("unknown parameter '%s'%s"):format(name, errors.suggestion(name,
        sorted.names(selector)))
    end
    if problem then importer.problems:add(plugin.line, "%s: %s", plugin.name, problem) end
  end
  local names = labels_of(made)
  if #names == 0 then
    importer:add("note", plugin, "it selects no label: all candidates stay")
    return nil
  end
  for _, label in ipairs(names) do
    made.labels = use(importer, plugin, label, examples_of(made, label))
  end
  importer:add("taken", plugin, "filter %s of profile %s", plugin.known.name, profile.name)
  return made
end

-- Scorers.

local example_lengths = { "0-8192", "8193-131072" }

labels.readers = {}

labels.readers["context-length-aware"] = function(importer, plugin, made)
  made.labels = use(importer, plugin, made.label or range_label, example_lengths)
  return true
end

labels.readers["header-label-affinity-scorer"] = function(importer, plugin, made)
  local header = plugin.parameters.headerName
  local field = labels.field_of(header)
  if not field then
    importer:missing(plugin, ("no field of requests corresponds to the header %s; all candidates "
      .. "get the same score")
      :format(errors.show(header)))
    return false
  end
  made.field = field
  made.labels = use(importer, plugin, made.label, { "a", "b" })
  return true
end

--- context-length-aware as a filter, if its configuration requests this; nil otherwise.
function labels.length_filter(importer, plugin, profile)
  if plugin.type ~= "context-length-aware" or not plugin.parameters.enableFiltering then
    return nil
  end
  local made = importer:parameters(plugin, { plugin.known.name })
  made.labels = code "labels"
  importer:add("taken", plugin, "filter %s of profile %s", made[1], profile.name)
  return made
end

--- The definition of the labels that were looked at.
function labels.define(importer)
  if next(importer.labels) == nil then return end
  table.insert(importer.definitions, 1, "-- Labels: their values by instance in turn, from the "
    .. "beginning again; \"-\" = none.\nlocal labels = " .. lua_text.of(importer.labels, 0))
end

return labels
