--- KV below the caches of the instances: the options of all tiers, and of one.

-- 0 stands for links that take no time, as for those of hand-offs.
local link = { type = "number", min = 0, max = 1e9, unit = "GB/s" }

local group = "KV tiers"

local function bandwidth(name, doc, required)
  return { name = name, type = link.type, min = link.min, max = link.max, unit = link.unit,
    required = required, doc = doc }
end

---@type blis.Section
local tier = {
  name = "kv_tier",
  summary = "One tier of KV below the caches of the instances: memory of hosts, disks, or a pool.",
  options = {
    { name = "name", type = "string", required = true,
      doc = "What results, policies and stage call it." },
    { name = "blocks", type = "integer", min = 0, max = 2147483647, unit = "blocks",
      doc = "Capacity of a store, in KV blocks of the instances; 0 = as if there were no such "
        .. "tier." },
    { name = "gb", type = "number", min = 0, max = 1e9, unit = "GB",
      doc = "The same in 10^9 bytes; one of the two." },
    { name = "scope", type = "choice", choices = { "instance", "node", "cluster" },
      default = "instance",
      doc = "Who has a store: every instance, every node of so many, or all together one." },
    { name = "instances_per_node", type = "integer", min = 1, max = 1000000,
      doc = "With scope node, which needs it: instances 1 to so many are the first node." },
    { name = "stage", type = "string",
      doc = "An earlier tier that it is read through, and that what it gets has been saved in." },
    bandwidth("read_gb_s", "Bandwidth of reads from a store, shared fairly; 0 = takes no time.",
      true),
    bandwidth("write_gb_s", "Of writes; default: as of reads."),
    { name = "per_gpu", type = "boolean", default = false,
      doc = "These are those of one GPU, each of which has a link of its own: an instance has tp "
        .. "times as much." },
    { name = "half_duplex", type = "boolean", default = false,
      doc = "Reads and writes share read_gb_s, as on many disks." },
    { name = "latency_us", type = "number", min = 0, max = 1e12, default = 0, unit = "us",
      doc = "Of each read and each write of a request, beside its bytes." },
    { name = "policy", type = "any", default = "lru",
      doc = "Who leaves a full store: lru, fifo, lfu, arc; reuse-hint: as lru, but a block whose "
        .. "program said when it is used again (workload.hints) as if it were used then; or a "
        .. "function(block) that returns a score whenever a block is saved or used, the lowest of "
        .. "which leaves; block has depth (its place in its prompt, from 0), blocks (of so many, "
        .. "0 = not known), uses, now_us, "
        .. "tier, and reused_after_us, what its program said, or nil." },
    { name = "evict_above", type = "number", above = 0, max = 1, unit = "0 to 1",
      doc = "Once a store is fuller than this, or has no room for what comes, evict_share of its "
        .. "blocks leave, and as much more as it is too full. Default: one leaves a full store for "
        .. "each that comes. Mooncake Store: eviction_high_watermark_ratio." },
    { name = "evict_share", type = "number", above = 0, max = 1, default = 0.05, unit = "0 to 1",
      doc = "With evict_above: of the blocks that are there. Mooncake Store: eviction_ratio." },
    { name = "keep_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      doc = "With policy reuse-hint: longer times that programs say are not honoured." },
    { name = "store", type = "choice", choices = { "write-through", "on-evict", "none" },
      default = "write-through",
      doc = "What comes into it: what was computed of a prompt, or saved in its stage; what is "
        .. "evicted from its stage, or, without one, from the KV caches (every step is computed "
        .. "then, which is slow); or what is read through it alone." },
    { name = "threshold", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "sights",
      doc = "A block is saved when it was computed so often; 0 and 1 are the first time." },
    { name = "max_tracked", type = "integer", min = 1, max = 2147483647, default = 64000,
      unit = "blocks", doc = "With threshold: of so many blocks at most is it known how often." },
    { name = "promote", type = "boolean", default = true,
      doc = "What is read through it stays in it." },
    { name = "shared", type = "boolean", default = false,
      doc = "With scope instance: other instances read it, too, over the network." },
    { name = "survives", type = "boolean", default = false,
      doc = "With scope instance: what is in it outlives a failure of the instance." },
    { name = "weight", type = "number", min = 0, max = 1, default = 0.75, unit = "0 to 1",
      doc = "What a block in it counts for in the signal tiered_prefix_hit, where one in the KV "
        .. "cache counts for cache_weight. Dynamo: host memory 0.75, disk 0.25; llm-d: CPU 0.8." },
    { name = "peer_weight", type = "number", min = 0, max = 1, default = 0, unit = "0 to 1",
      doc = "With shared: what a block counts for that the store of another instance has; 0 = the "
        .. "router does not know of these." },
  },
}

---@type blis.Section
local all = {
  name = "kv_tiers",
  summary = "KV below the caches of the instances: a list of tiers, in the order in which they are "
    .. "asked, or the name of a preset, and what holds for all of them. docs/kv-tiers.md says what "
    .. "is modelled and what is not.",
  options = {
    { name = "preset", type = "choice", flag = "--kv-tiers", group = group,
      choices = { "vllm-0.22", "llm-d", "lmcache", "mooncake-store", "dynamo-kvbm" },
      doc = "The tiers of a system, as docs/kv-tiers.md lists them; tiers and options given beside "
        .. "it win." },
    { name = "load", type = "any", default = "all", flag = "--kv-tiers-load", group = group,
      as_flag = { type = "choice", choices = { "all", "if-faster" } },
      flag_doc = "What of a prompt that is in the tiers is brought back: all of it; if-faster, all "
        .. "when that is estimated to take less time than computing it in a step alone.",
      doc = "What of a prompt that is in the tiers is brought back: all of it; if-faster, all when "
        .. "that is estimated to take less time than computing it in a step alone; or a "
        .. "function(request, offer) that returns a number of tokens, true or false. offer has "
        .. "cached_tokens, offered_tokens behind these, tiers (offered tokens by name), load_us, "
        .. "compute_us, instance (its index) and now_us." },
    { name = "chunk_tokens", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "tokens", flag = "--kv-tiers-chunk-tokens", group = group,
      doc = "Only whole chunks of so many tokens are found, a multiple of the block size; 0 = of a "
        .. "block. LMCache: 256." },
    { name = "batch_blocks", type = "integer", min = 1, max = 1000000000, default = 10,
      unit = "blocks", flag = "--kv-tiers-batch-blocks", group = group,
      doc = "Reads through a stage go in batches of so many, one behind the other." },
    { name = "network_gb_s", type = "number", min = 0, max = 1e9, default = 0, unit = "GB/s",
      flag = "--kv-tiers-network-gb-s", group = group,
      doc = "In and out of every instance, for tiers of scope cluster and shared ones; 0 = no "
        .. "limit but that of the stores." },
    { name = "save_output", type = "boolean", default = false, flag = "--kv-tiers-save-output",
      group = group,
      doc = "What is decoded is saved, too, when its request is over; else prompts alone, an "
        .. "answer when it has become part of one." },
    { name = "cache_weight", type = "number", min = 0, max = 1, default = 1, unit = "0 to 1",
      flag = "--kv-tiers-cache-weight", group = group,
      doc = "As weight of the tiers, of blocks in the KV cache itself." },
    { name = "kv_bytes_per_token", type = "number", above = 0, max = 1e12, unit = "bytes",
      flag = "--kv-tiers-bytes-per-token", group = group,
      doc = "KV of a token, over all GPUs of an instance; default: worked out from the model." },
  },
}

return { all = all, tier = tier }
