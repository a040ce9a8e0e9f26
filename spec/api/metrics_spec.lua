local blis = require "blis"
local figures = require "blis.results.figures"
local report = require "blis.results.report"
local small = require "spec.support.small"

local says = small.says

local function near(expected, got, what)
  local scale = math.max(math.abs(expected), 1e-9)
  local text = ("%s: expected %s, got %s"):format(what, expected, got)
  assert.is_true(math.abs(expected - got) <= 1e-9 * scale, text)
end

--- Two tenants and classes on a cluster that is busy.
local function busy(changes)
  local lengths = { "gaussian", mean = 200, std_dev = 80, min = 2, max = 500 }
  local spec = {
    cluster = { instances = 3, max_num_seqs = 8, gpu_watts = 400 },
    workload = { num_requests = 300, aggregate_rate = 40, clients = {
      { id = "a", tenant_id = "x", slo_class = "critical", rate_fraction = 1,
        input_distribution = lengths, output_distribution = lengths },
      { id = "b", tenant_id = "y", slo_class = "batch", rate_fraction = 3,
        input_distribution = lengths, output_distribution = lengths },
    } },
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return spec
end

local function records_of(result, keep)
  local list = {}
  for _, record in ipairs(result.requests) do
    if keep(record) then list[#list + 1] = record end
  end
  return list
end

local function mean(records, field)
  local sum, n = 0, 0
  for _, record in ipairs(records) do
    if record[field] then sum, n = sum + record[field], n + 1 end
  end
  return sum / n
end

describe("goodput", function()
  local targets = { critical = { ttft_ms = 900, e2e_ms = 6000 }, batch = { itl_ms = 14 } }

  it("counts the requests that kept what their class promises #slow", function()
    local result = blis.run(busy { slo_targets = targets })
    local good = { critical = 0, batch = 0 }
    for _, record in ipairs(result.requests) do
      local limits = targets[record.slo_class]
      local itl_ms = record.itl_count > 0 and record.itl_sum_us / record.itl_count / 1000 or 0
      if record.state == "completed" and record.ttft_us / 1000 <= (limits.ttft_ms or math.huge)
        and record.e2e_us / 1000 <= (limits.e2e_ms or math.huge)
        and itl_ms <= (limits.itl_ms or math.huge) then
        good[record.slo_class] = good[record.slo_class] + 1
      end
    end
    local goodput = result.goodput
    assert.is_true(good.critical > 0 and good.batch > 0)
    assert.equal(good.critical, goodput.classes.critical.good)
    assert.equal(good.batch, goodput.classes.batch.good)
    assert.is_true(goodput.attainment > 0 and goodput.attainment < 1)
    near((good.critical + good.batch) / 300, goodput.attainment, "attainment")
    near(goodput.good / (result.duration_us / 1e6), goodput.requests_per_sec, "rate")
    assert.equal("batch", goodput.classes[1].name)
    says(tostring(result), "of the requests within their targets")
  end)

  it("counts what was turned away against it", function()
    local result = blis.run(busy { admission = function() return blis.reject("no") end,
      slo_targets = { critical = { ttft_ms = 1e9 } } })
    assert.equal(0, result.goodput.good)
    assert.equal(0, result.goodput.attainment)
    assert.is_true(result.goodput.arrived > 0)
  end)

  it("can be asked for afterwards", function()
    local first = blis.run(busy { slo_targets = targets })
    local second = blis.run(busy())
    assert.same(first.goodput, second:measure_goodput(targets))
    says(small.message_of(function() return second.goodput end), "slo_targets")
    local classless = blis.run(small.experiment()):measure_goodput { default = { e2e_ms = 1e6 } }
    assert.equal(60, classless.good)
  end)

  it("tells what is wrong with targets", function()
    local function message(given)
      return small.message_of(blis.run, busy { slo_targets = given })
    end
    says(message { critical = { ttft = 5 } }, "slo_targets.critical: unknown option 'ttft'")
    says(message { critical = { ttft_ms = 0 } }, "slo_targets.critical.ttft_ms: invalid value 0")
    says(message { critical = {} }, "expected one of ttft_ms, itl_ms and e2e_ms")
    says(message { { ttft_ms = 5 } }, "names of SLO classes")
    says(message(5), "slo_targets: invalid value 5")
  end)
end)

describe("a window of a run", function()
  it("has the figures of the requests that arrived in it #slow", function()
    local result = blis.run(busy())
    local window = result:window(1000000, 5000000)
    local inside = records_of(result, function(record)
      return record.arrival_us >= 1000000 and record.arrival_us < 5000000
    end)
    assert.equal(#inside, window.arrived)
    near(mean(inside, "ttft_us") / 1000, window.ttft_ms.mean, "TTFT")
    near(mean(inside, "e2e_us") / 1000, window.e2e_ms.mean, "E2E")
    near(mean(inside, "scheduling_delay_us") / 1000, window.scheduling_delay_ms.mean, "delay")
    local ended = records_of(result, function(record)
      return record.state == "completed" and record.end_us >= 1000000 and record.end_us < 5000000
    end)
    near(#ended / 4, window.requests_per_sec, "rate")
  end)

  it("over everything has the figures of the run", function()
    local result = blis.run(busy())
    local window = result:window(0)
    assert.same(result.ttft_ms, window.ttft_ms)
    assert.same(result.e2e_ms, window.e2e_ms)
    assert.equal(result.completed, window.completed)
  end)

  it("over all of time has the counts of the run", function()
    local result = blis.run(busy())
    local all = result:window(math.mininteger, math.maxinteger)
    assert.equal(300, all.completed)
    assert.same(result:window(0).e2e_ms, all.e2e_ms)
    near(300 / 2 ^ 64 * 1e6, all.requests_per_sec, "requests/s")
  end)

  it("leaves out the warm-up", function()
    local result = blis.run(busy { warm_up_us = blis.seconds(2) })
    local window = result:window(2000000)
    for _, name in ipairs { "arrived", "completed", "ttft_ms", "e2e_ms" } do
      assert.same(window[name], result.steady[name])
    end
    assert.is_true(result.steady.arrived < result.arrived)
    says(tostring(result), "after 2.0 s: TTFT")
    assert.equal(result.hash, blis.run(busy()).hash)
  end)

  --- Prefixes that are in no cache at first.
  local function cold(changes)
    local spec = { cluster = { instances = 2 }, warm_up_us = "auto",
      workload = { rate = 20, requests = 1000, prompt_tokens = 200, output_tokens = 10,
        prefixes = { groups = 30, tokens = 6000 } } }
    for key, value in pairs(changes or {}) do spec[key] = value end
    return spec
  end

  it("finds out how long the warm-up takes", function()
    local result = blis.run(cold())
    local from_us = result.steady.from_us
    assert.is_true(result.steady.is_settled)
    assert.is_true(from_us > 1e6 and from_us < 25e6, from_us)
    assert.is_true(result.steady.ttft_ms.p99 < 0.6 * result.ttft_ms.p99)
    assert.same(result:window(from_us).e2e_ms, result.steady.e2e_ms)
    assert.same(result.steady, blis.run(cold()).steady)
    local overload = blis.run(cold { workload = { rate = 1000, requests = 400,
      prompt_tokens = 2000, output_tokens = 10 } })
    assert.is_false(overload.steady.is_settled)
    assert.near(200, overload.steady.arrived, 5)
    says(overload.setup.notes,
      "TTFT does not converge, so only the second half of the run is used")
    local short = blis.run(cold { workload = { rate = 1, requests = 3 } })
    assert.same({ 0, false }, { short.steady.from_us, short.steady.is_settled })
    assert.equal(3, short.steady.completed)
    says(short.setup.notes, "no request is excluded, because too few requests got a first token")
    says(small.message_of(blis.run, cold { warm_up_us = "soon" }), "warm_up_us: invalid value "
      .. "'soon': expected a duration of at least 1us such as \"30s\", or a whole number of "
      .. "microseconds (as blis.seconds(n) returns), or 'auto'")
    says(small.message_of(blis.run, cold { keep_records = false }),
      "warm_up_us needs records, and keep_records is false")
  end)

  it("may be empty, but not end before it begins", function()
    local result = blis.run(busy { warm_up_us = blis.seconds(1000) })
    assert.equal(0, result.steady.arrived)
    says(tostring(result), "after 1,000.0 s: none")
    says(small.message_of(result.window, result, 5, 5), "the first one earlier")
  end)
end)

describe("figures over time", function()
  it("are taken in intervals and change nothing #slow", function()
    local plain = blis.run(busy())
    local result = blis.run(busy { series_interval_us = 250000 })
    assert.equal(plain.hash, result.hash)
    assert.equal(plain.duration_us, result.duration_us)
    local series = result.series
    assert.equal(#series.t_us, series.rows)
    -- Until no request is on its way; the last answer is out a little after its last step.
    local last_row_us = series.t_us[series.rows]
    assert.is_true(last_row_us > result.duration_us - 20000)
    assert.is_true(last_row_us <= result.duration_us + 250000)
    assert.equal(0, series.t_us[1])
    assert.equal(0, series.completed[1])
    for name, total in pairs { arrived = 300, completed = 300, output_tokens = result.output_tokens,
      prompt_tokens = result.prompt_tokens } do
      assert.equal(total, series[name][series.rows], name)
    end
    for row, t_us in ipairs(series.t_us) do
      local ended = records_of(result, function(record) return record.end_us < t_us end)
      -- The outcome of a step is there from its beginning.
      local late = records_of(result, function(record) return record.end_us <= t_us + 100000 end)
      assert.is_true(#ended <= series.completed[row] and series.completed[row] <= #late)
      local inside = 0
      for _, instance in ipairs(series.instances) do
        inside = inside + instance.queue_depth[row] + instance.batch_size[row]
        assert.is_true(instance.batch_size[row] <= 8)
        assert.is_true(instance.kv_utilization[row] <= 1)
      end
      assert.is_true(inside <= series.arrived[row] - series.completed[row])
    end
    local sum = 0
    for _, rate in ipairs(series.requests_per_sec) do sum = sum + rate * 0.25 end
    near(300, sum, "completed")
    says(small.message_of(function() return plain.series end), "series_interval_us")
    says(small.message_of(blis.run, busy { series_interval_us = 1 }),
      "series_interval_us is 1: there are 1000000 rows by 1000000 us already")
  end)

  it("add up to the preemptions of the run", function()
    local result = blis.run(busy { series_interval_us = 1000000,
      cluster = { instances = 3, max_num_seqs = 8, kv_blocks = 120 } })
    assert.is_true(result.preemptions > 10)
    assert.equal(result.preemptions, result.series.preemptions[result.series.rows])
  end)

  it("work without records and with the other engine", function()
    local fast = blis.run(busy { series_interval_us = 100000, keep_records = false })
    local slow = blis.run(busy { series_interval_us = 100000,
      cluster = { instances = 3, max_num_seqs = 8, engine = "stepwise" } })
    assert.same(fast.series, slow.series)
  end)
end)

describe("evenness, anomalies and energy", function()
  it("are figures of a result", function()
    local result = blis.run(busy())
    local x, y = result.by_tenant.x.output_tokens, result.by_tenant.y.output_tokens
    near((x + y) ^ 2 / (2 * (x * x + y * y)), result.tenant_fairness, "Jain")
    near(math.abs(x - y) / (x + y), result.tenant_cv, "CV")
    assert.is_true(result.balance_cv < 0.01)
    near(result.cost.gpu_hours * 0.4, result.energy.kwh, "energy")
    local joules = result.energy.kwh * 3.6e6
    near(joules / result.output_tokens, result.energy.joules_per_output_token, "J")
    says(tostring(result), "J per output token")
    assert.equal(0, result.kv_thrashing_rate)
    assert.is_nil(blis.run(small.experiment()).energy.kwh)
  end)

  it("find inversions and blocked instances as go-blis does #slow", function()
    local result = blis.run(busy { profile = "go-blis", scheduler = "priority-fcfs",
      routing = function(request) return request.prompt_tokens % 8 == 0 and 2 or 1 end })
    local inversions = 0
    for j, later in ipairs(result.requests) do
      for i = 1, j - 1 do
        local earlier = result.requests[i]
        if earlier.instance == later.instance and earlier.slo_class == later.slo_class
          and earlier.e2e_us > 2 * later.e2e_us then
          inversions = inversions + 1
        end
      end
    end
    assert.is_true(inversions > 0)
    assert.equal(inversions, result.priority_inversions)
    assert.equal(1, result.hol_blocking_events)
  end)

  it("find inversions among the parts of requests that were handed off, as go-blis does", function()
    local result = blis.run { profile = "go-blis", scheduler = "priority-fcfs",
      cluster = { prefill_instances = 1, decode_instances = 1 },
      disaggregation = { decider = "always" },
      workload = { rate = 60, requests = 80,
        prompt = { "exponential", mean = 600, min = 20, max = 4000 },
        output = { "exponential", mean = 20, min = 2, max = 60 } } }
    local inversions = { prefill = 0, decode = 0 }
    for j, later in ipairs(result.requests) do
      for i = 1, j - 1 do
        local earlier = result.requests[i]
        for part, count in pairs(inversions) do
          local key = part .. "_e2e_us"
          if earlier[key] > 2 * later[key] then inversions[part] = count + 1 end
        end
      end
    end
    assert.is_true(inversions.prefill > 0 and inversions.decode > 0)
    assert.equal(inversions.prefill + inversions.decode, result.priority_inversions)
  end)
end)

describe("detectors", function()
  --- Batch requests and some critical ones at more than one instance can serve.
  local function mixed(options)
    local spec = {
      cluster = { instances = 2, max_num_seqs = 4 },
      workload = {
        aggregate_rate = 40, num_requests = 300,
        clients = {
          { id = "b", slo_class = "batch", rate_fraction = 0.8, arrival = { process = "poisson" },
            input_distribution = { "constant", value = 200 },
            output_distribution = { "constant", value = 40 } },
          { id = "c", slo_class = "critical", rate_fraction = 0.2,
            arrival = { process = "poisson" },
            input_distribution = { "constant", value = 200 },
            output_distribution = { "constant", value = 40 } },
        },
      },
    }
    for key, value in pairs(options or {}) do spec[key] = value end
    return blis.run(spec)
  end

  local function left_us(record) return record.arrival_us + record.scheduling_delay_us end

  --- By the definitions, with a look at every pair.
  local function counted(result)
    local inversions, blocked = 0, 0
    for _, a in ipairs(result.requests) do
      local is_blocked = false
      for _, b in ipairs(result.requests) do
        if a.instance == b.instance and a.priority > b.priority then
          if a.arrival_us < left_us(b) and left_us(b) < left_us(a) then
            inversions = inversions + 1
          end
          is_blocked = is_blocked or a.arrival_us < b.end_us and b.end_us < left_us(a)
        end
      end
      blocked = blocked + (is_blocked and 1 or 0)
    end
    return inversions, blocked
  end

  it("count priority inversions and blocked requests as the plan defines them", function()
    local result = mixed()
    local inversions, blocked = counted(result)
    assert.is_true(inversions > 100 and blocked > 10)
    assert.same({ inversions, blocked },
      { result.priority_inversions, result.hol_blocking_events })
    says(tostring(result), "priority inversions: a less urgent request")
    local ordered = mixed { scheduler = "priority-fcfs" }
    assert.same({ counted(ordered) },
      { ordered.priority_inversions, ordered.hol_blocking_events })
    assert.is_true(ordered.priority_inversions < inversions / 100)
  end)

  it("count nothing where all are equally urgent, or nobody waits", function()
    local result = mixed { priority = "constant" }
    assert.same({ 0, 0 }, { result.priority_inversions, result.hol_blocking_events })
    local idle = blis.run { cluster = { instances = 16 }, workload = { rate = 1, requests = 100 } }
    assert.same({ 0, 0 }, { idle.priority_inversions, idle.hol_blocking_events })
    assert.is_nil(tostring(idle):find("look at ", 1, true))
  end)

  it("are those of the saved result, too", function()
    local result, path = mixed(), os.tmpname()
    result:save(path)
    local loaded = blis.load_result(path)
    os.remove(path)
    assert.equal(result.priority_inversions, loaded.priority_inversions)
    assert.equal(tostring(result), tostring(loaded))
  end)

  it("call immediate reloads from the CPU tier thrashing", function()
    local function run(groups)
      return blis.run {
        cluster = { instances = 1, kv_blocks = 200, kv_cpu_blocks = 400 },
        workload = { rate = 3, requests = 100, prompt_tokens = 16, output_tokens = 8,
          prefixes = groups and { groups = groups, tokens = 1024 } },
      }
    end
    assert.equal(0, run().kv_thrashing_rate)
    local r = run(5)
    assert.is_true(r.kv_thrashing_rate > 0.5)
    local saved, reloaded, all = 0, 0, 0
    for _, instance in ipairs(r.instances) do
      saved, reloaded = saved + instance.cpu_saved, reloaded + instance.cpu_immediate_reloads
      all = all + instance.cpu_reloads
    end
    assert.is_true(reloaded <= all)
    assert.equal(reloaded / saved, r.kv_thrashing_rate)
    local function is_told(result)
      for _, reason in ipairs(result.verdict.reasons) do
        if reason.code == "kv-thrashing" then return true end
      end
      return false
    end
    assert.equal(saved >= 100, is_told(r))
    assert.is_false(is_told(run()))
  end)
end)

describe("what to look at", function()
  local function told(spec) return tostring(blis.run(spec)) end

  it("are scores that are clamped, and instances without work", function()
    local text = told {
      cluster = { instances = 4 }, workload = { rate = 20, requests = 200 },
      routing = { "weighted", scorers = { { blis.scorer { name = "mine",
        score = function(_, instance) return -instance.queue_depth - instance.batch_size end },
        1 } } },
    }
    says(text, "note: scorer mine: ")
    says(text, "scores were outside 0 to 1")
    says(text, "3 of 4 instances received no request")
  end)

  it("is overload", function()
    local heavy = { cluster = { instances = 1 }, workload = { rate = 100, requests = 2000,
      prompt_tokens = 500, output_tokens = 100 } }
    says(told(heavy), "verdict     invalid: overload\n  overload: the queue grew by")
    heavy.workload.rate = 2
    assert.is_nil(told(heavy):find("overload", 1, true))
  end)

  it("is a class that starves", function()
    local i = 0
    says(told {
      cluster = { instances = 1 },
      admission = function(request)
        return request.slo_class == "batch" and blis.reject "batch" or blis.admit()
      end,
      workload = function()
        i = i + 1
        return i <= 60 and { arrival_us = i * 100000, prompt_tokens = 100, output_tokens = 5,
          slo_class = i % 2 == 0 and "batch" or "critical" } or nil
      end,
    }, "class batch starves: 0.0 % of its requests completed, compared with 100.0 % of the")
  end)

  it("is oscillation", function()
    local n = 0
    local function herd(_, instances)
      n = n + 1
      return n // 16 % #instances + 1
    end
    local spec = { cluster = { instances = 4 }, workload = { rate = 20, requests = 640 },
      routing = herd }
    says(told(spec), "herding: of 16 consecutive requests")
    spec.routing = "round-robin"
    assert.is_nil(told(spec):find("herding", 1, true))
    -- Who is rejected goes nowhere, and with pools all are decoded by the only one that does.
    spec.admission = function(request) return tonumber(request.id:match "%d+") % 20 == 0 end
    assert.is_nil(told(spec):find("herding", 1, true))
    assert.is_nil(told({ cluster = { prefill_instances = 1, decode_instances = 1 },
      workload = { rate = 5, requests = 100 } }):find("herding", 1, true))
  end)

  it("names every policy that took part", function()
    says(told { cluster = { instances = 1 }, workload = { rate = 1, requests = 3 },
      scheduler = "sjf", preemption = "priority", priority = "slo-based",
      admission = "token-bucket" },
      "admission token-bucket; scheduler sjf; preemption priority; priority by slo-based")
  end)
end)

describe("the summary of a result", function()
  it("has a line for every figure that names one", function()
    local lines = {}
    for _, class in ipairs(figures.classes) do
      for _, figure in ipairs(class.figures) do
        if (figure.shown or "") ~= "" then
          local line = assert(figure.shown:match "^(.-): ", figure.name .. ": " .. figure.shown)
          assert.equal(class.name, report.class_of_line[line], figure.name .. " on " .. line)
          lines[line] = true
        end
      end
    end
    -- And each of them is printed.
    local text = tostring(blis.run { queue = {}, slo_targets = { default = { ttft_ms = 1000 } },
      cluster = { instances = 2, kv_blocks = 200, kv_cpu_blocks = 400, gpu_watts = 700,
        cache_signal_delay_us = 1000000, max_num_batched_tokens = 16384 },
      workload = { rate = 3, requests = 100, prompt_tokens = 16, output_tokens = 8,
        prefixes = { groups = 5, tokens = 1024 } },
      routing = { "weighted", scorers = { { "prefix-affinity", 1 } } } })
      .. tostring(blis.run { cluster = { prefill_instances = 1, decode_instances = 1,
        latency_model = "calibrated" },
        workload = { rate = 200, requests = 300, prompt_tokens = 64, output_tokens = 300 } })
      .. tostring(blis.run { cluster = { instances = 1, gpu_price_per_hour = 3,
        spot = { notice = 1000, steps = { { at = 0, available = 1 } } } } })
      .. tostring(blis.run { kv_tiers = { { name = "cpu", gb = 1, read_gb_s = 1 } },
        cluster = { lora = { adapters = { "a" }, rank = 8, slots = 1 } },
        workload = { graphs = { { adapter = "a", { prompt_tokens = 10, output_tokens = 5 } } } } })
    text = text .. tostring(blis.run { workload = { requests = 20 },
      cluster = { speculation = { method = "ngram", acceptance = 0.7 },
        ranks = { count = 2, barrier = true } } })
    for line in pairs(lines) do
      says(text, "\n  " .. line .. " ")
    end
  end)

  it("tells what a run costs where a price is known", function()
    local function cost_of(price)
      local result = blis.run(busy { cluster = { gpu_price_per_hour = price } })
      local line = tostring(result):match "\n  cost +([^\n]*)\n"
      return line, result.cost
    end
    local line, cost = cost_of(2.5)
    near(2.5 * cost.gpu_hours, cost.usd, "USD")
    assert.equal(("%.3f GPU-hours, %.1f %% of them without requests, %.3f USD, %.3f USD per "
      .. "million output tokens"):format(cost.gpu_hours, 100 * cost.idle_share, cost.usd,
      cost.usd_per_million_output_tokens), line)
    line, cost = cost_of(0)
    assert.equal(("%.3f GPU-hours, %.1f %% of them without requests"):format(cost.gpu_hours,
      100 * cost.idle_share), line)
  end)
end)

describe("fitness of a result", function()
  it("is a weighted sum, or what a function says", function()
    local result = blis.run(busy())
    local ttft = 1 / (1 + result.ttft_ms.p99)
    near(2 * ttft, result:fitness("p99_ttft:2"), "text")
    near(2 * ttft, result:fitness { p99_ttft = 2 }, "table")
    assert.equal(-result.e2e_ms.max, result:fitness(function(r) return -r.e2e_ms.max end))
    says(small.message_of(result.fitness, result, { p9_ttft = 1 }), "unknown key 'p9_ttft'")
    says(small.message_of(result.fitness, result, { p99_ttft = -1 }), "weight of p99_ttft: invalid "
      .. "value -1")
    says(small.message_of(result.fitness, result, function() return 0 / 0 end), "expected a number")
    says(small.message_of(result.fitness, result, 5), "expected weights or a function")
  end)
end)
