-- The verdict about a run: each check has a run that triggers it and a similar run that does not.
local blis = require "blis"
local core = require "blis.core"
local old_defaults = require "spec.support.old_defaults"
local program = require "spec.support.program"
local small = require "spec.support.small"
local verdict = require "blis.results.verdict"

local says = small.says

--- Runs an experiment; changes replace options of a run that is fine.
local function run(changes)
  local spec = { cluster = { instances = 2 }, workload = { rate = 4, requests = 300 } }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

--- Returns the reason with a code, nil without.
local function reason_of(r, code)
  for _, reason in ipairs(r.verdict.reasons) do
    if reason.code == code then return reason end
  end
end

local function has(r, code, status)
  local reason = reason_of(r, code)
  assert.is_truthy(reason, code .. " is missing: " .. verdict.mark(r.verdict))
  assert.equal(status, reason.status)
  return reason.text
end

local function has_not(r, code)
  local reason = reason_of(r, code)
  assert.is_nil(reason, reason and reason.text)
end

--- Returns lengths with a spread.
local function around(mean, std_dev)
  return { "gaussian", mean = mean, std_dev = std_dev, min = 2, max = 7000 }
end

local function traffic(changes)
  local workload = { rate = 4, requests = 300, prompt = around(500, 200),
    output = around(200, 100) }
  for key, value in pairs(changes or {}) do workload[key] = value end
  return workload
end

--- A closed loop of 32 users.
local function users(requests)
  return { version = "2", num_requests = requests, aggregate_rate = 1, clients = { { id = "users",
    concurrency = 32, think_time_us = 0, arrival = { process = "constant" },
    input_distribution = { type = "gaussian", params = { mean = 300, std_dev = 100, min = 10,
      max = 900 } },
    output_distribution = { type = "gaussian", params = { mean = 40, std_dev = 20, min = 2,
      max = 90 } } } } }
end

describe("the verdict", function()
  it("of a run that is fine is ok, and prints nothing", function()
    local r = run()
    assert.equal("ok", r.verdict.status)
    assert.equal(0, #r.verdict.reasons)
    assert.is_nil(tostring(r):find("verdict", 1, true))
  end)

  it("is the first line of a summary otherwise, and the first object of JSON", function()
    local r = run { workload = traffic { requests = 20 } }
    says(tostring(r):match "^[^\n]*", "verdict     warning: short")
    local out = program.run("run", "--num-requests", "20", "--format", "json", "--quiet").out
    assert.truthy(out:find('^{%s*"format": "blis%-result%-1",%s*"verdict": {'))
    local value = core.json_read(out, "out")
    assert.equal("warning", value.verdict.status)
    assert.equal("short", value.verdict.reasons[1].code)
    local fine = core.json_read(program.run("run", "--num-requests", "200", "--format", "json",
      "--quiet").out, "out")
    assert.same({ status = "ok", reasons = {} }, fine.verdict)
  end)

  it("is the same of a saved result, whether it was read before or not", function()
    local files = require "spec.support.files"
    local r = run { workload = traffic { requests = 20 } }
    files.with("", function(path)
      r:save(path)
      local before = files.read(path)
      assert.equal("warning", r.verdict.status)
      r:save(path)
      assert.equal(before, files.read(path))
      assert.same(verdict.lines(r.verdict), verdict.lines(blis.load_result(path).verdict))
    end)
  end)

  it("sorts the gravest reason first", function()
    local one = verdict.new { { code = "a", status = "warning", text = "x" },
      { code = "b", status = "invalid", text = "y" } }
    assert.equal("invalid", one.status)
    assert.equal("b", one.reasons[1].code)
    assert.equal("invalid: b", verdict.mark(one))
    assert.equal("ok", verdict.mark(verdict.new {}))
    assert.equal("-", verdict.mark(nil))
  end)

  it("of several runs names the runs of each reason", function()
    local function of(text)
      return verdict.new { { code = "a", status = "warning", text = text } }
    end
    local joined = verdict.join({ of "x", verdict.new {}, of "x", of "y" }, { "p", "q", "r", "s" })
    assert.same({ "p", "r", "s" }, joined.reasons[1].runs)
    assert.equal("  a (p, r, s): p: x", verdict.lines(joined, 4)[2])
    joined = verdict.join({ of "x", of "x" }, { "p", "q" })
    assert.equal("  a: x", verdict.lines(joined, 2)[2])
    assert.equal("  a (p, q): x", verdict.lines(joined, 3)[2])
  end)
end)

describe("overload", function()
  local heavy = traffic { rate = 60, requests = 1500 }

  it("is a queue that grows", function()
    local r = run { cluster = { instances = 1 }, workload = heavy }
    says(has(r, "overload", "invalid"), "the queue grew by ")
    assert.equal("overload", r.verdict.reasons[1].code)
    has_not(run { cluster = { instances = 8 }, workload = heavy }, "overload")
  end)

  it("is a batch that grows, where slots are many", function()
    local cluster = old_defaults.pinned { instances = 1, max_num_seqs = 100000,
      max_num_batched_tokens = 100000, kv_blocks = 10000000 }
    local workload = traffic { rate = 120, requests = 8000, prompt = around(50, 9) }
    says(has(run { cluster = cluster, workload = workload }, "overload", "invalid"),
      "requests in the system grew by ")
    for _, requests in ipairs { 6000, 600, 200 } do
      workload = traffic { rate = 20, requests = requests, prompt = around(50, 9) }
      has_not(run { cluster = cluster, workload = workload }, "overload")
    end
  end)

  it("is a share of requests that time out", function()
    local workload = traffic { rate = 60, requests = 1500, timeout_us = 8000000 }
    says(has(run { cluster = { instances = 1 }, workload = workload }, "overload", "invalid"),
      "timed out")
    has_not(run { cluster = { instances = 8 }, workload = workload }, "overload")
  end)

  it("is none of deadlines that are shorter than the computation", function()
    local function within(timeout_us)
      return run { cluster = { instances = 8 }, workload = traffic { timeout_us = timeout_us } }
    end
    has(within(4000000), "time-outs", "warning")
    has(within(1500000), "time-outs", "invalid")
    has_not(within(4000000), "overload")
    has_not(within(60000000), "time-outs")
  end)

  it("is found without records", function()
    local r = run { cluster = { instances = 1 }, workload = heavy, keep_records = false }
    says(has(r, "overload", "invalid"), "spread evenly")
    has_not(run { cluster = { instances = 8 }, workload = heavy, keep_records = false },
      "overload")
  end)

  it("is none of users in a closed loop, whose queue is always long", function()
    for _, keeps_records in ipairs { true, false } do
      has_not(run { cluster = { instances = 1, max_num_seqs = 8 }, keep_records = keeps_records,
        workload = users(400) }, "overload")
    end
  end)

  it("is none of a peak that is over", function()
    has_not(run { cluster = { instances = 1 }, workload = traffic { rate = 8, requests = 2400,
      shape = { "surges", every_us = 100000000, duration_us = 5000000, height = 3 } } }, "overload")
  end)

  it("names the component that was saturated", function()
    local r = run { cluster = { instances = 1, max_num_seqs = 4 }, workload = traffic { rate = 8 } }
    says(has(r, "overload", "invalid"), "sequence slots (max_num_seqs) ran on average")
  end)
end)

describe("a saturated component", function()
  it("is sequence slots that are nearly always taken", function()
    local closed = users(800)
    says(has(run { cluster = { instances = 1, max_num_seqs = 8 }, workload = closed }, "saturated",
      "warning"), "max_num_seqs")
    says(has(run { cluster = { instances = 1, max_num_seqs = 8 }, workload = closed,
      keep_records = false }, "saturated", "warning"), "max_num_seqs")
    has_not(run { cluster = { instances = 1, max_num_seqs = 64 }, workload = closed }, "saturated")
  end)

  it("is a KV cache that preempts", function()
    local workload = traffic { rate = 3, requests = 300 }
    local r = run { cluster = { instances = 1, kv_blocks = 260 }, workload = workload }
    assert.is_true(r.preemptions > 30)
    says((reason_of(r, "saturated") or reason_of(r, "overload")).text, "KV cache was full")
    has_not(run { cluster = { instances = 1 }, workload = workload }, "saturated")
  end)

  it("is a link that is never idle", function()
    local function pools(gb_s)
      return run { cluster = { prefill_instances = 1, decode_instances = 1 },
        disaggregation = { bandwidth_gb_s = gb_s }, workload = traffic { rate = 4 } }
    end
    local slow = pools(0.2)
    says((reason_of(slow, "overload") or reason_of(slow, "saturated")).text, "the busiest link")
    has_not(pools(50), "saturated")
  end)

  it("is a gateway whose queue is most of the TTFT", function()
    local function queued(concurrency)
      return run { queue = { saturation = "concurrency", max_concurrency = concurrency },
        cluster = { instances = 1 }, workload = users(400) }
    end
    says(has(queued(4), "saturated", "warning"), "gateway")
    has_not(queued(200), "saturated")
  end)
end)

describe("the length of a run", function()
  it("is short with few requests, or with requests that take most of it", function()
    says(has(run { workload = traffic { requests = 99 } }, "short", "warning"),
      "only 99 requests completed")
    has_not(run { workload = traffic { requests = 100 } }, "short")
    says(has(run { cluster = { instances = 8 }, workload = { rate = 60, requests = 600 } },
      "short", "warning"), "Run at least ")
    has_not(run { cluster = { instances = 8 }, workload = { rate = 20, requests = 2000 } },
      "short")
  end)

  it("matters without records, too", function()
    has(run { cluster = { instances = 8 }, workload = { rate = 100, requests = 500 },
      keep_records = false }, "short", "warning")
    has_not(run { workload = traffic { requests = 300 }, keep_records = false }, "short")
  end)
end)

describe("the start of a run", function()
  local function cached(changes)
    local spec = { cluster = { instances = 1 }, workload = { rate = 4, requests = 600,
      prompt = around(50, 10), output = around(20, 5),
      prefixes = { groups = 40, tokens = 6000 } } }
    for key, value in pairs(changes or {}) do spec[key] = value end
    return blis.run(spec)
  end

  it("is a transient where caches are cold", function()
    says(has(cached(), "transient", "warning"), "without the first")
    has_not(run(), "transient")
  end)

  it("is none where the warm-up is left out", function()
    has_not(cached { warm_up_us = "auto" }, "transient")
  end)
end)

describe("sharing", function()
  local function shared(route, instances)
    return run { cluster = { instances = instances or 8 }, workload = traffic { rate = 8 },
      routing = blis.router { name = "mine", route = route } }
  end

  it("is imbalanced where few instances receive most requests", function()
    local n = 0
    says(has(shared(function()
      n = n + 1
      return n % 10 == 0 and n // 10 % 8 + 1 or n % 2 + 1
    end), "imbalance", "warning"), "requests went to 2 of 8 instances")
    has_not(shared(function()
      n = n + 1
      return n % 8 + 1
    end), "imbalance")
  end)

  it("is imbalanced where one instance receives twice the mean", function()
    local n = 0
    says(has(shared(function()
      n = n + 1
      return n % 3 == 0 and 1 or n % 8 + 1
    end), "imbalance", "warning"), "instance_0 received ")
    has_not(run { cluster = { instances = 8 }, workload = traffic { rate = 8 },
      routing = "random" }, "imbalance")
  end)

  it("names instances without a request", function()
    says(has(shared(function() return 1 end, 2), "imbalance", "warning"),
      "1 of 2 instances received no request")
  end)

  it("compares instances of one group only", function()
    local n = 0
    has_not(run { cluster = { groups = { { instances = 1 }, { instances = 3 } } },
      workload = traffic { rate = 8 }, routing = blis.router { name = "mine", route = function()
        n = n + 1
        return n % 10 == 0 and n // 10 % 3 + 2 or 1
      end } }, "imbalance")
  end)

  it("herds where requests go to one instance after another", function()
    local n = 0
    says(has(shared(function()
      n = n + 1
      return n // 16 % 4 + 1
    end, 4), "herding", "warning"), "of 16 consecutive requests")
    has_not(shared(function()
      n = n + 1
      return n % 4 + 1
    end, 4), "herding")
  end)

  it("starves a class", function()
    local i = 0
    local function traffic_of()
      i = i + 1
      return i <= 200 and { arrival_us = i * 300000, prompt_tokens = 100 + i % 7, output_tokens = 5,
        slo_class = i % 2 == 0 and "batch" or "critical" } or nil
    end
    has(run { workload = traffic_of, admission = function(request)
      return request.slo_class == "batch" and blis.reject "batch" or blis.admit()
    end }, "starvation", "warning")
    i = 0
    has_not(run { workload = traffic_of }, "starvation")
  end)
end)

describe("autoscalers", function()
  local function scaled(changes, most, rate)
    local scaler = { "hpa", metrics = { requests_running = 10 } }
    for key, value in pairs(changes or {}) do scaler[key] = value end
    return run { cluster = { instances = 1 }, autoscaler = scaler,
      scaling = { max_replicas = most or 8, interval_us = 5000000 },
      workload = traffic { rate = rate or 40, requests = 2000, timeout_us = 10000000 } }
  end

  it("that never act while requests are lost make a run invalid", function()
    says(has(scaled { metrics = { kv_utilization = 10 } }, "autoscaler", "invalid"),
      "never changed the number of instances")
    has_not(scaled({ metrics = { kv_utilization = 10 } }, nil, 2), "autoscaler")
  end)

  it("that stay at their maximum while requests are lost do so, too", function()
    says(has(scaled({}, 2), "autoscaler", "invalid"), "at its maximum of 2 instances")
    has_not(scaled({}, 40, 6), "autoscaler")
  end)
end)

describe("requests", function()
  it("that were not served leave nothing to measure", function()
    says(has(run { admission = "reject-all" }, "nothing-served", "invalid"), "300 rejected")
    says(has(run { workload = { rate = 1, requests = 0, horizon_us = 10 } }, "nothing-served",
      "invalid"), "no request arrived")
    has_not(run(), "nothing-served")
  end)

  it("that were refused are losses", function()
    local function refusing(every)
      local n = 0
      return run { admission = function()
        n = n + 1
        return n % every ~= 0
      end }
    end
    says(has(refusing(10), "losses", "warning"), "ended as rejected")
    has_not(refusing(30), "losses")
  end)

  it("of different metrics differ where many got a first token only", function()
    says(has(run { horizon_us = 20000000 }, "populations", "warning"), "TTFT covers the ")
    has_not(run(), "populations")
  end)

  it("of one length run in lockstep", function()
    says(has(run { workload = { rate = 4, requests = 300, prompt_tokens = 500,
      output_tokens = 200 } },
      "identical-lengths", "warning"), "500 prompt tokens and 200 output tokens")
    has_not(run { workload = { rate = 4, requests = 300, prompt_tokens = 500,
      output = around(200, 100) } }, "identical-lengths")
  end)

  it("beyond the data of the latency model are extrapolated", function()
    local many = { rate = 40, requests = 1200, prompt = around(30, 5), output = around(400, 100) }
    says(has(run { cluster = { instances = 1, max_num_seqs = 512,
      latency_model = "calibrated" }, workload = many },
      "extrapolation", "warning"), "Their error is unknown")
    has_not(run(), "extrapolation")
  end)
end)

describe("comparisons and sweeps", function()
  local heavy = traffic { rate = 60, requests = 1500 }

  local function compare(changes)
    local spec = { cluster = { instances = 8 }, workload = heavy,
      routing = { "round-robin", "least-loaded" } }
    for key, value in pairs(changes or {}) do spec[key] = value end
    spec.quiet = spec.replications and true or nil
    return blis.compare(spec)
  end

  it("of single runs mark each row, and withhold intervals", function()
    local fine = compare()
    assert.equal("ok", fine.verdict.status)
    assert.is_nil(tostring(fine):find("verdict", 1, true))
    says(tostring(fine), "intervals from one run")
    local mixed = compare { routing = "random", variants = { { cluster = { instances = 8 } },
      { cluster = { instances = 1 } } } }
    assert.equal("invalid", mixed.verdict.status)
    assert.equal(1, #mixed.verdict.reasons[1].runs)
    local text = tostring(mixed)
    assert.truthy(text:find("^verdict     invalid: overload"))
    says(text, "no intervals and no winner: ")
    assert.truthy(text:find("  ok\n") and text:find("  invalid: overload\n"))
  end)

  it("of replications withhold intervals, p-values, and winners", function()
    local fine = compare { replications = 4 }
    assert.is_nil(fine.against[2]["e2e_ms.mean"].withheld)
    assert.is_truthy(fine.against[2]["e2e_ms.mean"].p_value)
    local bad = compare { replications = 4, cluster = { instances = 1 } }
    assert.equal("invalid", bad.verdict.status)
    local pair = bad.against[2]["e2e_ms.mean"]
    assert.is_nil(pair.p_value)
    assert.is_nil(pair.low)
    says(pair.withheld, "is invalid: overload")
    says(tostring(bad), "no intervals, p-values, or winners: routing=round-robin is invalid")
    says(tostring(bad), "in 4 of 4 runs: the queue grew")
  end)

  it("of sweeps mark points, also of a store", function()
    local folders = require "spec.support.folders"
    folders.with(function(folder)
      local function sweep()
        return blis.sweep { name = "s", parameters = { { "instances", { 1, 8 } } }, seed = 1,
          replications = 4, identity = "x",
          trial = function(p)
            return blis.run { cluster = { instances = p.instances }, workload = heavy,
              seed = p.seed }
          end }:run { store = folder, jobs = 1, quiet = true }
      end
      for _ = 1, 2 do
        local found = sweep()
        assert.equal("invalid", found.points[1].verdict.status)
        assert.equal("ok", found.points[2].verdict.status)
        assert.same({ "instances=1" }, found.verdict.reasons[1].runs)
        assert.is_truthy(found:paired({ instances = 1 }, { instances = 8 }, "e2e_ms.mean").withheld)
        local rows = {}
        for line in found:csv():gmatch "[^\n]+" do rows[#rows + 1] = line end
        assert.truthy(rows[1]:find(",verdict$") and rows[2]:find(",,invalid: overload$"))
        assert.truthy(rows[3]:find("%d,ok$"))
      end
    end)
  end)

  it("of trials that return numbers have no verdict", function()
    local found = blis.sweep { name = "s", parameters = { { "a", { 1, 2 } } },
      identity = "x", trial = function(p) return p.a end }:run { jobs = 1, quiet = true }
    assert.is_nil(found.verdict)
    assert.is_nil(found:csv():find("verdict", 1, true))
  end)
end)

describe("the verdict of an evaluation", function()
  local function verdict_of(policy, seeds)
    local json = require "blis.json"
    local text = json.encode(require("blis.eval").failure_verdict(policy, "it failed"))
    local few = json.encode(verdict.json { verdict.few_seeds(seeds) })
    return text, few
  end

  it("is invalid without a score, and a warning with few seeds", function()
    local failed, few = verdict_of("timeout", 3)
    assert.equal('{"status":"invalid","reasons":[{"code":"timeout","status":"invalid","text":'
      .. '"it failed"}]}', failed)
    assert.truthy(few:find('"code":"few-seeds","status":"warning"', 1, true))
    assert.equal('{"status":"ok","reasons":[]}', select(2, verdict_of("timeout", 4)))
  end)
end)
