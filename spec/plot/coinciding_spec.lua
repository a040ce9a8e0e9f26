--- What charts say of lines that lie on each other.
local blis = require "blis"
local chart = require "blis.plot.chart"
local files = require "spec.support.files"
local small = require "spec.support.small"
local sorted = require "blis.sorted"

local function coinciding(data, change)
  local given = { series = {}, data = { { 1, 2, 3 }, table.unpack(data) } }
  for i in ipairs(data) do given.series[i] = { label = ("line %d"):format(i) } end
  for key, value in pairs(change or {}) do given[key] = value end
  return chart.coinciding(given)
end

describe("lines that coincide", function()
  local up, down, none = { 1, 2, false }, { 3, 2, 1 }, { false, false, false }

  it("are named, the first of many", function()
    assert.is_nil(coinciding { up, down })
    assert.is_nil(coinciding { none, none })
    assert.equal("line 1 and line 3 coincide", coinciding { up, down, { 1, 2, false } })
    assert.equal("line 1, line 3 and line 5 coincide; line 2 and line 4 coincide",
      coinciding { up, down, up, down, up })
    assert.equal("line 2, line 3, line 4 and 2 more coincide",
      coinciding { down, up, up, up, up, up })
    assert.equal("all 4 lines coincide", coinciding { up, up, up, up })
  end)

  it("are none of points and of other pictures", function()
    assert.is_nil(coinciding({ up, up }, { marks = true }))
    assert.is_nil(coinciding({ up, up }, { kind = "heat" }))
    assert.is_nil(coinciding({ up, up }, { series = { { label = "a" }, { label = "b",
      is_points = true } } }))
  end)

  it("are told in pages and in text", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "round-robin" } })
    local told = "round-robin and round-robin #2 coincide"
    assert.truthy(compared:plot { show = "ttft" }:find(told, 1, true))
    files.with(nil, function(path)
      compared:report(path)
      local text = files.read(path):gsub("<wbr>", "")
      assert.truthy(text:find("<figcaption>" .. told .. ".</figcaption>", 1, true))
    end, ".html")
  end)
end)

describe("names", function()
  it("sort by the numbers in them", function()
    local list = {}
    for i, name in ipairs { "instance_10 in", "instance_2 out", "b", "instance_2 in", "a10b2",
      "a9b10", "instance_1 in" } do
      list[i] = { name = name }
    end
    local names = {}
    for i, one in ipairs(sorted.naturally(list, "name")) do names[i] = one.name end
    assert.same({ "a9b10", "a10b2", "b", "instance_1 in", "instance_2 in", "instance_2 out",
      "instance_10 in" }, names)
    assert.equal("instance_10 in", list[1].name)
  end)

  it("of adapters and tenants are in that order in tables", function()
    local result = blis.run { cluster = { instances = 2, lora = { adapters = 12, zipf = 0 } },
      workload = { rate = 50, requests = 300, prompt_tokens = 20, output_tokens = 3 } }
    files.with(nil, function(path)
      result:report(path)
      local text = files.read(path)
      for _, part in ipairs { "requests", "part%-lora" } do
        local section, last = text:match('<section [^>]*id="' .. part .. '">.-</section>'), 0
        for number in section:gmatch '<th scope="row">adapter_(%d+)</th>' do
          assert.equal(last + 1, tonumber(number))
          last = tonumber(number)
        end
        assert.equal(12, last)
      end
    end, ".html")
  end)
end)
