--- The scenarios of the gate: what schedulers are known to trip over, small enough for every
--- change.
---
--- A suite in a file is a Lua file that returns { name =, scenarios = { { id =, cluster =, workload
--- =, slo =, options = }, ... } }. A YAML or JSON file with that content also works. Suites of blis
--- eval have this form as well.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local script = require "blis.production.script"
local text_file = require "blis.production.text_file"
local yaml_file = require "blis.yaml_file"

local suite = {}

---@class blis.gate.Scenario
---@field id string
---@field what? string for people
---@field cluster table options of the cluster
---@field workload table options of generated traffic
---@field slo? table targets by class
---@field options? table more options of the experiment

-- The version of the defaults that the scenarios were made for: results stay comparable.
local defaults = "1.0-rc1"

local function scenario(id, what, changes)
  local made = {
    id = id, what = what,
    cluster = { defaults = defaults, instances = 4, snapshot_refresh_us = 50000 },
    workload = { rate = 24, requests = 400, prompt_tokens = 600, output_tokens = 150,
      arrival = "poisson", prefixes = { groups = 24, tokens = 2048, zipf = 0.8 } },
    slo = { default = { ttft_ms = 400, itl_ms = 30 } },
  }
  for _, part in ipairs { "cluster", "workload" } do
    for key, value in pairs(changes[part] or {}) do made[part][key] = value end
  end
  if made.workload.prompt then made.workload.prompt_tokens = nil end
  made.options = changes.options
  return made
end

local function stock()
  return {
    scenario("kv-50", "KV caches about half full", { cluster = { kv_blocks = 2400 } }),
    scenario("kv-75", "KV caches about three quarters full", { cluster = { kv_blocks = 1700 } }),
    scenario("kv-100", "KV caches full: requests wait for free blocks", {
      cluster = { kv_blocks = 1350 } }),
    scenario("bursts", "arrivals in bursts", {
      workload = { arrival = { "gamma", cv = 4 }, rate = 28 } }),
    scenario("long-prompts", "one prompt in ten is longer than 6,900 tokens", {
      workload = { rate = 10, prompt = { "exponential", mean = 3000, min = 64, max = 24000 },
        prefixes = { groups = 12, tokens = 1024 } } }),
    scenario("sessions", "conversations that resend their whole history", {
      workload = { rate = 5, requests = 400, prefixes = { groups = 4, tokens = 1024 },
        sessions = { max_rounds = 6, think_time_us = 1500000, closed_loop = false } } }),
    scenario("lora-mix", "16 adapters, a few of them popular, and 4 slots per instance", {
      cluster = { lora = { slots = 4, adapters = 16 } }, workload = { rate = 20 } }),
    scenario("disaggregation", "prefill/decode disaggregation", {
      cluster = { instances = 5, prefill_instances = 3, decode_instances = 2 } }),
    scenario("faults", "an instance is down for five seconds", {
      options = { faults = { { at = 4000000, instance = "instance_1", kind = "crash",
        recover_after = 5000000, requests = "rerouted" } } } }),
  }
end

local function fail(path, ...)
  errors.invalid("suite %s: %s", path, (...):format(select(2, ...)))
end

local function check(given, path)
  if type(given) ~= "table" or type(given.scenarios) ~= "table" or #given.scenarios == 0 then
    fail(path, "expected { name =, scenarios = { { id =, cluster =, workload = }, ... } }")
  end
  local seen = {}
  for i, one in ipairs(given.scenarios) do
    local at = ("scenarios[%d]"):format(i)
    if type(one) ~= "table" or type(one.id) ~= "string" then fail(path, "%s: id is missing", at) end
    if seen[one.id] then fail(path, "%s: duplicate id '%s'", at, one.id) end
    seen[one.id] = true
    for _, name in ipairs { "cluster", "workload" } do
      if type(one[name]) ~= "table" then
        schema.raise_value(("suite %s: %s.%s"):format(path, at, name), one[name], "a table")
      end
    end
  end
  return given
end

--- The content of a suite's file, by the ending of its name.
local function load(path)
  local ending = path:lower():match "%.(%w+)$"
  if ending == "yaml" or ending == "yml" then return yaml_file.read(path).root end
  local text = text_file.read(path)
  if ending == "json" then return core.json_read(text, path) end
  return script.load(text, path)()
end

--- The stock suite, or that of a file.
---@param path string?
---@return { name: string, scenarios: blis.gate.Scenario[] }
function suite.read(path)
  if not path then return { name = "stock", scenarios = stock() } end
  local given = check(load(path), path)
  return { name = type(given.name) == "string" and given.name or path, scenarios = given.scenarios }
end

return suite
