-- Uses every type and every kind of hook on very small runs, for test_binding_memory.c.
local blis = require 'blis'
local spec = { cluster = { instances = 2, kv_blocks = 64,
  slo_priorities = { batch = 1 }, tenant_budgets = { a = 0.5 } },
  workload = { rate = 100, requests = 2, prompt_tokens = 40,
               output_tokens = 2, prefixes = { groups = 2, tokens = 16 } } }
local function run(routing)
  spec.routing = routing
  local result = blis.run(spec)
  assert(result.completed == 2 and #result.requests == 2)
  return result
end
local function weighted(scorer)
  return { 'weighted', scorers = { { scorer, 1 } } }
end
local exercises = {
  function() assert(#tostring(run('round-robin')) > 100) end,
  function() run(weighted(blis.scorer { name = 'a',
    score = function(r, i) return 1 / (r.prompt_tokens + i.in_flight) end,
    observe = function(r, i) assert(r.tenant == '' and i.id) end })) end,
  function() run(weighted(blis.scorer { name = 'b', columns = true,
    score = function(_, c)
      return 1 / (1 + c.in_flight + blis.vec.norm(c.queue_depth)) end })) end,
  function() run(weighted(blis.scorer { name = 'c',
    score_all = function(_, list, scores)
      for i = 1, #list do scores[i] = list[i].prefix_hit end end })) end,
  function() run(function(_, list) return #list end) end,
  function()
    local child = require('blis.core').child 'cat'
    local line = child:ask('{}\n', 60000)
    child:stop()
    assert(line == '{}')
  end,
  function()
    spec.instance_times = true
    local ok, result = pcall(run, 'round-robin')
    spec.instance_times = nil
    if not ok then error(result, 0) end
    for _, instance in ipairs(result.instances) do
      assert(instance.ttft_ms.count == instance.completed)
    end
  end,
  function()
    spec.admission = function(_, c) return c.mean_in_flight < 9 end
    spec.scheduler = function(a, b) return a.prompt_tokens < b.prompt_tokens end
    local ok, problem = pcall(run, 'least-loaded')
    spec.admission, spec.scheduler = nil, nil
    if not ok then error(problem, 0) end
  end,
  function()
    local model = 'qwen/qwen3-14b'
    local one = { cluster = spec.cluster,
      cascade = { chain = { model }, chains = { x = {} }, mean_logprob = { [model] = -9 },
        quality = function(_, _, rng) return rng:number() - 9, 3 end,
        escalate = function(_, attempt, usual) return usual or attempt.next end } }
    local given = false
    one.workload = function()
      if given then return nil end
      given = true
      return { arrival_us = 1, prompt_tokens = 9, output_tokens = 2, cascade = { model },
        mean_logprob = { x = -1, y = -2 } }
    end
    local result = blis.run(one)
    assert(result.cascade.accepted_last == 1 and #result.requests[1].attempts == 1)
    require('blis.core').records():add(result.requests[1])
  end,
  function()
    local node = { prompt_tokens = 9, output_tokens = 2 }
    local graph = { node, { id = 'b', after = 1, prompt_tokens = 3, output_tokens = 1 },
      { after = { 1, 'b' }, extends = false, prompt_tokens = 3, output_tokens = 1 } }
    local one = { cluster = spec.cluster, workload = { concurrency = 1, count = 3,
      graphs = function(_, number) return number < 3 and graph or nil end } }
    assert(blis.run(one).completed == 6)
  end,
  function()
    local one = { cluster = spec.cluster, workload = { concurrency = 1, count = 2,
      graphs = blis.session_graphs 'tests/data/graphs/weka.jsonl' } }
    assert(blis.run(one).tasks.completed == 2)
  end,
  function()
    local _, problem = pcall(run, function() error 'no' end)
    assert(tostring(problem):find('no', 1, true), problem)
  end,
  function()
    spec.routing = nil
    local sim = blis.simulation(spec)
    sim:at(10, function(s) assert(s.instances[1].queue_depth == 0) end)
    sim:run_until(1000)
    assert(sim:step())
    sim:close()
  end,
  function()
    spec.keep_requests = true
    local ok, made = pcall(function() return #blis.run(spec):trace() end)
    spec.keep_requests = nil
    if not ok then error(made, 0) end
    assert(made == 2)
  end,
  function()
    local list = blis.workload(spec.workload)
    assert(#tostring(list) > 50 and list[1].prompt_tokens == 56)
    assert(#list:slice(1, 1) == 1)
    local part = list:cut { skip = 1 }:scale(2):warp { { 0, 9 } }
    assert(#blis.trace.merge { part:cap(1), list } == 3)
    assert(#list:filter(function(r) return r.id ~= '' end) == 2)
  end,
  function()
    local stream = blis.trace.stream 'tests/data/traces/vidur.csv'
    assert(#stream:cut { skip = 1 }:scale(2):warp { { 0, 9 } } == 2)
    assert(#stream:filter(function(r) return r.id ~= 'request_1' end) == 2)
    local next_request, state, first = stream:requests()
    local _, request = next_request(state, first)
    assert(request.prompt_tokens == 350)
    assert(#tostring(stream) > 50 and #stream:cap(1) == 3)
    local result = blis.run { cluster = { kv_blocks = 64 }, workload = stream,
      keep_records = false }
    assert(result.completed == 3)
  end,
  function()
    local length = { 'constant', value = 5 }
    local list = blis.workload { rate = 9, requests = 2, clients = {
      { id = 'a', prompt = length, output = 3, arrival = 'poisson' },
      { id = 'b', prompt = 8, output = length } } }
    assert(#list == 2)
    local changed = list:map(function() return { output_tokens = 7 } end)
    assert(changed[1].output_tokens == 7)
  end,
  function()
    local core = require 'blis.core'
    local one = core.workload_spec({ rate = 9, requests = 2, clients = {
      { id = 'a', prompt = 5, output = 3 } } }, 'x', { seed = 1 })
    local text = core.workload_compose { { 'x', one }, { 'y', one } }
    assert(text:find('rate_fraction: 0.5', 1, true) and one:yaml() ~= text)
  end,
  function()
    local n = 0
    local list = blis.workload(function(rng)
      n = n + 1
      if n == 3 then return nil end
      return { arrival_us = n, output_tokens = 2, session = 's', round_index = n - 1,
        content = { { 'x', 16 }, rng:integer(9) } }
    end)
    assert(#list == 2)
    local result = blis.run { cluster = { kv_blocks = 64 },
      workload = { trace = list, session_mode = 'closed-loop', think_time = 5 } }
    assert(result.completed == 2)
  end,
  function()
    local cache = blis.kv_cache { blocks = 8 }
    local holder = cache:allocate { { 'x', 32 }, 20 }
    assert(cache:append(holder) and cache:match { { 'x', 32 } } == 32)
    cache:release(holder)
  end,
  function()
    local instance = blis.instance { kv_blocks = 64 }
    local list = blis.records()
    instance:add { content = { { 'x', 32 }, 20 }, output_tokens = 2 }
    instance:add(blis.workload { requests = 1 }, 1)
    assert(#instance.running + #instance.waiting <= 2)
    while instance.next_us do
      for _, record in ipairs(instance:step()) do list:add(record) end
    end
    assert(#list == 2 and #instance == 0 and instance:cached_tokens { content = { { 'x', 32 } } })
  end,
  function()
    local scorer = blis.scorer 'prefix-affinity'
    local request = { content = { { 'x', 32 } }, tenant = 't' }
    scorer:observe(request, { index = 2 })
    assert(scorer:score_all(request, { {}, {} })[2] == 1)
    assert(#blis.simulation({}):events() == 1)
  end,
  function()
    local index = blis.prefix_index { block_size = 8 }
    index:record({ { 'x', 32 }, 20 }, 2)
    assert(index:match({ { 'x', 20 } }, 2) == 16 and #index == 6)
    local prefix <close> = blis.prefix_index()
    run(weighted { name = 'f', columns = true,
      score = function(r, c) return prefix:match(r, c) / r.prompt_tokens end,
      observe = function(r, i) prefix:record(r, i) end })
    assert(#tostring(prefix) > 50 and prefix:size(1) > 0)
    prefix:clear()
    prefix:forget(1)
    assert(#prefix:match_all(5) == 0)
  end,
  function()
    local before = math.random
    local list = blis.workload { requests = 3, prompt = function() return math.random(9) end,
      arrival = function() return math.random(1000) end, output_tokens = 2, seed = 5 }
    assert(#list == 3 and math.random == before)
    local drawn = 0
    spec.on_arrival = function() drawn = drawn + math.random(3) end
    local ok, problem = pcall(run, { 'weighted', tie = 'random', scorers = 'queue-depth:1' })
    spec.on_arrival = nil
    if not ok then error(problem, 0) end
    assert(drawn >= 2)
  end,
  function()
    local core = require 'blis.core'
    local path = os.tmpname()
    local ok, problem = pcall(function()
      local file = assert(io.open(path, 'w'))
      file:write('name,n\n"a ""b""",5\nx,7\n')
      file:close()
      local rows = core.csv_read(path, { { name = 'name', is_text = true }, { name = 'n' } })
      assert(#rows == 2 and rows[1].name == 'a "b"' and rows[2].n == 7)
    end)
    os.remove(path)
    if not ok then error(problem, 0) end
  end,
  function()
    local heard = 0
    local result = blis.run { cluster = { kv_blocks = 64, groups = {
        { instances = 1, hardware = 'H100' }, { instances = 1, hardware = 'L40S', tp = 2 } } },
      workload = { rate = 100, requests = 2, prompt_tokens = 40, output_tokens = 2,
        sessions = { max_rounds = 2, think_time_us = 5 } },
      think_time = function(_, _, us) return us + 1 end,
      progress_interval_ms = 0, progress = function() heard = heard + 1 end }
    assert(#result.setup.groups == 2 and #result.requests >= 2)
    assert(result.requests[1].id and heard >= 0)
  end,
  function()
    local queue = blis.event_queue()
    local handle = queue:push(1, {})
    queue:push(2, 'x')
    assert(queue:cancel(handle) and queue:pop() == 2)
    assert(blis.rng(1, 'x'):shuffle({ 1, 2 }))
  end,
  function()
    local base = blis.latency_model('roofline')
    assert(base:step_time { { 0, 5, 9 } } > 1)
    spec.cluster.latency_model = { queueing_time = function() return 5 end,
      step_time = function(b) return b[1].new_tokens +
        base:step_time(b) end }
    local ok, problem = pcall(run, 'round-robin')
    spec.cluster.latency_model = nil
    if not ok then error(problem, 0) end
  end,
  function()
    local base = blis.scorer 'prefix-affinity'
    run { 'weighted', picker = function(_, l) return #l end,
      filters = { function(_, i) return i.in_flight < 9 end },
      scorers = { { { name = 'd', base = 'queue-depth', columns = true,
        score = function(r, c, b) return b + base:score(r, c) end }, 1 },
        { { name = 'e', base = base, score_all = function(r, l, s)
          base:score_all(r, l, s) end }, 1 } } }
  end,
  function()
    local heard = 0
    local function hear(r) heard = heard + #r.id end
    local watched = { cluster = { instances = 1, kv_blocks = 5 },
      workload = { rate = 500, requests = 3, prompt_tokens = 20,
        output_tokens = 30 },
      on_arrival = hear, on_routed = hear, on_first_token = hear,
      on_completion = function(r, _, o) hear(r) return o.e2e_us end,
      priority = function(r) return r.prompt_tokens, { long = r.prompt_tokens > 9 } end,
      preemption = function(running)
        return running[1].progress_tokens and #running end }
    assert(blis.run(watched).completed == 3 and heard > 100)
  end,
  function()
    spec.routing = nil
    local sim = blis.simulation(spec):pin('request_1', 'instance_0')
    sim:at(10, function(s) s:at(20, function() end) end)
    sim:run_until(1000)
    sim:step()
    local clone = sim:clone()
    assert(clone:run().hash == sim:run().hash)
  end,
  function()
    spec.trace_level, spec.series_interval_us = 'decisions', 50000
    spec.slo_targets = { default = { e2e_ms = 1e6 } }
    spec.warm_up_us = 1
    local ok, result = pcall(run, 'weighted')
    spec.trace_level, spec.series_interval_us = nil, nil
    spec.slo_targets, spec.warm_up_us = nil, nil
    if not ok then error(result, 0) end
    assert(result.goodput.good == 2 and result.series.rows > 1)
    assert(result.requests:outcomes(1, 2, 5).offered == 5)
    assert(result.decisions[4].candidates[2].scores)
    assert(#tostring(result.decisions) > 50)
    assert(blis.diff(result, result).is_equal)
  end,
  function()
    local path = os.tmpname()
    local ok, problem = pcall(function()
      local result = run('round-robin')
      result:save(path)
      assert(blis.load_result(path).hash == result.hash)
    end)
    os.remove(path)
    if not ok then error(problem, 0) end
  end,
  function()
    local gpu = { name = 'G', memory_gib = 80, peak_tflops = 9,
      bandwidth_tb_s = 1, mfu_prefill = 1, mfu_decode = 1 }
    local c = blis.kv_capacity { hardware = gpu, tp = 1 }
    assert(c.blocks == 17290 and #tostring(blis.hardware()) > 50)
  end,
  function()
    local core = require 'blis.core'
    assert(#core.hash128('x') == 32 and core.processors() > 0)
    local workers <close> = core.workers { jobs = 2, work = tostring }
    workers:submit(1):submit(2)
    assert(workers:pending() == 2 and tostring(workers) == 'workers')
  end,
  function()
    local path = os.tmpname()
    local ok, problem = pcall(require('blis.core').sqlite_write, path,
      { { name = 't', columns = { 'a', 'b' }, rows = { { 1, 'x' }, { 2.5, nil } } } })
    os.remove(path)
    if not ok then error(problem, 0) end
  end,
}
-- Modules and the catalogue are read on demand, in thousands of allocations: once, here.
for _, exercise in ipairs(exercises) do exercise() end
return exercises
