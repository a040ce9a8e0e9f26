--- Stages of load whose means were measured: the accuracy study of inference-sim. Its figures may
--- be cited but not shipped, so they are read from a folder that is given.
---
--- What the load really was: a hundred fixed prompts over and over with prefix caching on, so that
--- of every prompt a few tokens alone are new; exact output lengths; Poisson arrivals; stages one
--- after the other without a pause.
local blis = require "blis"
local core = require "blis.core"

local stages = {}

local columns = { "run", "model", "hardware", "tp", "max_num_batched_tokens", "stage", "rate_rps",
  "prompt_tokens", "output_tokens", "ttft_ms", "e2e_ms", "tpot_ms" }

local new_tokens, longer = 5, 1.03
local prompts = 100
local warm_up_requests = 150
local gpus = { ["A100-80GB"] = "A100-SXM" }
local kv_blocks = {
  ["2-codellama-34b-tp2-codegen"] = 26602, ["3-codellama-34b-tp2-roleplay"] = 26602,
  ["6-llama-2-70b-tp4-codegen"] = 31356, ["7-llama-2-70b-tp4-roleplay"] = 31356,
}

local known_models = {
  ["codellama/codellama-34b-instruct"] = "codellama/codellama-34b-instruct-hf",
  ["meta-llama/llama-2-70b"] = "meta-llama/llama-2-70b-hf",
}

local function read(path)
  local wanted = {}
  for i, name in ipairs(columns) do wanted[i] = { name = name, is_text = true } end
  local runs, by_name = {}, {}
  for _, row in ipairs(core.csv_read(path, wanted)) do
    for _, name in ipairs(columns) do row[name] = tonumber(row[name]) or row[name] end
    local run = by_name[row.run]
    if not run then
      run = { name = row.run, stages = {} }
      by_name[row.run] = run
      runs[#runs + 1] = run
    end
    run.stages[#run.stages + 1] = row
  end
  return runs
end

local function seconds_of(run) return #run.stages == 1 and 1200 or 600 end

--- The requests of a run, stage after stage, and the stage of each.
local function traffic_of(run, seed)
  local rng, list, stage_of = blis.rng(seed, "arrivals"), {}, {}
  local start_us, length_us = 0, seconds_of(run) * 1000000
  for number, stage in ipairs(run.stages) do
    local at_us = start_us
    while true do
      at_us = at_us + rng:exponential() * 1e6 / stage.rate_rps
      if at_us >= start_us + length_us then break end
      local prompt = rng:integer(prompts)
      local cached = (stage.prompt_tokens * longer // 16) * 16
      list[#list + 1] = {
        arrival_us = math.floor(at_us), output_tokens = math.tointeger(stage.output_tokens),
        content = { { ("prompt %d of %d"):format(prompt, number), math.tointeger(cached) },
          new_tokens }, timeout_us = 0,
      }
      stage_of[#list] = number
    end
    start_us = start_us + length_us
  end
  return list, stage_of
end

--- Means of each stage behind its warm-up.
local function means_of(run, result, stage_of)
  local sums, seen = {}, {}
  for _, one in ipairs(result.requests) do
    local number = stage_of[one.number + 1]
    seen[number] = (seen[number] or 0) + 1
    if seen[number] > warm_up_requests and one.state == "completed" then
      local sum = sums[number] or { n = 0, ttft = 0.0, e2e = 0.0 }
      sums[number] = sum
      sum.n, sum.ttft, sum.e2e = sum.n + 1, sum.ttft + one.ttft_us, sum.e2e + one.e2e_us
    end
  end
  local means = {}
  for number, stage in ipairs(run.stages) do
    local sum = sums[number]
    if sum then
      local ttft, e2e = sum.ttft / sum.n / 1000, sum.e2e / sum.n / 1000
      means[number] = { ttft = ttft, e2e = e2e, tpot = (e2e - ttft) / (stage.output_tokens - 1) }
    end
  end
  return means
end

local function cluster_of(run, variant)
  local first = run.stages[1]
  return { model = known_models[first.model] or first.model,
    hardware = gpus[first.hardware] or first.hardware, tp = math.tointeger(first.tp),
    latency_model = variant.latency_model, catalogue = variant.catalogue, instances = 1,
    kernel_tables = variant.kernel_tables,
    max_num_seqs = 128, max_num_batched_tokens = math.tointeger(first.max_num_batched_tokens),
    kv_blocks = kv_blocks[run.name] or (first.hardware == "H100" and 30000 or nil) }
end

local function simulate(run, variant)
  local list, stage_of = traffic_of(run, 42)
  local i = 0
  local result = blis.run {
    cluster = cluster_of(run, variant),
    workload = function()
      i = i + 1
      return list[i]
    end,
    routing = "round-robin",
  }
  return means_of(run, result, stage_of), result
end

local function run_of(run)
  local first, rows = run.stages[1], {}
  for i, stage in ipairs(run.stages) do
    rows[i] = { name = ("%s, %s requests/s"):format(run.name, stage.rate_rps),
      ttft = stage.ttft_ms, tpot = stage.tpot_ms, e2e = stage.e2e_ms }
  end
  return {
    source = "stages", group = ("%s on %s"):format(first.model, first.hardware),
    model = first.model, gpu = first.hardware, versions = { 14, 15 }, part = run.name, rows = rows,
    simulate = function(variant) return simulate(run, variant) end,
  }
end

--- Runs with a row for each stage; see measured.lua.
---@param folder string with vllm_stages.csv
---@return validation.Run[]
function stages.runs(folder)
  local runs = {}
  for i, run in ipairs(read(folder .. "/vllm_stages.csv")) do runs[i] = run_of(run) end
  return runs
end

return stages
