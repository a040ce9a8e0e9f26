--- Policies as flags of Dynamo and of SMG.
local errors = require "blis.errors"
local findings = require "blis.production.findings"
local names = require "blis.production.export.names"
local sorted = require "blis.sorted"

local flags = {}

-- Parameters of a policy here, and the flags that set them.
local dynamo_kv = {
  overlap_score_credit = "--router-kv-overlap-score-credit",
  overlap_score_credit_decay = "--router-kv-overlap-score-credit-decay",
  prefill_load_scale = "--router-prefill-load-scale",
  router_temperature = "--router-temperature",
  router_track_prefill_tokens = "--router-track-prefill-tokens",
}

---@class blis.export.Flags
---@field line string a command line begins with it
---@field policies table<string, { words: string[], parameters: table<string, string|function> }>

local dynamo = {
  line = "python -m dynamo.frontend", what = "as flags of Dynamo's router, 0427799 and 057096c",
  policies = {
    ["round-robin"] = { words = { "--router-mode", "round-robin" } },
    random = { words = { "--router-mode", "random" } },
    load_only = { words = { "--router-mode", "least-loaded" } },
    ["dynamo.kv"] = { words = { "--router-mode", "kv" }, parameters = dynamo_kv },
  },
}

local function policy(name, parameters)
  return { words = { "--policy", name }, parameters = parameters }
end

local balance = { balance_abs_threshold = "--balance-abs-threshold",
  balance_rel_threshold = "--balance-rel-threshold" }

local function with(parameters, more)
  local all = {}
  for key, value in pairs(parameters) do all[key] = value end
  for key, value in pairs(more) do all[key] = value end
  return all
end

local smg = {
  line = "smg", what = "as flags of SMG, f8daa883",
  policies = {
    ["round-robin"] = policy "round_robin", random = policy "random",
    ["smg.power_of_two"] = policy "power_of_two",
    ["smg.consistent_hashing"] = policy "consistent_hashing",
    ["smg.least_load"] = policy("least_load", {
      kv_pressure_weight = "--least-load-kv-pressure-weight",
      default_throughput = "--least-load-default-throughput",
      mean_prefill_tokens = "--least-load-mean-prefill-tokens" }),
    ["smg.bucket"] = policy("bucket", balance),
    ["smg.manual"] = policy("manual", { assignment_mode = "--assignment-mode",
      max_idle_us = function(value) return "--max-idle-secs", value / 1e6 end }),
    ["smg.prefix_hash"] = { words = { "--policy", "prefix_hash",
      "--prefix-hash-balance-abs-threshold", "0" }, parameters = {
      prefix_token_count = "--prefix-token-count", load_factor = "--prefix-hash-load-factor" } },
    ["smg.cache_aware"] = policy("cache_aware", with(balance, {
      cache_threshold = "--cache-threshold", block_size = "--block-size",
      overload_token_usage_threshold = "--overload-token-usage-threshold",
      balance_token_usage_threshold = "--balance-token-usage-threshold",
      capacity = function(value, router)
        return "--max-tree-size", value * 4 * (router.block_size or 16)
      end,
      gate = function() return nil end })),
  },
}

flags.systems = { dynamo = dynamo, smg = smg }

local function text_of(value)
  if type(value) == "number" then return (errors.show(tonumber(("%.6g"):format(value)))) end
  return tostring(value)
end

local function integer_or(value) return math.tointeger(value) or value end

local function add_parameters(words, known, router, tell)
  for _, name in ipairs(sorted.names(router)) do
    local flag, value = (known or {})[name], router[name]
    if flag == nil then
      tell:add("unmapped", router[1], nil, "no flag sets the parameter '%s'", name)
    else
      if type(flag) == "function" then flag, value = flag(value, router) end
      if flag then
        words[#words + 1] = flag .. "=" .. text_of(integer_or(value))
      end
    end
  end
end

--- What of an experiment flags do not say.
local function tell_rest(points, tell)
  for _, name in ipairs { "admission", "queue", "disaggregation", "scheduler", "preemption",
    "priority", "cascade", "autoscaler" } do
    if points[name] ~= nil then tell:add("unmapped", name, nil, "no flag sets it") end
  end
end

--- The command line of policies.
---@param system "dynamo"|"smg"
---@param points table<string, any>
---@param source string
---@return { text: string, findings: blis.production.Findings }
function flags.of(system, points, source)
  local given = flags.systems[system]
  local tell = findings.new(source, given.what)
  local router = points.routing
  if type(router) == "string" then router = { router } end
  local is_plain = type(router) == "table" and getmetatable(router) == nil
  local known = is_plain and given.policies[names.canonical("routing", router[1])]
  local words = { given.line }
  if known then
    table.move(known.words, 1, #known.words, 2, words)
    add_parameters(words, known.parameters, router, tell)
    if router[1] == "smg.cache_aware" and router.gate ~= "mean" then
      tell:add("unmapped", router[1], nil, "gate 'range' belongs to older versions; f8daa883 uses "
        .. "'mean'")
    end
  else
    tell:add("unmapped", "routing", nil, "%s has no routing policy like %s", system,
      is_plain and type(router[1]) == "string" and ("'%s'"):format(router[1]) or "one in Lua")
  end
  tell_rest(points, tell)
  return { text = table.concat(words, " ") .. "\n", findings = tell }
end

return flags
