--- Policies that use labels of instances, as plugins of llm-d, which read labels of the endpoints.
local epp_labels = require "blis.production.epp.labels"
local names = require "blis.production.export.names"
local sorted = require "blis.sorted"

local labels = {}

local range_label = "llm-d.ai/context-length-range"

--- Configured labels of instances correspond to labels of the endpoints.
local function keep(exporter, label, given)
  if not exporter.labels[label] then
    exporter.findings:add("note", "label " .. label, nil, "endpoints must have it in a selector")
  end
  exporter.labels[label] = (given.labels or {})[label]
end

local function add_expressions(expressions, operator, named)
  for _, label in ipairs(sorted.names(named or {})) do
    expressions[#expressions + 1] = { key = label, operator = operator, values = named[label] }
  end
end

local function add_labels(expressions, operator, list)
  for _, label in ipairs(list or {}) do
    expressions[#expressions + 1] = { key = label, operator = operator }
  end
end

--- A filter on labels, as a selector of Kubernetes.
function labels.selector(exporter, given, what)
  if given.allows_unlabelled and given.match then
    exporter:unmapped(what, "a selector excludes endpoints without a matching label")
  end
  local equal, several, expressions = {}, {}, {}
  for label, values in pairs(given.match or {}) do
    if #values == 1 then equal[label] = values[1] else several[label] = values end
  end
  add_expressions(expressions, "In", several)
  add_expressions(expressions, "NotIn", given.exclude)
  add_labels(expressions, "Exists", given.present)
  add_labels(expressions, "DoesNotExist", given.absent)
  for _, label in ipairs(sorted.names(equal)) do keep(exporter, label, given) end
  for _, one in ipairs(expressions) do keep(exporter, one.key, given) end
  return exporter:plugin("label-selector-filter", { matchLabels = next(equal) and equal or nil,
    matchExpressions = expressions[1] and expressions or nil })
end

labels.scorers = {}

labels.scorers["llm-d.context-length-aware"] = function(exporter, profile, given)
  local label = given.label or range_label
  keep(exporter, label, given)
  local filters = profile.length_filters
  local is_filter = filters ~= nil and filters[label]
  if is_filter then filters[label] = nil end
  return exporter:plugin("context-length-aware", { label = label,
    enableFiltering = is_filter or nil })
end

labels.scorers["llm-d.header-label-affinity-scorer"] = function(exporter, _, given)
  keep(exporter, given.label, given)
  return exporter:plugin("header-label-affinity-scorer", { labelKey = given.label,
    headerName = epp_labels.headers[given.field or "tenant"] })
end

--- A filter on lengths is a part of its scorer there: kept until the scorers are known.
---@return boolean is_one
function labels.take_length_filter(exporter, profile, given)
  local name, parameters = names.parts_of(given)
  if name ~= "llm-d.context-length-aware" then return false end
  local label = parameters.label or range_label
  keep(exporter, label, parameters)
  local filters = profile.length_filters or {}
  filters[label], profile.length_filters = true, filters
  return true
end

--- Those without a scorer: one that counts for nothing.
function labels.add_length_filters(exporter, profile)
  for _, label in ipairs(sorted.names(profile.length_filters or {})) do
    table.insert(profile.plugins, { weight = 0, pluginRef = exporter:plugin("context-length-aware",
      { label = label, enableFiltering = true }) })
  end
  profile.length_filters = nil
end

return labels
