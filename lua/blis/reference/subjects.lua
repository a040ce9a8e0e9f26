--- Tasks as topics of `blis help`: words that name no option, function, or metric, with the
--- commands and options for the task.
local reference = require "blis.reference"

local subjects = {}

---@class blis.reference.Subject
---@field names string[] in the form of folded names: "p_d"
---@field title string
---@field text string
---@field items [string, string][] what to type, and its effect

---@type blis.reference.Subject[]
local all = {
  {
    names = { "python", "pip", "wheel", "notebook", "pandas", "polars", "jupyter" },
    title = "blis from Python",
    text = "The Python package `blis-simulator` is imported as `blis` and contains the program. It "
      .. "requires only the standard library. Experiments are dicts: {\"cluster\": {\"instances\": "
      .. "4}} for { cluster = { instances = 4 } }. docs/python.md describes it.",
    items = {
      { "scripts/package wheel", "Creates dist/blis_simulator-*.whl, for pip install." },
      { "blis.run(experiment)", "Returns the metrics as a dict: result[\"ttft_ms\"][\"p99\"]. "
        .. "requests=True and series=True add columns for pandas or polars." },
      { "blis.compare(experiment)", "Compares policies on the same requests." },
      { "blis.sweep(trial, parameters, seeds=...)", "Runs all combinations side by side." },
      { "blis.evaluate(policy, scenario=...)", "Scores a policy in a sandbox." },
      { "blis.policy(lua_text)", "A policy in Lua for the option routing." },
    },
  },
  {
    names = { "epp", "helm", "gaie", "inference_extension" },
    title = "configurations of real routers",
    text = "blis reads and writes configurations of the Gateway API Inference Extension (EPP, "
      .. "llm-d). docs/production.md describes it.",
    items = {
      { "blis import FILE", "Reads an EPP configuration, also inside Helm values." },
      { "blis export llm-d POLICY", "Writes a routing policy as an EPP configuration." },
      { "blis gate BASE NEW", "Compares a changed configuration with the current one." },
    },
  },
  {
    names = { "own_policy", "own_scorer", "own_router", "custom_policy" },
    title = "policies of your own",
    text = "Policies are Lua functions in scripts. docs/guide.md writes one step by step.",
    items = {
      { "blis.scorer { name = \"mine\", score = function(request, instance) ... end }",
        "Makes a scorer. routing = { \"weighted\", scorers = { { SCORER, 1 } } } uses it." },
      { "routing = { dofile \"mine.lua\", \"least-loaded\" }",
        "In blis.compare, compares the policy that a file returns with a built-in policy." },
      { "blis check SCRIPT", "Checks the options of a script without running it." },
      { "blis eval SUITE FILE", "Scores a policy of a file in a sandbox." },
    },
  },
  {
    names = { "gate" },
    title = "checks of a change",
    text = "Runs the current and the new policy on the same difficult traffic, and compares "
      .. "metrics and decisions. docs/production.md describes it.",
    items = { { "blis gate BASE NEW", "Exits with status 3 if the new policy is worse." },
      { "blis gate --help", "Lists its flags." } },
  },
  {
    names = { "units", "unit", "time_units" },
    title = "units",
    text = "A duration is a number with a unit: 5ms, 30s, 4h. Names state the units of other "
      .. "numbers: _us, _ms, _tokens, _gb_s.",
    items = { { "blis help durations", "States the rule and its exceptions." } },
  },
  {
    names = { "p_d", "p/d", "pd", "prefill_decode" },
    title = "prefill and decode on separate instances",
    text = "Some instances compute prompts, others generate, and KV moves between them. "
      .. "docs/disaggregation.md describes it.",
    items = {
      { "--prefill-instances N --decode-instances M", "Creates the two pools." },
      { "blis help disaggregation", "Lists the options: links, deciders, KV copies." },
      { "blis recommend", "Compares such layouts with others on a number of GPUs." },
    },
  },
  {
    names = { "mistakes", "errors", "error", "exit_status", "warnings" },
    title = "errors and warnings",
    text = "An error states the option, its value, and the expected input, and the exit status is "
      .. "not 0. A result whose numbers do not mean what they seem to begins with a verdict and "
      .. "its reasons.",
    items = { { "blis help RunVerdict", "Lists the fields of verdicts." },
      { "blis check FILE", "Checks the experiments of a script without running them." } },
  },
  {
    names = { "resume", "resuming", "retry" },
    title = "sweeps that continue",
    text = "A sweep stores each finished trial. Running the same sweep again computes only what is "
      .. "missing, or what changed: parameters, and every module that the script loads.",
    items = { { "blis sweep run FILE", "Runs or continues a sweep." },
      { "blis sweep retry DIR", "Lets failed trials run again." },
      { "blis help sweep", "Lists the options." } },
  },
  {
    names = { "sharegpt", "mooncake", "vllm", "traces", "csv", "jsonl" },
    title = "requests from files",
    text = "`blis trace info FILE` shows what a file contains and what blis assumes of its clock "
      .. "and columns. docs/traces.md lists the formats.",
    items = {
      { "blis replay FILE", "Runs the requests of a trace: vLLM, Mooncake, CSV, JSONL, ..." },
      { "--columns timestamp=A,prompt=B,output=C", "Assigns the columns of any table." },
      { "blis run --graphs FILE --concurrency N",
        "Plays conversations without arrival times, such as ShareGPT." },
    },
  },
}

local by_name = {}
for _, subject in ipairs(all) do
  for _, name in ipairs(subject.names) do by_name[name] = subject end
end

--- All tasks: the first name of each and its title.
---@return [string, string][]
function subjects.list()
  local list = {}
  for i, subject in ipairs(all) do list[i] = { subject.names[1], subject.title } end
  return list
end

--- The topic of a task; nil if the word names none.
---@param word string folded
---@return blis.Topic?
function subjects.find(word)
  local subject = by_name[word]
  if not subject then return nil end
  local lines = { subject.text, "" }
  for _, item in ipairs(subject.items) do
    lines[#lines + 1] = ("%s: %s"):format(item[1], item[2])
    lines[#lines + 1] = ""
  end
  lines[#lines] = nil
  return reference.new_topic("names", word, subject.title, lines)
end

return subjects
