--- Flags of SMG, the SGLang model gateway.
---
--- Source: smg-project/smg model_gateway/src/main.rs (f8daa883). Policies follow 73da68ca, except
--- the gate of cache_aware, which follows f8daa883.

local no_failures = "workers do not fail unless the experiment declares faults"
local outside = "no part of routing"

local names = { "random", "round_robin", "passthrough", "cache_aware", "power_of_two",
  "least_load", "prefix_hash", "consistent_hashing", "manual", "bucket" }

---@type table<string, blis.production.Flag>
local flags = {
  ["--policy"] = { "string", default = "cache_aware", choices = names },
  ["--cache-threshold"] = { "number", default = 0.3, aliases = { "--cache-match-threshold" } },
  ["--balance-abs-threshold"] = { "number", default = 64, aliases = { "--spill-abs-threshold" } },
  ["--balance-rel-threshold"] = { "number", default = 1.5, aliases = { "--spill-rel-threshold" } },
  ["--balance-token-usage-threshold"] = { "number", default = 1 },
  ["--overload-token-usage-threshold"] = { "number", default = 1 },
  ["--worker-overload-protection"] = { "boolean", default = false,
    routing = "the exclusion of overloaded workers is not simulated" },
  ["--worker-overload-waiting-requests"] = { "integer",
    routing = "exclusion of overloaded workers is not simulated" },
  ["--worker-overload-token-usage"] = { "number",
    routing = "exclusion of overloaded workers is not simulated" },
  ["--overlap-decay"] = { "number", default = 0, routing = "overlap does not decay here" },
  ["--selection-temperature"] = { "number", default = 0,
    routing = "the largest overlap always wins here" },
  ["--eviction-interval"] = { "seconds", default = 120,
    harmless = "the oldest entry is evicted when the tree is full" },
  ["--max-tree-size"] = { "integer", default = 67108864 },
  ["--block-size"] = { "integer", default = 16 },
  ["--cache-index"] = { "string", default = "tree", choices = { "tree", "hash" },
    routing = "an index of request heads is not simulated" },
  ["--cache-boundaries"] = { "string", harmless = "for --cache-index hash" },
  ["--cache-ttl-secs"] = { "seconds", default = 180, harmless = "for --cache-index hash" },
  ["--max-idle-secs"] = { "seconds", default = 14400, aliases = { "--sticky-key-idle-secs" } },
  ["--assignment-mode"] = { "string", default = "random",
    choices = { "random", "min_load", "min_group", "delegate" } },
  ["--prefix-token-count"] = { "integer", default = 256 },
  ["--prefix-hash-load-factor"] = { "number", default = 1.25 },
  ["--prefix-hash-balance-abs-threshold"] = { "number", default = 10 },
  ["--least-load-kv-pressure-weight"] = { "number", default = 0.15 },
  ["--least-load-default-throughput"] = { "number", default = 2000 },
  ["--least-load-mean-prefill-tokens"] = { "number", default = 1024 },
  ["--least-load-max-waiting-requests"] = { "integer", default = 0,
    routing = "the exclusion of workers with long queues is not simulated" },
  ["--routing-key-override"] = { "boolean", default = false, aliases = { "--sticky-sessions" },
    routing = "keys that override the policy are not simulated" },
  ["--routing-key-headers"] = { "string", default = "x-smg-routing-key",
    harmless = "the key is the session of a request here" },
  ["--pd-disaggregation"] = { "boolean", default = false },
  ["--prefill-policy"] = { "string", choices = names },
  ["--decode-policy"] = { "string", choices = names },
  ["--encode-policy"] = { "string", default = "consistent_hashing", choices = names,
    harmless = "there is no encode stage in this experiment" },
  ["--max-concurrent-requests"] = { "integer", default = -1 },
  ["--queue-size"] = { "integer", default = 100 },
  ["--queue-timeout-secs"] = { "seconds", default = 60 },
  ["--rate-limit-tokens-per-second"] = { "number",
    routing = "permits that come back by time are not simulated" },
  ["--retry-max-retries"] = { "integer", default = 5, harmless = no_failures },
  ["--retry-initial-backoff-ms"] = { "number", default = 50, harmless = no_failures },
  ["--retry-max-backoff-ms"] = { "number", default = 30000, harmless = no_failures },
  ["--retry-backoff-multiplier"] = { "number", default = 1.5, harmless = no_failures,
    aliases = { "--retry-multiplier" } },
  ["--retry-jitter-factor"] = { "number", default = 0.2, harmless = no_failures,
    aliases = { "--retry-jitter" } },
  ["--cb-failure-threshold"] = { "integer", default = 10, harmless = no_failures },
  ["--cb-success-threshold"] = { "integer", default = 3, harmless = no_failures },
  ["--cb-timeout-duration-secs"] = { "seconds", default = 60, harmless = no_failures },
  ["--cb-window-duration-secs"] = { "seconds", default = 120, harmless = no_failures },
  ["--health-failure-threshold"] = { "integer", default = 3, harmless = no_failures },
  ["--health-success-threshold"] = { "integer", default = 2, harmless = no_failures },
  ["--health-check-timeout-secs"] = { "seconds", default = 5, harmless = no_failures },
  ["--health-check-interval-secs"] = { "seconds", default = 60, harmless = no_failures },
  ["--drain-settle-secs"] = { "seconds", default = 5, harmless = no_failures },
  ["--worker-startup-timeout-secs"] = { "seconds", default = 1800, harmless = no_failures },
  ["--request-timeout-secs"] = { "seconds", default = 1800, harmless = no_failures },
  ["--worker-urls"] = { "string", harmless = outside },
  ["--host"] = { "string", harmless = outside },
  ["--port"] = { "integer", harmless = outside },
}

-- Characters per token, to convert the prompt tree to blocks.
local characters_per_token = 4

local instances = 4

local function set(router, name, value, default)
  if value ~= default then router[name] = value end
end

--- Blocks of one worker in a tree that all workers share.
local function capacity_of(get)
  local block = characters_per_token * math.max(1, get "--block-size")
  return math.max(1, get "--max-tree-size" // block)
end

local makers = {}

function makers.cache_aware(get, tell)
  local router = { "smg.cache_aware", gate = "mean" }
  set(router, "cache_threshold", get "--cache-threshold", 0.3)
  set(router, "balance_abs_threshold", get "--balance-abs-threshold", 64)
  set(router, "balance_rel_threshold", get "--balance-rel-threshold", 1.5)
  set(router, "balance_token_usage_threshold", get "--balance-token-usage-threshold", 1)
  set(router, "overload_token_usage_threshold", get "--overload-token-usage-threshold", 1)
  set(router, "block_size", get "--block-size", 16)
  set(router, "capacity", capacity_of(get), 1048576)
  tell.findings:add("note", "--max-tree-size", nil,
    "here it holds for each worker; in f8daa883 all of a model share it")
  return router
end

function makers.least_load(get)
  local router = { "smg.least_load" }
  set(router, "kv_pressure_weight", get "--least-load-kv-pressure-weight", 0.15)
  set(router, "default_throughput", get "--least-load-default-throughput", 2000)
  set(router, "mean_prefill_tokens", get "--least-load-mean-prefill-tokens", 1024)
  return router
end

function makers.prefix_hash(get, tell)
  local router = { "smg.prefix_hash" }
  set(router, "prefix_token_count", get "--prefix-token-count", 256)
  set(router, "load_factor", get "--prefix-hash-load-factor", 1.25)
  if get "--prefix-hash-balance-abs-threshold" ~= 0 then
    tell.findings:add("routing", "--prefix-hash-balance-abs-threshold", nil,
      "a second condition of leaving the ring, %s requests, is not simulated; 0 turns it off",
      get "--prefix-hash-balance-abs-threshold")
  end
  return router
end

function makers.manual(get, tell)
  local router, mode = { "smg.manual" }, get "--assignment-mode"
  if mode == "min_load" then
    router.assignment_mode = mode
  elseif mode ~= "random" then
    tell.findings:add("routing", "--assignment-mode", tell.lines["--assignment-mode"],
      "%s is not simulated; random here", mode)
  end
  set(router, "max_idle_us", math.floor(get "--max-idle-secs" * 1000000), 14400000000)
  return router
end

function makers.bucket(get)
  local router = { "smg.bucket" }
  set(router, "balance_abs_threshold", get "--balance-abs-threshold", 64)
  set(router, "balance_rel_threshold", get "--balance-rel-threshold", 1.5)
  return router
end

local plain = { random = "random", round_robin = "round-robin", power_of_two = "smg.power_of_two",
  consistent_hashing = "smg.consistent_hashing", passthrough = "random" }

local function router_of(name, get, tell)
  if name == "passthrough" then
    tell.findings:add("routing", "--policy", tell.lines["--policy"],
      "passthrough: the client chooses; random here")
  end
  return plain[name] or makers[name](get, tell)
end

--- Permits that are held for a whole answer, and a queue for those without one.
local function queue_of(get)
  local permits = get "--max-concurrent-requests"
  if permits < 1 then return nil end
  return { saturation = { "concurrency", max_concurrency = permits / instances },
    dispatch = "event", max_requests = get "--queue-size",
    ttl_us = math.floor(get "--queue-timeout-secs" * 1000000) }
end

local function experiment(get, tell)
  local made = { queue = queue_of(get), cluster = { instances = instances } }
  if not get "--pd-disaggregation" then
    made.routing = router_of(get "--policy", get, tell)
    return made
  end
  local usual = get "--policy"
  made.cluster = { prefill_instances = 2, decode_instances = 2 }
  made.routing = router_of(get "--decode-policy" or usual, get, tell)
  made.disaggregation = { decider = "always", order = "destination", first_token = "prefill",
    prefill_routing = router_of(get "--prefill-policy" or usual, get, tell) }
  return made
end

---@type blis.production.FlagSystem
return { name = "smg", what = "flags of SMG, f8daa883", flags = flags, experiment = experiment }
