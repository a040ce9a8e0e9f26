--- The options of faults that are declared in an experiment.

---@type blis.Section
return {
  name = "fault",
  summary = "Something that happens to an instance during a run, at a time or now and then.",
  options = {
    {
      name = "kind", type = "choice", required = true,
      choices = { "crash", "hang", "slow", "flap", "partition", "stale", "lost-cache", "reclaim",
        "rolling-restart" },
      doc = "crash: running work and cache are gone; hang: no step ends, "
        .. "and the router sees its last signals, until it is killed at recover_after; slow: steps "
        .. "take factor times as long; flap: times crashes, every so often; partition: it works, "
        .. "and the router sees its last signals; stale: the router sees its signals anew only "
        .. "every so often; lost-cache: its prefix cache is emptied; reclaim: it is told to "
        .. "finish, and switched off after notice; rolling-restart: a reclaim of every instance at "
        .. "first, one after the other.",
    },
    { name = "at", type = "time_us", min = 0, unit = "us", doc = "When it happens." },
    {
      name = "mtbf", type = "time_us", min = 1, unit = "us",
      doc = "Instead of at: the mean time between two of them at one instance, whichever it is, "
        .. "or the one that instance says.",
    },
    {
      name = "seed", type = "integer",
      doc = "With mtbf: of the times; default: that of the experiment.",
    },
    {
      name = "instance", type = "any",
      doc = "An id such as \"instance_2\", or a place in sim.instances, from 1.",
    },
    {
      name = "recover_after", type = "time_us", min = 0, unit = "us",
      doc = "How long until the instance is as before, with an empty cache after a crash; of a "
        .. "reclaim from its end on. Default: never.",
    },
    {
      name = "restart_time", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "The last part of recover_after, in which the instance is recovering; of a hang, the "
        .. "time after that.",
    },
    {
      name = "factor", type = "number", min = 0.001, max = 1000000, default = 2,
      doc = "Of slow.",
    },
    { name = "times", type = "integer", min = 1, max = 100000, default = 3, doc = "Of flap." },
    {
      name = "every", type = "time_us", min = 1, default = 60000000, unit = "us",
      doc = "Of flap, rolling-restart and stale: from one to the next.",
    },
    {
      name = "notice", type = "time_us", min = 0, default = 30000000, unit = "us",
      doc = "Of reclaim and rolling-restart.",
    },
    {
      name = "requests", type = "choice", choices = { "failed", "rerouted", "retried" },
      doc = "What becomes of the requests that it ends: failed, reason instance-failed; rerouted: "
        .. "they are routed again at once; retried: they are sent again after retry_after, and "
        .. "admission is asked again. They start from nothing, and their times count from their "
        .. "own arrival. It goes before disaggregation.on_failure. Default: failed, and hand-offs "
        .. "as that says.",
    },
    {
      name = "retry_after", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "With requests = \"retried\": the pause until they are sent again.",
    },
  },
}
