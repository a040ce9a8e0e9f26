--- Closed-loop runs that others have published: means of TTFT and TPOT by model, GPU, TP degree, and
--- concurrency. The files are read from a folder that is given.
---
--- All requests of the first round are sent at once, and each answer is followed by the next request.
--- Lengths are uniform from 0.8 to 1 times the stated length, or fixed.
local blis = require "blis"
local markdown = require "markdown"

local published = {}

-- Folders of the models' files, beside the folder of the measurements.
local folders = {
  ["meta-llama/Llama-3.1-70B"] = "nvidia--Llama-3.1-70B-Instruct-FP8",
  ["MiniMaxAI/MiniMax-M2.5"] = "MiniMaxAI--MiniMax-M2.7", -- equal sizes
  ["openai/gpt-oss-120b"] = "openai--gpt-oss-120b",
  ["Qwen/Qwen3-32B"] = "Qwen--Qwen3-32B",
}

---@class validation.Set
---@field file string
---@field version? string engine version of rows that state none
---@field is_async boolean
---@field shortest number of a length, relative to the stated length
---@field judges_ttft boolean

---@type validation.Set[]
local sets = {
  { file = "inferencex_vllm.csv", version = "0.11.0", is_async = true, shortest = 0.8,
    judges_ttft = true },
  { file = "qwen3_32b_h100_vllm012.csv", is_async = false, shortest = 1, judges_ttft = false },
}

-- Blocks that queues of these runs show, by model, GPU, TP degree, and version.
local kv_blocks = {
  ["meta-llama/Llama-3.1-70B H200 1 "] = 22848,
  ["meta-llama/Llama-3.1-70B B200 1 "] = 37060,
  ["MiniMaxAI/MiniMax-M2.5 B200 2 0.17.0"] = 29921,
  ["MiniMaxAI/MiniMax-M2.5 B200 2 0.19.0"] = 50215,
}

local function key_of(row)
  return ("%s %s %d %s"):format(row.model, row.gpu, row.tp, row.engine_version)
end

local rounds = 10

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

--- Rows of a CSV file without quotes. The first line is a comment, the second one names the columns.
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

local function cluster_of(row, set, folder, latency_model)
  local concurrency = math.tointeger(row.concurrency)
  return {
    model = ("%s/../models/configs/%s"):format(folder, folders[row.model]),
    hardware = row.gpu, tp = math.tointeger(row.tp), instances = 1, latency_model = latency_model,
    backend_version = row.engine_version ~= "" and tostring(row.engine_version) or set.version,
    async_scheduling = set.is_async, max_num_seqs = concurrency, max_num_batched_tokens = 8192,
    kv_blocks = kv_blocks[key_of(row)],
    expert_parallel = type(row.moe_ep) == "number" and row.moe_ep > 1 or nil,
  }
end

--- The mean TTFT and TPOT that blis predicts for a row, in milliseconds.
local function predict(row, set, folder, latency_model)
  local concurrency = math.tointeger(row.concurrency)
  local result = blis.run {
    cluster = cluster_of(row, set, folder, latency_model), seed = 1, routing = "round-robin",
    workload = { seed = 1, num_requests = rounds * concurrency, clients = { {
      id = "c", concurrency = concurrency, timeout_us = 0,
      input_distribution = length(row.isl, set.shortest),
      output_distribution = length(row.osl, set.shortest),
    } } },
  }
  local ttft, tpot, count = 0.0, 0.0, 0
  for _, one in ipairs(result.requests) do
    if one.state == "completed" then
      ttft, count = ttft + one.ttft_us, count + 1
      tpot = tpot + (one.e2e_us - one.ttft_us) / (one.output_tokens - 1)
    end
  end
  return ttft / count / 1000, tpot / count / 1000
end

--- Rows with the errors of a latency model: a list of { row =, set =, ttft =, tpot = }, relative.
---@param folder string
---@param latency_model string
---@return table[]
function published.errors(folder, latency_model)
  local list = {}
  for _, set in ipairs(sets) do
    for _, row in ipairs(read(folder .. "/" .. set.file)) do
      local ok, ttft, tpot = pcall(predict, row, set, folder, latency_model)
      list[#list + 1] = {
        row = row, set = set, problem = not ok and ttft or nil,
        ttft = ok and ttft / row.ttft_mean_ms - 1 or nil,
        tpot = ok and tpot / row.tpot_ms - 1 or nil,
      }
    end
  end
  return list
end

return published
