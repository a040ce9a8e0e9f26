local blis = require "blis"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

describe("the annotations", function()
  -- Types whose values come from C, by the rooms of src/lua.
  local core = ""
  for _, room in ipairs { "bind", "traffic", "engine", "policies", "results", "simulation" } do
    core = core .. read("lua/blis/meta/" .. room .. ".lua")
  end

  -- The build writes these texts; tests/host/install.sh checks that it installs them.
  it("are Lua, and a class and a field per line where they are generated", function()
    for _, name in ipairs { "blis.config.annotations", "blis.results.annotations" } do
      local text = require(name).generate()
      assert.is_truthy(load(text, name), name)
      assert.equal("---@meta\n", text:sub(1, 9))
      local count = 0
      for line in text:gmatch "[^\n]+" do
        assert.is_truthy(line:find "^%-%-%-", line)
        local field = line:match "^%-%-%-@field (.*)"
        if field then
          count = count + 1
          -- The place of the name in { "weighted", parameter = value } has no description.
          assert.is_truthy(field:find "^%S+ .+ %S" or field:find "^%[1%]%? %S+$", line)
        end
      end
      assert.is_true(count > 300, name)
    end
  end)

  it("have every class and option of the descriptions", function()
    local config = require "blis.config.annotations"
    local text = config.generate()
    for _, item in ipairs(config.sections) do
      local class, section = item[1], item[2]
      local fields = assert(text:match("@class " .. class .. "\n(.-)\n\n"), class)
      for _, option in ipairs(section.options) do
        local first = ("---@field %s%s "):format(option.name, option.required and "" or "?")
        local start = ("\n" .. fields):find("\n" .. first, 1, true)
        assert.is_truthy(start, class .. "." .. option.name)
        assert.is_truthy(fields:find(option.doc, 1, true), class .. "." .. option.name)
      end
    end
  end)

  it("have every class and metric of the table of results", function()
    local figures = require "blis.results.figures"
    local text = require("blis.results.annotations").generate() .. "\n"
    for _, class in ipairs(figures.classes) do
      local fields = assert(text:match("@class blis%." .. class.name .. "[ \n](.-)\n\n"),
        class.name)
      for _, figure in ipairs(class.figures) do
        assert.is_truthy(fields:find(figure.doc, 1, true), class.name .. "." .. figure.name)
      end
    end
  end)

  --- Every field of a table is a figure of its class, and every figure is a field of it.
  local function check_class(class, values, path)
    local figures, known = require "blis.results.figures", {}
    for _, figure in ipairs(figures.of(class)) do
      local value, place = values[figure.name], path .. "." .. figure.name
      known[figure.name] = true
      local may_miss = (class == "InstanceFigures" or class == "Result") and figure.asked
        or figure.type and figure.type:sub(-1) == "?"
      assert.is_truthy(value ~= nil or may_miss, place .. " is missing")
      assert.equal("string", type(figure.doc), place)
      for _, one in ipairs(figure.class and value and (value[1] and value or { value }) or {}) do
        check_class(figure.class, one, place)
      end
    end
    for name in pairs(values) do
      assert.is_true(known[name], ("%s.%s"):format(path, name))
    end
  end

  it("of results know every field, however deep", function()
    for _, instance_times in ipairs { false, true } do
      local result = blis.run {
        workload = { requests = 20, slo_class = "batch", tenant = "t" },
        cluster = { gpu_watts = 9, latency_model = "calibrated", lora = { adapters = 2 },
          speculation = { method = "ngram", acceptance = 0.7 }, ranks = 1 },
        slo_targets = { batch = { ttft_ms = 100 } },
        warm_up_us = 1000, phases = { { name = "all" } }, series_interval_us = 1000000,
        trace_level = "decisions",
        cascade = { "cognitora.cascade", chain = { "qwen/qwen3-14b" } },
        instance_times = instance_times, autoscaler = "threshold", faults = {}, queue = true,
        routers = { replicas = 2 },
        keep_steps = true, keep_timeline = true,
        kv_tiers = { { name = "cpu", gb = 1, read_gb_s = 1 } },
        admission = {
          name = "open", decide = function() return true end,
          custom_metrics = function() return { one = 1 } end,
        },
      }
      local graphs = { { { prompt_tokens = 9, output_tokens = 2 } } }
      rawset(result, "tasks", blis.run { workload = { graphs = graphs } }.tasks)
      -- An autoscaler and pools do not go together.
      local pools = { prefill_instances = 1, decode_instances = 1 }
      rawset(result, "handoffs", blis.run { cluster = pools }.handoffs)
      local spot = { steps = { { at = 0, available = 1 } } }
      local groups = { { instances = 1, region = "us" } }
      rawset(result, "regions", blis.run { cluster = { groups = groups },
        regions = { rtt_ms = {}, default_origin = "us" } }.regions)
      rawset(result, "spot", blis.run { cluster = { spot = spot } }.spot)
      check_class("Result", result, "result")
    end
  end)

  it("know every signal, on instances and as a column", function()
    for _, signal in ipairs(require("blis.core").signals()) do
      local _, count = core:gsub("@field " .. signal.name .. " ", "")
      assert.is_true(count >= 2, signal.name)
    end
  end)

  it("know every function of vectors", function()
    for name in pairs(blis.vec) do
      assert.is_truthy(core:find("function vec." .. name .. "(", 1, true), name)
    end
  end)

  it("stand at every public function", function()
    local missing = {}
    local modules = { "init", "policy/init", "experiment", "compare/comparison", "traffic/workload",
      "traffic/trace", "units" }
    for _, name in ipairs(modules) do
      local before = ""
      for line in read("lua/blis/" .. name .. ".lua"):gmatch "[^\n]*" do
        local public = line:match "^function ([%w_.:]+)"
        if public and not before:find "^%-%-%-" then missing[#missing + 1] = public end
        before = line
      end
    end
    assert.same({}, missing)
  end)

  -- One object of every type: its class, and the variable that stands for it there.
  local function objects()
    local result = blis.run { workload = { requests = 2 }, trace_level = "decisions" }
    local cache = blis.kv_cache { blocks = 4 }
    local simulation = blis.simulation {}
    return {
      { "Simulation", "simulation", simulation },
      { "Instance", "instance", simulation.instances[1] },
      { "LoneInstance", "lone", blis.instance { kv_blocks = 100 } },
      { "Workload", "list", blis.workload { requests = 1 } },
      { "TraceStream", "stream", blis.trace.stream "tests/data/azure_2023.csv" },
      { "GraphFile", "graph_file", blis.session_graphs "tests/data/graphs/weka.jsonl" },
      { "Scorer", "scorer", blis.scorer "queue-depth" },
      { "Rng", "rng", blis.rng(1) },
      { "EventQueue", "queue", blis.event_queue() },
      { "KvCache", "cache", cache },
      { "KvHolder", "holder", cache:allocate(5) },
      { "PrefixIndex", "prefix_index", blis.prefix_index() },
      { "LatencyModel", "latency_model", blis.latency_model "roofline" },
      { "Requests", "requests", result.requests },
      { "Decisions", "decisions", result.decisions },
    }
  end

  -- Methods for the Lua half alone.
  local internal = {
    ["Simulation.change_instance"] = true, -- of clones; scripts call those of instances
  }

  --- The methods of an object, by name, wherever its __index has them.
  local function methods_of(object, variable)
    local index = debug.getmetatable(object).__index
    if type(index) == "table" then return index end
    local methods = {}
    for i = 1, 8 do
      local _, upvalue = debug.getupvalue(index, i)
      for name, value in pairs(type(upvalue) == "table" and upvalue or {}) do
        if type(name) == "string" and type(value) == "function" then methods[name] = value end
      end
    end
    if variable == "scorer" then
      methods.score, methods.score_all, methods.observe = true, true, true
    end
    return methods
  end

  it("name only methods that there are", function()
    local known = {}
    for _, item in ipairs(objects()) do known[item[2]] = item[3] end
    for object, method in core:gmatch "\nfunction ([%w_]+):([%w_]+)%(" do
      assert.is_truthy(known[object], object .. " is no object of this spec")
      assert.equal("function", type(known[object][method]), object .. ":" .. method)
    end
  end)

  --- What is said of a class, up to the next one.
  local function class_text(class)
    local all = core .. require("blis.results.annotations").generate() .. "\n"
      .. read "lua/blis/results/decisions.lua" .. read "lua/blis/policy/init.lua"
    return assert(all:match("@class blis%." .. class .. "[ \n].-\n\n"), class)
  end

  it("know every method", function()
    local missing, count = {}, 0
    for _, item in ipairs(objects()) do
      local class, variable, object = table.unpack(item)
      for name in pairs(methods_of(object, variable)) do
        count = count + 1
        local is_known = core:find(("\nfunction %s:%s("):format(variable, name), 1, true)
          or class_text(class):find(("@field %s fun("):format(name), 1, true)
        if not is_known and not internal[class .. "." .. name] then
          missing[#missing + 1] = class .. ":" .. name
        end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
    assert.is_true(count > 50)
  end)

  it("know every field and every length", function()
    local missing = {}
    for _, item in ipairs(objects()) do
      local class, _, object = table.unpack(item)
      local text = class_text(class)
      local parents = { Instance = "Candidate", Scorer = "Policy" }
      if parents[class] then text = text .. class_text(parents[class]) end
      local meta = debug.getmetatable(object)
      local has_names = meta.__pairs and not text:find("@field [integer]", 1, true)
        and class ~= "PrefixIndex"
      for name in pairs(has_names and object or {}) do
        if not text:find(("@field %s "):format(name), 1, true) then
          missing[#missing + 1] = class .. "." .. name
        end
      end
      if meta.__len and not text:find("@operator len", 1, true) then
        missing[#missing + 1] = "#" .. class
      end
    end
    assert.same({}, missing)
  end)

  it("know every field of a finished request", function()
    local record = blis.run({ workload = { requests = 1, sessions = { max_rounds = 2,
      think_time_us = 5 } } }).requests[1]
    for name in pairs(record) do
      assert.is_truthy(class_text("RequestRecord"):find("@field " .. name .. "%??[ ]"), name)
    end
  end)
end)

describe("the reference", function()
  local reference = require "blis.reference"
  local search = require "blis.reference.search"

  it("is a page with every topic once, under its heading #host", function()
    local page = require("blis.reference.text").markdown(reference.topics())
    for _, topic in ipairs(reference.topics()) do
      assert.is_truthy(page:find(topic.title, 1, true), topic.title)
    end
  end)

  it("has the metrics of results, whose annotations are generated #host", function()
    for _, class in ipairs(require("blis.results.figures").classes) do
      local topic = search.find(class.name)
      assert.is_truthy(topic and topic[1], class.name)
    end
  end)

  it("knows every public name, each topic once by name and kind #host", function()
    local missing, seen = {}, {}
    for name, value in pairs(blis) do
      if type(value) == "function" and not pcall(search.find, "blis." .. name) then
        missing[#missing + 1] = name
      end
      for inner, fn in pairs(type(value) == "table" and value or {}) do
        local full = ("blis.%s.%s"):format(name, inner)
        local is_public = type(fn) == "function" and full ~= "blis.sweep.new"
        if is_public and not pcall(search.find, full) then missing[#missing + 1] = full end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
    for _, topic in ipairs(reference.topics()) do
      local key = topic.kind .. " " .. topic.title
      assert.is_nil(seen[key], key)
      seen[key] = true
      local has_words = topic.kind == "type"
      for _, line in ipairs(topic.lines) do
        has_words = has_words or line ~= "" and not line:find "^@"
      end
      assert.is_true(has_words, key .. " is not explained")
    end
  end)

  it("knows every built-in policy of every kind #host", function()
    local known = {}
    for _, topic in ipairs(reference.topics()) do
      if topic.kind == "policy" then known[topic.name] = true end
    end
    local kinds = 0
    for kind, entries in pairs(require("blis.core").policies()) do
      kinds = kinds + 1
      assert.same(require("blis.core").policies(kind), entries)
      for _, entry in ipairs(entries) do
        assert.is_true(known[entry.name], kind .. ": " .. entry.name)
      end
    end
    assert.is_true(kinds > 10)
  end)
end)
