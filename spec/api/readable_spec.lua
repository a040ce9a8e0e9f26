-- Whatever a script can get at prints as something that people can read: everything that can be
-- reached from blis and from what its functions return is looked at here.
local blis = require "blis"
local show = require "blis.show"
local small = require "spec.support.small"

local function has_address(text)
  return text:find "0x%x%x%x" or text:find "%f[%w]table: " or text:find "userdata: "
end

-- Objects whose parts are their own: options as they were given, and what was read of them.
local internal = { ["blis.sweep"] = true, ["blis.cma_es"] = true }

--- Notes every table and object below a value whose text is none.
local function walk(found, name, value, depth)
  local kind = type(value)
  if kind ~= "table" and kind ~= "userdata" or found.seen[value] then return end
  found.seen[value] = true
  found.count = found.count + 1
  if has_address(tostring(value)) then found[#found + 1] = name .. ": tostring" end
  if has_address(show.text(value)) then found[#found + 1] = name .. ": at the prompt" end
  local meta = debug.getmetatable(value)
  local is_opaque = kind == "userdata" and not meta.__pairs or internal[meta and meta.__name]
  if depth == 0 or is_opaque then return end
  local seen = 0
  for key, one in pairs(value) do
    walk(found, ("%s.%s"):format(name, tostring(key)), one, depth - 1)
    seen = seen + 1
    if seen == 200 then break end
  end
end

local function examine(name, value)
  local found = { seen = {}, count = 0 }
  walk(found, name, value, 6)
  assert.equal("", table.concat(found, "\n", 1, math.min(#found, 10)))
  return found.count
end

local cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2 }
local traffic = { requests = 20, rate = 10 }

local function decode(_, instances) return #instances end

-- What every function of blis returns. A new function needs its line here.
local made = {
  run = function() return blis.run(small.experiment { trace_level = "decisions", keep_steps = true,
    series_interval_us = 100000 }) end,
  simulation = function()
    local sim = blis.simulation { cluster = cluster, workload = traffic }
    sim:run_until(500000)
    return sim
  end,
  compare = function()
    local spec = { cluster = cluster, workload = traffic, routing = { "random", "round-robin" } }
    local one = blis.compare(spec)
    spec.replications, spec.quiet = 2, true
    return one, blis.compare(spec)
  end,
  load_result = function()
    local path = os.tmpname()
    blis.run(small.experiment()):save(path)
    local loaded = blis.load_result(path)
    os.remove(path)
    return loaded
  end,
  diff = function()
    local result = blis.run(small.experiment())
    return blis.diff(result, result)
  end,
  regret = function() return blis.regret { experiment = small.experiment(),
    decisions = 2 } end,
  sweep = function()
    local sweep = blis.sweep { parameters = { { "x", { 1, 2 } } }, replications = 2,
      trial = function(p) return { y = p.x, z = p.seed % 7 } end }
    return sweep, sweep:run { quiet = true }
  end,
  capacity = function() return blis.capacity { experiment = { cluster = cluster,
    workload = traffic }, targets = { ["ttft_ms.p90"] = 500 }, quiet = true, parameter = "rate",
    from = 5, to = 10, max_requests = 100, requests = 50 } end,
  recommend = function() return blis.recommend { experiment = { workload = traffic,
    cluster = { model = "qwen/qwen3-14b", hardware = "H100" } }, gpus = 1, quiet = true,
    max_requests = 100, requests = 50, replications = 2, from = 5, tolerance = 0.2,
    tp_degrees = { 1 }, targets = { ["ttft_ms.p90"] = 500 } } end,
  cma_es = function() return blis.cma_es { start = { 0 }, low = { -1 }, high = { 1 } } end,
  workload = function() return blis.workload(traffic) end,
  session_graphs = function()
    return blis.session_graphs "tests/data/graphs/weka.jsonl"
  end,
  filter = function() return blis.filter("llm-d.utilization-filter") end,
  scorer = function() return blis.scorer("queue-depth") end,
  picker = function() return blis.picker("best") end,
  router = function() return blis.router("weighted") end,
  admission = function() return blis.admission("always-admit") end,
  cascade = function() return blis.cascade("cognitora.cascade") end,
  scheduler = function() return blis.scheduler(decode) end,
  preemption = function() return blis.preemption(decode) end,
  autoscaler = function() return blis.autoscaler("hpa") end,
  disaggregation = function() return blis.disaggregation("always") end,
  queue = function() return blis.queue { order = function() return 1 end } end,
  latency_model = function() return blis.latency_model "roofline" end,
  models = blis.models, hardware = blis.hardware,
  event_queue = blis.event_queue,
  rng = function() return blis.rng(1) end,
  kv_cache = function() return blis.kv_cache { blocks = 4 } end,
  instance = function() return blis.instance { kv_blocks = 100 } end,
  records = blis.records,
  prefix_index = blis.prefix_index,
  kv_capacity = function() return blis.kv_capacity(cluster) end,
}

-- Functions of numbers, and those that need files of measurements or sockets. blis.live returns
-- what blis.run does, blis.trace_format a name.
local plain = { seconds = true, milliseconds = true, minutes = true, token_ids = true, admit = true,
  reject = true, delay = true, calibrate = true, live = true, trace_format = true }

describe("everything of blis prints readably:", function()
  it("what can be reached from it", function()
    assert(examine("blis", blis) >= 5)
    for _, name in ipairs { "statistics", "vec", "trace" } do
      assert.matches("^blis%." .. name .. " has %l", tostring(blis[name]))
    end
    assert.equal("function blis.sweep; help(blis.sweep) explains it", tostring(blis.sweep))
    assert.equal("function blis.vec.max", show.text(blis.vec.max))
    assert.equal("blis.statistics.paired", show.name_of(blis.statistics.paired))
  end)

  for name, one in pairs(blis) do
    local is_function = type(one) == "function" or name == "sweep"
    if is_function and not plain[name] then
      it("what blis." .. name .. " returns", function()
        local make = assert(made[name], "there is no example of blis." .. name)
        for i, value in ipairs { make() } do examine(("blis.%s(), %d"):format(name, i), value) end
      end)
    end
  end
end)
