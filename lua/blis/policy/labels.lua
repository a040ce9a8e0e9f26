--- Policies of llm-d that use labels of endpoints. Instances have no labels here. A policy receives
--- the values of each label as a list by instance, which repeats if there are more instances; "-"
--- means no label.
---
--- Sources: llm-d-router ebab6879, label-selector-filter, context-length-aware and
--- header-label-affinity-scorer.
local errors = require "blis.errors"
local sorted = require "blis.sorted"

local labels = {}

local source = "llm-d-router ebab6879"
local range_label = "llm-d.ai/context-length-range"

---@type blis.Option
local labels_option = {
  name = "labels", type = "texts_by_name", required = true, unit = "",
  doc = "the values of each label by instance in turn, from the beginning again when there are "
    .. "more instances, \"-\" = none: { tier = { \"gold\", \"-\" } }",
}

---@type blis.Option
local label_option = {
  name = "label", type = "string", default = range_label, usual = range_label, unit = "",
  doc = "with the lengths of an instance, such as 0-8192",
}

--- The label of an instance; nil for none.
local function value_of(values, instance)
  local text = values[(instance.index - 1) % #values + 1]
  return text ~= "-" and text or nil
end

--- The values of the label that a policy uses.
local function values_of(given, label, path)
  local values = given[label]
  if not values or #values == 0 then
    errors.invalid("%s.labels: missing values for the label %s", path, errors.show(label))
  end
  return values
end

-- Selectors. ------------------------------------------------------------------------------------

local function set_of(list)
  local set = {}
  for _, value in ipairs(list) do set[value] = true end
  return set
end

-- What a selector may ask of the value of a label; nil where an instance has none.
local requirements = {
  match = function(texts)
    local allowed = set_of(texts)
    return function(value, takes_unlabelled)
      if value == nil then return takes_unlabelled end
      return allowed[value] ~= nil
    end
  end,
  exclude = function(texts)
    local refused = set_of(texts)
    return function(value) return value == nil or not refused[value] end
  end,
  present = function() return function(value) return value ~= nil end end,
  absent = function() return function(value) return value == nil end end,
}

--- Adds a rule for each label that one requirement names.
local function add_rules(rules, kind, given, path)
  local named = given[kind] or {}
  local has_values = kind == "match" or kind == "exclude"
  for _, label in ipairs(has_values and sorted.names(named) or named) do
    rules[#rules + 1] = { holds = requirements[kind](has_values and named[label] or nil),
      values = values_of(given.labels, label, path) }
  end
end

--- All of a selector's rules hold, as in Kubernetes: a label that is not there is in no list of
--- values, so it passes what excludes some.
local function selector(given, path)
  local rules = {}
  for _, kind in ipairs { "match", "exclude", "present", "absent" } do
    add_rules(rules, kind, given, path)
  end
  if #rules == 0 then
    errors.invalid("%s: no label is named in match, exclude, present or absent", path)
  end
  local takes_unlabelled = given.allows_unlabelled
  return function(_, instance)
    for _, rule in ipairs(rules) do
      if not rule.holds(value_of(rule.values, instance), takes_unlabelled) then return false end
    end
    return true
  end
end

-- Lengths of contexts. --------------------------------------------------------------------------

--- Both ends of a range; nil for what is none.
local function range_of(text)
  local least, most = text:match "^%s*(%d+)%s*%-%s*(%d+)%s*$"
  least, most = math.tointeger(tonumber(least)), math.tointeger(tonumber(most))
  if least and most and least <= most then return least, most end
end

local unlabelled, in_range, headroom = 0.5, 0.7, 0.3

--- How well a length fits a range.
---@param tokens integer
---@param text string? the label
---@return number
function labels.score_of_length(tokens, text)
  if text == nil then return unlabelled end
  local least, most = range_of(text)
  if not least then return 0 end
  if tokens < least or tokens > most then
    local distance = tokens < least and least - tokens or tokens - most
    return 0.3 / (1 + distance / 1000)
  end
  local width = most - least
  if width == 0 then return 1 end
  return 0.3 + 0.7 * (in_range / (1 + width / 10000) + headroom * (most - tokens) / width)
end

local function length_scorer(given, path)
  local values = values_of(given.labels, given.label, path)
  return function(request, instance)
    return labels.score_of_length(request.prompt_tokens, value_of(values, instance))
  end
end

local function length_filter(given, path)
  local values = values_of(given.labels, given.label, path)
  return function(request, instance)
    local text = value_of(values, instance)
    local least, most = range_of(text or "")
    return least == nil or (request.prompt_tokens >= least and request.prompt_tokens <= most)
  end
end

-- Headers. --------------------------------------------------------------------------------------

local function header_scorer(given, path)
  local values, field = values_of(given.labels, given.label, path), given.field
  return function(request, instance)
    local wanted = request[field]
    return wanted ~= nil and wanted == value_of(values, instance) and 1 or 0
  end
end

-- Entries of the catalogue. ---------------------------------------------------------------------

local function scorer(name, make)
  return function(given, path)
    return { kind = "scorer", name = name, form = "candidate", score = make(given, path) }
  end
end

local function filter(name, make)
  return function(given, path)
    return { kind = "filter", name = name, columns = false, keep = make(given, path) }
  end
end

--- What the catalogue says of them, by its keys and by their names.
labels.entries = {
  filters = {
    ["llm-d.label-selector-filter"] = {
      summary = "keeps candidates whose labels match all configured conditions",
      source = source,
      options = {
        { name = "match", type = "texts_by_name", unit = "",
          doc = "the values that are let through, for each label that counts (In)" },
        { name = "exclude", type = "texts_by_name", unit = "",
          doc = "values that are not let through; candidates without the label are (NotIn)" },
        { name = "present", type = "texts", unit = "",
          doc = "labels that a candidate has, whatever their value (Exists)" },
        { name = "absent", type = "texts", unit = "",
          doc = "labels that a candidate does not have (DoesNotExist)" },
        { name = "allows_unlabelled", type = "boolean", default = false, usual = false, unit = "",
          doc = "let candidates without a label of match through" },
        labels_option,
      },
      define = filter("llm-d.label-selector-filter", selector),
    },
    ["llm-d.context-length-aware"] = {
      summary = "keeps candidates whose range of lengths has the prompt, and those without one",
      source = source, options = { label_option, labels_option },
      define = filter("llm-d.context-length-aware", length_filter),
    },
  },
  scorers = {
    ["llm-d.context-length-aware"] = {
      summary = "how tightly the range of lengths of an instance holds the prompt; 0.5 without one",
      source = source, options = { label_option, labels_option },
      define = scorer("llm-d.context-length-aware", length_scorer),
    },
    ["llm-d.header-label-affinity-scorer"] = {
      summary = "1 where a label is what a field of the request says, in place of a header; else 0",
      source = source .. ", alpha",
      options = {
        { name = "field", type = "choice", choices = { "tenant", "session", "slo_class", "model" },
          default = "tenant", usual = "tenant", unit = "", doc = "in place of the header" },
        { name = "label", type = "string", required = true, unit = "",
          doc = "that is compared with it" },
        labels_option,
      },
      define = scorer("llm-d.header-label-affinity-scorer", header_scorer),
    },
  },
}

return labels
