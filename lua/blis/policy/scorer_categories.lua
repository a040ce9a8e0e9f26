--- What a built-in scorer prefers, in the categories of llm-d's scorers.

-- affinity: instances that have something of the request already, such as its prefix.
-- distribution: instances with less load.
-- balance: both, in one score.
local names = {
  affinity = { "prefix-affinity", "precise-prefix-cache", "oracle-prefix", "tiered-prefix",
    "lora-affinity", "llm-d.lora-affinity-scorer", "llm-d.prefix-cache-scorer",
    "llm-d.session-affinity-scorer", "llm-d.context-length-aware",
    "llm-d.header-label-affinity-scorer" },
  distribution = { "queue-depth", "kv-utilization", "load-balance", "no-hit-lru",
    "active-requests", "running-requests", "load-aware", "vllm-dp", "llm-d.queue-scorer",
    "llm-d.active-request-scorer", "llm-d.token-load-scorer", "llm-d.no-hit-lru-scorer" },
  balance = { "predicted-latency" },
}

---@type table<string, string> category by the name of a scorer; nil: that of another scorer in it
local category_of = {}
for category, list in pairs(names) do
  for _, name in ipairs(list) do category_of[name] = category end
end

return category_of
