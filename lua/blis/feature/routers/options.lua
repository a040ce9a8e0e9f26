--- The options of router replicas.

local errors = require "blis.errors"

local group = "Router replicas"
local sync_group = "Synchronization of router replicas"

local function read_list(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do list[#list + 1] = word end
  if #list > 0 then return list end
  errors.invalid("--router-share: invalid value '%s': expected prefix, in-flight, or both with a "
    .. "comma", text)
end

local options = {}

--- How replicas learn of each other's decisions.
---@type blis.Section
options.sync = {
  name = "router_sync",
  summary = "Synchronization between router replicas.",
  options = {
    {
      name = "mode", type = "choice",
      choices = { "none", "events", "periodic", "pull-push", "shared" }, default = "none",
      flag = "--router-sync", group = sync_group,
      doc = "events: each event is a message to every other replica (Dynamo). periodic: each "
        .. "replica publishes at intervals of every_us (llm-d, SGLang Model Gateway). pull-push: "
        .. "at these intervals, each replica pulls from a shared store and then pushes to it "
        .. "(AIBrix). shared: all replicas use one state without delay, the ideal. none: each "
        .. "replica has only its own state.",
    },
    {
      name = "every_us", type = "time_us", min = 1000, max = 3600000000, default = 200000,
      unit = "us", flag = "--router-sync-every", group = sync_group,
      doc = "Interval of periodic and pull-push.",
    },
    {
      name = "jitter", type = "number", min = 0, max = 0.45, default = 0,
      doc = "Each tick is early or late by up to this share of every_us, at random.",
    },
    {
      name = "phases_us", type = "numbers",
      doc = "First tick of each replica, us: a list. Default: 0 for all.",
    },
    {
      name = "delay_us", type = "time_us", min = 0, max = 3600000000, default = 0, unit = "us",
      flag = "--router-sync-delay", group = sync_group,
      doc = "Transfer time of a message or of a push.",
    },
    {
      name = "loss", type = "number", min = 0, max = 1, default = 0, flag = "--router-sync-loss",
      group = sync_group, doc = "Share of messages that are lost, at random.",
    },
    {
      name = "ttl_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "With events: a request that another replica has begun is no longer counted after this "
        .. "time; 0: never. It bounds the effect of lost messages.",
    },
    {
      name = "own", type = "choice", choices = { "fresh", "published" }, default = "fresh",
      doc = "published: with periodic and pull-push, a replica reads its own counts as it last "
        .. "published them, as llm-d's endpoint picker does.",
    },
    {
      name = "bytes_per_entry", type = "integer", min = 1, max = 1000000, default = 24,
      unit = "bytes", doc = "Size of an entry: 8 bytes each for hash, instance, and epoch.",
    },
  },
}

--- Something that happens to replicas.
---@type blis.Section
options.fault = {
  name = "router_fault",
  summary = "A crash of a router replica, or a partition between replicas.",
  options = {
    {
      name = "kind", type = "choice", choices = { "crash", "partition" }, required = true,
      doc = "crash: the replica loses its state and takes no requests until it has recovered. "
        .. "partition: messages between these replicas and all others are lost.",
    },
    {
      name = "at", type = "time_us", min = 0, required = true, unit = "us",
      doc = "Time of the fault.",
    },
    { name = "replica", type = "integer", min = 1, doc = "For crash: number of the replica." },
    { name = "replicas", type = "numbers", doc = "For partition: numbers of the replicas on one "
      .. "side." },
    {
      name = "recover_after", type = "time_us", min = 1, unit = "us",
      doc = "Duration of the fault. Default: until the end of the run.",
    },
  },
}

---@type blis.Section
options.all = {
  name = "routers",
  summary = "Router replicas: several copies of the routing policy behind a load balancer, each "
    .. "with its own state (prefix memory, sessions, requests in flight, random stream). All "
    .. "replicas share the engines and their signals. Sources: llm-d-router, Dynamo, AIBrix, "
    .. "SGLang Model Gateway; Gateway API Inference Extension, issues 1406 and 2102.",
  options = {
    {
      name = "preset", type = "choice",
      choices = { "none", "llm-d", "dynamo", "dynamo-sync", "aibrix", "smg" }, default = "none",
      flag = "--router-preset", group = group,
      doc = "Replication as in a production system; other options take precedence.",
    },
    {
      name = "replicas", type = "integer", min = 1, max = 64, flag = "--router-replicas",
      group = group, unit = "replicas", doc = "Number of replicas. Default: 1, or 2 with a preset.",
    },
    {
      name = "mode", type = "choice", choices = { "active-active", "active-passive" },
      flag = "--router-mode", group = group,
      doc = "active-passive: one replica routes; when it crashes, another takes over with an empty "
        .. "state after lease_us. Default: active-active.",
    },
    {
      name = "lease_us", type = "time_us", min = 0, max = 3600000000, default = 15000000,
      unit = "us", doc = "With active-passive: time from a crash to the next leader.",
    },
    {
      name = "balancer", type = "choice",
      choices = { "round-robin", "random", "least-connections", "hash" },
      flag = "--router-balancer", group = group,
      doc = "Distribution of requests over the replicas. Default: round-robin.",
    },
    {
      name = "hash_on", type = "choice", choices = { "prefix", "session", "tenant", "client" },
      default = "prefix", flag = "--router-hash-on", group = group,
      doc = "With balancer hash: the hashed field. prefix: the first 256 prompt tokens.",
    },
    {
      name = "vnodes", type = "integer", min = 1, max = 10000, default = 160,
      doc = "With balancer hash: points of a replica on the ring.",
    },
    {
      name = "shard", type = "choice", choices = { "none", "instances" }, default = "none",
      doc = "instances: replica r routes only to the instances i with i mod replicas = r, counted "
        .. "from 0.",
    },
    {
      name = "share", type = "texts", may_be_empty = true, flag = "--router-share", group = group,
      as_flag = { type = "any", from_text = read_list, metavar = "LIST" },
      flag_doc = "State that replicas share: prefix, in-flight, or both with a comma.",
      doc = "State that replicas share: \"prefix\" (each observes the decisions of the others: "
        .. "prefix memory, sessions) and \"in-flight\" (each adds the others' requests in flight "
        .. "to its own). Default: nothing.",
    },
    { name = "sync", type = "any", doc = "Synchronization of shared state: a table of options, or "
      .. "the mode." },
    {
      name = "fail_open", type = "choice", choices = { "random", "round-robin", "reject" },
      flag = "--router-fail-open", group = group,
      doc = "Treatment of requests while no replica is up: send them to an instance, or reject "
        .. "them with reason router-failed. Default: random.",
    },
    {
      name = "faults", type = "any",
      doc = "Faults of replicas: a list of { kind = \"crash\", replica = 2, at = blis.seconds(50), "
        .. "recover_after = blis.seconds(5) } and { kind = \"partition\", replicas = { 1, 2 }, "
        .. "... }.",
    },
  },
}

return options
