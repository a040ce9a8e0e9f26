--- Times of single steps: prefills of one prompt, decode steps of a batch.
local blis = require "blis"
local core = require "blis.core"
local markdown = require "markdown"
local models = require "models"
local shared = require "shared"

local steps = {}

local folder = shared.folder("truth", "", "splitwise-sim, data/perf_model.csv at commit 3780880 "
  .. "(https://github.com/Mutinifni/splitwise-sim)")

local function rows_of(path, names)
  local columns = {}
  for i, name in ipairs(names) do columns[i] = { name = name, is_text = true } end
  return core.csv_read(path, columns)
end

local function model_of(kind, model, hardware, tp)
  return blis.latency_model(kind, { model = model, hardware = hardware, tp = tp })
end

local function prefill_us(model, tokens)
  return model:step_time { { progress = 0, new = tokens, prompt = tokens } }
end

local function decode_us(model, requests, context)
  local batch = {}
  for i = 1, requests do
    batch[i] = { progress = context, new = 1, prompt = context, output = 1 }
  end
  return model:step_time(batch)
end

--- A header: the given titles and the names of the latency models.
local function header(titles)
  for _, model in ipairs(models) do titles[#titles + 1] = model.name end
  return titles
end

local h100_flops = 989.5e12

local shapes = {
  { name = "Llama-2-7B", model = "meta-llama/llama-2-7b-hf", layers = 32, hidden = 4096,
    q = 4096, kv = 4096, ff = 11008 },
  { name = "Mistral-Nemo-12B", model = "mistralai/mistral-nemo-instruct-2407", layers = 40,
    hidden = 5120, q = 4096, kv = 1024, ff = 14336 },
}

--- The matrix products of a prefill at the peak of the data sheet: nothing can be faster.
local function floor_us(shape, tokens)
  local d = shape.hidden
  local weights = shape.layers * (d * (2 * shape.q + 2 * shape.kv) + 3 * d * shape.ff)
  return 2 * weights * tokens / h100_flops * 1e6
end

--- Whole prefills against what the hardware can do.
---@return string
function steps.floors()
  local rows = {}
  for _, shape in ipairs(shapes) do
    for _, tokens in ipairs { 512, 2048, 8192 } do
      local row = { shape.name, tostring(tokens), markdown.ms(floor_us(shape, tokens)) }
      for _, model in ipairs(models) do
        local whole = model_of(model.latency_model, shape.model, "H100", 1)
        row[#row + 1] = markdown.ms(prefill_us(whole, tokens))
      end
      rows[#rows + 1] = row
    end
  end
  return markdown.table(header { "model", "tokens", "floor" }, rows, 1)
end

local gpus = { ["a100-80gb"] = "A100-SXM", ["h100-80gb"] = "H100" }

--- Llama-2-70B, from an engine of 2023: slower in every respect, but in the same order.
---@return string prefills
---@return string decode steps
function steps.splitwise()
  local prefills, decodes = {}, {}
  local llama = "meta-llama/llama-2-70b-hf"
  for _, row in ipairs(rows_of(folder .. "splitwise_llama2_70b.csv", { "hardware", "tp",
    "prompt_tokens", "batch_size", "output_tokens", "prefill_ms", "decode_step_ms" })) do
    local gpu, tp = gpus[row.hardware], math.tointeger(tonumber(row.tp))
    local prompt = math.tointeger(tonumber(row.prompt_tokens))
    local batch = math.tointeger(tonumber(row.batch_size))
    local is_first = row.output_tokens == "128"
    local function times(of)
      local list = {}
      for i, model in ipairs(models) do
        list[i] = markdown.ms(of(model_of(model.latency_model, llama, gpu, tp)))
      end
      return table.unpack(list)
    end
    if batch == 1 and is_first and (prompt == 512 or prompt == 2048 or prompt == 8192) then
      prefills[#prefills + 1] = { gpu, tostring(tp), tostring(prompt),
        ("%.1f"):format(tonumber(row.prefill_ms)),
        times(function(model) return prefill_us(model, prompt) end) }
    end
    if is_first and prompt == 512 and (batch == 1 or batch == 16 or batch == 64) then
      decodes[#decodes + 1] = { gpu, tostring(tp), tostring(batch),
        ("%.1f"):format(tonumber(row.decode_step_ms)),
        times(function(model) return decode_us(model, batch, 576) end) }
    end
  end
  return markdown.table(header { "GPU", "TP", "prompt", "measured" }, prefills, 1),
    markdown.table(header { "GPU", "TP", "batch", "measured" }, decodes, 1)
end

return steps
