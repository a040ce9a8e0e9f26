--- The options of data-parallel ranks.
local errors = require "blis.errors"

local group = "Data-parallel ranks"

local function read_imbalance(text, flag)
  return tonumber(text) or errors.invalid("%s: invalid value '%s': expected a number of at least "
    .. "1",
    flag, text)
end

---@type blis.Section
return {
  name = "ranks",
  summary = "Data-parallel ranks: an instance of the cluster is a group of replicas, each with its "
    .. "own scheduler, wait queue and KV cache, and each a target for routing. Sources: vLLM "
    .. "(--data-parallel-size), Dynamo (dp_rank).",
  options = {
    {
      name = "count", type = "integer", min = 1, max = 4096, required = true, unit = "ranks",
      flag = "--dp-ranks", flag_aliases = { "--data-parallel-size" }, group = group,
      doc = "Ranks of a group. Instances are then groups: 2 instances of 4 ranks are 8 targets, "
        .. "instance_0 to instance_7, each on tp GPUs.",
    },
    {
      name = "barrier", type = "boolean", flag = "--dp-barrier", group = group,
      doc = "All ranks of a group begin and end their passes together, as the expert layers of a "
        .. "mixture-of-experts model need it; then every step is computed, slowly. Default: true "
        .. "for such models.",
    },
    {
      name = "dummy_us", type = "time_us", min = 0, max = 3600000000, unit = "us",
      flag = "--dp-dummy-us", group = group,
      doc = "Time of a pass of an idle rank, at the barrier. Default: a step that decodes one "
        .. "token without context.",
    },
    {
      name = "sync_every", type = "integer", min = 1, max = 1000000, default = 32, unit = "passes",
      flag = "--dp-sync-every", group = group,
      doc = "Number of passes between checks for idleness at the barrier. Ranks run idle passes "
        .. "until a check finds all of them idle.",
    },
    {
      name = "prefill_interval", type = "integer", min = 1, max = 1000000, default = 1,
      unit = "passes", flag = "--prefill-schedule-interval", group = group,
      doc = "Prompts are computed only every this many passes, so that the prefills of all ranks "
        .. "coincide. Above 1, every step is computed individually, which is slow.",
    },
    {
      name = "balance", type = "choice", choices = { "router", "internal" }, default = "router",
      flag = "--dp-balance", group = group,
      doc = "Choice of the rank of a request. router: routing policies, which see each rank as a "
        .. "target. internal: the group, by least 4 * waiting + running, as last published plus "
        .. "requests sent since. Routing policies then see the first instance of each group, with "
        .. "the load of the group.",
    },
    {
      name = "clients", type = "integer", min = 1, max = 1024, unit = "processes",
      flag = "--dp-clients", group = group,
      doc = "With internal balance: number of front-end processes, which take requests in "
        .. "rotation. Each counts only the requests that it has sent since the last publication. "
        .. "Default: 1.",
    },
    {
      name = "publish_us", type = "time_us", min = 0, max = 3600000000, unit = "us",
      flag = "--dp-publish-us", group = group,
      doc = "With internal balance: interval at which the load of the ranks is published, first "
        .. "after half of it. 0: after every request. Default: 100000.",
    },
    {
      name = "expert_imbalance", type = "any", flag = "--expert-imbalance", group = group,
      metavar = "X", from_text = read_imbalance,
      flag_doc = "Tokens at the busiest of the ranks' expert layers, over the mean: 1 or more.",
      doc = "Expert load imbalance: tokens at the busiest rank's expert layers, divided by the "
        .. "mean. A number of at least 1, or a list with the tokens of each rank, such as { 120, "
        .. "80, 100, 100 } for 1.2 with 4 ranks. Requires expert_share. Default: 1.",
    },
    {
      name = "expert_share", type = "number", min = 0, max = 1, flag = "--expert-share",
      group = group,
      doc = "Fraction of a step that expert layers take with balanced experts. With "
        .. "expert_imbalance, a step takes 1 + expert_share * (expert_imbalance - 1) times as "
        .. "long.",
    },
  },
}
