--- The options of LoRA adapters: how the engines of a cluster keep and load them.
local errors = require "blis.errors"

local group = "LoRA adapters"

local function read_count(text, flag)
  local count = math.tointeger(tonumber(text))
  if not count or count < 1 or count > 100000 then
    errors.invalid("%s: invalid value '%s': expected a number from 1 to 100000", flag, text)
  end
  return count
end

--- Values that are other ones where the reference is imitated.
local function go_blis(value) return { ["go-blis"] = value } end

---@type blis.Section
return {
  name = "lora",
  summary = "LoRA adapters: a request that names one joins a batch only while the adapter is in a "
    .. "slot of its instance. Sources: BLIS (Go), LoRA control plane; vLLM (max_loras, "
    .. "max_cpu_loras).",
  options = {
    {
      name = "adapters", type = "any", required = true, flag = "--lora-adapters", group = group,
      metavar = "NUMBER", from_text = read_count,
      expected = "a list of ids or of { id =, rank =, weight = }, or a number from 1 to 100000",
      flag_doc = "Number of adapters, named adapter_1, adapter_2, ... Requests without an adapter "
        .. "get one by --lora-zipf. For other names, use --lora-config.",
      doc = "Adapters: a list of IDs, a list of { id =, rank =, weight = }, or a number, for "
        .. "adapter_1, adapter_2, ... Requests without an adapter get one by the weights; without "
        .. "weights they use the base model. A number uses the weights of zipf.",
    },
    {
      name = "slots", type = "integer", min = 0, max = 1000000, default = 8, unit = "adapters",
      flag = "--lora-adapter-capacity", group = group,
      doc = "Adapters that an instance has on its GPUs at once (vLLM: max_loras); 0 = as without "
        .. "lora.",
    },
    {
      name = "host_slots", type = "integer", min = 0, max = 1000000, default = 0,
      unit = "adapters", flag = "--lora-host-slots", group = group,
      doc = "Adapters in the CPU memory of an instance's node (vLLM: max_cpu_loras), at least "
        .. "slots. Other adapters are fetched first. 0: all adapters.",
    },
    {
      name = "rank", type = "integer", min = 1, max = 65536, default = 8, flag = "--lora-rank",
      group = group, doc = "Size of adapters that do not set one.",
    },
    {
      name = "zipf", type = "number", min = 0, max = 100, default = 1, flag = "--lora-zipf",
      group = group,
      doc = "With a number of adapters: adapter k has weight 1 / k^zipf. 0: equal weights.",
    },
    {
      name = "load_base_latency_us", type = "number", min = 0, max = 3600000000, default = 1500,
      unit = "us", flag = "--lora-load-base-latency-us", group = group,
      doc = "Part of every load to the GPUs.",
    },
    {
      name = "load_bandwidth_bytes_us", type = "number", above = 0, max = 1e12, default = 25000,
      profiles = go_blis(2000000), unit = "bytes/us", flag = "--lora-load-bandwidth-bytes-us",
      group = group, doc = "Speed of loads: 25000 is 25 GB/s, a GPU's link to its host.",
    },
    {
      name = "footprint_bytes_per_rank", type = "number", above = 0, max = 1e12,
      default = 2000000, unit = "bytes", flag = "--lora-footprint-bytes-per-rank", group = group,
      doc = "Size of an adapter, by rank.",
    },
    {
      name = "fetch_base_latency_us", type = "number", min = 0, max = 3600000000,
      default = 10000, unit = "us", doc = "Part of every fetch to the host.",
    },
    {
      name = "fetch_bandwidth_bytes_us", type = "number", above = 0, max = 1e12, default = 2000,
      unit = "bytes/us", doc = "Speed of fetches: 2000 is 2 GB/s, a disk.",
    },
    {
      name = "order", type = "choice", choices = { "skip", "head-of-line" }, default = "skip",
      profiles = go_blis "head-of-line", flag = "--lora-order", group = group,
      doc = "skip: later requests can overtake a request that waits for its adapter, as in vLLM. "
        .. "head-of-line: later requests wait (BLIS, Go).",
    },
    {
      name = "max_skip_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--lora-max-skip", group = group,
      doc = "With skip: a request that has waited this long can no longer be overtaken. Adapters "
        .. "in use then drain and free their slots. 0: no limit.",
    },
    {
      name = "mode", type = "choice", choices = { "overlap", "block" }, default = "overlap",
      flag = "--lora-mode", group = group,
      doc = "overlap: steps continue while an adapter loads, one at a time. block: the step that a "
        .. "request joins waits for the load, and the batch with it (vLLM).",
    },
    {
      name = "step_overhead_tiers", type = "any",
      doc = "How much longer steps are: a list of { rank =, factor = }; the step takes 1 + factor "
        .. "* (adapters in the batch) times as long, by the tier nearest to their largest rank. "
        .. "Default: 0.02, 0.035 and 0.06 for ranks 8, 16 and 32; {} = they cost no time.",
    },
    {
      name = "reserve_memory", type = "boolean", default = true,
      doc = "Subtract memory for slots adapters of the largest rank from the KV cache, unless "
        .. "kv_blocks is set.",
    },
  },
}
