--- Sweeps whose seeds change nothing.
local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

describe("replications that no seed changes", function()
  --- A sweep over x; seeded(x) tells whether the seed changes that point.
  local function swept(seeded, replications)
    return blis.sweep {
      name = "s", parameters = { { "x", { 1, 2, 3 } } }, report = { "value" },
      replications = replications, trial = function(p)
        return { value = p.x * 10 + (seeded(p.x) and p.replication or 0), hash = "a" }
      end,
    }:run { quiet = true }
  end

  local function never() return false end

  it("count as one run, told once for all points", function()
    local found = swept(never, 5)
    for _, point in ipairs(found.points) do
      assert.is_true(point.is_copied)
      assert.equal(5, point.n)
      assert.equal(1, point.metrics.value.n)
      assert.is_nil(point.metrics.value.low)
    end
    local text = tostring(found)
    assert.equal(1, select(2, text:gsub("equal: the seed has no effect here", "")))
    small.says(text, "all 5 replications are equal")
    assert.is_nil(text:find("±", 1, true))
    assert.is_nil(text:find("interval (", 1, true))
    small.says(found:csv(), "\n1,5,10,,\n")
    small.says(found:markdown(), "all 5 replications are equal")
    local two = tostring(swept(never, 2))
    small.says(two, "both replications are equal")
    assert.is_nil(two:find("intervals need", 1, true))
  end)

  it("make no difference of points look certain", function()
    local pair = swept(never, 5):paired({ x = 1 }, { x = 2 }, "value")
    assert.equal(1, pair.change)
    assert.is_nil(pair.low)
    assert.is_nil(pair.p_value)
    small.says(tostring(pair), "100.0 % (5 pairs, no interval)")
    local other = swept(function(x) return x == 2 end, 5):paired({ x = 1 }, { x = 2 }, "value")
    assert.is_true(other.low < other.high)
  end)

  it("are told apart from points that seeds do change", function()
    local found = swept(function(x) return x > 1 end, 4)
    assert.is_true(found.points[1].is_copied)
    assert.is_nil(found.points[2].is_copied)
    small.says(tostring(found), "all replications of one point are equal: the seed has no effect "
      .. "there")
    small.says(tostring(found), "±")
    assert.is_nil(tostring(swept(function() return true end, 4)):find("are equal", 1, true))
    assert.is_nil(tostring(swept(never, 1)):find("are equal", 1, true))
  end)

  it("need to be equal in all they tell", function()
    local found = blis.sweep {
      name = "s", parameters = { { "x", { 1 } } }, report = { "value" }, replications = 3,
      trial = function(p) return { value = 1, hash = tostring(p.seed) } end,
    }:run { quiet = true }
    assert.is_nil(found.points[1].is_copied)
  end)

  it("are told on the page", function()
    files.with(nil, function(path)
      swept(never, 5):report(path)
      local text = files.read(path)
      small.says(text, "<li>all 5 replications are equal: ")
      small.says(text, '"is_copied": true')
    end, ".html")
  end)
end)
