--- Decisions of a policy for fixed inputs, in a form that other projects can run. Each decision has
--- the facts about the request and the candidates, the scores, and the choice. First tokens and
--- ends of requests are between the decisions, because policies with state learn from them.
---
--- Prompts begin with a prefix that they share with those of the same group; all other tokens are
--- their own.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local json = require "blis.json"
local workload = require "blis.traffic.workload"

local vectors = {}

---@class blis.conformance.Case
---@field kind string router, scorer, filter or picker
---@field name string
---@field source string where its rules come from, with the version
---@field routing any a routing policy that has it
---@field parameters? table<string, any> that it was given

local instances, block_size, seed = 4, 16, 20260822

-- Steps take 8 ms and 20 us for each token: what is fitted to engines may change, this does not.
local cluster = { instances = instances, kv_blocks = 700, block_size = block_size,
  max_num_seqs = 256, max_num_batched_tokens = 2048,
  latency_model = "blackbox", alpha_coeffs = { 100, 0, 0 }, beta_coeffs = { 8000, 20, 20 } }

-- What is written down of a candidate.
local signals = { "queue_depth", "batch_size", "pending", "in_flight", "effective_load",
  "kv_utilization", "free_kv_blocks", "kv_blocks", "cached_tokens", "prefix_hit",
  "pending_prefill_tokens", "decoded_tokens", "ongoing_tokens", "ongoing_decode_tokens",
  "output_tokens", "max_num_batched_tokens", "watts" }
local request_fields = { "prompt_tokens", "max_output_tokens", "session", "tenant", "round_index",
  "prefix_group", "prefix_tokens", "priority" }

-- What a filter or a policy cannot do without.
local needed = {
  ["llm-d.utilization-filter"] = { max_waiting_queue = 2, fallback_on_empty = true },
  ["llm-d.concurrency-detector"] = { max_concurrency = 4 },
  ["llm-d.label-selector-filter"] = { match = { tier = { "gold" } },
    labels = { tier = { "gold", "-" } } },
  ["llm-d.context-length-aware"] = { labels = { ["llm-d.ai/context-length-range"] = { "0-900", "-",
    "901-4000" } } },
  inverted = { base = "queue-depth" },
  ["llm-d.header-label-affinity-scorer"] = { label = "owner", labels = { owner = { "-", "t" } } },
}

local function with_parameters(name, weight)
  local made = { name, weight }
  for key, value in pairs(needed[name] or {}) do made[key] = value end
  return made
end

local makers = {
  routers = function(name) return { name } end,
  scorers = function(name)
    return { "weighted", scorers = { with_parameters(name, 1) }, tie = "first" }
  end,
  filters = function(name)
    return { "weighted", scorers = { { "queue-depth", 1 } }, filters = { with_parameters(name) },
      tie = "first" }
  end,
  pickers = function(name)
    return { "weighted", scorers = { { "queue-depth", 1 }, { "kv-utilization", 1 } },
      picker = name }
  end,
}
local kinds = { { "routers", "router" }, { "filters", "filter" }, { "scorers", "scorer" },
  { "pickers", "picker" } }

-- Not a policy of its own: it asks a process of the user's.
local left_out = { external = true, ["external-http"] = true }

--- All policies of the catalogue that decide where a request goes.
---@return blis.conformance.Case[]
function vectors.cases()
  local list = {}
  for _, kind in ipairs(kinds) do
    for _, entry in ipairs(catalogue[kind[1]]) do
      if not left_out[entry.name] then
        list[#list + 1] = { kind = kind[2], name = entry.name, source = entry.source,
          aliases = entry.aliases, routing = makers[kind[1]](entry.name),
          parameters = needed[entry.name] }
      end
    end
  end
  return list
end

local traffic

--- The same requests for all, whatever the seed of a policy.
local function requests()
  traffic = traffic or workload.collect(workload.read({
    rate = 12, requests = 48, arrival = { "gamma", cv = 2 }, tenant = "t",
    prompt = { "gaussian", mean = 300, std_dev = 250, min = 8, max = 1500 },
    output = { "gaussian", mean = 60, std_dev = 40, min = 4, max = 200 },
    prefixes = { groups = 4, tokens = 800, zipf = 0.5 },
    sessions = { max_rounds = 3, think_time_us = 300000, grows = false, closed_loop = false },
  }, "workload", { seed = seed }))
  return traffic
end

local function pick(from, names)
  local pairs_of = {}
  for _, name in ipairs(names) do
    pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = name, from[name]
  end
  return json.object(table.unpack(pairs_of, 1, 2 * #names))
end

--- What is seen right before a decision, by request.
local function watch(spec, steps)
  local function event(name)
    return function(request, instance)
      steps[#steps + 1] = json.object("event", name, "request", request.id, "instance",
        instance and instance.id)
    end
  end
  spec.on_first_token, spec.on_completion = event "first_token", event "end"
  spec.on_failure = event "end"
  spec.admission = { name = "watch", decide = function(request, seen)
    local list = {}
    for i, one in ipairs(seen.instances) do
      list[i] = json.object("instance", one.id, "signals", pick(one, signals))
    end
    steps[#steps + 1] = { is_decision = true, id = request.id, time_us = request.now_us,
      request = pick(request, request_fields), candidates = json.list(list) }
    return "admit"
  end }
end

--- Scores and choice of a decision, by its request.
local function answers(trace)
  local by_request = {}
  for i = 1, #trace do
    local one = trace[i]
    if one.kind == "routing" then by_request[one.request] = one end
  end
  return by_request
end

local function scores_of(decision)
  local list = {}
  for i, one in ipairs(decision.candidates or {}) do
    local parts = one.scores and json.object("instance", one.instance, "score", one.score,
      "parts", one.scores)
    list[i] = parts or json.object("instance", one.instance, "score", one.score)
  end
  return json.list(list)
end

local function step_of(seen, decision)
  local step = { "event", "decision", "request", seen.id, "time_us", seen.time_us, "facts",
    seen.request, "candidates", seen.candidates }
  if decision and decision.chosen then
    table.move({ "chosen", decision.chosen, "scores", scores_of(decision) }, 1, 4, #step + 1, step)
  else
    step[#step + 1], step[#step + 2] = "rejected", decision and decision.reason or "no-candidate"
  end
  return json.object(table.unpack(step))
end

local function run(case, policy_seed, watcher)
  local spec = { cluster = cluster, workload = requests(), routing = case.routing,
    seed = policy_seed, trace_level = "decisions" }
  if watcher then watcher(spec) end
  return experiment.run(spec)
end

local function choices(result)
  local list = {}
  for i = 1, #result.decisions do
    local one = result.decisions[i]
    if one.kind == "routing" then list[#list + 1] = one.chosen or "-" end
  end
  return table.concat(list, " ")
end

---@class blis.conformance.Vector
---@field case blis.conformance.Case
---@field draws boolean random numbers decide, so choices can differ elsewhere
---@field decisions integer
---@field hash string of all decisions and scores
---@field text fun(): string as JSON

--- The vector of a policy.
---@param case blis.conformance.Case
---@return blis.conformance.Vector
function vectors.of(case)
  local steps = {}
  local result = run(case, seed, function(spec) watch(spec, steps) end)
  local by_request, written, count = answers(result.decisions), {}, 0
  for i, seen in ipairs(steps) do
    written[i] = seen
    if seen.is_decision then
      count = count + 1
      written[i] = step_of(seen, by_request[seen.id])
    end
  end
  local draws = choices(result) ~= choices(run(case, seed + 1))
  local head = { "policy", case.name, "kind", case.kind, "source", case.source, "parameters",
    case.parameters or json.object(), "routing", case.routing, "instances", instances,
    "block_size_tokens", block_size, "seed", seed, "draws", draws }
  local decided = json.encode(json.list(written))
  return { case = case, draws = draws, decisions = count, hash = core.hash128(decided):sub(1, 16),
    text = function()
      local all = json.object("format", "blis-conformance-1", "simulator", core._VERSION,
        table.unpack(head))
      return (json.encode(all):gsub("}$", "")) .. ',"steps":' .. decided:gsub('{"event"',
        '\n{"event"') .. "}\n"
    end }
end

local function shown(value) return type(value) == "string" and value or errors.show(value) end

--- What of a vector that was written somewhere differs from the policy here: the first decision;
--- nil when none does.
---@param given table the decoded file
---@param own table the decoded text of the vector here
---@return string?
function vectors.difference(given, own)
  for i = 1, math.max(#given.steps, #own.steps) do
    local a, b = given.steps[i], own.steps[i]
    if not a or not b then return ("%d steps there, %d here"):format(#given.steps, #own.steps) end
    if a.event ~= b.event or a.request ~= b.request then
      return ("step %d is %s of %s there, %s of %s here"):format(i, shown(a.event),
        shown(a.request), b.event, b.request)
    end
    local there, here = a.chosen or a.rejected, b.chosen or b.rejected
    if a.event == "decision" and there ~= here then
      return ("%s: %s there, %s here"):format(a.request, shown(there), here)
    end
  end
end

return vectors
