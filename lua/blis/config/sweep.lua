--- Options of sweeps, of their execution, and of tools that use sweeps.
local types = require "blis.config.types"

types.jobs = {
  expected = function() return "a number of processes from 1 to 1024, or 'auto'" end,
  check = function(value)
    if value == "auto" then return value end
    local jobs = math.tointeger(tonumber(value))
    return jobs and jobs >= 1 and jobs <= 1024 and jobs or nil
  end,
}

local sweep = {}

---@type blis.Section
sweep.space = {
  name = "sweep",
  summary = "A sweep: parameter values, replications, and reported metrics.",
  options = {
    {
      name = "name", type = "string", default = "sweep",
      doc = "Name of the sweep in messages and tables.",
    },
    {
      name = "trial", type = "callback", required = true, arguments = "(p)",
      doc = "Runs one trial of a point: function(p) that returns a result, a table of numbers or a "
        .. "number; p has the parameters, seed and replication.",
    },
    {
      name = "cost", type = "callback", arguments = "(p)",
      doc = "function(p) that returns the expected duration of a trial at a point, in any unit. "
        .. "Long trials start first. Default: estimated from stored trials of the point. The "
        .. "resulting table is the same.",
    },
    {
      name = "parameters", type = "table",
      doc = "A list of { name, { value, ... } } or { name, from =, to =, steps =, scale = \"log\", "
        .. "integer = true }; each may have when = function(p): the parameter is absent where that "
        .. "returns false.",
    },
    {
      name = "points", type = "table",
      doc = "A list of points { name = value, ... } instead of parameters.",
    },
    {
      name = "where", type = "callback", arguments = "(p)",
      doc = "function(p) that returns false to skip a point.",
    },
    {
      name = "sampling", type = "choice", default = "grid",
      choices = { "grid", "random", "latin-hypercube", "sobol" },
      doc = "Every combination of the values, or a number of samples from the ranges.",
    },
    {
      name = "samples", type = "integer", min = 1, max = 10000000, unit = "points",
      doc = "Number of points to sample.",
    },
    {
      name = "sampling_seed", type = "integer", default = 1, doc = "Seed of the samples.",
    },
    {
      name = "replications", type = "replications", default = 1,
      doc = "Runs of each point, with seeds common to all points; or { min =, max =, metric =, "
        .. "precision = 0.05 }: repeat until the interval of a metric is this narrow relative to "
        .. "its mean.",
    },
    { name = "seed", type = "integer", default = 42, doc = "Seed of the first replication. Later "
      .. "replications count up from it." },
    {
      name = "report", type = "strings",
      doc = "Metrics to show, such as \"ttft_ms.p99\". Default: the most important metrics.",
    },
    {
      name = "level", type = "number", above = 0.5, max = 0.9999, default = 0.95,
      doc = "Confidence of the intervals.",
    },
    {
      name = "interval", type = "choice", choices = { "student-t", "bootstrap" },
      default = "student-t", doc = "Method of the intervals.",
    },
    {
      name = "identity", type = "string",
      doc = "Version label that replaces the script and its modules in trial keys. Stored trials "
        .. "then stay valid when these files change; you must ensure that they are.",
    },
    {
      name = "inputs", type = "paths",
      doc = "Files the trials read; when their contents change, the trials are run again.",
    },
  },
}

types.replications = {
  expected = function()
    return "an integer of at least 1, or { min =, max =, metric =, precision = }"
  end,
  check = function(value)
    if type(value) == "table" then return value end
    return types.integer.check(value, { min = 1, max = 1000000 })
  end,
}

---@type blis.Section
sweep.precision = {
  name = "replications",
  summary = "Replications until the interval of a metric is narrow enough.",
  options = {
    {
      name = "metric", type = "string", required = true,
      doc = "Metric to estimate, such as \"ttft_ms.p99\".",
    },
    {
      name = "precision", type = "number", above = 0, max = 1, default = 0.05,
      doc = "Half-width of the interval to reach, as a share of the mean.",
    },
    {
      name = "min", type = "integer", min = 2, max = 1000, default = 5, unit = "replications",
      doc = "Runs of every point.",
    },
    {
      name = "max", type = "integer", min = 2, max = 100000, default = 50, unit = "replications",
      doc = "Maximum number of runs per point.",
    },
  },
}

---@type blis.Section
sweep.run = {
  name = "run",
  summary = "Execution of the trials of a sweep.",
  options = {
    {
      name = "jobs", type = "jobs", default = "auto", flag = "--jobs", metavar = "N",
      doc = "Number of worker processes; 'auto' = one per processor.",
    },
    {
      name = "store", type = "path", flag = "--store", metavar = "DIR",
      doc = "Folder that stores the results. A later run adds only missing trials.",
    },
    {
      name = "shard", type = "string", flag = "--shard", metavar = "I/N",
      doc = "Run only part I of N (0/N to N-1/N). Default: read from the variables of Slurm, "
        .. "Kubernetes, HyperQueue, or PMI.",
    },
    {
      name = "other_versions", type = "choice", choices = { "refuse", "keep", "ignore" },
      default = "refuse", flag = "--other-versions",
      doc = "Treatment of stored results of another version of blis. Reject the folder, use the "
        .. "results, or ignore them and run their trials again.",
    },
    {
      name = "time_limit_us", type = "time_us", min = 1000, unit = "us", flag = "--time-limit",
      doc = "Time after which a trial is stopped and counts as failed.",
    },
    {
      name = "memory_limit_mb", type = "integer", min = 1, max = 1000000000, unit = "MB",
      flag = "--memory-limit",
      doc = "Memory limit of a worker, in addition to the memory of the loaded script.",
    },
    {
      name = "quiet", type = "boolean", default = false, flag = "--quiet",
      doc = "Show no progress on standard error.",
    },
  },
}

local function run_option(name)
  for _, option in ipairs(sweep.run.options) do
    if option.name == name then return option end
  end
end

---@type blis.Section
sweep.compare = {
  name = "compare",
  summary = "Number of runs per policy, and reported metrics.",
  options = {
    {
      name = "replications", type = "comparisons",
      doc = "Runs of each policy, with common seeds. auto: 5 to 40 runs, until the interval of the "
        .. "first metric is within 2%. Or a table with a stopping rule.",
    },
    {
      name = "variants", type = "table",
      doc = "Variants, instead of a list of routing policies: a list of changes to the experiment, "
        .. "{ { scheduler = \"fcfs\" }, { scheduler = \"sjf\", name = \"shortest first\" } }. "
        .. "Variants can change all options except the workload, and single options of the "
        .. "cluster.",
    },
    {
      name = "baseline", type = "integer", min = 1, default = 1,
      doc = "Index of the baseline policy.",
    },
    {
      name = "report", type = "strings",
      doc = "Metrics to compare. The first metric determines the number of runs. With a warm-up, "
        .. "metrics are taken from steady. Default: ttft_ms.p99, e2e_ms.mean, tokens_per_sec, "
        .. "cache_hit_rate_overall, and with slo_targets goodput.attainment and "
        .. "goodput.requests_per_sec.",
    },
    {
      name = "level", type = "number", above = 0.5, max = 0.9999, default = 0.95,
      doc = "Confidence of the intervals.",
    },
    run_option "jobs", run_option "quiet",
  },
}

types.comparisons = {
  expected = function()
    return "an integer of at least 2, 'auto', or { rule =, min =, max =, precision = }"
  end,
  check = function(value)
    if value == "auto" or type(value) == "table" then return value end
    return types.integer.check(value, { min = 2, max = 1000000 })
  end,
}

---@type blis.Section
sweep.stopping = {
  name = "replications",
  summary = "Stopping rule of a comparison.",
  options = {
    {
      name = "rule", type = "choice", choices = { "precision", "obrien-fleming", "pocock" },
      default = "precision",
      doc = "precision: stop when the interval is narrow enough. Others: a group-sequential test "
        .. "at 5% with up to 5 analyses.",
    },
    {
      name = "precision", type = "number", above = 0, max = 1, default = 0.02,
      doc = "Half-width to reach, as a share of the baseline.",
    },
    {
      name = "min", type = "integer", min = 2, max = 1000, default = 5, unit = "runs",
      doc = "Runs before the first analysis.",
    },
    {
      name = "max", type = "integer", min = 2, max = 100000, default = 40, unit = "runs",
      doc = "Maximum number of runs of the comparison.",
    },
  },
}

---@type blis.Section
sweep.capacity = {
  name = "capacity",
  summary = "The highest load, or the fewest instances, at which the targets are met.",
  options = {
    {
      name = "experiment", type = "table",
      doc = "The experiment to run with different values of the parameter. Alternatively:",
    },
    {
      name = "trial", type = "callback", arguments = "(p)",
      doc = "function(p) that runs p.requests requests with p.seed at p.rate (or under the "
        .. "parameter's name), and returns a result.",
    },
    {
      name = "parameter", type = "string", default = "rate", flag = "--vary", metavar = "FLAG",
      doc = "Parameter to vary: 'rate', 'instances', or the path of an option of the experiment "
        .. "such as 'cluster.max_running'.",
      flag_doc = "Parameter to vary: rate, num-instances, or the name of another numeric flag.",
    },
    {
      name = "objective", type = "choice", choices = { "max", "min" }, flag = "--objective",
      aliases = { "find" }, flag_aliases = { "--find" }, renamed = { most = "max", least = "min" },
      deprecated = { find = "2.0.0", ["--find"] = "2.0.0" },
      doc = "Report the largest (max) or the smallest (min) value that meets the targets. Default: "
        .. "min for instances, otherwise max.",
    },
    {
      name = "integer", type = "boolean",
      doc = "Try whole numbers only; default: true for instances.",
    },
    {
      name = "targets", type = "table",
      doc = "Metrics with limits, upper limits or, where more is better, lower limits: { "
        .. "[\"ttft_ms.p99\"] = 500 }. Percentiles count unserved requests as the slowest. Metrics "
        .. "other than times, counts, and rates include the warm-up.",
    },
    {
      name = "metric", type = "string",
      doc = "Metric of a single target. Default: ttft_ms.p99.",
    },
    { name = "limit", type = "number", doc = "Limit of that metric." },
    {
      name = "max_missed", type = "number", min = 0, max = 1, default = 0.01, flag = "--max-missed",
      doc = "Share of requests that may be rejected, time out, be unservable or unfinished.",
    },
    {
      name = "from", type = "number", above = 0, default = 1, flag = "--from",
      doc = "Lower end of the search.",
    },
    {
      name = "to", type = "number", above = 0, flag = "--to",
      doc = "Upper end of the search; default: 1000000, or 1024 instances.",
    },
    {
      name = "tolerance", type = "number", above = 0, max = 1, default = 0.02,
      flag = "--tolerance", doc = "How close to each other values are tried next to the answer "
        .. "and the ends of its interval, as a share.",
    },
    {
      name = "requests", type = "integer", min = 10, max = 1000000000, default = 4000,
      doc = "Number of requests in the first run at a value; runs that do not settle are repeated "
        .. "with twice as many.",
    },
    {
      name = "max_requests", type = "integer", min = 10, max = 1000000000, default = 128000,
      flag = "--max-requests", unit = "requests",
      doc = "Maximum length of a run. A value that has not converged by then counts as unsettled.",
    },
    {
      name = "steady", type = "boolean", default = true,
      doc = "Evaluate the steady state. false: evaluate whole runs, such as traces.",
    },
    {
      name = "replications", type = "integer", min = 1, max = 1000, default = 5,
      flag = "--replications", unit = "seeds",
      doc = "Number of seeds that are tried at every value; with fewer than 4, the interval does "
        .. "not show how much they differ.",
    },
    {
      name = "level", type = "number", above = 0.5, max = 0.9999, default = 0.95,
      doc = "Confidence of the interval.",
    },
    {
      name = "seed", type = "integer", default = 42,
      doc = "First seed. Further seeds count up from it.",
    },
    run_option "jobs", run_option "quiet",
  },
}

types.experiment = {
  expected = function() return "a table of options, or a function(p) that returns one" end,
  check = function(value)
    return (type(value) == "table" or type(value) == "function") and value or nil
  end,
}

---@type blis.Section
sweep.recommend = {
  name = "recommend",
  summary = "The best layouts of a budget of GPUs: equal instances, or pools for prefill and "
    .. "decode.",
  options = {
    {
      name = "experiment", type = "experiment", required = true,
      doc = "The experiment, without instances and tensor parallelism in its cluster, or a "
        .. "function(p) that returns an experiment for p.rate, p.requests, and p.seed.",
    },
    {
      name = "rate", type = "number", above = 0, unit = "requests/s",
      doc = "Total rate to serve. The result includes the number of copies of each layout that "
        .. "serve this rate.",
    },
    {
      name = "gpus", type = "integer", min = 1, max = 65536, default = 8, unit = "GPUs",
      flag = "--gpus", doc = "The budget.",
    },
    {
      name = "targets", type = "table", required = true,
      doc = "Metrics with limits, as for blis.capacity: { [\"ttft_ms.p90\"] = 2000, "
        .. "[\"itl_ms.p90\"] = 50 }. itl_ms of a request is the mean time between its tokens "
        .. "(TPOT).",
    },
    {
      name = "tp_degrees", type = "numbers", flag = "--tp-degrees",
      aliases = { "degrees" }, deprecated = { degrees = "2.0.0" },
      doc = "Tensor parallel degrees that are tried, for each pool; default: 1, 2, 4 and 8.",
    },
    {
      name = "layouts", type = "choice", choices = { "all", "aggregated", "disaggregated" },
      default = "all", flag = "--layouts",
      doc = "Equal instances (aggregated), pools for prefill and decode (disaggregated), or both.",
    },
    {
      name = "hardware", type = "names", flag = "--try-hardware", metavar = "NAMES",
      doc = "GPU types to try, for equal instances and for both pools. Default: the GPU type of "
        .. "the cluster.",
    },
    {
      name = "decode_hardware", type = "names", flag = "--try-decode-hardware", metavar = "NAMES",
      doc = "GPU types to try for the decode pool. Default: hardware.",
    },
    {
      name = "finalists", type = "integer", min = 1, max = 1000, default = 8, unit = "layouts",
      flag = "--finalists",
      doc = "Maximum number of layouts to confirm with all seeds, in addition to the best of each "
        .. "kind. Four times as many are screened with three seeds.",
    },
    {
      name = "exhaustive", type = "boolean", default = false, flag = "--exhaustive",
      doc = "Confirm all layouts with all seeds, however few may lead.",
    },
    {
      name = "max_missed", type = "number", min = 0, max = 1, default = 0.01, flag = "--max-missed",
      doc = "Share of requests that may be rejected, time out, be unservable or unfinished.",
    },
    {
      name = "from", type = "number", above = 0, default = 0.25, flag = "--from",
      doc = "Lowest rate that is tried; a layout that misses the targets there is infeasible.",
    },
    {
      name = "tolerance", type = "number", above = 0, max = 1, default = 0.05,
      flag = "--tolerance", doc = "How close to each other rates are tried next to the answer and "
        .. "the ends of its interval, as a share.",
    },
    {
      name = "requests", type = "integer", min = 10, max = 1000000000, default = 1000,
      doc = "Number of requests in the first run at a rate, with all seeds; runs that do not "
        .. "settle are repeated with twice as many.",
    },
    {
      name = "max_requests", type = "integer", min = 10, max = 1000000000, default = 16000,
      flag = "--max-requests", unit = "requests",
      doc = "Maximum length of a run. A rate that has not converged by then counts as unsettled.",
    },
    {
      name = "replications", type = "integer", min = 1, max = 1000, default = 10,
      flag = "--replications", unit = "seeds",
      doc = "Number of seeds with which layouts are confirmed.",
    },
    {
      name = "level", type = "number", above = 0.5, max = 0.9999, default = 0.95,
      doc = "Confidence of the intervals.",
    },
    {
      name = "seed", type = "integer", default = 42,
      doc = "First seed. Further seeds count up from it.",
    },
    {
      name = "store", type = "path", flag = "--store", metavar = "DIR",
      doc = "Folder that stores the results of runs; it is created if necessary. Stored runs of "
        .. "this or another question are reused.",
    },
    {
      name = "identity", type = "string",
      doc = "Key of the experiment in the store. Default: its options if they are all numbers, "
        .. "strings, and tables; otherwise the text of the script. Change the key when anything "
        .. "else changes the experiment, such as an input file.",
    },
    run_option "jobs", run_option "quiet",
  },
}

---@type blis.Section
sweep.cma_es = {
  name = "cma_es",
  summary = "A search for the smallest value of a function of several numbers.",
  options = {
    { name = "start", type = "reals", required = true, doc = "Start of the search." },
    {
      name = "step", type = "number", above = 0, default = 1,
      doc = "Initial step size, the same in all coordinates: about a third of the distance to "
        .. "where the optimum may be.",
    },
    {
      name = "population", type = "integer", min = 4, max = 10000, unit = "points",
      doc = "Points per generation; default: 4 + 3 ln n for n coordinates. More points help "
        .. "against noise and local minima.",
    },
    { name = "low", type = "reals", doc = "Lower bounds of the coordinates. Default: unbounded." },
    { name = "high", type = "reals", doc = "Upper bounds of the coordinates. Default: unbounded." },
    { name = "seed", type = "integer", default = 42, doc = "Seed of the random points." },
  },
}

return sweep
