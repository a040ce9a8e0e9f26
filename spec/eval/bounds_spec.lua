-- What the suites say of how much there is to win: the best of what ships on their train split, and
-- what knows more than a router can.
local catalogue = require "blis.policy.catalogue"
local eval = require "blis.eval"
local suites = require "blis.eval.suite"

--- Every routing policy that ships, and each scorer alone, where a name says enough.
local function policies()
  local texts = {}
  local function add(form, entry)
    for _, option in ipairs(entry.options) do
      if option.required then return end
    end
    texts[#texts + 1] = form:format(entry.name)
  end
  for _, entry in ipairs(catalogue.routers) do add("return %q", entry) end
  for _, entry in ipairs(catalogue.scorers) do
    if entry.name ~= "oracle-prefix" then
      add("return { 'weighted', scorers = { { %q, 1 } } }", entry)
    end
  end
  return texts
end

describe("the bounds of suites that ship #host #lengthy", function()
  for _, name in ipairs(suites.names) do
    it("are those of the catalogue, and above: " .. name, function()
      local suite, known = suites.read(name), {}
      local train = suite.stages.train
      local function score(text, stage)
        return eval.run(suite, text, "policy.lua",
          { stage = stage, jobs = 2, known = known }).score
      end
      local best = score(suite.bounds.catalogue, train)
      for _, text in ipairs(policies()) do assert.is_true(score(text, train) <= best, text) end
      assert.is_true(best >= 1)
      assert.is_true(score(suite.bounds.oracle, suites.oracle(train)) > best)
      assert.is_true(score(suite.bounds.reactive, train) < 1)
    end)
  end

  it("has the best of the catalogue as the baseline of gateway", function()
    local suite = suites.read "gateway"
    assert.equal(suite.bounds.catalogue, (suite.baseline:gsub("\n$", "")))
  end)
end)
