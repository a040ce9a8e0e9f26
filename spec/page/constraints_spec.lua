--- What holds for every page: its numbers are those of the JSON, its size, and its policy.
local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local format = require "blis.format"

local function page_of(shown)
  local text
  files.with(nil, function(path)
    shown:report(path)
    text = files.read(path)
  end, ".html")
  return text
end

local function island(text, name)
  local pattern = '<script id="%s" type="application/json">(.-)</script>'
  return core.json_read(text:match(pattern:format((name:gsub("%-", "%%-")))), name)
end

local function run(changes)
  local spec = { cluster = { instances = 8 }, routing = "least-loaded",
    workload = { rate = 40, requests = 3000, prompt_tokens = 200, output_tokens = 20 },
    slo_targets = { default = { ttft_ms = 60 } }, series_interval_us = "100ms" }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

local pages = {
  run = page_of(run()),
  scaled = page_of(run { autoscaler = { "hpa", metrics = { requests_running = 4 } },
    scaling = { max_replicas = 20, loading_delay_us = "5s" } }),
  failing = page_of(run { faults = { { kind = "crash", at = "20s", instance = 1,
    recover_after = "10s" } } }),
  compared = page_of(blis.compare { cluster = { instances = 4 }, routing = { "round-robin",
      "random", "least-loaded" }, workload = { rate = 20, requests = 1000 },
    slo_targets = { default = { ttft_ms = 60 } }, replications = 4, quiet = true }),
}

describe("every page", function()
  it("is smaller than 300 kB", function()
    for name, text in pairs(pages) do
      assert.is_true(#text < 300000, ("%s: %d bytes"):format(name, #text))
    end
  end)

  it("allows nothing but its own scripts and styles, and loads nothing", function()
    for name, text in pairs(pages) do
      local policy = text:match('content="(default%-src [^"]*)"'):gsub("&#39;", "'")
      assert.truthy(policy:find("default-src 'none'", 1, true), name)
      assert.is_nil(policy:find("unsafe", 1, true), name)
      assert.is_nil(policy:find("http", 1, true), name)
      local body = text:gsub("<script.-</script>", ""):gsub("<style.-</style>", "")
      assert.is_nil(body:find " style=", name)
      assert.is_nil(body:find " on%a+=", name)
      assert.is_nil(body:find ' src="', name)
      for address in body:gmatch 'href="([^"]*)"' do
        assert.equal("#", address:sub(1, 1), name)
      end
    end
  end)
end)

describe("numbers of a page", function()
  it("are those of the JSON", function()
    local text = pages.run
    local json = island(text, "result")
    local block = text:match '<div [^>]*class="answer.-</div>'
    local function has(words) assert.truthy(block:find(words, 1, true), words .. "\n" .. block) end
    has(("%s of %s requests completed, %s requests/s"):format(format.count(json.completed),
      format.count(json.arrived), format.number(json.requests_per_sec, 2)))
    has(("TTFT p50 %s ms, p99 %s ms"):format(format.number(json.ttft_ms.p50),
      format.number(json.ttft_ms.p99)))
    has(("SLO attainment: %s of the requests"):format(format.share(json.goodput.attainment)))
    local row = text:match('<th scope="row">TTFT</th>(.-)</tr>')
    for _, statistic in ipairs { "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max" } do
      assert.truthy(row:find(format.number(json.ttft_ms[statistic]), 1, true), statistic)
    end
  end)

  it("are the means of the runs on a page over seeds", function()
    local text = pages.compared
    local points, rows = island(text, "figures-json"), 0
    for _, point in ipairs(points) do
      local policy = point.name:match "^routing=(.*)$"
      local row = text:match('<th scope="row">' .. policy:gsub("%-", "%%-") .. '</th>(.-)</tr>')
      assert.truthy(row:find(format.number(point.metrics["ttft_ms.p99"].mean), 1, true), row)
      rows = rows + 1
    end
    assert.equal(3, rows)
  end)
end)
