local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local vec = blis.vec

local function items(v)
  return vec.totable(v)
end

describe("a vector", function()
  local v = vec.new { 1, 2, 4 }

  it("computes item by item, with numbers on either side", function()
    assert.same({ 2.0, 4.0, 8.0 }, items(v + v))
    assert.same({ 2.0, 3.0, 5.0 }, items(v + 1))
    assert.same({ 9.0, 8.0, 6.0 }, items(10 - v))
    assert.same({ 2.0, 4.0, 8.0 }, items(2 * v))
    assert.same({ 1.0, 0.5, 0.25 }, items(1 / v))
    assert.same({ 1.0, 4.0, 16.0 }, items(v ^ 2))
    assert.same({ 2.0, 4.0, 16.0 }, items(2 ^ v))
    assert.same({ -1.0, -2.0, -4.0 }, items(-v))
  end)

  it("gives the bits that single numbers give", function()
    local rng = blis.rng(7)
    for _ = 1, 50 do
      local a, b = {}, {}
      for i = 1, 9 do a[i], b[i] = rng:number() * 100, rng:normal() end
      local x, y = vec.new(a), vec.new(b)
      local columns = items(0.4 / (1 + x) + 0.3 * (1 - y) ^ 3 - (-x) * y)
      for i = 1, 9 do
        assert.equal(0.4 / (1 + a[i]) + 0.3 * (1 - b[i]) ^ 3 - (-a[i]) * b[i], columns[i])
      end
    end
  end)

  it("has min, max, sum, clamp, norm and where", function()
    assert.equal(1.0, vec.min(v))
    assert.equal(4.0, vec.max(v))
    assert.equal(7.0, vec.sum(v))
    assert.same({ 1.0, 2.0, 3.0 }, items(vec.min(v, 3)))
    assert.same({ 3.0, 3.0, 4.0 }, items(vec.max(3, v)))
    assert.same({ 1.0, 1.0, 1.0 }, items(vec.clamp(v)))
    assert.same({ 1.5, 2.0, 3.0 }, items(vec.clamp(v, 1.5, 3)))
    assert.same({ 0.0, 1 / 3, 1.0 }, items(vec.norm(v)))
    assert.same({ 1.0, 2 / 3, 0.0 }, items(vec.norm(-v)))
    assert.same({ 0.0, 0.0 }, items(vec.norm(vec.new { 5, 5 })))
    assert.same({ 1.0, 1.0 }, items(vec.norm(vec.new { 5, 5 }, 1)))
    assert.same({ 1.0, 0.0, 0.0 }, items(vec.where(vec.lt(v, 2), v, 0)))
  end)

  it("compares into ones and zeros", function()
    assert.same({ 1.0, 0.0, 0.0 }, items(vec.lt(v, 2)))
    assert.same({ 1.0, 1.0, 0.0 }, items(vec.le(v, 2)))
    assert.same({ 0.0, 0.0, 1.0 }, items(vec.gt(v, 2)))
    assert.same({ 0.0, 1.0, 1.0 }, items(vec.ge(v, 2)))
    assert.same({ 0.0, 1.0, 0.0 }, items(vec.eq(v, 2)))
  end)

  it("can be indexed, counted, looped over and printed", function()
    assert.equal(3, #v)
    assert.equal(4.0, v[3])
    assert.is_nil(v[4])
    local sum = 0
    for _, x in ipairs(v) do sum = sum + x end
    assert.equal(7.0, sum)
    assert.equal("vector {1.0, 2.0, 4.0}", tostring(v))
  end)

  it("refuses what makes no sense", function()
    local function message(fn) return small.message_of(fn) end
    says(message(function() return v + vec.new { 1 } end), "3 and 1 items")
    says(message(function() return v + "x" end), "number or vector")
    says(message(function() return v + nil end), "number or vector")
    says(message(function() v[1] = 2 end), "read-only")
    says(message(function() return v.foo end), "no field 'foo'")
    says(message(function() return vec.new { 1, "x" } end), "item 2")
    says(message(function() return vec.clamp(v, 2, 1) end), "below")
    says(message(function() return v > 3 end), "blis.vec.lt(a, b)")
    says(message(function() return math.max(v, 3) end), "blis.vec.min and max")
    assert.is_false(getmetatable(v))
  end)
end)

describe("a column", function()
  local function run(score)
    return small.run_scorer(blis.scorer { name = "probe", columns = true, score = score })
  end

  it("is read-only and belongs to its decision", function()
    local kept
    local message = small.message_of(run, function(_, c)
      if kept then return kept + c.queue_depth end
      kept = c.queue_depth + 1
      return kept
    end)
    says(message, "belongs to a past decision")
    assert.equal("vector (of a past decision)", tostring(kept))
  end)

  it("is caught when it is kept for any number of decisions", function()
    for gap = 1, 9 do
      local kept, count = nil, 0
      local ok = pcall(run, function(_, c)
        count = count + 1
        if count == 1 then kept = 1 / (1 + c.queue_depth) end
        return count == 1 + gap and kept or 1 / (1 + c.queue_depth)
      end)
      if gap % 4 ~= 0 then assert.is_false(ok, gap) end
    end
  end)

  it("cannot be read after the run", function()
    local view
    run(function(_, c) view = c.queue_depth return view end)
    says(small.message_of(function() return view[1] end), "decision")
  end)

  it("survives an expression with very many temporaries", function()
    local result = run(function(_, c)
      local sum = c.queue_depth * 0
      for i = 1, 300 do sum = sum + c.queue_depth * i end
      return 1 / (1 + sum)
    end)
    assert.equal(60, result.completed)
  end)

  it("keeps every operand of a long expression", function()
    local result = run(function(_, c)
      local parts = {}
      for i = 1, 40 do parts[i] = c.in_flight * 0 + i end
      for i = 1, 40 do assert(parts[i][1] == i) end
      return parts[1]
    end)
    assert.equal(60, result.completed)
  end)

  it("may be deleted from its table without harm", function()
    local result = run(function(_, c)
      local score = 1 / (1 + c.in_flight)
      c.in_flight = nil
      collectgarbage()
      return score
    end)
    assert.equal(60, result.completed)
  end)

  it("has names, a count and suggestions", function()
    run(function(_, c)
      assert(c.count == 3 and #c == 3 and #c.in_flight == 3)
      return 1
    end)
    local message = small.message_of(run, function(_, c) return c.queue_dept end)
    says(message, "did you mean 'queue_depth'?")
  end)

  it("must give a vector of the right length or a number", function()
    local function message(value)
      return small.message_of(run, function() return value end)
    end
    says(message("x"), "expected a vector or a number")
    says(message(nil), "expected a vector or a number")
    says(message(vec.new { 1, 2 }), "2 items for 3 candidates")
    assert.equal(60, run(function() return 0.5 end).completed)
    assert.equal(60, run(function() return vec.new { 1, 2, 3 } end).completed)
  end)
end)
