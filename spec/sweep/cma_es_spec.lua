local blis = require "blis"
local matrix = require "blis.statistics.matrix"
local small = require "spec.support.small"

local functions = {
  sphere = function(x)
    local sum = 0
    for _, v in ipairs(x) do sum = sum + v * v end
    return sum
  end,
  ellipsoid = function(x)
    local sum = 0
    for i, v in ipairs(x) do sum = sum + 10 ^ (6 * (i - 1) / (#x - 1)) * v * v end
    return sum
  end,
  rosenbrock = function(x)
    local sum = 0
    for i = 1, #x - 1 do sum = sum + 100 * (x[i] ^ 2 - x[i + 1]) ^ 2 + (1 - x[i]) ^ 2 end
    return sum
  end,
  valley = function(x) return (x[1] + x[2]) ^ 2 + 1e6 * (x[1] - x[2]) ^ 2 end,
}

local function places_of(n, value)
  local list = {}
  for i = 1, n do list[i] = value end
  return list
end

--- Searches until the value is below a bound; returns how often the function was called.
local function calls_until(search, fn, bound, most)
  local calls = 0
  repeat
    local values = {}
    for k, place in ipairs(search:ask()) do values[k] = fn(place) end
    calls = calls + #values
    search:tell(values)
  until search.best_value < bound or calls > most
  return calls
end

describe("blis.cma_es", function()
  it("finds the lowest place of known functions in as few calls as others", function()
    -- What Hansen's own implementation needs, and a third more.
    for _, case in ipairs {
      { "sphere", 2, 3, 400 }, { "sphere", 10, 3, 2400 }, { "ellipsoid", 5, 3, 2900 },
      { "ellipsoid", 10, 3, 8200 }, { "rosenbrock", 2, 0, 1000 }, { "rosenbrock", 5, 0, 3200 },
      { "valley", 2, 3, 1000 },
    } do
      local name, n, start, most = table.unpack(case)
      for seed = 1, 5 do
        local search = blis.cma_es { start = places_of(n, start), step = 0.5, seed = seed }
        local calls = calls_until(search, functions[name], 1e-9, most)
        assert.is_true(search.best_value < 1e-9, ("%s in %d dimensions, seed %d: %g after %d "
          .. "calls"):format(name, n, seed, search.best_value, calls))
        local wanted = name == "rosenbrock" and 1 or 0
        for _, x in ipairs(search.best) do assert.near(wanted, x, 1e-3) end
        assert.equal(functions[name](search.best), search.best_value)
      end
    end
  end)

  it("stays between limits, and finds what lies on them", function()
    local search = blis.cma_es { start = { 4, 4 }, step = 3, low = { 1, -2 }, high = { 5, 6 } }
    for _ = 1, 60 do
      local values = {}
      for k, place in ipairs(search:ask()) do
        assert.is_true(place[1] >= 1 and place[1] <= 5 and place[2] >= -2 and place[2] <= 6)
        values[k] = functions.sphere(place)
      end
      search:tell(values)
    end
    assert.near(1, search.best[1], 1e-3)
    assert.near(0, search.best[2], 0.05)
    search = blis.cma_es { start = { 4 }, low = { 3 }, population = 8 }
    calls_until(search, functions.sphere, 9.0001, 800)
    assert.near(3, search.best[1], 1e-4)
  end)

  it("does the same for the same seed", function()
    local function path(seed)
      local search = blis.cma_es { start = { 1, 2, 3 }, seed = seed }
      calls_until(search, functions.sphere, 1e-6, 1000)
      return search.best
    end
    assert.same(path(1), path(1))
    assert.not_same(path(1), path(2))
    local search = blis.cma_es { start = { 1, 2 } }
    assert.equal(search:ask(), search:ask())
    assert.equal(6, #search:ask()) -- 4 + 3 ln 2
  end)

  it("gets along with places that have no value", function()
    local search = blis.cma_es { start = { 2, 2 }, step = 2 }
    local function half(x) return x[1] > 1 and (x[2] > 1 and 0 / 0 or math.huge)
      or functions.sphere(x) end
    calls_until(search, half, 1e-9, 1500)
    assert.is_true(search.best_value < 1e-9)
    search = blis.cma_es { start = { 0 } }
    search:tell(places_of(#search:ask(), 0 / 0))
    assert.is_nil(search.best)
  end)

  it("knows when nothing changes any more, and survives going on", function()
    local search = blis.cma_es { start = { 0, 0 } }
    local generations = 0
    repeat
      search:tell(places_of(#search:ask(), 7))
      generations = generations + 1
    until search.is_settled or generations == 100
    assert.equal(20, generations)
    for _ = 1, 300 do -- downhill for ever
      local values = {}
      for k, place in ipairs(search:ask()) do values[k] = place[1] end
      search:tell(values)
    end
    assert.is_true(search.step == search.step and search.best_value < -1e6)
  end)

  it("tells what is wrong", function()
    for given, message in pairs {
      [{}] = "cma_es.start is missing, expected a list of numbers",
      [{ start = {} }] = "cma_es.start: invalid value of type table: expected a list of numbers",
      [{ start = { 1, "x" } }] = "expected a list of numbers",
      [{ start = { 0 / 0 } }] = "expected a list of numbers",
      [{ start = { 1 }, low = { 0, 0 } }] = "cma_es.low: expected 1 numbers, as in start",
      [{ start = { 1 }, low = { 2 } }] = "cma_es.start[1]: 1 is not between low and high, 2 to inf",
      [{ start = { 1 }, low = { 2 }, high = { 0 } }] = "low[1] = 2 is not below high[1] = 0",
      [{ start = { 1 }, step = 0 }] = "cma_es.step: invalid value 0",
      [{ start = { 1 }, population = 3 }] = "cma_es.population: invalid value 3",
      [{ start = { 1 }, sigma = 3 }] = "unknown option 'sigma'",
    } do
      small.says(small.message_of(blis.cma_es, given), message)
    end
    local search = blis.cma_es { start = { 1 } }
    small.says(small.message_of(search.tell, search, { 1 }), "tell() called before ask()")
    search:ask()
    small.says(small.message_of(search.tell, search, { 1 }), "expected a list of 4 numbers")
    small.says(small.message_of(search.tell, search, { 1, 2, "x", 4 }),
      "value 3: invalid value 'x'")
  end)
end)

describe("a symmetric matrix", function()
  it("has eigenvalues and axes", function()
    local given = { { 4, 1, 0.5 }, { 1, 3, -1 }, { 0.5, -1, 1e-6 } }
    local values, axes = matrix.eigen(given)
    for k, value in ipairs(values) do
      local axis = { axes[1][k], axes[2][k], axes[3][k] }
      for i, x in ipairs(matrix.times(given, axis)) do assert.near(value * axis[i], x, 1e-13) end
      assert.near(1, axis[1] ^ 2 + axis[2] ^ 2 + axis[3] ^ 2, 1e-13)
    end
    assert.near(7 + 1e-6, values[1] + values[2] + values[3], 1e-13)
    assert.same({ 1, 2 }, (matrix.eigen { { 1, 0 }, { 0, 2 } }))
    assert.same({ 5.0 }, (matrix.eigen { { 5.0 } }))
  end)
end)
