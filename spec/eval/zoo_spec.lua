--- What is valid scores above 0 and what is not scores exactly 0: for every policy that ships, the
--- scripts of the gallery, and all that is tried against the sandbox.
local catalogue = require "blis.policy.catalogue"
local eval = require "blis.eval"
local json = require "blis.json"
local small = require "spec.support.small"
local suites = require "blis.eval.suite"

local known = {} -- what the baseline does is measured once

local function evaluate(text)
  local suite = suites.read "spec/eval/small_suite.lua"
  local result = eval.run(suite, text, "policy.lua",
    { stage = suite.stages.smoke, jobs = 1, known = known })
  local object = json.decode(json.encode(result.object))
  assert.equal(object.correct, object.combined_score > 0, result.feedback)
  assert.equal(object.combined_score, object.metrics.combined_score)
  assert.equal(object.correct and 1 or -1, object.metrics.validity)
  assert.equal(object.correct and "success", object.correct and object.status)
  if not object.correct then assert.equal(0, object.combined_score) end
  return result
end

local function files_in(folder)
  local paths, listing = {}, assert(io.popen("ls " .. folder .. "/*.lua"))
  for path in listing:lines() do paths[#paths + 1] = path end
  listing:close()
  return paths
end

local function text_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local kinds = { { "routers", "return { routing = %q }" }, { "admissions",
  "return { admission = %q }" }, { "priorities", "return { priority = %q }" },
  { "scorers", "return { 'weighted', scorers = { { %q, 1 } } }" } }

--- What is said of what is more than a name, and of what knows what no router does.
local function refusal_of(entry)
  if entry.name == "oracle-prefix" then return "only for bounds" end
  for _, option in ipairs(entry.options) do
    if option.required then return option.name .. " is missing" end
  end
end

describe("a score #host", function()
  for _, kind in ipairs(kinds) do
    it("is above 0 for all " .. kind[1] .. " that ship", function()
      for _, entry in ipairs(catalogue[kind[1]]) do
        local result = evaluate(kind[2]:format(entry.name))
        local refusal = refusal_of(entry)
        if refusal then
          assert.equal(0, result.score)
          small.says(result.feedback, refusal)
        else
          assert.is_true(result.is_valid, entry.name .. ": " .. result.feedback)
        end
      end
    end)
  end

  it("is above 0 for orders of the queue and victims", function()
    for _, name in ipairs { "fcfs", "priority-fcfs", "sjf", "reverse-priority" } do
      assert.is_true(evaluate(("return { scheduler = %q }"):format(name)).is_valid, name)
    end
    for _, name in ipairs { "fcfs", "priority" } do
      assert.is_true(evaluate(("return { preemption = %q }"):format(name)).is_valid, name)
    end
  end)

  for _, folder in ipairs { "examples/gallery", "examples", "spec/sandbox/attacks" } do
    it("is exactly 0 or above it for scripts in " .. folder, function()
      for _, path in ipairs(files_in(folder)) do
        local result = evaluate(text_of(path))
        assert.is_true(result.score <= 1, path .. ": " .. result.feedback)
      end
    end)
  end

  it("is exactly 0 or above it for what was tried before", function()
    for _, one in ipairs(require "spec.sandbox.review") do
      assert.is_true(evaluate(one.source).score <= 1, one.try)
    end
  end)
end)
