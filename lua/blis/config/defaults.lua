--- The defaults of profile design, by version. Every default that a version has changed is in this
--- table, so an experiment can ask for the defaults of an earlier version by name. A default that
--- never changed is in the description of its option. Profile go-blis has its own defaults.
---
--- A default holds only where nothing else decides: values of the user, of an engine preset, and of
--- a backend version take precedence.
local errors = require "blis.errors"
local sorted = require "blis.sorted"

local defaults = {}

---@class blis.Defaults
---@field name string
---@field changes string what users of the version before see, for the documentation
---@field cluster table<string, any> options of a cluster
---@field batch_limits blis.BatchLimits[] the first that describes the engine holds
---@field scaling table<string, integer> delays of scaling, us; they hold together, if none is set
---@field autoscalers table<string, table<string, any>> parameters by autoscaler, which hold as one,
--- if none of them is set

---@class blis.BatchLimits max_num_batched_tokens and max_num_seqs of an engine
---@field gib? number GPUs with at least this memory; nil: all
---@field except? string[] parts of names of GPUs that the row does not describe
---@field since? integer version of vLLM, 1000 * major + minor; nil: all
---@field tokens integer max_num_batched_tokens
---@field requests integer max_num_seqs

-- In the order of publication.
---@type blis.Defaults[]
local versions = {
  {
    name = "1.0-rc1",
    changes = "The first version.",
    cluster = {
      latency_model = "calibrated", kernel_tables = false, gpu_memory_utilization = 0.9,
      kv_reserve = "flat",
    },
    batch_limits = { { tokens = 2048, requests = 256 } },
    scaling = { provisioning_delay_us = 0, loading_delay_us = 0 },
    autoscalers = {},
  },
  {
    name = "1.0",
    changes = "Step times by the composed model, with measured kernel times, host time, and a "
      .. "front end. Steps and memory as in vLLM 0.28. The memory reserve follows from the sizes "
      .. "of the model.",
    cluster = {
      latency_model = "composed", kernel_tables = true, gpu_memory_utilization = 0.92,
      kv_reserve = "sized",
    },
    -- vLLM, EngineArgs.get_batch_defaults, for the API server: v0.28.0 adds the first row. A100s
    -- lose throughput with more tokens (its pull request 17885).
    batch_limits = {
      { gib = 160, since = 28, tokens = 16384, requests = 1024 },
      { gib = 70, except = { "a100" }, tokens = 8192, requests = 1024 },
      { tokens = 2048, requests = 256 },
    },
    -- llm-d, guides/workload-autoscaling/keda-epp (3d01685): about 240 s until a new Qwen3-8B takes
    -- requests. The division into a pod and its start is ours.
    scaling = { provisioning_delay_us = 60000000, loading_delay_us = 180000000 },
    -- The same guide: 1 request in the queue of the gateway, 16 requests at each instance.
    autoscalers = {
      hpa = {
        metrics = { gateway_queue_size = 1, requests_running = 16 }, metric_type = "average-value",
      },
      threshold = { signal = "requests", scale_up_threshold = 16, scale_down_threshold = 6 },
      ["target-utilization"] = { signal = "requests", target = 16 },
    },
  },
}

local by_name = {}
for _, version in ipairs(versions) do by_name[version.name] = version end

--- The version that holds if none is named.
---@type blis.Defaults
defaults.newest = versions[#versions]

--- All names, in the order of publication.
---@type string[]
defaults.names = {}
for i, version in ipairs(versions) do defaults.names[i] = version.name end

--- All versions, in the order of publication.
---@return blis.Defaults[]
function defaults.all() return versions end

--- Returns a version. Its name must be in defaults.names.
---@param name? string nil: the newest
---@return blis.Defaults
function defaults.of(name)
  return name == nil and defaults.newest or by_name[name]
end

--- Raises an error for the name of no version, or for any name under profile go-blis.
---@param name any nil: not set
---@param path string of the option
---@param profile? string
function defaults.check(name, path, profile)
  if name == nil then return end
  if not by_name[name] then
    errors.invalid("%s: %s: expected one of %s", path, errors.invalid_value(name),
      table.concat(defaults.names, ", "))
  end
  if profile == "go-blis" then
    errors.invalid("%s: profile go-blis has its own defaults; remove %s, or use profile design",
      path, path)
  end
end

--- Returns options as given, with the defaults of a version behind them.
---@param part string of a version: "cluster"
---@param given table
---@param version blis.Defaults
---@return table
function defaults.fill(part, given, version)
  local filled = {}
  for name, value in pairs(version[part]) do filled[name] = value end
  for name, value in pairs(given) do filled[name] = value end
  return filled
end

local function limits_text(row, is_only)
  local where = row.gib and ("on GPUs of %d GiB and more"):format(row.gib)
    or is_only and "on all GPUs" or "on all other GPUs"
  if row.except then
    where = ("%s except %s"):format(where, table.concat(row.except, ", "):upper())
  end
  if row.since then where = ("%s, from vLLM 0.%d on"):format(where, row.since) end
  return ("max_num_batched_tokens = %d and max_num_seqs = %d %s"):format(row.tokens, row.requests,
    where)
end

local function parameters_text(parameters)
  local words = {}
  for i, name in ipairs(sorted.names(parameters)) do
    local value = parameters[name]
    words[i] = ("%s = %s"):format(name, type(value) == "table" and "{ " .. parameters_text(value)
      .. " }" or tostring(value))
  end
  return table.concat(words, ", ")
end

--- Returns what a version sets, in words.
---@param version blis.Defaults
---@return string
function defaults.text(version)
  local words = {}
  for _, name in ipairs(sorted.names(version.cluster)) do
    words[#words + 1] = ("cluster.%s = %s"):format(name, tostring(version.cluster[name]))
  end
  for _, row in ipairs(version.batch_limits) do
    words[#words + 1] = limits_text(row, #version.batch_limits == 1)
  end
  for _, name in ipairs(sorted.names(version.scaling)) do
    words[#words + 1] = ("scaling.%s = %d s"):format(name:gsub("_us$", ""),
      version.scaling[name] // 1000000)
  end
  for _, name in ipairs(sorted.names(version.autoscalers)) do
    words[#words + 1] = ("autoscaler %s with %s"):format(name,
      parameters_text(version.autoscalers[name]))
  end
  return ("%s %s."):format(version.changes, table.concat(words, "; "))
end

return defaults
