--- The text of docs/validation.md.
local published = require "published"
local requests = require "requests"
local stages = require "stages"
local steps = require "steps"

local page = {}

local head = [[
# How true the times are

This page is written by `scripts/validate` and checked by the tests: it says how far the latencies
of this version of blis are from measurements of real engines. All errors are in percent. MAPE is
the mean over requests of |simulated - measured| / measured; "mean" and "p99" are signed errors of
that figure of the whole run, above 0 = simulated slower than it was. Sources and licences of the
measurements are in [tests/data/truth](../tests/data/truth/NOTICE.md).

Four latency models stand side by side: `calibrated`, the default; `composed`, which adds up the
kernels of every layer; `trained-physics`, the fit of BLIS in Go; and `roofline`, which uses data
sheets alone. All run the same engine.
]]

--- The page; pictures are handed to keep.
---@param keep fun(name: string, text: string)
---@return string
function page.text(keep)
  local prefills, decodes = steps.splitwise()
  return table.concat({
    head, "## Requests one by one", "",
    "Llama-3.1-8B under vLLM 0.19, 300 ShareGPT requests on one GPU. On the RTX 4090 the KV cache",
    "is too small for them, so that requests are preempted. The shipped coefficients of these two",
    "GPUs were fitted to these very runs: read this as a check of the engine and of the form of",
    "the model, not as a prediction.", "",
    requests.section(keep), "",
    "The same with coefficients that know nothing of these two runs: data sheets, and shares of",
    "them from other GPUs. The RTX 4090 is faster than its data sheet, and where KV blocks are",
    "short, a small error of the rate becomes a large one of the queue.", "",
    requests.left_out(), "", "## After a fit to one's own engine", "",
    "`blis calibrate --fit` on the first half of the requests of each run; errors on the second",
    "half, which took no part:", "", requests.fitted(), "", "## Prefill against the data sheet", "",
    "One prompt on an H100, milliseconds. \"Floor\" are the FLOPs of the matrix products alone at",
    "the peak of the data sheet: a whole prefill cannot be faster.", "", steps.floors(), "",
    "## An engine of 2023", "",
    "Llama-2-70B, milliseconds. The engine that was measured had high overheads and no chunked",
    "prefill; today's are faster, so a model of today should be below these figures and in the",
    "same order. Prefill of one prompt:", "", prefills, "",
    "Decode step of a batch, 512 tokens of prompt each:", "", decodes, "",
  }, "\n")
end

--- What measurements that are not shipped add.
---@param folder string
---@return string
function page.further(folder)
  local function has(name)
    local file = io.open(folder .. "/" .. name)
    if file then file:close() end
    return file ~= nil
  end
  local parts = {}
  if has "vllm_stages.csv" then parts[#parts + 1] = stages.section(folder) end
  if has "inferencex_vllm.csv" then parts[#parts + 1] = published.section(folder) end
  assert(#parts > 0, folder .. ": expected vllm_stages.csv or inferencex_vllm.csv")
  return table.concat(parts, "\n\n")
end

return page
