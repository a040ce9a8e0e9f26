-- Command lines of Dynamo, SMG and the vLLM router as experiments.
local blis = require "blis"
local files = require "spec.support.files"
local import = require "blis.production.import"

local function read(text, options)
  local found
  files.with(text, function(path) found = import.read(path, options) end)
  return found
end

local function routing_of(text, options)
  local experiment = load(read(text, options).lua)("policy")
  experiment.workload.requests = 20
  assert.equal(20, blis.run(experiment).completed)
  return experiment.routing, experiment
end

local function fails(text, part, options)
  local ok, problem = pcall(read, text, options)
  assert.is_false(ok, "expected an error: " .. part)
  assert.matches(part, problem.message, 1, true)
end

describe("a command line of Dynamo", function()
  it("has the defaults of its router", function()
    assert.equal("round-robin", (routing_of "python -m dynamo.frontend"))
    assert.same({ "dynamo.kv" }, (routing_of "dynamo --router-mode kv"))
    assert.equal("load_only", (routing_of "dynamo --router-mode=least-loaded"))
  end)

  it("gives parameters, over several lines and with comments", function()
    local routing = routing_of [[
# of the cluster in the basement
python -m dynamo.frontend --router-mode kv \
  --router-temperature 0.25 --router-kv-overlap-score-credit=2.5 \
  --no-router-track-prefill-tokens --router-prefill-load-scale '3'
]]
    assert.same({ "dynamo.kv", router_temperature = 0.25, overlap_score_credit = 2.5,
      router_track_prefill_tokens = false, prefill_load_scale = 3 }, routing)
  end)

  it("takes the environment where no flag says otherwise", function()
    local line = "DYN_ROUTER_MODE=kv DYN_ROUTER_TEMPERATURE=0.5 dynamo %s"
    assert.equal(0.5, routing_of(line:format "").router_temperature)
    assert.is_nil(routing_of(line:format "--router-temperature 0").router_temperature)
  end)

  it("has the deprecated weight win over the new flags", function()
    local line = "dynamo --router-mode kv --router-prefill-load-scale 9 "
      .. "--router-kv-overlap-score-weight "
    assert.same({ "dynamo.kv", prefill_load_scale = 2 }, (routing_of(line .. "2")))
    assert.same({ "dynamo.kv", prefill_load_scale = 0, overlap_score_credit = 0 },
      (routing_of(line .. "0")))
  end)

  it("stops at what changes routing and is not simulated", function()
    for _, flags in ipairs { "--no-router-kv-events", "--router-queue-threshold 16",
      "--router-assume-kv-reuse=false", "--router-predicted-ttl-secs 5" } do
      local text = "dynamo --router-mode kv " .. flags
      fails(text, (flags:match "^%-%-[%w-]+":gsub("^%-%-no%-", "--")))
      assert.same({ "dynamo.kv" }, (routing_of(text, { allow_missing = true })))
    end
    assert.same({ "dynamo.kv" }, (routing_of "dynamo --router-mode kv --router-kv-events"))
  end)

  it("names what is wrong", function()
    fails("dynamo --router-mod kv", ":1: unknown flag '--router-mod' of dynamo; did you mean "
      .. "'--router-mode'?")
    fails("dynamo\n--router-mode kvv", ":2: --router-mode: invalid value 'kvv'")
    fails("dynamo --router-mode kv --router-temperature hot", "expected a number")
    fails("dynamo --router-mode", "--router-mode: missing value")
    fails("dynamo --router-mode kv --router-kv-overlap-score-credit=-1", "at least 0")
  end)
end)

describe("a command line of SMG", function()
  it("has its policies with their parameters", function()
    assert.same({ "smg.cache_aware", gate = "mean" }, (routing_of "smg"))
    assert.same({ "smg.cache_aware", gate = "mean", balance_abs_threshold = 32,
      cache_threshold = 0.5 },
      (routing_of "smg --spill-abs-threshold 32 --cache-match-threshold 0.5"))
    assert.same({ "smg.least_load", default_throughput = 1500 },
      (routing_of "smg --policy least_load --least-load-default-throughput 1500"))
    assert.same({ "smg.manual", assignment_mode = "min_load", max_idle_us = 60000000 },
      (routing_of "smg --policy manual --assignment-mode min_load --sticky-key-idle-secs 60"))
    assert.equal("smg.power_of_two", (routing_of "smg --policy power_of_two"))
    fails("smg --policy prefix_hash", "--prefix-hash-balance-abs-threshold")
    assert.same({ "smg.prefix_hash" },
      (routing_of "smg --policy prefix_hash --prefix-hash-balance-abs-threshold 0"))
  end)

  it("has its permits as a queue", function()
    local _, experiment = routing_of "smg --max-concurrent-requests 40 --queue-size 7"
    assert.same({ "concurrency", max_concurrency = 10 }, experiment.queue.saturation)
    assert.equal(7, experiment.queue.max_requests)
    assert.equal(60000000, experiment.queue.ttl_us)
  end)

  it("has prefill/decode disaggregation", function()
    local routing, experiment = routing_of("smg --pd-disaggregation --policy round_robin "
      .. "--prefill-policy cache_aware")
    assert.equal("round-robin", routing)
    assert.same({ "smg.cache_aware", gate = "mean" }, experiment.disaggregation.prefill_routing)
  end)

  it("stops at what changes routing and is not simulated", function()
    fails("smg --worker-overload-protection", "--worker-overload-protection")
    fails("smg --policy manual --assignment-mode min_group", "min_group is not simulated")
    fails("smg --selection-temperature 0.5", "the largest overlap always wins here")
    routing_of "smg --selection-temperature 0"
  end)
end)

describe("a command line of the vLLM router", function()
  it("has its policies", function()
    for _, name in ipairs { "kv_aware", "ttft_aware", "smetric", "least_conn_sticky",
      "rendezvous_hash" } do
      assert.equal("vllm-router." .. name, (routing_of("vllm-router --policy " .. name)))
    end
    assert.same({ "smg.cache_aware" }, (routing_of "vllm-router"))
    assert.equal("smg.consistent_hashing", (routing_of "vllm-router --policy consistent_hash"))
    fails("vllm-router --policy smetri", "did you mean 'smetric'?")
  end)
end)
