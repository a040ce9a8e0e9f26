local fitness = require "blis.results.fitness"
local small = require "spec.support.small"

describe("fitness", function()
  local result = {
    requests_per_sec = 300, tokens_per_sec = 30000,
    ttft_ms = { mean = 1, p50 = 3, p99 = 9 }, e2e_ms = { mean = 99, p50 = 199, p99 = 999 },
  }

  it("is a weighted sum of scaled figures", function()
    local got = fitness.of(result, fitness.parse "throughput:2, p99_ttft:1,mean_e2e:0.5")
    assert.same({ { "mean_e2e", 0.01 }, { "p99_ttft", 0.1 }, { "throughput", 0.75 } },
      got.components)
    assert.equal(0.5 * 0.01 + 0.1 + 2 * 0.75, got.score)
  end)

  it("knows every key", function()
    local got = fitness.of(result, fitness.parse("throughput:1,tokens_per_sec:1,p99_ttft:1,"
      .. "p50_ttft:1,mean_ttft:1,p99_e2e:1,p50_e2e:1,mean_e2e:1"))
    assert.equal(8, #got.components)
  end)

  it("takes every figure with a scale and a better side by its path", function()
    local run = { ttft_ms = { ["p99.9"] = 3 }, cache_hit_rate = 0.25,
      goodput = { attainment = 0.5 },
      by_tenant = { a = { e2e_ms = { p90 = 9 } } } }
    for key, value in pairs { ["ttft_ms.p99.9"] = 0.25, cache_hit_rate = 0.25,
      ["goodput.attainment"] = 0.5, ["by_tenant.a.e2e_ms.p90"] = 0.1 } do
      assert.equal(value, fitness.score(run, { [key] = 1 }), key)
    end
    for _, key in ipairs { "steps", "hash", "ttft_ms", "ttft_ms.count", "by_tenant.a" } do
      assert.matches("unknown key", small.message_of(fitness.score, run, { [key] = 1 }), 1, true)
    end
    assert.matches("this result does not contain itl_ms.p50",
      small.message_of(fitness.score, run, { ["itl_ms.p50"] = 1 }), 1, true)
  end)

  it("takes energy, carbon and money, of which less is better", function()
    local run = { energy = { joules_per_output_token = 3, carbon_g = 9, kwh = 1, coverage = 0.5 },
      cost = { usd_per_million_output_tokens = 4 },
      spot = { availability = 0.75, saved_share = 0.25, usd = 7 } }
    for key, value in pairs { ["energy.joules_per_output_token"] = 0.25,
      ["energy.carbon_g"] = 0.1, ["energy.kwh"] = 0.5, ["energy.coverage"] = 0.5,
      ["cost.usd_per_million_output_tokens"] = 0.2, ["spot.availability"] = 0.75,
      ["spot.saved_share"] = 0.25, ["spot.usd"] = 0.125 } do
      assert.equal(value, fitness.score(run, { [key] = 1 }), key)
    end
    for _, key in ipairs { "energy.gpu_watts", "spot.on_demand_usd" } do
      assert.matches("unknown key", small.message_of(fitness.score, run, { [key] = 1 }), 1, true)
    end
    assert.matches("this result does not contain energy.facility_kwh",
      small.message_of(fitness.score, run, { ["energy.facility_kwh"] = 1 }), 1, true)
  end)

  it("takes the last of equal keys", function()
    assert.equal(2, fitness.parse("throughput:1,throughput:2").throughput)
  end)

  it("tells what is wrong with a weight", function()
    for _, case in ipairs {
      { "throughput", "invalid value 'throughput': expected KEY:WEIGHT" },
      { "throughput:x", "weight of throughput: invalid value 'x'" },
      { "throughput:-1", "weight of throughput: invalid value '-1'" },
      { "throughput:inf", "weight of throughput: invalid value 'inf'" },
      { "p90_ttft:1", "unknown key 'p90_ttft'; did you mean 'p99_ttft'?" },
    } do
      local message = small.message_of(fitness.parse, case[1])
      assert.is_truthy(message:find(case[2], 1, true), message)
    end
  end)
end)
