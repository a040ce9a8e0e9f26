local blis = require "blis"
local format = require "blis.format"
local small = require "spec.support.small"

describe("sketches", function()
  it("are bars as high as the counts", function()
    assert.equal("█▄ ▁", format.bars { 100, 50, 0, 1 })
    assert.equal("  ", format.bars { 0, 0 })
    assert.equal("", format.bars {})
  end)

  it("count every request that got so far", function()
    local result = blis.run(small.experiment())
    for _, name in ipairs { "ttft_us", "e2e_us", "scheduling_delay_us" } do
      local sum, counts = 0, result.requests:spread(name, 1000, 100000, 7)
      assert.equal(7, #counts)
      for _, n in ipairs(counts) do sum = sum + n end
      assert.equal(60, sum)
    end
    local d = result.ttft_ms
    local counts = result.requests:spread("ttft_us", math.floor(d.max * 1000), 10 ^ 15 // 1, 3)
    assert.same({ 60, 0, 0 }, counts)
  end)

  it("are refused without a range", function()
    local requests = blis.run(small.experiment()).requests
    assert.has_error(function() requests:spread("ttft_us", 5, 5, 3) end)
    assert.has_error(function() requests:spread("ttft_us", 5, 6, 1001) end)
    assert.has_error(function() requests:spread("length", 5, 6, 3) end)
  end)

  it("stand in the summary of a result with records", function()
    assert.matches("max  min to p99\n  TTFT [%d ,.]+  [▁▂▃▄▅▆▇█ ]+\n",
      tostring(blis.run(small.experiment())))
    assert.is_nil(tostring(blis.run(small.experiment { keep_records = false })):find("█", 1, true))
  end)
end)
