-- Pictures of charts: axes, SVG, characters, and who asks for them.
local axis = require "blis.plot.axis"
local blis = require "blis"
local cdf = require "blis.charts.cdf"
local commands = require "spec.support.commands"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local plot = require "blis.plot"
local ranges = require "blis.charts.ranges"
local report = require "blis.results.report"
local shapes = require "blis.plot.shapes"
local small = require "spec.support.small"
local svg = require "blis.plot.svg"
local text = require "blis.plot.text"

--- Raises unless every element that begins ends, in that order, and all numbers are numbers.
local function check_form(picture)
  local open = {}
  for close, name, empty in picture:gmatch "<(/?)(%a+)[^>]-(/?)>" do
    if close == "/" then
      assert.equal(name, table.remove(open))
    elseif empty == "" then
      open[#open + 1] = name
    end
  end
  assert.same({}, open)
  assert.is_nil(picture:find "%f[%a]nan%f[%A]")
  assert.is_nil(picture:find "%f[%a]inf%f[%A]")
end

local function lines(more)
  local chart = { title = "Title", x = { label = "rate" }, y = { label = "time", unit = "ms" },
    series = { { label = "one" } }, data = { { 0, 10 }, { 0, 100 } } }
  for key, value in pairs(more or {}) do chart[key] = value end
  return chart
end

--- A chart whose axes are logarithmic.
local function logarithmic(x, y)
  return lines { x = { label = "x", log = true }, y = { label = "y", log = true },
    data = { x, y } }
end

describe("an axis", function()
  local function scale(values, spec, options)
    spec.label = "x"
    return axis.new(lines { x = spec, data = { values, values } }, "x", options)
  end

  it("has round numbers between its ends", function()
    assert.same({ "0", "20", "40", "60", "80", "100" }, scale({ 3, 97 }, { from_zero = true },
      { most = 6, is_rounded = true }).texts)
    assert.same({ "0.2", "0.4", "0.6", "0.8" }, scale({ 0.1, 0.9 }, {}, { most = 4 }).texts)
    assert.same({ "2.5", "5.0", "7.5" }, scale({ 0.1, 9.4 }, {}, { most = 4 }).texts)
    assert.same({ "0", "1M", "2M" }, scale({ 0, 2e6 }, {}, { most = 2 }).texts)
    assert.same({ "0 %", "50 %", "100 %" }, scale({ 0, 1 }, { percent = true, range = { 0, 1 } },
      { most = 3 }).texts)
    assert.same({ "-1", "0", "1" }, scale({ -1, 1 }, {}, { most = 2 }).texts)
  end)

  it("has powers of ten where it is logarithmic, and round numbers where these are too few",
    function()
      assert.same({ "1", "10", "100", "1,000" }, scale({ 1, 1000 }, { log = true },
        { most = 4 }).texts)
      assert.same({ "10", "20", "50", "100" }, scale({ 10, 100 }, { log = true },
        { most = 4 }).texts)
      assert.same({ "1,740", "1,760", "1,780", "1,800" }, scale({ 1730, 1810 }, { log = true },
        { most = 5 }).texts)
      local log = scale({ 1, 100 }, { log = true })
      assert.near(0.5, log:share(10), 1e-12)
      assert.equal(0, log:share(-1))
    end)

  it("holds every value, and has ticks that ascend inside, at random", function()
    local rng = blis.rng(7, "axes")
    for _ = 1, 2000 do
      local low = ((rng:integer(0, 1000000) / 1e6) - 0.5) * 10 ^ rng:integer(-6, 9)
      local high = low + (rng:integer(0, 1000000) / 1e6) * 10 ^ rng:integer(-6, 9)
      local is_log = rng:integer(0, 1) == 1
      if is_log then low, high = math.abs(low) + 1e-9, math.abs(low) + math.abs(high) + 1e-9 end
      local made = scale({ low, high }, { log = is_log, from_zero = rng:integer(0, 3) == 0
        and not is_log }, { most = rng:integer(2, 9), room = rng:integer(0, 1) * 0.04,
        is_rounded = not is_log and rng:integer(0, 1) == 1 })
      local slack = (made.high - made.low) * 1e-6
      assert.is_true(made.low <= low + slack and made.high >= high - slack)
      for i, tick in ipairs(made.ticks) do
        assert.is_true(tick >= made.low - slack and tick <= made.high + slack)
        assert.is_true(i == 1 or tick > made.ticks[i - 1])
        assert.is_true(#made.texts[i] > 0)
      end
    end
  end)
end)

describe("a picture as SVG", function()
  it("has marks, lines and intervals where the numbers are", function()
    local chart = lines { series = { { label = "one", low = { 0, 50 }, high = { 0, 100 } } } }
    local picture = svg.document({ chart }, { width = 720, height = 400 })
    check_form(picture)
    local x0, y0 = picture:match 'line c0" d="M([%d.]+) ([%d.]+)L'
    local x1, y1 = picture:match 'line c0" d="M[%d. ]+L([%d.]+) ([%d.]+)"'
    assert.near(702, tonumber(x1), 0.015 * 662 + 0.1)
    local from, to = picture:match(('line c0" d="M%s ([%%d.]+)V([%%d.]+)M'):format(x1))
    assert.equal(y1, to)
    assert.near((tonumber(y0) + tonumber(y1)) / 2, tonumber(from), 0.11)
    assert.matches(('<path class="mark c0" d="M%s %sm'):format(x0, y0), picture, 1, true)
    assert.matches(">time (ms)</text>", picture, 1, true)
    assert.matches("<title>Title: time (ms) over rate</title>", picture, 1, true)
  end)

  it("has logarithmic axes", function()
    local picture = svg.document { logarithmic({ 1, 10, 100 }, { 1, 100, 10000 }) }
    check_form(picture)
    local x = {}
    for at in picture:gmatch 'mark c0" d="M([%d.]+) ' do x[#x + 1] = tonumber(at) end
    assert.near((x[1] + x[3]) / 2, x[2], 0.11)
    assert.matches(">x, logarithmic</text>", picture, 1, true)
    assert.matches(">10,000</text>", picture, 1, true)
  end)

  it("tells series apart by mark and in a legend, and escapes their names", function()
    local series, data = {}, { { 1, 2 } }
    for i = 1, 5 do
      series[i] = { label = ("p=</svg><b> & %d \1\255"):format(i) }
      data[i + 1] = { i, i + 1 }
    end
    local picture = svg.document { lines { series = series, data = data, title = "a<b" } }
    check_form(picture)
    assert.is_nil(picture:find("<b>", 1, true))
    assert.is_nil(picture:find("[\1\255]"))
    assert.matches("p=&lt;/svg&gt;&lt;b&gt; &amp; 5 ??</text>", picture, 1, true)
    assert.equal(3, select(2, picture:gsub("h7.2v7.2", "")))
    assert.equal(3, select(2, picture:gsub('class="mark c4"', "")))
  end)

  it("keeps long names inside", function()
    local picture = svg.document({ lines { title = ("long "):rep(100) },
      { title = "r", kind = "ranges", rows = { ("policy "):rep(40), "b" }, data = { { 1, 2 } },
        series = { { label = "f" } }, x = { label = "f" }, y = { label = "p" } } },
      { width = 400 })
    check_form(picture)
    for words in picture:gmatch ">([^<]*)</text>" do assert.is_true(utf8.len(words) <= 60) end
    assert.matches("…</text>", picture, 1, true)
  end)

  it("draws one point, equal ones, none, and holes", function()
    for _, data in ipairs { { { 3 }, { 7 } }, { { 3, 4 }, { 7, 7 } }, { {}, {} },
      { { 1, 2, 3 }, { 1, false, 3 } }, { { 1, 2 }, { 0 / 0, 5 } }, { { 0, 0 }, { 0, 0 } } } do
      check_form(svg.document { lines { data = data } })
      check_form(svg.document { logarithmic(data[1], data[2]) })
      text.draw { lines { data = data }, logarithmic(data[1], data[2]) }
    end
  end)

  it("draws maps, neighbours that are alike as one", function()
    local picture = svg.document { { title = "m", kind = "heat", x = { label = "time" },
      y = { label = "n" }, rows = { "a", "b" }, times = { 1, 2, 3, 4 },
      data = { { 0, 0, 12, 12 }, { 12, 6, 6, 0 } } } }
    check_form(picture)
    assert.equal(2, select(2, picture:gsub('class="heat"', "")))
    local runs = 0
    for d in picture:gmatch 'class="heat" d="([^"]+)"' do
      runs = runs + select(2, d:gsub("M", ""))
    end
    assert.equal(3, runs)
    assert.matches("nothing is 0, the strongest is 12<", picture, 1, true)
  end)
end)

describe("a picture of characters", function()
  it("is a letter for each series, and a star where they meet", function()
    assert.equal([[
Title
time (ms)
10 |         b*
   |         a
   |  b
 5 |
   |
   |a a
 0 |b
   ++----+----+
    0    5   10
       rate
  a  one
  b  two
  *  several of them]], text.draw({ lines { series = { { label = "one" }, { label = "two" } },
      data = { { 0, 2, 9, 10 }, { 2, 2, 8, 10 }, { 0, 7, 10, 10 } } } },
      { width = 11, height = 7 }))
  end)

  it("has no control characters, whatever names are", function()
    local drawn = text.draw { lines { title = "a\27[31m\255", series = { { label = "x\7" },
      { label = "y" } }, data = { { 1, 2 }, { 1, 2 }, { 2, 1 } } } }
    assert.is_nil(drawn:find "[\7\27\255]")
    assert.is_truthy(utf8.len(drawn))
  end)

  it("shows ranges around their means", function()
    assert.equal([[
f
means
a    | |--------o--------|
long |                            o]], (text.draw({ { title = "f", caption = "means",
      kind = "ranges", rows = { "a", "long" }, data = { { 2, 4 } }, x = { label = "f" },
      y = { label = "p" },
      series = { { label = "f", low = { 1, false }, high = { 3, false } } } } },
      { width = 30 }):gsub("\n *%+.*$", "")))
  end)

  it("shortens names to the width that they have", function()
    assert.equal("abc", shapes.fitted("abc", 3 * 0.61 * 12))
    assert.equal("ab…", shapes.fitted("abcd", 3 * 0.61 * 12))
    assert.equal("äö…", shapes.fitted("äöüx", 3 * 0.61 * 12))
    assert.equal("\xff\xfe…", shapes.fitted("\xff\xfe\xfd\xfc", 3 * 0.61 * 12))
  end)

  it("has intervals from end to end, with the mean inside, in SVG", function()
    local picture = svg.document { { title = "f", caption = "means", kind = "ranges",
      rows = { "a" }, data = { { 2.5 } }, x = { label = "f" }, y = { label = "p" },
      series = { { label = "f", low = { 1 }, high = { 3 } } } } }
    check_form(picture)
    local from, y, to, ends = picture:match 'line c0" d="M([%d.]+) ([%d.]+)H([%d.]+)(M[^"]*)"'
    assert.equal(("M%s %.1fv8M%s %.1fv8"):format(from, y - 4, to, y - 4), ends)
    local x, mark_y = picture:match 'mark c0" d="M([%d.]+) ([%d.]+)'
    assert.equal(y, mark_y)
    assert.near(0.75, (x - from) / (to - from), 0.01)
  end)
end)

describe("pictures of runs", function()
  local result = blis.run(small.experiment { series_interval_us = 50000 })

  it("are of what is asked for", function()
    local drawn = result:plot()
    for _, title in ipairs { "TTFT", "ITL, mean of each request", "E2E" } do
      assert.matches("\n" .. title .. "\n", "\n" .. drawn, 1, true)
    end
    assert.matches("^Queue depth\n", result:plot { show = "queue" })
    assert.matches("KV cache in use\n", result:plot { show = { "rates", "kv" } }, 1, true)
    assert.matches("\n  b  instance_1", result:plot { show = "batch", height = 6 }, 1, true)
  end)

  it("are files, whole or not at all", function()
    folders.with(function(folder)
      require "blis.core".make_folder(folder)
      assert.is_nil(result:plot { show = "time", path = folder .. "/a.svg" })
      check_form(files.read(folder .. "/a.svg"))
      result:plot { show = "ttft", path = folder .. "/a.txt", height = 5 }
      assert.equal(result:plot { show = "ttft", height = 5 } .. "\n",
        files.read(folder .. "/a.txt"))
      small.says(small.message_of(result.plot, result, { path = "no/such/folder/x.svg" }),
        "no/such/folder")
    end)
  end)

  it("are PNG where rsvg-convert is there, and say so where not #host", function()
    local program = require "spec.support.program"
    folders.with(function(folder)
      require "blis.core".make_folder(folder)
      local path = folder .. "/it's.png"
      local ok, problem = pcall(result.plot, result, { path = path })
      if ok then
        assert.equal("\137PNG\r\n\26\n", files.read(path):sub(1, 8))
      else
        small.says(tostring(problem), "apt-get install librsvg2-bin")
      end
      result:save(folder .. "/a.blis")
      local outcome = program.shell(('PATH=/nowhere "$BLIS" plot %s/a.blis --output %s/b.png')
        :format(folder, folder))
      assert.not_equal(0, outcome.status)
      small.says(outcome.err, "apt-get install librsvg2-bin")
      assert.is_nil(io.open(folder .. "/b.png"))
    end)
  end)

  it("say what cannot be drawn", function()
    for _, case in ipairs {
      { { show = "ttfx" }, "plot: show: invalid value 'ttfx'; did you mean 'ttft'?" },
      { { show = {} }, "expected a name or a list of names" },
      { { show = "replicas" }, "plot: show: 'replicas' requires an autoscaler" },
      { { show = "tiers" }, "plot: show: 'tiers' requires series_interval_us and kv_tiers" },
      { { widht = 3 }, "plot: unknown option 'widht'; did you mean 'width'?" },
      { { width = 2 }, "plot: width: invalid value 2: expected an integer from 5 to 20000" },
      { { log = "z" }, "expected 'x', 'y' or 'xy'" },
      { { show = "queue", log = "y" }, "must be above 0" },
      { { path = "a.jpg" }, "plot: invalid value 'a.jpg': expected a name that ends in .svg" },
      { { path = "" }, "plot: invalid value '': expected the path of a file" },
      { { columns = 0 }, "plot: columns: invalid value 0" },
      { "x", "plot: invalid value 'x': expected a table of options" },
    } do
      small.says(small.message_of(result.plot, result, case[1]), case[2])
    end
    local bare = blis.run(small.experiment { keep_records = false })
    small.says(small.message_of(bare.plot, bare), "'latencies' requires records")
    small.says(small.message_of(bare.plot, bare, { show = "kv" }), "requires series_interval_us")
  end)
end)

describe("distributions of one value", function()
  it("are vertical steps with room on both sides", function()
    local one = blis.run { workload = { requests = 1 } }
    local charts = cdf.charts({ one }, { "" })
    assert.equal(3, #charts)
    for _, chart in ipairs(charts) do
      local x, shares = chart.data[1], chart.data[2]
      assert.equal(0, shares[1])
      assert.equal(1, shares[#shares])
      assert.is_true(x[#x] / x[1] > 1.1)
      local rise
      for i = 2, #x do
        assert.is_true(x[i] > x[i - 1])
        if shares[i] > shares[i - 1] then
          assert.is_nil(rise)
          rise = x[i] - x[i - 1]
        end
      end
      assert.is_true(rise < 0.0015) -- one microsecond
      local texts = axis.new(chart, "x").texts
      for i = 2, #texts do assert.not_equal(texts[i - 1], texts[i]) end
    end
  end)
end)

describe("pictures of comparisons", function()
  it("have names as they were given", function()
    local list = {}
    for i, name in ipairs { "mine(a)", "mine(b)" } do
      list[i] = { name = name, route = function() return i end }
    end
    list[3] = { "weighted", scorers = { { "queue-depth", 1 } } }
    local compared = blis.compare { cluster = { instances = 2 }, workload = { requests = 5 },
      routing = list }
    assert.same({ "mine(a)", "mine(b)", "weighted" }, report.names(compared))
    local text_of = tostring(compared)
    assert.is_truthy(text_of:find("\nmine%(a%) "))
    assert.is_truthy(text_of:find("\nmine%(b%) "))
    assert.is_truthy(text_of:find("\nweighted .-\n  queue%-depth:1"))
    assert.is_nil(text_of:find "\n  a\n")
  end)

  it("have the policies beside each other", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "weighted" } })
    small.says(compared:plot { show = "ttft" }, "\n  a  round-robin\n  b  weighted")
    local drawn = compared:plot { show = { "ttft_ms.p99", "time" } }
    assert.matches("^TTFT p99\n", drawn)
    assert.matches("\nRequests running\n", drawn, 1, true)
    small.says(small.message_of(compared.plot, compared, { show = "ttft_ms.p98" }),
      "did you mean 'ttft_ms.p9")
  end)

  it("have means and differences with their intervals", function()
    local compared = blis.compare(small.experiment { routing = { "round-robin", "weighted" },
      replications = 4, quiet = true })
    small.says(compared:plot(), "TTFT p99\nmean and 95 % interval\nround-robin |")
    small.says(compared:plot { show = "differences" },
      "change against round-robin, with 95 % intervals\nweighted |")
    local few = blis.compare(small.experiment { routing = { "round-robin", "weighted" },
      replications = 3, quiet = true })
    local pair = few.against[2]["e2e_ms.mean"]
    local drawn = ranges.differences(few, "e2e_ms.mean")
    assert.equal("change against round-robin, with the range of the 3 pairs", drawn.caption)
    assert.same({ { 100 * pair.least }, { 100 * pair.most } },
      { drawn.series[1].low, drawn.series[1].high })
    small.says(compared:plot { show = "e2e_ms.mean" }, "E2E mean\n")
    small.says(small.message_of(compared.plot, compared, { show = "x" }),
      "plot: show: invalid value 'x'")
    folders.with(function(folder)
      require "blis.core".make_folder(folder)
      compared:plot { path = folder .. "/x.svg" }
      check_form(files.read(folder .. "/x.svg"))
    end)
  end)
end)

describe("pictures of sweeps", function()
  local found = blis.sweep { parameters = { { "x", { 1, 2, 4 } }, { "w", { "a", "b" } } },
    replications = 2, report = { "ttft_ms.mean", "tokens_per_sec" },
    trial = function(p)
      return { ["ttft_ms.mean"] = p.x + p.seed / 1e6, tokens_per_sec = p.x == 2 and 1 or p.x }
    end }:run { quiet = true }

  it("have a mark for each combination of the others", function()
    local drawn = found:plot { log = "x" }
    small.says(drawn, "x, logarithmic")
    small.says(drawn, "\n  a  w=a\n  b  w=b")
    local path = os.tmpname() .. ".svg"
    found:write_svg(path, { log = "xy" })
    local picture = files.read(path)
    os.remove(path)
    check_form(picture)
    -- Both have the same three points, where they take turns, and a mark in the legend.
    assert.equal(2 + 1, select(2, picture:gsub('class="mark c0"', "")))
    assert.equal(1 + 1, select(2, picture:gsub('class="mark c1"', "")))
  end)

  it("name metrics and units, have bands, facets, filters, and a target", function()
    local drawn = found:plot { facet = "w", target = 3 }
    small.says(drawn, "TTFT mean over x, w=a")
    small.says(drawn, "TTFT mean over x, w=b")
    small.says(drawn, "TTFT mean (ms)")
    small.says(found:plot { where = { w = "b" } }, "TTFT mean over x")
    assert.is_nil(found:plot { where = { w = "b" } }:find("w=a", 1, true))
    assert.equal(found:plot { where = { x = 2 } }, found:plot { where = { x = "2" } })
    for message, options in pairs { ["no point has these values"] = { where = { w = "c" } },
      ["where: unknown parameter"] = { where = { v = 1 } },
      ["where: invalid value 5: expected a table"] = { where = 5 },
      ["facet: unknown parameter"] = { facet = "v" },
      ["target: invalid value 'x': expected a number"] = { target = "x" } } do
      small.says(small.message_of(found.plot, found, options), message)
    end
    local path = os.tmpname() .. ".svg"
    found:write_svg(path, { where = { w = "a" }, target = 3 })
    local picture = files.read(path)
    os.remove(path)
    check_form(picture)
    small.says(picture, ">target 3 ms</text>")
    small.says(picture, 'fill-opacity="0.18"')
  end)

  it("show what nothing else beats", function()
    small.says(found:plot { show = "front" }, "throughput against TTFT mean")
    small.says(found:plot { show = "front" }, "  a  Pareto-optimal\n  b  others")
    small.says(small.message_of(found.plot, found, { show = "front", x = "z" }),
      "unknown metric 'z'")
    small.says(small.message_of(found.plot, found, { show = "fronts" }),
      "expected 'curve' or 'front'")
  end)
end)

describe("blis plot", function()
  it("draws results and sweeps", function()
    folders.with(function(folder)
      require "blis.core".make_folder(folder)
      local a, b = folder .. "/a.blis", folder .. "/b.blis"
      local one = blis.run(small.experiment {})
      one:save(a)
      blis.run(small.experiment { seed = 9 }):save(b)
      assert.equal(one:plot { show = "ttft" } .. "\n",
        commands.output_of("plot", a, "--show", "ttft"))
      small.says(commands.output_of("plot", a, b, "--show", "e2e", "--show", "ttft_ms.p50"),
        "\n  a  a\n  b  b")
      assert.equal("", commands.output_of("plot", a, "--output", folder .. "/p.svg"))
      check_form(files.read(folder .. "/p.svg"))
      small.says(commands.output_of("plot", a, "--show", "tails"), "requests above it")
      if os.execute "command -v rsvg-convert >/dev/null 2>&1" then
        assert.equal("", commands.output_of("plot", a, "--output", folder .. "/p.pdf"))
        assert.equal("%PDF-", files.read(folder .. "/p.pdf"):sub(1, 5))
      end
      local store = folder .. "/s"
      local found = blis.sweep { parameters = { { "x", { 1, 2 } } }, replications = 1,
        identity = "plot", trial = function(p) return { y = p.x } end }
        :run { quiet = true, store = store, shard = "0/1" }
      assert.equal(found:plot { y = "y" } .. "\n", commands.output_of("plot", store, "--y", "y"))
      for words, said in pairs { [{}] = "FILE is missing", [{ a, "--x", "y" }] = "--x requires",
        [{ a, "--facet", "y" }] = "--facet requires",
        [{ store, "--where", "x" }] = "expected NAME=",
        [{ store, "--where", "x=7" }] = "no point has these values",
        [{ a, "--show", "z" }] = "--show: invalid value 'z'",
        [{ store, "--show", "curve", "--show", "front" }] = "expected either 'curve' or 'front'",
        [{ folder .. "/none.blis" }] = "none.blis" } do
        local _, message = commands.error_of("plot", table.unpack(words))
        small.says(message, said)
      end
    end)
  end)

  it("takes nothing else for a picture", function()
    small.says(small.message_of(plot.check_options, { path = "x" }),
      "expected a name that ends in .svg")
  end)
end)
