-- Types of policies and callbacks for editors: every name, every parameter, every argument.
local annotations = require "blis.policy.annotations"
local catalogue = require "blis.policy.catalogue"
local files = require "spec.support.files"
local hooks = require "blis.policy.hooks"
local policy = require "blis.policy"
local reference = require "blis.reference"

local text = annotations.generate()
local all = require("blis.config.annotations").generate()

--- What is said of a class of that file, up to the next one.
local function class_text(class)
  return assert(text:match("@class blis%." .. class .. "Spec\n(.-)\n\n"), class)
end

--- Functions in annotations with an argument that has no type, or one that says nothing.
local function vague(types)
  local found = {}
  for arguments in types:gmatch "fun%(([^()]*)%)" do
    for argument in (arguments .. ","):gmatch "%s*([^,]+),%s*" do
      local its = argument:match "^[%w_]+%??:%s*(.+)$"
      if argument ~= "..." and (not its or its == "any" or its == "table" or its == "function") then
        found[#found + 1] = ("fun(%s): %s"):format(arguments, argument)
      end
    end
  end
  return found
end

describe("annotations of policies", function()
  it("are the end of the annotations of options", function()
    assert.equal(text, all:sub(-#text))
  end)

  it("have every name, alias and parameter of every kind", function()
    local classes, count = {}, 0
    for _, kind in ipairs(annotations.kinds) do classes[kind.kind or kind.class] = kind.class end
    for _, kind in ipairs(reference.policy_kinds) do
      local class = classes[kind.key]
      -- Those of the queue without parameters are choices of its options.
      assert.is_truthy(class or kind.key:match "^queue_", kind.key)
      for _, entry in ipairs(class and catalogue[kind.key] or {}) do
        local names = text:match("@alias blis%." .. class .. "Name\n(.-)\n\n")
        for _, name in ipairs { entry.name, table.unpack(entry.aliases) } do
          count = count + 1
          assert.is_truthy(names:find(('---| "%s" #'):format(name), 1, true), name)
        end
        for _, option in ipairs(entry.options) do
          assert.is_truthy(class_text(class):find("@field " .. option.name .. "? ", 1, true),
            entry.name .. "." .. option.name)
        end
      end
    end
    assert.is_true(count > 190)
  end)

  it("have every field that scripted ones may have", function()
    local sections = { Scheduler = hooks.kinds.scheduler.section,
      Preemption = hooks.kinds.preemption.section, Admission = hooks.kinds.admission.section,
      Priority = hooks.kinds.priority.section, Autoscaler = hooks.kinds.autoscaler.section,
      Saturation = hooks.kinds.saturation.section, UsageLimit = hooks.kinds.usage_limit.section,
      Decider = hooks.kinds.disaggregation.section, Cascade = hooks.cascade_section }
    for name, section in pairs(policy.sections) do
      sections[name:sub(1, 1):upper() .. name:sub(2)] = section
    end
    local count = 0
    for class, section in pairs(sections) do
      for _, option in ipairs(section.options) do
        count = count + 1
        assert.is_truthy(class_text(class):find("@field " .. option.name .. "? ", 1, true),
          class .. "." .. option.name)
      end
    end
    for _, option in ipairs(hooks.kinds.batch_scheduler.section.options) do
      assert.is_truthy(class_text "Scheduler":find("@field " .. option.name .. "? ", 1, true))
    end
    assert.is_true(count > 40)
  end)
end)

describe("annotations of callbacks", function()
  it("say what their arguments are", function()
    assert.same({}, vague((all:gsub("p: table", "p: point"))))
  end)

  it("are there for every option that takes a function", function()
    local untyped = {}
    local of_groups = "string|blis.LatencyModel" -- whose description is that of clusters
    for line in all:gmatch "[^\n]+" do
      local name, types = line:match "^%-%-%-@field ([%w_]+)%?? (%S+)"
      local is_callback = line:find("function(", 1, true) and types ~= of_groups
        and not line:find("when = function", 1, true)
      if is_callback and not line:find("fun(", 1, true) and not types:find "blis%.Any" then
        untyped[#untyped + 1] = name
      end
    end
    assert.same({}, untyped)
  end)

  it("name only types that there are", function()
    local known, names = {}, io.popen "grep -rhoE '@(class|alias|enum) blis\\.[A-Za-z.]+' lua/blis"
    for name in names:read("a"):gmatch "@%a+ (blis%.[%w.]+)" do known[name] = true end
    names:close()
    local unknown = {}
    local generated = all .. require("blis.results.annotations").generate()
    for name in generated:gmatch "@%a+ (blis%.[%w.]+)" do known[name] = true end
    for _, lines in ipairs { all, files.read "lua/blis/meta/policies.lua" } do
      for line in lines:gmatch "%-%-%-@[^\n]+" do
        local types = line:match "@field %S+ (.*)" or line:match "@%a+ (.*)" or ""
        for name in types:gmatch "%f[%w]blis%.%u[%w]*" do
          if not known[name] then unknown[#unknown + 1] = name end
        end
      end
    end
    assert.same({}, unknown)
  end)
end)
