--- Plugins of llm-d that go by labels of endpoints and headers of requests, as policies here, which
--- are told the labels. What a file does not say, the labels of its pods, are examples.
local errors = require "blis.errors"
local lua_text = require "blis.production.lua_text"
local sorted = require "blis.sorted"

local labels = {}

local code = lua_text.code

local range_label = "llm-d.ai/context-length-range"

--- Headers, and the fields of requests that stand for them. The first two of a field are those of
--- llm-d and of the Gateway API Inference Extension.
local fields = {
  ["x-llm-d-inference-fairness-id"] = "tenant", ["x-gateway-inference-fairness-id"] = "tenant",
  ["x-session-id"] = "session", ["x-session-token"] = "session",
  ["x-llm-d-inference-objective"] = "slo_class", ["x-gateway-inference-objective"] = "slo_class",
  ["x-gateway-model-name"] = "model",
}

--- The header that is written for a field.
labels.headers = { tenant = "x-llm-d-inference-fairness-id", session = "x-session-id",
  slo_class = "x-llm-d-inference-objective", model = "x-gateway-model-name" }

--- Notes that a label is looked at; examples are its values unless somebody knows better.
local function use(importer, plugin, label, examples)
  local known = importer.known_labels[label]
  importer.labels[label] = importer.labels[label] or known or examples
  if not known then
    importer:add("note", plugin, "the values of the label %s are examples: put in those of your "
      .. "endpoints", errors.show(label))
  end
  return code "labels"
end

-- Selectors: those of Kubernetes, and the parameters of by-label.

local function is_texts(value)
  if type(value) ~= "table" or #value == 0 then return false end
  for _, one in ipairs(value) do
    if type(one) ~= "string" or one == "" then return false end
  end
  return true
end

local selector = {}

function selector.matchLabels(match, value)
  if type(value) ~= "table" then return false end
  for _, label in ipairs(sorted.names(value)) do
    if not is_texts { value[label] } then return false end
    match[label] = { value[label] }
  end
  return #value == 0
end

function selector.matchExpressions(match, value)
  if type(value) ~= "table" then return false end
  for _, one in ipairs(value) do
    local is_known = type(one) == "table" and type(one.key) == "string" and one.operator == "In"
      and is_texts(one.values)
    if not is_known then return false end
    match[one.key] = one.values
  end
  return true
end

function selector.label(match, value, given)
  if type(value) ~= "string" or not is_texts(given.validValues) then return false end
  match[value] = given.validValues
  return true
end

function selector.validValues(_, _, given) return given.label ~= nil end

function selector.allowsNoLabel(_, value) return type(value) == "boolean" end

--- A filter on labels; nil where its parameters say something else than that labels are equal.
function labels.selector(importer, plugin, profile)
  local match, given = {}, plugin.parameters
  for _, name in ipairs(sorted.names(given)) do
    if not selector[name] or not selector[name](match, given[name], given) then
      return importer:missing(plugin, ("its parameter %s is not simulated, only that labels are "
        .. "equal (matchLabels, or matchExpressions with In); all candidates stay"):format(name))
    end
  end
  if next(match) == nil then
    return importer:missing(plugin, "it names no label; all candidates stay")
  end
  local made = { plugin.known.name, match = match, allows_unlabelled = given.allowsNoLabel or nil }
  for _, label in ipairs(sorted.names(match)) do
    made.labels = use(importer, plugin, label, { match[label][1], "-" })
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
  local field = fields[tostring(header):lower()]
  if not field then
    importer:missing(plugin, ("no field of requests stands for the header %s; it scores all alike")
      :format(errors.show(header)))
    return false
  end
  made.field = field
  made.labels = use(importer, plugin, made.label, { "a", "b" })
  return true
end

--- context-length-aware is a filter as well, if it is told so; nil otherwise.
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
