-- Flags of the gateway's queue, alone and over what a policy bundle says of it.
local commands = require "spec.support.commands"
local companions = require "blis.feature.queue.companions"
local core = require "blis.core"
local files = require "spec.support.files"

local traffic = { "--format", "json", "--num-requests", "60", "--rate", "200", "--seed", "3" }

local function arguments(...)
  local all = table.move(traffic, 1, #traffic, 1, {})
  return table.unpack(table.move({ ... }, 1, select("#", ...), #all + 1, all))
end

local function run(...)
  return core.json_read(commands.output_of("run", arguments("--flow-control", ...)))
end

local function run_with(text, ...)
  local got
  local more = { ... }
  files.with(text, function(path)
    got = core.json_read(commands.output_of("run", arguments("--policy-config", path,
      table.unpack(more))))
  end)
  return got
end

local function fails(expected, ...)
  local _, message = commands.error_of("run", arguments("--flow-control", ...))
  assert.is_truthy(message:find(expected, 1, true), message)
end

describe("flags of the gateway's queue", function()
  it("give parameters of detectors and usage limits", function()
    local by_flag = run("--saturation-detector", "concurrency", "--max-concurrency", "3")
    assert.is_true(by_flag.queue.peak > 10)
    assert.equal(by_flag.hash, run("--saturation-detector", "concurrency",
      "--saturation-parameter", "max_concurrency=3").hash)
    assert.equal(by_flag.hash, run("--saturation-detector", "concurrency", "--max-concurrency", "3",
      "--saturation-parameter", "mode=requests").hash)
    assert.not_equal(by_flag.hash, run("--saturation-detector", "concurrency", "--max-concurrency",
      "3", "--usage-limit-parameter", "ceiling=0.5").hash)
    assert.equal(run("--usage-limit-threshold", "0.4").hash,
      run("--usage-limit", "linear", "--usage-limit-parameter", "threshold=0.4").hash)
    fails("unknown option 'headroom'", "--saturation-parameter", "headroom=3")
    fails("--usage-limit-parameter: invalid value '3': expected NAME=VALUE",
      "--usage-limit-parameter", "3")
  end)

  it("give room in requests and bytes, of bands too", function()
    assert.equal(60, run("--max-gateway-queue-bytes", "4").queue.rejected)
    assert.equal(60, run("--per-band-bytes", "4").queue.rejected)
    assert.equal(60, run("--queue-bands", "3=5:4,0=5,-1=1").queue.rejected)
    assert.equal(0, run("--queue-bands", "3=0:0 , 0 = 0:0").queue.rejected)
    for _, text in ipairs { "4", "x=1", "4=", "4=1:", "4=-1", "4=1:x", "", "4=1,", "4=1.5" } do
      if text ~= "" then
        fails(": expected PRIORITY=REQUESTS or PRIORITY=REQUESTS:BYTES",
          "--queue-bands", text)
      end
    end
    fails("--queue-bands: 4 is given twice", "--queue-bands", "4=1,4=2")
    fails("--slo-targets: critical is given twice", "--dispatch-order", "slo-deadline",
      "--slo-targets", "critical=5,batch=5,critical=6")
  end)

  it("say what least-service goes by", function()
    local queue = run("--fairness-policy", "least-service", "--service-half-life", "5m",
      "--service-weight", "1", "--wait-weight", "0").queue
    assert.equal(60, queue.enqueued)
    fails("--service-half-life has no effect without", "--service-half-life", "5m")
  end)

  it("win over a bundle, whatever it says with them", function()
    local bundle = "queue: {saturation: {policy: concurrency, params: {max_concurrency: 64}}}"
    local wanted = run("--saturation-detector", "concurrency", "--max-concurrency", "3").hash
    assert.equal(wanted, run_with(bundle, "--max-concurrency", "3").hash)
    assert.not_equal(wanted, run_with(bundle).hash)
    assert.equal(wanted, run_with("queue: {saturation: concurrency, max_concurrency: 64}",
      "--max-concurrency", "3").hash)
    assert.equal(wanted, run_with(bundle, "--saturation-parameter", "max_concurrency=3").hash)
    local usual = run().hash
    assert.equal(usual, run_with(bundle, "--saturation-detector", "utilization").hash)
    assert.equal(usual, run_with("queue: {saturation: concurrency, max_concurrency: 64}",
      "--saturation-detector", "utilization").hash)
  end)

  it("take away from a bundle what counts only beside what they replace", function()
    local overlay = companions.overlay
    assert.same({ fairness = "round-robin" },
      overlay({ fairness = "least-service", wait_weight = 1, service_half_life_s = 3 },
        { fairness = "round-robin" }))
    assert.same({ dispatch = "event" }, overlay({ cycle_us = 5 }, { dispatch = "event" }))
    assert.same({ cycle_us = 5, dispatch = "event" },
      overlay({}, { cycle_us = 5, dispatch = "event" })) -- whose own mistake is told later
    assert.same({ max_requests = 0 },
      overlay({ sheds = true, max_requests = 9 }, { max_requests = 0 }))
    assert.same({ usage_limit_threshold = 0.5 },
      overlay({ usage_limit = { "priority-holdback", min_ceiling = 0.1 } },
        { usage_limit_threshold = 0.5 }))
    assert.same({ usage_limit = "static" },
      overlay({ usage_limit_threshold = 0.5 }, { usage_limit = "static" }))
    assert.same({ usage_limit = "linear", usage_limit_threshold = 0.5 },
      overlay({ usage_limit = "linear" }, { usage_limit_threshold = 0.5 }))
    assert.same({ saturation = { "concurrency-detector", mode = "tokens", max_concurrency = 2 } },
      overlay({ saturation = { "concurrency-detector", mode = "tokens" } },
        { max_concurrency = 2 }))
  end)

  it("leave a bundle as it was read", function()
    local base = { saturation = { "concurrency", max_concurrency = 64 } }
    companions.overlay(base, { max_concurrency = 3 })
    assert.same({ saturation = { "concurrency", max_concurrency = 64 } }, base)
  end)
end)
