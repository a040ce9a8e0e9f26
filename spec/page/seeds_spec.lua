--- Charts of policies over seeds.
local blis = require "blis"
local outline = require "blis.charts.outline"
local seeds = require "blis.charts.seeds"

local function compared(changes)
  local spec = { cluster = { instances = 2 }, routing = { "round-robin", "random" },
    workload = { rate = 10, requests = 700, prompt_tokens = 200, output_tokens = 20 },
    slo_targets = { default = { ttft_ms = 60 } }, replications = 4, quiet = true }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.compare(spec)
end

describe("an outline of a run", function()
  it("has the shares of requests within the times of a fixed grid", function()
    local r = blis.run { cluster = { instances = 2 }, workload = { rate = 10, requests = 700 },
      slo_targets = { default = { ttft_ms = 60 } } }
    local one = outline.of_result(r)
    for _, kind in ipairs(outline.kinds) do
      local given = one.times[kind.name]
      assert.equal(1, given.shares[#given.shares])
      for k, share in ipairs(given.shares) do
        local counts, all = r.requests:within(kind.time,
          { math.ceil(outline.time_us(given.first + k - 1)) })
        assert.equal(counts[1] / all, share)
      end
      assert.equal(outline.parts, #one.p99[kind.name])
    end
    assert.equal(outline.parts, #one.attainment)
    assert.equal(60, one.limits.ttft[1].at)
  end)

  it("has no course for few requests, and none exists without records", function()
    local short = outline.of_result(blis.run { workload = { rate = 10, requests = 50 } })
    assert.equal(0, #short.waiting)
    assert.equal(0, #short.attainment)
    assert.is_nil(outline.of_result(blis.run { keep_records = false,
      workload = { rate = 10, requests = 50 } }))
  end)
end)

describe("charts over seeds", function()
  local both = compared()

  it("are means of the runs with bands, which grow from 0 to 1", function()
    local charts, tails = seeds.distributions(both.policies, both.outlines, both.level)
    assert.equal(3, #charts)
    assert.equal(3, #tails)
    for _, chart in ipairs(charts) do
      for i, series in ipairs(chart.series) do
        local before = 0
        for k, share in ipairs(chart.data[i + 1]) do
          assert.is_true(share >= before and share <= 1)
          assert.is_true(series.low[k] >= 0 and series.low[k] <= share)
          assert.is_true(series.high[k] <= 1 and series.high[k] >= share)
          before = share
        end
        assert.equal(1, before)
      end
    end
  end)

  it("have tails above 0, which a logarithmic axis can show", function()
    local charts, tails = seeds.distributions(both.policies, both.outlines, both.level)
    for n, chart in ipairs(tails) do
      assert.is_true(chart.y.log)
      for i, series in ipairs(chart.series) do
        for k, share in ipairs(chart.data[i + 1]) do
          local within = charts[n].data[i + 1][k]
          if share then
            assert.near(1 - within, share, 1e-12)
            assert.is_true(series.low[k] > 0 and series.low[k] <= share)
            assert.is_true(series.high[k] >= share)
          else
            assert.is_false(series.low[k])
          end
        end
      end
    end
  end)

  it("show percentiles, attainment, and load over time", function()
    local titles = {}
    for i, chart in ipairs(seeds.courses(both.policies, both.outlines, both.level)) do
      titles[i] = chart.title
      assert.equal(outline.parts, #chart.data[1])
    end
    assert.same({ "TTFT p99 over time", "ITL p99 over time", "E2E p99 over time",
      "SLO attainment over time", "Requests waiting at instances", "Requests running" }, titles)
  end)

  it("stand on a page with all other metrics, those of features included", function()
    local files = require "spec.support.files"
    files.with(nil, function(path)
      compared({ queue = { saturation = "concurrency" } }):report(path)
      local section = files.read(path):match('<section[^>]*id="metrics".-</section>')
      section = section:gsub("<[^>]*>", "|"):gsub("|+", "|")
      assert.truthy(section:find("|completed (requests)|700|700|", 1, true), section)
      assert.truthy(section:find("|queue ", 1, true), section)
    end, ".html")
  end)

  it("have no bands for one run, and do not exist where a run has no outline", function()
    local one = seeds.distributions({ "a" }, { { both.outlines[1][1] } }, 0.95)
    assert.is_nil(one[1].series[1].low)
    assert.same({}, (seeds.distributions({ "a", "b" }, { both.outlines[1], {} }, 0.95)))
    assert.same({}, seeds.courses({}, {}, 0.95))
    local none = blis.compare { cluster = { instances = 2 }, routing = { "round-robin", "random" },
      workload = { rate = 10, requests = 50 }, keep_records = false, replications = 2,
      quiet = true }
    assert.same({ {}, {} }, none.outlines)
  end)
end)
