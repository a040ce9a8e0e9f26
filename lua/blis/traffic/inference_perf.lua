--- Configurations of inference-perf (kubernetes-sigs), such as the profiles of llm-d-benchmark, as
--- workload specifications: load stages, rates, and synthetic data. The sections api, server,
--- tokenizer, report, and storage do not affect a simulation.
---
--- Source: inference-perf as of 2026 (config.py: Distribution, LoadConfig, SharedPrefix).
local core = require "blis.core"
local errors = require "blis.errors"
local yaml_file = require "blis.yaml_file"

local inference_perf = {}

-- A distribution whose keys are not set.
local usual = { min = 10, max = 1024, mean = 512, std_dev = 200 }

local us_per_second = 1000000

-- Time to finish after the last stage.
local drain_us = 3600 * us_per_second

---@class blis.inference_perf.Reader
---@field file blis.YamlFile
---@field notes string[]
local Reader = {}
Reader.__index = Reader

local function line_of(self, object, key)
  local at = self.file.where[object]
  return at and at[key] and at[key][1] or 1
end

function Reader:fail(object, key, message, ...)
  errors.raise("parse", ("%s:%d: %s"):format(self.file.path, line_of(self, object, key),
    message:format(...)))
end

function Reader:section(object, key, what)
  local value = object[key]
  if type(value) ~= "table" then
    self:fail(object, key, "%s is %s, expected a section", what, value == nil and "missing"
      or errors.show(value))
  end
  return value
end

--- A number of a section; usual_value if the key is not set.
function Reader:number(object, key, what, least, usual_value)
  local value = object[key]
  if value == nil then value = usual_value end
  if type(value) == "string" and value:find "^REPLACE_ENV_" then
    self:fail(object, key, "%s is the placeholder '%s': replace it with a number", what, value)
  end
  local number = tonumber(value) -- a quoted number is one, as in inference-perf
  if not number or number ~= number or number < least or number == math.huge then
    self:fail(object, key, "%s is %s, expected a number from %s", what, value == nil and "missing"
      or errors.show(value), least)
  end
  return number
end

function Reader:whole(object, key, what, least, usual_value)
  local value = self:number(object, key, what, least, usual_value)
  return math.tointeger(value)
    or self:fail(object, key, "%s is %s, expected a whole number", what, errors.show(value))
end

-- Lengths.

--- The parameters of a lognormal by its mean and standard deviation.
local function lognormal(mean, std_dev, min, max)
  local variance = math.log(1 + (std_dev / mean) ^ 2)
  return { type = "lognormal", params = { mu = math.log(mean) - variance / 2,
    sigma = math.sqrt(variance), min = min, max = max } }
end

function Reader:lengths(data, key)
  local given = data[key] == nil and {} or self:section(data, key, "data." .. key)
  local what = "data." .. key .. "."
  local filled = {}
  local function value(name, least)
    local spelled = name == "std_dev" and given.std_dev == nil and "std" or name
    if given[spelled] == nil then filled[#filled + 1] = ("%s %g"):format(name, usual[name]) end
    return self:number(given, spelled, what .. spelled, least, usual[name])
  end
  local mean, min, max = value("mean", 1), value("min", 0), value("max", 1)
  local std_dev = min == max and 0 or value("std_dev", 0)
  if #filled > 0 then
    self.notes[#self.notes + 1] = ("data.%s: %s, the defaults of inference-perf"):format(key,
      table.concat(filled, ", "))
  end
  if min > max then
    self:fail(given, "min", "%smin is %g, expected at most max (%g)", what, min, max)
  end
  if given.type == "lognormal" then return lognormal(mean, std_dev, min, max) end
  if given.type ~= nil and given.type ~= "normal" then
    self:fail(given, "type", "%stype is %s, expected normal or lognormal", what,
      errors.show(given.type))
  end
  if std_dev == 0 then return { type = "constant", params = { value = mean } } end
  return { type = "gaussian", params = { mean = mean, std_dev = std_dev, min = min, max = max } }
end

-- Load.

--- The stages of the load, as { rate, duration } or { concurrency, requests }.
function Reader:stages(load)
  local given = self:section(load, "stages", "load.stages")
  if #given == 0 then self:fail(load, "stages", "load.stages has no stage") end
  local stages = {}
  for i, stage in ipairs(given) do
    local what = ("load.stages[%d]."):format(i)
    if type(stage) ~= "table" then
      self:fail(given, i, "load.stages[%d] is %s, expected a section", i, errors.show(stage))
    end
    if load.type == "concurrent" then
      stages[i] = { concurrency = self:whole(stage, "concurrency_level", what
        .. "concurrency_level", 1), requests = self:whole(stage, "num_requests", what
        .. "num_requests", 1) }
    else
      stages[i] = { rate = self:number(stage, "rate", what .. "rate", 1e-9),
        duration = self:number(stage, "duration", what .. "duration", 1e-3) }
    end
  end
  return stages
end

local arrivals = { constant = "constant", poisson = "poisson", concurrent = "poisson" }

-- What plays loads that replay a file.
local other_loads = {
  trace_session_replay = "; 'blis run --graphs FOLDER --concurrency N' plays the sessions of "
    .. "traces",
  trace_replay = "; 'blis replay FILE' plays the trace",
}

function Reader:check_load(load)
  local kind = load.type or "constant"
  if not arrivals[kind] then
    self:fail(load, "type", "load.type is %s, expected constant, poisson, or concurrent%s",
      errors.show(kind), other_loads[kind] or "")
  end
  if load.sweep ~= nil and (load.stages == nil or #load.stages == 0) then
    self:fail(load, "sweep", "load.sweep searches for the saturation of a server; 'blis capacity' "
      .. "does this for a simulated cluster, with the stages written out")
  end
end

--- One stage, or all of them if they have rates.
function Reader:chosen(load, stages, number)
  if number then
    if not stages[number] then
      self:fail(load, "stages", "unknown stage %d; the file has %d stages", number, #stages)
    end
    return { stages[number] }
  end
  return stages
end

-- Session graphs.

--- A distribution of numbers as { type, mean, std_dev, min, max }.
function Reader:distribution(data, key, place, least)
  local given = self:section(data, key, place .. "." .. key)
  local what = place .. "." .. key .. "."
  local kind = given.type or "normal"
  if kind ~= "normal" and kind ~= "lognormal" and kind ~= "uniform" then
    self:fail(given, "type", "%stype is %s, expected normal, lognormal, or uniform", what,
      errors.show(kind))
  end
  local function value(name)
    local spelled = name == "std_dev" and given.std_dev == nil and "std" or name
    return self:number(given, spelled, what .. spelled, name == "std_dev" and 0 or least,
      usual[name])
  end
  local found = { type = kind, mean = value "mean", std_dev = value "std_dev",
    min = value "min", max = value "max" }
  if found.min > found.max then
    self:fail(given, "min", "%smin is %g, expected at most max (%g)", what, found.min, found.max)
  end
  return found
end

local function graphs() return require "blis.traffic.inference_perf_graphs" end

--- Conversations, of which some are in flight at a time.
function Reader:conversations(data, load, number)
  local place = "data.conversation_replay"
  local given = self:section(data, "conversation_replay", place)
  local stages = self:chosen(load, self:stages(load), number)
  local stage = stages[1]
  if not stage.concurrency or #stages > 1 then
    self:fail(load, "type", "load.type is %s with %d stages; data.type conversation_replay "
      .. "expects one stage of type concurrent", errors.show(load.type), #stages)
  end
  local function whole(key, least, usual_value)
    return self:whole(given, key, place .. "." .. key, least, usual_value)
  end
  local workload, requests = graphs().conversations {
    seed = whole("seed", 0, 42), conversations = whole("num_conversations", 1, stage.concurrency),
    concurrency = stage.concurrency, requests = math.min(stage.requests, self.most or math.huge),
    shared_tokens = whole("shared_system_prompt_len", 0, 0),
    max_model_len = whole("max_model_len", 0, 0),
    dynamic_system = self:distribution(given, "dynamic_system_prompt_len", place, 0),
    turns = self:distribution(given, "turns_per_conversation", place, 1),
    input = self:distribution(given, "input_tokens_per_turn", place, 1),
    output = self:distribution(given, "output_tokens_per_turn", place, 1),
    tool_seconds = self:distribution(given, "tool_call_latency_sec", place, 0),
  }
  if #workload.graphs == 0 then
    self:fail(given, "max_model_len", "%s.max_model_len leaves no room for a request", place)
  end
  if requests < stage.requests then
    self.notes[#self.notes + 1] = ("%s: the conversations have %d of %d requests"):format(place,
      requests, stage.requests)
  end
  return workload
end

--- Several stages of a concurrency, one after the other.
function Reader:concurrent_stages(data, load, stages)
  local interval = self:number(load, "interval", "load.interval", 0, 1)
  local function lengths(key)
    if data[key] == nil then
      return { type = "normal", mean = usual.mean, std_dev = usual.std_dev, min = usual.min,
        max = usual.max }
    end
    return self:distribution(data, key, "data", key == "input_distribution" and 0 or 1)
  end
  return graphs().stages { seed = self:whole(load, "base_seed", "load.base_seed", 0, 42),
    stages = stages, interval_us = math.floor(interval * us_per_second),
    input = lengths "input_distribution", output = lengths "output_distribution" }
end

-- Data.

local function windows_of(stages)
  local windows, from = {}, 0
  for i, stage in ipairs(stages) do
    local to = from + math.floor(stage.duration * us_per_second + 0.5)
    windows[i] = { start_us = from, end_us = to, trace_rate = stage.rate }
    from = to
  end
  return windows, from
end

--- Independent requests with drawn lengths.
function Reader:independent(data, kind, stages)
  local client = { id = "inference-perf", rate_fraction = 1, arrival = { process = arrivals[kind] },
    input_distribution = self:lengths(data, "input_distribution"),
    output_distribution = self:lengths(data, "output_distribution") }
  local spec = { version = "2", category = "language", clients = { client } }
  local first = stages[1]
  if first.concurrency then
    client.rate_fraction, client.concurrency = nil, first.concurrency
    spec.num_requests = first.requests
  elseif #stages == 1 then
    spec.aggregate_rate = first.rate
    spec.num_requests = math.max(1, math.floor(first.rate * first.duration + 0.5))
  else
    local windows, end_us = windows_of(stages)
    client.lifecycle = { windows = windows }
    spec.horizon = end_us + drain_us
  end
  return spec
end

--- The groups and users that a single stage reaches: requests go through the users of a group, then
--- to the next group.
function Reader:used_groups(blocks, groups, users)
  local requests = math.floor(blocks[1].rate * blocks[1].duration + 0.5)
  if #blocks > 1 or requests >= groups * users then return groups, users end
  local used = math.max(1, requests // users)
  self.notes[#self.notes + 1] = ("data.shared_prefix: %d requests reach %d of %d groups"):format(
    requests, used, groups)
  return used, math.max(1, math.min(users, requests))
end

function Reader:shared_prefix(data, load, stages)
  local given = self:section(data, "shared_prefix", "data.shared_prefix")
  local what = "data.shared_prefix."
  if stages[1].concurrency then
    self:fail(load, "type", "load.type concurrent with data.type shared_prefix is not supported; "
      .. "expected stages with rates")
  end
  local function of(key, least, usual_value)
    return self:whole(given, key, what .. key, least, usual_value)
  end
  local is_chat = given.enable_multi_turn_chat
  if is_chat ~= nil and type(is_chat) ~= "boolean" then
    self:fail(given, "enable_multi_turn_chat", "%senable_multi_turn_chat is %s, expected true or "
      .. "false", what, errors.show(is_chat))
  end
  local groups, each = given.num_groups ~= nil and "num_groups" or "num_unique_system_prompts",
    given.num_prompts_per_group ~= nil and "num_prompts_per_group"
      or "num_users_per_system_prompt"
  local blocks = {}
  for i, stage in ipairs(stages) do
    local duration = math.tointeger(stage.duration)
      or self:fail(load.stages[i], "duration", "load.stages[%d].duration is %g, expected whole "
        .. "seconds", i, stage.duration)
    blocks[i] = { rate = stage.rate, duration = duration }
  end
  local group_count, user_count = self:used_groups(blocks, of(groups, 1, 10), of(each, 1, 10))
  if (load.type or "constant") == "constant" then
    self.notes[#self.notes + 1] = "data.shared_prefix: each user sends at random times (poisson), "
      .. "so counts and spacings differ a little from those of load.type constant"
  end
  return { version = "2", category = "language", inference_perf = { stages = blocks,
    shared_prefix = { num_unique_system_prompts = group_count,
      num_users_per_system_prompt = user_count,
      system_prompt_len = of("system_prompt_len", 0, 100),
      question_len = of("question_len", 1, 50), output_len = of("output_len", 1, 50),
      enable_multi_turn_chat = is_chat or false } } }
end

-- What other kinds of data need.
local elsewhere = {
  otel_trace_replay = "'blis run --graphs FOLDER --concurrency N' plays these traces",
  shareGPT = "'blis run --graphs FILE --rate X' plays a ShareGPT file",
}

function Reader:spec_of(number)
  local root = self.file.root
  local load = self:section(root, "load", "load")
  local data = root.data == nil and root.tokenizer and root.tokenizer.data or root.data
  if type(data) ~= "table" then self:section(root, "data", "data") end
  self:check_load(load)
  local kind = data.type
  if kind == "random" or kind == "synthetic" then
    local stages = self:chosen(load, self:stages(load), number)
    if #stages > 1 and stages[1].concurrency then
      return self:concurrent_stages(data, load, stages)
    end
    return self:independent(data, load.type or "constant", stages)
  elseif kind == "conversation_replay" then
    return self:conversations(data, load, number)
  elseif kind == "shared_prefix" then
    return self:shared_prefix(data, load, self:chosen(load, self:stages(load), number))
  end
  self:fail(data, "type", "data.type is %s, which has no lengths to sample; expected random, "
    .. "synthetic, shared_prefix, or conversation_replay%s", errors.show(kind),
    elsewhere[kind] and "; " .. elsewhere[kind] or "")
end

-- Keys of a configuration, or of a ConfigMap that has one.
local sections = { load = true, api = true, data = true, server = true, tokenizer = true,
  report = true, storage = true, metrics = true, apiVersion = true, kind = true }

--- Whether a reader of workload specifications failed because a file is such a configuration.
---@param problem any what it raised
---@return boolean
function inference_perf.is_meant(problem)
  local message = type(problem) == "table" and problem.message
  local key = message and message:match "'([%w_]+)' is not a key of a workload"
  local has_documents = message and message:find("a second document begins", 1, true)
  return (has_documents or sections[key]) and true or false
end

-- Files with a configuration in them: ConfigMaps, and several documents.

local function is_configuration(value)
  return type(value) == "table" and type(value.load) == "table"
    and (type(value.data) == "table" or type(value.tokenizer) == "table")
end

--- Adds the configurations in a value: the value itself, or strings in it.
local function add_found(value, where, path, found)
  if is_configuration(value) then
    found[#found + 1] = { path = path, root = value, where = where }
    return
  end
  for key, member in pairs(type(value) == "table" and value or {}) do
    if type(member) == "string" and ("\n" .. member):find("\nload:", 1, true) then
      local line = where[value] and where[value][key] and where[value][key][1] or 0
      local ok, root, inner = pcall(core.yaml_parse, ("\n"):rep(line) .. member, path)
      if ok then add_found(root, inner, path, found) end
    elseif type(member) == "table" then
      add_found(member, where, path, found)
    end
  end
end

--- The only configuration in the documents of a file; nil if there is none.
local function embedded(path)
  local found, lines, first = {}, {}, 1
  local function close(last)
    local text = ("\n"):rep(first - 1) .. table.concat(lines, "\n", first, last)
    local ok, root, where = pcall(core.yaml_parse, text, path)
    if ok then add_found(root, where, path, found) end
    first = last + 2
  end
  for line, number in core.file_lines(path, false) do
    if line:find "^%-%-%-%s*$" or line:find "^%-%-%- " then close(number - 1) end
    lines[number] = line
  end
  close(#lines)
  if #found > 1 then
    errors.raise("parse", ("%s: %d configurations of inference-perf; expected one: copy it to a "
      .. "separate file"):format(path, #found))
  end
  return found[1]
end

--- The configuration of a file, or in a file with other content.
local function read_configuration(path)
  local ok, file = pcall(yaml_file.read, path)
  local is_known = ok and type(file.root) == "table" and file.root.load ~= nil
  local inner = not is_known and embedded(path)
  if not inner and not ok then error(file, 0) end
  return inner or file
end

--- The workload specification of a configuration, and what the reader assumed.
---@param path string
---@param stage? integer only this stage of the load; nil = all
---@param most? integer requests of conversations at most
---@return table spec for blis.run and blis convert; { graphs = ... } for blis.run alone
---@return string[] notes
function inference_perf.read(path, stage, most)
  local reader = setmetatable({ file = read_configuration(path), notes = {}, most = most },
    Reader)
  if type(reader.file.root) ~= "table" then
    errors.raise("parse", path .. ":1: expected a configuration of inference-perf")
  end
  return reader:spec_of(stage), reader.notes
end

return inference_perf
