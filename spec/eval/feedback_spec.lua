--- What the loops show of feedback: how much, and what their filters leave of it.
local eval = require "blis.eval"
local feedback = require "blis.eval.feedback"
local suites = require "blis.eval.suite"

--- The filter of OpenEvolve: escape sequences, long runs of letters and digits, and what follows
--- "token:", "token=" and "password" are taken away, whatever their case.
local function is_passed(text)
  local lower = text:lower()
  return not (text:find "\27%[[%d;]*%a" or text:find(("%w"):rep(32)) or lower:find "token[:=]"
    or lower:find "password")
end

local known = {}

local function evaluate(text, stage)
  local suite = suites.read "spec/eval/small_suite.lua"
  return eval.run(suite, text, "policy.lua", { stage = suite.stages[stage or "train"], jobs = 2,
    known = known, probes = stage == "full" }).feedback
end

describe("the filter of a loop", function()
  it("takes nothing from what is clean", function()
    local dirty = "PASSWORD: a Password=b token:c Token=d " .. ("a1"):rep(400)
      .. "\27[31mred\27[0m\7"
    assert.is_false(is_passed(dirty))
    for _, text in ipairs { dirty, dirty:rep(40), ("\xE2\x82\xAC"):rep(3000) } do
      local clean = feedback.clean(text)
      assert.is_true(is_passed(clean), clean)
      assert.is_true(#clean <= 4000)
      assert.equal(clean, feedback.clean(clean))
    end
  end)
end)

describe("feedback #host", function()
  it("has the verdict and the worst scenario in its first 500 letters", function()
    for _, text in ipairs { "return function() return 1 end", "return 'random'",
      "print(('token: x password '):rep(400)) return function() return 1 end" } do
      for _, stage in ipairs { "train", "full" } do
        local said = evaluate(text, stage)
        assert.is_true(is_passed(said), said)
        assert.is_true(#said <= 4000)
        local head = said:sub(1, 500)
        assert.is_truthy(head:find "^score 0%.%d+ %(%-")
        assert.is_truthy(head:find "\nWORST %w+: [%w_]+ [%d.]+x worse")
      end
    end
  end)

  it("says first that a policy is not valid, and where, however long its message", function()
    for _, text in ipairs { "error(('token: '):rep(2000))", "return function() error('here') end",
      "error(('Z'):rep(9000))" } do
      local said = evaluate(text)
      assert.is_true(is_passed(said), said)
      assert.is_true(#said <= 4000)
      assert.is_truthy(said:find "^INVALID: score 0 in scenario a, run 1%. ")
    end
  end)
end)
