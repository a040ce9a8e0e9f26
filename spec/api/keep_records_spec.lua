local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("keep_records = false", function()
  local function runs(changes)
    local spec = small.experiment(changes)
    local kept = blis.run(spec)
    spec.keep_records = false
    return kept, blis.run(spec)
  end

  it("changes no figure but percentiles, and those by at most 1/256", function()
    local kept, sketch = runs { workload = { rate = 60, requests = 2000 } }
    assert.equal(kept.hash, sketch.hash)
    for _, name in ipairs { "arrived", "completed", "duration_us", "tokens_per_sec", "balance" } do
      assert.equal(kept[name], sketch[name], name)
    end
    for _, name in ipairs { "ttft_ms", "e2e_ms", "scheduling_delay_ms" } do
      local exact, near = kept[name], sketch[name]
      assert.equal(exact.count, near.count)
      assert.equal(exact.min, near.min)
      assert.equal(exact.max, near.max)
      for _, p in ipairs { "p50", "p75", "p90", "p95", "p99", "p99.9" } do
        assert.is_true(near[p] <= exact[p] and near[p] >= exact[p] * (1 - 1 / 256), name .. p)
      end
    end
    assert.same(kept.itl_ms, sketch.itl_ms)
  end)

  it("has nothing by request or group, and says so", function()
    local kept, sketch = runs()
    assert.is_true(kept.keeps_records)
    assert.is_false(sketch.keeps_records)
    for _, name in ipairs { "requests", "by_tenant", "by_model", "by_slo_class" } do
      says(small.message_of(function() return sketch[name] end), "keep_records = false")
    end
    says(tostring(sketch), "may be up to 0.4 % low")
  end)

  it("does not go with what needs records", function()
    local spec = small.experiment { keep_records = false, instance_times = true }
    says(small.message_of(blis.run, spec), "instance_times needs records")
  end)
end)
