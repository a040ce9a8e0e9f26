-- EndpointPickerConfigs of llm-d as experiments.
local blis = require "blis"
local files = require "spec.support.files"
local import = require "blis.production.import"
local program = require "spec.support.program"
local versions = require "blis.production.epp.versions"

local folder = "spec/production/epp/"
local head = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

--- What is found in a text.
local function read(text, options)
  local found
  files.with(head .. text, function(path)
    options = options or {}
    options.from = "llm-d"
    found = import.read(path, options)
  end)
  return found
end

--- The experiment of an imported script.
local function experiment_of(found) return load(found.lua)("policy") end

local function fails(text, part, options)
  local ok, problem = pcall(read, text, options)
  assert.is_false(ok, "expected an error: " .. part)
  assert.matches(part, problem.message, 1, true)
end

local function says(found, kind, part)
  for _, one in ipairs(found.findings:of(kind)) do
    if (one.part .. ": " .. one.text):find(part, 1, true) then return end
  end
  error(("no finding of kind %s says: %s\n%s"):format(kind, part, found.findings:text()))
end

-- The samples that need what is not simulated, and what of it.
local incomplete = {
  ["epp-burst-prefix-cache-config"] = "burst-prefix-cache-producer",
  ["pd-topology-epp-config"] = "topology-affinity-scorer",
  ["sim-epp-gpu-config"] = "gpu-scorer",
}
local samples = { "dp-epp-config", "epp-burst-prefix-cache-config", "epp-config",
  "epp-estimate-prefix-cache-config", "epp-precise-prefix-cache-config", "pd-epp-config",
  "pd-topology-epp-config", "probabilistic-admitter-epp-config", "sim-e-p-d-epp-config",
  "sim-e-pd-epp-config", "sim-epp-config", "sim-epp-gpu-config", "sim-epp-kvcache-config",
  "sim-epp-no-hit-lru", "sim-epp-tokenizer-vllm-http-config", "sim-pd-epp-config",
  "sim-program-aware-config", "soft-reflective-ceiling-epp-config" }

describe("the sample files of llm-d's router", function()
  it("import, 18 of 19, and run", function()
    assert.equal(18, #samples)
    for _, name in ipairs(samples) do
      local path = folder .. name .. ".yaml"
      local found = import.read(path, { allow_missing = incomplete[name] ~= nil })
      local experiment = experiment_of(found)
      experiment.workload.requests = 30
      assert.equal(30, blis.run(experiment).completed, name)
    end
  end)

  it("stop where something changes routing and is not simulated", function()
    for name, part in pairs(incomplete) do
      local ok, problem = pcall(import.read, folder .. name .. ".yaml")
      assert.is_false(ok)
      assert.matches(part, problem.message, 1, true)
      assert.matches("--allow-missing", problem.message, 1, true)
      local _, at = problem.message:find(folder .. name .. ".yaml:", 1, true)
      assert.matches("^%d+: ", problem.message:sub(at + 1))
    end
  end)

  it("fail, the 19th, by its key and suggest the right one", function()
    local ok, problem = pcall(import.read, folder .. "epp-mm-embeddings-cache-config.yaml",
      { allow_missing = true })
    assert.is_false(ok)
    assert.equal(folder .. "epp-mm-embeddings-cache-config.yaml:27: mm-embeddings-cache-producer: "
      .. "unknown parameter 'cacheSizeInMB'; did you mean 'cacheSizeInMBPerServer'?",
      problem.message)
  end)

  it("become what they say", function()
    local pd = experiment_of(import.read(folder .. "pd-epp-config.yaml"))
    assert.same({ "llmd.prefix-based", non_cached_tokens = 16 }, pd.disaggregation.decider)
    local scorers = { { "llm-d.prefix-cache-scorer", 2, block_size = 64, capacity = 31250,
      max_prefix_tokens = 16384 }, { "llm-d.queue-scorer", 1 } }
    assert.same({ "weighted", scorers = scorers, picker = "llm-d.max-score-picker" }, pd.routing)
    assert.same(pd.routing, pd.disaggregation.prefill_routing)
    assert.equal(50000, pd.cluster.snapshot_refresh_us)
    local sim = import.read(folder .. "sim-pd-epp-config.yaml")
    says(sim, "note", "blockSizeTokens 16: the router uses at least 64")
    local precise = experiment_of(import.read(folder .. "sim-epp-kvcache-config.yaml"))
    assert.same({ "llm-d.prefix-cache-scorer", 10, producer = "precise" },
      precise.routing.scorers[1])
    local aware = experiment_of(import.read(folder .. "sim-program-aware-config.yaml"))
    assert.equal("least-service", aware.queue.fairness)
    local shed = experiment_of(import.read(folder .. "probabilistic-admitter-epp-config.yaml"))
    assert.same({ "probabilistic" }, shed.admission)
    assert.equal("random", shed.routing)
    local ceiling = import.read(folder .. "soft-reflective-ceiling-epp-config.yaml")
    assert.same({ "soft-reflective" }, experiment_of(ceiling).queue.usage_limit)
    says(ceiling, "filled", "max-score-picker: picker of profile default")
    says(ceiling, "filled", "single-profile-handler: there is one profile")
  end)

  it("need nothing at all for what the router has built in", function()
    local routing = experiment_of(read "").routing
    assert.same({ "llm-d.queue-scorer", 2 }, routing.scorers[1])
    assert.same({ "kv-utilization", 2 }, routing.scorers[2])
    assert.equal(3, routing.scorers[3][2])
  end)
end)

describe("names that versions of the router have changed", function()
  local one = "plugins:\n- type: %s\n- type: queue-scorer\n"
  local flow = "plugins:\n- type: utilization-detector\n- type: queue-scorer\n"

  it("are refused from that version on, with what to write", function()
    local cases = {}
    for name, change in pairs(versions.types) do
      cases[#cases + 1] = { one:format(name), change }
    end
    assert.is_true(#cases >= 8)
    cases[#cases + 1] = { flow .. "saturationDetector: { pluginRef: utilization-detector }\n",
      versions.keys.saturationDetector }
    cases[#cases + 1] = { "plugins:\n- type: openai-parser\n- type: queue-scorer\n"
      .. "parser: { pluginRef: openai-parser }\n", versions.keys.parser }
    for kind, list in pairs(versions.parameters) do
      for name, change in pairs(list) do
        local value = "x"
        for part in name:reverse():gmatch "[^.]+" do
          value = ("{ %s: %s }"):format(part:reverse(), value)
        end
        cases[#cases + 1] = { ("plugins:\n- type: %s\n  parameters: %s\n"):format(kind, value),
          change }
      end
    end
    cases[#cases + 1] = { "featureGates: [ dataLayer ]\n", versions.gates.dataLayer }
    cases[#cases + 1] = { "featureGates: [ enableLegacyMetrics ]\n",
      versions.gates.enableLegacyMetrics }
    for _, case in ipairs(cases) do
      fails(case[1], case[2].advice, { version = "0.11" })
      fails(case[1], case[2].source, { version = "0.11" })
    end
  end)

  it("are read before, and reported", function()
    for _, version in ipairs { "0.9", "0.10" } do
      local found = read(flow .. "saturationDetector: { pluginRef: utilization-detector }\n",
        { version = version })
      says(found, "rewritten", "0.11 rejects it (#1247, #2838, #1308): write "
        .. "flowControl.saturationDetector")
    end
    local any = read(one:format "precise-prefix-cache-scorer"
      .. "schedulingProfiles:\n- name: default\n  plugins:\n"
      .. "  - { pluginRef: precise-prefix-cache-scorer, weight: 5 }\n")
    assert.same({ "llm-d.prefix-cache-scorer", 5, producer = "precise" },
      experiment_of(any).routing.scorers[1])
  end)

  it("are read as what they are called now", function()
    local flat = read [[
plugins:
- { type: decode-filter }
- { type: prefill-filter }
- { type: queue-scorer }
- type: pd-profile-handler
  parameters: { decodeProfile: d, prefillProfile: p, deciderPluginName: always-disagg-pd-decider }
- { type: always-disagg-pd-decider }
schedulingProfiles:
- { name: d, plugins: [ { pluginRef: decode-filter }, { pluginRef: queue-scorer } ] }
- { name: p, plugins: [ { pluginRef: prefill-filter }, { pluginRef: queue-scorer } ] }
]]
    assert.equal("always", experiment_of(flat).disaggregation.decider)
  end)

  it("do not hide what came later", function()
    fails("plugins:\n- type: queue-scorer\n- type: priority-holdback-policy\n",
      "priority-holdback-policy was added in 0.10", { version = "0.9" })
    fails("plugins:\n- type: prefix-based-pd-decider\n  parameters: { promptTokens: 9 }\n",
      "prefix-based-pd-decider: promptTokens was added in 0.10", { version = "0.9" })
  end)
end)

describe("an EndpointPickerConfig", function()
  it("is read as strictly as by the router, and all that is wrong is told at once", function()
    local text = [[
plugins:
- { type: queue-scorr }
- { type: load-aware-scorer, parameters: { treshold: 4 } }
- { type: queue-scorer, parameters: { threshold: 4 } }
- { type: active-request-scorer, parameters: { idleThreshold: many } }
schedulingProfiles:
- { name: default, plugins: [ { pluginRef: queue }, { pluginRef: queue-scorer, wieght: 2 } ] }
]]
    for _, part in ipairs { ":4: unknown plugin type 'queue-scorr'; did you mean 'queue-scorer'?",
      ":5: load-aware-scorer: unknown parameter 'treshold'; did you mean 'threshold'?",
      ":6: queue-scorer: unknown parameter 'threshold'; it has none",
      ":7: active-request-scorer: idleThreshold is 'many', expected a number",
      "unknown plugin 'queue'", "unknown key 'wieght'; did you mean 'weight'?" } do
      fails(text, part)
    end
    fails("plugin: []\n", "unknown key 'plugin'; did you mean 'plugins'?")
  end)

  it("has one handler, one picker for a profile, and names once", function()
    fails("plugins: [ { type: queue-scorer }, { type: queue-scorer } ]\n", "duplicate")
    fails("plugins: [ { type: max-score-picker }, { type: random-picker } ]\nschedulingProfiles:\n"
      .. "- { name: a, plugins: [ { pluginRef: max-score-picker }, { pluginRef: random-picker } ] "
      .. "}\n", "profile 'a' has two pickers")
    fails("plugins: [ { type: queue-scorer } ]\nschedulingProfiles: [ { name: a }, { name: b } ]\n",
      "there are 2 profiles and no profile handler")
    fails("plugins: [ { type: single-profile-handler } ]\nschedulingProfiles: [ { name: a }, "
      .. "{ name: b } ]\n", "single-profile-handler requires one profile, but the file has 2")
    fails("plugins: [ { type: max-score-picker } ]\nschedulingProfiles:\n- { name: a, plugins: [ "
      .. "{ pluginRef: max-score-picker, weight: 2 } ] }\n", "only scorers can have a weight")
  end)

  it("has numbers that may be quoted, durations and quantities", function()
    local found = read [[
featureGates: [ flowControl=true ]
plugins:
- { type: load-aware-scorer, parameters: { threshold: "32" } }
flowControl: { defaultRequestTTL: 1m30s, maxBytes: 1Gi, defaultPriorityBand: { maxRequests: "70" } }
]]
    local experiment = experiment_of(found)
    assert.equal(32, experiment.routing.scorers[1].threshold)
    assert.equal(90000000, experiment.queue.ttl_us)
    assert.equal(1 << 30, experiment.queue.max_bytes)
    assert.equal(70, experiment.queue.band_max_requests)
    fails("featureGates: [ flowControl ]\nflowControl: { defaultRequestTTL: soon }\n",
      [[defaultRequestTTL is 'soon', expected a duration such as "1s" or "200ms"]])
  end)

  it("may have both names of the block size only when they agree", function()
    local text = "plugins:\n- type: queue-scorer\n- type: approx-prefix-cache-producer\n"
      .. "  parameters: { blockSize: 128, blockSizeTokens: %d }\n"
    read(text:format(128))
    fails(text:format(64), "differ; they are the same parameter")
  end)

  it("prefers the worst where a weight is negative", function()
    local found = read [[
plugins: [ { type: queue-scorer }, { type: kv-cache-utilization-scorer } ]
schedulingProfiles:
- name: default
  plugins: [ { pluginRef: queue-scorer, weight: -2 }, { pluginRef: kv-cache-utilization-scorer } ]
]]
    says(found, "note", "weight -2 is negative")
    local experiment = experiment_of(found)
    assert.equal(2, experiment.routing.scorers[1][2])
    experiment.workload.requests = 10
    assert.equal(10, blis.run(experiment).completed)
  end)
end)

describe("blis import #host", function()
  it("writes a script that runs, and tells what it did", function()
    local path = folder .. "epp-config.yaml"
    local made = program.run("import", path)
    assert.equal(0, made.status, made.err)
    assert.matches("line 5, prefix-cache-scorer: scorer", made.err, 1, true)
    program.with_file(made.out, function(script)
      local run = program.run(script)
      assert.equal(0, run.status, run.err)
      assert.matches("2,000 completed", run.out, 1, true)
    end)
    local json = program.run("import", path, "--format", "json", "--quiet")
    assert.equal("", json.err)
    assert.matches('"system": "llm-d"', json.out, 1, true)
  end)

  it("says what is wrong", function()
    for _, case in ipairs {
      { { "no_such_file.yaml" }, 1, "cannot open no_such_file.yaml" },
      { {}, 2, "which file?" },
      { { "README.md", "--from", "llm-d" }, 1, "README.md:" },
      { { "LICENSE" }, 2, "unknown system; use --from" },
    } do
      local run = program.run("import", table.unpack(case[1]))
      assert.equal(case[2], run.status, run.err)
      assert.matches(case[3], run.err, 1, true)
      assert.equal("", run.out)
    end
  end)
end)

describe("a configuration in another file", function()
  local plugins = [[
plugins:
- type: queue-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
    weight: 2
]]
  local function indented(spaces) return ((head .. plugins):gsub("([^\n]+)", spaces .. "%1")) end

  local function read_file(text, options)
    local found
    files.with(text, function(path) found = import.read(path, options) end)
    return found
  end

  local function weight_of(found) return experiment_of(found).routing.scorers[1][2] end

  it("is read from Helm values, a ConfigMap, and one of several documents", function()
    local helm = "epp:\n  pluginsConfigFile: p.yaml\n  pluginsCustomConfig:\n    p.yaml: |\n"
      .. indented "      " .. "  replicas: 2\n"
    local map = "kind: ConfigMap\ndata:\n  x.yaml: |\n" .. indented "    " .. "---\nkind: Service\n"
    local documents = "kind: Service\n---\n" .. head .. plugins .. "---\nkind: Other\n"
    local inline = "spec:\n  scheduler:\n    config:\n      inline:\n" .. indented "        "
    for _, text in ipairs { helm, map, documents, inline } do
      local found = read_file(text)
      assert.equal(2, weight_of(found))
      says(found, "note", "the configuration begins here")
    end
  end)

  it("is read from quoted strings of JSON and of lists", function()
    local quoted = ("%s%s"):format(head, plugins):gsub("\n", "\\n"):gsub('"', '\\"')
    local json = '{\n"kind": "ConfigMap",\n"data": {"x.yaml": "' .. quoted .. '"}}\n'
    local list = 'kind: List\nitems:\n- data:\n    x.yaml: "' .. quoted .. '"\n'
    for _, text in ipairs { json, list, "kind: Other\n---\n" .. list } do
      assert.equal(2, weight_of(read_file(text)))
    end
  end)

  it("of the first releases names the nearest type of today", function()
    local ok, problem = pcall(read_file, head .. "plugins:\n- type: low-queue-filter\n")
    assert.is_false(ok)
    assert.matches("'low-queue-filter'; the router removed it in 2025; the nearest is "
      .. "utilization-filter", problem.message, 1, true)
  end)

  it("keeps its line numbers", function()
    local text = "data:\n  x.yaml: |\n" .. indented("    "):gsub("queue%-scorer\n", "quue\n", 1)
    local ok, problem = pcall(read_file, text)
    assert.is_false(ok)
    assert.matches(":6: unknown plugin type 'quue'", problem.message, 1, true)
  end)

  it("is the one that pluginsConfigFile names; otherwise two are an error", function()
    local two = "a.yaml: |\n" .. indented "  " .. "b.yaml: |\n"
      .. indented("  "):gsub("weight: 2", "weight: 7")
    assert.equal(7, weight_of(read_file("pluginsConfigFile: b.yaml\n" .. two)))
    local ok, problem = pcall(read_file, two)
    assert.is_false(ok)
    assert.matches("2 configurations (a.yaml at line 2, b.yaml at line 12); expected one",
      problem.message, 1, true)
  end)
end)

describe("a configuration of 2025", function()
  local text = [[
plugins:
- type: kv-cache-scorer
- type: prefix-cache
  parameters: { hashBlockSize: 64, maxPrefixBlocksToMatch: 256, lruCapacityPerServer: 31250 }
- type: max-score
- type: single-profile
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: kv-cache-scorer
  - pluginRef: prefix-cache
    weight: 3
  - pluginRef: max-score
]]

  it("is translated, and each old name is reported", function()
    local found = read(text)
    assert.same({ { "kv-utilization", 1 }, { "llm-d.prefix-cache-scorer", 3, block_size = 16,
      capacity = 31250, max_prefix_tokens = 4096 } }, experiment_of(found).routing.scorers)
    says(found, "rewritten", "write kv-cache-utilization-scorer")
    says(found, "rewritten", "blockSizeTokens: 16 (64 characters of 4 per token)")
    says(found, "rewritten", "write max-score-picker")
  end)

  it("is translated with the index of the engines, and with a threshold of a handler", function()
    local found = read [[
plugins:
- type: prefix-cache-scorer
  parameters: { mode: cache_tracking, indexerConfig: { tokenProcessorConfig: { blockSize: 64 } } }
- type: decode-filter
- type: prefill-filter
- type: pd-profile-handler
  parameters: { threshold: 10, hashBlockSize: 5 }
schedulingProfiles:
- name: decode
  plugins: [{ pluginRef: decode-filter }, { pluginRef: prefix-cache-scorer, weight: 2 }]
- name: prefill
  plugins: [{ pluginRef: prefill-filter }, { pluginRef: prefix-cache-scorer, weight: 2 }]
]]
    local experiment = experiment_of(found)
    assert.equal("precise", experiment.routing.scorers[1].producer)
    assert.equal(10, experiment.disaggregation.decider.non_cached_tokens)
  end)

  it("is refused if it is read as a version that refuses it", function()
    fails(text, "plugin type 'kv-cache-scorer' was removed in 0.9 (configurations of 2025): write "
      .. "kv-cache-utilization-scorer", { version = "0.10" })
  end)
end)
