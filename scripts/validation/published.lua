--- Closed-loop runs that others have published: means of TTFT and TPOT by model, GPU, TP degree,
--- and concurrency. The files are read from a folder that is given.
---
--- All requests of the first round are sent at once, and each answer is followed by the next
--- request. Lengths are uniform from 0.8 to 1 times the stated length, or fixed.
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

local function cluster_of(row, set, folder, variant)
  local concurrency = math.tointeger(row.concurrency)
  return {
    model = ("%s/../models/configs/%s"):format(folder, folders[row.model]),
    hardware = row.gpu, tp = math.tointeger(row.tp), instances = 1,
    latency_model = variant.latency_model, catalogue = variant.catalogue,
    backend_version = row.engine_version ~= "" and tostring(row.engine_version) or set.version,
    async_scheduling = set.is_async, max_num_seqs = concurrency, max_num_batched_tokens = 8192,
    kv_blocks = kv_blocks[key_of(row)],
    expert_parallel = type(row.moe_ep) == "number" and row.moe_ep > 1 or nil,
  }
end

--- The mean TTFT and TPOT that blis predicts for a row, in milliseconds.
local function predict(row, set, folder, variant)
  local concurrency = math.tointeger(row.concurrency)
  local result = blis.run {
    cluster = cluster_of(row, set, folder, variant), seed = 1, routing = "round-robin",
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

---@class validation.Variant
---@field latency_model string
---@field catalogue? string[] files with other constants

--- Rows with the errors of a latency model: a list of { row =, set =, ttft =, tpot = }, relative.
---@param folder string
---@param variant validation.Variant
---@param is_wanted? fun(row: table): boolean
---@return table[]
function published.errors(folder, variant, is_wanted)
  local list = {}
  for _, set in ipairs(sets) do
    for _, row in ipairs(read(folder .. "/" .. set.file)) do
      if not is_wanted or is_wanted(row) then
        local ok, ttft, tpot = pcall(predict, row, set, folder, variant)
        list[#list + 1] = {
          row = row, set = set, problem = not ok and ttft or nil,
          ttft = ok and set.judges_ttft and ttft / row.ttft_mean_ms - 1 or nil,
          tpot = ok and tpot / row.tpot_ms - 1 or nil,
        }
      end
    end
  end
  return list
end

--- The scales of a format that was not fitted take the place of those that were: an entry replaces
--- its text in data/latency/composed.yaml.
local left_out = {
  { model = "meta-llama/Llama-3.1-70B", gpu = "H200", from = "fp8: [1.023, 1.045]",
    to = "fp8: [1, 1.05]" },
  { model = "meta-llama/Llama-3.1-70B", gpu = "B200", from = "fp8: [0.822, 0.820]",
    to = "fp8: [1, 1.05]" },
  { model = "MiniMaxAI/MiniMax-M2.5", gpu = "H200", from = "fp8_block: [0.8786, 1.644]",
    to = "fp8_block: [0.92, 1.6]" },
  { model = "MiniMaxAI/MiniMax-M2.5", gpu = "B200", from = "fp8_block: [0.954, 1.734]",
    to = "fp8_block: [0.92, 1.6]" },
  { model = "openai/gpt-oss-120b", gpu = "H200", from = "mxfp4: [0.7067, 1.674]",
    to = "mxfp4: [0.92, 1.6]" },
  { model = "openai/gpt-oss-120b", gpu = "B200", from = "mxfp4: [0.856, 1.411]",
    to = "mxfp4: [0.92, 1.6]" },
}

local function write_constants(one)
  local text = assert(io.open "data/latency/composed.yaml"):read "a"
  local first, last = text:find(one.from, 1, true)
  assert(first, one.from .. " is not in data/latency/composed.yaml")
  local path = os.tmpname() .. ".yaml"
  local file = assert(io.open(path, "w"))
  file:write(text:sub(1, first - 1), one.to, text:sub(last + 1))
  file:close()
  return path
end

--- Errors of rows whose model and GPU the scales were not fitted to: each format was fitted to one
--- model on each GPU family, so that a left-out group leaves its format without a fit.
---@param folder string
---@return table[]
function published.left_out(folder)
  local list = {}
  for _, one in ipairs(left_out) do
    local path = write_constants(one)
    local errors = published.errors(folder, { latency_model = "composed", catalogue = { path } },
      function(row) return row.model == one.model and row.gpu == one.gpu end)
    os.remove(path)
    table.move(errors, 1, #errors, #list + 1, list)
  end
  return list
end

local function mean_of(errors, name)
  local sum, count = 0.0, 0
  for _, one in ipairs(errors) do
    if one[name] then sum, count = sum + math.abs(one[name]), count + 1 end
  end
  return count > 0 and sum / count or nil
end

--- The share of rows in order that is within an error.
local function quantile(errors, name, share)
  local list = {}
  for _, one in ipairs(errors) do
    if one[name] then list[#list + 1] = math.abs(one[name]) end
  end
  table.sort(list)
  return list[math.max(1, math.ceil(share * #list))]
end

--- Errors by group, in order of their first row, and of all rows.
local function grouped(errors)
  local groups, order = { all = {} }, {}
  for _, one in ipairs(errors) do
    local name = ("%s on %s"):format(one.row.model, one.row.gpu)
    if not groups[name] then
      groups[name] = {}
      order[#order + 1] = name
    end
    table.insert(groups[name], one)
    if one.set.judges_ttft then table.insert(groups.all, one) end
  end
  order[#order + 1] = "all"
  return groups, order
end

local function row_of(name, kind, errors)
  return { name == "all" and "all InferenceX" or name, kind, tostring(#errors),
    markdown.share(mean_of(errors, "tpot")), markdown.share(quantile(errors, "tpot", 0.5)),
    markdown.share(quantile(errors, "tpot", 0.8)), markdown.share(mean_of(errors, "ttft")),
    markdown.share(quantile(errors, "ttft", 0.5)), markdown.share(quantile(errors, "ttft", 0.8)) }
end

--- Errors of calibrated, of composed on the rows that its scales were fitted to, and of composed
--- with the scales of a format that was not fitted.
---@param folder string
---@return string
function published.section(folder)
  local rows = {}
  for _, kind in ipairs {
    { name = "calibrated", errors = published.errors(folder, { latency_model = "calibrated" }) },
    { name = "composed, in sample",
      errors = published.errors(folder, { latency_model = "composed" }) },
    { name = "composed, group left out", errors = published.left_out(folder) },
  } do
    local groups, order = grouped(kind.errors)
    for _, name in ipairs(order) do rows[#rows + 1] = row_of(name, kind.name, groups[name]) end
  end
  return markdown.table({ "rows", "model", "n", "TPOT mean", "half", "four fifths", "TTFT mean",
    "half", "four fifths" }, rows, 2)
end

return published
