--- What the versions of llm-d-router have renamed and removed.
---
--- Source: RELEASE-NOTES.md and release-notes.d/unreleased of llm-d-router at ebab6879. Each change
--- is { since = the version that refuses the old name, with =, why = }.
local versions = {}

--- Known ones, the oldest first.
versions.list = { "0.9", "0.10", "0.11" }

local rank = {}
for i, name in ipairs(versions.list) do rank[name] = i end

--- Whether version a comes after version b.
---@param a string
---@param b string
---@return boolean
function versions.is_after(a, b) return rank[a] > rank[b] end

---@class blis.epp.Change
---@field since string the first version that refuses the old name
---@field new? string what to write
---@field advice string the end of a message: what to do
---@field source string

-- Plugin types of the first releases of 2025 without a successor, with the nearest one of today.
versions.removed = {
  ["low-queue-filter"] = "utilization-filter",
  ["least-queue-filter"] = "queue-scorer",
  ["least-kv-cache-filter"] = "kv-cache-utilization-scorer",
  ["lora-affinity-filter"] = "lora-affinity-scorer",
  ["decision-tree-filter"] = "one schedulingProfile with scorers and their weights",
}

-- Plugin types.
versions.types = {
  ["by-label-selector"] = { since = "0.11", new = "label-selector-filter",
    advice = "write label-selector-filter", source = "#2859" },
  ["by-label"] = { since = "0.11", new = "label-selector-filter",
    advice = "write label-selector-filter", source = "#2865" },
  ["disagg-headers-handler"] = { since = "0.11",
    advice = "remove it: disagg-profile-handler does what it did", source = "#2815" },
  ["prefill-header-handler"] = { since = "0.11",
    advice = "remove it: disagg-profile-handler does what it did", source = "#2815" },
  ["pd-profile-handler"] = { since = "0.11", new = "disagg-profile-handler",
    advice = "write disagg-profile-handler with deciders { prefill } and profiles { decode, "
      .. "prefill }", source = "#2509" },
  ["tokenizer"] = { since = "0.11", new = "token-producer", advice = "write token-producer",
    source = "#863, #2869" },
  ["precise-prefix-cache-scorer"] = { since = "0.11",
    advice = "write precise-prefix-cache-producer, and prefix-cache-scorer with "
      .. "prefixMatchInfoProducerName", source = "#1121, #2844" },
  ["active-request-filter"] = { since = "0.10", new = "utilization-filter",
    advice = "write utilization-filter with conditions", source = "#2218" },
}

-- Keys at the top.
versions.keys = {
  saturationDetector = { since = "0.11", new = "flowControl.saturationDetector",
    advice = "write flowControl.saturationDetector", source = "#1247, #2838, #1308" },
  parser = { since = "0.11", new = "requestHandler.parsers",
    advice = "write requestHandler.parsers", source = "#1247, #2838" },
}

-- Parameters, by type of the plugin and place.
versions.parameters = {
  ["token-producer"] = {
    udsTokenizerConfig = { since = "0.11", advice = "write vllm { url }, or use a local tokenizer",
      source = "#1079, #2512" },
  },
  ["precise-prefix-cache-producer"] = {
    ["indexerConfig.tokenizersPoolConfig"] = { since = "0.11",
      advice = "use token-producer with vllm { url }, or a local tokenizer",
      source = "#1079, #2512" },
  },
  ["program-aware-fairness"] = {
    lasDecayFactor = { since = "0.11", advice = "write lasHalfLifeSeconds", source = "#2120" },
  },
}

local flat = { since = "0.11", advice = "write deciders { prefill, encode } and profiles { decode, "
  .. "prefill, encode }", source = "#2509" }
versions.parameters["disagg-profile-handler"] = {}
for _, name in ipairs { "decodeProfile", "prefillProfile", "encodeProfile",
  "prefillDeciderPluginName", "encodeDeciderPluginName", "deciderPluginName", "prefixPluginType",
  "prefixPluginName", "primaryPort", "prefixMatchInfoProducerName" } do
  versions.parameters["disagg-profile-handler"][name] = flat
end

-- Strings as values, of any parameter.
versions.values = {
  ["x-slo-ttft-ms"] = { since = "0.11", new = "x-llm-d-slo-ttft-ms",
    advice = "write x-llm-d-slo-ttft-ms", source = "release notes of 0.10" },
  MaxMinHeap = { since = "0.10", new = "PriorityQueue", advice = "write PriorityQueue",
    source = "#1690" },
  ListQueue = { since = "0.10", advice = "remove it: there is only one kind of queue",
    source = "#1831" },
}

-- The same, for labels alone: elsewhere these are ordinary words.
versions.label_values = {
  both = { since = "0.11", new = "prefill-decode", advice = "write prefill-decode",
    source = "#2509" },
}

-- Feature gates; since = nil: known.
versions.gates = {
  flowControl = {},
  haPopulateNonLeaderDatastore = { from = "0.10" },
  dataLayer = { since = "0.10", advice = "remove it: the data layer is always on",
    source = "#1728" },
  enableLegacyMetrics = { since = "0.9", advice = "remove it", source = "#1418" },
}

-- Parameters that a version began to ask for.
versions.required = {
  ["endpoint-attribute-scorer"] = { producer = { since = "0.11", source = "#2190" } },
  ["endpoint-attribute-filter"] = { producer = { since = "0.11", source = "#2190" } },
}

--- Whether a version refuses what has changed; nil as the version: none does.
---@param change blis.epp.Change
---@param version string?
---@return boolean
function versions.refuses(change, version)
  return version ~= nil and change.since ~= nil and not versions.is_after(change.since, version)
end

return versions
