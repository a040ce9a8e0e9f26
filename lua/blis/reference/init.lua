--- The reference of everything that scripts may use. It has the sources that the annotations for
--- editors have: the descriptions of options, policies, and metrics, and the comments of functions
--- and types. blis.reference.text formats it; blis.reference.search finds the topics of a word.
local annotations = require "blis.config.annotations"
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local defaults = require "blis.config.defaults"
local policy_annotations = require "blis.policy.annotations"
local result_annotations = require "blis.results.annotations"

local reference = {}

-- Generated modules, as if they were files.
local generated = { ["meta/figures"] = result_annotations.generate,
  ["meta/policy_specs"] = policy_annotations.generate }

-- Files with comments of public functions and types, in the order of the reference.
local files = {
  "experiment", "compare/comparison", "compare/replicated", "policy/init", "policy/hooks",
  "policy/definition", "meta/policy_specs",
  "feature/queue/read", "policy/listening",
  "init", "engine/latency", "catalogue/init", "units", "traffic/workload", "traffic/graphs",
  "traffic/trace", "traffic/trace_formats", "traffic/trace_file",
  "meta/figures", "results/result", "results/file", "timeline/init", "plot/init", "charts/init",
  "results/series",
  "results/slo",
  "results/fitness", "results/saturation", "results/decisions", "results/diff", "compare/regret",
  "capacity/init", "capacity/report", "capacity/basis", "recommend/init", "recommend/report",
  "live/script",
  "sweep/cma_es", "sweep/init", "sweep/table",
  "statistics/init", "statistics/distribution", "statistics/transfer", "calibrate/init",
  "calibrate/accuracy", "calibrate/parameters", "calibrate/kernels", "capacity/model_range",
  "capacity/surge",
  "meta/policies", "meta/results",
  "meta/simulation", "meta/engine", "meta/traffic", "meta/bind",
}

-- What a name in those files is called by scripts.
local public_names = {
  experiment = "blis", comparison = "blis", policy = "blis", hooks = "blis", blis = "blis",
  units = "blis", vec = "blis.vec", trace = "blis.trace", statistics = "blis.statistics",
  distribution = "blis.statistics", transfer = "blis.statistics",
  simulation = "Simulation", instance = "Instance", lone = "LoneInstance",
  scorer = "Scorer", list = "Workload", rng = "Rng", queue = "EventQueue", cache = "KvCache",
  prefix_index = "PrefixIndex", latency_model = "LatencyModel", latency = "blis",
  catalogue = "blis", methods = "Result", Sweep = "Sweep", Table = "SweepTable",
  requests = "Requests", graph_file = "GraphFile", file_methods = "TraceFile",
  Search = "CmaEs", Calibration = "Calibration",
  Capacity = "Capacity", Recommendation = "Recommendation",
}

-- Functions that scripts reach under another name than the modules give them.
local renamed = {
  ["latency.model"] = "blis.latency_model", ["workload.new"] = "blis.workload",
  ["queue.new"] = "blis.queue", ["graphs.open"] = "blis.session_graphs",
  ["result.load"] = "blis.load_result", ["diff.compare"] = "blis.diff",
  ["regret.examine"] = "blis.regret", ["capacity.search"] = "blis.capacity",
  ["recommend.search"] = "blis.recommend", ["script.serve"] = "blis.live",
  ["transfer.compare"] = "blis.statistics.transfer",
  ["calibrate.run"] = "blis.calibrate",
  ["trace_formats.add"] = "blis.trace_format", ["sweep.new"] = "blis.sweep",
  ["cma_es.new"] = "blis.cma_es",
}

-- Types that scripts never see.
local internal = { blis = true, PolicyKind = true, vec = true, WorkloadDefaults = true,
  CatalogueSources = true, ["sweep.Plan"] = true, ["sweep.Record"] = true }

---@class blis.Topic
---@field name string "blis.run", "Candidate", "ClusterOptions"
---@field kind string "options", "function", "type", "policy", "names"
---@field title string
---@field alias? string another name: "cluster"
---@field lines string[]

---@param kind string
---@param name string
---@param title string
---@param lines string[] text, and tags as comments have them: "@field name type what it is"
---@return blis.Topic
function reference.new_topic(kind, name, title, lines)
  return { kind = kind, name = name, title = title, lines = lines }
end

local new_topic = reference.new_topic

--- One block of comments and the line behind it.
local function function_topic(line, comment)
  local owner, mark, name, arguments = line:match "^function ([%w_]+)([.:])([%w_]+)(%b())"
  if not owner then return nil end
  local public = renamed[owner .. "." .. name]
  if not public then
    local is_hidden = not public_names[owner] or owner == "methods" and mark == "."
      or name:find "^__"
    if is_hidden then return nil end
    public = public_names[owner] .. mark .. name
  end
  return new_topic("function", public, public .. arguments, comment)
end

--- A class; nil when it is only opened again for its methods.
local function class_topic(comment)
  for i, line in ipairs(comment) do
    local name, rest = line:match "^@class ([%w_.]+)%s*(.*)$"
    if name and not internal[name:gsub("^blis%.", "")] then
      local lines = table.move(comment, 1, i - 1, 1, {})
      local parent, words = rest:match "^:%s*([%w_.]+)%s*(.*)$"
      if words then rest = words end
      if rest ~= "" then lines[#lines + 1] = rest end
      if parent then lines[#lines + 1] = "It has what " .. parent .. " has, too." end
      table.move(comment, i + 1, #comment, #lines + 1, lines)
      if #lines == 0 then return nil end
      return new_topic("type", name:gsub("^blis%.", ""), name, lines)
    end
  end
end

--- The topic of an alias: the types that it stands for, or a list of its values.
local function alias_topic(comment)
  for i, line in ipairs(comment) do
    local name, rest = line:match "^@alias blis%.([%w_.]+)%s*(.*)$"
    if name and not internal[name] then
      local lines = table.move(comment, 1, i - 1, 1, {})
      if rest ~= "" then
        lines[#lines + 1] = "It stands for " .. rest:gsub("|", " | ")
      else
        lines[#lines + 1] = "One of these values:"
        lines[#lines + 1] = ""
      end
      for k = i + 1, #comment do
        local value, doc = comment[k]:match '^| "?([^"]+)"?%s*(.*)$'
        if value then lines[#lines + 1] = ("@item %s %s"):format(value, doc) end
      end
      return new_topic("type", name, "blis." .. name, lines)
    end
  end
end

local function read_file(topics, text, is_exported)
  local comment = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local words = line:match "^%-%-%-%s?(.*)$"
    if words then
      comment[#comment + 1] = words
    else
      local class, fn = class_topic(comment), function_topic(line, comment)
      class = class or alias_topic(comment)
      if class then topics[#topics + 1] = class end
      if fn and is_exported(fn) then topics[#topics + 1] = fn end
      comment = {}
    end
  end
end

--- " (tokens, default 16)"; "" for none.
---@param option blis.Option
---@param usual any
---@return string
function reference.notes_of(option, usual)
  local notes = {}
  if option.unit and option.unit ~= "" then notes[#notes + 1] = option.unit end
  if usual ~= nil then notes[#notes + 1] = "default " .. tostring(usual) end
  if option.required then notes[#notes + 1] = "required" end
  return #notes > 0 and " (" .. table.concat(notes, ", ") .. ")" or ""
end

local notes_of = reference.notes_of

local function add_options(topics)
  for _, item in ipairs(annotations.sections) do
    local class, section = item[1], item[2]
    local lines = { section.summary, "" }
    for _, option in ipairs(section.options) do
      lines[#lines + 1] = ("@field %s %s %s%s"):format(option.name,
        annotations.type_of(class, option), option.doc, notes_of(option, option.default))
    end
    local topic = new_topic("options", class:gsub("^blis%.", ""), class, lines)
    topic.alias = section.name
    topics[#topics + 1] = topic
  end
end

local function add_signals(topics)
  local lines = { "Signals of an instance, as a field and as a column. Some are as old as the last "
    .. "reading (snapshot_refresh_us, cache_signal_delay_us of a cluster). The router counts the "
    .. "others itself, so they are always current. Policies that keep counts of their own, such as "
    .. "lmetric and smg.cache_aware, do not depend on the age of signals.", "" }
  for _, signal in ipairs(core.signals()) do
    lines[#lines + 1] = ("@field %s %s %s (%s)"):format(signal.name,
      signal.unit == "" and "number" or '"' .. signal.unit .. '"', signal.summary,
      signal.freshness)
  end
  topics[#topics + 1] = new_topic("options", "signals", "signals of instances", lines)
end

--- The versions of the defaults, and what each of them sets.
local function add_defaults(topics)
  local lines = { "Defaults and their versions. Every result states the version of its defaults. "
    .. "`defaults = \"1.0-rc1\"` of an experiment or a cluster, or --defaults 1.0-rc1, restores "
    .. "the defaults of that version. Options that are set take precedence. Profile go-blis has "
    .. "its own "
    .. "defaults.", "" }
  for _, version in ipairs(defaults.all()) do
    lines[#lines + 1] = ("@item %s %s"):format(version.name, defaults.text(version))
  end
  topics[#topics + 1] = new_topic("options", "defaults", "defaults and their versions", lines)
end

--- The rule for durations.
local function add_durations(topics)
  local topic = new_topic("options", "durations", "durations", {
    "A duration is a number with a unit: 250us, 5ms, 1.5s, 30m, 4h, 2d, or 1h30m.",
    "",
    "This holds for every flag, key of a Lua table, key of a YAML file, and target: --horizon 10s, "
      .. "horizon_us = \"10s\", --target ttft_ms.p99=500ms, --slo-ttft default=500ms.",
    "",
    "A number without a unit is allowed where the name states the unit (horizon_us = 10000000, "
      .. "--think-time-ms 500), for --timeout, --wall, and RouteSim's --duration (seconds), for 0, "
      .. "and in profile go-blis. Keys of Lua tables whose names state no unit, such as the at of "
      .. "a fault, also take whole numbers of microseconds: blis.seconds(30) returns one.",
  })
  topic.alias = "duration"
  topics[#topics + 1] = topic
end

-- Kinds of built-in policies: their keys in the catalogue, and what they are called.
reference.policy_kinds = {
  { key = "routers", name = "routing policy" },
  { key = "filters", name = "filter" },
  { key = "scorers", name = "scorer" },
  { key = "pickers", name = "picker" },
  { key = "admissions", name = "admission policy" },
  { key = "cascades", name = "cascade" },
  { key = "priorities", name = "priority policy" },
  { key = "autoscalers", name = "autoscaler" },
  { key = "saturation_detectors", name = "saturation detector" },
  { key = "usage_limits", name = "usage limit" },
  { key = "queue_dispatches", name = "dispatch of the queue" },
  { key = "queue_fairness", name = "fairness of the queue" },
  { key = "queue_orders", name = "order of the queue" },
  { key = "deciders", name = "disaggregation decider" },
}

-- What parameters of policies are in Lua, where the name of their type does not tell.
local lua_types = { named_numbers = "table<string,number>", texts = "string[]",
  texts_by_name = "table<string,string[]>" }

--- Built-in policies. One name may be a filter and a scorer, too.
local function add_policies(topics)
  for _, kind in ipairs(reference.policy_kinds) do
    for _, entry in ipairs(catalogue[kind.key]) do
      local lines = { entry.summary .. ".", "", "From " .. entry.source .. "." }
      if #entry.aliases > 0 then
        lines[#lines + 1] = "Also called " .. table.concat(entry.aliases, ", ") .. "."
      end
      lines[#lines + 1] = ""
      for _, option in ipairs(entry.options) do
        lines[#lines + 1] = ("@field %s %s %s%s"):format(option.name,
          option.type == "choice" and table.concat(option.choices, "|")
            or lua_types[option.type] or option.type,
          option.doc, notes_of(option, option.usual))
      end
      topics[#topics + 1] = new_topic("policy", entry.name, kind.name .. " " .. entry.name, lines)
    end
  end
end

--- Everything there is to read about, in a fixed order.
---@return blis.Topic[]
function reference.topics()
  local blis = require "blis"
  local source = require("blis.program").source
  local topics = {}
  add_options(topics)
  add_signals(topics)
  add_defaults(topics)
  add_durations(topics)
  local function is_exported(topic)
    local name, inner = topic.name:match "^blis%.([%w_]+)%.?([%w_]*)$"
    local value = name and rawget(blis, name)
    return not name or value ~= nil and (inner == "" or value[inner] ~= nil)
  end
  for _, name in ipairs(files) do
    local generate = generated[name]
    local text = generate and generate() or source("blis/" .. name .. ".lua")
    if text then read_file(topics, text, is_exported) end
  end
  add_policies(topics)
  return topics
end

return reference
