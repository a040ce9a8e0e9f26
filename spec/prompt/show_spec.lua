local blis = require "blis"
local show = require "blis.show"
local small = require "spec.support.small"

describe("a value as short Lua", function()
  it("is what one would type", function()
    local t = { 1, 2.5, "x", { a = true }, b = 3.0, ["a b"] = 0.1, ["end"] = false, [1.5] = "y" }
    assert.equal('{ 1, 2.5, "x", { a = true }, ["a b"] = 0.1, b = 3.0, ["end"] = false, '
      .. '[1.5] = "y" }', show.text(t))
    local back = load("return " .. show.text(t))()
    assert.same(t, back)
    assert.equal("{}", show.text {})
    assert.equal('"x"', show.text "x")
    assert.equal("nil", show.text(nil))
    assert.equal("{ inf, -inf, nan }", show.text { math.huge, -math.huge, 0 / 0 })
  end)

  it("is the same whatever order a table has", function()
    local text = show.text { z = 1, a = 2, m = 3 }
    assert.equal("{ a = 2, m = 3, z = 1 }", text)
    assert.equal("{ [false] = 1, [true] = 2 }", show.text { [true] = 2, [false] = 1 })
  end)

  it("fills lines, with a line for each table", function()
    assert.equal([[
{
  first = 1, second = 2,
  third = { a = 1, b = 2 },
  x = 4,
}]], show.text({ first = 1, second = 2, third = { a = 1, b = 2 }, x = 4 }, 28))
  end)

  it("is cut where it is long, deep or goes round", function()
    local long = {}
    for i = 1, 1000 do long[i] = i end
    assert.matches("^{ 1, 2, .* 24, %.%.%. 976 more }$", show.text(long))
    for i = 1, 1000 do long[i] = { i, { i } } end
    local _, lines = show.text(long):gsub("\n", "")
    assert(lines < 40)
    assert.matches("%-%- 976 more\n}$", show.text(long))
    local many = {}
    for i = 1, 500 do many["key" .. i] = { value = ("x"):rep(60), other = ("y"):rep(60) } end
    _, lines = show.text(many):gsub("\n", "")
    assert(lines < 80, lines)
    assert.equal("{ { { { { { ... } } } } } }", show.text { { { { { { { 1 } } } } } } })
    local round = {}
    round.round = round
    assert.equal("{ round = { --[[ shown above ]] } }", show.text(round))
    assert.matches('^"x+" %.%. 930 more$', show.text(("x"):rep(1000)))
  end)

  it("cannot command a terminal", function()
    assert.equal([[{ "\027[2J\n\"" }]], show.text { "\27[2J\n\"" })
    assert.is_nil(show.text({ ["\27[2J"] = 1 }):find "\27")
  end)

  it("has objects and functions by what they are", function()
    local text = show.text { blis.rng(1, "x"), blis.run, print, coroutine.create(print) }
    assert.is_truthy(text:find("function blis.run", 1, true), text)
    assert.matches("function of .*show_spec.lua:%d+", show.text(function() end))
    assert.is_nil(text:find "0x%x+ ?[,}].*userdata")
    local broken = setmetatable({}, { __tostring = function() error "no" end })
    assert.equal("{ table }", show.text { broken })
    local strange = setmetatable({}, { __index = error, __pairs = error, __len = error })
    assert.equal("{}", show.text(strange))
  end)

  it("never fails, nor goes on for long, whatever the table", function()
    local rng = blis.rng(3, "show")
    local function draw(depth)
      local kind = rng:integer(0, depth > 4 and 3 or 6)
      if kind == 0 then return rng:integer(-5, 5) end
      if kind == 1 then return rng:number() end
      if kind == 2 then return ("q"):rep(rng:integer(0, 100)) end
      if kind == 3 then return true end
      local t = {}
      for _ = 1, rng:integer(0, 12) do
        local key = draw(5)
        t[key == nil and 1 or key] = draw(depth + 1)
      end
      for i = 1, rng:integer(0, 30) do t[i] = draw(depth + 2) end
      return t
    end
    for _ = 1, 60 do
      for _, width in ipairs { 1, 20, 100 } do assert(#show.text(draw(1), width) < 20000) end
    end
  end)
end)

describe("what scripts get", function()
  local result = blis.run(small.experiment { trace_level = "decisions", instance_times = true,
    series_interval_us = 1000000 })

  local seen
  before_each(function() seen = 0 end)

  local function visit(value, path, depth)
    if type(value) == "table" or type(value) == "userdata" then
      seen = seen + 1
      local text = tostring(value)
      assert.is_nil(text:find "^%l+: 0x", path .. ": " .. text)
      assert.is_nil(text:find "table: 0x", path .. ": " .. text)
    end
    if type(value) == "table" and depth < 5 then
      for key, item in pairs(value) do visit(item, path .. "." .. tostring(key), depth + 1) end
    end
  end

  it("prints without addresses, down to single figures", function()
    visit(result, "result", 1)
    visit(result.requests[1], "requests[1]", 1)
    visit(result.decisions[1], "decisions[1]", 1)
    visit(result.decisions:summary(), "summary", 1)
    local sim = blis.simulation(small.experiment())
    sim:run_until(500000)
    visit(sim.instances, "instances", 1)
    visit(sim:events(), "events", 1)
    visit(blis.kv_capacity(), "kv_capacity", 1)
    visit(blis.models(), "models", 1)
    visit(result:window(0, 1000000), "window", 1)
    visit(result.requests:groups("slo_class"), "groups", 1)
    visit(result.requests:after_completed(3), "after_completed", 1)
    visit(result:saturation { keep_records = true }, "saturation", 1)
    visit(result.decisions:scorers(), "scorers", 1)
    visit(blis.diff(result, result).metrics, "diff.metrics", 1)
    visit(blis.trace.formats(), "formats", 1)
    visit(blis, "blis", 5)
    assert(seen > 50, seen)
  end)

  it("prints traffic without addresses", function()
    local traffic = blis.workload(small.experiment().workload)
    visit(traffic[1], "workload[1]", 1)
    visit(traffic:statistics(), "workload:statistics()", 1)
    visit(traffic:goodput_targets(), "workload:goodput_targets()", 1)
    visit(traffic:notes(), "workload:notes()", 1)
    for _, request in traffic:requests() do visit(request, "requests()", 1) end
    assert(seen > 60, seen)
  end)

  it("prints what loops of one's own get without addresses", function()
    local lone = blis.instance { model = "qwen/qwen3-14b", hardware = "H100",
      latency_model = "calibrated" }
    lone:add { id = "a", prompt_tokens = 100, output_tokens = 3 }
    visit(lone.waiting, "lone.waiting", 1)
    visit(lone:step(), "lone:step()", 1)
    assert.equal('{ "a" }', tostring(lone.running))
    local ended = {}
    while #ended == 0 do ended = lone:step() end
    visit(ended, "lone:step()", 1)
    assert.matches('id = "a"', tostring(ended))

    local search = blis.cma_es { start = { 0, 0 }, step = 1 }
    assert.equal("CMA-ES in 2 dimensions, generation 0, step 1", tostring(search))
    local values = {}
    for i in ipairs(search:ask()) do values[i] = i end
    visit(search:ask(), "search:ask()", 1)
    search:tell(values)
    assert.matches("^CMA%-ES in 2 dimensions, generation 1, step %S+: best value 1 at { .* }$",
      tostring(search))
    visit(search.best, "search.best", 1)
    visit(search.mean, "search.mean", 1)
  end)

  it("prints statistics without addresses", function()
    local few = { 1, 2, 4, 5, 6, 7, 8, 9, 10, 12 }
    local statistics = blis.statistics
    visit(statistics.estimate(few), "estimate", 1)
    visit(statistics.quantile_interval(few, 0.5), "quantile_interval", 1)
    visit(statistics.paired(few, few), "paired", 1)
    visit(statistics.power(few), "power", 1)
    visit(statistics.mser5(few), "mser5", 1)
    assert.equal("{ 0.02, 0.5 }", tostring(statistics.holm { 0.01, 0.5 }))
  end)

  it("prints as Lua", function()
    assert.matches("^{\n  count = 60, .*p50 = ", tostring(result.ttft_ms))
    assert.matches('^{\n.*state = "completed"', tostring(result.requests[1]))
    assert.equal("{ instance_0, instance_1, instance_2 }",
      tostring(blis.simulation(small.experiment()).instances))
  end)
end)
