--- The options of data-parallel ranks.
local errors = require "blis.errors"

local group = "Data-parallel ranks"

local function read_imbalance(text, flag)
  return tonumber(text) or errors.invalid("%s: '%s' is not allowed, expected a number from 1 on",
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
      doc = "What the pass of a rank without work takes, at the barrier; default: a step that "
        .. "decodes one token without context.",
    },
    {
      name = "sync_every", type = "integer", min = 1, max = 1000000, default = 32, unit = "passes",
      flag = "--dp-sync-every", group = group,
      doc = "After every so many passes, the ranks at a barrier find out whether all of them are "
        .. "without work; until then they run passes without any.",
    },
    {
      name = "prefill_interval", type = "integer", min = 1, max = 1000000, default = 1,
      unit = "passes", flag = "--prefill-schedule-interval", group = group,
      doc = "Prompts are computed in every so many passes alone, so that those of all ranks "
        .. "coincide; above 1 every step is computed, slowly.",
    },
    {
      name = "balance", type = "choice", choices = { "router", "internal" }, default = "router",
      flag = "--dp-balance", group = group,
      doc = "Who chooses the rank of a request. router: routing policies, which see the ranks as "
        .. "targets. internal: the group, by least 4 * waiting + running as last published and "
        .. "what was sent since; routing policies see the first instance of each group, with the "
        .. "load of all.",
    },
    {
      name = "clients", type = "integer", min = 1, max = 1024, unit = "processes",
      flag = "--dp-clients", group = group,
      doc = "Of internal balance: processes of the front end, which take requests in turn, each "
        .. "of which knows only of its own what was sent since the last publication. Default: 1.",
    },
    {
      name = "publish_us", type = "time_us", min = 0, max = 3600000000, unit = "us",
      flag = "--dp-publish-us", group = group,
      doc = "Of internal balance: how often the load of the ranks is published, first after half "
        .. "of it; 0 = for every request. Default: 100000.",
    },
    {
      name = "expert_imbalance", type = "any", flag = "--expert-imbalance", group = group,
      metavar = "X", from_text = read_imbalance,
      flag_doc = "Tokens at the busiest of the ranks' expert layers, over the mean: 1 or more.",
      doc = "Tokens at the busiest of the ranks' expert layers, over the mean: a number from 1 on, "
        .. "or a list with the tokens of each rank, such as { 120, 80, 100, 100 } for 1.2 with 4 "
        .. "of them. Needs expert_share. Default: 1.",
    },
    {
      name = "expert_share", type = "number", min = 0, max = 1, flag = "--expert-share",
      group = group,
      doc = "Share of a step's time that expert layers take where all have equally much to do: "
        .. "with expert_imbalance, a step takes 1 + expert_share * (expert_imbalance - 1) times as "
        .. "long.",
    },
  },
}
