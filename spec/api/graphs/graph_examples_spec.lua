-- Worked examples of traces of agents that no other spec has, and the rules of sessions.
local blis = require "blis"
local corpus = require "spec.support.corpus"

--- Calls fn with the path of a file with this text.
local function with_file(text, fn)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local ok, problem = pcall(fn, path)
  os.remove(path)
  if not ok then error(problem, 0) end
end

local function conversation(id, requests)
  return ('{"id":"%s","block_size":64,"requests":[%s]}'):format(id, requests)
end

describe("worked examples of corpora", function()
  it("9.1: ids count from 0, and mean the same everywhere unless a line says local", function()
    local call = '{"t":0,"in":128,"out":2,"hash_ids":[0,2]}'
    with_file(conversation("a", call) .. "\n" .. conversation("b", call), function(path)
      local result = blis.run { cluster = { instances = 1 },
        workload = { graphs = path, concurrency = 1 } }
      assert.is_true(result.requests[2].had_hit)
    end)
  end)

  it("9.2: t = 0 that takes 4 s, then t = 10: 10 s between starts, 6 s from the end", function()
    local calls = '{"t":0,"in":9,"out":1,"api_time":4},{"t":10,"in":19,"out":1,"think_time":2}'
    with_file(conversation("a", calls), function(path)
      local function delay(options)
        return blis.session_graphs(path, options):list()[1][2].delay_us
      end
      assert.equal(10000000, delay { delays = "starts" })
      assert.equal(6000000, delay { delays = "completion" })
      assert.equal(6000000, delay {})
      assert.equal(2000000, delay { delays = "think-time" })
      assert.equal(0, delay { delays = "none" })
    end)
  end)

  it("9.3: BLIS in Go adds what is new to the context, and too much after a compaction", function()
    local calls = '{"t":0,"in":100,"out":10},{"t":10,"in":150,"out":20},{"t":11,"in":120,"out":0}'
    with_file(conversation("a", calls), function(path)
      local prompts = {}
      for i, reading in ipairs { "go-blis", "design" } do
        local list = blis.session_graphs(path, { reading = reading }):list()[1]
        prompts[i] = { list[1].prompt_tokens, list[2].prompt_tokens, list[3].prompt_tokens }
        assert.equal(0, list[3].output_tokens)
      end
      assert.same({ { 100, 110 + 40, 170 + 0 }, { 100, 150, 120 } }, prompts)
    end)
  end)

  it("9.5: of a prompt of 128 tokens in blocks of 64, 64 can be reused", function()
    local call = '{"t":0,"in":128,"out":2,"hash_ids":[1,2]}'
    with_file(conversation("a", call) .. "\n" .. conversation("b", call), function(path)
      for _, engine in ipairs { "fast", "stepwise" } do
        local result = blis.run { cluster = { instances = 1, block_size = 64, engine = engine },
          workload = { graphs = path, concurrency = 1 } }
        assert.equal((128 - 1) // 64, result.instances[1].cache_hits)
      end
    end)
  end)

  it("9.8: a prompt of 180 tokens behind 100 and 30 reuses at most 130", function()
    local lines = {}
    for i, span in ipairs { { "a", "1767225600", 100, 30 }, { "a", "1767225605000", 180, 9 },
      { "b", "1767225605", 9, 9 }, { "a", "1767225605", 9, 9 } } do
      lines[i] = ('{"trace_id":"%s","start_time":%s,"attributes":{"gen_ai.operation.name":"chat",'
        .. '"gen_ai.usage.input_tokens":%d,"gen_ai.usage.output_tokens":%d}}'):format(
        table.unpack(span))
    end
    with_file(table.concat(lines, "\n"), function(path)
      local cached
      local list = blis.session_graphs(path):list()
      assert.equal(3, #list) -- a, b, a
      assert.same({ 180, 1, 5000000 }, { list[1][2].prompt_tokens, list[1][2].extends,
        list[1][2].delay_us })
      blis.run { cluster = { instances = 1, block_size = 10 },
        workload = { graphs = path, concurrency = 1, limit = 1 },
        routing = blis.router { name = "see", route = function(_, instances)
          cached = instances[1].cached_tokens
          return 1
        end } }
      assert.equal(120, cached) -- the last token of an answer is in no cache
    end)
  end)
end)

--- A random graph of n requests with delays and tools.
local function random_graph(rng)
  local graph = {}
  for i = 1, rng:integer(2, 12) do
    local after = {}
    for other = math.max(1, i - 3), i - 1 do
      if rng:integer(1, 2) == 1 then after[#after + 1] = other end
    end
    graph[i] = { after = after, prompt_tokens = rng:integer(1, 300),
      output_tokens = rng:integer(1, 40), delay_us = rng:integer(0, 2000000),
      tool_us = rng:integer(0, 2000000), background = rng:integer(1, 5) == 1 }
  end
  graph[1].background = false
  return graph
end

--- The longest way of recorded delays to a request that is not in the background.
local function longest_delay_us(graph)
  local ends, most = {}, 0
  for i, node in ipairs(graph) do
    ends[i] = 0
    for _, other in ipairs(node.after) do ends[i] = math.max(ends[i], ends[other]) end
    ends[i] = ends[i] + node.delay_us + node.tool_us
    if not node.background then most = math.max(most, ends[i]) end
  end
  return most
end

describe("rules of sessions (9.6)", function()
  it("no task is shorter than the longest way of its recorded delays", function()
    local made = {}
    local result = blis.run { cluster = { instances = 2 }, workload = { count = 200, rate = 2,
      graphs = function(rng, number)
        made[number] = random_graph(rng)
        made[number].name = "t" .. number
        return made[number]
      end } }
    local sharp = false
    for _, task in ipairs(result.requests:tasks()) do
      local least_us = longest_delay_us(made[tonumber(task.program:sub(2))])
      local took_us = task.end_us - task.start_us
      assert.equal("completed", task.state)
      assert.is_true(took_us > least_us)
      sharp = sharp or took_us < 1.5 * least_us
    end
    assert.is_true(sharp)
  end)

  it("one in the background that fails breaks only what waits for it", function()
    local function of(waits, on_failure)
      local graph = { { prompt_tokens = 9, output_tokens = 5 },
        { after = 1, background = true, prompt_tokens = 9, output_tokens = 500, timeout_us = 1000 },
        { after = waits and { 1, 2 } or 1, prompt_tokens = 9, output_tokens = 5 } }
      local tasks = blis.run { cluster = { instances = 1 },
        workload = { graphs = { graph }, on_failure = on_failure } }.tasks
      return { tasks.completed, tasks.broken, tasks.never_sent }
    end
    assert.same({ 1, 0, 0 }, of(false))
    assert.same({ 0, 1, 1 }, of(true))
    assert.same({ 1, 0, 0 }, of(true, "continue"))
  end)

  it("who goes on after a failure has the recorded answer in the prompt", function()
    local graph = { { prompt_tokens = 90, output_tokens = 500, timeout_us = 1000 },
      { after = 1, prompt_tokens = 10, output_tokens = 5 } }
    local result = blis.run { cluster = { instances = 1 },
      workload = { graphs = { graph }, on_failure = "continue" } }
    assert.equal(600, result.requests[2].prompt_tokens)
    assert.same({ 0, 1, 0 }, { result.tasks.completed, result.tasks.broken,
      result.tasks.never_sent })
  end)

  it("concurrency counts graphs, and no room is kept for what is in the background", function()
    local wide = { { prompt_tokens = 9, output_tokens = 5 } }
    for i = 2, 7 do
      wide[i] = { after = 1, prompt_tokens = 9, output_tokens = 50, extends = false }
    end
    wide[8] = { after = 1, background = true, extends = false, prompt_tokens = 9,
      output_tokens = 2000 }
    local result = blis.run { cluster = { instances = 1 },
      workload = { graphs = { wide }, count = 6, concurrency = 2 } }
    local tasks, most = result.requests:tasks(), 0
    table.sort(tasks, function(a, b) return a.start_us < b.start_us end)
    for i, task in ipairs(tasks) do
      local open = 0
      for k = 1, i do
        if tasks[k].end_us > task.start_us then open = open + 1 end
      end
      most = math.max(most, open)
    end
    assert.equal(2, most)
    -- The background of the first task outlives the starts of others.
    local first_background_us = 0
    for _, record in ipairs(result.requests) do
      if record.session == "task_1/8" then first_background_us = record.end_us end
    end
    assert.is_true(first_background_us > tasks[3].start_us)
  end)
end)

describe("a corpus that is made up", function()
  it("is replayed whole, as in the stepwise engine", function()
    local path = os.tmpname()
    local conversations = corpus.write(path, 1500, 25)
    for _, reading in ipairs { "design", "inference-perf" } do
      local hashes = {}
      for i, engine in ipairs { "fast", "stepwise" } do
        local result = blis.run { cluster = { instances = 4, engine = engine },
          workload = { graphs = path, concurrency = 16, timeout_us = 0, reading = reading } }
        assert.same({ 1500, conversations }, { result.completed, result.tasks.completed })
        hashes[i] = result.hash
      end
      assert.equal(hashes[1], hashes[2], reading)
    end
    os.remove(path)
  end)
end)
