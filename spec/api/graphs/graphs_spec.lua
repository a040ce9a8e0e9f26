local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local function run(workload, changes)
  local spec = { cluster = { instances = 2 }, workload = workload }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

--- { [session .. "/" .. round] = record }
local function by_round(result)
  local found = {}
  for _, record in ipairs(result.requests) do
    found[record.session .. ":" .. (record.round_index or 0)] = record
  end
  return found
end

-- A, then B after half a second and C at once, then D when both have ended.
local diamond = {
  name = "t",
  { id = "A", prompt_tokens = 1000, output_tokens = 100 },
  { id = "B", after = "A", delay_us = 500000, prompt_tokens = 20, output_tokens = 50 },
  { id = "C", after = "A", prompt_tokens = 30, output_tokens = 200 },
  { id = "D", after = { "C", "B" }, tool_us = 250000, prompt_tokens = 40, output_tokens = 10 },
}

--- A random graph, as a list of requests.
local function random_graph(rng)
  local graph = { tenant = "t" .. rng:integer(1, 3) }
  for i = 1, rng:integer(1, 12) do
    local after = {}
    for other = math.max(1, i - 4), i - 1 do
      if rng:integer(1, 3) == 1 then after[#after + 1] = other end
    end
    graph[i] = {
      after = after, prompt_tokens = rng:integer(1, 400), output_tokens = rng:integer(0, 60),
      delay_us = rng:integer(0, 50000), tool_us = rng:integer(0, 20000),
      background = rng:integer(1, 6) == 1,
    }
    if #after > 0 and rng:integer(1, 4) == 1 then graph[i].extends = false end
    if rng:integer(1, 30) == 1 then graph[i].timeout_us = 1000 end
  end
  return graph
end

describe("session graphs", function()
  it("send what waits when all of it has ended, and its delay has passed", function()
    local found = by_round(run { graphs = { diamond } })
    local a, b, c, d = found["t:0"], found["t:1"], found["t/C:0"], found["t/C:1"]
    assert.equal(0, a.arrival_us)
    assert.equal(a.end_us + 500000, b.arrival_us)
    assert.equal(a.end_us, c.arrival_us)
    assert.equal(math.max(b.end_us, c.end_us) + 250000, d.arrival_us)
  end)

  it("chain prompts as conversations do", function()
    local found = by_round(run { graphs = { diamond } })
    assert.equal(1120, found["t:1"].prompt_tokens)
    assert.equal(1130, found["t/C:0"].prompt_tokens)
    assert.equal(1130 + 200 + 40, found["t/C:1"].prompt_tokens)
    local one = run({ graphs = { diamond } }, { cluster = { instances = 1 } })
    assert.is_false(by_round(one)["t:0"].had_hit)
    for _, name in ipairs { "t:1", "t/C:0", "t/C:1" } do
      assert.is_true(by_round(one)[name].had_hit, name)
    end
  end)

  it("start at their time, at a rate or as many at a time", function()
    local function starts(workload)
      local times = {}
      for _, record in ipairs(run(workload).requests) do
        if record.round_index == 0 and not record.session:find "/" then
          times[#times + 1] = record.arrival_us
        end
      end
      return times
    end
    local early = { start_us = 5, { prompt_tokens = 10, output_tokens = 5 } }
    local late = { start_us = 7000, { prompt_tokens = 10, output_tokens = 5 } }
    assert.same({ 5, 7000 }, starts { graphs = { early, late } })
    assert.same({ 5, 7000, 7005, 14000 }, starts { graphs = { early, late }, count = 4 })
    assert.same({ 3, 3500 }, starts { graphs = { early, late }, speed = 2 })
    local any = { { prompt_tokens = 10, output_tokens = 5 } }
    assert.same({ 500000, 1000000 },
      starts { graphs = { any, any }, rate = 2, arrival = "constant" })
    local closed = starts { graphs = { any, any }, count = 5, concurrency = 2 }
    assert.same({ 0, 0 }, { closed[1], closed[2] })
    assert.is_true(closed[3] > 0 and #closed == 5)
  end)

  it("have sessions and content of their own when they are played again", function()
    local result = run({ graphs = { diamond }, count = 3, concurrency = 1 },
      { cluster = { instances = 1 } })
    local found = by_round(result)
    assert.is_false(found["t#2:0"].had_hit)
    assert.is_false(found["t#3:0"].had_hit)
    assert.is_true(found["t/C#3:1"].had_hit)
  end)

  it("break where a request is given up, or go on", function()
    local function count(on_failure)
      local graph = { diamond[1], diamond[2],
        { id = "C", after = "A", prompt_tokens = 30, output_tokens = 200, timeout_us = 100 },
        diamond[4], { after = "D", prompt_tokens = 1, output_tokens = 1 } }
      local result = run { graphs = { graph }, on_failure = on_failure }
      return result.completed, result.timed_out, #result.requests
    end
    assert.same({ 2, 1, 3 }, { count() })
    assert.same({ 4, 1, 5 }, { count "continue" })
  end)

  it("are asked for one by one, with a stream of random numbers for each run", function()
    local asked = {}
    local function graph(rng, number)
      asked[#asked + 1] = number
      if number == 4 then return nil end
      return { { prompt_tokens = rng:integer(1, 1000), output_tokens = 5 } }
    end
    local first = run { graphs = graph, count = 10, rate = 5 }
    assert.same({ 1, 2, 3, 4 }, asked)
    assert.equal(first.hash, run({ graphs = graph, count = 10, rate = 5 }).hash)
    local sim = blis.simulation { cluster = { instances = 1 },
      workload = { graphs = graph, count = 3, concurrency = 1 } }
    sim:run_until(100000)
    local copy = sim:clone()
    assert.equal(sim:run().hash, copy:run().hash)
  end)

  it("are the same in both engines", function()
    for seed = 1, 12 do
      local hashes = {}
      for _, name in ipairs { "fast", "stepwise" } do
        local result = run({ graphs = random_graph, count = 30, [seed % 2 == 0 and "rate" or
          "concurrency"] = 4, on_failure = seed % 3 == 0 and "continue" or "break" },
          { seed = seed, cluster = { instances = 2, engine = name, total_kv_blocks = 700 } })
        hashes[#hashes + 1] = result.hash
      end
      assert.equal(hashes[1], hashes[2], "seed " .. seed)
    end
  end)

  it("tell policies whose call a request is", function()
    local seen = {}
    local function see(hints)
      seen = {}
      run({ graphs = { diamond }, hints = hints }, {
        cluster = { instances = 1 },
        routing = blis.router { name = "see", route = function(request)
          local p = request.program
          seen[request.session .. ":" .. request.round_index] = p
          return 1
        end },
      })
      return seen
    end
    local d = see(false)["t/C:1"]
    assert.same({ "t", "t", 0, 3, 1000 + 1120 + 1130, 350 }, { d.id, d.parent_session, d.started_us,
      d.ended_requests, d.prompt_tokens, d.output_tokens })
    assert.is_true(d.service_us > d.path_service_us and d.path_service_us > 0)
    assert.is_nil(d.requests_left)
    see(true)
    assert.same({ 4, 0 }, { seen["t:0"].requests_left, seen["t:0"].reused_after_us })
    assert.same({ 1 }, { seen["t/C:1"].requests_left, seen["t/C:1"].reused_after_us })
    run({ rate = 5, requests = 2 }, { routing = blis.router { name = "see",
      route = function(request) assert(request.program == nil) return 1 end } })
  end)

  it("are served by least attained service", function()
    -- Two programs: one has had 900 + 2 x 100 tokens when its second call meets a new program's.
    local order = {}
    local graphs = {
      { name = "old", { prompt_tokens = 900, output_tokens = 100 },
        { after = 1, prompt_tokens = 5, output_tokens = 5 } },
      { name = "busy", start_us = 10, { prompt_tokens = 8000, output_tokens = 300 } },
      { name = "new", start_us = 1600000, { prompt_tokens = 7, output_tokens = 5 } },
    }
    local function of(priority)
      order = {}
      run({ graphs = graphs }, {
        cluster = { instances = 1, max_num_seqs = 1, scheduler = "priority-fcfs" },
        priority = priority,
        on_first_token = function(request)
          order[#order + 1] = request.session .. request.round_index
        end,
      })
      return table.concat(order, " ")
    end
    assert.equal("old0 busy0 old1 new0", of "constant")
    for _, measure in ipairs { "tokens", "time", "path" } do
      assert.equal("old0 busy0 new0 old1", of { "least-attained-service", measure = measure })
    end
  end)

  it("are told as tasks, whose parts add up", function()
    local result = run({ graphs = { diamond }, count = 20, rate = 4 })
    local tasks, list = result.tasks, result.requests:tasks()
    assert.same({ 20, 20, 0, 0, 80, 0, 3.0 }, { tasks.started, tasks.completed, tasks.broken,
      tasks.unfinished, tasks.requests, tasks.never_sent, tasks.path_requests })
    assert.equal(250.0, tasks.tool_ms.mean)
    local sum = 0
    for _, name in ipairs { "queue", "prefill", "decode", "tool", "delay" } do
      sum = sum + tasks[name .. "_ms"].mean
    end
    assert.is_true(math.abs(sum - tasks.task_ms.mean) < 1e-6)
    assert.equal(20, #list)
    local found = by_round(result)
    local last, a = list[20], found["t/C#20:1"]
    assert.same({ "t", 19, "completed", 4, 4, 4, 3, 250000, 500000 },
      { last.program, last.play, last.state, last.requests, last.submitted, last.completed,
        last.path_requests, last.tool_us, last.waited_us - last.tool_us - last.delay_us })
    assert.equal(a.end_us, last.end_us)
    assert.equal("t", a.program)
    assert.equal(last.end_us - last.start_us,
      last.queue_us + last.prefill_us + last.decode_us + last.tool_us + last.delay_us)
    says(tostring(result), "tasks       20 started, 20 completed")
    says(tostring(result), "critical path of 3.0 requests: queue")
    assert.equal(0, #run({ rate = 5, requests = 2 }).requests:tasks())
    says(small.message_of(function() return run({ rate = 5, requests = 2 }).tasks end),
      "workload = { graphs = ... }")
  end)

  it("tell what share of their prompts was found in caches", function()
    local graphs = { diamond, { name = "solo", { prompt_tokens = 320, output_tokens = 3 } },
      { name = "empty", prefix_group = "p", prefix_tokens = 64,
        { prompt_tokens = 32, output_tokens = 1, timeout_us = 1 } } }
    for _, engine in ipairs { "fast", "stepwise" } do
      -- What the only instance has when a request is routed to it, which none waits for.
      local seen = {}
      local result = run({ graphs = graphs, count = 6, concurrency = 1 }, {
        cluster = { instances = 1, engine = engine },
        routing = blis.router { name = "see", route = function(request, instances)
          local key = request.program.root_session
          seen[key] = (seen[key] or 0) + instances[1].cached_tokens
          return 1
        end },
      })
      local prompt_tokens, cached_tokens, by_name = 0, 0, {}
      for _, task in ipairs(result.requests:tasks()) do
        assert.is_near(task.prompt_tokens > 0 and task.cached_tokens / task.prompt_tokens or 0,
          task.cached_share, 1e-12)
        prompt_tokens = prompt_tokens + task.prompt_tokens
        cached_tokens = cached_tokens + task.cached_tokens
        by_name[task.program .. task.play] = task
      end
      assert.same({ seen.t, 0, 0, 0 }, { by_name.t0.cached_tokens, by_name.solo0.cached_tokens,
        by_name.solo1.cached_tokens, by_name.empty1.cached_tokens })
      -- B, C and D go on from 1099 tokens or more, and each play has content of its own.
      assert.equal(by_name.t0.cached_tokens, by_name.t1.cached_tokens)
      assert.is_true(by_name.t0.cached_tokens >= 3 * 1088)
      assert.is_near(cached_tokens / prompt_tokens, result.tasks.cached_share, 1e-12)
    end
  end)

  it("are told by session and by program, as long as somebody asks", function()
    local alone = { name = "solo", { prompt_tokens = 9, output_tokens = 3 } }
    local result = run({ graphs = { diamond, alone }, count = 3, concurrency = 1 })
    local function seen(key, label)
      local found = {}
      for _, request in ipairs(result.requests) do
        local name = request[label or key] or ""
        local group = found[name] or { arrived = 0, prompt_tokens = 0, e2e_us = 0 }
        group.arrived = group.arrived + 1
        group.prompt_tokens = group.prompt_tokens + request.prompt_tokens
        group.e2e_us = group.e2e_us + request.e2e_us
        found[name] = group
      end
      return found
    end
    for _, key in ipairs { "session", "program" } do
      local expected, groups, count = seen(key), result.requests:groups(key), 0
      for i = 2, #groups do assert.is_true(groups[i - 1].name < groups[i].name) end
      for name, one in pairs(expected) do
        count = count + 1
        local group = groups[name]
        assert.same({ one.arrived, one.arrived, one.prompt_tokens },
          { group.arrived, group.completed, group.prompt_tokens })
        assert.is_near(one.e2e_us / one.arrived / 1000, group.e2e_ms.mean, 1e-6)
      end
      assert.equal(count, #groups)
    end
    -- Sessions are those of one play, programs those of all.
    assert.same({ 8, 1 }, { result.requests:groups "program".t.arrived,
      result.requests:groups "program".solo.arrived })
    assert.equal(5, #result.requests:groups "session")
    for what, key in pairs { ["the string 'foo'"] = "foo", ["5"] = 5 } do
      says(select(2, pcall(result.requests.groups, result.requests, key)), "requests:groups: "
        .. "expected one of slo_class, tenant, model, adapter, session, program, got " .. what)
    end
    says(select(2, pcall(result.requests.spread, result.requests, "ttft")), "requests:spread: "
      .. "expected one of ttft_us, itl_us, e2e_us, scheduling_delay_us, got the string 'ttft'")
    local none = blis.run { workload = { rate = 9, requests = 3 } }.requests:groups "session"
    assert.same({ 1, "", 3 }, { #none, none[1].name, none[1].arrived })
    says(small.message_of(result.requests.groups, result.requests, "client"), "client")
  end)

  it("count tasks that broke or did not end", function()
    local graph = { diamond[1], { after = "A", prompt_tokens = 3, output_tokens = 9,
      timeout_us = 1 }, { after = 2, prompt_tokens = 3, output_tokens = 9 } }
    local broken = run({ graphs = { graph } }).tasks
    assert.same({ 1, 0, 1, 0, 3, 1 }, { broken.started, broken.completed, broken.broken,
      broken.unfinished, broken.requests, broken.never_sent })
    local cut = run({ graphs = { diamond } }, { horizon_us = 2300000 })
    assert.equal(1, cut.tasks.unfinished)
    says(tostring(cut), "1 unfinished")
  end)

  it("are written with their results", function()
    local result = run({ graphs = { diamond }, count = 3, concurrency = 1 })
    local path = os.tmpname()
    result:save(path)
    local loaded = blis.load_result(path)
    assert.same(result.tasks, loaded.tasks)
    assert.equal("t", loaded.requests[2].program)
    for _, lost in ipairs { function() loaded.requests:tasks() end,
      function() loaded:export_tasks(path .. ".csv") end } do
      local ok, problem = pcall(lost)
      assert.is_false(ok)
      says(tostring(problem), "files of results do not keep the tasks of session graphs")
    end
    assert.is_nil(io.open(path .. ".csv"))
    loaded:report(path .. ".html")
    os.remove(path .. ".html")
    os.remove(path)
    path = path .. ".csv"
    result:export_tasks(path)
    local file <close> = io.open(path)
    assert.equal("program,play,state,requests,submitted,completed,path_requests,start_us,end_us,"
      .. "queue_us,prefill_us,decode_us,tool_us,delay_us,request_us,waited_us,prompt_tokens,"
      .. "output_tokens,cached_tokens,cached_share", file:read "l")
    says(file:read "l", "t,0,completed,4,4,4,3,0,")
    os.remove(path)
  end)

  it("have presets: agents that are made up from the seed", function()
    for _, name in ipairs { "coding-agent", "rag", "deep-research" } do
      local function of(seed)
        return run({ preset = name, concurrency = 4, count = 12 }, { seed = seed })
      end
      local result = of(1)
      assert.equal(12, result.tasks.completed)
      assert.equal(result.hash, of(1).hash)
      assert.are_not.equal(result.hash, of(2).hash)
    end
    says(small.message_of(run, { preset = "rag", count = 1 }), "requires rate or concurrency")
    says(small.message_of(run, { preset = "rag", graphs = { { diamond[1] } }, count = 1 }),
      "cannot be combined with")
  end)

  it("are complete without a background request that never fits", function()
    local function one(changes)
      local made = { prompt_tokens = 10, output_tokens = 5 }
      for key, value in pairs(changes) do made[key] = value end
      return made
    end
    local function broken(is_background)
      local graph = { one {}, one { after = 1, prompt_tokens = 5000, background = is_background } }
      return blis.run { cluster = { instances = 1, kv_blocks = 20 },
        workload = { graphs = { graph }, rate = 1 } }.tasks.broken
    end
    assert.same({ 0, 1 }, { broken(true), broken(false) })
  end)

  it("tell policies the service along a way, summed over its calls", function()
    local seen = {}
    local node = { prompt_tokens = 10, output_tokens = 5 }
    local function behind(number)
      return { prompt_tokens = 10, output_tokens = 5, after = number }
    end
    local result = blis.run { cluster = { instances = 1 },
      workload = { graphs = { { node, behind(1), behind(2) } }, rate = 1 },
      routing = blis.router { name = "see", route = function(request)
        seen[#seen + 1] = request.program.path_service_us
        return 1
      end } }
    local function service_of(record) return record.e2e_us - record.scheduling_delay_us end
    local first, second = service_of(result.requests[1]), service_of(result.requests[2])
    assert.same({ 0, first, first + second }, seen)
  end)

  it("want models that some instance serves, as those of files do", function()
    local llama, qwen = "meta-llama/llama-3.1-8b-instruct", "qwen/qwen3-14b"
    local function of(graphs, model)
      return run({ graphs = graphs, count = 2 }, {
        cluster = model and { model = model } or { hardware = "H100", tp = 1,
          groups = { { model = llama }, { model = qwen } } } })
    end
    local function graph(model, own)
      return { model = model, { prompt_tokens = 9, output_tokens = 1 },
        { after = 1, model = own, prompt_tokens = 9, output_tokens = 1 } }
    end
    local good = graph(qwen, "Llama-3.1-8B-Instruct")
    for _, graphs in ipairs { { good }, function() return good end } do
      local result = of(graphs)
      assert.equal(4, result.completed)
      for _, request in ipairs(result.requests) do
        assert.equal(request.model == qwen and "instance_1" or "instance_0", request.instance)
      end
    end
    local list = "workload.graphs[2]"
    for place, bad in pairs { [".model"] = graph "gpt", ["[2].model"] = graph(nil, "gpt") } do
      says(small.message_of(of, { good, bad }), list .. place .. ": no instance serves 'gpt', "
        .. "expected " .. llama .. " or " .. qwen)
      says(small.message_of(of, { graph(), bad }, qwen), list .. place .. ": no instance serves "
        .. "'gpt', expected " .. qwen)
      says(small.message_of(of, function(_, number) return number == 2 and bad or good end),
        "graphs[2]" .. place .. ": no instance serves 'gpt'")
    end
    assert.equal(4, of({ graph("", "") }, qwen).completed)
  end)

  it("say what is wrong with them", function()
    local function of(graph, more)
      local workload = { graphs = graph }
      for key, value in pairs(more or {}) do workload[key] = value end
      return small.message_of(run, workload)
    end
    local node = { prompt_tokens = 1, output_tokens = 1 }
    local function with(changes)
      local changed = { prompt_tokens = 1, output_tokens = 1 }
      for key, value in pairs(changes) do changed[key] = value end
      return { { node, changed } }
    end
    says(of(3), "workload.graphs: invalid value 3: expected a list of graphs")
    says(of {}, "workload.graphs: the list is empty, expected a list of graphs")
    says(of { { node }, [3] = { node } }, "workload.graphs[2] is nil")
    says(of { node = node }, "workload.graphs: got a value at [node], expected a list of graphs")
    says(of { {} }, "workload.graphs[1]: a graph has at least one request")
    says(of { 7 }, "workload.graphs[1]: a graph is a list of requests, not 7")
    says(of { { 7 } }, "workload.graphs[1][1]: a request is a table, not 7")
    says(of { { nodes = {}, node } }, "unknown field 'nodes'")
    says(of(with { aftr = 1 }), "graphs[1][2]: unknown field 'aftr'; did you mean 'after'?")
    says(of(with { after = 2 }), "after is 2; expected the id or the number of a request above")
    says(of(with { after = { 1, 1 } }), "after is 1; expected every request at most once")
    local function named(id) return { id = id, prompt_tokens = 1, output_tokens = 1 } end
    local joined = { prompt_tokens = 1, output_tokens = 1, after = { "b", "a", "a" } }
    says(of { { named "a", named "b", joined } },
      "after is the string 'a'; expected every request at most once")
    says(of(with { after = "x" }), "after is the string 'x'")
    says(of(with { extends = true }), "extends is true; expected a request above this one, or")
    says(of(with { after = 1, prefix_group = "g" }), "prefix_group is for requests that begin")
    says(of(with { prompt_tokens = -1 }), "prompt_tokens is -1; expected an integer from 0 to")
    says(of(with { prompt_tokens = 1.5 }),
      "prompt_tokens is 1.5; expected an integer from 0 to 1000000000")
    says(of { { node, [3] = node } }, "workload.graphs[1]: request 3 comes after a gap")
    says(of(with { after = { 1, [3] = 1 } }), "after is a list, and 3 is no place of it")
    says(of(with { after = { id = "a" } }),
      "after is a list, and the string 'id' is no place of it")
    says(of { { prefix_tokens = 9, node } }, "prefix_tokens needs prefix_group")
    says(of { { prefix_group = "g", node } }, "prefix_group needs prefix_tokens")
    says(of(with { after = 1, prompt_tokens = 1000000000 }), "at most 1000000000 are allowed")
    local function hashed(ids, more)
      return of { { { prompt_tokens = 1024, output_tokens = 1, hash_ids = ids,
        hash_block_tokens = more } } }
    end
    says(hashed(7), "graphs[1][1]: hash_ids is 7; expected a list of integers or strings")
    says(hashed { 1, 2.5 }, "item 2 of hash_ids is 2.5; expected an integer or a string")
    says(hashed { a = 1 }, "hash_ids is a list, and the string 'a' is no place of it")
    says(hashed { 1, 2, 3, 4 }, "hash_ids has 4 ids; a prompt of 1024 tokens has at most 3")
    says(hashed({ 1 }, 0), "hash_block_tokens is 0; at least 1 is needed")
    says(of(with { after = 1, hash_ids = { 1 } }), "hash_ids is for requests that begin a context")
    says(of(with { background = 1 }), "background is 1; expected true or false")
    says(of { { { id = "a", prompt_tokens = 1, output_tokens = 1 },
      { id = "a", prompt_tokens = 1, output_tokens = 1 } } }, "an id that no other request")
    says(of { { { prompt_tokens = 1 } } }, "output_tokens is missing")
    -- The answer of the first is not there when the second has ended; that of the third is.
    local function last(extends)
      local function one(id, after, more)
        return { id = id, after = after, extends = more, prompt_tokens = 1, output_tokens = 1 }
      end
      return { { one "a", one "b", one("c", "b"), one("d", { "c", "a" }), one("e", "c", extends) } }
    end
    for _, extends in ipairs { "a", "d", 1 } do
      says(of(last(extends)), "graphs[1][5]: extends is ")
      says(of(last(extends)), "expected a request that has ended by then: one of after, or one "
        .. "that these wait for")
    end
    for _, extends in ipairs { "b", "c" } do
      assert.equal(5, blis.run { workload = { graphs = last(extends), rate = 1 } }.completed)
    end
    says(of({ { node } }, { rate = 1, concurrency = 1 }), "cannot be combined with")
    says(of({ { start_us = 9, node }, { start_us = 5, node } }), "starts before the one in front")
    says(of(function() return {} end), "a function might never stop returning graphs")
    says(of(function() return { node } end, { horizon_us = 1000 }),
      "graphs[1]: start_us is missing")
    local function timed(_, number) return { start_us = number * 400, node } end
    assert.equal(2, run({ graphs = timed, horizon_us = 1000 }).arrived)
    says(of(function() return {} end, { count = 3 }), "graphs[1]: a graph has at least one request")
    says(of(function() error "no idea" end, { count = 3 }), "no idea")
    local spec = { cluster = { instances = 1 }, workload = { graphs = { { node } } },
      think_time = function() return 1 end }
    says(small.message_of(blis.run, spec), "write delay_us there")
    says(small.message_of(blis.workload, { graphs = { { node } } }), "cannot be listed beforehand")
  end)

  it("share the blocks that their hash ids identify", function()
    local function graph(start_us, prompt, ids, block)
      return { start_us = start_us, { prompt_tokens = prompt, output_tokens = 30, hash_ids = ids,
        hash_block_tokens = block }, { after = 1, prompt_tokens = 0, output_tokens = 2 } }
    end
    local cached = {}
    local list = {
      graph(0, 1100, { 7, "x", 9 }), -- the last block is not full
      graph(1e7 // 1, 1100, { "7", "x", 9 }),
      graph(2e7 // 1, 1024, { 7, "x" }),
      graph(3e7 // 1, 1100, { 7, 8 }),
      graph(4e7 // 1, 1100, { 7, "x" }, 256), -- other content than the first blocks of 512
      graph(5e7 // 1, 512, { math.mininteger + 7 }),
    }
    local result = run({ graphs = list }, { cluster = { instances = 1, block_size = 16 },
      routing = blis.router { name = "see", route = function(_, instances)
        cached[#cached + 1] = instances[1].cached_tokens
        return 1
      end } })
    assert.equal(12, result.completed)
    -- Of the second requests, all full blocks: the prompt and the response of the first.
    assert.same({ 0, 1120, 1024, 1120, 1024, 1040, 512, 1120, 0, 1120, 512, 528 }, cached)
  end)
end)
