--- KV tiers of real systems, as documented in August 2026. Values that a system leaves to its
--- users, such as sizes, are not set. Bandwidths are from the systems' simulators, or one PCIe 5
--- link; see docs/kv-tiers.md.
local presets = {}

presets.by_name = {
  -- vLLM's OffloadingConnector (docs/features/kv_offloading_usage.md, 0.22 and later): a CPU tier
  -- of cpu_bytes_to_use, to be given; "disk", where it is given a size, is a secondary tier.
  ["vllm-0.22"] = {
    { name = "cpu", read_gb_s = 32, per_gpu = true, policy = "lru", weight = 0.8 },
    { name = "disk", stage = "cpu", read_gb_s = 5, gb = 0, survives = true, weight = 0.25 },
  },
  -- The same with caches of peers (p2p tier, remote_kv_source), and llm-d's weights.
  ["llm-d"] = {
    { name = "cpu", read_gb_s = 32, per_gpu = true, policy = "lru", shared = true, weight = 0.8 },
    network_gb_s = 25,
  },
  -- LMCache: chunks of 256 tokens; 5 GB of CPU memory.
  lmcache = {
    { name = "cpu", gb = 5, read_gb_s = 32, per_gpu = true, policy = "lru" },
    { name = "disk", stage = "cpu", read_gb_s = 5, gb = 0, survives = true, weight = 0.25 },
    chunk_tokens = 256,
  },
  -- Mooncake Store: one pool over the memory of all nodes; the user sets its size. Uses watermark
  -- eviction.
  ["mooncake-store"] = {
    { name = "pool", scope = "cluster", read_gb_s = 100, policy = "lru", evict_above = 0.9,
      weight = 0.5 },
    network_gb_s = 25,
  },
  -- Dynamo's KVBM with the defaults of its simulator: G2 per worker, G3 and G4 shared. A tier
  -- exists if its size is set.
  ["dynamo-kvbm"] = {
    { name = "g2", gb = 0, read_gb_s = 14, weight = 0.75 },
    { name = "g3", stage = "g2", scope = "cluster", gb = 0, read_gb_s = 7, weight = 0.25 },
    { name = "g4", stage = "g2", scope = "cluster", gb = 0, read_gb_s = 4, weight = 0.25 },
  },
}

return presets
