--- The block at the top of pages, charts over time, and the tail.
local blis = require "blis"
local best = require "blis.page.best"
local answer = require "blis.page.answer"
local files = require "spec.support.files"
local html = require "blis.page.html"
local happenings = require "blis.charts.happenings"
local latency_course = require "blis.charts.latency_course"

local function page_of(shown)
  local text
  files.with(nil, function(path)
    shown:report(path)
    text = files.read(path)
  end, ".html")
  return text
end

--- The class and the text of the block.
local function block_of(shown)
  local class, inside = page_of(shown):match '<div [^>]*class="answer ([^"]+)"[^>]*>(.-)</div>'
  return class, (inside:gsub("<[^>]*>", ""):gsub("%s+", " "))
end

local function run(changes)
  local spec = { cluster = { instances = 2 }, workload = { rate = 4, requests = 1000,
    prompt_tokens = 200, output_tokens = 20 } }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

local function contains(text, part) assert.truthy(text:find(part, 1, true), text) end

describe("the answer of a page", function()
  it("says that a healthy run is healthy, with the metrics of its JSON", function()
    local r = run { workload = { rate = 5, requests = 1000 } }
    local class, text = block_of(r)
    assert.equal("ok", class)
    contains(text, "OK The run is healthy. 1,000 of 1,000 requests completed")
    contains(text, ("TTFT p50 %.1f ms, p99 %.1f ms"):format(r.ttft_ms.p50, r.ttft_ms.p99))
    contains(text, "TPOT: expected error ")
  end)

  it("says first that a run is overloaded", function()
    local class, text = block_of(run { cluster = { instances = 1, max_num_seqs = 4 },
      workload = { rate = 20, requests = 400, prompt_tokens = 200, output_tokens = 50 } })
    assert.equal("invalid", class)
    contains(text, "Not valid The cluster is overloaded: more requests arrive than it completes.")
    contains(text, "overload: the queue grew by ")
  end)

  it("states attainment with targets, and warnings in words", function()
    local class, text = block_of(run { slo_targets = { default = { ttft_ms = 1e6 } } })
    assert.equal("warning", class) -- equal lengths
    contains(text, "SLO attainment: 100.0 % of the requests are within their targets")
    contains(text, "identical-lengths: ")
  end)

  it("names the winner of a comparison over seeds, or that there is none", function()
    local function compared(routing)
      return blis.compare { cluster = { instances = 4 }, workload = { rate = 20, requests = 400 },
        routing = routing, replications = 4, quiet = true, report = { "ttft_ms.mean" } }
    end
    local clear = compared { "round-robin", blis.router { name = "first",
      route = function() return 1 end } }
    assert.equal("worse", clear:effect(2, "ttft_ms.mean"))
    local none = compared { "round-robin", "round-robin" }
    assert.equal("none", none:effect(2, "ttft_ms.mean"))
    local _, text = block_of(none)
    contains(text, "No significant difference in TTFT mean.")
  end)

  it("names the policies that are overloaded, and joins metrics without a difference", function()
    local fine = { status = "ok", reasons = {} }
    local full = { status = "invalid", reasons = { { code = "overload", status = "invalid",
      text = "grew" } } }
    local none = { status = "invalid", reasons = { { code = "nothing-served", status = "invalid",
      text = "none" } } }
    local function words(verdicts, worst)
      local list = {}
      for i = 2, #verdicts do list[i - 1] = { name = "b", effect = "none", gain = 0, text = "" } end
      local element = answer.of_comparison { metrics = { "ttft_ms.p99", "e2e_ms.mean" },
        policies = { "a", "b", "c" }, base = "a", findings = { list, list }, verdict = worst,
        verdicts = verdicts, more = { "Cost: 1 USD." } }
      return (html.write(element):gsub("<[^>]*>", "|"):gsub("|+", "|"))
    end
    contains(words({ fine, fine, fine }, fine),
      "OK| No significant difference in TTFT p99 or E2E mean.|Cost: 1 USD.|")
    contains(words({ full, fine, full }, full),
      "Check| Only b keeps up with the load: a and c are overloaded.|Cost: 1 USD.|")
    contains(words({ fine, fine, full }, full), "a and b keep up with the load: c is overloaded.")
    contains(words({ fine, none, full }, full), "Only a is valid: b and c are not valid.")
    contains(words({ full, full, full }, full),
      "Not valid| There is no winner: all policies are overloaded.")
    contains(words({ full, none, full }, full),
      "There is no winner, because the runs are not valid.")
  end)

  it("states changes of shares in percentage points", function()
    local pair = { change = 0.01, low = 0.009, high = 0.0123, kind = "difference" }
    assert.equal("1.00 percentage points higher (95 % interval 0.90 to 1.23)",
      answer.change_text(pair, 0.95, "cache_hit_rate_overall"))
    pair.change, pair.low, pair.high = -0.1, -0.2, -0.05
    pair.kind = "ratio"
    assert.equal("10.0 % lower (95 % interval 5.0 % to 20.0 %)",
      answer.change_text(pair, 0.95, "ttft_ms.p99"))
  end)

  it("is not valid for a sweep without any result, and names the reason", function()
    local class, text = block_of(blis.sweep { name = "s", parameters = { { "x", { 1, 2 } } },
      report = { "ttft_ms.mean" }, trial = function() error("broken", 0) end }:run { quiet = true })
    assert.equal("invalid", class)
    contains(text, "2 trials failed, the first because of: broken")
  end)

  it("words all cases of a metric", function()
    local function finding(name, effect, gain)
      return { name = name, effect = effect, gain = gain, text = "10 % off" }
    end
    local function words(...) return answer.winner("ttft_ms.p99", "base", { ... }) end
    assert.equal("b has the best TTFT p99, compared with base: 10 % off.",
      words(finding("a", "better", 0.1), finding("b", "better", 0.2), finding("c", "none", 0)))
    assert.equal("base has the best TTFT p99: a is 10 % off.", words(finding("a", "worse", 0.1)))
    assert.equal("No policy has a better TTFT p99 than base; a is 10 % off.",
      words(finding("a", "worse", 0.1), finding("b", "none", 0)))
    assert.equal("No significant difference in TTFT p99.", words(finding("a", "none", 0)))
    assert.equal("TTFT p99: not judged, since there are too few runs for intervals.",
      words(finding("a", nil, 0)))
    assert.equal("TTFT p99: nothing to compare.", words())
  end)
end)

describe("the best point of a sweep", function()
  --- A sweep table of points { rate, weight, mean, low, high }.
  local function table_of(list)
    local points = {}
    for i, one in ipairs(list) do
      points[i] = { name = ("p%d"):format(i), parameters = { rate = one[1], weight = one[2] },
        metrics = { ["ttft_ms.mean"] = { mean = one[3], low = one[4], high = one[5] } },
        verdict = { status = one[6] or "ok", reasons = {} } }
    end
    return { parameters = { "rate", "weight" }, shown = { "ttft_ms.mean" }, points = points }
  end

  it("is sought per load, and the changes are named", function()
    local lines = best.lines(table_of { { 1, 0, 10, 9, 11 }, { 1, 2, 20, 19, 21 },
      { 2, 0, 50, 49, 51 }, { 2, 2, 40, 39, 41 } })
    assert.same({ "The best point for TTFT mean depends on the load: weight=0, weight=2.",
      "rate=1: weight=0 has the best TTFT mean, 10.0 ms.",
      "rate=2: weight=2 has the best TTFT mean, 40.0 ms." }, lines)
  end)

  it("is never an invalid point", function()
    local lines = best.lines(table_of { { 1, 0, 10, 9, 11, "invalid" }, { 1, 2, 20, 19, 21 },
      { 2, 0, 5, 4, 6, "invalid" } })
    assert.same({ "weight=2 has the best TTFT mean at every load with a valid point.",
      "rate=1: weight=2 has the best TTFT mean, 20.0 ms.", "rate=2: no valid point." }, lines)
  end)

  it("is not called better where intervals overlap or are absent", function()
    local lines = best.lines(table_of { { 1, 0, 10 }, { 1, 2, 20 }, { 2, 0, 5 }, { 2, 2, 6 } })
    assert.equal("At no load is a point significantly better in TTFT mean than all others.",
      lines[1])
    contains(lines[2], "; not significantly better than all others.")
  end)

  it("is one point without a load, and a load alone is a choice", function()
    local one = table_of { { 1, 0, 10, 9, 11 }, { 1, 2, 20, 19, 21 } }
    one.parameters = { "weight" }
    assert.same({ "weight=0 has the best TTFT mean, 10.0 ms." }, best.lines(one))
    one.parameters = { "rate" }
    assert.same({}, best.environments(one))
  end)
end)

describe("charts of a run over time", function()
  it("have the quantiles of the requests of each interval", function()
    local r = run()
    local chart = latency_course.of_result(r, "ttft_time")[1]
    local count = #chart.data[1]
    assert.equal(25, count)
    local to_us, lists = r.requests[#r.requests].arrival_us + 1, {}
    for k = 1, count do lists[k] = {} end
    for _, request in ipairs(r.requests) do
      local k = math.min(count, math.floor(request.arrival_us / to_us * count) + 1)
      table.insert(lists[k], request.ttft_us / 1000)
    end
    for k = 1, count do
      assert.is_near(blis.statistics.quantile(lists[k], 0.5), chart.data[2][k], 1e-9)
      assert.is_near(blis.statistics.quantile(lists[k], 0.99), chart.data[3][k], 1e-9)
    end
  end)

  it("need enough requests, and have lines at targets", function()
    assert.same({}, latency_course.of_result(run { workload = { rate = 4, requests = 100 } }))
    local list = latency_course.of_result(run { slo_targets = { default = { ttft_ms = 500 } } })
    assert.equal(4, #list)
    assert.same({ { axis = "y", at = 500, text = "SLO 500 ms" } }, list[1].limits)
    assert.is_nil(list[2].limits)
    for _, share in ipairs(list[4].data[2]) do assert.equal(1, share) end
  end)

  it("refuse wrong arguments", function()
    local requests = run().requests
    for _, wrong in ipairs { { "length", 10, 5, { 0.5 } }, { "ttft_us", 0, 5, { 0.5 } },
      { "ttft_us", 10, 0, { 0.5 } }, { "ttft_us", 10, 5, {} }, { "ttft_us", 10, 5, { 2 } } } do
      assert.has_error(function() requests:over_time(table.unpack(wrong)) end)
    end
  end)

  it("mark faults with letters, in all charts", function()
    local r = run { faults = { { at = "20s", instance = 1, kind = "crash",
      recover_after = "5s" } } }
    local list = happenings.of_result(r)
    assert.equal(1, #list)
    assert.equal("a", list[1].mark)
    assert.equal(20, list[1].at)
    contains(happenings.text(list), "a: crash of instance_0 at 20.0 s (for 5.0 s")
    local text = page_of(r)
    assert.matches('"happenings":%[{"at":20[.0]*,"mark":"a"}%]', text)
    assert.is_nil(happenings.text(happenings.of_result(run())))
  end)
end)

describe("the tail of a page", function()
  it("names the instance of the slowest requests", function()
    local r = run { cluster = { instances = 4 }, faults = { { at = "50s", instance = 3,
      kind = "slow", factor = 5, recover_after = "60s" } } }
    local section = page_of(r):match '<section [^>]*id="tail">.-</section>'
    contains(section, "instance instance_2: ")
    contains(section, "of the slowest")
    local short = page_of(run { workload = { rate = 4, requests = 100 } })
    assert.is_nil(short:find("id=\"tail\"", 1, true))
  end)
end)

describe("the section about the tail", function()
  it("splits the time of handed-off requests, and blames no instance by chance", function()
    local text = page_of(blis.run { cluster = { prefill_instances = 2, decode_instances = 4,
        model = "qwen/qwen3-14b", hardware = "H100" }, routing = "round-robin",
      workload = { rate = 20, requests = 6000, prompt_tokens = 100,
        output = { "gaussian", mean = 20, std_dev = 10, min = 2, max = 60 } } })
    local section = text:match '<section[^>]*id="tail".-</section>':gsub("<[^>]*>", "|"):gsub("|+",
      "|")
    for _, stage in ipairs { "prefill", "hand-off", "waiting to decode", "decode" } do
      contains(section, "|" .. stage .. "|")
    end
    assert.is_nil(section:find("|instance instance_", 1, true), section)
  end)
end)
