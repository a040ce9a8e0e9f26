-- The worked examples of session graphs in files, and how the readings differ.
local blis = require "blis"
local small = require "spec.support.small"

local says = small.says
local corpus = "tests/data/graphs/weka.jsonl"

--- Reads a text as a file of graphs: its list, and the file.
local function read(text, options)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local ok, found = pcall(blis.session_graphs, path, options)
  if not ok then
    os.remove(path)
    error(found, 0)
  end
  local list = found:list()
  os.remove(path)
  return list, found
end

local function message_of(text, options)
  return small.message_of(read, text, options)
end

--- "session:round<-a,b+delay_s" of every request, by session and round.
local function shape(graph)
  local lines = {}
  for i, node in ipairs(graph) do
    local after = {}
    for k, other in ipairs(node.after) do
      after[k] = ("%s:%d"):format(graph[other].session, graph[other].round_index)
    end
    lines[i] = ("%s:%d<-%s+%g%s"):format(node.session, node.round_index, table.concat(after, ","),
      node.delay_us / 1e6, node.background and " bg" or "")
  end
  table.sort(lines)
  return lines
end

local function of(reading, options)
  local all = { reading = reading }
  for key, value in pairs(options or {}) do all[key] = value end
  return blis.session_graphs(corpus, all):list()
end

describe("weka corpora", function()
  it("have chains that nobody marked: two workers of one fork, joined by the next turn", function()
    assert.same({
      "c1:0<-+0", "c1:1<-c1:0,c1::chain:1:0,c1::chain:2:0+3.5",
      "c1::chain:1:0<-c1:0+1", "c1::chain:2:0<-c1:0+1.5",
    }, shape(of "design" [1]))
    assert.same({
      "c1:0<-+0", "c1:1<-c1:0,c1::chain:1:0,c1::chain:2:0+9",
      "c1::chain:1:0<-c1:0+2", "c1::chain:2:0<-c1:0+2.5",
    }, shape(of "aiperf" [1]))
  end)

  it("have subagents that are spawned by the turn before and joined by the next", function()
    local graph = of "design" [2]
    assert.same({
      "c2:0<-+0", "c2:1<-c2:0,c2::sa:a1:1,c2::sa:a2:0+0",
      "c2::sa:a1:0<-c2:0+1.5", "c2::sa:a1:1<-c2::sa:a1:0+0.5",
      "c2::sa:a2:0<-c2:0+2.5", "c2::sa:a3:0<-c2:1+1 bg",
    }, shape(graph))
    for _, node in ipairs(graph) do
      if node.session ~= "c2" then assert.equal("c2", node.parent_session) end
    end
  end)

  it("are read as other tools do", function()
    assert.same({ "c2:0<-+0", "c2:1<-c2:0+0" }, shape(of "go-blis" [2]))
    assert.same({
      "c2:0<-+0", "c2:1<-c2:0+6", "c2::sa:a1:0<-+5.5", "c2::sa:a1:1<-c2::sa:a1:0+0.5",
      "c2::sa:a2:0<-+6.5", "c2::sa:a3:0<-+12",
    }, shape(of "llm-d-router" [2]))
    -- What had ended when a call began: overlapping streams have lanes of their own.
    assert.same({
      "c2:0<-+0", "c2:1<-c2:s1:1+2.5", "c2:s1:0<-c2:0+1.5", "c2:s1:0<-c2:1+1",
      "c2:s1:1<-c2:s1:0+0.5", "c2:s2:0<-c2:s1:0+0",
    }, shape(of "inference-perf" [2]))
    assert.same({
      "c1:0<-+0", "c1:1<-c1:0+1", "c1:2<-c1:1+0", "c1:3<-c1:2+3.5",
    }, shape(of "guidellm" [1]))
    assert.equal("c2:1<-c2:0,c2::sa:a1:1,c2::sa:a2:0+0", shape(of "aisimulate" [2])[2])
    assert.equal("c1:3<-c1:2+0.5", shape(of "go-blis" [1])[4])
    assert.equal("c1:3<-c1:2+6.5", shape(of("guidellm", { delays = "starts" })[1])[4])
    assert.equal("c1:3<-c1:2+0", shape(of("guidellm", { delays = "none" })[1])[4])
    assert.equal("c1:3<-c1:2+2", shape(of("guidellm", { delay_cap_us = 2000000 })[1])[4])
  end)

  it("have prompts of hash ids: two of one conversation share 192 of 260 tokens", function()
    local two = of "guidellm" [2]
    local by = {}
    for _, node in ipairs(two) do by[node.session .. node.round_index] = node end
    assert.same({ 200, 192 }, { by.c20.prompt_tokens, by.c20.known_tokens })
    assert.same({ 260, 256 }, { by.c21.prompt_tokens, by.c21.known_tokens })
    local text = [[{"id":"x","block_size":64,"hash_id_scope":"local","requests":[]]
      .. [[{"t":0,"in":200,"out":1,"hash_ids":[7,8,9]},]]
      .. [[{"t":1,"in":260,"out":1,"hash_ids":[7,8,9,10]}]}]]
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local saved
    blis.run {
      cluster = { instances = 1, block_size = 16 },
      workload = { graphs = path, concurrency = 1 },
      routing = blis.router { name = "see", route = function(request, instances)
        if request.round_index == 1 then saved = instances[1].cached_tokens end
        return 1
      end },
    }
    os.remove(path)
    assert.equal(192, saved)
  end)

  it("share blocks across conversations only where ids are global", function()
    local function hits(scope)
      local lines = {}
      for i = 1, 2 do
        lines[i] = ([[{"id":"c%d","block_size":64,"hash_id_scope":"%s","requests":[]]
          .. [[{"t":0,"in":640,"out":2,"hash_ids":[1,2,3,4,5,6,7,8,9,"10"]}]}]]):format(i, scope)
      end
      local path = os.tmpname()
      local file <close> = assert(io.open(path, "w"))
      file:write(table.concat(lines, "\n"))
      file:close()
      local result = blis.run { cluster = { instances = 1 },
        workload = { graphs = path, concurrency = 1 } }
      os.remove(path)
      return result.requests[2].had_hit
    end
    assert.is_true(hits "global")
    assert.is_false(hits "local")
  end)

  it("have nested times from the marker or from the start, by the whole corpus", function()
    local function nested(t)
      return ([[{"id":"n","block_size":64,"requests":[{"t":90,"in":1,"out":1},]]
        .. [[{"t":100,"type":"subagent","agent_id":"a","requests":[]]
        .. [[{"t":%s,"in":1,"out":1,"api_time":1},{"t":%s,"in":1,"out":1}]}]}]]):format(t[1], t[2])
    end
    local function starts(t, basis)
      local graph = read(nested(t), { reading = "llm-d-router", nested = basis })[1]
      return { graph[2].delay_us / 1e6 + 90, graph[2].delay_us / 1e6 + 90 + 1
        + graph[3].delay_us / 1e6 }
    end
    assert.same({ 103.0, 109.0 }, starts { "3", "9" })
    assert.same({ 100.5, 109.0 }, starts { "100.5", "109" })
    assert.same({ 200.5, 209.0 }, starts({ "100.5", "109" }, "relative"))
    -- One basis for all conversations.
    local both = read(nested { "3", "9" } .. "\n" .. nested { "100.5", "109" },
      { reading = "llm-d-router" })
    assert.equal(110.5, both[2][2].delay_us / 1e6)
  end)

  it("have idle gaps that can be capped", function()
    local lines = {}
    for i, t in ipairs { 0, 5, 400, 405 } do lines[i] = ([[{"t":%d,"in":9,"out":1}]]):format(t) end
    local graph = read([[{"id":"g","block_size":64,"requests":[]] .. table.concat(lines, ",")
      .. "]}", { idle_gap_cap_us = 60000000 })[1]
    local time, starts = 0, {}
    for i, node in ipairs(graph) do
      time = time + node.delay_us
      starts[i] = time // 1000000
    end
    assert.same({ 0, 5, 65, 70 }, starts)
  end)

  it("keep compactions in their chain, and count what is odd", function()
    local text = [[{"id":"k","block_size":64,"more":1,"requests":[]]
      .. [[{"t":-0,"type":"subagent","agent_id":"early","requests":[{"t":0,"in":5,"out":1}]},]]
      .. [[{"t":1,"in":256,"out":1,"hash_ids":[1,2,3,4]},{"t":2,"in":400,"out":1,]]
      .. [["hash_ids":[1,2,3,4,5,18446744073709551615]},{"t":3,"in":128,"out":0,]]
      .. [["hash_ids":[1,9,11]}]}]]
    local list, file = read(text)
    assert.same({ "k:0<-+0", "k:1<-k:0+1", "k:2<-k:1+1" }, shape(list[1]))
    assert.equal(0, list[1][3].output_tokens)
    local notes = table.concat(file:notes(), "\n")
    says(notes, "subagents before every request of their conversation, skipped: 1")
    says(notes, "more hash ids than tokens, whose last ids are ignored: 1")
    says(notes, "fields that are not read: 'more'")
  end)

  it("keep subagents of one agent_id apart, and say so", function()
    local function marker(t, name)
      return ([[{"t":%d,"type":"subagent",%s"requests":[{"t":%d,"in":9,"out":1}]}]]):format(t,
        name and ('"agent_id":"%s",'):format(name) or "", t)
    end
    local function line(id, ...)
      return ([[{"id":"%s","block_size":64,"requests":[{"t":0,"in":9,"out":1},%s]}]]):format(id,
        table.concat({ ... }, ","))
    end
    local list, file = read(line("c", marker(1, "a"), marker(2, "b"), marker(3, "a"), marker(4),
      marker(5, "a"), marker(6)) .. "\n" .. line("d", marker(1, "a")))
    local sessions = {}
    for i, node in ipairs(list[1]) do sessions[i] = node.session end
    table.sort(sessions)
    assert.same({ "c", "c::sa:a", "c::sa:a:2", "c::sa:a:3", "c::sa:b", "c::sa:unnamed",
      "c::sa:unnamed:2" }, sessions)
    assert.equal("d::sa:a", list[2][2].session)
    assert.same({ "subagents with the agent_id of an earlier one of their conversation, which have "
      .. "a session of their own: 3" }, { (file:notes()[1]:gsub("^[^:]*: ", "")) })
    assert.equal(1, #file:notes())
    says(message_of(line("c", marker(1, "a:b"))), ":1: key 'agent_id': invalid value 'a:b': "
      .. "expected a name without ':'")
    says(message_of(line("c:d", marker(1, "a"))), ":1: key 'id': invalid value 'c:d': expected a "
      .. "name without ':'")
  end)

  it("leave conversations out that have no request of their own, and say so", function()
    local alone = [[{"id":"s","block_size":64,"requests":[{"t":1,"type":"subagent",]]
      .. [["agent_id":"a","requests":[{"t":1,"in":9,"out":1}]}]}]]
    says(message_of(alone), "contains no graphs; conversations without own requests, "
      .. "skipped: 1")
    local list, file = read(alone .. "\n" .. alone:gsub('"s"', '"u"') .. "\n"
      .. [[{"id":"t","block_size":64,"requests":[{"t":0,"in":9,"out":1}]}]])
    assert.same({ 1, "t" }, { #list, list[1].name })
    says(table.concat(file:notes(), "\n"), "conversations without own requests, skipped: 2")
    assert.equal(1, #read(alone, { reading = "llm-d-router" }))
  end)

  it("say what is wrong, with the line", function()
    local function wrong(call)
      return message_of([[{"id":"a","block_size":64,"requests":[]] .. call .. "]}")
    end
    says(wrong [[{"t":0,"in":1,"input_length":1,"out":1}]], ":1: key 'input_length'")
    says(wrong [[{"t":0,"out":1}]], "key 'in': is missing")
    says(wrong [[{"t":"x","in":1,"out":1}]], "key 't'")
    says(wrong [[{"t":0,"in":-1,"out":1}]], "key 'in'")
    says(wrong [[{"t":0,"type":"x","in":1,"out":1}]], "expected n, s, or subagent")
    says(wrong [[{"t":0,"in":1,"out":1,"hash_ids":[-3]}]], "hash_ids")
    says(wrong [[7]], "object")
    says(message_of [[{"block_size":64,"requests":[]}]], "key 'id': is missing")
    says(message_of [[{"id":"a","block_size":0,"requests":[]}]], "expected at least 1")
    says(message_of [[{"id":"a","block_size":64,"requests":[]}]], "contains no graphs")
    says(message_of "{\"id\":\"a\",\"block_size\":64,\"requests\":[]}\n{", ":2:")
    says(message_of "what", "not recognised as session graphs")
    says(message_of("{}", { format = "wekka" }), "wekka")
  end)
end)

describe("models of a corpus", function()
  local names = { "big", "small", "big", "other" }

  --- A subagent in front, whose model is not the first one all the same.
  local function conversation(id, models)
    return ([[{"id":"%s","block_size":64,"requests":[{"t":1,"type":"subagent","agent_id":"x",]]
      .. [["requests":[{"t":1,"in":9,"out":2,"model":"%s"}]},{"t":0,"in":9,"out":2,"model":"%s"},]]
      .. [[{"t":2,"in":9,"out":2,"model":"%s"},{"t":3,"in":9,"out":2}]}]]):format(id,
      models[1], models[2], models[3])
  end
  local text = conversation("c", { "sub", "parent", "third" }) .. "\n"
    .. conversation("d", { "fourth", "third", "sub" })

  --- "session:round=model" of all requests.
  local function models_of(list)
    local found = {}
    for _, graph in ipairs(list) do
      for _, node in ipairs(graph) do
        found[#found + 1] = ("%s:%d=%s"):format(node.session, node.round_index, node.model or "")
      end
    end
    table.sort(found)
    return found
  end

  it("are not used by default", function()
    for _, one in ipairs(models_of(read(text))) do assert.truthy(one:find "=$") end
  end)

  it("are given in the order in which they appear, those of a parent first", function()
    -- parent, third, sub, fourth.
    local list, file = read(text, { models = { "A", "B", "C" }, reading = "aisimulate" })
    assert.same({ "c:0=A", "c:1=B", "c:2=", "c::sa:x:0=C", "d:0=B", "d:1=C", "d:2=",
      "d::sa:x:0=A" }, models_of(list))
    assert.same({ "A", "B", "C" }, file:about().models)
    says(table.concat(file:notes(), "\n"), "models by their order in the file: 'parent' is A, "
      .. "'third' is B, 'sub' is C, 'fourth' is A")
    for _, spelled in ipairs { "A", { "A" } } do
      for _, one in ipairs(models_of(read(text, { models = spelled }))) do
        assert.truthy(one:find("=A", 1, true) or one:find "chain:2:0=$")
      end
    end
    assert.same(models_of(list), models_of(read(text, { models = "A,B,C",
      reading = "aisimulate" })))
  end)

  it("are given by their names, all of them", function()
    local by_name = { parent = "A", third = "B", sub = "B", fourth = "A" }
    local list = read(text, { models = by_name, reading = "aisimulate" })
    assert.same({ "c:0=A", "c:1=B", "c:2=", "c::sa:x:0=B", "d:0=B", "d:1=B", "d:2=",
      "d::sa:x:0=A" }, models_of(list))
    assert.same(models_of(list), models_of(read(text,
      { models = "parent=A,third=B,sub=B,fourth=A", reading = "aisimulate" })))
    by_name.fourth = nil
    says(message_of(text, { models = by_name }), ":2: key 'model': 'fourth' is not a name in "
      .. "'models', expected parent, sub or third")
    says(message_of(text, { models = {} }), "graphs.models")
    says(message_of(text, { models = { "A", [3] = "B" } }), "graphs.models")
    says(message_of(text, { models = { parent = 3 } }), "graphs.models")
    for _, wrong in ipairs { "", ",", "A,", "a=A,B", "=A", "a=", "a=A=B,c" } do
      says(message_of(text, { models = wrong }), "graphs.models")
    end
    says(message_of(text, { models = "a=A,a=B" }), "workload.models: duplicate name 'a'")
    says(message_of([[{"id":"e","block_size":64,"requests":[{"t":0,"in":1,"out":1}]}]],
      { models = "A" }), "'models' is set, but no request of the file names its model")
    says(message_of([[{"id":"e","block_size":64,"requests":[{"t":0,"in":1,"out":1,"model":[]}]}]],
      { models = "A" }), ":1: key 'model'")
  end)

  it("are those of spans, as asked for or as answered", function()
    local lines = {}
    for i, name in ipairs(names) do
      lines[i] = ([[{"trace_id":"t%d","start_time":%d,"attributes":{"gen_ai.%s.model":"%s",]]
        .. [["gen_ai.usage.input_tokens":9}}]]):format(i, i, i == 2 and "response" or "request",
        name)
    end
    local list = read(table.concat(lines, "\n"), { models = { "A", "B" } })
    assert.same({ "t1:0=A", "t2:0=B", "t3:0=A", "t4:0=A" }, models_of(list))
  end)

  it("are served where they are, in both engines and in a clone", function()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local llama, qwen = "meta-llama/llama-3.1-8b-instruct", "qwen/qwen3-14b"
    local function experiment(engine, models)
      return { workload = { graphs = path, concurrency = 1, models = models, count = 6 },
        cluster = { engine = engine, hardware = "H100", tp = 1,
          groups = { { model = llama, instances = 2 }, { model = qwen } } } }
    end
    local by_name = { parent = llama, third = qwen, sub = llama, fourth = qwen }
    local fast = blis.run(experiment("fast", by_name))
    assert.equal(fast.hash, blis.run(experiment("stepwise", by_name)).hash)
    assert.equal(24, fast.completed)
    local seen = {}
    for _, request in ipairs(fast.requests) do
      if request.model == qwen then assert.equal("instance_2", request.instance) end
      if request.model == llama then assert.not_equal("instance_2", request.instance) end
      seen[request.model] = (seen[request.model] or 0) + 1
    end
    -- A call of each conversation names none.
    assert.same({ [llama] = 9, [qwen] = 9, [""] = 6 }, seen)
    local sim <close> = blis.simulation(experiment("fast", by_name))
    sim:step()
    local other <close> = sim:clone()
    assert.equal(fast.hash, other:run().hash)
    -- The owner may be left out, on either side.
    local bare = { parent = "Llama-3.1-8b-instruct", third = qwen, sub = llama,
      fourth = "qwen3-14b" }
    assert.equal(24, blis.run(experiment("fast", bare)).completed)
    local some = experiment("fast", by_name)
    some.cluster.groups[2].model = "qwen3-14b"
    for _, request in ipairs(blis.run(some).requests) do
      if request.model ~= "" then
        assert.equal(request.model == qwen, request.instance == "instance_2")
      end
    end
    by_name.fourth = "other/qwen3-14b"
    says(small.message_of(blis.run, experiment("fast", by_name)),
      "workload.models: no instance serves 'other/qwen3-14b', expected " .. llama)
    for _, pair in ipairs { { qwen, "other/qwen3-14b" }, { "other/qwen3-14b", qwen } } do
      local two = experiment("fast", { parent = pair[1], third = "qwen3-14b", sub = pair[2],
        fourth = pair[1] })
      two.cluster.groups[1].model, two.cluster.groups[2].model = pair[1], pair[2]
      says(small.message_of(blis.run, two), ("workload.models: 'qwen3-14b' may be %s or %s; name "
        .. "its owner"):format(pair[1], pair[2]))
    end
    by_name.fourth = "gpt"
    says(small.message_of(blis.run, experiment("fast", by_name)),
      "workload.models: no instance serves 'gpt', expected " .. llama .. " or " .. qwen)
    os.remove(path)
    says(small.message_of(blis.run, { workload = { graphs = { {} }, models = "x", rate = 1 } }),
      "'models' requires the path of a file")
  end)
end)

describe("rows that wait for each other", function()
  local rows = [[
{"request_id":"A","session_id":"s","input_length":100,"output_length":10,"timestamp":0}
{"request_id":"D","session_id":"s","input_length":9,"output_length":9,"wait_for":["B","C"],]]
    .. [["tool_wait_ms":250}
{"request_id":"B","session_id":"s","input_length":9,"output_length":9,"wait_for":["A"],"delay":500}
{"request_id":"C","session_id":"t","input_length":120,"output_length":10,"wait_for":["A"],"delay":0}
{"request_id":"E","input_length":9,"output_tokens":[1,2],"timestamp":70,"hash_ids":[]}
]]

  it("are a graph", function()
    local list, file = read(rows)
    assert.same({ format = "agentic-mooncake", graphs = 2, requests = 5, has_starts = true },
      file:about())
    local graph = list[1]
    assert.same({ "s:0<-+0", "s:1<-s:0+0.5", "s:2<-s:1,t:0+0.25", "t:0<-s:0+0" }, shape(graph))
    assert.same({ "E", 70000, 2 }, { list[2].name, list[2].start_us, list[2][1].output_tokens })
  end)

  it("of unknown names, themselves or circles are refused", function()
    local function row(id, waits)
      return ([[{"request_id":"%s","input_length":1,"output_length":1,"wait_for":%s}]]):format(id,
        waits)
    end
    says(message_of(row("A", '["x"]')), ":1: key 'wait_for': 'x' is no row of the file")
    says(message_of(row("A", '["A"]')), "'A' is the row itself")
    says(message_of(row("A", '["B"]') .. "\n" .. row("B", '["A"]')), "waits for itself in a circle")
    says(message_of(row("A", "[]") .. "\n" .. row("A", "[]")), ":2: key 'request_id'")
  end)
end)

describe("nonsense in files of graphs", function()
  local whole = {
    weka = [[{"id":"a","block_size":64,"requests":[{"t":0,"in":200,"out":5,"hash_ids":[1,2,3]},]]
      .. [[{"t":5,"type":"subagent","agent_id":"x","requests":[{"t":6,"in":64,"out":2}]},]]
      .. [[{"t":9,"in":260,"out":5,"api_time":1,"model":"m"}]}]],
    ["agentic-mooncake"] = [[{"request_id":"A","session_id":"s","input_length":100,]]
      .. [["output_length":10,"timestamp":0,"delay":3,"hash_ids":[1]}]],
    ["mooncake-delta"] = [[{"session_id":"a","input_length":100,"output_length":10,"timestamp":0,]]
      .. [["delay":3,"hash_ids":[1]}]],
    ["applied-compute"] = [[{"num_turns":1,"input_prompt_length":10,]]
      .. [["assistant_response_length":[5],"tool_call_output_length":[3],]]
      .. [["tool_call_latency":[0.5],"final_assistant_response_length":4}]],
    sharegpt = '[{"id":"a","conversations":[{"from":"human","value":"hello"},'
      .. '{"from":"gpt","value":"hi"}]}]',
    spans = [[{"trace_id":"a","start_time":1767225605000,"attributes":{]]
      .. [["gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":100,]]
      .. [["gen_ai.usage.output_tokens":9}}]],
  }

  --- The text with another value for the first member of this name.
  local function with_value(text, key, value)
    local _, place = text:find('"' .. key .. '":', 1, true)
    local behind = text:match("^%b[]()", place + 1) or text:match('^"[^"]*"()', place + 1)
      or text:match("^[%d.]+()", place + 1)
    return text:sub(1, place) .. value .. text:sub(behind)
  end

  it("is told with its line in every format", function()
    for format, text in pairs(whole) do
      local options = { format = format }
      assert.equal(format, select(2, read(text)):about().format)
      says(message_of(text:sub(1, #text // 2), options), ":1: column ")
      says(message_of("\0" .. text, options), ":1: the line contains a zero byte")
      says(message_of((text:gsub('"', '"\xe9', 1)), options), "invalid byte 0xe9; expected UTF-8")
      says(message_of(text:sub(1, -2) .. ',"x":' .. ("["):rep(100000), options), ":1: column")
      if format ~= "sharegpt" then
        for line, message in pairs { what = "column 1: unexpected 'what'; expected a value",
          ["[1]"] = "an array is not an object", null = "null is not an object",
          ["3"] = "3 is not an object" } do
          says(message_of(text .. "\n\n" .. line, options), ":3: " .. message)
        end
      end
      assert.equal(1, #read("\xef\xbb\xbf" .. text .. "\r\n\r\n"))
      local unread = format == "sharegpt" and text:gsub('{"id"', '{"unread":[NaN,-Infinity],"id"')
        or text:gsub("^{", '{"unread":[NaN,-Infinity],')
      assert.equal(1, #read(unread))
    end
  end)

  it("of values is told with their key", function()
    for format, keys in pairs {
      weka = { "in", "out", "t", "api_time", "hash_ids", "requests", "block_size" },
      ["agentic-mooncake"] = { "input_length", "output_length", "timestamp", "delay", "hash_ids" },
      ["mooncake-delta"] = { "input_length", "output_length", "timestamp", "delay", "hash_ids" },
      ["applied-compute"] = { "num_turns", "input_prompt_length", "assistant_response_length",
        "tool_call_output_length", "tool_call_latency", "final_assistant_response_length" },
      sharegpt = { "conversations", "value", "from" },
      spans = { "start_time", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens" },
    } do
      for _, key in ipairs(keys) do
        for _, value in ipairs { "-1", "1e308", "true", '{"x":1}', '"x"' } do
          local text = with_value(whole[format], key, value)
          local is_text = value:find('^"') and (key == "value" or key == "from")
          local ok, found = pcall(read, text, { format = format })
          if is_text then
            assert.is_true(ok or tostring(found):find "no graphs" ~= nil)
          else
            assert.is_false(ok, format .. " " .. key .. " " .. value)
            says(tostring(found), (":1: key '%s': "):format(key))
          end
        end
      end
    end
  end)

  it("of a conversation in a list is told with its number", function()
    says(message_of(whole.sharegpt:sub(1, -2)
      .. ',{"conversations":[{"from":"gpt","value":3}]}]'),
      ":1: key 'value': 3 is not a string (conversation 2 of the list)")
  end)

  it("of names: none, or the same one again", function()
    says(message_of((whole.weka:gsub('"a"', '""'))), ":1: key 'id': invalid value ''")
    local list, file = read(whole.weka .. "\n" .. whole.weka)
    assert.equal(2, #list)
    says(table.concat(file:notes(), "\n"), "conversations with the id of an earlier one, and so "
      .. "with its sessions: 1")
    says(message_of(whole["agentic-mooncake"] .. "\n" .. whole["agentic-mooncake"]),
      ":2: key 'request_id': 'A' is given twice")
    says(message_of((whole["agentic-mooncake"]:gsub('"delay"', '"input_tokens":-1,"delay"'))),
      ":1: key 'input_tokens': -1 is not an array")
  end)

  it("of sizes: nothing in prompts and answers is served, and nesting has an end", function()
    for format, text in pairs {
      weka = [[{"id":"a","block_size":64,"requests":[{"t":0,"in":0,"out":0},]]
        .. [[{"t":1,"in":0,"out":0}]}]],
      ["agentic-mooncake"] = [[{"request_id":"A","input_length":0,"output_length":0}]],
      ["mooncake-delta"] = [[{"session_id":"a","input_length":0,"output_length":0}]] .. "\n"
        .. [[{"session_id":"a","input_length":0,"output_length":0}]] .. "\n"
        .. [[{"session_id":"a","input_length":3,"output_length":0}]],
      ["applied-compute"] = [[{"num_turns":1,"input_prompt_length":0,]]
        .. [["assistant_response_length":[0],"tool_call_output_length":[0],]]
        .. [["tool_call_latency":[0],"final_assistant_response_length":0}]],
      spans = [[{"trace_id":"a","start_time":1,"attributes":{"gen_ai.usage.input_tokens":0}}]],
    } do
      local path = os.tmpname()
      local file <close> = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      local hashes = {}
      for i, engine in ipairs { "fast", "stepwise" } do
        local result = blis.run { cluster = { instances = 1, engine = engine },
          workload = { graphs = path, format = format, rate = 1 } }
        assert.equal(result.arrived, result.completed, format)
        hashes[i] = result.hash
      end
      assert.equal(hashes[1], hashes[2])
      os.remove(path)
    end
    local inner = '[{"t":0,"in":1,"out":1}]'
    for depth = 1, 20 do
      inner = '[{"t":0,"in":1,"out":1},{"t":0,"type":"subagent","agent_id":"' .. depth
        .. '","requests":' .. inner .. "}]"
    end
    says(message_of('{"id":"a","block_size":64,"requests":' .. inner .. "}"),
      ":1: key 'requests': an array is nested too deeply")
  end)
end)

describe("other files of graphs", function()
  it("say a delay once, or the same twice", function()
    for format, row in pairs {
      ["agentic-mooncake"] = [[{"request_id":"B","wait_for":["A"],"input_length":6,]]
        .. [["output_length":5,%s}]] .. "\n"
        .. [[{"request_id":"A","input_length":6,"output_length":5,"timestamp":0%s}]],
      ["mooncake-delta"] = [[{"session_id":"a","input_length":6,"output_length":5,%s}]] .. "\n"
        .. [[{"session_id":"a","input_length":6,"output_length":5,"delay":0%s}]],
    } do
      for _, both in ipairs { [["delay":5,"delay_ms":3]], [["delay_ms":3,"delay":5]] } do
        says(message_of(row:format(both, ""), { format = format }), ":1: key 'delay_ms': 3 is not "
          .. "what 'delay' says, expected one of them, or the same in both")
      end
      assert.equal(1, #read(row:format([["delay":5,"delay_ms":5.0]], ""), { format = format }))
      assert.equal(1, #read(row:format([["delay":null,"delay_ms":5]], ""), { format = format }))
    end
    local row = [[{"request_id":"B","input_length":6,"output_length":5,"wait_for":[],%s}]]
    local two = row:format [["created_time":0]] .. "\n"
      .. row:gsub("B", "C"):format [["created_time":7000]]
    assert.equal(7000000, read(two)[2].start_us)
    says(message_of(row:format [["timestamp":7,"created_time":0]]), ":1: key 'created_time': 0 is "
      .. "not what 'timestamp' says")
  end)

  it("are tasks of Applied Compute", function()
    local list = read([[{"num_turns":2,"input_prompt_length":1000,"assistant_response_length":[50,]]
      .. [[60],"tool_call_output_length":[300,20],"tool_call_latency":[1.5,0.25],]]
      .. [["final_assistant_response_length":80}]])
    local prompts, delays, outputs = {}, {}, {}
    for i, node in ipairs(list[1]) do
      prompts[i], delays[i], outputs[i] = node.prompt_tokens, node.tool_us, node.output_tokens
    end
    assert.same({ 1000, 1350, 1430 }, prompts)
    assert.same({ 0, 1500000, 250000 }, delays)
    assert.same({ 50, 60, 80 }, outputs)
    says(message_of [[{"num_turns":1,"input_prompt_length":1,"assistant_response_length":[]}]],
      "has not num_turns items")
  end)

  it("are tasks of Applied Compute without tools, or say what is wrong", function()
    local alone = read([[{"num_turns":0,"input_prompt_length":7,]]
      .. [["final_assistant_response_length":2}]])
    assert.same({ 1, 7, 2 }, { #alone[1], alone[1][1].prompt_tokens, alone[1][1].output_tokens })
    local whole = [[{"num_turns":1,"input_prompt_length":10,"assistant_response_length":[5],]]
      .. [["tool_call_output_length":[3],"tool_call_latency":[0.5],]]
      .. [["final_assistant_response_length":4}]]
    for change, message in pairs {
      ['"num_turns":1|"num_turns":2'] =
        ":2: key 'assistant_response_length': an array has not num_turns items",
      ['"num_turns":1|"num_turns":-1'] = ":2: key 'num_turns': invalid value -1",
      ['"num_turns":1|"num_turns":1e6'] = ":2: key 'num_turns':",
      ['[3]|[-3]'] = ":2: key 'tool_call_output_length': item 1: invalid value -3",
      ['[0.5]|["x"]'] = ":2: key 'tool_call_latency': item 1: 'x' is not a number",
      ['[5]|5'] = ":2: key 'assistant_response_length': 5 is not",
      ['"input_prompt_length":10|"input":10'] = ":2: key 'input_prompt_length': is missing",
      [',"final_assistant_response_length":4|'] =
        ":2: key 'final_assistant_response_length': is missing",
      ['[3]|[1000000000]'] = ":2: the prompt with what it extends has 1000000015 tokens",
    } do
      local from, to = change:match "^(.*)|(.*)$"
      local first, last = whole:find(from, 1, true)
      says(message_of(whole .. "\n" .. whole:sub(1, first - 1) .. to .. whole:sub(last + 1)),
        message)
    end
  end)

  it("are turns that say what is new (mooncake-delta)", function()
    local rows = [[
{"session_id":"a","timestamp":1000,"input_length":1000,"output_length":20,"hash_ids":[7]}
{"session_id":"b","timestamp":500,"input_length":1100,"output_length":5,"hash_ids":[7,8]}
{"session_id":"a","delay":2500,"input_length":30,"output_length":10,"hash_ids":[]}
{"input_length":9,"output_length":1,"timestamp":700}
{"session_id":"a","timestamp":9000,"input_length":0,"output_length":4}
{"session_id":"a","timestamp":9750.5,"delay_ms":1,"input_length":6,"output_length":2}
{"session_id":"a","timestamp":9750.5,"input_length":1,"output_length":2}
]]
    local list, file = read(rows)
    assert.same({ format = "mooncake-delta", graphs = 3, requests = 7, has_starts = true },
      file:about())
    assert.same({ "b", 0, "line_4", 200000, "a", 500000 }, { list[1].name,
      list[1].start_us, list[2].name, list[2].start_us, list[3].name, list[3].start_us })
    local a, prompts = list[3], {}
    for i, node in ipairs(a) do prompts[i] = node.prompt_tokens end
    -- Each the one before, its answer and what is new: 1000 + 20 + 30, ...
    assert.same({ 1000, 1050, 1060, 1070, 1073 }, prompts)
    -- The third comes 8 s behind the second, as its time is behind that of the first.
    assert.same({ "a:0<-+0", "a:1<-a:0+2.5", "a:2<-a:1+8", "a:3<-a:2+0.001", "a:4<-a:3+0" },
      shape(a))
    assert.equal(2.5, read(rows, { delay_cap_us = 3000000 })[3][2].delay_us / 1e6)
    assert.equal(3.0, read(rows, { delay_cap_us = 3000000 })[3][3].delay_us / 1e6)
    -- 512 tokens of both first prompts are the same.
    local path = os.tmpname()
    local out <close> = assert(io.open(path, "w"))
    out:write(rows)
    out:close()
    local cached = {}
    local result = blis.run { cluster = { instances = 1, block_size = 16 },
      workload = { graphs = path },
      routing = blis.router { name = "see", route = function(request, instances)
        cached[request.session .. request.round_index] = instances[1].cached_tokens
        return 1
      end } }
    os.remove(path)
    assert.same({ 7, 0, 512, 1008 }, { result.completed, cached.b0, cached.a0, cached.a1 })
  end)

  it("start at the first recorded start, whatever the clock", function()
    local row = [[{"session_id":"%s","timestamp":%d,"input_length":5,"output_length":2}]] .. "\n"
    for _, first_ms in ipairs { 0, 500, 1736500000000 } do
      local rows = row:format("late", first_ms + 3000) .. row:format("first", first_ms)
      local list = read(rows, { format = "mooncake-delta" })
      assert.same({ "first", 0, "late", 3000000 }, { list[1].name, list[1].start_us, list[2].name,
        list[2].start_us })
    end
  end)

  it("are turns without times, when rate or concurrency says when they start", function()
    local row = [[{"session_id":"a","input_length":5,"output_length":2}]]
    says(message_of(row), "not recognised as session graphs")
    local list, file = read(row .. "\n" .. row, { format = "mooncake-delta" })
    assert.same({ 1, false, "a:1<-a:0+0" }, { #list, file:about().has_starts, shape(list[1])[2] })
    local first = [[{"session_id":"b","delay":5,"input_length":2,"output_length":2}]] .. "\n"
    for text, message in pairs {
      [first .. [[{"session_id":"a","delay":0,"output_length":2}]] ] =
        ":2: key 'input_length': is missing",
      [ [[{"session_id":"a","delay":0,"input_length":2}]] ] = ":1: key 'output_length': is missing",
      [ [[{"session_id":"a","delay":0,"input_length":null,"output_length":2}]] ] =
        ":1: key 'input_length': invalid value null: expected a value",
      [ [[{"session_id":"a","delay":-1,"input_length":2,"output_length":2}]] ] =
        ":1: key 'delay': invalid value -1",
      [ [[{"session_id":[],"delay":1,"input_length":2,"output_length":2}]] ] =
        ":1: key 'session_id'",
      [ [[{"session_id":"a","timestamp":5,"delay":1,"input_length":2,"output_length":2}]] .. "\n"
        .. [[{"session_id":"a","timestamp":4,"input_length":2,"output_length":2}]] ] =
        ":2: key 'timestamp': 4 is before that of an earlier turn of its session",
      [ [[{"session_id":"a","delay":5,"input_length":999999999,"output_length":9}]] .. "\n"
        .. [[{"session_id":"a","delay":4,"input_length":2,"output_length":2}]] ] =
        ":2: the prompt with what it extends has 1000000010 tokens",
    } do
      says(message_of(text), message)
    end
  end)

  it("are conversations of ShareGPT", function()
    local list, file = read([[[{"id":"a","conversations":[{"from":"system","value":"12345678"},]]
      .. [[{"from":"human","value":"1234"},{"from":"gpt","value":"123456789"},]]
      .. [[{"from":"human","value":"12"},{"from":"gpt","value":"1"}]},]]
      .. [[{"conversations":[{"from":"human","value":"alone"}]}]] .. "]")
    assert.same({ 1, 3, 3, 1, 7, 1 }, { #list, list[1][1].prompt_tokens,
      list[1][1].output_tokens, list[1][2].after[1], list[1][2].prompt_tokens,
      list[1][2].output_tokens })
    says(table.concat(file:notes(), "\n"), "requests whose tokens were worked out of bytes: 2")
  end)

  it("are spans, by session, one by one or as OTLP", function()
    local function span(start, input, output, trace)
      return ([[{%s"start_time":%s,"end_time":%s,"status":{"code":"OK"},"attributes":]]
        .. [[{"gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":%d,]]
        .. [["gen_ai.usage.output_tokens":%d}}]]):format(trace or "", start, start, input, output)
    end
    local first, second = '"2026-01-01T00:00:00Z"', "1767225605000"
    local by_session = ([[{"trace_id":"a","spans":[%s,%s,{"start_time":1,"attributes":]]
      .. [[{"gen_ai.operation.name":"execute_tool"}}]}]]):format(span(first, 100, 30),
      span(second, 180, 9))
    local a = '"trace_id":"a",'
    local one_by_one = span(first, 100, 30, a) .. "\n" .. span(second, 180, 9, a) .. "\n"
      .. span(second, 180, 9, '"trace_id":"b",')
    local otlp = [[{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a","startTimeUnixNano":]]
      .. [["1767225605000000000","endTimeUnixNano":"1767225605000000000","attributes":[]]
      .. [[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"180"}},]]
      .. [[{"key":"gen_ai.usage.output_tokens","value":{"intValue":"9"}}]},{"traceId":"a",]]
      .. [["startTimeUnixNano":"1767225600000000000","endTimeUnixNano":"1767225600000000000",]]
      .. [["attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":100}},]]
      .. [[{"key":"gen_ai.usage.output_tokens","value":{"intValue":"30"}}]}]}]}]}]]
    for _, text in ipairs { by_session, one_by_one, otlp } do
      local graph = read(text)[1]
      assert.same({ "a:0<-+0", "a:1<-a:0+5" }, shape(graph))
      assert.same({ 100, 180, 1 }, { graph[1].prompt_tokens, graph[2].prompt_tokens,
        graph[2].extends })
    end
    local list, file = read(by_session)
    assert.equal(1, #list)
    says(table.concat(file:notes(), "\n"), "entries that are no requests: 1")
    assert.equal(2, #read(one_by_one))
    local shrunk = read(([[{"trace_id":"a","spans":[%s,%s]}]]):format(span(first, 100, 30),
      span(second, 90, 9)))
    assert.is_nil(shrunk[1][2].extends)
    says(message_of([[{"trace_id":"a","spans":[{"start_time":"x","attributes":]]
      .. [[{"gen_ai.usage.input_tokens":1}}]}]]), "is no time")
  end)

  it("are spans over any lines, in a list, of Jaeger, and without token counts", function()
    local function span(number, texts)
      return ([[{"trace_id":"t","start_time":"2026-02-25T10:00:0%dZ",
        "end_time":"2026-02-25T10:00:0%dZ","attributes":{"gen_ai.operation.name":"chat",%s}}]])
        :format(number, number, texts)
    end
    local asked = [["gen_ai.input.messages":"[{\"role\":\"user\",\"content\":\"Name a lake\"}]"]]
    local texts = asked .. [[,"gen_ai.output.text":"An answer of a few words."]]
    local indexed = [["gen_ai.prompt.0.content":"Name a","gen_ai.prompt.1.content":" lake",]]
      .. [["gen_ai.completion":"An answer of a few words."]]
    local spans = ("[%s,\n%s]"):format(span(0, texts), span(2, indexed))
    local jaeger = ([[{"data":[{"traceID":"t","spans":[
      {"startTime":1767225600000000,"duration":0,"tags":[%s]},
      {"startTime":1767225602000000,"duration":5,"tags":[%s]}]}]}]]):format(
      [[{"key":"gen_ai.usage.input_tokens","type":"int64","value":3},
        {"key":"gen_ai.usage.output_tokens","value":7}]],
      [[{"key":"gen_ai.usage.input_tokens","value":3},
        {"key":"gen_ai.usage.output_tokens","value":7}]])
    local session = ('{"trace_id":"t",\n"spans":%s\n}'):format(spans)
    for _, text in ipairs { spans, session, ("[%s]"):format(session), jaeger } do
      local list, file = read(text)
      assert.same({ 1, 2, 3, 7, 3, 7 }, { #list, #list[1], list[1][1].prompt_tokens,
        list[1][1].output_tokens, list[1][2].prompt_tokens, list[1][2].output_tokens })
      if text ~= jaeger then
        says(table.concat(file:notes(), "\n"), "requests whose tokens were worked out of bytes: 2")
      end
    end
    says(message_of(("[%s]"):format(span(0, [["x":1]]))), "contains no graphs; model calls "
      .. "without token counts (gen_ai.usage.input_tokens) and without texts "
      .. "(gen_ai.input.messages), skipped: 1")
    says(message_of(session:sub(1, -20)), "column ")
  end)

  it("are played in both engines alike", function()
    for _, reading in ipairs { "design", "aiperf", "inference-perf", "guidellm", "go-blis",
      "llm-d-router", "aisimulate" } do
      local hashes = {}
      for i, engine in ipairs { "fast", "stepwise" } do
        local result = blis.run { cluster = { instances = 2, engine = engine },
          workload = { graphs = corpus, reading = reading, concurrency = 3, count = 7 } }
        hashes[i] = result.hash
        assert.equal(7, result.tasks.completed)
      end
      assert.equal(hashes[1], hashes[2], reading)
    end
    says(small.message_of(blis.run, { workload = { graphs = corpus } }), "set rate or concurrency")
    says(small.message_of(blis.run, { workload = { graphs = "nosuch.jsonl", rate = 1 } }),
      "nosuch.jsonl")
    says(small.message_of(blis.run, { workload = { graphs = { {} }, reading = "aiperf" } }),
      "'reading' requires the path of a file")
  end)
end)
