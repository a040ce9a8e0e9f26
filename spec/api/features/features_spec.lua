-- The list of optional features, and what their modules return.
local features = require "blis.feature"
local figures = require "blis.results.figures"

-- The fields of blis.Feature, with their types.
local known = {
  options = "string", flag_groups = "function", flags = "function", needs = "string",
  policy_flags = "table", flag_scorers = "function", read = "function",
  read_cluster = "function", fill = "function", resize = "function",
  is_scripted = "function", policies = "function", read_policies = "function",
  notes = "function", judge = "function", complete = "function", finish = "function",
  summary = "table",
  page = "table", asked = "function", asked_at = "number",
}

local slots = { work = true, cost = true, events = true, below = true }

describe("the features", function()
  for _, entry in ipairs(features.list) do
    describe(entry.name, function()
      local feature = features.module(entry)

      it("has only known fields", function()
        for name, value in pairs(feature) do
          assert.equal(known[name], type(value), name)
        end
      end)

      it("has one position in each list", function()
        for _, other in ipairs(features.list) do
          local theirs = features.module(other)
          if other ~= entry then
            assert.not_equal(entry.name, other.name)
            assert.is_false(entry.flags_at ~= nil and entry.flags_at == other.flags_at)
            assert.is_false(feature.asked_at ~= nil and feature.asked_at == theirs.asked_at)
          end
        end
      end)

      it("shows a part that results have", function()
        if not entry.part then return assert.is_nil(feature.summary) end
        local found = false
        for _, figure in ipairs(figures.of "Result") do
          found = found or figure.name == entry.part
        end
        assert.is_true(found, entry.part)
        assert.is_true(slots[feature.summary.slot])
        assert.is_truthy(feature.summary.lines or entry.line)
        assert.equal("string", type(feature.page.title))
      end)

      it("reads every option that asks for it", function()
        for _, place in ipairs { "experiment", "cluster" } do
          local section = require("blis.config." .. place)
          for _, name in ipairs(entry[place] or {}) do
            local found = name == "has_pools" -- follows from the numbers of instances
            for _, option in ipairs(section.options) do found = found or option.name == name end
            assert.is_true(found, name)
          end
        end
        assert.is_true(not entry.experiment or feature.read ~= nil)
      end)

      it("names what is missing beside its flags", function()
        if feature.flags or not entry.flags_at then return end
        local cli = {
          values = { [require(feature.options).name] = { unknown = 1 } },
          fail = function(format, ...) error(format:format(...), 0) end,
        }
        local ok, message = pcall(features.option_of_flags, entry.name, cli)
        assert.is_false(ok)
        assert.equal(feature.needs, message:sub(1, #feature.needs))
        assert.is_truthy(message:find "%-%-%l")
      end)
    end)
  end

  it("give help one group of flags per title", function()
    local is_known, count = {}, 0
    for _, group in ipairs(features.flag_groups()) do
      assert.is_nil(is_known[group.title], group.title)
      is_known[group.title], count = true, count + 1
      for _, option in ipairs(group.options) do
        assert.equal("--", option.flag:sub(1, 2), option.name)
      end
    end
    assert.is_true(count >= 7)
  end)

  it("are not loaded by an experiment without them", function()
    local program = require "spec.support.program"
    local outcome = program.run("-e", [[
      local blis = require "blis"
      blis.run { workload = { requests = 2 } }
      for name in pairs(package.loaded) do
        if name:find "^blis%.feature%." then print(name) end
      end]])
    assert.equal("", outcome.out, outcome.err)
  end)
end)
