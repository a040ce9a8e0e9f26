local blis = require "blis"
local small = require "spec.support.small"

local function nothing() return 0 end

--- The points of a sweep as lists of labels in the order of the parameters.
local function points_of(spec)
  spec.trial = nothing
  local plan = blis.sweep(spec).plan
  local list = {}
  for i, point in ipairs(plan.points) do
    list[i] = {}
    for k, name in ipairs(plan.names) do
      list[i][k] = point.labels[name] == nil and "-" or point.labels[name]
    end
  end
  return list
end

describe("the points of a sweep", function()
  it("are all combinations, the last parameter fastest", function()
    assert.same({ { 1, "x" }, { 1, "y" }, { 2, "x" }, { 2, "y" } },
      points_of { parameters = { { "a", { 1, 2 } }, { "b", { "x", "y" } } } })
    assert.same({ {} }, points_of {})
  end)

  it("come from ranges", function()
    assert.same({ { 1 }, { 1.5 }, { 2 } },
      points_of { parameters = { { "a", from = 1, to = 2, steps = 3 } } })
    assert.same({ { 1 }, { 10 }, { 100 } }, points_of {
      parameters = { { "a", from = 1, to = 100, steps = 3, scale = "log", integer = true } } })
  end)

  it("lack parameters that do not apply, and leave out what where refuses", function()
    local spec = {
      parameters = {
        { "picker", { "first", "epsilon" } },
        { "epsilon", { 0.1, 0.2 }, when = function(p) return p.picker == "epsilon" end },
        { "rate", { 1, 2 } },
      },
      where = function(p) return not (p.epsilon and p.rate == 2) end,
    }
    assert.same({ { "first", "-", 1 }, { "first", "-", 2 }, { "epsilon", 0.1, 1 },
      { "epsilon", 0.2, 1 } }, points_of(spec))
  end)

  it("may be written one by one", function()
    assert.same({ { 1, "-" }, { 2, 3 } }, points_of { points = { { a = 1 }, { a = 2, b = 3 },
      { a = 1 } } })
  end)

  it("name tables by their content, and functions by a label", function()
    local router = function() return 1 end
    local sweep = blis.sweep {
      parameters = { { "routing", { { "weighted", scorers = "x:1" },
        { label = "mine", value = router } } } },
      trial = nothing,
    }
    assert.equal('{"1":"weighted","scorers":"x:1"}', sweep.plan.points[1].labels.routing)
    assert.equal("mine", sweep.plan.points[2].labels.routing)
    assert.equal(router, sweep.values[2].routing)
  end)

  it("are sampled evenly and always the same", function()
    for _, method in ipairs { "random", "latin-hypercube", "sobol" } do
      local function sample(seed)
        local parameters = {}
        for d = 1, 21 do parameters[d] = { "p" .. d, from = 0, to = 1 } end
        return points_of { parameters = parameters, sampling = method, samples = 64,
          sampling_seed = seed }
      end
      local points = sample(1)
      assert.same(points, sample(1))
      assert.not_same(points, sample(2))
      for d = 1, 21 do
        local hit, count = {}, 0
        for _, point in ipairs(points) do
          local cell = math.floor(point[d] * 64)
          assert.is_true(cell >= 0 and cell < 64)
          if not hit[cell] then count = count + 1 end
          hit[cell] = true
        end
        -- One point in each of 64 intervals, which chance alone does not do.
        assert.equal(method ~= "random", count == 64)
      end
    end
  end)

  it("of Sobol lie one in each cell of every even division of a plane", function()
    local parameters = { { "a", from = 0, to = 1 }, { "b", from = 0, to = 1 } }
    local points = points_of { parameters = parameters,
      sampling = "sobol", samples = 64 }
    for bits = 0, 6 do
      local across, up, hit = 1 << bits, 1 << (6 - bits), {}
      for _, point in ipairs(points) do
        local cell = math.floor(point[1] * across) * up + math.floor(point[2] * up)
        assert.is_nil(hit[cell])
        hit[cell] = true
      end
    end
  end)

  it("are refused with the reason", function()
    local cyclic = {}
    local cases = {
      { { parameters = { a = { 1 } } }, "parameters: expected a list of { name, { value, ... } }, "
        .. "got one with 'a'; the order of names in a table is not defined" },
      { { parameters = { { "seed", { 1 } } } },
        "parameters[1]: a trial's seed comes from the sweep; choose another name" },
      { { parameters = { { "a", { 1 } }, { "a", { 2 } } } }, "parameters[2]: 'a' is given twice" },
      { { parameters = { { "a", {} } } },
        "parameters[1] (a): invalid value of type table: expected a list of values" },
      { { parameters = { { "a", { print } } } },
        "parameters[1] (a), value 1: a function needs a label; write { label = \"...\", "
          .. "value = ... }" },
      { { parameters = { { "a", from = 1, to = 2 } } },
        "parameters (a): a range in a grid needs steps = ..." },
      { { parameters = { { "a", from = 2, to = 1, steps = 3 } } },
        "parameters[1] (a): from 2 to 1 is not a range" },
      { { parameters = { { "a", from = 0, to = 1, steps = 3, scale = "log" } } },
        "parameters[1] (a): a logarithmic range must start above 0, got 0" },
      { { parameters = { { "a", from = 0, to = 1 } }, sampling = "sobol" },
        "samples is missing: set the number of points to sample" },
      { { parameters = { { "a", { 1 }, wen = print } } },
        "parameters[1] (a): unknown option 'wen'; did you mean 'when'?" },
      { { parameters = { { "a", { 1 } } }, where = function() return false end },
        "parameters: the sweep has no points" },
      { { parameters = { { "a", { 1 } } }, where = function(p) return p.b end },
        "p: unknown parameter 'b'; known are a, replication, seed" },
      { { parameters = { { "a", { 1, 2, b = 3 } } } },
        "parameters[1] (a): expected a list of values without gaps, got one with 'b'" },
      { { parameters = { { "a", { 0 / 0 } } } }, ": expected a finite number" },
      { { parameters = { { "a", { cyclic } } } },
        "parameters[1] (a), value 1: tables are nested more than 32 levels deep" },
      { { parameters = { { "a", { "\xff" } } } }, "expected UTF-8 without zero bytes" },
      { { parameters = { { "a", { { label = "f", value = 1 }, { label = "f", value = 2 } } } } },
        "parameters[1] (a), value 2: the label 'f' is used for two different values" },
      { { parameters = { { "a", { { label = {}, value = 1 } } } } },
        "parameters[1] (a), value 1: label: invalid value of type table: expected a string, "
          .. "a number, or a boolean" },
      { { parameters = { { "a", from = 1, to = 2, steps = 100000 },
          { "b", from = 1, to = 2, steps = 100000 } } },
        "parameters: a grid of more than 10000000 points; sampling = \"sobol\" with samples = ... "
          .. "covers large spaces with few of them" },
      { { parameters = { { "a", from = 1, to = 2, steps = 1000 } }, replications = 1000000 },
        "replications: 1000 points with 1000000 replications are more than 100000000 trials" },
      { { parameters = { { "a", { 1 } } }, seed = math.maxinteger, replications = 2 },
        "is too high for the seeds of 2 replications" },
      { { sampling = "sobl" }, "sweep.sampling: invalid value 'sobl': expected one of grid, "
        .. "random, latin-hypercube, sobol; did you mean 'sobol'?" },
    }
    cyclic[1] = cyclic
    for _, case in ipairs(cases) do
      case[1].trial = nothing
      small.says(small.message_of(blis.sweep, case[1]), case[2])
    end
    small.says(small.message_of(blis.sweep, {}), "sweep.trial is missing, expected a function(p)")
  end)
end)
