--- The types of policies for editors: names, parameters, and the functions of scripted ones.
--- blis.config.annotations writes them behind those of the options that take them.
local catalogue = require "blis.policy.catalogue"

local annotations = {}

local request, instances = "request: blis.Request", "instances: blis.Candidate[]"

-- Functions and other fields of scripted policies, which are in no option's description.
local listens = {
  { "events", "blis.RunEventKind[]", "for on_event" },
  { "on_event", "fun(event: blis.RunEvent, instances?: blis.Instance[])", "called for these "
    .. "events" },
  { "custom_metrics", "fun(): table<string, number>", "asked when the run is over" },
}

---@class blis.PolicyAnnotations
---@field kind string of the catalogue; nil where there are no names
---@field class string the types are called blis.<class>Name and blis.<class>Spec
---@field words string what they are
---@field fields string[][] name, type and meaning
---@field listens? boolean
---@field takes_no_function? boolean a function alone is none; else its first field may stand alone

---@type blis.PolicyAnnotations[]
annotations.kinds = {
  { kind = "routers", class = "Router", words = "routing policies", listens = true, fields = {
    { "route", ("fun(%s, %s): integer|table"):format(request, instances),
      "the index of a candidate, or blis.reject(reason)" },
    { "observe", ("fun(%s, chosen: blis.Candidate)"):format(request), "called for every decision" },
    { "scorers", "string|blis.ScorerSpec[]|any[]", "of weighted: { { name, weight }, ... }" },
    { "filters", "(blis.FilterName|blis.FilterSpec|blis.Policy)[]", "before the scorers" },
    { "picker", "blis.PickerName|blis.PickerSpec|blis.Policy|fun(" .. request .. ", " .. instances
      .. ", scores: number[]): integer", "behind them" },
  } },
  { kind = "filters", class = "Filter", words = "filters", listens = true, fields = {
    { "keep", ("fun(%s, instance: blis.Candidate|blis.Columns): boolean|blis.Vector")
      :format(request), "whether a candidate stays" },
    { "columns", "boolean", "keep gets all candidates at once" },
  } },
  { kind = "scorers", class = "Scorer", words = "scorers", listens = true, fields = {
    { "score", ("fun(%s, instance: blis.Candidate|blis.Columns, base?: number|blis.Vector): "
      .. "number|blis.Vector"):format(request), "from 0, the worst, to 1" },
    { "columns", "boolean", "score gets all candidates at once" },
    { "score_all", ("fun(%s, %s, scores: number[])"):format(request, instances),
      "fills in the scores of all" },
    { "observe", ("fun(%s, chosen: blis.Candidate)"):format(request), "called for every decision" },
    { "base", "blis.ScorerName|blis.ScorerSpec|blis.Policy", "the scorer that this one builds on" },
  } },
  { kind = "pickers", class = "Picker", words = "pickers", listens = true, fields = {
    { "pick", ("fun(%s, %s, scores: number[]): integer"):format(request, instances),
      "the index of a candidate" },
  } },
  { kind = "admissions", class = "Admission", words = "admission policies", listens = true,
    fields = { { "decide", ("fun(%s, cluster: blis.ClusterView): table|boolean"):format(request),
      "blis.admit(), blis.reject(reason) or blis.delay(us)" } } },
  { kind = "cascades", class = "Cascade", words = "cascades", takes_no_function = true, fields = {
    { "chain", "string[]", "models, the first one first" },
    { "quality", ("fun(%s, model: string, rng: blis.Rng, output_tokens: integer): number")
      :format(request), "a mean log-probability" },
    { "escalate", ("fun(%s, attempt: blis.Attempt, usual: boolean|string): boolean|string")
      :format(request), "whether to call another model, or which" },
  } },
  { kind = "priorities", class = "Priority", words = "priority policies", fields = {
    { "decide", ("fun(%s): number, table?"):format(request),
      "how urgent it is, higher is more; and hints" },
  } },
  { kind = "autoscalers", class = "Autoscaler", words = "autoscalers", fields = {
    { "decide", "fun(context: blis.ScaleContext): integer|blis.ScaleTarget|nil",
      "the wanted number of instances; nil = no change" },
    { "interval_us", "integer", "evaluation interval" },
    { "metrics", "string[]", "that decide reads; the others are not collected" },
  } },
  { kind = "saturation_detectors", class = "Saturation", words = "saturation detectors", fields = {
    { "measure", "fun(instances: blis.SaturationInstance[]): number", "1 = full" },
  } },
  { kind = "usage_limits", class = "UsageLimit", words = "usage limits", fields = {
    { "ceilings", "fun(saturation: number, priorities: integer[]): number[]",
      "up to which saturation each band may leave" },
  } },
  { kind = "deciders", class = "Decider", words = "deciders of disaggregation", fields = {
    { "decide", ("fun(%s, context: blis.StageContext): "
      .. '"local"|"split"|{ prefill: integer, decode: integer }'):format(request),
      "instance that computes the prompt" },
  } },
  { class = "Scheduler", words = "orders of an instance's wait queue", fields = {
    { "goes_before", "fun(a: blis.Request, b: blis.Request): boolean", "whether a runs before b" },
    { "make_batch", "fun(context: blis.BatchContext): table",
      "{ schedule = { request, { request, tokens }, ... } }" },
    { "on_arrival", ("fun(%s, now_us: integer)"):format(request), "in addition to make_batch" },
  } },
  { class = "Preemption", words = "preemption policies", fields = {
    { "victim", "fun(running: blis.Request[]): integer", "index of the request to preempt" },
  } },
}

local lua_types = { integer = "integer", time_us = "integer", number = "number",
  boolean = "boolean", string = "string", path = "string", text = "string",
  named_numbers = "table<string, number>", texts = "string[]",
  texts_by_name = "table<string, string[]>", numbers = "number[]", reals = "number[]",
  strings = "string[]" }

local function type_of(option)
  if not option.choices then return lua_types[option.type] or "any" end
  local words = {}
  for i, word in ipairs(option.choices) do words[i] = ('"%s"'):format(word) end
  return table.concat(words, "|")
end

--- A string in one line that ends no comment.
local function line(text) return (text:gsub("%s+", " ")) end

local function add_names(lines, kind, entries)
  lines[#lines + 1] = ("--- Names of %s:"):format(kind.words)
  lines[#lines + 1] = ("---@alias blis.%sName"):format(kind.class)
  for _, entry in ipairs(entries) do
    lines[#lines + 1] = ('---| "%s" # %s'):format(entry.name, line(entry.summary))
    for _, alias in ipairs(entry.aliases) do
      lines[#lines + 1] = ('---| "%s" # %s'):format(alias, entry.name)
    end
  end
  lines[#lines + 1] = "---| string"
  lines[#lines + 1] = ""
end

--- The parameters of all policies of a kind by name, in order of their first policy, with the
--- policies that have them.
local function parameters_of(entries)
  local order, by_name = {}, {}
  for _, entry in ipairs(entries) do
    for _, option in ipairs(entry.options) do
      local one = by_name[option.name]
      if not one then
        one = { name = option.name, types = {}, policies = {}, doc = option.doc }
        order[#order + 1], by_name[option.name] = one, one
      end
      one.policies[#one.policies + 1] = entry.name
      local its = type_of(option)
      if not one.types[its] then
        one.types[its], one.types[#one.types + 1] = true, its
      end
    end
  end
  return order
end

-- More policies than this with one parameter are not listed.
local listed = 4

local function add_parameters(lines, entries, known)
  for _, one in ipairs(parameters_of(entries)) do
    local count = #one.policies
    local of = table.concat(one.policies, ", ", 1, math.min(count, listed))
      .. (count > listed and (" and %d more"):format(count - listed) or "")
    if not known[one.name] then
      lines[#lines + 1] = ("---@field %s? %s of %s%s"):format(one.name,
        table.concat(one.types, "|"), of, count == 1 and ": " .. line(one.doc) or "")
    end
  end
end

local function add_fields(lines, fields, known)
  for _, field in ipairs(fields) do
    known[field[1]] = true
    lines[#lines + 1] = ("---@field %s? %s %s"):format(field[1], field[2], field[3])
  end
end

local function add_kind(lines, kind)
  local entries, known = kind.kind and catalogue[kind.kind], { name = true, new = true }
  if entries then add_names(lines, kind, entries) end
  lines[#lines + 1] = ("--- One of the %s: by name, with its parameters, or made of functions.")
    :format(kind.words)
  lines[#lines + 1] = ("---@class blis.%sSpec"):format(kind.class)
  if entries then
    lines[#lines + 1] = ("---@field [1]? blis.%sName"):format(kind.class)
  end
  lines[#lines + 1] = "---@field name? string what results call the policy; required with functions"
  lines[#lines + 1] = ("---@field new? fun(context: blis.PolicyContext): blis.%sSpec returns new "
    .. "functions for every run"):format(kind.class)
  add_fields(lines, kind.fields, known)
  if kind.listens then add_fields(lines, listens, known) end
  if entries then add_parameters(lines, entries, known) end
  local main = kind.fields[1][2]
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("--- What options take that want one of the %s."):format(kind.words)
  lines[#lines + 1] = ("---@alias blis.Any%s %s|blis.%sSpec|blis.Policy%s"):format(kind.class,
    kind.kind and ("blis.%sName"):format(kind.class) or "string", kind.class,
    kind.takes_no_function and "" or "|" .. main)
  lines[#lines + 1] = ""
end

--- All of them.
---@return string
function annotations.generate()
  local lines = {}
  for _, kind in ipairs(annotations.kinds) do add_kind(lines, kind) end
  return table.concat(lines, "\n")
end

return annotations
