-- Scaling and faults by flags, policy bundles and scripts, each command in a process of its own.
local core = require "blis.core"
local files = require "spec.support.files"
local program = require "spec.support.program"

local traffic = "--rate 30 --num-requests 600 --prompt-tokens 400 --output-tokens 150 "

--- What `blis run` with these flags prints as JSON.
local function run(flags)
  local outcome = program.shell('"$BLIS" run --format json ' .. traffic .. flags)
  assert.equal("", (outcome.err:gsub("blis: note: faults[^\n]*\n", "")))
  assert.equal(0, outcome.status)
  return core.json_read(outcome.out)
end

local function fails(line, status, ...)
  local outcome = program.shell('"$BLIS" ' .. line)
  assert.equal(status, outcome.status, outcome.err)
  assert.equal("", outcome.out)
  for _, words in ipairs { ... } do
    assert.truthy(outcome.err:find(words, 1, true), outcome.err)
  end
end

local bundle = [[
priority:
  type: "slo-based"
  params: {realtime_score: 100, batch_score: 10, default_score: 50}
routing:
  type: "weighted-scoring"
  params: {cache_affinity_weight: 0.6, load_balance_weight: 0.3}
autoscale:
  type: "threshold"
  params:
    scale_up_threshold: 0.2    # utilization
    scale_down_threshold: 0.01
    cooldown_seconds: 5
scaling:
  max_replicas: 4
  loading_delay_us: 2000000
faults:
  - {kind: crash, at: 12000000, instance: 1, recover_after: 4000000, requests: rerouted}
]]

describe("scaling by the program #host", function()
  it("takes the flags of the plan, with units", function()
    local r = run("--autoscaler-enabled --autoscaler-max 8 --provisioning-delay 3s "
      .. "--warmup-duration 500ms --autoscaler-parameter scale_up_threshold=0.1 "
      .. "--autoscaler-parameter scale_down_threshold=0.01 "
      .. "--replica-price-per-hour 36")
    local s = r.scaling
    assert.equal("threshold", s.policy)
    assert.is_true(s.scale_ups > 0 and s.started == s.scale_ups)
    assert.equal(3.0 * s.started, s.state_seconds.provisioning)
    assert.equal(0.5 * s.started, s.state_seconds.warming)
    assert.near(s.replica_seconds / 100, r.cost.usd, 1e-9)
    assert.equal(s.scale_ups + s.scale_downs, #s.events)
    assert.matches("mean KV utilization of", s.events[1].reason, 1, true)
    assert.equal(1, s.levels[1].ready)
    assert.is_true(s.phases.under_provisioned.seconds > 3)
  end)

  it("is triggered by flags", function()
    local r = run("--autoscaler queue-depth --autoscaler-parameter up=2 "
      .. "--autoscaler-parameter cooldown_seconds=1 --max-num-seqs 16 "
      .. "--autoscaler-trigger-queue-depth 4")
    assert.is_true(r.scaling.triggered > 0)
    assert.equal("queue-depth", r.scaling.events[1].trigger)
    assert.is_true(r.scaling.events[1].time_us < 10000000)
  end)

  it("has figures over time, and every look in the trace of decisions", function()
    files.with("", function(path)
      local r = run("--autoscaler threshold --slo-ttft default=200ms --series-interval 5s "
        .. "--series-path " .. path)
      local header = files.read(path):match "[^\n]*"
      for column in ("replicas wanted_replicas paid_replicas judged good"):gmatch "%S+" do
        assert.truthy(("," .. header .. ","):find("," .. column .. ",", 1, true), column)
      end
      assert.equal(r.goodput.good, r.series[#r.series].good)
    end, ".csv")
    files.with("", function(path)
      local r = run("--autoscaler threshold --trace-level decisions --decisions-path " .. path)
      local looks = 0
      for line in io.lines(path) do
        local decision = core.json_read(line)
        if decision.kind == "scaling" then
          looks = looks + 1
          assert.equal(10000000 * looks, decision.time_us)
          assert.is_number(decision.facts.to)
        end
      end
      assert.equal(r.scaling.checks, looks)
    end, ".jsonl")
  end)

  it("takes what a policy bundle says, in the words of the plan, and its faults", function()
    files.with(bundle, function(path)
      local r = run("--defaults 1.0-rc1 --policy-config " .. path)
      assert.equal("threshold", r.scaling.policy)
      assert.is_true(r.scaling.scale_ups > 0 and r.scaling.most_paid <= 4)
      assert.equal(2.0 * r.scaling.started, r.scaling.state_seconds.loading)
      assert.equal("crash", r.faults[1].kind)
      assert.equal(600, r.completed)
      local slower = run("--defaults 1.0-rc1 --loading-delay 3s --policy-config "
        .. path) -- flags go first
      assert.equal(3.0 * slower.scaling.started, slower.scaling.state_seconds.loading)
    end)
  end)

  it("compares and searches under a bundle's faults", function()
    files.with(bundle, function(path)
      local common = " --quiet --replications 1 --policy-config " .. path
      local compared = program.shell('"$BLIS" compare ' .. traffic
        .. "--policies round-robin,least-loaded" .. common)
      assert.equal(0, compared.status, compared.err)
      assert.matches("least%-loaded.-600%s+600", compared.out)
      local searched = program.shell('"$BLIS" capacity --prompt-tokens 400 --output-tokens 150 '
        .. "--target ttft_ms.p90=1e6 --from 20 --to 20 --max-requests 300" .. common)
      assert.equal(0, searched.status, searched.err)
      assert.matches("20", searched.out, 1, true)
    end)
  end)

  it("plays a day of traffic", function()
    local outcome = program.shell('"$BLIS" run --format json --workload diurnal --rate 2 '
      .. "--shape diurnal:period=10m,peak_to_trough=4 --autoscaler hpa")
    assert.equal(0, outcome.status, outcome.err)
    local r = core.json_read(outcome.out)
    assert.is_true(math.abs(r.arrived - 1200) < 180)
  end)

  it("has a shape and phases of flags or of a bundle", function()
    local flags = run("--shape ramp:from=0.5,to=2,duration=10s --phases low=0,high=10s")
    files.with("shape: {kind: ramp, from: 0.5, to: 2, duration_us: 10000000}\n"
      .. "phases:\n  - name: low\n  - {name: high, from_us: 10000000}\n", function(path)
      local bundled = run("--policy-config " .. path)
      assert.equal(flags.hash, bundled.hash)
      assert.same(flags.phases, bundled.phases)
      local first = run("--shape ramp:from=0.5,to=4,duration=10s --phases all=0 --policy-config "
        .. path) -- flags go before it
      assert.equal("all", first.phases[1].name)
      assert.is_true(first.hash ~= bundled.hash)
    end)
    assert.equal("high", flags.phases[2].name)
    assert.is_true(flags.phases[2].requests_per_sec > flags.phases[1].requests_per_sec)
  end)

  it("does what docs/autoscaling.md writes", function()
    local text = files.read "docs/autoscaling.md"
    local line = text:match "\nblis (run .-)\n```"
    local outcome = program.shell('"$BLIS" ' .. line)
    assert.equal(0, outcome.status, outcome.err)
    assert.matches("under-provisioned", outcome.out, 1, true)
    local yaml = text:match "\n    autoscale: .-\n\n":gsub("\n    ", "\n")
    files.with(yaml, function(path)
      local r = run("--num-instances 2 --policy-config " .. path)
      assert.equal("threshold", r.scaling.policy)
      assert.equal("crash", run("--num-instances 2 --rate 4 --policy-config " .. path)
        .faults[1].kind)
    end)
    local snippet = text:match "\n    (autoscaler = blis.autoscaler .-)\n\n"
    files.with('local blis = require "blis" local ' .. snippet
      .. " print(blis.run { autoscaler = autoscaler, workload = { rate = 30, requests = 900 } })",
      function(path)
        local printed = program.run(path)
        assert.equal(0, printed.status, printed.err)
        assert.matches("by mine", printed.out, 1, true)
      end)
    assert.matches("samples", program.run("help", "ScaleContext").out, 1, true)
  end)

  it("says what is wrong", function()
    fails("run --autoscaler hpe", 2, "unknown autoscaler 'hpe'", "did you mean 'hpa'")
    fails("run --autoscaler hpa --provisioning-delay soon", 2,
      "--provisioning-delay: invalid value 'soon'",
      "30s")
    fails("run --autoscaler-max 3", 2, "--autoscaler-max has no effect without --autoscaler")
    fails("run --provisioning-delay 30s", 2,
      "--provisioning-delay has no effect without --autoscaler")
    fails("run --autoscaler-parameter target=0.5", 2,
      "--autoscaler-parameter requires --autoscaler")
    fails("run --phases night", 2, "--phases: invalid value 'night': expected NAME=TIME")
    fails("run --phases a=5s,b=3s", 2, "phases[2]: 'b' begins at 3000000 us")
    fails("run --shape diurnal:period=0", 2, "--shape.period_us: invalid value 0")
    fails("run --shape diurnal:peak_to_trough=0.5", 2, "--shape.peak_to_trough: invalid value 0.5")
    fails("run --concurrency 4 --num-requests 10 --shape diurnal", 2,
      "a shape (--shape) cannot be combined with --concurrency")
    files.with("autoscale: {params: {target: 0.5}}", function(path)
      fails("run --policy-config " .. path, 1, path .. ":1: autoscale.type is missing")
      fails("run --autoscaler hpa --policy-config " .. path, 1, "autoscale.type is missing")
    end)
    files.with("faults: [{kind: crash, at: 6 parsecs, instance: 1}]", function(path)
      fails("run --policy-config " .. path, 1,
        path .. ":1: faults[1].at: invalid value '6 parsecs'",
        "expected a duration such as \"30s\"")
    end)
    files.with("phases: [{name: a}, {name: b}]", function(path)
      fails("run --policy-config " .. path, 1, path .. ":1:", "phases[2]: 'b' begins at 0 us")
    end)
    files.with("shape: {kind: diurnal, period: 5}", function(path)
      fails("run --policy-config " .. path, 1, path .. ":1:", "did you mean 'period_us'")
    end)
    fails("run --autoscaler hpa --autoscaler-min 2", 2, "starts with 1 instance")
    fails("run --shape diurnal:perod=2h", 2, "--shape: unknown option 'perod'")
    files.with("autoscale: {type: threshhold}", function(path)
      fails("run --policy-config " .. path, 1, path, "unknown autoscaler 'threshhold'")
    end)
    files.with("faults: [{kind: crush, at: 1, instance: 1}]", function(path)
      fails("run --policy-config " .. path, 1, path .. ":1: faults[1].kind",
        "did you mean 'crash'")
    end)
    files.with("autoscale: {type: hpa}\nscaling: {max_replica: 3}", function(path)
      fails("run --policy-config " .. path, 1, path .. ":2:", "did you mean 'max_replicas'")
    end)
    files.with([[require("blis").run { workload = { rate = 20, requests = 300 },
      autoscaler = { "threshold" } and function() return 0 / 0 end }]], function(path)
      fails(path, 1, "it returned nan, expected a whole number of instances", "at 10000000 us")
    end)
  end)
end)
