local blis = require "blis"
local core = require "blis.core"
local expected_error = require "blis.results.expected_error"
local json = require "blis.results.json"
local measured_range = require "blis.results.measured_range"
local residuals = require "blis.engine.residuals"
local small = require "spec.support.small"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function run(cluster, workload)
  cluster.latency_model = cluster.latency_model or "composed"
  cluster.model, cluster.tp = cluster.model or llama, cluster.tp or 1
  return blis.run { cluster = cluster, workload = workload or { clients = { { id = "c",
    concurrency = 16, input_distribution = 600, output_distribution = 250 } },
    num_requests = 64 } }
end

--- Requests in a closed loop.
local function loop(prompt, output, concurrency, count)
  return { num_requests = count or 2 * concurrency, clients = { { id = "c",
    concurrency = concurrency, timeout_us = 0, input_distribution = prompt,
    output_distribution = output } } }
end

local function row_of(level, family, weights, has_experts, is_async)
  for _, row in ipairs(residuals.data().regimes) do
    if row.level == level and row.family == family and row.weights == weights
      and row.has_experts == has_experts and row.is_async == is_async then
      return row
    end
  end
end

local levels = { "model", "format", "family", "nothing" }

describe("the expected error of a run", function()
  it("is that of its regime, by the share of time in steps with prompt tokens", function()
    local result = run { hardware = "H100" }
    local error, row = result.expected_error, row_of("model", "Hopper", "bf16", false, true)
    assert.equal("model", error.level)
    assert.equal("model", error.tpot_level)
    assert.is_nil(error.tpot_note)
    assert.is_true(error.is_measured)
    assert.equal("H100, bf16, dense, asynchronous scheduling", error.regime)
    local least, most = math.min(row.tpot[2], row.tpot[4]), math.max(row.tpot[2], row.tpot[4])
    assert.is_true(error.tpot_band >= least and error.tpot_band <= most)
    local sync = run({ hardware = "H100", async_scheduling = false, tp = 2 }).expected_error
    assert.is_nil(sync.ttft)
    assert.equal("not measured in this regime", sync.ttft_reason)
  end)

  it("moves with the mix of steps", function()
    local row = row_of("model", "Hopper", "fp8", false, true)
    local function error_of(prompt, output)
      return run({ hardware = "H200", tp = 8, model = "nvidia/Llama-3.1-70B-Instruct-FP8" },
        loop(prompt, output, 8)).expected_error
    end
    assert.near(row.tpot[2], error_of(1000, 3000).tpot_band, 0.002)
    assert.near(row.tpot[4], error_of(7000, 600).tpot_band, 0.002)
    assert.equal(row.ttft[2], error_of(1000, 1000).ttft_band)
  end)

  it("has a level by what was measured", function()
    local function level(cluster) return run(cluster, loop(600, 20, 8)).expected_error.level end
    assert.equal("model", level { hardware = "H100" })
    assert.equal("format", level { hardware = "H200" })
    assert.equal("format", level { hardware = "H100", model = "openai/gpt-oss-120b", tp = 2 })
    assert.equal("format", level { hardware = "B200", model = "moonshotai/Kimi-K2.5", tp = 8 })
    assert.equal("format", level { hardware = "H100", model = "qwen/qwen2.5-7b-instruct" })
    assert.equal("family", level { hardware = "B200" })
    assert.equal("nothing", level { hardware = "MI300X" })
    assert.equal("nothing", level { hardware = "RTX PRO 6000" })
    assert.equal("nothing", level { hardware = "H100", model = "deepseek-ai/deepseek-v2-lite" })
  end)

  it("is larger where less was measured", function()
    local function band(cluster) return run(cluster).expected_error.tpot_band end
    local good = band { hardware = "H100" }
    assert.is_true(good <= band { hardware = "B200" } / 2)
    assert.is_true(good <= band { hardware = "MI300X" } / 2)
  end)

  it("leaves TTFT without bound where requests wait for KV blocks", function()
    local result = run({ hardware = "H100", kv_blocks = 70 }, { rate = 200, num_requests = 60,
      prompt_tokens = 100, output_tokens = 300 })
    assert.is_true(result.preemptions > 0)
    assert.is_nil(result.expected_error.ttft)
    assert.matches("TTFT: no bound, requests queued for KV", tostring(result), 1, true)
  end)

  it("leaves TTFT without bound where requests wait for slots", function()
    local result = run({ hardware = "H100", max_num_seqs = 16 }, loop(600, 250, 32))
    assert.equal("requests queued for sequence slots", result.expected_error.ttft_reason)
    assert.is_not_nil(result.expected_error.tpot)
    assert.is_nil(run({ hardware = "H100", max_num_seqs = 16 }).expected_error.ttft_reason)
  end)

  it("leaves TTFT without bound under overload", function()
    local result = run({ hardware = "H100", max_num_seqs = 1 }, { rate = 50, num_requests = 400,
      prompt_tokens = 200, output_tokens = 200 })
    assert.matches("^overloaded", result.expected_error.ttft_reason)
  end)

  it("has no TPOT where no request has two tokens", function()
    local error = run({ hardware = "H100" }, loop(600, 1, 8)).expected_error
    assert.is_nil(error.tpot)
    assert.equal("no request has a second token", error.tpot_reason)
  end)

  it("combines groups of instances in several regimes", function()
    local function error_of(groups)
      return blis.run { cluster = { model = llama, latency_model = "composed", groups = groups },
        workload = loop(600, 250, 40), routing = "round-robin" }.expected_error
    end
    local known = { instances = 1, hardware = "H100", tp = 1 }
    local unknown = { instances = 1, hardware = "MI300X", tp = 1 }
    local alone, both = error_of { known }, error_of { known, unknown }
    local worst = error_of { unknown }
    assert.is_true(both.tpot_band > alone.tpot_band and both.tpot_band < worst.tpot_band)
    assert.equal("nothing", both.level)
    assert.equal("nothing", both.tpot_level)
    assert.equal("H100, bf16, dense, asynchronous scheduling; MI300X, bf16, dense, asynchronous "
      .. "scheduling", both.regime)
  end)

  it("is nil with other latency models", function()
    local result = run { hardware = "H100", latency_model = "calibrated" }
    assert.is_nil(result.expected_error)
    assert.is_nil(tostring(result):match "expected error")
    assert.same({}, expected_error.lines(nil))
    assert.same({}, expected_error.extrapolations(result))
  end)

  it("is part of the text and of JSON", function()
    local result = run { hardware = "H200" }
    assert.matches("accuracy    TPOT [%d.]+ ms %(expected error %d+%%, of neighbouring "
      .. "setups; 80%% of them within %d+%%%)\n", tostring(result))
    local read = core.json_read(json.text { result = result })
    assert.equal(result.expected_error.tpot_band, read.expected_error.tpot_band)
    assert.equal("format", read.expected_error.level)
    assert.equal("neighbouring", read.expected_error.tpot_basis)
    assert.matches("TPOT [%d.]+ ms %(expected error %d+%%; 80%% of setups within %d+%%%)\n",
      tostring(run { hardware = "H100" }))
    assert.matches("TPOT [%d.]+ ms %(assumed error 15%%, not measured; 80%% of setups assumed "
      .. "within 25%%%)\n", tostring(run { hardware = "MI300X" }))
  end)

  it("decides strict_coverage", function()
    run({ hardware = "H100", strict_coverage = true }, loop(600, 250, 16))
    run { hardware = "H200", strict_coverage = true }
    local pools = { cluster = { model = llama, hardware = "H100", tp = 1, strict_coverage = true,
      prefill_instances = 1, decode_instances = 1 }, workload = loop(600, 100, 8, 24) }
    assert.matches("cluster.strict_coverage: the error of TPOT is unknown: not measured: hand-offs "
      .. "between pools", small.message_of(blis.run, pools), 1, true)
    assert.matches("cluster.strict_coverage: the error of step times is assumed: no run of this "
      .. "regime was measured (B200, bf16, dense, asynchronous scheduling)",
      small.message_of(run, { hardware = "B200", strict_coverage = true }), 1, true)
    local long = small.message_of(run, { hardware = "H100", strict_coverage = true },
      loop(60000, 4, 1))
    assert.matches("cluster.strict_coverage: the error of TPOT is unknown: 60,002 tokens of "
      .. "context at decode (measured: 689 to ", long, 1, true)
  end)
end)

--- A reason of a verdict by its code.
local function reason_of(result, code)
  for _, one in ipairs(result.verdict.reasons) do
    if one.code == code then return one.text end
  end
end

describe("the expected error beyond the measured runs", function()
  it("is unknown for long prompts, with a reason in the verdict", function()
    local result = run({ hardware = "H100" }, loop(100000, 4, 1))
    local error = result.expected_error
    assert.is_nil(error.ttft)
    assert.matches("^beyond the measured runs: prompts of 100,000 tokens %(measured: 565 to "
      .. "[%d,]+; accepted: up to [%d,]+%)$", error.ttft_reason)
    local reason = reason_of(result, "extrapolation")
    assert.matches("^no measured run is like this one: 100,002 tokens of context at decode "
      .. "%(measured: 689 to [%d,]+; accepted: up to [%d,]+%)%. The error of TPOT is unknown%.$",
      reason)
    assert.matches("prompts of 100,000 tokens %(measured: 565 to [%d,]+; accepted: up to "
      .. "[%d,]+%)%. The error of TTFT is "
      .. "unknown%.\n", (tostring(result):gsub("\n%s+", " "):gsub("unknown%.", "unknown.\n")))
    assert.matches("TTFT: no bound, beyond the measured runs", tostring(result), 1, true)
    local read = core.json_read(json.text { result = result })
    assert.is_nil(read.expected_error.ttft)
    assert.equal(error.ttft_reason, read.expected_error.ttft_reason)
    local base = os.tmpname()
    local path = base .. ".html"
    result:report(path)
    local file = assert(io.open(path))
    assert.matches("beyond the measured runs: prompts", file:read "a", 1, true)
    file:close()
    os.remove(path)
    os.remove(base)
  end)

  it("counts the tokens of long prompts, not their number", function()
    local some = { num_requests = 60, clients = {
      { id = "a", concurrency = 8, timeout_us = 0, input_distribution = { "empirical", ["500"] = 50,
        ["100000"] = 1 }, output_distribution = 250 } } }
    assert.is_nil(run({ hardware = "H100" }, some).expected_error.ttft)
    some.clients[1].input_distribution = { "empirical", ["500"] = 50, ["1000"] = 1 }
    assert.is_not_nil(run({ hardware = "H100" }, some).expected_error.ttft)
  end)

  it("is unknown for long contexts, other engines, and large steps", function()
    local function reason(cluster, workload)
      cluster.hardware = cluster.hardware or "H100"
      return run(cluster, workload).expected_error.tpot_reason or ""
    end
    assert.matches("20,600 tokens of context at decode", reason({}, loop(600, 40000, 1, 1)), 1,
      true)
    assert.matches("tokens of context at decode", reason({}, loop(60000, 20, 2)), 1, true)
    assert.matches("max_num_batched_tokens of 65,536", reason({ max_num_batched_tokens = 65536 }),
      1, true)
    assert.matches("tp 16", reason { hardware = "B200", tp = 16, model = "openai/gpt-oss-120b" }, 1,
      true)
    assert.matches("bits per KV element", reason { kv_cache_dtype = "nvfp4" }, 1, true)
    assert.matches("vLLM 0.25", reason { backend_version = "0.25.0" }, 1, true)
    assert.matches("vLLM 0.8", reason { backend_version = "0.8.5" }, 1, true)
    assert.equal("", reason { backend_version = "0.14.0" })
  end)

  it("is that of other setups where these reached further, and not smaller", function()
    local own = run({ hardware = "H100" }).expected_error
    assert.equal("family", own.ttft_level)
    assert.matches("computed prompt tokens per request (measured: ", own.ttft_note, 1, true)
    assert.matches("TTFT: error of other formats; 600 computed prompt tokens",
      tostring(run { hardware = "H100" }), 1, true)
    local row = row_of("model", "Hopper", "bf16", false, true)
    assert.is_true(own.ttft_band > row.ttft[2])
    local long = run({ hardware = "H100" }, loop(6000, 250, 16)).expected_error
    assert.is_true(long.tpot_band > own.tpot_band)
    assert.is_not_nil(long.tpot_note)
  end)

  it("is the largest error below all ranges", function()
    local low = run({ hardware = "H100" }, { rate = 0.1, num_requests = 20, prompt_tokens = 600,
      output_tokens = 20 })
    assert.equal("nothing", low.expected_error.tpot_level)
    assert.is_nil(reason_of(low, "extrapolation"))
  end)

  it("depends on a stated engine version where versions differ", function()
    local function band(version)
      return run({ hardware = "B200", model = "MiniMaxAI/MiniMax-M2.5", tp = 4,
        backend_version = version }, loop(1000, 200, 16)).expected_error.ttft_band
    end
    local row = row_of("model", "Blackwell", "fp8_block", true, true)
    assert.equal(row.versions[1].ttft[2], band "0.17.0")
    assert.equal(row.versions[2].ttft[2], band "0.19.0")
    assert.equal(row.ttft[2], band "0.18.0")
    assert.equal(row.ttft[2], band(nil))
  end)
end)

-- Setups that no measured run had. Each has the name of what is missing, and whether TPOT depends
-- on it.
describe("the expected error of unmeasured setups", function()
  local function error_of(changes, cluster)
    local spec = { cluster = { model = llama, hardware = "H100", tp = 1 },
      workload = loop(600, 100, 8, 24) }
    for key, value in pairs(changes) do spec[key] = value end
    for key, value in pairs(cluster or {}) do spec.cluster[key] = value end
    return blis.run(spec).expected_error
  end

  local function is_unknown(text, has_tpot, changes, cluster)
    local error = error_of(changes, cluster)
    assert.matches(text, error.ttft_reason, 1, true)
    assert.is_nil(error.ttft)
    if has_tpot then
      assert.is_not_nil(error.tpot)
    else
      assert.matches(text, error.tpot_reason, 1, true)
    end
  end

  it("is unknown for data and options of the user", function()
    is_unknown("a GPU with rates of the user", false, {}, { hardware = { name = "H100",
      peak_tflops = 900, bandwidth_tb_s = 3, memory_gib = 80 } })
    is_unknown("a GPU with rates of the user", false, {}, { hardware = { name = "mine",
      peak_tflops = 900, bandwidth_tb_s = 3, memory_gib = 80 } })
    is_unknown("step times without kernel tables", false, {}, { kernel_tables = false })
    is_unknown("step times with engine_scale", false, {}, { engine_scale = 1.2 })
    is_unknown("engines other than vLLM", false, {}, { backend = "sglang" })
    is_unknown("steps under a power cap", false, {}, { gpu_watts = 700, gpu_power_cap_watts = 500,
      power_cap_exponent = 0.5 })
    is_unknown("batches that change only at their end", false, {}, { batching = "boundary" })
    is_unknown("blocks from CPU memory", true, {}, { kv_cpu_blocks = 100 })
    is_unknown("data parallelism inside an instance", false, {}, { model = "qwen/qwen3-30b-a3b",
      tp = 2, dp = 2 })
  end)

  it("is unknown for features", function()
    is_unknown("hand-offs between pools", false, {}, { prefill_instances = 1,
      decode_instances = 1 })
    is_unknown("speculative decoding", false, {}, { speculation = { method = "ngram",
      tokens = 3, acceptance = 0.7 } })
    is_unknown("KV tiers", true, { kv_tiers = { { name = "cpu", gb = 10,
      read_gb_s = 20, write_gb_s = 20 } } })
    is_unknown("LoRA adapters", false, {}, { lora = { adapters = { "a" }, rank = 8, slots = 1 } })
    is_unknown("data-parallel ranks", false, {}, { ranks = 2 })
    is_unknown("waits in a gateway queue", true, { queue = { max_requests = 100 } })
    is_unknown("spot instances", true, {}, { instances = 2, spot = { notice = "1s",
      restart_time = "1s", steps = { { at = "100ms", available = 1 } } } })
    is_unknown("waits for new instances", true, { scaling = { provisioning_delay_us = 1000000 },
      autoscaler = "hpa" }, { instances = 2 })
    local small_model = "qwen/qwen2.5-7b-instruct"
    is_unknown("cascades of models", true, { cascade = { chain = { small_model, llama } } },
      { groups = { { instances = 1, model = small_model, hardware = "H100" },
        { instances = 1, model = llama, hardware = "H100" } } })
    is_unknown("failing instances", true, { faults = { { at = "100ms", kind = "crash",
      instance = 1 } } }, { instances = 2 })
  end)
end)

-- Every row whose runs have a range contains it, and rows of lower levels reach at least as far.
describe("the measured ranges of the residuals", function()
  it("are stored for every metric with residuals", function()
    for _, row in ipairs(residuals.data().regimes) do
      for _, metric in ipairs { "tpot", "ttft" } do
        local range = row[metric .. "_range"]
        assert.equal(row[metric] ~= nil, range ~= nil)
        for _, quantity in ipairs(range and measured_range.quantities or {}) do
          local pair = quantity[metric] and range[quantity.key]
          if quantity[metric] then assert.is_true(pair[1] <= pair[2]) end
        end
      end
    end
  end)

  it("accept values inside, and values near them", function()
    local range = { prompt = { 500, 8000 }, computed = { 100, 8000 }, tp = { 1, 8 },
      kv_bits = { 8, 16 } }
    local function beyond(values) return measured_range.beyond(range, "ttft", values) end
    local function outside(values) return measured_range.outside(range, "ttft", values) end
    assert.is_nil(outside { prompt = 8800, computed = 91, tp = 8, kv_bits = 8 })
    assert.equal("prompts of 8,801 tokens (measured: 500 to 8,000)",
      measured_range.text(outside { prompt = 8801 }))
    assert.equal("90 computed prompt tokens per request (measured: 100 to 8,000)",
      measured_range.text(outside { computed = 90 }))
    assert.matches("; accepted: from 50%)$", measured_range.text(beyond { computed = 49 }))
    assert.is_nil(beyond {})
    assert.is_nil(beyond { prompt = 16000, computed = 50, tp = 8, kv_bits = 8 })
    assert.equal("prompt", beyond { prompt = 16001 }.quantity.key)
    assert.is_nil(beyond { prompt = 1 })
    assert.is_true(beyond { computed = 49 }.is_below)
    assert.equal("tp", beyond { computed = 49, tp = 9 }.quantity.key)
    assert.is_false(beyond { kv_bits = 4.5 }.is_below)
    assert.is_nil(measured_range.beyond(nil, "ttft", { prompt = 1e9 }))
    assert.equal("prompts of 16,001 tokens (measured: 500 to 8,000; accepted: up to 16,000)",
      measured_range.text(beyond { prompt = 16001 }))
  end)

  it("never announce less with more tokens", function()
    local last = 0
    for _, prompt in ipairs { 600, 2000, 6000, 14000, 40000, 100000 } do
      local error = run({ hardware = "H100" }, loop(prompt, 20, 2, 2)).expected_error
      local band = error.ttft_band or math.huge
      assert.is_true(band >= last, ("%d: %s"):format(prompt, band))
      last = band
    end
    assert.equal(math.huge, last)
  end)

  it("have a row of every level", function()
    for _, level in ipairs(levels) do
      local found = false
      for _, row in ipairs(residuals.data().regimes) do found = found or row.level == level end
      assert.is_true(found, level)
    end
  end)
end)

--- Rows of tests/data/truth/left_out.csv.
local function left_out()
  local rows, names = {}, nil
  for line in io.lines "tests/data/truth/left_out.csv" do
    if not line:match "^#" then
      local row, i = {}, 0
      for cell in (line .. ","):gmatch "([^,]*)," do
        i = i + 1
        if names then row[names[i]] = cell else row[i] = cell end
      end
      if names then rows[#rows + 1] = row else names = row end
    end
  end
  return rows
end

local level_of = { part = "model", model = "family", gpu = "nothing" }

--- The errors that a result of a left-out row's regime announces, and the row's error.
local function announced(row)
  local regime = { gpu = row.gpu, weights = row.weights, has_experts = row.has_experts == "true",
    is_async = row.is_async == "true", has_usual_attention = true,
    layers = tonumber(row.layers), hidden_size = tonumber(row.hidden_size) }
  local found = residuals.of_level(regime, level_of[row.left_out])
  local half, band = residuals.tpot(found, { prefill_share = tonumber(row.prefill_share),
    tp = tonumber(row.tp) })
  return { half = half, band = band, error = math.abs(tonumber(row.tpot)) }
end

describe("expected errors of rows that the fit did not contain", function()
  local list = {}
  for _, row in ipairs(left_out()) do list[#list + 1] = announced(row) end

  it("have four fifths of the rows within the band", function()
    local within = 0
    for _, one in ipairs(list) do within = within + (one.error <= one.band and 1 or 0) end
    assert.is_true(within / #list >= 0.78, ("%d of %d"):format(within, #list))
  end)

  it("separate good setups from bad ones", function()
    table.sort(list, function(a, b) return a.half < b.half end)
    local function mean(from, to)
      local sum = 0
      for i = from, to do sum = sum + list[i].error end
      return sum / (to - from + 1)
    end
    local third = #list // 3
    local good, bad = mean(1, third), mean(#list - third + 1, #list)
    assert.is_true(good <= bad / 2, ("%.3f against %.3f"):format(good, bad))
  end)
end)

-- Every model and GPU is left out of the fit, and then of the bands: what is announced for it comes
-- from the errors of other groups alone.
describe("expected errors from other models and GPUs alone", function()
  local path = package.path
  package.path = "scripts/validation/?.lua;" .. path
  local bands = require "bands"
  package.path = path

  local groups, order = {}, {}
  for _, row in ipairs(left_out()) do
    if row.left_out == "model" then
      if not groups[row.group] then
        order[#order + 1], groups[row.group] = row.group, {}
      end
      table.insert(groups[row.group], { tpot = tonumber(row.tpot), tp = tonumber(row.tp),
        ttft = row.waits ~= "true" and tonumber(row.ttft) or nil,
        gpu = row.gpu, format = row.weights .. row.has_experts })
    end
  end

  local function family_of(gpu)
    return ((gpu == "H100" or gpu == "H200") and "Hopper") or gpu:match "^%u+"
  end

  --- "format" if another group has the format on the GPU family, "family" if another group is on
  --- the GPU family, or "nothing".
  local function level_of_group(name)
    local first, level = groups[name][1], "nothing"
    for _, other in ipairs(order) do
      local one = groups[other][1]
      if other ~= name and family_of(one.gpu) == family_of(first.gpu) then
        if one.format == first.format then return "format" end
        level = "family"
      end
    end
    return level
  end

  local assumed = { format = 0.08, family = 0.25, nothing = 0.15 }

  --- What is announced for each row, and its error.
  local function announced_of(name, metric)
    local level, others, list = level_of_group(name), {}, {}
    for _, other in ipairs(order) do
      if other ~= name and level_of_group(other) == level then
        others[#others + 1] = groups[other]
      end
    end
    local pair = bands.pair(bands.scale(others, metric, assumed[level]))
    local by_tp = level == "family" and metric == "tpot" and math.sqrt(bands.factor(others)) or 1
    for _, row in ipairs(groups[name]) do
      local factor = row.tp >= bands.many_gpus and by_tp or 1 / by_tp
      if row[metric] then list[#list + 1] = { half = pair[1] * factor, band = pair[2] * factor,
        error = math.abs(row[metric]) } end
    end
    return list
  end

  local function all_announced(metric)
    local list = {}
    for _, name in ipairs(order) do
      local some = announced_of(name, metric)
      table.move(some, 1, #some, #list + 1, list)
    end
    return list
  end

  it("have four fifths of the rows within the band", function()
    for _, metric in ipairs { "tpot", "ttft" } do
      local list, within = all_announced(metric), 0
      for _, one in ipairs(list) do within = within + (one.error <= one.band and 1 or 0) end
      assert.is_true(within / #list >= 0.8, ("%s: %d of %d"):format(metric, within, #list))
    end
  end)

  it("are small only for setups with at most half of the error of the others", function()
    for metric, limit in pairs { tpot = 0.05, ttft = 0.08 } do
      local sums, counts = { good = 0, bad = 0 }, { good = 0, bad = 0 }
      for _, one in ipairs(all_announced(metric)) do
        local kind = one.half <= limit and "good" or "bad"
        sums[kind], counts[kind] = sums[kind] + one.error, counts[kind] + 1
      end
      local good, bad = sums.good / counts.good, sums.bad / counts.bad
      assert.is_true(counts.good >= 30 and good <= bad / 2,
        ("%s: %.4f of %d against %.4f of %d"):format(metric, good, counts.good, bad, counts.bad))
    end
  end)
end)
