--- Every pair of features of an experiment: it gives the same by both engines, step by step and as
--- a clone, and no request is lost; or it is refused, and said why.
local assert = require "luassert"
local blis = require "blis"

local pairs_of = {}

local endings = { "completed", "rejected", "timed_out", "unservable", "failed", "still_running",
  "still_queued", "still_arriving" }

--- Fails unless every request that arrived has come to one end.
---@param result blis.Result
function pairs_of.check_endings(result)
  local sum = 0
  for _, ending in ipairs(endings) do sum = sum + result[ending] end
  assert.equal(result.arrived, sum)
end

---@class spec.FeaturePairs
---@field experiment fun(): table what the features change
---@field features { [1]: string, [2]: fun(spec: table) }[]
---@field refused table<string, string> "one + other" and a part of what is said
---@field clone_at_us integer
---@field steps integer after that, before it runs on
---@field same string[] figures that have to be the same as well
---@field check? fun(result: blis.Result, a: string, b: string) what holds of the result

--- The experiment with two features, or with one that is given twice.
---@param given spec.FeaturePairs
function pairs_of.experiment(given, a, b, engine)
  local spec = given.experiment()
  a[2](spec)
  if a ~= b then b[2](spec) end
  spec.cluster.engine = engine
  return spec
end

local function check(given, a, b)
  local function spec_of(engine) return pairs_of.experiment(given, a, b, engine) end
  local result = blis.run(spec_of())
  pairs_of.check_endings(result)
  if given.check then given.check(result, a[1], b[1]) end
  assert.equal(result.hash, blis.run(spec_of "stepwise").hash)
  local sim = blis.simulation(spec_of())
  sim:run_until(given.clone_at_us)
  local clone = sim:clone()
  for _ = 1, given.steps do sim:step() end
  for _, other in ipairs { sim:run(), clone:run() } do
    assert.equal(result.hash, other.hash)
    for _, name in ipairs(given.same) do assert.same(result[name], other[name]) end
  end
end

local function check_pair(given, a, b)
  local wanted = given.refused[a[1] .. " + " .. b[1]] or given.refused[b[1] .. " + " .. a[1]]
  if not wanted then return check(given, a, b) end
  assert.error_matches(function() blis.run(pairs_of.experiment(given, a, b)) end, wanted, 1, true)
end

--- Calls body for every feature with its name and a function that goes through its pairs with
--- itself and those behind it.
---@param given spec.FeaturePairs
---@param body fun(name: string, walk: fun())
function pairs_of.each(given, body)
  for i, a in ipairs(given.features) do
    body(a[1], function()
      for j = i, #given.features do
        local b = given.features[j]
        local ok, problem = pcall(check_pair, given, a, b)
        if not ok then error(("%s + %s: %s"):format(a[1], b[1], tostring(problem)), 0) end
      end
    end)
  end
end

return pairs_of
