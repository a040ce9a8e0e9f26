-- What holds for every type of object that scripts get hold of.
local blis = require "blis"
local core = require "blis.core"
local small = require "spec.support.small"

local says = small.says

local function temporary()
  local path = os.tmpname()
  os.remove(path)
  return path
end

--- The identity, every signal that can be read without a request, and the statistics.
local function instance_fields()
  local instance = blis.simulation({}).instances[1]
  local readable = {}
  for _, signal in ipairs(core.signals()) do
    if pcall(function() return instance[signal.name] end) then
      readable[#readable + 1] = signal.name
    end
  end
  assert(#readable > 25)
  return "id index state model gpu " .. table.concat(readable, " ") .. " completed timed_out "
    .. "unservable steps cache_hits cache_misses used_kv_blocks"
end

-- One of each type, and what it can do. fields: pairs gives these, in this order; list: pairs gives
-- 1 to #object; counts: #object works; closes: as a variable <close>, and twice.
local samples = {
  ["blis.decisions"] = { list = true, counts = true, make = function()
    return blis.run(small.experiment { trace_level = "decisions" }).decisions
  end },
  ["blis.child"] = { make = function() return core.child "cat" end },
  ["blis.http_peer"] = core.observe_library() and {
    make = function() return core.http_peer "http://127.0.0.1:9" end } or true,
  ["blis.event_queue"] = { counts = true, closes = true, make = blis.event_queue },
  ["blis.instance"] = {
    fields = instance_fields(),
    make = function() return blis.simulation({}).instances[1] end,
  },
  ["blis.journal"] = { closes = true, make = function()
    local folder = temporary()
    core.make_folder(folder)
    local journal = core.journal(folder, "spec")
    os.execute("rm -r " .. folder)
    return journal
  end },
  ["blis.json_writer"] = { counts = true, make = core.json_writer },
  ["blis.kv_cache"] = {
    fields = "blocks block_size free_blocks used_blocks hits misses", counts = true, closes = true,
    make = function() return blis.kv_cache { blocks = 4 } end,
  },
  ["blis.kv_holder"] = { fields = "blocks tokens cached_tokens", counts = true, make = function()
    return blis.kv_cache({ blocks = 4 }):allocate(20)
  end },
  ["blis.latency_model"] = { fields = "name from_sums", make = function()
    return blis.latency_model "roofline"
  end },
  ["blis.lone_instance"] = {
    fields = "now_us waiting running queue_depth batch_size kv_blocks used_kv_blocks "
      .. "free_kv_blocks kv_utilization block_size cache_hits cache_misses preemptions completed "
      .. "timed_out unservable steps output_tokens",
    counts = true, closes = true,
    make = function() return blis.instance { kv_blocks = 100 } end,
  },
  ["blis.output"] = { closes = true, make = function() return core.output(temporary()) end },
  ["blis.policy"] = { fields = "kind name", make = function()
    return blis.scorer "queue-depth"
  end },
  ["blis.prefix_index"] = { list = true, counts = true, closes = true, make = function()
    return blis.prefix_index { capacity = 8 }
  end },
  ["blis.records"] = { list = true, counts = true, make = function()
    return blis.run(small.experiment()).requests
  end },
  ["blis.rng"] = { make = function() return blis.rng(1, "router") end },
  ["blis.simulation"] = {
    fields = "now_us seed instances injected routed rejected completed timed_out unservable failed "
      .. "escalated rerouted retried in_flight",
    counts = true, closes = true,
    make = function() return blis.simulation {} end,
  },
  ["blis.trace_cursor"] = { closes = true, make = function()
    return (select(4, blis.trace.stream("tests/data/azure_2023.csv"):requests()))
  end },
  ["blis.graph_file"] = { counts = true, make = function()
    return blis.session_graphs "tests/data/graphs/weka.jsonl"
  end },
  ["blis.trace_stream"] = { counts = true, make = function()
    return blis.trace.stream "tests/data/azure_2023.csv"
  end },
  ["blis.vector"] = { list = true, counts = true, make = function()
    return blis.vec.new { 1, 2.5 }
  end },
  ["blis.workers"] = { closes = true, make = function()
    return core.workers { jobs = 1, work = function() return "" end }
  end },
  ["blis.workload"] = { list = true, counts = true, make = function()
    return blis.workload { requests = 3 }
  end },
  ["blis.workload_spec"] = { make = function()
    local length = { type = "constant", params = { value = 5 } }
    return core.workload_spec({ aggregate_rate = 1, num_requests = 3, clients = { {
      id = "a", rate_fraction = 1, arrival = { process = "poisson" },
      input_distribution = length, output_distribution = length,
    } } }, "workload", { seed = 7 })
  end },
}

-- Types that no value of a script ever has.
local internal = { ["blis.scorer_at_work"] = true,
  ["blis.scorer_by_hand"] = true, ["blis.prefix_store"] = true,
  ["blis.batch"] = true, ["blis.figures"] = true, ["blis.catalogue"] = true,
  ["blis.live_desk"] = true,
  -- Tables of autoscalers and listeners, which know their fields.
  ["blis.RunEvent"] = true, ["blis.ScaleContext"] = true,
  ["blis.ScaleInstance"] = true, ["blis.ScaleSample"] = true }

local names = {}
for name in pairs(samples) do names[#names + 1] = name end
table.sort(names)

local function keys_of(object)
  local keys = {}
  for key, value in pairs(object) do
    assert(value ~= nil)
    keys[#keys + 1] = tostring(key)
  end
  return table.concat(keys, " ")
end

describe("pairs of an instance", function()
  it("have the signals that a policy of the run keeps up", function()
    local function has(name, sim)
      for key, value in pairs(sim.instances[1]) do
        if key == name then return type(value) == "number" end
      end
      return false
    end
    local plain = blis.simulation {}
    local kept = blis.simulation { routing = "blitz.least-token-load" }
    for _, sim in ipairs { plain, kept } do
      assert.is_true(has("decoded_tokens", sim) and has("role", sim))
      assert.is_false(has("cached_tokens", sim))
    end
    assert.is_false(has("recent_ttft_us", plain))
    assert.is_true(has("recent_ttft_us", kept))
    local _, problem = pcall(function() return plain.instances[1].decoded_token end)
    assert.truthy(tostring(problem):find("did you mean 'decoded_tokens'?", 1, true))
  end)
end)

describe("every type of objects", function()
  it("is known here", function()
    for _, sample in pairs(samples) do sample.make() end
    for name, meta in pairs(debug.getregistry()) do
      local is_type = type(name) == "string" and type(meta) == "table" and meta.__name == name
      if is_type and name:find "^blis%." and name ~= "blis.error" then
        assert.is_truthy(samples[name] or internal[name], name .. " has no sample in this spec")
      end
    end
  end)

  it("is the type that its sample says", function()
    for name, sample in pairs(samples) do
      assert.equal(name, debug.getmetatable(sample.make()).__name)
    end
  end)

  for _, name in ipairs(names) do
    local sample = samples[name]
    local has_fields = sample.fields ~= nil

    it(name .. " prints without an address, always the same", function()
      local text = tostring(sample.make())
      assert.is_nil(text:find "0x", text)
      assert.is_nil(text:find(name, 1, true), text)
      if name ~= "blis.output" and name ~= "blis.journal" then
        assert.equal(text, tostring(sample.make()))
      end
    end)

    it(name .. " keeps its metatable to itself", function()
      local object = sample.make()
      assert.is_false(getmetatable(object))
      assert.is_false(pcall(function() object.no_such_thing = 1 end))
    end)

    it(name .. (sample.counts and " has a length" or " has no length"), function()
      local object = sample.make()
      assert.equal(sample.counts or false, (pcall(function() return #object end)))
      if sample.counts then assert.equal("integer", math.type(#object)) end
    end)

    it(name .. " can be gone through in a fixed order, or not at all", function()
      local object = sample.make()
      if not has_fields and not sample.list then
        says(small.message_of(keys_of, object), "table expected")
        return
      end
      local keys = keys_of(object)
      if has_fields then assert.equal(sample.fields, keys) end
      assert.equal(keys, keys_of(sample.make()))
      if sample.list and name ~= "blis.prefix_index" then
        local expected = {}
        for i = 1, #object do expected[i] = tostring(i) end
        assert.equal(table.concat(expected, " "), keys)
      end
    end)

    if has_fields then
      it(name .. " names what it has, or the nearest", function()
        local object = sample.make()
        local first, last = sample.fields:match "^(%S+).-(%S+)$"
        local message = small.message_of(function() return object.zzzzzzzzzzzz end)
        says(message, "has no field 'zzzzzzzzzzzz'; it has ")
        says(message, name == "blis.policy" and "kind and name" or first .. ", ")
        if name ~= "blis.policy" then
          message = small.message_of(function() return object[last .. "s"] end)
          says(message, ("did you mean '%s'?"):format(last))
        end
      end)
    end

    it(name .. (sample.closes and " can be closed" or " needs no closing"), function()
      local object = sample.make()
      assert.equal(sample.closes or false, debug.getmetatable(object).__close ~= nil)
      if sample.closes then
        do local _ <close> = object end
        debug.getmetatable(object).__close(object)
        says(tostring(object), "closed")
        assert.is_nil(tostring(object):find "0x")
      end
    end)
  end
end)

describe("a result", function()
  local result = blis.run(small.experiment())

  it("keeps its metatable to itself and prints without an address", function()
    assert.is_false(getmetatable(result))
    assert.is_nil(tostring(result):find "0x")
  end)

  it("can be gone through by name, with what is worked out on demand", function()
    local before, seen = "", {}
    for name, value in pairs(result) do
      assert.is_true(before < name)
      assert.is_true(value ~= nil)
      before, seen[name] = name, true
    end
    for _, name in ipairs { "completed", "balance_cv", "ttft_ms", "hash" } do
      assert.is_true(seen[name], name)
    end
    assert.equal(keys_of(result), keys_of(blis.run(small.experiment())))
    for name in pairs(blis.run(small.experiment { keep_records = false })) do
      assert.not_equal("balance_cv", name)
    end
  end)
end)
