local nelder_mead = require "blis.statistics.nelder_mead"

describe("the simplex search", function()
  it("finds the bottom of a curved valley (Rosenbrock)", function()
    local function rosenbrock(p) return 100 * (p[2] - p[1] ^ 2) ^ 2 + (1 - p[1]) ^ 2 end
    local found = nelder_mead.search(rosenbrock, { start = { -1.2, 1 }, steps = { 0.5, 0.5 },
      tolerance = 1e-12 })
    assert.is_near(1, found.place[1], 1e-3)
    assert.is_near(1, found.place[2], 1e-3)
    assert.is_true(found.is_settled)
    assert.equal(rosenbrock(found.place), found.value)
  end)

  it("finds the bottom of a bowl in five dimensions", function()
    local function bowl(p)
      local sum = 0.0
      for i, x in ipairs(p) do sum = sum + i * (x - i) ^ 2 end
      return sum
    end
    local found = nelder_mead.search(bowl, { start = { 0, 0, 0, 0, 0 },
      steps = { 1, 1, 1, 1, 1 }, trials = 3000, tolerance = 1e-12 })
    for i = 1, 5 do assert.is_near(i, found.place[i], 1e-3) end
  end)

  it("ends after as many trials as it may make, and tells of each", function()
    local told = 0
    local found = nelder_mead.search(function(p) return p[1] ^ 2 end, { start = { 1000 },
      steps = { 1 }, trials = 10, tell = function(trials, best)
        told = told + 1
        assert.equal(told, trials)
        assert.is_true(best <= 1000001)
      end })
    assert.is_false(found.is_settled)
    assert.equal(told, found.trials)
    assert.is_true(found.trials >= 10 and found.trials <= 13)
  end)
end)
