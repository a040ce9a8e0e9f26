--- A run as JSON for the page: its requests, its decisions and its caches over time, as columns.
local core = require "blis.core"
local json = require "blis.json"
local setup = require "blis.results.setup"

local run = {}

-- A page plays no more requests than this, of the first that arrived.
run.most_requests = 20000

-- Maximum number of candidates over all decisions; further decisions are omitted.
run.most_signals = 600000

--- Four digits are more than a page shows.
local function short(value)
  if math.type(value) == "integer" then return value end
  if value % 1 == 0 and math.abs(value) < 10000 then return math.tointeger(value) end
  if value ~= value or math.abs(value) == math.huge then return core.json_null end
  return tonumber(("%.4g"):format(value))
end

local function column(writer, name, count, value_of)
  writer:array(name)
  for i = 1, count do
    local value = value_of(i)
    writer:item(value == nil and core.json_null or value)
  end
  writer:done()
end

--- Places, from 0, by the ids of instances: those there are at the end, and any that have gone.
local function places_of(result, requests)
  local ids, places = {}, {}
  local function add(id)
    if id and id ~= "" and not places[id] then
      ids[#ids + 1], places[id] = id, #ids
    end
  end
  for _, one in ipairs(result.instances) do add(one.id) end
  for _, request in ipairs(requests) do
    add(request.prefill_instance)
    add(request.instance)
  end
  return ids, places
end

local function sum(a, b)
  return a and b and a + b or nil
end

--- When a request was admitted to a batch; with pools, to that of its prefill.
local function admitted_us(request)
  return request.prefill_admitted_us or sum(request.arrival_us, request.scheduling_delay_us)
end

-- Fields of requests in every run, and fields that only some runs have.
local usual = {
  { "id", function(request) return request.id end },
  { "state", function(request) return request.state end },
  { "arrival_us", function(request) return request.arrival_us end },
  { "gateway_us", function(request) return request.gateway_wait_us or 0 end },
  { "admitted_us", admitted_us },
  { "first_us", function(request) return sum(request.arrival_us, request.ttft_us) end },
  { "end_us", function(request) return request.end_us end },
  { "prompt_tokens", function(request) return request.prompt_tokens end },
  { "output_tokens", function(request) return request.output_tokens end },
  { "had_hit", function(request) return request.had_hit end },
}
local optional = { "tenant", "slo_class", "session", "model", "reason", "prefill_end_us",
  "transfer_start_us", "transfer_end_us" }

local function write_requests(writer, requests, places)
  writer:object "requests"
  for _, item in ipairs(usual) do
    column(writer, item[1], #requests, function(i) return item[2](requests[i]) end)
  end
  column(writer, "instance", #requests, function(i) return places[requests[i].instance] end)
  column(writer, "prefill_instance", #requests,
    function(i) return places[requests[i].prefill_instance] end)
  for _, name in ipairs(optional) do
    local function value_of(i)
      local value = requests[i][name]
      return value ~= "" and value or nil
    end
    local is_known = false
    for i = 1, #requests do is_known = is_known or value_of(i) ~= nil end
    if is_known then column(writer, name, #requests, value_of) end
  end
  writer:done()
end

local signals = { "score", "queue_depth", "batch_size", "kv_utilization" }

--- The candidates of a decision as rows: place, signals, then the score of each scorer.
local function write_candidates(writer, decision, places, scorers)
  writer:array "candidates"
  for _, candidate in ipairs(decision.candidates) do
    writer:array():item(places[candidate.instance] or -1)
    for _, name in ipairs(signals) do writer:item(short(candidate[name])) end
    for _, scorer in ipairs(candidate.scores and scorers or {}) do
      writer:item(short(candidate.scores[scorer.name]))
    end
    writer:done()
  end
  writer:done()
end

local function write_decision(writer, decision, at, places, scorers)
  writer:object():field("request", at):field("kind", decision.kind)
    :field("time_us", decision.time_us):field("verdict", decision.verdict)
    :field("reason", decision.reason)
  json.write_fields(writer, { "stage" }, decision)
  if decision.chosen then writer:field("chosen", places[decision.chosen] or -1) end
  if decision.candidates then write_candidates(writer, decision, places, scorers) end
  writer:done()
end

local function write_scorers(writer, name, scorers)
  writer:array(name)
  for _, scorer in ipairs(scorers) do
    writer:object():field("name", scorer.name):field("weight", short(scorer.weight)):done()
  end
  writer:done()
end

--- The data of every decision, up to the limit; admissions that accept a request have none.
local function write_decisions(writer, decisions, requests, places)
  local at_of, left = {}, run.most_signals
  for i, request in ipairs(requests) do at_of[request.id] = i - 1 end
  local scorers, prefill = decisions:scorers(), decisions:scorers "prefill"
  writer:object "decisions"
  write_scorers(writer, "scorers", scorers)
  write_scorers(writer, "prefill_scorers", prefill)
  writer:array "list"
  for i = 1, #decisions do
    local decision = decisions[i]
    local at = at_of[decision.request]
    if left <= 0 then break end
    if at and not (decision.kind == "admission" and decision.verdict == "admit") then
      local used = decision.stage == "prefill" and prefill or scorers
      left = left - #(decision.candidates or {}) * (1 + #signals + #used)
      write_decision(writer, decision, at, places, used)
    end
  end
  writer:done():field("is_complete", left > 0):done()
end

local function write_series(writer, series)
  writer:object "series"
  json.write_list(writer, "t_us", series.t_us)
  writer:array "kv_utilization"
  for _, one in ipairs(series.instances) do
    local shares = one.kv_utilization
    column(writer, nil, #shares, function(i) return short(shares[i]) end)
  end
  writer:done():done()
end

local function at(distribution, statistic)
  return distribution.count > 0 and short(distribution[statistic]) or core.json_null
end

local function write_figures(writer, result)
  writer:object "figures"
    :field("ttft_ms_mean", at(result.ttft_ms, "mean"))
    :field("ttft_ms_p99", at(result.ttft_ms, "p99"))
    :field("itl_ms_mean", at(result.itl_ms, "mean"))
    :field("e2e_ms_mean", at(result.e2e_ms, "mean"))
    :field("e2e_ms_p99", at(result.e2e_ms, "p99"))
    :field("tokens_per_sec", short(result.tokens_per_sec))
    :field("cache_hit_rate_overall", short(result.cache_hit_rate_overall))
    :field("arrived", result.arrived):field("completed", result.completed):done()
end

--- The run, called label.
---@param result blis.Result
---@param label string
---@return string
function run.json(result, label)
  local requests = {}
  for i = 1, math.min(#result.requests, run.most_requests) do requests[i] = result.requests[i] end
  local ids, places = places_of(result, requests)
  local writer = core.json_writer():object():field("label", label)
    :field("routing", result.routing):field("hash", result.hash)
    :field("duration_us", result.duration_us):field("requests_in_all", #result.requests)
  json.write_list(writer, "instances", ids)
  writer:object "settings"
  for _, row in ipairs(setup.rows(result)) do writer:field(row.name, row.text) end
  writer:done()
  write_figures(writer, result)
  write_requests(writer, requests, places)
  local decisions, series = rawget(result, "decisions"), rawget(result, "series")
  if decisions then write_decisions(writer, decisions, requests, places) end
  if series then write_series(writer, series) end
  return writer:done():take()
end

return run
