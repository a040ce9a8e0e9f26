local blis = require "blis"
local small = require "spec.support.small"

local function spec(changes)
  local given = small.experiment { routing = { "round-robin", "least-loaded", "weighted" },
    quiet = true, report = { "ttft_ms.mean", "e2e_ms.mean" } }
  for key, value in pairs(changes) do given[key] = value end
  return given
end

describe("blis.compare with replications", function()
  it("compares policies seed by seed", function()
    local got = blis.compare(spec { replications = 4 })
    assert.same({ 4, "fixed", 1 }, { got.replications, got.rule, got.baseline })
    local direct = blis.run(small.experiment { routing = "least-loaded", seed = 44 })
    assert.equal(direct.ttft_ms.mean, got.table.points[2].values["ttft_ms.mean"][3])
    local pair = got.against[2]["ttft_ms.mean"]
    assert.equal(4, pair.n)
    assert.is_true(pair.adjusted_p >= pair.p_value)
    assert.is_nil(got.against[1])
    small.says(tostring(got), "\nttft_ms.mean: ")
    assert.equal(tostring(got), tostring(blis.compare(spec { replications = 4, jobs = 7 })))
  end)

  it("goes on until the difference is known", function()
    local got = blis.compare(spec { replications = "auto" })
    assert.is_true(got.replications >= 5 and got.replications <= 40)
    local loose = blis.compare(spec { replications = { precision = 1, min = 2 } })
    assert.same({ 2, 1 }, { loose.replications, loose.looks })
    local test = blis.compare(spec { replications = { rule = "pocock", max = 8, min = 4 } })
    assert.is_true(test.replications == 4 or test.replications == 8)
  end)

  it("tells what is wrong", function()
    small.says(small.message_of(blis.compare, spec { replications = 1 }), "compare.replications: 1 "
      .. "is not allowed, expected an integer of at least 2, 'auto', or { rule =, min =, max =, "
      .. "precision = }")
    small.says(small.message_of(blis.compare, spec { replications = 2, baseline = 4 }),
      "compare.baseline: there are 3 policies, not 4")
    small.says(small.message_of(blis.compare, spec { replications = 2, report = { "ttft" } }),
      "report: the trial returned no number 'ttft'")
    small.says(small.message_of(blis.compare, spec { replications = { rule = "pokock" } }),
      "did you mean 'pocock'?")
    small.says(small.message_of(blis.compare, spec { replications = 2, sede = 3 }),
      "unknown option 'sede', did you mean 'seed'?")
  end)
end)

describe("blis.capacity", function()
  local function search(changes)
    local given = { trial = function(p) return { y = p.rate ^ 2 } end, metric = "y", limit = 100,
      quiet = true, replications = 2, jobs = 2 }
    for key, value in pairs(changes or {}) do given[key] = value end
    return blis.capacity(given)
  end

  it("finds the highest rate that keeps a limit", function()
    local got = search()
    assert.is_true(got.rate <= 10 and got.rate > 9.8 and got.fails_at > 10)
    assert.matches("^y <= 100 holds up to [%d.]+ requests/s, and not at [%d.]+ %(%d+ rates "
      .. "tried%)$", tostring(got))
    assert.matches("does not hold at 11.000", tostring(search { from = 11 }), 1, true)
    assert.matches("holds up to 7.000 requests/s, where the search ended",
      tostring(search { to = 7 }), 1, true)
  end)

  it("tells what is wrong", function()
    small.says(small.message_of(search, { metric = "z" }),
      "the trial returned no number 'z'; known are y")
    small.says(small.message_of(search, { from = 3, to = 2 }),
      "capacity: from = 3 is above to = 2")
  end)
end)
