--- The plugins of llm-d's endpoint picker: their parameters, and what stands for them here.
---
--- Source: llm-d-router ebab6879 (after v0.10.0) and its release notes. Rows list the corresponding
--- names of a policy of blis and of common parameters.

---@class blis.epp.Parameter
---@field [1] string type: number, integer, boolean, string, duration, object, list, any
---@field as? string the parameter here; without it the value is read and has no effect
---@field usual_outside? number[] values outside of this range mean the default
---@field per? number divides the value on its way here (0.001: from ms to us)
---@field routing? string it changes routing, and this is not simulated; why
---@field since? string version of the router
---@field was? string an older name of the same
---@field choices? string[]
---@field fields? table<string, blis.epp.Parameter> of an object; without them any
---@field required? boolean

---@class blis.epp.Plugin
---@field role string scorer, filter, picker, handler, decider, producer, detector, admitter,
--- fairness, ordering, limit, passive
---@field name? string what it is called here
---@field parameters? table<string, blis.epp.Parameter>
---@field alpha? boolean needs --allow-experimental-plugins
---@field since? string
---@field missing? string it decides something, and that is not simulated; why
---@field why? string why it has no effect here
---@field takes_any? boolean parameters are not checked

local number, integer, boolean = { "number" }, { "integer" }, { "boolean" }
local text, duration, object = { "string" }, { "duration" }, { "object" }

local function as(name, kind, more)
  local made = { kind, as = name }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

-- Parameters of scorers and filters.
local affinity = {
  headerName = text, encodedEndpointHeaderConfig = object, sessionIdConfig = object,
  strategy = text, evictionTtlSeconds = as("ttl_us", "number", { per = 1e-6 }),
  evictionSweepSeconds = number,
}

local attribute = {
  attribute = text, attributeKey = text, producer = text, algorithm = object, onMissing = text,
  fallbackOnEmpty = boolean,
}

local plugins = {
  -- Scorers.
  ["queue-scorer"] = { role = "scorer", name = "llm-d.queue-scorer" },
  ["running-requests-size-scorer"] = { role = "scorer", name = "running-requests" },
  ["kv-cache-utilization-scorer"] = { role = "scorer", name = "kv-utilization" },
  ["load-aware-scorer"] = { role = "scorer", name = "load-aware",
    parameters = { threshold = as("threshold", "number") } },
  ["active-request-scorer"] = { role = "scorer", name = "llm-d.active-request-scorer",
    parameters = { idleThreshold = as("idle_threshold", "number"),
      maxBusyScore = as("max_busy_score", "number", { usual_outside = { 0, 1 } }),
      requestTimeout = duration,
      inFlightLoadProducerName = text } },
  ["token-load-scorer"] = { role = "scorer", name = "llm-d.token-load-scorer",
    parameters = { queueThresholdTokens = as("queue_threshold_tokens", "number",
      { usual_outside = { 1e-300, math.huge } }),
      inFlightLoadProducerName = text } },
  ["prefix-cache-scorer"] = { role = "scorer", name = "llm-d.prefix-cache-scorer",
    parameters = { matchLengthWeight = as("match_length_weight", "number"),
      matchLengthScaleTokens = as("match_length_scale_tokens", "number"),
      prefixMatchInfoProducerName = text } },
  ["no-hit-lru-scorer"] = { role = "scorer", name = "llm-d.no-hit-lru-scorer",
    parameters = { lruSize = as("lru_size", "integer"), prefixMatchInfoProducerName = text,
      prefixPluginType = text, prefixPluginName = text } },
  ["session-affinity-scorer"] = { role = "scorer", name = "llm-d.session-affinity-scorer",
    parameters = affinity },
  ["lora-affinity-scorer"] = { role = "scorer", name = "llm-d.lora-affinity-scorer" },
  ["context-length-aware"] = { role = "scorer", name = "llm-d.context-length-aware",
    parameters = { label = as("label", "string"), enableFiltering = boolean } },
  ["topology-affinity-scorer"] = { role = "scorer", alpha = true, takes_any = true,
    missing = "blis treats all endpoints as equally distant" },
  ["header-label-affinity-scorer"] = { role = "scorer", alpha = true, since = "0.11",
    name = "llm-d.header-label-affinity-scorer",
    parameters = { headerName = text, labelKey = as("label", "string", { required = true }) } },
  ["mm-embeddings-cache-scorer"] = { role = "scorer",
    missing = "caches of embeddings are not simulated", takes_any = true },
  ["endpoint-attribute-scorer"] = { role = "scorer", since = "0.10", parameters = attribute,
    missing = "attributes of endpoints, such as the load of a GPU, are not simulated" },
  ["latency-scorer"] = { role = "scorer", missing = "its predictor is not simulated",
    parameters = { ttftWeight = number, tpotWeight = number, headroomSelectionStrategy = text,
      compositeKVWeight = number, compositeQueueWeight = number,
      compositePrefixWeight = number } },

  -- Filters.
  ["decode-filter"] = { role = "filter", name = "role" },
  ["prefill-filter"] = { role = "filter", name = "role" },
  ["encode-filter"] = { role = "filter", name = "role" },
  ["label-selector-filter"] = { role = "filter", name = "llm-d.label-selector-filter",
    takes_any = true },
  ["endpoint-attribute-filter"] = { role = "filter", since = "0.10", parameters = attribute,
    missing = "attributes of endpoints, such as the load of a GPU, are not simulated" },
  ["utilization-filter"] = { role = "filter", name = "llm-d.utilization-filter", since = "0.10",
    parameters = { conditions = { "list", required = true },
      fallbackOnEmpty = as("fallback_on_empty", "boolean") } },
  ["session-affinity-filter"] = { role = "filter", name = "llm-d.session-affinity-filter",
    parameters = affinity },
  ["slo-headroom-tier-filter"] = { role = "filter", missing = "its predictor is not simulated",
    parameters = { epsilonExploreNeg = number } },
  ["topology-affinity-filter"] = { role = "filter", alpha = true, takes_any = true,
    missing = "blis treats all endpoints as equally distant" },
  ["prefix-cache-affinity-filter"] = { role = "filter",
    name = "llm-d.prefix-cache-affinity-filter",
    parameters = { affinityThreshold = as("affinity_threshold", "number"),
      explorationProbability = as("exploration_probability", "number"),
      maxTTFTPenaltyMs = as("max_ttft_penalty_ms", "number"),
      peakPrefillThroughput = as("peak_prefill_throughput", "number"),
      ttftSource = { "string", choices = { "prefillThroughput" } },
      prefixMatchInfoProducerName = text } },

  -- Pickers.
  ["max-score-picker"] = { role = "picker", name = "llm-d.max-score-picker",
    parameters = { maxNumOfEndpoints = integer } },
  ["random-picker"] = { role = "picker", name = "llm-d.random-picker",
    parameters = { maxNumOfEndpoints = integer } },
  ["weighted-random-picker"] = { role = "picker", name = "llm-d.weighted-random-picker",
    parameters = { maxNumOfEndpoints = integer } },

  -- Profile handlers and deciders.
  ["single-profile-handler"] = { role = "handler" },
  ["disagg-profile-handler"] = { role = "handler",
    parameters = { deciders = { "object", fields = { prefill = text, encode = text } },
      profiles = { "object", fields = { decode = text, prefill = text, encode = text } },
      stageOrder = { "any", since = "0.10" } } },
  ["data-parallel-profile-handler"] = { role = "handler",
    parameters = { primaryPort = { "integer" } } },
  ["header-profile-handler"] = { role = "handler", since = "0.10",
    parameters = { headerName = { "string", required = true }, defaultProfile = text } },
  ["prefix-based-pd-decider"] = { role = "decider",
    parameters = { nonCachedTokens = as("non_cached_tokens", "integer"),
      promptTokens = as("prompt_tokens", "integer", { since = "0.10" }) } },
  ["always-disagg-pd-decider"] = { role = "decider" },
  ["always-disagg-multimodal-decider"] = { role = "decider" },

  -- Data producers.
  ["approx-prefix-cache-producer"] = { role = "producer",
    parameters = { autoTune = boolean, blockSizeTokens = { "integer", was = "blockSize" },
      maxPrefixTokensToMatch = integer, maxPrefixBlocksToMatch = integer,
      lruCapacityPerServer = integer } },
  ["precise-prefix-cache-producer"] = { role = "producer",
    parameters = {
      tokenProcessorConfig = { "object", fields = {
        blockSizeTokens = { "integer", was = "blockSize" }, hashSeed = text,
        hashAlgorithm = { "string", since = "0.11" } } },
      blockSizeTokens = { "integer", was = "blockSize" }, hashSeed = text,
      kvEventsConfig = object, indexerConfig = object, zmqEndpoint = text, enableMetrics = boolean,
      metricsLoggingInterval = { "any" }, speculativeIndexing = boolean,
      speculativeTTL = duration } },
  ["burst-prefix-cache-producer"] = { role = "producer", alpha = true,
    missing = "it assigns the requests of a window together; blis decides one request at a time",
    parameters = { windowDurationMs = integer, maxPerReplica = integer, blockSizeTokens = integer,
      minColocateBlocks = integer, maxBatchSize = integer,
      balanceBy = { "string", choices = { "requests", "tokens" }, since = "0.10" } } },
  ["inflight-load-producer"] = { role = "producer",
    parameters = { prefixMatchInfoProducerName = text,
      addEstimatedOutputTokens = { "boolean",
        routing = "tokens of outputs in flight are not estimated here" },
      outputRatio = { "number", since = "0.10" },
      maxEstimatedOutputTokens = { "integer", since = "0.10" } } },
  ["token-producer"] = { role = "producer", why = "tokens are known here",
    parameters = { modelName = text, vllm = object, estimate = object } },
  ["predicted-latency-producer"] = { role = "producer", takes_any = true,
    why = "it feeds plugins that are not simulated" },
  ["session-id-producer"] = { role = "producer", takes_any = true,
    why = "sessions of requests are known here" },
  ["agent-identity"] = { role = "producer", takes_any = true,
    why = "tenants of requests are known here" },
  ["mm-embeddings-cache-producer"] = { role = "producer",
    why = "it feeds plugins that are not simulated",
    parameters = { cacheSizeInMBPerServer = integer } },
  ["p2p-source-producer"] = { role = "producer", alpha = true, takes_any = true, since = "0.11",
    why = "copies between caches are not simulated" },

  -- Admission, flow control, saturation.
  ["utilization-detector"] = { role = "detector", name = "utilization",
    parameters = { queueDepthThreshold = as("queue_depth_threshold", "number"),
      kvCacheUtilThreshold = as("kv_utilization_threshold", "number"),
      metricsStalenessThreshold = duration, headroom = number } },
  ["concurrency-detector"] = { role = "detector", name = "concurrency",
    parameters = { maxConcurrency = as("max_concurrency", "number"),
      maxTokenConcurrency = as("max_token_concurrency", "number"),
      concurrencyMode = as("mode", "string", { choices = { "requests", "tokens", "hybrid" } }),
      headroom = number } },
  ["probabilistic-admitter"] = { role = "admitter", name = "probabilistic",
    parameters = { queueDepthThreshold = as("queue_depth_threshold", "number"),
      kvCacheUtilThreshold = as("kv_utilization_threshold", "number"),
      power = as("power", "number"), k = as("k", "number") } },
  ["latency-slo-admitter"] = { role = "admitter", name = "latency-slo" },
  ["global-strict-fairness-policy"] = { role = "fairness", name = "global-strict" },
  ["round-robin-fairness-policy"] = { role = "fairness", name = "round-robin" },
  ["program-aware-fairness"] = { role = "fairness", name = "least-service",
    parameters = { strategy = { "string", choices = { "las" } },
      lasWeightService = as("service_weight", "number"),
      lasWeightHeadWait = as("wait_weight", "number"),
      lasHalfLifeSeconds = as("service_half_life_s", "number"),
      evictionTtlSeconds = number, evictionSweepSeconds = number } },
  ["fcfs-ordering-policy"] = { role = "ordering", name = "fifo" },
  ["edf-ordering-policy"] = { role = "ordering", name = "edf" },
  ["slo-deadline-ordering-policy"] = { role = "ordering", name = "slo-deadline" },
  ["static-usage-limit-policy"] = { role = "limit", name = "static",
    parameters = { threshold = as("ceiling", "number") } },
  ["priority-holdback-policy"] = { role = "limit", name = "priority-holdback", since = "0.10",
    parameters = { minCeiling = as("min_ceiling", "number", { required = true }),
      maxCeiling = as("max_ceiling", "number"),
      domain = as("mode", "string", { choices = { "rank", "value" } }),
      shape = { "string", choices = { "linear" } } } },
  ["soft-reflective-ceiling-policy"] = { role = "limit", name = "soft-reflective",
    since = "0.10", alpha = true },
}

-- What has no part in decisions of the simulator.
local passive = {
  ["metrics-data-source"] = "signals come from the simulated engines",
  ["endpoint-notification-source"] = "instances are known here",
  ["core-metrics-extractor"] = "signals come from the simulated engines",
  ["dcgm-data-source"] = "GPU metrics are not simulated; what reads them says so",
  ["dcgm-extractor"] = "GPU metrics are not simulated; what reads them says so",
  ["topology-extractor"] = "it feeds plugins that are not simulated",
  ["file-discovery"] = "instances are known here",
  ["openai-parser"] = "requests are known here",
  ["anthropic-parser"] = "requests are known here",
  ["vllmhttp-parser"] = "requests are known here",
  ["passthrough-parser"] = "requests are known here",
}
for name, why in pairs(passive) do
  plugins[name] = { role = "passive", why = why, takes_any = true }
end
for _, name in ipairs { "dcgm-data-source", "dcgm-extractor", "topology-extractor" } do
  plugins[name].alpha = true
end
plugins["topology-extractor"].since = "0.10"

-- The producers that are created with their defaults if a plugin needs them and they are missing.
local default_producers = { prefix = "approx-prefix-cache-producer" }


return { types = plugins, default_producers = default_producers }
