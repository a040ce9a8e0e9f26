--- Runs that were measured request by request.
local accuracy = require "blis.calibrate.accuracy"
local blis = require "blis"
local core = require "blis.core"
local engine = require "blis.engine"
local markdown = require "markdown"
local models = require "models"
local observed = require "blis.calibrate.observed"
local replay = require "blis.calibrate.replay"
local scatter = require "blis.charts.scatter"
local shared = require "shared"

local requests = {}

local folder = shared.folder("truth", "llmservingsim", "LLMServingSim, bench/examples at commit "
  .. "5daddb2 (https://github.com/casys-kaist/LLMServingSim)")

requests.runs = {
  {
    name = "RTX PRO 6000", path = folder .. "rtxpro6000-llama-3.1-8b.csv", picture = "rtxpro6000",
    cluster = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "RTX PRO 6000",
      max_num_seqs = 128, max_num_batched_tokens = 2048, max_model_len = 32768,
      gpu_memory_utilization = 0.9 },
  },
  {
    name = "RTX 4090", path = folder .. "rtx4090-llama-3.1-8b.csv", picture = "rtx4090",
    cluster = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "RTX 4090",
      max_num_seqs = 256, max_num_batched_tokens = 2048, max_model_len = 32768,
      kv_blocks = 2588 },
  },
}

local function figures_row(run, model, part, figures)
  local row = { run, model, part }
  for _, name in ipairs { "e2e", "ttft", "tpot" } do
    local one = figures[name]
    row[#row + 1] = markdown.share(one and one.mape)
    row[#row + 1] = markdown.signed(one and one.bias)
    row[#row + 1] = markdown.signed(one and one.p99)
  end
  return row
end

local header = { "run", "model", "requests", "E2E MAPE", "mean", "p99", "TTFT MAPE", "mean", "p99",
  "TPOT MAPE", "mean", "p99" }

--- How many requests were in the engine when each of them arrived.
local function loads_of(list)
  local loads = {}
  for i, one in ipairs(list) do
    local count = 0
    for j = 1, i - 1 do
      if list[j].arrival_us + list[j].e2e_us > one.arrival_us then count = count + 1 end
    end
    loads[i] = count
  end
  return loads
end

--- The requests that met less than a third, up to two thirds, and more of the largest load.
local function regions_of(list, predicted)
  local loads, most = loads_of(list), 0
  for _, load in ipairs(loads) do most = math.max(most, load) end
  local regions = {}
  for third, name in ipairs { "low load", "middle load", "high load" } do
    local some, own = {}, {}
    for i, load in ipairs(loads) do
      if math.min(2, load * 3 // (most + 1)) == third - 1 then
        some[#some + 1], own[#own + 1] = list[i], predicted[i] or false
      end
    end
    regions[third] = { name = name, count = #some, figures = accuracy.of(some, own) }
  end
  return regions
end

local function picture_of(list, predicted)
  local panels = {}
  for i, figure in ipairs(accuracy.figures) do
    local points = {}
    for k, one in ipairs(list) do
      local own = predicted[k]
      local real = own and figure.of(one, one.output_tokens)
      if real and real > 0 then
        points[#points + 1] = { real, figure.of(own, one.output_tokens) }
      end
    end
    panels[i] = { title = figure.title, series = { { name = "calibrated", points = points } } }
  end
  return scatter.svg(panels)
end

--- The table of all runs and models, and pictures of the calibrated one.
---@param keep fun(name: string, text: string)
---@return string
function requests.section(keep)
  local rows, regions, pictures = {}, {}, {}
  for _, run in ipairs(requests.runs) do
    local seen = observed.read(run.path).requests
    local traffic = replay.traffic(seen)
    for _, model in ipairs(models) do
      local predicted = replay.run(
        replay.changed(run.cluster, { latency_model = model.latency_model }), traffic)
      rows[#rows + 1] = figures_row(run.name, model.name, tostring(#seen.list),
        accuracy.of(seen.list, predicted))
      if model.name == "calibrated" then
        for _, region in ipairs(regions_of(seen.list, predicted)) do
          regions[#regions + 1] = figures_row(run.name, region.name, tostring(region.count),
            region.figures)
        end
        keep("validation-" .. run.picture .. ".svg", picture_of(seen.list, predicted))
        pictures[#pictures + 1] = ("![predicted over observed on %s](validation-%s.svg)"):format(
          run.name, run.picture)
      end
    end
  end
  return table.concat({
    markdown.table(header, rows, 3), "",
    "The calibrated model by load: number of requests in the engine when a request arrived.",
    "", markdown.table(header, regions, 3), "", table.concat(pictures, "\n\n"),
  }, "\n")
end

--- Coefficients that know nothing of these runs: the data sheet of the GPU, the shares of memory
--- bandwidth and the overheads of the L40S, which has the same kind of memory, and the shares of
--- peak FLOPs of the H100, which is not held back by its power limit either.
local function without_these_runs()
  local function set_of(hardware)
    return core.coefficients(engine.read({ latency_model = "calibrated", hardware = hardware },
      "cluster"))
  end
  local set, h100 = set_of "L40S", set_of "H100"
  local compute, attention = 2, 4
  set.beta[compute], set.beta[attention] = h100.beta[compute], h100.beta[attention]
  return { latency_model = "calibrated", alpha_coeffs = set.alpha, beta_coeffs = set.beta }
end

--- What data sheets and other GPUs predict for these runs.
---@return string
function requests.left_out()
  local rows = {}
  for _, run in ipairs(requests.runs) do
    local seen = observed.read(run.path).requests
    local predicted = replay.run(replay.changed(run.cluster, without_these_runs()),
      replay.traffic(seen))
    rows[#rows + 1] = figures_row(run.name, "calibrated", tostring(#seen.list),
      accuracy.of(seen.list, predicted))
  end
  return markdown.table(header, rows, 3)
end

--- What is left after `blis calibrate --fit` on the first half, on the second half.
---@return string
function requests.fitted()
  local rows = {}
  for _, run in ipairs(requests.runs) do
    local fitted = blis.calibrate { observed = run.path, cluster = run.cluster }
    rows[#rows + 1] = figures_row(run.name, "shipped", "second half", fitted.before.held_out)
    rows[#rows + 1] = figures_row(run.name, "fitted", "second half", fitted.after.held_out)
  end
  return markdown.table(header, rows, 3)
end

return requests
