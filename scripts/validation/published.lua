--- Closed-loop runs that others have published: means of TTFT and TPOT by model, GPU, TP degree,
--- and concurrency. The files are read from a folder that is given.
---
--- All requests of the first round are sent at once, and each answer is followed by the next
--- request. Lengths are uniform from 0.8 to 1 times the stated length, or fixed.
---
--- Options of the engines are those of the scripts that measured the rows (InferenceX,
--- benchmarks/single_node, read on 2026-11-28): gpt-oss-120b on B200, and MiniMax-M2.5 on B200 from
--- vLLM 0.19 on, keep the KV cache in FP8. The latter computes at most two prompts in a step.
local blis = require "blis"

local published = {}

-- Folders of the models' files, beside the folder of the measurements.
local folders = {
  ["meta-llama/Llama-3.1-70B"] = "nvidia--Llama-3.1-70B-Instruct-FP8",
  ["MiniMaxAI/MiniMax-M2.5"] = "MiniMaxAI--MiniMax-M2.7", -- equal sizes
  ["openai/gpt-oss-120b"] = "openai--gpt-oss-120b",
  ["Qwen/Qwen3-32B"] = "Qwen--Qwen3-32B",
}

---@class validation.Set
---@field name string
---@field file string
---@field version? string engine version of rows that state none
---@field is_async boolean
---@field shortest number of a length, relative to the stated length
---@field judges_ttft boolean

---@type validation.Set[]
local sets = {
  { name = "InferenceX", file = "inferencex_vllm.csv", version = "0.11.0", is_async = true,
    shortest = 0.8, judges_ttft = true },
  { name = "Qwen3-32B", file = "qwen3_32b_h100_vllm012.csv", is_async = false, shortest = 1,
    judges_ttft = false },
}

local function length(tokens, shortest)
  tokens = math.tointeger(tokens)
  if shortest == 1 then return tokens end
  local weights, steps = { "empirical" }, 64
  for i = 0, steps do
    weights[tostring(math.floor(tokens * (shortest + (1 - shortest) * i / steps)))] = 1
  end
  return weights
end

local function split(line)
  local cells = {}
  for cell in (line .. ","):gmatch("([^,]*),") do cells[#cells + 1] = cell end
  return cells
end

--- Rows of a CSV file without quotes. The first line is a comment, the second one names columns.
local function read(path)
  local rows, names = {}, nil
  for line in assert(io.open(path)):lines() do
    if not line:match("^#") then
      local cells, row = split(line), {}
      for i, name in ipairs(names or {}) do row[name] = tonumber(cells[i]) or cells[i] end
      if names then rows[#rows + 1] = row else names = cells end
    end
  end
  return rows
end

--- True if the engine kept its KV cache in FP8 although the model's files do not state it.
local function has_fp8_cache(row)
  return row.gpu == "B200"
    and (row.model == "openai/gpt-oss-120b" or row.engine_version == "0.19.0")
end

local function tokens_of_step(row)
  local is_twice = row.model == "MiniMaxAI/MiniMax-M2.5" and row.engine_version == "0.19.0"
  return is_twice and math.tointeger(2 * row.isl) or 8192
end

--- The share of the GPU memory that the engine was allowed to use.
local function memory_share(row)
  local is_larger = row.model == "MiniMaxAI/MiniMax-M2.5" and row.engine_version ~= "0.19.0"
  return is_larger and 0.95 or 0.9
end

local function cluster_of(row, set, folder, variant)
  return {
    model = ("%s/../models/configs/%s"):format(folder, folders[row.model]),
    hardware = row.gpu, tp = math.tointeger(row.tp), instances = 1,
    latency_model = variant.latency_model, catalogue = variant.catalogue,
    backend_version = row.engine_version ~= "" and tostring(row.engine_version) or set.version,
    async_scheduling = set.is_async, max_num_seqs = math.tointeger(row.concurrency),
    max_num_batched_tokens = tokens_of_step(row),
    kernel_tables = variant.kernel_tables,
    kv_cache_dtype = has_fp8_cache(row) and "fp8" or nil,
    gpu_memory_utilization = memory_share(row),
    expert_parallel = type(row.moe_ep) == "number" and row.moe_ep > 1 or nil,
  }
end

local function workload_of(row, set, variant)
  local concurrency = math.tointeger(row.concurrency)
  return { seed = 1, num_requests = (variant.rounds or 10) * concurrency, clients = { {
    id = "c", concurrency = concurrency, timeout_us = 0,
    input_distribution = length(row.isl, set.shortest),
    output_distribution = length(row.osl, set.shortest),
  } } }
end

--- The means that blis predicts for a row, in milliseconds.
local function means_of(result)
  local ttft, tpot, e2e, count = 0.0, 0.0, 0.0, 0
  for _, one in ipairs(result.requests) do
    if one.state == "completed" then
      count, ttft, e2e = count + 1, ttft + one.ttft_us, e2e + one.e2e_us
      tpot = tpot + (one.e2e_us - one.ttft_us) / (one.output_tokens - 1)
    end
  end
  return { ttft = ttft / count / 1000, tpot = tpot / count / 1000, e2e = e2e / count / 1000 }
end

--- The minor number of the engine's version 0.x.
local function version_of(row, set)
  local text = row.engine_version ~= "" and tostring(row.engine_version) or set.version
  return math.tointeger(tonumber(text:match "^0%.(%d+)"))
end

local function run_of(row, set, folder)
  return {
    source = set.name, group = ("%s on %s"):format(row.model, row.gpu), gpu = row.gpu,
    model = row.model, part = ("TP %d, vLLM %s"):format(row.tp, row.engine_version),
    rows = { { name = ("%d/%d, %d at once"):format(row.isl, row.osl, row.concurrency),
      ttft = set.judges_ttft and row.ttft_mean_ms or nil, tpot = row.tpot_ms } },
    versions = { version_of(row, set) },
    simulate = function(variant)
      local result = blis.run { cluster = cluster_of(row, set, folder, variant), seed = 1,
        routing = "round-robin", workload = workload_of(row, set, variant) }
      return { means_of(result) }, result
    end,
  }
end

--- Runs of one row each; see measured.lua.
---@param folder string
---@return validation.Run[]
function published.runs(folder)
  local runs = {}
  for _, set in ipairs(sets) do
    for _, row in ipairs(read(folder .. "/" .. set.file)) do
      runs[#runs + 1] = run_of(row, set, folder)
    end
  end
  return runs
end

return published
