--- Pages of blis capacity and blis recommend.
local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"

local function page_of(found)
  local text
  files.with(nil, function(path)
    found:report(path)
    text = files.read(path)
  end, ".html")
  return text
end

local function block_of(text)
  local inside = text:match '<div [^>]*class="answer [^>]*>(.-)</div>'
  return (inside:gsub("<[^>]*>", " "):gsub("%s+", " "))
end

local function contains(text, part) assert.truthy(text:find(part, 1, true), text) end

local function island(text, name)
  local pattern = '<script id="%s" type="application/json">(.-)</script>'
  return core.json_read(text:match(pattern:format((name:gsub("%-", "%%-")))), name)
end

describe("the page of a search for capacity", function()
  local found = blis.capacity { parameter = "instances", integer = true, objective = "min",
    from = 1, to = 4, targets = { ["ttft_ms.p99"] = 400 }, quiet = true, requests = 400,
    trial = function(p)
      return blis.run { cluster = { model = "qwen/qwen3-14b", hardware = "H100",
          instances = math.tointeger(p.instances) }, seed = p.seed,
        workload = { rate = 30, requests = p.requests } }
    end }
  local text = page_of(found)

  it("answers in GPUs and USD per hour, with what limits the cluster", function()
    local block = block_of(text)
    contains(block, ("%d x H100, %.2f USD per hour: "):format(found.basis.gpus,
      found.basis.usd_per_hour))
    contains(block, ("Limited by: %s."):format(found.basis.binding_constraint))
    contains(block, "Targets: ttft_ms.p99 &lt;= 400.")
  end)

  it("draws the metrics over what was tried, with the target, as in its JSON", function()
    local chart = island(text, "charts")[1]
    assert.equal("TTFT p99", chart.title)
    assert.equal("target 400 ms", chart.limits[1].text)
    assert.is_true(chart.x.whole)
    for i, point in ipairs(island(text, "figures-json")) do
      assert.equal(found.curve[i].value, point.value)
      assert.equal(found.curve[i].figures["ttft_ms.p99"], point["ttft_ms.p99"])
      assert.near(point["ttft_ms.p99"], chart.data[2][i], 1e-3 * point["ttft_ms.p99"])
    end
  end)
end)

describe("the page of a search that finds nothing, over numbers", function()
  it("has the answer without a price", function()
    local text = page_of(blis.capacity { parameter = "x", from = 1, to = 4, quiet = true,
      targets = { ["ttft_ms.p99"] = 1 }, trial = function(p)
        return { ["ttft_ms.p99"] = 10 * p.x }
      end })
    contains(block_of(text), "targets missed at x = 1, where the search started.")
  end)
end)

describe("the page of a recommendation", function()
  it("names the best layout with its price, and lists all", function()
    local found = blis.recommend { gpus = 2, targets = { ["ttft_ms.p99"] = 400 }, quiet = true,
      layouts = "aggregated", max_requests = 2000, replications = 2,
      experiment = function(p)
        return { cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
          workload = { rate = p.rate, requests = p.requests } }
      end }
    local text = page_of(found)
    contains(block_of(text), "2 x H100, 7.00 USD per hour takes ")
    for i, one in ipairs(island(text, "figures-json")) do
      assert.equal(found.layouts[i].name, one.name)
      assert.equal(found.layouts[i].goodput, one.goodput)
    end
  end)
end)
