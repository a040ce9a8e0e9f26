-- Policies of llm-d that go by labels and headers: formulas, files in and out.
local blis = require "blis"
local export = require "blis.production.export.export"
local files = require "spec.support.files"
local import = require "blis.production.import"
local labels = require "blis.policy.labels"
local subject = require "blis.production.subject"

local head = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"
local range_label = "llm-d.ai/context-length-range"

local function counts(filters, scorers, more)
  local workload = { rate = 30, requests = 60 }
  for key, value in pairs(more or {}) do workload[key] = value end
  local result = blis.run { cluster = { instances = 4 }, workload = workload,
    routing = { "weighted", filters = filters, scorers = scorers or "queue-depth:1" } }
  return result.requests_per_instance, result
end

local function failure(filter)
  local ok, problem = pcall(counts, { filter })
  assert.is_false(ok)
  return tostring(problem)
end

describe("a policy that goes by labels", function()
  it("lets through whom a selector names", function()
    local gold = { "llm-d.label-selector-filter", match = { tier = { "gold" } },
      labels = { tier = { "gold", "iron", "-" } } }
    local per = counts { gold }
    assert.same({ 0, 0 }, { per[2], per[3] })
    assert.is_true(per[1] > 0 and per[4] > 0) -- the fourth has the first value again
    gold.allows_unlabelled = true
    per = counts { gold }
    assert.is_true(per[2] == 0 and per[3] > 0)
    local _, none = counts { { "label-selector-filter", match = { tier = { "gold" } },
      labels = { tier = { "-" } } } }
    assert.equal(60, none.rejected)
    assert.equal(429, none.requests[1].status_code)
    local both = counts { { "llm-d.label-selector-filter",
      match = { tier = { "gold", "iron" }, zone = { "a" } },
      labels = { tier = { "gold", "iron", "-" }, zone = { "a", "b" } } } }
    assert.same({ 60, 0, 0, 0 }, { both[1], both[2], both[3], both[4] })
  end)

  it("asks as selectors of Kubernetes do: In, NotIn, Exists, DoesNotExist", function()
    local zones = { zone = { "a", "b", "-" }, old = { "-", "yes" } } -- the fourth: zone a
    for _, case in ipairs {
      { { match = { zone = { "a", "b" } } }, "1 1 0 1" },
      { { exclude = { zone = { "a" } } }, "0 1 1 0" }, -- no label is no value of the list
      { { present = { "zone" } }, "1 1 0 1" },
      { { absent = { "zone" } }, "0 0 1 0" },
      { { present = { "zone" }, exclude = { zone = { "b" } } }, "1 0 0 1" },
      { { match = { zone = { "a" } }, absent = { "old" } }, "1 0 0 0" },
      { { exclude = { zone = { "a" } }, present = { "old" } }, "0 1 0 0" },
    } do
      local filter = { "label-selector-filter", labels = zones }
      for key, value in pairs(case[1]) do filter[key] = value end
      local taken = {}
      for i, count in ipairs((counts { filter })) do taken[i] = count > 0 and "1" or "0" end
      assert.equal(case[2], table.concat(taken, " "))
    end
  end)

  it("scores lengths as the router does", function()
    local function near(expected, ...)
      assert.is_true(math.abs(labels.score_of_length(...) - expected) < 1e-10)
    end
    near(0.7628979135, 1500, "0-2048")
    near(0.6149586052, 1500, "0-32768")
    near(0.1536885246, 3000, "0-2048")
    near(1, 7, "7-7")
    near(0.5, 7, nil)
    for _, bad in ipairs { "x", "9-2", "-5", "1-2-3", "" } do near(0, 7, bad) end
  end)

  it("sends prompts where their length belongs", function()
    local ranges = { [range_label] = { "0-99", "100-9999", "-", "bad" } }
    local long = { prompt = { "constant", value = 500 } }
    local per = counts({ { "llm-d.context-length-aware", labels = ranges } }, nil, long)
    assert.equal(0, per[1])
    assert.is_true(per[2] > 0 and per[3] > 0 and per[4] > 0)
    per = counts(nil, { { "llm-d.context-length-aware", labels = ranges } }, long)
    assert.equal(60, per[2])
  end)

  it("compares a label with what a header would say", function()
    local per = counts(nil, { { "llm-d.header-label-affinity-scorer", label = "owner",
      labels = { owner = { "a", "-", "b" } } } }, { tenant = "b" })
    assert.equal(60, per[3])
  end)

  it("says which label it knows nothing of", function()
    assert.matches("labels: missing values for the label 'tier'", failure {
      "llm-d.label-selector-filter", match = { tier = { "a" } }, labels = { zone = { "a" } } })
    assert.matches("no label is named in match, exclude, present or absent", failure {
      "llm-d.label-selector-filter", match = {}, labels = {} })
    assert.matches("labels is missing", failure { "llm-d.context-length-aware" })
  end)
end)

local function file_of(plugins, refs)
  return ("%splugins:\n%s\nschedulingProfiles:\n- name: default\n  plugins:\n%s\n"):format(head,
    plugins, refs)
end

local whole = file_of([[
- type: queue-scorer
- {type: by-label-selector, parameters: {matchLabels: {tier: gold, "a.b/c": "yes"},
   matchExpressions: [{key: zone, operator: In, values: [a, b]},
     {key: tier, operator: In, values: [iron, gold]},
     {key: rack, operator: NotIn, values: [r1]}, {key: rack, operator: NotIn, values: [r2, r1]},
     {key: zone, operator: Exists}, {key: old, operator: DoesNotExist, values: []}]}}
- {type: context-length-aware, parameters: {enableFiltering: true,
   label: llm-d.ai/context-length-range}}
- {type: header-label-affinity-scorer, parameters: {headerName: X-Session-Id, labelKey: owner}}]],
  [[
  - {pluginRef: by-label-selector}
  - {pluginRef: context-length-aware, weight: 2}
  - {pluginRef: header-label-affinity-scorer}
  - {pluginRef: queue-scorer}]])

describe("labels in files of llm-d", function()
  it("are read, and go out again with the same decisions", function()
    files.with(whole, function(path)
      local found = import.read(path)
      local routing = load(found.lua)("policy").routing
      assert.equal("llm-d.label-selector-filter", routing.filters[1][1])
      assert.same({ ["a.b/c"] = { "yes" }, tier = { "gold" }, zone = { "a", "b" } },
        routing.filters[1].match)
      assert.same({ rack = { "r1", "r2" } }, routing.filters[1].exclude)
      assert.same({ "zone" }, routing.filters[1].present)
      assert.same({ "old" }, routing.filters[1].absent)
      assert.equal("llm-d.context-length-aware", routing.filters[2][1])
      assert.equal("session", routing.scorers[2].field)
      assert.matches("the values of the label 'tier' are examples", found.findings:text(), 1, true)
      local made = export.of("llm-d", subject.read(path), {})
      assert.equal(made.decisions, made.equal)
      assert.matches('a.b/c: "yes"\n', made.config, 1, true)
      assert.matches("enableFiltering: true", made.config, 1, true)
      assert.matches("operator: NotIn", made.config, 1, true)
      assert.matches("headerName: x-session-id", made.config, 1, true)
      files.with(made.config, function(again)
        assert.same(routing, load(import.read(again).lua)("policy").routing)
      end)
    end)
  end)

  it("take the older parameters of by-label", function()
    files.with(file_of("- type: queue-scorer\n- {type: by-label, parameters: {label: tier, "
      .. "validValues: [a, b], allowsNoLabel: true}}", "  - pluginRef: by-label\n"
      .. "  - pluginRef: queue-scorer"), function(path)
      local filter = load(import.read(path).lua)("policy").routing.filters[1]
      assert.same({ tier = { "a", "b" } }, filter.match)
      assert.is_true(filter.allows_unlabelled)
    end)
  end)

  it("keep a filter on lengths that has no scorer", function()
    local ranges = { [range_label] = { "0-900", "901-9999" } }
    local made = export.of("llm-d", { name = "it", label = "it", signals = {}, points = {
      routing = { "weighted", scorers = "llm-d.queue-scorer:1", picker = "llm-d.max-score-picker",
        filters = { { "llm-d.context-length-aware", labels = ranges } } } } }, {})
    assert.equal(made.decisions, made.equal)
    assert.matches("weight: 0\n", made.config, 1, true)
  end)

  it("keep all candidates where they name no label", function()
    files.with(file_of("- type: queue-scorer\n- type: label-selector-filter",
      "  - pluginRef: label-selector-filter\n  - pluginRef: queue-scorer"), function(path)
      local found = import.read(path)
      assert.is_nil(load(found.lua)("policy").routing.filters)
      assert.matches("it selects no label: all candidates stay", found.findings:text(), 1, true)
    end)
  end)

  it("stop an import where they are wrong, or say what is not simulated", function()
    local selector = "label-selector-filter, parameters: {matchExpressions: "
    for _, case in ipairs {
      { selector .. "[{key: a, operator: Exist}]}",
        "matchExpressions[1].operator is 'Exist', expected In, NotIn, Exists or DoesNotExist; did "
          .. "you mean 'Exists'?" },
      { selector .. "[{key: a, operator: NotIn}]}",
        "NotIn requires a list of one or more strings" },
      { selector .. "[{key: a, operator: Exists, values: [b]}]}", "Exists accepts no values" },
      { selector .. "[{operator: Exists}]}", "expected { key, operator, values }" },
      { selector .. "[{key: a, operator: Exists, value: b}]}", "has no field 'value'" },
      { selector .. "{key: a}}", "expected a list of { key, operator, values }" },
      { selector .. "[{key: a, operator: In, values: [b]}], matchLabels: {a: c}}",
        "no endpoint can satisfy its condition on the label 'a'" },
      { "label-selector-filter, parameters: {matchLabels: [a]}", "expected { label: value }" },
      { "label-selector-filter, parameters: {matchLabels: {a: 5}}",
        "the value of 'a' is 5, expected a string" },
      { "label-selector-filter, parameters: {matchLabel: {a: b}}",
        "unknown parameter 'matchLabel'; did you mean 'matchLabels'?" },
      { "label-selector-filter, parameters: {label: a}", "together with validValues" },
      { "header-label-affinity-scorer, parameters: {headerName: x-mine, labelKey: a}",
        "no field of requests corresponds to the header 'x-mine'" },
      { "header-label-affinity-scorer, parameters: {headerName: x-session-id}",
        "labelKey is missing" },
    } do
      local kind = case[1]:match "^[%w-]+"
      files.with(file_of("- type: queue-scorer\n- {type: " .. case[1] .. "}", "  - pluginRef: "
        .. kind .. "\n  - pluginRef: queue-scorer"), function(path)
        local ok, problem = pcall(import.read, path)
        assert.is_false(ok, case[1])
        assert.is_truthy(problem.message:find(case[2], 1, true), problem.message)
      end)
    end
  end)
end)

local two_profiles = head .. [[
plugins:
- {type: header-profile-handler, parameters: {headerName: x-llm-d-inference-fairness-id,
   defaultProfile: slow}}
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: max-score-picker
schedulingProfiles:
- name: slow
  plugins: [{pluginRef: queue-scorer, weight: 2}, {pluginRef: prefix-cache-scorer}]
- name: fast
  plugins: [{pluginRef: queue-scorer, weight: -1}, {pluginRef: kv-cache-utilization-scorer}]
]]

describe("profiles that a header chooses", function()
  --- Decisions of an experiment's policy on some requests.
  local function decisions(routing, tenant)
    local result = blis.run { cluster = { instances = 3, snapshot_refresh_us = 50000 }, seed = 3,
      workload = { rate = 30, requests = 80, tenant = tenant, prefixes = { groups = 3,
        tokens = 600 } }, routing = routing, trace_level = "decisions" }
    local chosen = {}
    for i = 1, #result.decisions do chosen[i] = result.decisions[i].chosen end
    return chosen
  end

  --- What a file with one profile says.
  local function alone(plugins)
    local routing
    files.with(file_of("- type: queue-scorer\n- type: kv-cache-utilization-scorer\n"
      .. "- type: prefix-cache-scorer\n- type: max-score-picker", plugins), function(path)
      routing = load(import.read(path).lua)("policy").routing
    end)
    return routing
  end

  it("decide as each of them alone would", function()
    local found
    files.with(two_profiles, function(path) found = import.read(path) end)
    local routing = load(found.lua)("policy").routing
    local slow = alone("  - {pluginRef: queue-scorer, weight: 2}\n"
      .. "  - pluginRef: prefix-cache-scorer")
    local fast = alone("  - {pluginRef: queue-scorer, weight: -1}\n"
      .. "  - pluginRef: kv-cache-utilization-scorer")
    assert.same(decisions(slow, "nobody"), decisions(routing, "nobody")) -- the default
    assert.same(decisions(slow, "slow"), decisions(routing, "slow"))
    assert.same(decisions(fast, "fast"), decisions(routing, "fast"))
    assert.not_same(decisions(slow, "fast"), decisions(routing, "fast"))
  end)

  it("stop an import where they differ in more, or no field stands for the header", function()
    for _, case in ipairs {
      { "x%-llm%-d%-inference%-fairness%-id", "x-mine",
        "no field of requests corresponds to the header 'x-mine'" },
      { "name: fast\n  plugins: %[", "name: fast\n  plugins: [{pluginRef: utilization-filter}, ",
        "only profiles that have the same filters and the same picker" },
      { "defaultProfile: slow", "defaultProfile: none", "unknown profile 'none'" },
      { "headerName: [%w-]+,", "", "headerName is missing" },
    } do
      local text = two_profiles:gsub(case[1], case[2]):gsub("plugins:\n", "plugins:\n"
        .. "- {type: utilization-filter, parameters: {conditions: [{metric: waiting-queue, "
        .. "maxValue: 3}]}}\n", 1)
      files.with(text, function(path)
        local ok, problem = pcall(import.read, path)
        assert.is_false(ok, case[2])
        assert.is_truthy(problem.message:find(case[3], 1, true), problem.message)
      end)
    end
  end)
end)
