local blis = require "blis"
local core = require "blis.core"
local expected_error = require "blis.results.expected_error"
local json = require "blis.results.json"
local residuals = require "blis.engine.residuals"
local small = require "spec.support.small"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function run(cluster, workload)
  cluster.latency_model = cluster.latency_model or "composed"
  cluster.model, cluster.tp = cluster.model or llama, cluster.tp or 1
  return blis.run { cluster = cluster, workload = workload or { rate = 5, num_requests = 40,
    prompt_tokens = 200, output_tokens = 20 } }
end

local function row_of(level, family, weights, has_experts, is_async)
  for _, row in ipairs(residuals.data().regimes) do
    if row.level == level and row.family == family and row.weights == weights
      and row.has_experts == has_experts and row.is_async == is_async then
      return row
    end
  end
end

describe("the expected error of a run", function()
  it("is that of its regime, by the share of time in steps with prompt tokens", function()
    local result = run { hardware = "H100" }
    local error, row = result.expected_error, row_of("model", "Hopper", "bf16", false, true)
    assert.equal("model", error.level)
    assert.is_true(error.is_measured)
    assert.equal("H100, bf16, dense, asynchronous scheduling", error.regime)
    local least, most = math.min(row.tpot[2], row.tpot[4]), math.max(row.tpot[2], row.tpot[4])
    assert.is_true(error.tpot_band >= least and error.tpot_band <= most)
    assert.equal(row.ttft[2], error.ttft_band)
    local sync = run({ hardware = "H100", async_scheduling = false }).expected_error
    assert.is_nil(sync.ttft)
    assert.equal("not measured in this regime", sync.ttft_reason)
  end)

  it("moves with the mix of steps", function()
    local row = row_of("model", "Hopper", "bf16", false, true)
    local decodes = run({ hardware = "H100" }, { rate = 5, num_requests = 40, prompt_tokens = 20,
      output_tokens = 400 }).expected_error
    local prefills = run({ hardware = "H100" }, { rate = 5, num_requests = 40,
      prompt_tokens = 2000, output_tokens = 4 }).expected_error
    assert.equal(row.tpot[1], decodes.tpot)
    assert.equal(row.tpot[3], prefills.tpot)
    assert.equal(row.tpot[4], prefills.tpot_band)
  end)

  it("has a level by what was measured", function()
    local function level(cluster) return run(cluster).expected_error.level end
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

  it("leaves TTFT without bound under overload", function()
    local result = run({ hardware = "H100", max_num_seqs = 1 }, { rate = 50, num_requests = 400,
      prompt_tokens = 200, output_tokens = 200 })
    assert.matches("^overloaded", result.expected_error.ttft_reason)
  end)

  it("combines groups of instances in several regimes", function()
    local function error_of(groups)
      return blis.run { cluster = { model = llama, latency_model = "composed", groups = groups },
        workload = { rate = 10, num_requests = 100, prompt_tokens = 200, output_tokens = 20 },
        routing = "round-robin" }.expected_error
    end
    local known = { instances = 1, hardware = "H100", tp = 1 }
    local unknown = { instances = 1, hardware = "MI300X", tp = 1 }
    local alone, both = error_of { known }, error_of { known, unknown }
    local worst = error_of { unknown }
    assert.is_true(both.tpot_band > alone.tpot_band and both.tpot_band < worst.tpot_band)
    assert.equal("nothing", both.level)
    assert.equal("H100, bf16, dense, asynchronous scheduling; MI300X, bf16, dense, asynchronous "
      .. "scheduling", both.regime)
  end)

  it("is nil with other latency models", function()
    local result = run { hardware = "H100", latency_model = "calibrated" }
    assert.is_nil(result.expected_error)
    assert.is_nil(tostring(result):match "expected error")
    assert.same({}, expected_error.lines(nil))
  end)

  it("is part of the text and of JSON", function()
    local result = run { hardware = "H200" }
    assert.matches("accuracy    TPOT [%d.]+ ms %(expected error %d+%%; 80%% of setups within "
      .. "%d+%%%)\n", tostring(result))
    local read = core.json_read(json.text { result = result })
    assert.equal(result.expected_error.tpot_band, read.expected_error.tpot_band)
    assert.equal("format", read.expected_error.level)
  end)

  it("decides strict_coverage", function()
    run { hardware = "H100", strict_coverage = true }
    assert.matches("cluster.strict_coverage: the error of step times is unknown: no run of this "
      .. "regime was measured (B200, bf16, dense, asynchronous scheduling)",
      small.message_of(run, { hardware = "B200", strict_coverage = true }), 1, true)
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
  local half, band = residuals.tpot(found, tonumber(row.prefill_share), tonumber(row.tp))
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
