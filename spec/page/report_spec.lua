local blis = require "blis"
local charts = require "blis.page.charts"
local core = require "blis.core"
local files = require "spec.support.files"
local format = require "blis.format"
local names = require "blis.results.metric_names"
local presence = require "blis.charts.presence"
local program = require "spec.support.program"
local small = require "spec.support.small"
local svg = require "blis.plot.svg"

--- The text of the page that a result, comparison or table of a sweep writes.
local function page_of(shown)
  local text
  files.with(nil, function(path)
    shown:report(path)
    text = files.read(path)
  end, ".html")
  return text
end

--- The JSON that a page carries.
local function island(text, id)
  local json = text:match('<script id="' .. id:gsub("%-", "%%-")
    .. '" type="application/json">(.-)</script>')
  return core.json_read(assert(json, id), id)
end

local function assert_has(text, wanted)
  assert.truthy(text:find(wanted, 1, true), "no '" .. wanted .. "'")
end

describe("times of requests in pictures", function()
  local result = blis.run(small.experiment { admission = { "token-bucket", bucket_size = 4000,
    refill_rate = 5000 } })
  local requests = result.requests

  it("count those within limits", function()
    local limits = { 0, 20000, 50000, 90000, 100000000 }
    for _, name in ipairs { "ttft_us", "e2e_us", "scheduling_delay_us" } do
      local counts, all = requests:within(name, limits)
      for i, limit in ipairs(limits) do
        local n, known = 0, 0
        for _, request in ipairs(requests) do
          local time = request[name]
          if time then known = known + 1 end
          if time and time <= limit then n = n + 1 end
        end
        assert.equal(n, counts[i])
        assert.equal(known, all)
      end
    end
  end)

  it("take the mean of a request as its ITL", function()
    local counts, all = requests:within("itl_us", { 0, 1000000 })
    assert.same({ 0, result.completed }, counts)
    assert.equal(result.completed, all)
  end)

  it("refuse limits that are none", function()
    assert.has_error(function() requests:within("ttft_us", {}) end)
    assert.has_error(function() requests:within("ttft_us", { 2, 1 }) end)
    assert.has_error(function() requests:within("length", { 1 }) end)
    assert.has_error(function() requests:load(0, 10, 10) end)
    assert.has_error(function() requests:load(1, 0, 10) end)
    assert.has_error(function() requests:load(1, 10, 0) end)
    assert.has_error(function() requests:slowest(-1) end)
  end)

  it("add up to what requests waited and ran", function()
    local count = 17
    local load = requests:load(1, result.duration_us, count)
    assert.equal(3, #load.instances)
    local width, waited, ran, arrived, completed = result.duration_us / count, 0, 0, 0, 0
    for k = 1, count do
      arrived, completed = arrived + load.arrived[k], completed + load.completed[k]
      for _, instance in ipairs(load.instances) do
        waited = waited + instance.waiting[k] * width
        ran = ran + instance.running[k] * width
      end
    end
    local delays, rest = 0, 0
    for _, request in ipairs(requests) do
      if request.e2e_us then
        delays = delays + request.scheduling_delay_us
        rest = rest + request.e2e_us - request.scheduling_delay_us
      end
    end
    assert.near(delays, waited, 1)
    assert.near(rest, ran, 1)
    assert.equal(result.arrived, arrived)
    assert.equal(result.completed, completed)
    assert.is_true(completed < arrived)
  end)

  it("find the slowest", function()
    local places, longest = requests:slowest(5), 0
    assert.equal(5, #places)
    for _, request in ipairs(requests) do longest = math.max(longest, request.e2e_us or 0) end
    assert.equal(longest, requests[places[1]].e2e_us)
    for i = 2, 5 do
      assert.is_true(requests[places[i]].e2e_us <= requests[places[i - 1]].e2e_us)
    end
    assert.equal(result.completed, #requests:slowest(1000))
  end)
end)

describe("the page of a run", function()
  local result = blis.run(small.experiment { series_interval_us = 50000,
    trace_level = "decisions", slo_targets = { standard = { ttft_ms = 40 } } })
  local text = page_of(result)

  it("is the same for the same run", function()
    assert.equal(text, page_of(result))
  end)

  it("needs nothing from anywhere else", function()
    assert_has(text, "default-src &#39;none&#39;")
    assert.is_nil(text:find(" src=", 1, true))
    assert.is_nil(text:find("url(", 1, true))
    assert.is_nil(text:find("@import", 1, true))
  end)

  it("shows the figures of the result", function()
    assert_has(text, result.hash)
    assert_has(text, ("%.1f ms"):format(result.ttft_ms.p99))
    assert_has(text, "60 arrived = 60 completed")
    local shown = island(text, "result")
    assert.equal(result.hash, shown.hash)
    assert.equal(result.ttft_ms.p99, shown.ttft_ms.p99)
    assert.is_nil(shown.series)
  end)

  it("says that a command prints the same JSON, where one does", function()
    local told = "as JSON, as printed by <code>--format json</code>, except the series"
    assert_has(text, told)
    local compared = page_of(blis.compare(small.experiment { routing = { "round-robin" } }))
    assert.is_nil(compared:find(told, 1, true))
    assert_has(compared, "Metrics of this page as JSON.")
  end)

  it("draws distributions that end at all requests", function()
    local found = 0
    for _, chart in ipairs(island(text, "charts")) do
      if chart.y.label == "requests within it" then
        found = found + 1
        assert.equal(1, chart.data[2][#chart.data[2]])
        for i = 2, #chart.data[2] do
          assert.is_true(chart.data[2][i] >= chart.data[2][i - 1])
        end
      end
    end
    assert.equal(3, found)
  end)

  it("draws distributions from where something is, though some tokens come at once", function()
    local r = blis.run(small.experiment { cluster = { instances = 3,
      speculation = { method = "ngram", acceptance = 0.7 } } })
    assert.equal(0, r.itl_ms.min)
    for _, chart in ipairs(island(page_of(r), "charts")) do
      if chart.title == "ITL, mean of each request" then
        local empty = 0
        for _, share in ipairs(chart.data[2]) do empty = empty + (share == 0 and 1 or 0) end
        assert.is_true(empty <= 8, empty)
        assert.equal(1, chart.data[2][#chart.data[2]])
      end
    end
  end)

  it("draws rates of enough requests each, all of them", function()
    local function widths(requests)
      local r = blis.run { workload = { rate = 200, requests = requests, prompt_tokens = 20,
        output_tokens = 3 } }
      local drawn
      for _, chart in ipairs(island(page_of(r), "charts")) do
        if chart.title == "Arrivals and completions" then drawn = chart end
      end
      local points, sum = #drawn.data[1], 0
      assert.equal(points, #drawn.data[2])
      for _, rate in ipairs(drawn.data[3]) do
        sum = sum + rate * r.duration_us / 1e6 / points
      end
      assert.near(r.completed, sum, 1e-3 * requests)
      return points
    end
    assert.equal(30, widths(300))
    assert.equal(120, widths(3000))
    assert.equal(240, widths(6000))
  end)

  it("says in one note how much was beyond what step times were fitted to", function()
    local beyond = blis.run { cluster = { model = "qwen/qwen3-14b", hardware = "H100",
        latency_model = "calibrated" },
      workload = { rate = 60, requests = 600, prompt_tokens = 500, output_tokens = 100 } }
    assert.is_true(beyond.coverage.steps_beyond > 0)
    assert.truthy(page_of(beyond):match "<li>coverage [^<]*%([^<]*%)</li>")
  end)

  it("puts its rules for paper last, so that they override", function()
    local styles = core.embedded "page/report.css"
    local at = assert(styles:find("@media print", 1, true))
    assert.is_nil(styles:find("\n@media print", at + 1, true))
    assert.is_true(at > styles:find("\nnav {", 1, true) and at > styles:find("\n.wide {", 1, true))
    assert.is_nil(styles:find("@media (prefers", 1, true), "paper would be dark")
  end)

  it("speaks of intervals of latencies only where there are some", function()
    for requests, has_them in pairs { [30] = false, [2000] = true } do
      files.with(nil, function(path)
        local experiment = small.experiment()
        experiment.workload.requests = requests
        blis.run(experiment):report(path)
        local latencies = files.read(path):match '<section [^>]*id="latencies">(.-)</section>'
        assert.equal(has_them, latencies:find("<small class=\"soft\">", 1, true) ~= nil)
        assert.equal(has_them, latencies:find("intervals for similar traffic", 1, true) ~= nil)
      end, ".html")
    end
  end)

  it("draws what the series has", function()
    local drawn
    for _, chart in ipairs(island(text, "charts")) do
      if chart.title == "KV cache in use" then drawn = chart end
    end
    assert.equal(#result.series.instances, #drawn.series)
    for row = 1, result.series.rows do
      assert.near(result.series.t_us[row] / 1e6, drawn.data[1][row], 1e-6)
      assert.near(result.series.instances[2].kv_utilization[row], drawn.data[3][row], 1e-6)
    end
  end)

  it("gives the lines of a chart the dashes that pictures of it have, but not the ends of their "
    .. "intervals", function()
      local list, given = charts.new(), { title = "t", x = { label = "x" }, y = { label = "y" },
        data = { { 1, 2 } }, series = {} }
      for i = 1, 9 do
        given.series[i], given.data[i + 1] = { label = "line " .. i }, { 1, 2 }
      end
      given.series[2].low, given.series[2].high = { 0, 1 }, { 2, 3 }
      list:add(given)
      local drawn = core.json_read(list:json(), "charts")[1].series
      local picture, in_picture = svg.document { given }, {}
      for rest in picture:gmatch '<path class="line c%d" d="M[^"]+L[^"]+"([^>]*)/>' do
        in_picture[#in_picture + 1] = rest:match 'dasharray="([^"]+)"' or ""
      end
      for i = 1, 9 do
        assert.equal(in_picture[i], table.concat(rawget(drawn[i], "dashes") or {}, " "))
      end
      assert.equal(9, #in_picture)
      assert.is_nil(rawget(drawn[10], "dashes"))
    end)

  it("says in words what charts show, for who does not see them", function()
    local least, most = math.huge, 0
    for _, chart in ipairs(island(text, "charts")) do
      if chart.title == "KV cache in use" then
        for _, value in ipairs(chart.data[2]) do
          least, most = math.min(least, value), math.max(most, value)
        end
      end
    end
    assert_has(text, ('aria-label="KV cache in use: KV blocks in use over time (s). instance_0 '
      .. '%.4g to %.4g %%, instance_1 '):format(least * 100, most * 100))
  end)

  it("draws many instances as rows of one map", function()
    local many = blis.run(small.experiment { cluster = { instances = 300 } })
    for _, chart in ipairs(island(page_of(many), "charts")) do
      if chart.kind == "heat" then
        assert.equal(100, #chart.rows)
        assert.equal("instance_003 to 005, mean", chart.rows[2])
        assert.equal(#chart.times, #chart.data[1])
      end
    end
  end)

  it("shows hostile names as text", function()
    local name = "</script><b>&amp;"
    local hostile = small.run_scorer(blis.scorer { name = name, score = function() return 1 end })
    local page = page_of(hostile)
    assert.is_nil(page:find("</script><b>", 1, true))
    assert_has(page, "&lt;/script&gt;&lt;b&gt;&amp;amp;")
  end)

  it("is there without records, without distributions", function()
    local page = page_of(blis.run(small.experiment { keep_records = false }))
    assert_has(page, "No request records were kept")
    assert.is_nil(page:find("requests within it", 1, true))
  end)

  it("is there when nothing was completed", function()
    local page = page_of(blis.run(small.experiment { admission = "reject-all" }))
    assert_has(page, "60 arrived = 0 completed + 60 rejected")
  end)

  it("says where it cannot be written", function()
    assert_has(small.message_of(result.report, result, "no/such/folder/x.html"), "no/such/folder")
    assert.has_error(function() result:report(5) end)
  end)
end)

describe("what a run was asked to simulate beside instances", function()
  --- The text of a section, without tags.
  local function section_of(text, title)
    local found = text:match('<section aria%-label="' .. title:gsub("%-", "%%-")
      .. '" id=.-</section>')
    return (assert(found, "no section " .. title):gsub("<[^>]*>", "|"):gsub("|+", "|"))
  end

  it("is told of session graphs, with the critical paths of the slowest tasks", function()
    local result = blis.run { workload = { preset = "coding-agent", rate = 1, count = 12,
      timeout_us = 0 } }
    local section, slowest = section_of(page_of(result), "Session graphs"), 0
    assert_has(section, ("|completed|%d|"):format(result.tasks.completed))
    for _, task in ipairs(result.requests:tasks()) do
      slowest = math.max(slowest, task.end_us - task.start_us)
    end
    assert.near(result.tasks.task_ms.max * 1000, slowest, 1000)
    local mean = section:match "|mean of all|[%d.]+|([%d.,]+)|"
    assert.equal(format.number(result.tasks.task_ms.mean / 1000), mean)
    local first = section:match "|task_%d+, play 1|%d+|([%d.,]+)|"
    assert.equal(format.number(slowest / 1e6), first)
    assert_has(section, "|tool|")
  end)

  it("has in large print what the summary says, in its words", function()
    local result = blis.run { disaggregation = {}, workload = { rate = 20, requests = 60,
      prompt_tokens = 400, output_tokens = 8 }, cluster = { prefill_instances = 1,
      decode_instances = 1, lora = { adapters = 3, slots = 1 } } }
    local text = page_of(result)
    local apart = section_of(text, "Prefill/decode disaggregation")
    assert_has(apart, ("|hand-offs|%d| completed|"):format(result.handoffs.completed))
    assert_has(apart, ("|busiest link busy|%s| of the time|"):format(
      format.percent(result.handoffs.busiest_link)))
    local adapters = section_of(text, "LoRA adapters")
    assert_has(adapters, ("|adapters|%s| found loaded|"):format(
      format.percent(result.lora.hit_rate)))
    assert.truthy(adapters:find "|mean wait|[%d.,]+| ms|")
    local spot = blis.run(small.experiment { cluster = { instances = 2, spot = {
      steps = { { at = 500000, available = 1 } } } } })
    assert_has(section_of(page_of(spot), "Spot capacity"), "|spot|1| reclaim|")
  end)

  it("says of each class how all its requests ended", function()
    local result = blis.run(small.experiment { cluster = { instances = 2,
        lora = { adapters = 3, slots = 3 } },
      faults = { { kind = "crash", at = 400000, instance = 1 } } })
    assert.is_true(result.failed > 0)
    local ended = section_of(page_of(result), "Requests by outcome")
    assert_has(ended, "|adapter|arrived|completed|rejected|timed out|failed|TTFT mean|")
    local counted = 0
    for failed in ended:gmatch "|adapter_%d|%d+|%d+|%d+|%d+|(%d+)|" do
      counted = counted + tonumber(failed)
    end
    assert.equal(result.failed, counted)
    assert.is_nil(tostring(result):find("timed out +failed"))
    assert_has(section_of(page_of(result), "Faults"), "|All faults|")
  end)

  it("tells of which pool an autoscaler changed the number of instances", function()
    local experiment = { workload = { rate = 40, requests = 400, prompt_tokens = 2000,
        output_tokens = 20 }, cluster = { prefill_instances = 1, decode_instances = 1 },
      autoscaler = { prefill = { "hpa", metrics = { queue_depth = 1 } },
        decode = { "hpa", metrics = { queue_depth = 1 } } }, scaling = { max_replicas = 3 } }
    local scaling = section_of(page_of(blis.run(experiment)), "Scaling")
    assert.truthy(scaling:find("|All changes|time (s)|pool|from|to|reason|", 1, true))
    assert.truthy(scaling:find "|%d+%.%d|prefill|1|3|")
    assert.is_nil(presence.instances(blis.run(experiment)).caption)
    experiment.autoscaler.prefill = nil
    assert.equal("Shows the decode pool; other pools are not scaled.",
      presence.instances(blis.run(experiment)).caption)
    local together = blis.run(small.experiment { autoscaler = { "hpa",
      metrics = { queue_depth = 1 } }, scaling = { max_replicas = 4 } })
    assert.is_nil(presence.instances(together).caption)
    assert_has(section_of(page_of(together), "Scaling"), "|All changes|time (s)|from|to|reason|")
  end)

  it("is told of KV tiers, adapters, drafts and spot capacity", function()
    local result = blis.run { kv_tiers = { { name = "host", gb = 4, read_gb_s = 10 },
        { name = "<disk>", gb = 20, read_gb_s = 2 } }, series_interval_us = 100000,
      cluster = { instances = 2, kv_blocks = 1500, gpu_price_per_hour = 3,
        lora = { adapters = 3, slots = 1 },
        speculation = { method = "ngram", acceptance = 0.7 },
        spot = { notice = 1000, steps = { { at = 0, available = 2, gpu_price_per_hour = 1 } } } },
      workload = { rate = 20, requests = 200, prompt_tokens = 100, output_tokens = 20,
        prefixes = { groups = 20, tokens = 2000 } } }
    local text = page_of(result)
    local tiers = section_of(text, "KV tiers")
    assert.is_true(result.kv_tiers.tiers[1].hit_rate > 0)
    assert_has(tiers, ("|hit rate of host|%s|"):format(
      format.percent(result.kv_tiers.tiers[1].hit_rate)))
    assert_has(tiers, "|hit rate of &lt;disk&gt;|")
    local host = result.kv_tiers.tiers[1]
    assert.is_true(host.used_blocks > host.peak_blocks) -- of both stores, and of one
    assert_has(tiers, ("|blocks in all stores at the end|%s|"):format(
      format.count(host.used_blocks)))
    assert_has(tiers, ("|most blocks in one store|%s|"):format(format.count(host.peak_blocks)))
    assert_has(tiers, ("|saved blocks|%s|%s|"):format(
      format.count(result.kv_tiers.tiers[1].saved_blocks),
      format.count(result.kv_tiers.tiers[2].saved_blocks)))
    local adapters = section_of(text, "LoRA adapters")
    assert_has(adapters, ("|hit rate|%s|"):format(format.percent(result.lora.hit_rate)))
    assert_has(adapters, ("|adapter_1|%d|"):format(result.lora.adapters[1].loads))
    assert_has(section_of(text, "Over time"), "|LoRA adapters|Totals over running "
      .. "instances: an adapter on two instances counts twice.|")
    assert_has(section_of(text, "Speculative decoding"), ("|acceptance rate|%s|"):format(
      format.percent(result.speculation.acceptance_rate)))
    assert_has(section_of(text, "Spot capacity"), ("|saved share|%s|"):format(
      format.percent(result.spot.saved_share)))
    assert_has(section_of(text, "Requests by outcome"), "By adapter")
    local drawn
    for _, chart in ipairs(island(text, "charts")) do
      if chart.title == "Loaded from KV tiers" then drawn = chart end
    end
    assert.equal("<disk>", drawn.series[2].label)
    local loaded, rows = result.series.kv_tiers[1].loaded_blocks, result.series.rows
    assert.equal(loaded[1], drawn.data[2][1])
    assert.equal(loaded[rows], drawn.data[2][rows])
  end)

  it("is told of pools and of the gateway's queue", function()
    local result = blis.run { queue = { max_requests = 50 }, series_interval_us = 100000,
      cluster = { prefill_instances = 1, decode_instances = 2 },
      workload = { rate = 50, requests = 200, prompt_tokens = 800, output_tokens = 40 } }
    local text = page_of(result)
    assert_has(section_of(text, "Configuration"), ", for prefill|")
    assert.truthy(text:match "<h1>[^<]*%(prefill%), 2 ×[^<]*%(decode%)</h1>")
    local section = section_of(text, "Prefill/decode disaggregation")
    assert_has(section, ("|busiest link|%s|"):format(format.percent(
      result.handoffs.busiest_link)))
    assert_has(section, "|instance_0 out|")
    assert_has(section_of(text, "Instances"), "|instance_2|decode|")
    assert_has(section_of(text, "Queue of the gateway"), "|priority ")
    local labels = {}
    for _, chart in ipairs(island(text, "charts")) do
      labels[chart.title] = chart.series[1].label
    end
    assert.equal("instance_0 (prefill)", labels["Batch size"])
    assert.equal("active KV transfers", labels["Hand-offs"])
    assert.truthy(labels["Queue of the gateway"]:find "^priority ")
  end)

  it("is told of data-parallel ranks", function()
    local result = blis.run { cluster = { instances = 1, model = "qwen3-30b-a3b",
        hardware = "H100", tp = 1, ranks = { count = 2 } },
      workload = { rate = 20, requests = 60, prompt_tokens = 400, output_tokens = 20 } }
    assert.is_true(result.ranks.barrier_loss > 0)
    assert_has(section_of(page_of(result), "Data-parallel ranks"), ("|barrier loss|%s|"):format(
      format.percent(result.ranks.barrier_loss)))
  end)

  --- The chart of a page with a title, with its rows by the labels of its series.
  local function chart_of(text, title)
    for _, chart in ipairs(island(text, "charts")) do
      if chart.title == title then
        local rows, points = {}, {}
        for i, one in ipairs(chart.series) do
          rows[one.label], points[one.label] = chart.data[i + 1], one.is_points
        end
        return rows, points, chart.data[1]
      end
    end
  end

  --- What a row says at a time, of steps.
  local function at(times, row, second)
    local value
    for k, time in ipairs(times) do
      if time <= second then value = row[k] end
    end
    return value
  end

  it("draws a market: what is wanted, to be had, there and serving, and what it costs", function()
    local s, null = blis.seconds, core.json_null
    local result = blis.run { cluster = { gpu_price_per_hour = 3, latency_model = function()
        return 100000 end, groups = { { instances = 1 }, { instances = 2, spot = { notice = s(4),
        restart_time = s(3), steps = { { at = s(20), available = 0, gpu_price_per_hour = 2 },
          { at = s(30), available = 2 }, { at = s(40), gpu_price_per_hour = 1 } } } } } },
      faults = { { kind = "crash", at = s(5), instance = 1, recover_after = s(2),
        requests = "rerouted" }, { kind = "slow", at = s(25), instance = 1 },
        { kind = "crash", at = s(25), instance = 2 } },
      routing = "round-robin",
      workload = { rate = 2, requests = 100, prompt_tokens = 20, output_tokens = 100,
        arrival = "constant" } }
    local text = page_of(result)
    local rows, points, times = chart_of(text, "Instances")
    local expected = { -- wanted, to be had, there, serving
      [1] = { 3, 3, 3, 3 }, [6] = { 3, 3, 2, 2 }, [8] = { 3, 3, 3, 3 }, [17] = { 3, 3, 3, 1 },
      [21] = { 3, 1, 1, 1 }, [31] = { 3, 3, 3, 1 }, [34] = { 3, 3, 3, 3 },
    }
    for second, counts in pairs(expected) do
      for i, label in ipairs { "wanted", "available", "there", "serving" } do
        assert.equal(counts[i], at(times, rows[label], second), label .. " at " .. second)
        assert.is_nil(points[label])
      end
    end
    for label, time in pairs { crash = 5, ["reclaim notice"] = 16, slower = 25 } do
      assert.is_true(points[label])
      for k, value in ipairs(rows[label]) do
        assert.equal(times[k] == time, value ~= null, label)
      end
    end
    local prices, _, price_times = chart_of(text, "Price of spot capacity")
    for second, price in pairs { [1] = 2, [30] = 2, [41] = 1 } do
      assert.equal(price, at(price_times, prices["price of a GPU"], second))
    end
    files.with(nil, function(path)
      result:save(path)
      assert.equal(result:plot { show = { "replicas", "price" } },
        blis.load_result(path):plot { show = { "replicas", "price" } })
    end)
  end)

  it("draws faults where an autoscaler replaces instances, and nothing where none goes", function()
    local experiment = small.experiment { autoscaler = function() end,
      scaling = { max_replicas = 4 }, faults = { { kind = "crash", at = 100000, instance = 1,
        requests = "rerouted" } } }
    local _, points = chart_of(page_of(blis.run(experiment)), "Instances")
    assert.is_true(points.crash)
    assert.is_nil(points.paid)
    local plain = page_of(blis.run(small.experiment()))
    assert.is_nil(chart_of(plain, "Instances"))
    assert.is_nil(chart_of(plain, "Price of spot capacity"))
  end)

  it("is explained in sentences, that do not hang on the name of the figure", function()
    local figures, parts = require "blis.results.figures", require "blis.page.parts"
    local hanging = { of = true, that = true, ["for"] = true, by = true, ["and"] = true,
      from = true, on = true, at = true, ["in"] = true, with = true, these = true, was = true }
    for _, class in ipairs { "Counts", "Tasks", "Handoffs", "Link", "KvTiers", "KvTier", "Ranks",
      "Queue", "QueueBand", "Speculation", "Lora", "LoraAdapter", "CascadeSums", "Cascade", "Spot",
      "ClassGoodput", "Goodput", "Energy", "Cost", "Coverage" } do
      for _, figure in ipairs(figures.of(class)) do
        local first = figure.doc:match "^%S+"
        local kind = figure.type or ""
        if kind:find "^integer" or kind:find "^number" then
          assert.is_nil(hanging[first], ("%s.%s: %s"):format(class, figure.name, figure.doc))
          assert.truthy(figure.doc:find " ", figure.doc)
          local told = parts.sentence(figure.doc)
          for _, raw in ipairs { "%l_%l", "%f[%w]nil%f[%W]", "^[^ ]*%.$", ": *%.$" } do
            assert.is_nil(told:find(raw), told)
          end
        end
      end
    end
    assert.equal("Requests that wait.", parts.sentence "requests that wait")
    assert.equal("KV.", parts.sentence "KV.")
    for doc, told in pairs {
      ["what it cost; nil = not known"] = "What it cost.",
      ["share saved: 1 - usd / on_demand_usd"] = "Share saved.",
      ["all: done + timed_out; 0 = none"] = "All; 0 = none.",
      ["time of both: own / (own + others)"] = "Time of both.",
      ["loss: 1 - sum of times / sum of passes"] = "Loss: 1 - sum of times / sum of passes.",
      ["blocks of peers, part of loaded_blocks"] = "Blocks of peers, part of loaded blocks.",
      ["latency: itl_ms of all"] = "Latency: ITL of all.",
      ["what is missing to paid_share"] = 'What is missing to billed.',
      ["part of peak_blocks"] = 'Part of "most blocks in one store".',
    } do
      assert.equal(told, parts.sentence(doc))
    end
    local ends = section_of(page_of(blis.run(small.experiment())), "Requests by outcome")
    assert_has(ends, "|Requests that were answered, length capped ones included.|")
  end)

  it("tells the share of all prompt blocks that were in caches, not the mean of instances",
    function()
      local n = 0
      local experiment = small.experiment { cluster = { instances = 3 }, routing = blis.router {
        name = "first", route = function()
          n = n + 1
          return n % 4 == 0 and 2 or 1
        end },
        workload = { rate = 20, requests = 60, prompt_tokens = 50, output_tokens = 3,
          prefixes = { groups = 2, tokens = 400 } } }
      local result = blis.run(experiment)
      local overall = format.percent(result.cache_hit_rate_overall)
      assert.not_equal(overall, format.percent(result.cache_hit_rate))
      assert_has(page_of(result), "<dt>prompt blocks in cache</dt><dd>" .. overall)
      experiment.routing = { experiment.routing, "round-robin" }
      local text = page_of(blis.compare(experiment))
      local row = text:match '<tr><th scope="row">first</th>(.-)</tr>'
      assert_has(row, "<td>" .. overall .. "</td>")
      assert.truthy(text:match("\nfirst[^\n]*" .. overall:gsub("%p", "%%%0")))
    end)

  it("is told of targets, by what the good requests are", function()
    local result = blis.run(small.experiment { slo_targets = { default = { ttft_ms = 50 } } })
    assert_has(section_of(page_of(result), "Targets"), "|good requests|")
  end)

  it("is in the title where an autoscaler changes how many instances there are", function()
    local experiment = small.experiment { autoscaler = { "hpa", metrics = { queue_depth = 1 } },
      scaling = { max_replicas = 4 } }
    assert.truthy(page_of(blis.run(experiment)):match "<h1>[^<]*initially, then autoscaled</h1>")
    assert.is_nil(page_of(blis.run(small.experiment())):find("autoscaled</h1>", 1, true))
  end)

  it("is not told of runs without it", function()
    local text = page_of(blis.run(small.experiment()))
    for _, title in ipairs { "KV tiers", "Session graphs", "Targets", "Energy" } do
      assert.is_nil(text:find(('aria-label="%s"'):format(title), 1, true), title)
    end
  end)

  it("is side by side in comparisons", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "least-loaded" },
      slo_targets = { default = { ttft_ms = 20 } } })
    local section = section_of(page_of(compared), "Features in use")
    assert_has(section, ("|attainment|%s|%s|"):format(format.percent(
      compared[1].goodput.attainment), format.percent(compared[2].goodput.attainment)))
    assert.is_nil(page_of(blis.compare(small.experiment { routing = { "round-robin",
      "least-loaded" } })):find("Features in use", 1, true))
  end)
end)

describe("pages of several runs", function()
  it("show results side by side", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "weighted" } })
    local text = page_of(compared)
    assert_has(text, "round-robin, weighted compared")
    assert_has(text, "<p>Traffic: generated requests: ")
    local shown = island(text, "figures-json")
    assert.equal("weighted", shown[2].label)
    assert.equal(compared[2].hash, shown[2].result.hash)
    assert.equal("weighted", island(text, "charts")[1].series[2].label)
  end)

  it("call figures what readers call them, with their units", function()
    local found = blis.sweep { name = "s", parameters = { { "x", { 1, 2 } } },
      report = { "ttft_ms.p99", "tokens_per_sec", "own_figure" },
      trial = function(p)
        return { ["ttft_ms.p99"] = p.x, tokens_per_sec = p.x, own_figure = p.x }
      end }:run { quiet = true }
    local text = page_of(found):gsub("<wbr>", "")
    assert_has(text, ">TTFT p99 (ms)</th>")
    assert_has(text, ">throughput (tokens/s)</th>")
    assert_has(text, ">own_figure</th>")
    local drawn = island(text, "charts")
    assert.same({ "TTFT p99", "throughput", "own_figure", "throughput against TTFT p99" },
      { drawn[1].title, drawn[2].title, drawn[3].title, drawn[4].title })
    assert.same({ "TTFT p99", "ms" }, { drawn[1].y.label, drawn[1].y.unit })
    assert.equal("TTFT p99", drawn[1].series[1].label)
    assert.equal("tokens/s", drawn[4].y.unit)
    for path, title in pairs { ["ttft_ms.p99.9"] = "TTFT p99.9",
      ["by_tenant.a_ms.e2e_ms.mean"] = "tenant a_ms E2E mean", cache_hit_rate_overall =
      "prompt blocks in cache", ["goodput.attainment"] = "SLO attainment" } do
      assert.equal(title, names.title(path))
    end
  end)

  it("show differences with their intervals", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "weighted" },
      replications = 3, quiet = true })
    local text = page_of(compared)
    assert_has(text, '<path class="line c0"')
    assert.equal(2, #island(text, "figures-json"))
    assert_has(text, "change against round-robin, with the range of the 3 pairs")
    assert_has(text, ">change of TTFT p99 (%)</text>")
    assert.is_nil(text:find("…", 1, true))
    assert_has(text, ' width="450"')
    compared = blis.compare(small.experiment { routing = { "round-robin", { "weighted",
      scorers = { { "queue-depth", 1 } } } }, replications = 2, quiet = true })
    assert.is_nil(page_of(compared):find("…", 1, true)) -- long names get more room
    assert.is_nil(text:find("95 % interval", 1, true))
    compared = blis.compare(small.experiment { routing = { "round-robin", "weighted" },
      replications = 4, quiet = true })
    text = page_of(compared)
    assert_has(text, "change against round-robin, with 95 % intervals")
    assert.is_nil(text:find("range of the", 1, true))
  end)

  it("show what nothing else beats in a sweep", function()
    local found = blis.sweep {
      name = "<sweep>", parameters = { { "x", { 1, 2, 3 } } }, report = { "ttft_ms.mean",
        "tokens_per_sec" }, replications = 2,
      trial = function(p)
        return { ["ttft_ms.mean"] = p.x + p.seed / 1e6, tokens_per_sec = p.x == 2 and 1 or p.x }
      end,
    }:run { quiet = true }
    local text = page_of(found)
    assert_has(text, "Sweep &lt;sweep&gt;")
    assert_has(text, "Means, with the range of the runs below them")
    for name, cell in pairs { ["parameter x"] = "1, 2, 3", replications = "2 of each point",
      seeds = "42 to 43" } do
      assert_has(text, ('<th scope="row">%s</th><td class="words">%s</td>'):format(name, cell))
    end
    assert.truthy(text:find("script and its inputs</th><td class=\"words\">XXH128 %x+<"))
    assert.is_nil(text:find(">results in<", 1, true))
    assert.equal("setup", text:match '<section [^>]*id="([^"]+)"')
    local drawn, null = island(text, "charts"), core.json_null
    assert.equal(3, #drawn)
    assert.same({ 1, 2, 3 }, drawn[1].data[1])
    assert.same({ 1, null, 3 }, drawn[3].data[2])
    assert.same({ null, 1, null }, drawn[3].data[3])
  end)
end)

describe("the parameters of a sweep with many values", function()
  it("are told by their number and ends", function()
    local numbers, words = {}, {}
    for i = 1, 13 do numbers[i], words[i] = i / 4, "v" .. i end
    local text = page_of(blis.sweep {
      name = "s", parameters = { { "x", numbers }, { "word", words } }, replications = 1,
      trial = function() return { y = 1 } end,
    }:run { quiet = true })
    assert_has(text, ">13 values from 0.25 to 3.25<")
    assert_has(text, ">13 values<")
    assert_has(text, ">42<")
  end)
end)

describe("--report #host", function()
  local flags = { "--model", "qwen/qwen3-14b", "--hardware", "H100", "--rate", "40",
    "--num-requests", "50", "--num-instances", "2" }

  local function run(command, ...)
    local words = { command, table.unpack(flags) }
    for _, word in ipairs { ... } do words[#words + 1] = word end
    return program.run(table.unpack(words))
  end

  it("has the figures of --format json, and the command", function()
    files.with(nil, function(path)
      local done = run("run", "--format", "json", "--series-interval", "100ms", "--report", path)
      assert.equal(0, done.status)
      local text, json = files.read(path), core.json_read(done.out, "out")
      json.series = nil
      assert.same(json, island(text, "result"))
      assert_has(text, "blis run --model qwen/qwen3-14b --hardware H100 --rate 40")
    end, ".html")
  end)

  it("has a series when none was asked for, which changes nothing", function()
    files.with(nil, function(path)
      local plain, done = run("run"), run("run", "--report", path)
      assert.equal(plain.out, done.out)
      assert_has(files.read(path), "KV cache in use")
    end, ".html")
  end)

  it("compares", function()
    files.with(nil, function(path)
      local done = run("compare", "--policies", "round-robin,weighted", "--replications", "1",
        "--report", path)
      assert.equal(0, done.status)
      assert_has(files.read(path), "blis compare --model")
    end, ".html")
  end)

  it("says of a sweep's folder that it is only read, and of the script that it runs", function()
    local function with_page(words, check)
      files.with(nil, function(path)
        words[#words + 1] = path
        local done = program.run(table.unpack(words))
        assert.equal(0, done.status, done.err)
        check(files.read(path))
      end, ".html")
    end
    files.with([[
local blis, store, page = require "blis", ...
blis.sweep { name = "s", parameters = { { "x", { 1, 2 } } }, replications = 1,
  trial = function(p) return { y = p.x } end }:run { store = store, quiet = true }:report(page)
]], function(script)
      local store = script .. ".store"
      local read
      with_page({ script, store }, function(text)
        assert_has(text, "The same bytes come out of the script (XXH128 ")
        assert_has(text, store .. "</td>")
      end)
      with_page({ "sweep", "table", store, "--report" }, function(text)
        read = text
        assert.is_nil(text:find("The same bytes", 1, true))
        assert_has(text, ("reads the results in the folder <code>%s</code> and runs nothing")
          :format(store))
      end)
      assert.truthy(read:find("parameter x</th><td class=\"words\">1, 2<"))
      os.execute("rm -r " .. program.quote(store))
    end, ".lua")
  end)

  it("is tried before anything is run", function()
    local done = run("compare", "--policies", "round-robin,weighted", "--report", "no/such/x.html")
    assert.equal(1, done.status)
    assert_has(done.err, "no/such")
  end)
end)
