--- Metrics of a run over time: values computed from the counts, and files of them.
local deferred = require "blis.deferred"
local row_file = require "blis.results.row_file"
local scaling = deferred "blis.feature.scaling.figures"

local series = {}

---@class blis.SeriesLink of the interval before each row
---@field name string as in blis.Link
---@field utilization number[] share of the time in which it had something to move
---@field mean_depth number[] mean number of concurrent transfers; above 1, transfers waited

---@class blis.SeriesTier of a KV tier, all its stores together
---@field name string as in blis.KvTier
---@field used_blocks integer[] that can be read
---@field loaded_blocks integer[] since the start, brought to requests
---@field saved_blocks integer[] since the start

---@class blis.SeriesInstance
---@field id string "instance_2"
---@field queue_depth integer[]
---@field batch_size integer[]
---@field kv_utilization number[]

---@class blis.SeriesLora of all instances that are up; an adapter that two have counts twice
---@field loaded integer[] in slots
---@field loading integer[] on their way into one
---@field running integer[] with requests in a batch
---@field waiting integer[] with requests in a wait queue, whether they are loaded or not
---@field free_slots integer[] with neither a loaded adapter nor one on its way
---@field loads integer[] that have begun since the start

---@class blis.Series columns with a row per interval; counts are since the start
---@field interval_us integer
---@field rows integer
---@field t_us integer[]
---@field arrived integer[]
---@field completed integer[]
---@field rejected integer[]
---@field timed_out integer[]
---@field prompt_tokens integer[] accepted by instances
---@field output_tokens integer[] of completed requests, and of every attempt of a cascade
---@field preemptions integer[]
---@field requests_per_sec number[] completed since the row before
---@field tokens_per_sec number[] output tokens of these
---@field judged? integer[] requests that had arrived and have a target; with slo_targets
---@field good? integer[] of these, those that kept it, in the end
---@field replicas? integer[] instances that were ready; with autoscaler
---@field wanted_replicas? integer[] instances that the autoscaler asked for
---@field paid_replicas? integer[] billed instances: requested and not yet stopped
---@field transfers? integer[] of KV, under way; with pools, as the next three
---@field waiting_for_room? integer[] hand-offs, at their destinations
---@field transfers_on_one_link? integer[] on the link that has most of them
---@field moved_gb? number[] since the start, of transfers that had begun
---@field links? blis.SeriesLink[] with pools: the links that were used
---@field kv_tiers? blis.SeriesTier[] with kv_tiers: each of them
---@field lora? blis.SeriesLora with cluster.lora
---@field saturation? number[] of the instances, by the detector of the gateway's queue
---@field bands? { priority: integer, waiting: integer[] }[] of that queue
---@field instances blis.SeriesInstance[]

---@class blis.InstanceSteps columns with a row per step or per group of steps; sums except times
---@field steps integer[] in the row; 1 unless neighbours were put together
---@field start_us integer[] of the first one
---@field end_us integer[] of the last one
---@field busy_us integer[]
---@field prefill_requests integer[] that computed tokens of their prompts
---@field prefill_tokens integer[] computed
---@field decode_requests integer[] that computed a token each
---@field in_front_end integer[] requests that were routed here and not yet in the wait queue: those
--- in the API server
---@field waiting integer[] in the wait queue, those included whose KV is being loaded
---@field used_kv_blocks integer[] referenced by requests

---@class blis.StepLog of a run with keep_steps
---@field merged integer steps that are in one row at most
---@field instances blis.InstanceSteps[]

---@class blis.AdapterLoads columns with a row per load, in the order of ends, then of instances
---@field instance string[]
---@field adapter string[]
---@field rank integer[]
---@field request string[] id of the one that it began for
---@field start_us integer[]
---@field end_us integer[]
---@field waiting integer[] requests that waited and had this adapter when the load ended

---@class blis.KvMoves columns with a row per read or write of a KV tier, in the order of their ends
---@field tier string[] as in blis.KvTier
---@field owner string[] of the store: "instance_2", "node_0"; "" = all instances
---@field instance string[] that has read or written
---@field is_read boolean[]
---@field is_cut boolean[] given up before its end
---@field request string[] id of who it was read for; "" for writes
---@field start_us integer[]
---@field end_us integer[]
---@field blocks integer[]
---@field bytes integer[]

---@class blis.Joins columns with a row per request that was sent and one that it had waited for
---@field parent string[] id
---@field child string[] id

--- "prefilled": its KV was handed off. "recomputed": the hand-off failed, and the request restarts.
---@alias blis.VisitOutcome
---| "completed"
---| "length_capped"
---| "timed_out"
---| "unservable"
---| "rejected"
---| "failed"
---| "unfinished"
---| "prefilled"
---| "recomputed"
---| "rerouted"
---| "retried"

---@alias blis.InstanceState
---| "requested"
---| "pending"
---| "provisioning"
---| "loading"
---| "warming"
---| "active"
---| "draining"
---| "drained"
---| "failed"
---| "recovering"

---@class blis.Visits columns with a row per stay of a request at an instance, in order of from_us
---@field request string[] id
---@field instance string[]
---@field number integer[] among those of the request, from 1
---@field from_us integer[] it was sent there
---@field queued_us integer[] in the wait queue, behind what its server does first; -1 = never
---@field admitted_us integer[] first in a batch; -1 = never
---@field first_us integer[] first token, or from_us after a prefill on another instance; -1: none
---@field left_us integer[] time at which it left the batch or the queue permanently
---@field to_us integer[] left_us, or when its client had its last token
---@field preemptions integer[]
---@field outcome blis.VisitOutcome[] outcome of the visit
---@field instance_state blis.InstanceState[] of its instance as it left: "failed" after a crash

---@class blis.Preemptions columns with a row per preemption, in order of time
---@field request string[] id
---@field instance string[]
---@field visit integer[] its number
---@field time_us integer[]
---@field resumed_us integer[] in a batch again; -1 = never
---@field recomputed_us integer[] what was lost is computed again; -1 = never, or nothing was

---@class blis.InstanceStates columns with a row per change, in order of time
---@field time_us integer[] 0: of an instance that is there from the start
---@field instance string[]
---@field state blis.InstanceState[] a failed start has two rows at the same time: "failed", and the
--- state of the new start

---@class blis.TimelineLog of a run with keep_timeline
---@field left_out integer number of rows omitted because of the limit
---@field complete_until_us? integer set if visits, preemptions, or states were omitted: the log
--- contains all rows before this time
---@field visits blis.Visits
---@field preemptions blis.Preemptions
---@field states blis.InstanceStates
---@field loads? blis.AdapterLoads with cluster.lora
---@field moves? blis.KvMoves with kv_tiers
---@field joins? blis.Joins of session graphs

local counts = { "arrived", "completed", "rejected", "timed_out", "prompt_tokens", "output_tokens",
  "preemptions" }

--- Adds what happened per second in every interval.
---@param given blis.Series
function series.add_rates(given)
  local seconds = given.interval_us / 1e6
  local function rates(totals)
    local list = {}
    for row, total in ipairs(totals) do list[row] = (total - (totals[row - 1] or 0)) / seconds end
    return list
  end
  given.requests_per_sec = rates(given.completed)
  given.tokens_per_sec = rates(given.output_tokens)
end

--- Adds how many instances there were, which is a column of its own where they come and go.
---@param given blis.Series
---@param of blis.Scaling
function series.add_replicas(given, of)
  local columns = scaling.at(of, given.t_us)
  given.replicas, given.wanted_replicas = columns.ready, columns.wanted
  given.paid_replicas = columns.paid
end

--- Adds the number of requests that met their targets, by arrival.
---@param given blis.Series
---@param records blis.Requests
---@param targets blis.SloTarget[]
function series.add_goodput(given, records, targets)
  local times, judged, good = { 0 }, 0, 0
  for row, time_us in ipairs(given.t_us) do times[row + 1] = time_us + 1 end
  local spans = records:goodput_over_time(times, targets)
  given.judged, given.good = {}, {}
  for row = 1, given.rows do
    judged, good = judged + spans[row].judged, good + spans[row].good
    given.judged[row], given.good[row] = judged, good
  end
end

-- Columns that exist only with certain options.
local optional = { "judged", "good", "replicas", "wanted_replicas", "paid_replicas", "transfers",
  "waiting_for_room", "transfers_on_one_link", "moved_gb" }

local plain = { "t_us", "requests_per_sec", "tokens_per_sec", table.unpack(counts) }
local of_links = { "utilization", "mean_depth" }
local of_tiers = { "used_blocks", "loaded_blocks", "saved_blocks" }
local of_lora = { "loaded", "loading", "running", "waiting", "free_slots", "loads" }
local levels = { "queue_depth", "batch_size", "kv_utilization" }

local function band_column(band) return ("band_%d.waiting"):format(band.priority) end

--- "instance_0_out.utilization"
local function link_column(link, name) return link.name:gsub(" ", "_") .. "." .. name end

--- "tier_cpu.used_blocks"
local function tier_column(tier, name) return "tier_" .. tier.name .. "." .. name end

--- "lora.loaded"
local function lora_column(name) return "lora." .. name end

--- "instance_0.queue_depth"; files of earlier versions have no ids.
local function level_column(instance, i, level)
  return (instance.id or ("instance_%d"):format(i - 1)) .. "." .. level
end

--- The names of the columns of a file.
---@param given blis.Series
---@return string[]
function series.columns(given)
  local names = table.move(plain, 1, #plain, 1, {})
  for _, name in ipairs(optional) do
    if given[name] then names[#names + 1] = name end
  end
  if given.bands then
    names[#names + 1] = "saturation"
    for _, band in ipairs(given.bands) do names[#names + 1] = band_column(band) end
  end
  for _, link in ipairs(given.links or {}) do
    for _, name in ipairs(of_links) do names[#names + 1] = link_column(link, name) end
  end
  for _, tier in ipairs(given.kv_tiers or {}) do
    for _, name in ipairs(of_tiers) do names[#names + 1] = tier_column(tier, name) end
  end
  for _, name in ipairs(given.lora and of_lora or {}) do names[#names + 1] = lora_column(name) end
  table.move(levels, 1, #levels, #names + 1, names)
  for i, instance in ipairs(given.instances) do
    for _, level in ipairs(levels) do
      names[#names + 1] = level_column(instance, i, level)
    end
  end
  return names
end

--- One row by the names of the columns. Queues and batches of the cluster are sums over its
--- instances, kv_utilization is the mean.
---@param given blis.Series
---@param index integer
---@return table<string, number>
function series.row(given, index)
  local row = { queue_depth = 0, batch_size = 0, kv_utilization = 0.0 }
  for _, name in ipairs(plain) do row[name] = given[name][index] end
  for _, name in ipairs(optional) do row[name] = given[name] and given[name][index] end
  if given.bands then
    row.saturation = given.saturation[index]
    for _, band in ipairs(given.bands) do row[band_column(band)] = band.waiting[index] end
  end
  for _, link in ipairs(given.links or {}) do
    for _, name in ipairs(of_links) do row[link_column(link, name)] = link[name][index] end
  end
  for _, tier in ipairs(given.kv_tiers or {}) do
    for _, name in ipairs(of_tiers) do row[tier_column(tier, name)] = tier[name][index] end
  end
  for _, name in ipairs(given.lora and of_lora or {}) do
    row[lora_column(name)] = given.lora[name][index]
  end
  for i, instance in ipairs(given.instances) do
    for _, level in ipairs(levels) do
      local value = instance[level][index]
      row[level_column(instance, i, level)] = value
      row[level] = row[level] + value
    end
  end
  row.kv_utilization = row.kv_utilization / math.max(row.replicas or #given.instances, 1)
  return row
end

--- Writes all rows to a file: CSV in NAME.csv, JSON lines in NAME.jsonl.
---@param given blis.Series
---@param path string
function series.export(given, path)
  row_file.write(path, series.columns(given), given.rows, function(index)
    return series.row(given, index)
  end)
end

return series
