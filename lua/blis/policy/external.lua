--- Policies in other processes, in any language.
---
--- `{ "external", command = "python3 policy.py" }` starts a command for every run. For each
--- decision, the command reads a line of JSON and writes a line of JSON. `{ "external-http", url =
--- ... }` sends the same questions to an HTTP service. The simulated clock waits for the answers.
--- docs/external-policies.md describes the questions and answers.
---
--- A command that ends, a service that cannot be reached, an answer after timeout_ms, or an invalid
--- answer ends the run with an error. Runs are reproducible if the answers are.
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"
local schema = require "blis.config.schema"

local external = {}

local request_fields = { "id", "prompt_tokens", "max_output_tokens", "tenant", "slo_class", "model",
  "session", "client", "prefix_group", "prefix_tokens", "prefix_hash", "round_index", "priority",
  "tenant_requests", "tenant_active", "tenant_rate", "request_rate", "arrival_us", "deadline_us",
  "slo_target_us", "stage", "now_us" }

local context_fields = { "now_us", "since_last_scale_us", "replicas", "ready", "starting",
  "draining", "pool", "trigger", "min", "max", "avg_queue_depth", "avg_utilization",
  "gateway_queue_size", "requests_running", "pool_saturation", "inflight_tokens", "kv_utilization",
  "queue_depth", "batch_size", "request_rate", "ttft_p90_us", "tpot_p90_us", "slo_attainment",
  "prompt_tokens_mean", "output_tokens_mean" }

-- "wish" is the deprecated name of "unconstrained_target".
local pool_fields = { "replicas", "unconstrained_target", "wish", "min", "max", "gpus_per_replica",
  "prefill_watts", "decode_watts" }

-- Those of the macro-level plan's InstanceSnapshot.
local usual_signals = { "role", "queue_depth", "batch_size", "in_flight", "kv_utilization",
  "cache_hit_rate", "recent_ttft_us", "recent_tpot_us", "estimated_wait_us" }

---@type blis.Option
local command_option = { name = "command", type = "string", required = true, unit = "",
  doc = "what /bin/sh runs, once for every run" }

---@type blis.Option
local url_option = { name = "url", type = "string", required = true, unit = "",
  doc = "where questions are sent, http://HOST:PORT/PATH" }

---@type blis.Option
local timeout_option = { name = "timeout_ms", type = "integer", min = 1, max = 3600000,
  default = 10000, usual = 10000, unit = "ms", doc = "how long an answer may take" }

---@type blis.Option
local interval_option = { name = "interval_us", type = "integer", min = 1, max = 1000000000000000,
  default = 10000000, usual = 10000000, unit = "us", doc = "how often it is asked" }

---@type blis.Option
local signals_option = { name = "signals", type = "texts", unit = "",
  doc = "what is told of instances; default: " .. table.concat(usual_signals, ", ") }

-- Lines. ----------------------------------------------------------------------------------------

---@class blis.External a process that decides in a run
---@field child userdata with ask(question, timeout_ms)
---@field place string what errors are about
---@field timeout_ms integer
---@field id integer of the last question

local function fail(self, format, ...)
  errors.raise("policy", ("%s: " .. format):format(self.place, ...))
end

--- The value of a JSON text, in which null is nothing.
local function without_nulls(value)
  if value == core.json_null then return nil end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = without_nulls(item) end
  return copy
end

--- The members of an answer; no reason is as good as an empty one.
local function members_of(read)
  local members = without_nulls(read)
  if members.reason == "" then members.reason = nil end
  return members
end

--- The answer to the question that write adds to, as section describes it.
local function ask(self, decision, write, section)
  self.id = self.id + 1
  local writer = core.json_writer()
  writer:object():field("id", self.id):field("decision", decision)
  write(writer)
  local question = writer:done():take():gsub("\n", "") .. "\n"
  local line, problem = self.child:ask(question, self.timeout_ms)
  if not line then fail(self, "%s", problem) end
  local ok, read = pcall(core.json_read, line, "its answer")
  if not ok or type(read) ~= "table" then
    local why = not ok and tostring(read):match "^its answer:%d+:%s*(.*)$"
    fail(self, "its answer is no object of JSON: %s%s", errors.show(line),
      why and " (" .. why .. ")" or "")
  end
  local is_right, answer = pcall(schema.read, section, members_of(read),
    self.place .. ": its answer")
  if not is_right then
    answer.code = "policy" -- and not the fault of what the experiment says
    error(answer, 0)
  end
  if answer.id and answer.id ~= self.id then
    fail(self, "it answers question %d, and was asked question %d", answer.id, self.id)
  end
  return answer
end

local function section_of(options)
  table.insert(options, { name = "id", type = "integer", doc = "of the question" })
  return { name = "answer", summary = "An answer.", options = options }
end

local start_section = section_of {}

--- Starts the command for a run. Those of runs that are over are garbage, and end before that.
local function start(values, decides, run)
  collectgarbage()
  local where = ("'%s'"):format(values.url or values.command)
  local child = values.url and core.http_peer(values.url) or core.child(values.command)
  local self = { child = child, timeout_ms = values.timeout_ms, id = 0,
    place = ("%s of policy %s: %s"):format(decides, values.url and "external-http" or "external",
      where) }
  ask(self, "start", function(writer)
    writer:field("decides", decides)
    json.write_fields(writer, { "seed", "instances", "block_size", "kv_blocks" }, run)
  end, start_section)
  self.place = where
  return self
end

-- Decisions. ------------------------------------------------------------------------------------

local route_section = section_of {
  { name = "target", type = "string", required = true, doc = "the id of an instance" },
  { name = "reason", type = "string", doc = "for the decision log" },
  { name = "scores", type = "table", doc = "by the id of an instance, for the decision log" },
}

local function route(self, values)
  local signals = { "id", "index" }
  for _, signal in ipairs(values.signals or usual_signals) do signals[#signals + 1] = signal end
  return function(request, instances)
    local answer = ask(self, "routing", function(writer)
      json.write_object(writer, "request", request_fields, request)
      writer:array "instances"
      for _, instance in ipairs(instances) do json.write_object(writer, nil, signals, instance) end
      writer:done()
    end, route_section)
    for i, instance in ipairs(instances) do
      if instance.id == answer.target then
        return i, { reason = answer.reason, scores = answer.scores }
      end
    end
    fail(self, "target is %s, which is not a candidate of this "
      .. "decision", errors.show(answer.target))
  end
end

local admit_section = section_of {
  { name = "action", type = "choice", choices = { "admit", "reject", "delay" }, required = true,
    doc = "what becomes of it" },
  { name = "reason", type = "string", doc = "of a rejection or a delay" },
  { name = "delay_us", type = "integer", min = 1, doc = "until it is asked again" },
}

local function decide_admission(self)
  return function(request, cluster)
    local answer = ask(self, "admission", function(writer)
      json.write_object(writer, "request", request_fields, request)
      writer:field("in_flight", cluster.sum_in_flight)
    end, admit_section)
    if answer.action == "delay" and not answer.delay_us then
      fail(self, "its answer delays the request and has no delay_us")
    end
    if answer.action ~= "delay" and answer.delay_us then
      fail(self, "its answer has delay_us, which requires action 'delay', not '%s'",
        answer.action)
    end
    if answer.action == "delay" then return "delay", answer.delay_us, answer.reason end
    return answer.action, answer.reason
  end
end

local score_section = section_of {
  { name = "score", type = "number", required = true, doc = "higher is more urgent" },
  { name = "hints", type = "table", doc = "for those who decide later" },
}

local function decide_priority(self)
  return function(request)
    local answer = ask(self, "priority", function(writer)
      json.write_object(writer, "request", request_fields, request)
    end, score_section)
    return answer.score, answer.hints
  end
end

local scale_section = section_of {
  { name = "target", type = "integer", doc = "target number of instances" },
  { name = "reason", type = "string", doc = "reason, for the log" },
  { name = "unconstrained_target", type = "integer", min = 0, aliases = { "wish" },
    deprecated = { wish = "2.0.0" },
    doc = "target without the limits that pools share; default: target" },
}

local function decide_scaling(self)
  return function(context)
    local answer = ask(self, "autoscaling", function(writer)
      writer:object "context"
      json.write_fields(writer, context_fields, context)
      for _, pool in ipairs { "own", "other" } do
        if context[pool] then json.write_object(writer, pool, pool_fields, context[pool]) end
      end
      writer:done()
    end, scale_section)
    local target, unconstrained = answer.target, answer.unconstrained_target
    if unconstrained and not target then
      fail(self, "the answer has unconstrained_target, which requires target")
    end
    return target and { target = target, reason = answer.reason,
      unconstrained_target = unconstrained } or nil
  end
end

-- Entries of the catalogue. ---------------------------------------------------------------------

local function check_signals(values, path)
  local names = {}
  for i, signal in ipairs(core.signals()) do names[i], names[signal.name] = signal.name, true end
  for i, signal in ipairs(values.signals or {}) do
    if not names[signal] then
      errors.invalid("%s.signals[%d]: unknown signal '%s'%s", path, i, signal,
        errors.suggestion(signal, names, "'blis help signals' lists them"))
    end
  end
end

--- By the keys of the catalogue: what the core calls the kind, what is decided, the function that a
--- policy of the kind is, and how it is made.
local kinds = {
  routers = { kind = "router", decides = "routing", main = "route", make = route,
    options = { command_option, timeout_option, signals_option } },
  admissions = { kind = "admission", decides = "admission", main = "decide",
    make = decide_admission, options = { command_option, timeout_option } },
  priorities = { kind = "priority", decides = "priority", main = "decide", make = decide_priority,
    options = { command_option, timeout_option } },
  autoscalers = { kind = "autoscaler", decides = "autoscaling", main = "decide",
    make = decide_scaling, options = { command_option, timeout_option, interval_option } },
}

local function check_url(values, path)
  if values.url and not values.url:find "^https?://[^/%s]+[^%s%c]*$" then
    errors.invalid("%s.url: '%s', expected http://HOST:PORT/PATH", path, values.url)
  end
end

--- The definition of a policy whose command starts, or whose service is called, when a run begins.
local function definition_of(kind, values, path, name)
  check_signals(values, path)
  check_url(values, path)
  return {
    kind = kind.kind, name = name,
    make = function(seed, instances, block_size, kv_blocks)
      local self = start(values, kind.decides,
        { seed = seed, instances = instances, block_size = block_size, kv_blocks = kv_blocks })
      return { kind = kind.kind, name = name, interval_us = values.interval_us,
        [kind.main] = kind.make(self, values) }
    end,
  }
end

--- The entries of the catalogue except their names, by its keys. Entries with `define` are not
--- policies of the core.
external.entries = {}
external.http_entries = {}

--- Returns an entry for a way to reach the process.
local function entry_of(kind, name, summary, options)
  return {
    options = options, summary = summary,
    source = "BLIS macro-level implementation plan, F.4; the protocol is ours",
    define = function(values, path) return definition_of(kind, values, path, name) end,
  }
end

for key, kind in pairs(kinds) do
  external.entries[key] = entry_of(kind, "external",
    "an external process decides; one line of JSON per decision; slow", kind.options)
  local by_url = table.move(kind.options, 1, #kind.options, 1, {})
  by_url[1] = url_option
  external.http_entries[key] = entry_of(kind, "external-http",
    "an HTTP service decides; one JSON POST per decision; slow", by_url)
end

return external
