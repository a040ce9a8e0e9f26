-- What other programs call figures.
local figures = require "blis.results.figures"

describe("the name of a figure that nobody knows", function()
  it("may be another one of the field", function()
    local known = figures.paths "Result"
    for name, meant in pairs {
      ["tpot_ms.p90"] = "itl_ms.p90", tpot = "itl_ms.p99", ["TPOT.mean"] = "itl_ms.mean",
      ["time-to-first-token.p50"] = "ttft_ms.p50", ["ttft_s.p99"] = "ttft_ms.p99",
      latency = "e2e_ms.p99", throughput = "requests_per_sec", rps = "requests_per_sec",
      token_throughput = "tokens_per_sec", hit_rate = "cache_hit_rate",
      ["queue_time.p99"] = "scheduling_delay_ms.p99",
    } do
      assert.equal(("; did you mean '%s'?"):format(meant), figures.suggestion(name, known), name)
    end
  end)

  it("is else the nearest one, of those that there are", function()
    local known = figures.paths "Result"
    assert.equal("; did you mean 'itl_ms.p90'?", figures.suggestion("itl_m.p90", known))
    assert.equal("", figures.suggestion("nothing_like_it", known, ""))
    assert.equal("", figures.suggestion("", known, ""))
    assert.equal("; known are a, b", figures.suggestion("throughput", { "a", "b" }))
  end)
end)
