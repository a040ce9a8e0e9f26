-- Session graphs as benchmarks play a corpus (AgentX), and when they start.
local blis = require "spec.support.old_defaults"
local small = require "spec.support.small"

local says = small.says
local second = 1000000

local function run(workload, changes)
  local spec = { cluster = { instances = 1 }, workload = workload }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

local function message_of(workload, changes)
  return small.message_of(run, workload, changes)
end

--- A request of 100 + 10 tokens.
local function node(changes)
  local made = { prompt_tokens = 100, output_tokens = 10 }
  for key, value in pairs(changes or {}) do made[key] = value end
  return made
end

describe("idle times of session graphs", function()
  it("are cut where nothing of a graph is on its way, and what is behind comes earlier", function()
    local graph = { node(), node { after = 1, delay_us = 400 * second },
      node { after = 1, extends = false, delay_us = 500 * second } }
    local r = run({ graphs = { graph }, concurrency = 1,
      tree_idle_cap_us = 300 * second }).requests
    assert.equal(3, #r)
    assert.equal(r[1].end_us + 300 * second, r[2].arrival_us)
    assert.equal(r[1].end_us + 400 * second, r[3].arrival_us)
  end)

  it("are cut when the last request of the graph has ended, once", function()
    -- The tool's time began while another request was on its way.
    local graph = { node(), node { after = 1, output_tokens = 1000 },
      node { after = 1, extends = false, tool_us = 1000 * second },
      node { after = 3 } }
    local result = run { graphs = { graph }, concurrency = 1, tree_idle_cap_us = 300 * second }
    local r = result.requests
    assert.equal(4, #r)
    assert.is_true(r[2].end_us > r[1].end_us + 5 * second)
    assert.equal(r[2].end_us + 300 * second, r[3].arrival_us)
    assert.equal(1, result.tasks.completed)
    assert.equal(r[4].end_us, result.duration_us)
    local plain = run({ graphs = { graph }, concurrency = 1 }).requests
    assert.equal(plain[1].end_us + 1000 * second, plain[3].arrival_us)
  end)

  it("are cut for all graphs while nothing at all is on its way", function()
    local function graph(delay_s)
      return { node(), node { after = 1, delay_us = delay_s * second } }
    end
    local graphs = { graph(60), graph(65) }
    local r = run({ graphs = graphs, concurrency = 2, idle_cap_us = 10 * second }).requests
    local last_us = math.max(r[1].end_us, r[2].end_us)
    assert.equal(4, #r)
    assert.equal(last_us + 10 * second, r[3].arrival_us)
    assert.equal(r[3].arrival_us + 5 * second, r[4].arrival_us)
    -- Somebody else keeps the cluster busy: nothing is cut for it.
    graphs[3] = { node { output_tokens = 3000 } }
    local busy = run({ graphs = graphs, concurrency = 3, idle_cap_us = 1 * second }).requests
    local by = {}
    for _, record in ipairs(busy) do by[record.session .. record.round_index] = record end
    assert.is_true(by.task_30.end_us < 60 * second)
    assert.equal(by.task_30.end_us + 1 * second, by.task_11.arrival_us)
  end)

  it("are cut in front of roots, too, and of those that would come too late", function()
    local graph = { node { delay_us = 50 * second }, node { delay_us = 52 * second } }
    local r = run({ graphs = { graph }, concurrency = 1, count = 2,
      tree_idle_cap_us = 20 * second }).requests
    assert.equal(20 * second, r[1].arrival_us)
    assert.equal(22 * second, r[2].arrival_us)
    assert.equal(r[2].end_us + 20 * second, r[3].arrival_us)
    local late = { node(), node { after = 1, output_tokens = 1000 },
      node { after = 1, extends = false, tool_us = 1000 * second } }
    local cut = run({ graphs = { late }, concurrency = 1, tree_idle_cap_us = 20 * second },
      { horizon_us = 500 * second })
    assert.equal(3, cut.completed)
  end)

  -- While a step is planned ahead, an end may be told before another one that is earlier.
  it("begin at the last end, whichever is told last", function()
    local graph = { node { output_tokens = 22 }, node { output_tokens = 18, delay_us = 27336 },
      node { after = 2, delay_us = 3 * second }, node { after = 3, timeout_us = 1 } }
    for _, name in ipairs { "idle_cap_us", "tree_idle_cap_us" } do
      for _, cap_us in ipairs { 1, 1000, 5000 } do
        local result = run({ graphs = { graph }, concurrency = 1, [name] = cap_us })
        local r = result.requests
        assert.is_true(r[1].end_us < r[2].end_us)
        assert.equal(r[2].end_us + cap_us, r[3].arrival_us)
      end
    end
  end)

  it("begin at the start of a graph that comes later, and at the end of the warm-up", function()
    local refused = { node { prompt_tokens = 100000 } }
    local r = run({ graphs = { refused, { node() } }, concurrency = 1, idle_cap_us = 1000 },
      { cluster = { instances = 1, kv_blocks = 100 } }).requests
    assert.equal("unservable", r[1].state)
    assert.equal(r[1].end_us + 1 * second, r[2].arrival_us)
    local short, long = { node(), node() }, { node(), node { after = 1 } }
    for i = 3, 9 do long[i] = node { after = i - 1 } end
    for _, name in ipairs { "idle_cap_us", "tree_idle_cap_us" } do
      local result = run { graphs = { short, long }, concurrency = 2, warm_up_requests = 8,
        duration_us = 9 * second, [name] = 1 }
      local from_us = result.requests:measured()
      for _, one in ipairs(result.requests) do
        assert.is_true(one.output_tokens == 1 or one.arrival_us >= from_us)
      end
    end
  end)

  it("go together with adapters and with requests that are kept", function()
    local graph = { node(), node { after = 1, delay_us = 50 * second }, node { after = 2 } }
    local function workload(changes)
      local made = { graphs = { graph }, concurrency = 1, count = 2 }
      for key, value in pairs(changes) do made[key] = value end
      return made
    end
    for _, changes in ipairs { { idle_cap_us = 1000 }, { tree_idle_cap_us = 1000 },
      { play = "agentx", duration_us = 20 * second } } do
      local plain = run(workload(changes))
      local kept = run(workload(changes), { keep_requests = true })
      assert.equal(plain.hash, kept.hash)
      assert.equal(kept.arrived, #kept:trace())
      local adapted = run(workload(changes), { cluster = { lora = { adapters = 2 } } })
      assert.equal("adapter_", adapted.requests[1].adapter:sub(1, 8))
      assert.equal(adapted.arrived, adapted.completed + adapted.timed_out)
    end
  end)
end)

describe("session graphs that are played as AgentX does", function()
  local workload = { preset = "coding-agent", play = "agentx", concurrency = 4,
    duration_us = 300 * second }

  it("warm up in lanes, then measure for a while", function()
    local result = run(workload, { cluster = { instances = 2 } })
    local from_us, to_us = result.requests:measured()
    assert.equal(300 * second, to_us - from_us)
    local warm, cohort = 0, { first_us = math.maxinteger, last_us = 0, count = 0 }
    for _, r in ipairs(result.requests) do
      if r.arrival_us < from_us then
        warm = warm + 1
        assert.equal(1, r.output_tokens)
        assert.is_true(r.end_us <= from_us)
      else
        assert.is_true(r.arrival_us <= to_us and r.end_us <= to_us + 30 * second)
        if r.state == "completed" then
          cohort.count = cohort.count + 1
          cohort.first_us = math.min(cohort.first_us, r.arrival_us)
          cohort.last_us = math.max(cohort.last_us, r.end_us)
        end
      end
    end
    assert.is_true(warm >= 40 and warm <= 44, warm)
    local steady = result.steady
    assert.same({ cohort.count, cohort.first_us, cohort.last_us },
      { steady.completed, steady.from_us, steady.to_us })
    assert.near(cohort.count / ((cohort.last_us - cohort.first_us) / 1e6),
      steady.requests_per_sec, 1e-9)
    -- What the warm-up began is no task.
    for _, task in ipairs(result.requests:tasks()) do
      assert.is_true(task.start_us >= from_us)
    end
    assert.near(result.tasks.completed / 300, result.tasks.tasks_per_sec, 1e-9)
    says(tostring(result), ("after %.1f s: TTFT"):format(steady.from_us / 1e6))
  end)

  it("play a list again and again, with content of its own", function()
    local graph = { name = "g", node(), node { after = 1 }, node { after = 2 } }
    local result = run { graphs = { graph }, concurrency = 1, duration_us = 60 * second,
      warm_up_requests = 2 }
    local r = result.requests
    local from_us = result.requests:measured()
    assert.same({ "g", "g", "g", "g#2", "g#2", "g#2" }, { r[1].session, r[2].session,
      r[3].session, r[4].session, r[5].session, r[6].session })
    assert.same({ 1, 1, 10, 10 }, { r[1].output_tokens, r[2].output_tokens, r[3].output_tokens,
      r[4].output_tokens })
    assert.same({ r[1].end_us, from_us }, { r[2].arrival_us, r[2].end_us })
    assert.equal(from_us, r[3].arrival_us)
    assert.is_false(r[4].had_hit)
    assert.is_true(#r > 100)
    assert.equal(3, run({ graphs = { graph }, concurrency = 1, warm_up_requests = 2,
      count = 1 }).completed)
    -- All of a graph is warm-up, and another one is not yet so far.
    assert.equal(6, run({ graphs = { { node() }, { node { prompt_tokens = 2000 } } },
      concurrency = 2, warm_up_requests = 1, count = 6 }).completed)
    -- A warm-up that is longer than a graph goes on with the next one.
    local long = run { graphs = { graph }, concurrency = 1, count = 3, warm_up_requests = 4 }
    assert.same({ 1, 10 }, { long.requests[4].output_tokens, long.requests[5].output_tokens })
    assert.same({ 1, 1 }, { long.tasks.started, long.tasks.completed })
  end)

  it("begin inside of graphs, with the context in front of there", function()
    local long = { name = "g", node() }
    for i = 2, 40 do long[i] = node { after = i - 1 } end
    local result = run { graphs = { long }, concurrency = 3, duration_us = 20 * second,
      primers = true }
    local rounds, different = {}, 0
    for i = 1, 3 do
      local r = result.requests[i]
      assert.equal(0, r.arrival_us)
      assert.equal(1, r.output_tokens)
      assert.equal(100 + r.round_index * 110, r.prompt_tokens)
      rounds[r.round_index] = true
    end
    for _ in pairs(rounds) do different = different + 1 end
    assert.is_true(different > 1)
    local from_us = result.requests:measured()
    for _, r in ipairs(result.requests) do
      if r.arrival_us == from_us then assert.is_true(r.had_hit) end
    end
  end)

  it("give up what has not ended in time", function()
    local graph = { node { output_tokens = 3000 } }
    local result = run { graphs = { graph }, concurrency = 1, duration_us = 10 * second,
      response_grace_us = 5 * second }
    assert.same({ 0, 1, 15 * second }, { result.completed, result.timed_out,
      result.requests[1].end_us })
    says(result.setup.notes, "no request of the measurement was completed")
    local patient = run { graphs = { graph }, concurrency = 1, duration_us = 10 * second }
    assert.equal(1, patient.completed)
    local never = run({ graphs = { graph }, concurrency = 1, count = 9, warm_up_requests = 3 },
      { cluster = { instances = 1, kv_blocks = 1000 }, horizon_us = 1 })
    says(never.setup.notes, "the warm-up of the graphs did not end")
  end)

  it("are the same in both engines, and in clones", function()
    for seed = 1, 3 do
      local hashes = {}
      for i, engine in ipairs { "fast", "stepwise" } do
        hashes[i] = run({ preset = "deep-research", play = "agentx", concurrency = 3,
          warm_up_requests = seed, idle_cap_us = seed * second, duration_us = 60 * second },
          { seed = seed, cluster = { instances = 2, engine = engine } }).hash
      end
      assert.equal(hashes[1], hashes[2], "seed " .. seed)
    end
    local sim = blis.simulation { cluster = { instances = 1 }, workload = workload }
    sim:run_until(30 * second)
    local copy = sim:clone()
    assert.equal(sim:run().hash, copy:run().hash)
  end)

  it("say what does not go together", function()
    local graph = { node() }
    says(message_of { graphs = { graph }, play = "agentx" }, "requires concurrency")
    says(message_of { graphs = { graph }, play = "agent" }, "agentx")
    for _, name in ipairs { "duration_us", "tree_idle_cap_us", "idle_cap_us",
      "warm_up_requests" } do
      says(message_of { graphs = { graph }, rate = 1, [name] = 5 },
        name .. " requires concurrency")
    end
    says(message_of { graphs = { graph }, concurrency = 1, response_grace_us = 5 },
      "response_grace_us requires duration_us")
    says(message_of({ graphs = { graph }, concurrency = 1, duration_us = 5 }, { warm_up_us = 1 }),
      "a workload that sets its own warm-up or duration")
  end)
end)

describe("starts of session graphs", function()
  it("are those of who starts them, and nobody else's", function()
    local graph = { start_us = 7, node() }
    says(message_of { graphs = { { node() }, graph }, rate = 1 },
      "workload.graphs[2]: start_us is 7, but rate already sets when graphs start")
    says(message_of { graphs = { graph }, concurrency = 1 }, "but concurrency already sets when")
    says(message_of { graphs = function() return graph end, count = 1, rate = 1 },
      "graphs[1]: start_us is 7, but rate already")
    assert.equal(7, run({ graphs = { graph } }).requests[1].arrival_us)
  end)

  it("of files are told where they are not used", function()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write [[{"request_id":"A","input_length":9,"output_length":2,"timestamp":70}
{"request_id":"B","input_length":9,"output_length":2,"wait_for":["A"]}]]
    file:close()
    says(run({ graphs = path, rate = 1 }).setup.notes, "recorded start times of graphs are "
      .. "ignored, because rate is set")
    assert.is_nil(run({ graphs = path }).setup.notes:find "recorded starts")
    os.remove(path)
  end)
end)

describe("the lineage of session graphs", function()
  it("tell routers the root and the parent", function()
    local seen = {}
    local made = { name = "t", node(), node { id = "b", after = 1, extends = 1 },
      node { id = "c", after = 1, extends = false } }
    run({ graphs = { made }, count = 2, concurrency = 1 }, {
      routing = blis.router { name = "see", route = function(request)
        local p = request.program
        seen[request.session] = p.id .. " " .. p.root_session .. " " .. p.parent_session
        return 1
      end },
    })
    assert.same({ t = "t t ", ["t/c"] = "t t t", ["t#2"] = "t t#2 ", ["t/c#2"] = "t t#2 t#2" },
      seen)
  end)

  it("keep siblings together, or a program, where the router is told to", function()
    -- Workers that one request calls, some with its context and some without.
    local made = { name = "t", node(), node { after = 1 } }
    for i = 3, 6 do made[i] = node { after = 1, extends = i > 4 and 1 or false } end
    local function places(key)
      local by = {}
      local result = run({ graphs = { made } }, { cluster = { instances = 4 },
        routing = { "weighted", scorers = { { "llm-d.session-affinity-scorer", 10, key = key },
          { "queue-depth", 1 } } } })
      for _, r in ipairs(result.requests) do by[r.session .. r.round_index] = r.instance end
      local children, count = {}, 0
      for name, instance in pairs(by) do
        if name:find "/" and not children[instance] then
          children[instance], count = true, count + 1
        end
      end
      return count, next(children), by.t0
    end
    assert.is_true(places() > 1)
    assert.equal(1, (places "siblings"))
    local count, child, root = places "program"
    assert.same({ 1, root }, { count, child })
    assert.is_true(places "session" > 1)
  end)
end)
