--- KV below the caches of the instances: the options of all tiers, and of one.

-- 0 means an infinitely fast link, as for hand-offs.
local link = { type = "number", min = 0, max = 1e9, unit = "GB/s" }

local group = "KV tiers"

local function bandwidth(name, doc, required)
  return { name = name, type = link.type, min = link.min, max = link.max, unit = link.unit,
    required = required, doc = doc }
end

---@type blis.Section
local tier = {
  name = "kv_tier",
  summary = "A KV cache tier: CPU memory, disks, or a pool.",
  options = {
    { name = "name", type = "string", required = true,
      doc = "Name of the tier in results, policies, and stage." },
    { name = "blocks", type = "integer", min = 0, max = 2147483647, unit = "blocks",
      doc = "Capacity of a store, in KV blocks of the instances. 0: no tier." },
    { name = "gb", type = "number", min = 0, max = 1e9, unit = "GB",
      doc = "Size in 10^9 bytes, instead of blocks." },
    { name = "scope", type = "choice", choices = { "instance", "node", "cluster" },
      default = "instance",
      doc = "One store per instance, per node, or for the cluster." },
    { name = "instances_per_node", type = "integer", min = 1, max = 1000000,
      doc = "Number of instances per node. Required with scope node." },
    { name = "stage", type = "string",
      doc = "Earlier tier that stages reads, and whose saved blocks are written to this tier." },
    bandwidth("read_gb_s", "Bandwidth of reads from a store, shared fairly. 0: reads take no time.",
      true),
    bandwidth("write_gb_s", "Write bandwidth. Default: the read bandwidth."),
    { name = "per_gpu", type = "boolean", default = false,
      doc = "Bandwidths are per GPU, each with a separate link. An instance then has tp times the "
        .. "bandwidth." },
    { name = "half_duplex", type = "boolean", default = false,
      doc = "Reads and writes share read_gb_s, as on many disks." },
    { name = "latency_us", type = "number", min = 0, max = 1e12, default = 0, unit = "us",
      doc = "Fixed time of each read and each write of a request, in addition to its bytes." },
    { name = "policy", type = "any", default = "lru",
      doc = "Eviction policy: lru, fifo, lfu, arc, or reuse-hint, which is lru with reuse times "
        .. "announced by programs (workload.hints). In Lua also a function(block), called whenever "
        .. "a block is saved or used. The block with the lowest returned score is evicted. block: "
        .. "depth (index in its prompt, from 0), blocks (length of the prompt in blocks, 0 = "
        .. "unknown), uses, now_us, tier, and reused_after_us (announced, or nil)." },
    { name = "evict_above", type = "number", above = 0, max = 1, unit = "0 to 1",
      doc = "High watermark. A store above this fraction, or without free blocks, evicts "
        .. "evict_share of its blocks plus the excess. Default: a full store evicts one block per "
        .. "new block. Mooncake Store: eviction_high_watermark_ratio." },
    { name = "evict_share", type = "number", above = 0, max = 1, default = 0.05, unit = "0 to 1",
      doc = "Fraction of the stored blocks to evict, with evict_above. Mooncake Store: "
        .. "eviction_ratio." },
    { name = "keep_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      doc = "With policy reuse-hint: maximum reuse time. Longer hints are ignored." },
    { name = "store", type = "choice", choices = { "write-through", "on-evict", "none" },
      default = "write-through",
      doc = "When blocks are written. write-through: when a prompt is computed, or saved in the "
        .. "staging tier. on-evict: when the staging tier or, without one, the KV cache evicts "
        .. "them (every step is then computed individually, which is slow). none: only when they "
        .. "are read through this tier." },
    { name = "threshold", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "sights",
      doc = "Minimum number of computations of a block before it is saved. 0 and 1: save at "
        .. "once." },
    { name = "max_tracked", type = "integer", min = 1, max = 2147483647, default = 64000,
      unit = "blocks", doc = "With threshold: maximum number of blocks with a computation count." },
    { name = "promote", type = "boolean", default = true,
      doc = "Keep a copy of blocks that are read through this tier." },
    { name = "shared", type = "boolean", default = false,
      doc = "With scope instance: other instances can read it over the network." },
    { name = "survives", type = "boolean", default = false,
      doc = "With scope instance: keep the content when the instance fails." },
    { name = "weight", type = "number", min = 0, max = 1, default = 0.75, unit = "0 to 1",
      doc = "Weight of a block of this tier in the signal tiered_prefix_hit. A block in the KV "
        .. "cache has weight cache_weight. Dynamo: host memory 0.75, disk 0.25; llm-d: CPU 0.8." },
    { name = "peer_weight", type = "number", min = 0, max = 1, default = 0, unit = "0 to 1",
      doc = "With shared: weight of a block in the store of another instance. 0: the router "
        .. "ignores these blocks." },
  },
}

---@type blis.Section
local all = {
  name = "kv_tiers",
  summary = "KV cache tiers (offloading): a list of tiers in lookup order, or the name of a "
    .. "preset, and options for all tiers. See docs/kv-tiers.md for details and limits.",
  options = {
    { name = "preset", type = "choice", flag = "--kv-tiers", group = group,
      choices = { "vllm-0.22", "llm-d", "lmcache", "mooncake-store", "dynamo-kvbm" },
      doc = "Tiers of a real system, listed in docs/kv-tiers.md. Additional tiers and options "
        .. "override the preset." },
    { name = "load", type = "any", default = "all", flag = "--kv-tiers-load", group = group,
      as_flag = { type = "choice", choices = { "all", "if-faster" } },
      flag_doc = "Prompt blocks to load from the tiers. all: all found blocks. if-faster: all, if "
        .. "the estimated load time is below the time to compute them in a separate step.",
      doc = "Prompt blocks to load from the tiers. all: all found blocks. if-faster: all, if the "
        .. "estimated load time is below the time to compute them in a separate step. Or a "
        .. "function(request, offer) that returns a number of tokens, true, or false. offer: "
        .. "cached_tokens, offered_tokens, tiers (offered tokens by name), load_us, compute_us, "
        .. "instance (its index), and now_us." },
    { name = "chunk_tokens", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "tokens", flag = "--kv-tiers-chunk-tokens", group = group,
      doc = "Lookup granularity in tokens, a multiple of the block size. 0: one block. LMCache: "
        .. "256." },
    { name = "batch_blocks", type = "integer", min = 1, max = 1000000000, default = 10,
      unit = "blocks", flag = "--kv-tiers-batch-blocks", group = group,
      doc = "Number of blocks per batch when reading through a staging tier." },
    { name = "network_gb_s", type = "number", min = 0, max = 1e9, default = 0, unit = "GB/s",
      flag = "--kv-tiers-network-gb-s", group = group,
      doc = "Bandwidth in and out of every instance, for shared tiers and tiers of scope cluster. "
        .. "0: limited only by the stores." },
    { name = "save_output", type = "boolean", default = false, flag = "--kv-tiers-save-output",
      group = group,
      doc = "Save generated tokens when a request finishes. false: save only prompts. Generated "
        .. "tokens are then saved when a later prompt contains them." },
    { name = "cache_weight", type = "number", min = 0, max = 1, default = 1, unit = "0 to 1",
      flag = "--kv-tiers-cache-weight", group = group,
      doc = "Weight of blocks in the KV cache, for the signal tiered_prefix_hit." },
    { name = "kv_bytes_per_token", type = "number", above = 0, max = 1e12, unit = "bytes",
      flag = "--kv-tiers-bytes-per-token", group = group,
      doc = "KV of a token, over all GPUs of an instance; default: worked out from the model." },
  },
}

return { all = all, tier = tier }
