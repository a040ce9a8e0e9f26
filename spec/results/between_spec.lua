local between = require "blis.results.between"
local blis = require "blis"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function run(changes)
  local cluster = { model = llama, hardware = "H100", tp = 1, latency_model = "composed" }
  for key, value in pairs(changes) do cluster[key] = value end
  return blis.run { cluster = cluster, workload = { rate = 2, num_requests = 40,
    prompt_tokens = 200, output_tokens = 20 } }
end

describe("differences between setups", function()
  local one = run {}

  it("has a kind by what the setups share", function()
    local first = between.subject(one)
    local function kind(changes) return between.kind(first, between.subject(run(changes))) end
    assert.equal("same", kind { max_num_seqs = 4 })
    assert.equal("part", kind { tp = 2 })
    assert.equal("part", kind { async_scheduling = false })
    assert.equal("model", kind { hardware = "H200" })
    assert.equal("model", kind { model = "qwen/qwen3-14b" })
    assert.is_nil(between.subject(run { latency_model = "calibrated" }))
  end)

  it("is not judged for equal step times", function()
    assert.same({}, between.judge(between.subject(one), between.subject(run { max_num_seqs = 4 })))
    assert.same({}, between.judge(between.subject(one), nil))
    assert.same({}, between.lines({ one, run { max_num_seqs = 4 } }, { "a", "b" }))
  end)

  it("is larger than the error where it is clear", function()
    local found = between.judge(between.subject(one), between.subject(run { hardware = "L40S" }))
    assert.equal("TPOT", found[1].metric)
    assert.is_true(found[1].difference > 1)
    assert.is_false(found[1].is_inside)
    assert.is_true(found[1].error > 0)
  end)

  --- What a run on another GPU is compared by, with other values.
  local function subject_on(hardware, changes)
    local subject = between.subject(run { hardware = hardware })
    for name, value in pairs(changes) do subject[name] = value end
    return subject
  end

  it("is inside the error where it is small", function()
    local first = between.subject(one)
    local twin = subject_on("H100 NVL", { tpot_ms = first.tpot_ms * 1.01 })
    local found = between.judge(first, twin)
    assert.is_true(found[1].is_inside)
    assert.matches("^within the error of the model between these setups %(%d+%%%)$",
      between.note(0.01, found[1].error))
    assert.equal("", between.note(3, found[1].error))
    assert.equal("", between.note(0.01, false))
  end)

  it("has no bound where TTFT has none", function()
    local error = { tpot_band = 0.1, tpot_level = "model" }
    local first, other = between.subject(one), subject_on("H200", { error = error })
    local found = between.judge(first, other)
    assert.is_nil(found[2].error)
    assert.is_true(found[2].is_inside)
    assert.is_nil(between.error_of("e2e_ms.mean", first, other))
    assert.matches("has no bound", between.note(found[2].difference, nil), 1, true)
  end)

  it("weighs TTFT and TPOT in E2E and throughput, and judges no other metric", function()
    local first, other = between.subject(one), subject_on("H200", {})
    local function error_of(metric) return between.error_of(metric, first, other) end
    local ttft, tpot, e2e = error_of "ttft_ms.p99", error_of "itl_ms.mean", error_of "e2e_ms.p50"
    assert.is_true(e2e > math.min(ttft, tpot) and e2e < math.max(ttft, tpot))
    assert.equal(e2e, error_of "tokens_per_sec")
    assert.equal(ttft, error_of "steady.ttft_ms.mean")
    assert.is_false(error_of "cache_hit_rate_overall")
    assert.is_false(error_of "power.kwh")
  end)

  it("is as large as both expected errors together where nothing was measured", function()
    local a, b = between.subject(run { hardware = "MI300X" }), between.subject(one)
    assert.near(math.sqrt(a.error.tpot_band ^ 2 + b.error.tpot_band ^ 2),
      between.error_of("itl_ms.mean", a, b), 1e-12)
  end)

  it("compares groups of instances as sets of step times", function()
    local function grouped(...)
      return between.subject(blis.run { routing = "round-robin",
        cluster = { model = llama, groups = { ... } },
        workload = { rate = 2, num_requests = 20, prompt_tokens = 200, output_tokens = 20 } })
    end
    local small, large = { instances = 1, hardware = "H100", tp = 1 },
      { instances = 1, hardware = "H100", tp = 2 }
    local mixed = grouped(small, large)
    assert.equal("same", between.kind(mixed, grouped(large, small)))
    assert.equal("same", between.kind(between.subject(one), grouped(small, small)))
    assert.equal("part", between.kind(between.subject(one), mixed))
    assert.equal("model", between.kind(mixed, grouped(small, { instances = 1, hardware = "H200",
      tp = 1 })))
  end)

  it("is part of a comparison over seeds", function()
    local function compared(variants, workload)
      return blis.compare { cluster = { model = llama, hardware = "H100", tp = 1 }, quiet = true,
        jobs = 1, replications = 4, report = { "ttft_ms.mean", "itl_ms.mean", "cost.usd" },
        variants = variants, workload = workload or { rate = 2, num_requests = 40,
          prompt_tokens = 200, output_tokens = 20 } }
    end
    local found = compared { {}, { cluster = { max_num_seqs = 8 } },
      { cluster = { hardware = "H100 NVL" } }, { cluster = { hardware = "L40S" } } }
    assert.is_nil(found.against[2]["itl_ms.mean"].is_inside_model_error)
    local near, far = found.against[3]["itl_ms.mean"], found.against[4]["itl_ms.mean"]
    assert.is_true(near.is_inside_model_error and math.abs(near.change) <= near.model_error)
    assert.is_false(far.is_inside_model_error)
    local text = tostring(found)
    assert.matches("itl_ms.mean: hardware=H100 NVL is lower than [^\n]+; within the error of the "
      .. "model between these setups %(%d+%%%)", text)
    assert.matches("itl_ms.mean: hardware=L40S loses to [^\n]+%)\n", text .. "\n")

    local once = compared({ {}, { cluster = { hardware = "H100 NVL" } } }, blis.workload {
      rate = 2, requests = 40, prompt_tokens = 200, output_tokens = 20 })
    assert.is_true(once.is_one_run)
    assert.is_true(once.against[2]["itl_ms.mean"].is_inside_model_error)
  end)

  it("is part of a comparison's text", function()
    local text = tostring(blis.compare { cluster = { model = llama, hardware = "H100",
      latency_model = "composed" }, workload = { rate = 2, num_requests = 40, prompt_tokens = 200,
      output_tokens = 20 }, variants = { { cluster = { tp = 1 } },
      { cluster = { tp = 1, hardware = "H200" } } } })
    assert.is_truthy(text:find("within the error of the model", 1, true)
      or not text:find("note:", 1, true))
  end)
end)
