-- Nonsense for import, export, gate, decisions and conformance: each is told in plain words, with
-- its place, and nothing is written.
local commands = require "spec.support.commands"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local import = require "blis.production.import"
local records = require "blis.production.records"
local replay = require "blis.production.replay"
local subject = require "blis.production.subject"

local head = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

local function message_of(fn, ...)
  local ok, problem = pcall(fn, ...)
  assert.is_false(ok)
  assert.is_table(problem, tostring(problem)) -- of the program, and no failure of its code
  assert.is_string(problem.message)
  assert.not_matches("table: 0x", problem.message)
  assert.not_matches("attempt to", problem.message)
  return problem.message
end

local function refuses(text, expected)
  files.with(text, function(path)
    local message = message_of(import.read, path, { from = "llm-d" })
    assert.is_truthy(message:find(expected, 1, true), message)
  end)
end

local function reads(text)
  files.with(text, function(path) import.read(path) end)
end

describe("an import", function()
  it("takes no list or text where there should be something else", function()
    for _, case in ipairs {
      { "- a\n", "expected an EndpointPickerConfig" },
      { "5\n", "expected an EndpointPickerConfig" },
      { head .. "plugins: hello\n", ":3: the file: plugins is 'hello', expected a list" },
      { head .. "plugins: [[[]]]\n", ":3: plugins[1]: type is missing" },
      { head .. "plugins: [{type: [x]}]\n", "plugins[1]: type is missing" },
      { head .. "plugins: [{type: queue-scorer, parameters: 3}]\n", "parameters is 3" },
      { head .. "schedulingProfiles: [x, 3, null]\n",
        "schedulingProfiles[2] is 3, expected { name, plugins }" },
      { head .. "featureGates: [{a: b}]\n", "unknown feature gate a table" },
      { head .. "flowControl: {priorityBands: [x]}\n", "flowControl.priorityBands[1] is 'x'" },
      { head .. "flowControl: {priorityBands: [{maxRequests: 3}]}\n", "priority is missing" },
      { head .. "flowControl: {priorityBands: [{priority: 3}, {priority: 3}]}\n",
        "priorityBands[2]: duplicate priority 3" },
      { head .. "dataLayer: {sources: [7]}\n", "dataLayer.sources[1] is 7" },
      { head .. "---\n" .. head, "2 configurations (one at line 1, one at line 4)" },
      { head .. "plugins: [{type: queue-sc", ":4: " },
      { "\n \n", "is empty" },
    } do refuses(case[1], case[2]) end
  end)

  it("takes no number that the policy would not take", function()
    local function plugin(kind, parameters)
      return ("%splugins: [{type: %s, parameters: {%s}}]\n"):format(head, kind, parameters)
    end
    refuses(plugin("load-aware-scorer", "threshold: -1"),
      ":3: load-aware-scorer: threshold: invalid value -1: expected a number from 1")
    refuses(plugin("active-request-scorer", "idleThreshold: -3"),
      "idleThreshold: invalid value -3")
    refuses(plugin("prefix-cache-scorer", "matchLengthWeight: 5"),
      "matchLengthWeight: invalid value 5")
    refuses(head .. "plugins:\n- type: prefix-cache-scorer\n- {type: approx-prefix-cache-producer, "
      .. "parameters: {lruCapacityPerServer: 0}}\n", "parts of it cannot be simulated: ")
    for _, weight in ipairs { ".nan", ".inf", "-.inf", "1e309", "x", "[]" } do
      refuses(head .. "plugins: [{type: queue-scorer}]\nschedulingProfiles:\n- name: a\n"
        .. "  plugins: [{pluginRef: queue-scorer, weight: " .. weight .. "}]\n", "weight")
    end
    -- The router takes its defaults for these.
    reads(plugin("token-load-scorer", "queueThresholdTokens: -1"))
    reads(plugin("active-request-scorer", "maxBusyScore: 7"))
  end)

  it("knows the orders of stages, and no others", function()
    local function disaggregated(order)
      return head .. "plugins:\n- type: decode-filter\n- type: prefill-filter\n"
        .. "- {type: disagg-profile-handler, parameters: {stageOrder: " .. order .. "}}\n"
        .. "schedulingProfiles:\n- {name: prefill, plugins: [{pluginRef: prefill-filter}]}\n"
        .. "- {name: decode, plugins: [{pluginRef: decode-filter}]}\n"
    end
    for _, order in ipairs { "[banana]", "{a: b}", "later-first", "[encode, decode]", "5" } do
      refuses(disaggregated(order), "stageOrder is ")
    end
    for _, order in ipairs { "prefill-first", "decode-first", "[prefill, encode, decode]" } do
      reads(disaggregated(order))
    end
  end)

  it("tells much at once, and not everything that a large file repeats", function()
    local list = {}
    for i = 1, 500 do list[i] = ("- {type: %s}"):format(("q"):rep(3000) .. i) end
    files.with(head .. "plugins:\n" .. table.concat(list, "\n"), function(path)
      local message = message_of(import.read, path)
      assert.matches("\n... and 460 more$", message)
      assert.is_true(#message < 200000)
    end)
  end)
end)

describe("a policy in a file", function()
  local function subject_of(text)
    files.with(text, function(path)
      os.rename(path, path .. ".lua")
      local ok, problem = pcall(subject.read, path .. ".lua")
      os.remove(path .. ".lua")
      assert.is_true(ok, type(problem) == "table" and problem.message or tostring(problem))
    end)
  end

  local function fails(text, expected)
    assert.error_matches(function()
      local ok, problem = pcall(subject_of, text)
      error(ok and "nothing" or tostring(problem), 0)
    end, expected)
  end

  it("has its name in what is wrong with it", function()
    fails("return", "the script returns nothing")
    fails("x =", "this is not valid Lua: %S+%.lua:1: unexpected symbol")
    fails("\27Lua", "this is not valid Lua")
    fails("return { routing = 'weighted', queue = { ttl_us = 'x' } }",
      "queue.ttl_us: invalid value 'x'")
    fails("return { routing = 'weighted', admission = 'no-such' }", "unknown admission policy")
  end)

  it("cannot end the program, and may begin as a script does", function()
    fails("os.exit(0)", "a policy cannot end the program")
    subject_of "#!/usr/bin/env blis\nreturn 'random'"
  end)

  it("keeps its global variables to itself", function()
    subject_of "leaked = 1; function helper() end; return 'random'"
    assert.is_nil(rawget(_G, "leaked"))
    assert.is_nil(rawget(_G, "helper"))
  end)
end)

describe("a record of decisions", function()
  local function read(lines, fields)
    local found
    files.with(table.concat(lines, "\n"), function(path) found = records.read(path, fields) end)
    return found
  end
  local scorers = '{"scorers":[{"name":"a","weight":1}]}'
  local function decision(more)
    return '{"kind":"routing","request":"r","chosen":"i"' .. more .. "}"
  end
  local fine = decision ',"candidates":[{"instance":"i","scores":{"queue-depth":1}}]'

  it("may have lines that are none, and they are counted", function()
    local bad = { decision "", decision ',"candidates":[]', decision ',"candidates":"x"',
      decision ',"candidates":[1]', decision ',"candidates":[{"instance":5}]', "[]", "5", "null",
      "{", '{"resourceSpans":5}', '{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}]}' }
    local found = read { scorers, fine, table.unpack(bad) }
    assert.equal(1, #found.decisions)
    assert.is_true(found.skipped >= 9)
    assert.equal(1, replay.run(found, { "weighted", scorers = "queue-depth:1" }, "it", 5).agreed)
  end)

  it("is refused when there is no decision in it", function()
    assert.matches("no decision of 1 lines", message_of(read, { scorers, decision "" }))
    assert.matches("was not written by blis", message_of(read, { "hello" }))
    assert.matches("was not written by blis", message_of(read, { '{"scorers":5}', fine }))
    assert.matches("cannot open", message_of(records.read, "/"))
    assert.matches("no decision", message_of(read, { '{"c":"x","s":{"queue-scorer":5}}',
      '{"c":"x","s":{}}', '{"c":"x","s":[1,2]}' }, { chosen = "c", scores = "s" }))
  end)
end)

describe("commands", function()
  it("write nothing when they fail", function()
    folders.with(function(folder)
      local out = folder .. ".json"
      files.with(head .. "plugins: 5\n", function(path)
        commands.error_of("import", path, "--output", out)
        commands.error_of("export", "llm-d", path, "--output", out)
        commands.error_of("gate", path, "random", "--json", out)
      end)
      commands.error_of("export", "llm-d", "least-loaded", "--output", out)
      assert.is_nil(files.read(out))
    end)
  end)

  it("do not write over what they read", function()
    files.with(head, function(path)
      for _, line in ipairs { { "import", path, "--output", path },
        { "export", "llm-d", path, "--output", path },
        { "gate", path, path, "--json", path } } do
        local _, message = commands.error_of(table.unpack(line))
        assert.matches(" are both '", message)
      end
      assert.equal(head, files.read(path))
    end, ".json")
  end)

  it("take no suite that ends the program, and no review of something else", function()
    local suite = 'return { scenarios = { { id = "a", cluster = { instances = 2 }, '
      .. 'workload = { rate = 20, requests = 20 } } } }'
    local function fails(text, expected, ...)
      local more = { ... }
      files.with(text, function(path)
        local _, message = commands.error_of("gate", "random", "random", "--seeds", "2", "--suite",
          path, table.unpack(more))
        assert.matches(expected, message)
      end)
    end
    fails("os.exit(0)", "a policy cannot end the program")
    fails("x =", "this is not valid Lua: ")
    fails("return { scenarios = { 5 } }", "scenarios%[1%]: id is missing")
    for text, expected in pairs { ["{"] = "expected JSON", ['{"a":5}'] = "none of these scenarios",
      ["[]"] = "none of these scenarios" } do
      files.with(text, function(path) fails(suite, expected, "--reviewed", path) end)
    end
  end)

  it("take flags of routers with any number behind them", function()
    for line, expected in pairs {
      ["smg --policy cache_aware --block-size 0"] = "block_size: invalid value 0",
      ["smg --policy cache_aware --cache-threshold 7"] = "cache_threshold: invalid value 7",
      ["dynamo --router-mode kv --router-temperature nan"] = "invalid value 'nan'" } do
      files.with(line, function(path)
        local _, message = commands.error_of("import", path)
        assert.matches(expected, message)
      end)
    end
  end)

  it("know a vector when they see one", function()
    for text, expected in pairs { ["{"] = "expected a vector", ["[]"] = "expected a vector",
      ['{"format":"blis-conformance-1","steps":5}'] = "expected a vector",
      ['{"format":"blis-conformance-1","steps":[1]}'] = "steps%[1%] is 1, expected an object",
      ['{"format":"blis-conformance-1","steps":[],"kind":"router","policy":5}'] =
        "there is no policy 5 of kind 'router'" } do
      files.with(text, function(path)
        local _, message = commands.error_of("conformance", "--check", path)
        assert.matches(expected, message)
      end)
    end
  end)
end)
