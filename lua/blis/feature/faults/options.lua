--- The options of faults that are declared in an experiment.

---@type blis.Section
return {
  name = "fault",
  summary = "A fault of an instance during a run, at a set time or at random intervals.",
  options = {
    {
      name = "kind", type = "choice", required = true,
      choices = { "crash", "hang", "slow", "flap", "partition", "stale", "lost-cache", "reclaim",
        "rolling-restart" },
      doc = "Fault type. crash: lose running requests and cache. hang: no step ends, signals "
        .. "freeze; killed at recover_after. slow: steps take factor times as long. flap: crash "
        .. "repeatedly, times times, once per every. partition: the instance works, its signals "
        .. "freeze. stale: signals refresh only every every. lost-cache: empty the prefix cache. "
        .. "reclaim: drain, then stop after notice. rolling-restart: reclaim each initial instance "
        .. "in sequence.",
    },
    { name = "at", type = "time_us", min = 0, unit = "us", doc = "Time of the fault." },
    {
      name = "mtbf", type = "time_us", min = 1, unit = "us",
      doc = "Mean time between faults of an instance, instead of at. Applies to the instance of "
        .. "this fault, or to each instance.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of the random fault times, with mtbf. Default: the experiment's seed.",
    },
    {
      name = "instance", type = "any",
      doc = "An id such as \"instance_2\" (ids count from 0), or a place in sim.instances, from 1: "
        .. "2 is \"instance_1\".",
    },
    {
      name = "recover_after", type = "time_us", min = 0, unit = "us",
      doc = "Time until full recovery. After a crash, the instance restarts with an empty cache; "
        .. "after a reclaim, this time starts when the instance stops. Default: never.",
    },
    {
      name = "restart_time", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "Duration of the recovering phase, at the end of recover_after. For a hang, the phase "
        .. "follows recover_after.",
    },
    {
      name = "factor", type = "number", min = 0.001, max = 1000000, default = 2,
      doc = "Slowdown factor of steps, for kind slow.",
    },
    { name = "times", type = "integer", min = 1, max = 100000, default = 3, doc = "Number of "
      .. "crashes, for kind flap." },
    {
      name = "every", type = "time_us", min = 1, default = 60000000, unit = "us",
      doc = "Interval of kinds flap, rolling-restart, and stale.",
    },
    {
      name = "notice", type = "time_us", min = 0, default = 30000000, unit = "us",
      doc = "Notice before the instance stops, for kinds reclaim and rolling-restart.",
    },
    {
      name = "requests", type = "choice", choices = { "failed", "rerouted", "retried" },
      doc = "How to handle the requests that the fault ends. failed: fail with reason "
        .. "instance-failed. rerouted: route again at once. retried: send again after retry_after, "
        .. "including admission. Requests restart from zero, and latencies count from the original "
        .. "arrival. Overrides disaggregation.on_failure. Default: failed; hand-offs follow "
        .. "on_failure.",
    },
    {
      name = "retry_after", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "With requests = \"retried\": pause before requests are sent again.",
    },
  },
}
