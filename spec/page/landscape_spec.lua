--- Pictures of sweeps with several parameters, the system of a sweep, and its linked pages.
local blis = require "blis"
local files = require "spec.support.files"
local html = require "blis.page.html"
local landscape = require "blis.page.landscape"
local small = require "spec.support.small"
local sweep_charts = require "blis.charts.sweep"

local function contains(text, part) assert.truthy(text:find(part, 1, true), text) end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

--- A sweep of numbers over parameters.
local function swept(parameters)
  return blis.sweep { name = "s", parameters = parameters, report = { "ttft_ms.mean",
      "tokens_per_sec" }, trial = function(p)
    local ms = p.rate * 10
    for i = 2, #parameters do ms = ms + p[parameters[i][1]] end
    return { ["ttft_ms.mean"] = ms, tokens_per_sec = p.rate }
  end }:run { quiet = true }
end

local function picture(parameters)
  local element = landscape.element(swept(parameters))
  return element and html.write(element)
end

describe("a picture of a sweep", function()
  it("is a heat map with two parameters, and frames the best point of each load", function()
    local text = picture { { "rate", { 1, 2 } }, { "weight", { 0, 3, 5 } } }
    assert.equal(2, count(text, "<svg"))
    assert.equal(12, count(text, "<rect"))
    contains(text, "Rows: rate. Columns: weight.")
    contains(text, "a frame marks the best valid point of each load")
    assert.equal(4, count(text, 'class="cell chosen"'))
    contains(text, 'fill-opacity="0.500"')
    assert.is_nil(text:find("style=", 1, true))
  end)

  it("has parallel coordinates with three", function()
    local text = picture { { "rate", { 1, 2 } }, { "weight", { 0, 3 } }, { "c", { 1, 2 } } }
    assert.equal(1, count(text, "<svg"))
    assert.equal(8, count(text, 'class="way'))
    assert.equal(2, count(text, 'class="way chosen"'))
    assert.equal(5, count(text, 'class="axis"'))
  end)

  it("does not exist with one parameter that varies, and with too many cells", function()
    assert.is_nil(picture { { "rate", { 1, 2 } }, { "weight", { 4 } } })
    local many = {}
    for i = 1, 15 do many[i] = i end
    assert.is_nil(picture { { "rate", { 1, 2 } }, { "weight", many } })
  end)
end)

describe("fronts of several loads", function()
  it("are of metrics that are traded for each other", function()
    local function pair(...) return { sweep_charts.judged_pair { shown = { ... } } } end
    assert.same({ "ttft_ms.p99", "tokens_per_sec" }, pair("ttft_ms.p99", "e2e_ms.mean",
      "tokens_per_sec"))
    assert.same({ "ttft_ms.p99", "cost.usd" }, pair("own", "ttft_ms.p99", "e2e_ms.mean",
      "cost.usd"))
    assert.same({ "ttft_ms.p99", "e2e_ms.mean" }, pair("ttft_ms.p99", "e2e_ms.mean"))
    assert.same({ "ttft_ms.p99" }, pair("ttft_ms.p99"))
    assert.same({}, pair "own")
  end)

  it("have a series of points each, in the order of the first metric", function()
    local function point(name, x, y)
      return { name = name, metrics = { a = { mean = x }, b = { mean = y } } }
    end
    local chart = sweep_charts.fronts({ { name = "rate=1", points = { point("p", 1, 5),
      point("q", 3, 4) } }, { name = "rate=2", points = { point("r", 2, 9) } } }, "a", "b")
    assert.same({ { 1, 2, 3 }, { 5, false, 4 }, { false, 9, false } }, chart.data)
    assert.equal("rate=2", chart.series[2].label)
  end)
end)

describe("a page of a sweep of runs", function()
  it("describes the system, and links pages of the baseline and of the best runs", function()
    local found = blis.sweep { name = "s", parameters = { { "rate", { 4, 8 } },
        { "routing", { "round-robin", "least-loaded" } } }, report = { "ttft_ms.mean" },
      trial = function(p)
        return blis.run(small.experiment { routing = p.routing, seed = p.seed,
          workload = { rate = p.rate, requests = 60 } })
      end }:run { quiet = true }
    contains(found.setup.rows[1].text, "instances of ")
    files.with(nil, function(path)
      found:report(path)
      local text, stem = files.read(path), path:gsub("%.html$", "")
      contains(text, found.setup.rows[1].text)
      local linked = {}
      for name in text:gmatch '<a href="([^"#]+%.html)"' do
        local other = stem:match "^(.*/)" .. name
        contains(files.read(other), "</html>")
        os.remove(other)
        linked[#linked + 1] = name
      end
      assert.is_true(#linked >= 2)
      assert.equal(stem:match "[^/]*$" .. "-baseline.html", linked[1])
    end, ".html")
  end)

  it("writes nothing beside a page whose name is an error", function()
    local found = blis.sweep { name = "s", parameters = { { "rate", { 4, 8 } } },
      report = { "ttft_ms.mean" }, trial = function(p)
        return blis.run(small.experiment { seed = p.seed })
      end }:run { quiet = true }
    local name = os.tmpname()
    assert.has_error(function() found:report(name .. ".txt") end)
    assert.is_nil(io.open(name .. ".txt-baseline.html"))
    local odd = name .. "#a b.html"
    found:report(odd)
    local text = files.read(odd)
    contains(text, ('href="%s%%23a%%20b-baseline.html"'):format(name:match "[^/]*$"))
    for _, path in ipairs { name, odd, name .. "#a b-baseline.html", name .. "#a b-best.html" } do
      os.remove(path)
    end
  end)

  it("links nothing where trials return numbers", function()
    files.with(nil, function(path)
      swept({ { "rate", { 1, 2 } } }):report(path)
      assert.is_nil(files.read(path):find("Pages of single runs", 1, true))
    end, ".html")
  end)
end)
