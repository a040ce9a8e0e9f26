--- The text of docs/validation.md.
local measured = require "measured"
local models = require "models"
local markdown = require "markdown"
local regimes = require "regimes"
local requests = require "requests"
local steps = require "steps"

local page = {}

local head = [[
# Latency model validation

`scripts/validate` writes this page, and the tests check it. The page compares simulated latencies
with measurements of real engines. All errors are in percent. MAPE is the mean over requests of
|simulated - measured| / measured. "mean" and "p99" are signed errors of that metric over the whole
run; a positive value means that the simulation is slower than the engine. Sources and licenses of
the measurements are in [tests/data/truth](../tests/data/truth/NOTICE.md).

An error **in sample** is an error on runs that the constants were fitted to. It describes the fit,
and predicts nothing. An error with a group **left out** comes from a fit without the runs of that
group, and is the error to expect for a setup that was not measured.

The page compares four latency models. `composed` adds up the kernels of every layer, with kernel
tables (`kernel_tables = true`, the default) where a table names none of the two variants.
`calibrated` fits shares of the data sheet per GPU. `trained-physics` is the fit of BLIS in Go.
`roofline` uses data sheets alone. All of them run the same engine.
]]

local groups_head = [[
## Errors by group

Closed-loop rows of InferenceX (vLLM 0.11 to 0.19), Qwen3-32B under vLLM 0.12 (synchronous
scheduling; its source does not state how requests arrived, so TTFT is not judged), and 56 stages
of the accuracy study of inference-sim (vLLM 0.14 and 0.15). These files are not part of this
repository: `scripts/validate --residuals DIR...` reads them, and writes
[data/validation/residuals.yaml](../data/validation/residuals.yaml), which this section shows.

For the columns "left out", all 33 parameters of the fit (scales by GPU family and format, times per
layer and step, KV rates, engine ages) are fitted again without a group of rows: a Gauss-Newton
step from the fit to all rows. Kernel constants come from kernel times, and are not fitted again.
"part left out" removes a TP degree and engine version, or a workload of the stages. "model left
out" removes all rows of a model on a GPU. For most quantized formats, this leaves the format
without any row on that GPU family. "no tables" is `composed` with `kernel_tables = false`, which
has parameters of its own. `calibrated` was fitted to the stages, so its column is in sample there.
]]

local expected_head = [[
## Expected errors

Results of `composed` report an expected error of TPOT and TTFT (`expected_error`), from errors of
left-out rows. Half of these rows are within the first number, four fifths within the second. The
column "measured" states what was measured: this model on this GPU, this format with another model
or on another GPU of the family, other formats on this GPU family, or none of these. Where TPOT has
two pairs, the first pair is from the half of
the rows with the smaller share of time in steps with prompt tokens, and the second pair is from the
other half. A run is placed between them by its own share. Groups of instances in several regimes
weigh by the time that they compute. "reported" marks errors of the same constants on further rows
of InferenceX, which were reported with the constants.

Only a few models and GPUs are left out for "this format" and "other formats". Each of them counts
once, by its mean error, and one more is assumed: 8% for a new model of a known format, 25% for a
format without any run, as reported with the constants. From this mean error, the numbers of the
table follow as for a normal distribution. For other formats, errors of TPOT at TP 4 and more are
1.6 times those at smaller degrees; the table has the value between them.

The announced errors themselves are tested on setups that neither the fit nor the numbers contain:
each model and GPU is left out of both (`spec/results/expected_error_spec.lua`).

TTFT has no bound if requests wait for KV blocks, or if the load is more than the cluster can serve.
]]

local between_head = [[
## Errors between two setups

Errors that two setups have in common cancel when the setups are compared. The table shows errors of
the quotient of two left-out rows with equal lengths and concurrency. `blis.compare` reports a
difference between setups as inside the error of the model if the difference is smaller than the
number for four fifths. Variants of one setup (model, GPU, TP degree, engine) have the same step
times, so their differences are not judged in this way.
]]

--- The page; pictures are handed to keep.
---@param keep fun(name: string, text: string)
---@return string
function page.text(keep)
  local prefills, decodes = steps.splitwise()
  return table.concat({
    head, groups_head, regimes.groups(), "", expected_head, regimes.expected(), "",
    between_head, regimes.between(), "", "## Requests one by one (in sample)", "",
    "Llama-3.1-8B under vLLM 0.19, 300 ShareGPT requests on one GPU. On the RTX 4090 the KV cache",
    "is too small for the requests, so some are preempted. The shipped constants of these two GPUs",
    "were fitted to these runs. The table checks the engine and the form of the models, and",
    "predicts nothing.", "",
    requests.section(keep), "",
    "The next table has coefficients without these two runs: data sheets, and shares of the data",
    "sheets from other GPUs. The RTX 4090 is faster than its data sheet. Where KV blocks are",
    "short, a small error of the rate becomes a large error of the queue.", "",
    requests.left_out(), "", "## After a fit to your own engine", "",
    "`blis calibrate --fit` uses the first half of the requests of each run. The errors are those",
    "on the second half, which the fit does not contain:", "", requests.fitted(), "",
    "## Prefill against the data sheet", "",
    "One prompt on an H100, milliseconds. \"Floor\" is the time of the matrix products alone at",
    "the peak of the data sheet. No prefill can be faster.", "", steps.floors(), "",
    "## An engine of 2023", "",
    "Llama-2-70B, milliseconds. The measured engine had high overheads and no chunked prefill.",
    "Current engines are faster, so a current model should be below these numbers, and in the",
    "same order. Prefill of one prompt:", "", prefills, "",
    "Decode step of a batch, 512 tokens of prompt each:", "", decodes, "",
  }, "\n")
end

--- Errors of all latency models on folders of further measurements.
---@param folders string[]
---@return string
function page.further(folders)
  local runs, rows = measured.runs(folders), {}
  assert(#runs > 0, table.concat(folders, ", ")
    .. ": expected inferencex_vllm.csv and qwen3_32b_h100_vllm012.csv, or vllm_stages.csv")
  local variants = table.move(models, 1, #models, 1, {})
  variants[#variants + 1] = { name = "composed, no kernel tables", latency_model = "composed",
    kernel_tables = false }
  for _, model in ipairs(variants) do
    local groups, order = {}, {}
    for _, one in ipairs(measured.errors(runs, model)) do
      for _, name in ipairs { one.run.source, one.run.group } do
        if not groups[name] then
          groups[name] = {}
          order[#order + 1] = name
        end
        table.insert(groups[name], one)
      end
    end
    for _, name in ipairs(order) do
      local row = { name, model.name, tostring(#groups[name]) }
      for _, metric in ipairs { "tpot", "ttft", "e2e" } do
        row[#row + 1] = markdown.share(measured.mean(groups[name], metric))
      end
      rows[#rows + 1] = row
    end
  end
  return markdown.table({ "rows", "model", "n", "TPOT", "TTFT", "E2E" }, rows, 2)
end

return page
