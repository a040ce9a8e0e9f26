--- Episodes of high latencies and of missed targets, and shares in words.
local episodes = require "blis.page.episodes"
local format = require "blis.format"

local function times(count)
  local list = {}
  for k = 1, count do list[k] = 10 * k - 5 end
  return list
end

local function line(name, label, p99)
  return { name = name, y = { label = label }, data = { times(#p99), p99, p99 } }
end

describe("episodes of a run", function()
  it("are intervals far above the usual value, with their ends", function()
    local one = episodes.highest(times(8), { 100, 100, 300, 400, 100, 100, 100, 100 })
    assert.same({ from = 20, to = 40, peak = 400, usual = 100 }, one)
  end)

  it("include intervals without requests, but do not end with them", function()
    local one = episodes.highest(times(9), { 100, 300, false, 400, false, 100, 100, 100, 100 })
    assert.same({ from = 10, to = 40, peak = 400, usual = 100 }, one)
  end)

  it("are not single intervals, unless these are extreme", function()
    assert.is_nil(episodes.highest(times(5), { 100, 100, 300, 100, 100 }))
    assert.equal(500, episodes.highest(times(5), { 100, 100, 500, 100, 100 }).peak)
    assert.is_nil(episodes.highest(times(5), { 100, 110, 120, 110, 100 }))
    assert.is_nil(episodes.highest(times(3), { false, false, false }))
    assert.is_nil(episodes.highest({}, {}))
  end)

  it("are told with the worst first, in one unit", function()
    local clause, lines = episodes.told {
      line("ttft_time", "TTFT", { 100, 100, 300, 300, 100, 100 }),
      line("e2e_time", "E2E", { 5000, 5000, 25000, 25000, 5000, 5000 }) }
    assert.equal("from 20 s to 40 s, E2E p99 rose to 25.0 s, 5.0 times its usual 5.0 s", clause)
    assert.same({ "From 20 s to 40 s, TTFT p99 rose to 300.0 ms, 3.0 times its usual 100.0 ms." },
      lines)
    assert.is_nil(episodes.told {})
  end)

  it("report the time in which targets were missed", function()
    local chart = { name = "attainment", data = { times(5), { 1, 0.95, 0.5, false, 0.2 } } }
    local clause, lines = episodes.told { chart }
    assert.is_nil(clause)
    assert.same({ "Fewer than 90% of the requests were within their targets during 20 s of 50 s, "
      .. "first at 20 s; at worst 20.0 %." }, lines)
    for _, shares in ipairs { { 1, 1, 1, 1, 0.95 }, { 0.86, 1, 1, 1, 1 } } do
      chart.data[2] = shares
      assert.same({}, (select(2, episodes.told { chart })))
    end
    chart.data[2] = { 0.2, 1, 1, 1, 1 }
    local _, told = episodes.told { chart }
    assert.matches("first at 0.0 s; at worst 20.0 %%", told[1])
    chart.data[2] = { 1, 1, 1, 1, 0.95 }
    assert.same({}, (select(2, episodes.told { chart })))
  end)
end)

describe("a share in words", function()
  it("is 100.0 % and 0.0 % only where it is all or nothing", function()
    for text, share in pairs { ["100.0 %"] = 1, ["0.0 %"] = 0, ["12.3 %"] = 0.1234,
      ["99.9 %"] = 0.9994, ["99.96 %"] = 0.99962, ["0.04 %"] = 0.0004, ["0.001 %"] = 0.00001,
      ["99.999 %"] = 0.99999, ["> 99.9999 %"] = 1 - 1e-9, ["< 0.0001 %"] = 1e-9,
      ["-"] = 0 / 0 } do
      assert.equal(text, format.share(share))
    end
    assert.equal("-", format.share(nil))
    local seed = 1
    for _ = 1, 200 do
      seed = (seed * 48271) % 2147483647
      local share = (seed / 2147483647) ^ 3
      assert.not_equal("0.0 %", format.share(share))
      assert.not_equal("100.0 %", format.share(1 - share))
    end
  end)
end)

describe("a list in words", function()
  it("has commas from three items on", function()
    assert.equal("", format.listed({}, "or"))
    assert.equal("a", format.listed({ "a" }, "or"))
    assert.equal("a or b", format.listed({ "a", "b" }, "or"))
    assert.equal("a, b, and c", format.listed({ "a", "b", "c" }, "and"))
  end)
end)
