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

An **in-sample** error is an error on runs that the constants were fitted to. It describes the fit
and predicts nothing. A **held-out** error comes from a fit without a group of runs, and is measured
on that group. It is the error to expect for a setup that was not measured.

The page compares four latency models. `composed` adds up the kernels of every layer, with kernel
tables (`kernel_tables = true`, the default) where a table names none of the two variants.
`calibrated` fits shares of the data sheet per GPU. `trained-physics` is the fit of BLIS in Go.
`roofline` uses only data sheets. All four models run the same engine.
]]

local groups_head = [[
## Errors by group

Closed-loop rows of InferenceX (vLLM 0.11 to 0.19), Qwen3-32B under vLLM 0.12 (synchronous
scheduling; its source does not state how requests arrived, so TTFT is not judged), and 56 stages
of the accuracy study of inference-sim (vLLM 0.14 and 0.15). These files are not part of this
repository: `scripts/validate --residuals DIR...` reads them, and writes
[tests/data/truth/groups.yaml](../tests/data/truth/groups.yaml), which this section shows.

For the columns "held out", all 34 parameters of the fit are fitted again without a group of rows.
The parameters are scales by GPU family and format, times per layer and step, KV rates, and engine
ages. Each fit is a Gauss-Newton step from the fit to all rows. Kernel constants come from kernel
times and are not fitted again. "part held out" removes a TP degree and engine version, or a
workload of the stages. "model held out" removes all rows of a model on a GPU. Most quantized
formats then have no rows on that GPU family. "no tables" is `composed` with
`kernel_tables = false`, which has its own parameters. `calibrated` was fitted to the stages, so its
errors on the stages are in-sample errors.
]]

local expected_head = [[
## Expected errors

Results of `composed` report an expected error of TPOT and TTFT (`expected_error`), from errors of
held-out rows. The first number is the median error, and the second is the 80th percentile. The
column "measured" lists the closest setups with measurements: this model on this GPU, this format
with another model or on another GPU of the family, other formats on this GPU family, or none of
these. If TPOT has two pairs, the rows are divided by their fraction of time in steps with prompt
tokens: the first pair is from the half with the smaller fraction, and the second pair from the
half with the larger fraction. The expected error of a run is interpolated between the pairs by the
fraction of that run. If the instances of a run are in several regimes, each regime is weighted by
its compute time. "reported" marks errors on other rows of InferenceX that were published with the
constants.

The levels "this format" and "other formats" have only a few held-out models and GPUs. Each model
and GPU counts once, with its mean error. One assumed model is added: 8% error for a new model of a
measured format, and 25% for a format without any run, as published with the constants. The table
shows the median and the 80th percentile of a normal distribution with the resulting mean error. For
other formats, TPOT errors at TP 4 and above are 1.6 times the errors at smaller degrees. The table
shows the value between these.

The expected errors are tested on held-out setups: each model and GPU is excluded from both the fit
and the table (`spec/results/expected_error_spec.lua`).

The data also contain the range of the runs behind each row: prompt and context lengths, output
length, batch size, share of time in steps with prompt tokens, `max_num_batched_tokens`, TP degree,
KV format, and engine version. A run outside the range of its row has the error of the next level
whose runs reached further. If no row is from such runs, the error is unknown, and the verdict has
the reason `extrapolation`. A value counts as inside the range if it is at most twice the largest
measured value; texts state both. The error is also unknown for setups that were not measured:
hand-offs, speculative decoding, LoRA adapters, data-parallel ranks, engines other than vLLM, and
data of the user.

Every error has a basis (`tpot_basis`, `ttft_basis`), which results, pages, comparisons, `capacity`,
and `recommend` state:

- `measured`: this model on this GPU, within a tenth of the measured range.
- `neighbouring`: this format on the GPU family, with another model, on another GPU, or in another
  range. Text: "expected error 7%, of neighbouring setups".
- `assumed`: this format was not measured on the GPU family. Text: "assumed error 15%, not
  measured". These numbers are errors of other formats and families with an assumed model.
- `none`: the error is unknown. Text: "no bound", with the reason.

`strict_coverage` rejects runs with an error that is assumed or unknown, except where requests wait.

Rows of three regimes are also divided by engine version, for a stated `backend_version`. The other
regimes have one version, or fewer than ten rows of a second one.

TTFT has no bound if requests wait for KV blocks or sequence slots, or if the load is more than the
cluster can serve.
]]

local between_head = [[
## Errors between two setups

Errors that two setups share cancel when the setups are compared. The table shows errors of the
ratio of two held-out rows with equal lengths and concurrency. `blis.compare` reports a difference
between setups as within the model error if the difference is smaller than the 80th percentile.
Variants of one setup (model, GPU, TP degree, engine) have the same step times, so this rule does
not apply to their differences.
]]

--- The page; pictures are handed to keep.
---@param keep fun(name: string, text: string)
---@return string
function page.text(keep)
  local prefills, decodes = steps.splitwise()
  return table.concat({
    head, groups_head, regimes.groups(), "", expected_head, regimes.expected(), "",
    between_head, regimes.between(), "", "## Errors per request (in sample)", "",
    "Llama-3.1-8B under vLLM 0.19, 300 ShareGPT requests on one GPU. On the RTX 4090, the KV cache",
    "is too small for the requests, so some requests are preempted. The shipped constants of these",
    "two GPUs were fitted to these runs. The table checks the engine and the form of the models.",
    "It predicts nothing.", "",
    requests.section(keep), "",
    "The coefficients in the next table come from data sheets and from the efficiencies of other",
    "GPUs, not from these two runs. The RTX 4090 is faster than its data sheet. If KV blocks are",
    "scarce, a small error in the rate causes a large error in the queueing time.", "",
    requests.left_out(), "", "## After a fit to your own engine", "",
    "`blis calibrate --fit` uses the first half of the requests of each run. The table shows the",
    "errors on the second half:", "", requests.fitted(), "",
    "## Prefill time and data-sheet peak", "",
    "One prompt on an H100, in milliseconds. \"Floor\" is the time of the matrix products at the",
    "peak rate of the data sheet. No prefill can be faster.", "", steps.floors(), "",
    "## An engine of 2023", "",
    "Llama-2-70B, in milliseconds. The measured engine had high overheads and no chunked prefill.",
    "Current engines are faster. A current latency model should therefore predict lower times in",
    "the same order. Prefill of one prompt:", "", prefills, "",
    "Decode step of a batch of requests with 512 prompt tokens each:", "", decodes, "",
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
