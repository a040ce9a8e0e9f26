--- What charts say of lines that lie on each other.
local blis = require "blis"
local chart = require "blis.plot.chart"
local files = require "spec.support.files"
local small = require "spec.support.small"
local sorted = require "blis.sorted"
local svg = require "blis.plot.svg"

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

  --- "class dashes" of lines and the classes of marks, in a chart and in its legend.
  local function drawn(picture)
    local found, legend = { lines = {}, marks = {} }, { lines = {}, marks = {} }
    local chart_end = picture:match '^.*()<text [^>]*class="soft"'
    for at, class, rest in picture:gmatch '()<path class="([lm][^"]+)" d="[^"]+"([^>]*)/>' do
      local into = at > chart_end and legend or found
      local colour = class:match "c%d"
      if class:find "^line" then
        table.insert(into.lines, colour .. " " .. (rest:match 'dasharray="([^"]+)"' or "-"))
      else
        table.insert(into.marks, colour)
      end
    end
    return found, legend
  end

  local function picture_of(count, points, change)
    local given = { title = "t", x = { label = "x" }, y = { label = "y" }, series = {}, data = {} }
    for i = 1, count + 1 do given.data[i] = {} end
    for i = 1, count do given.series[i] = { label = "line " .. i } end
    for k = 1, points do
      for i = 1, count + 1 do given.data[i][k] = k end
    end
    for key, value in pairs(change or {}) do given[key] = value end
    return svg.document { given }
  end

  it("are seen through the gaps of the others, in the legend, too", function()
    local found, legend = drawn(picture_of(9, 100))
    assert.same(legend.lines, found.lines)
    assert.equal("c0 -", found.lines[1])
    local seen = {}
    for i, line in ipairs(found.lines) do
      assert.is_nil(seen[line], line)
      seen[line] = true
      local colour, dashes = line:match "^(%S+) (.*)$"
      assert.equal(("c%d"):format((i - 1) % 8), colour)
      local length, gaps, is_gap = 0, 0, false
      for number in dashes:gmatch "[%d.]+" do
        length = length + tonumber(number)
        gaps = gaps + (is_gap and tonumber(number) or 0)
        is_gap = not is_gap
      end
      assert.is_true(i == 1 or not is_gap and gaps / length > 0.3 and gaps >= 4)
    end
    assert.same({ "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c0" }, legend.marks)
  end)

  it("take turns where the marks of each point are drawn", function()
    local found = drawn(picture_of(3, 7))
    local counts = {}
    for _, colour in ipairs(found.marks) do counts[colour] = (counts[colour] or 0) + 1 end
    assert.same({ c0 = 3, c1 = 2, c2 = 2 }, counts)
    found = drawn(picture_of(2, 3, { data = { { 1, 2, 3 }, { 1, 5, 1 }, { 3, 5, 4 } } }))
    table.sort(found.marks)
    assert.equal("c0 c0 c0 c1 c1", table.concat(found.marks, " "))
  end)

  it("have no dashes where one is alone, and none in legends of points", function()
    assert.is_nil(picture_of(1, 3):find("stroke-dasharray=", 1, true))
    local _, legend = drawn(picture_of(2, 3, { marks = true, data = { { 1, 2 }, { 1, 2 },
      { 2, 1 } } }))
    assert.same({ lines = {}, marks = { "c0", "c1" } }, legend)
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
