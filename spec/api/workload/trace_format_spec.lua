-- Trace formats in Lua: those of scripts, and the importers that blis includes.
local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says = small.says

--- Calls use(path) with a file of this text.
local function with(text, use)
  local result
  files.with(text, function(path) result = use(path) end)
  return result
end

local function read(text, options)
  return with(text, function(path) return blis.trace.read(path, options) end)
end

local function message_of(text, options)
  return with(text, function(path) return small.message_of(blis.trace.read, path, options) end)
end

local function graphs_of(text, options)
  return with(text, function(path)
    local file = blis.session_graphs(path, options)
    return { file = file, about = file:about(), list = file:list(), notes = file:notes() }
  end)
end

local function graph_message(text, options)
  return with(text, function(path) return small.message_of(blis.session_graphs, path, options) end)
end

--- Requests as "session@arrival:prompt+output".
local function shape(list)
  local parts = {}
  for i, one in list:requests() do
    parts[i] = ("%s@%d:%d+%d"):format(one.session or "", one.arrival_us, one.prompt_tokens,
      one.output_tokens)
  end
  return table.concat(parts, " ")
end

blis.trace_format {
  name = "spec-lines",
  recognize = function(head) return head:find("#spec-lines\n", 1, true) == 1 end,
  read = function(file)
    local next_line = file:lines()
    next_line()
    return function()
      local line, number = next_line()
      if not line then return nil end
      local time, user, prompt, output = line:match "^(%S+) (%w+) (%S+) (%S+)$"
      if not time then file:fail(number, "'%s' has not four words", line) end
      return { arrival_us = tonumber(time) * 1e6, session = user,
        prompt_tokens = tonumber(prompt), output_tokens = tonumber(output) }
    end
  end,
}

blis.trace_format {
  name = "spec-tasks", returns = "graphs",
  recognize = function(head) return head:find("#spec-tasks\n", 1, true) == 1 end,
  read = function(file)
    local list = {}
    for line in file:lines() do
      local start, prompt = line:match "^(%d+) (%d+)$"
      if start then
        list[#list + 1] = { start_us = tonumber(start),
          { prompt_tokens = tonumber(prompt), output_tokens = 5 },
          { prompt_tokens = 7, output_tokens = 3, after = { 1 }, extends = 1 } }
      end
    end
    return list
  end,
}

describe("a trace format of a script", function()
  local text = "#spec-lines\n1000.5 b 100 5\n1000 a 50 6\n1001 a 60.0 7\n"

  it("reads rows in any order, and the first one arrives at time 0", function()
    assert.equal("a@0:50+6 b@500000:100+5 a@1000000:60+7", shape(read(text)))
    assert.equal("b@0:100+5", shape(read(text, { limit = 1 })))
    assert.matches("^spec%-lines trace ", read(text):description())
  end)

  it("is accepted wherever a trace is", function()
    with(text, function(path)
      local result = blis.run { cluster = { instances = 1, model = "qwen/qwen3-14b" },
        workload = { trace = path } }
      assert.equal(3, result.completed)
      assert.equal(3, #blis.trace.open(path))
      says(small.message_of(blis.trace.stream, path), "format 'spec-lines' is read in Lua")
    end)
    assert.equal("a@0:1+2", shape(read("x\n0 a 1 2\n", { format = "spec-lines" })))
    local names = {}
    for _, format in ipairs(blis.trace.formats()) do names[format.name] = format.summary end
    assert.equal("a format of a script", names["spec-lines"])
    assert.is_nil(names["spec-tasks"])
  end)

  it("reports the file, the line, and the row of a fault", function()
    says(message_of "#spec-lines\n1 a 2 3\n1 a 2\n", ":3: '1 a 2' has not four words")
    says(message_of "#spec-lines\n", "the trace has no rows (format 'spec-lines')")
    says(message_of "#spec-lines\n-1 a 2 3\n", "item 1: arrival_us is -1000000, expected")
    says(message_of "#spec-lines\n1 a 2 3\n2 a 2.5 3\n", "request 2: prompt_tokens is 2.5")
    says(message_of "#spec-lines\n1 a\0 2 3\n", ":2: the line contains a zero byte")
  end)

  it("reads session graphs", function()
    local found = graphs_of "#spec-tasks\n9000 20\n5000 10\n"
    assert.same({ format = "spec-tasks", graphs = 2, requests = 4, has_starts = true },
      found.about)
    assert.same({ 0, 10, 4000, 20 }, { found.list[1].start_us, found.list[1][1].prompt_tokens,
      found.list[2].start_us, found.list[2][1].prompt_tokens })
    with("#spec-tasks\n9000 20\n5000 10\n", function(path)
      local experiment = { cluster = { instances = 1, model = "qwen/qwen3-14b" } }
      for _, workload in ipairs { { graphs = path }, { graphs = path, concurrency = 1 },
        { graphs = blis.session_graphs(path), rate = 3 } } do
        experiment.workload = workload
        assert.equal(4, blis.run(experiment).completed)
      end
    end)
    says(graph_message "#spec-tasks\nx\n", "the trace has no rows (format 'spec-tasks')")
    says(graph_message("#spec-tasks\n1 1\n", { models = "a" }), "is read in Lua")
  end)

  it("is checked when it is added", function()
    local function add(format) return small.message_of(blis.trace_format, format) end
    local function nothing() return {} end
    says(add { read = nothing }, "trace_format.name")
    says(add { name = "spec-x" }, "trace_format.read")
    says(add { name = "a b", read = nothing }, "invalid value 'a b'")
    for _, name in ipairs { "mooncake", "weka", "genai-perf", "spec-lines" } do
      says(add { name = name, read = nothing }, ("a format '%s' exists already"):format(name))
    end
    says(add { name = "spec-x", read = nothing, recognise = nothing }, "recognize")
    says(add { name = "spec-x", read = nothing, returns = "lines" }, "rows, graphs")
  end)

  it("has its reason in the list of formats that were tried", function()
    local message = message_of "what\n"
    says(message, "  spec-lines: its function 'recognize' returned false")
    says(message, '  genai-perf: needs "experiments"')
    message = graph_message "what\n"
    says(message, '  weka: needs "requests" and "block_size"')
    says(message, "  spec-tasks: its function 'recognize' returned false")
  end)
end)

describe("results of AIPerf and GenAI-Perf", function()
  local function record(start, prompt, more)
    return ('{"metadata":{"request_start_ns":%d,"x_request_id":"a"%s},"metrics":'
      .. '{"input_sequence_length":{"value":%s,"unit":"tokens"},"output_sequence_length":'
      .. '{"value":9.0,"unit":"tokens"},"time_to_first_token":{"value":NaN}},"error":null}\n')
      :format(start, more or "", prompt)
  end

  it("are records of requests, without the warm-up", function()
    assert.equal("@0:20+9 @1000000:30+9", shape(read(record(5000000000, "20")
      .. record(1, "7", ',"benchmark_phase":"warmup"') .. record(6000000000, "30"))))
    says(message_of(record(5, "null")), ":1: key 'metrics.input_sequence_length'")
    says(message_of(record(5, "1") .. "3\n"), ":2: expected an object for each record")
  end)

  it("of inference-perf have their lengths in info, as in 2025", function()
    assert.equal("@0:9+4", shape(read('[{"start_time":5,"end_time":6,"request":"","response":"",'
      .. '"info":{"input_tokens":9,"output_tokens":4,"output_token_times":[5.5]},"error":null}]')))
  end)

  it("of GuideLLM have their starts in the request, as in early 2025", function()
    for _, members in ipairs { '"prompt_tokens":9,"output_tokens":4',
      '"input_metrics":{"text_tokens":9},"output_metrics":{"text_tokens":4}' } do
      assert.equal("@0:9+4 @1000000:9+4", shape(read(('{"benchmarks":[{"requests":{"successful":'
        .. '[{"start_time":5.0,%s},{"start_time":6,%s}]}}]}'):format(members, members))))
    end
  end)

  it("are profiles with texts, whose tokens are derived from bytes", function()
    local function profile(payload)
      return '{"experiments":[{"experiment":{"mode":"rate"},"requests":[{"timestamp":2000000,'
        .. '"request_inputs":{"payload":"' .. payload .. '"},"response_timestamps":[3,4],'
        .. '"response_outputs":[{"response":"data: {\\"choices\\":[{\\"delta\\":{\\"content\\":'
        .. '\\"12345\\"}}]}"},{"response":"data: [DONE]"}]}]}]}'
    end
    local chat = '{"model":"m","messages":[{"role":"user","content":"123456789"}]}'
    assert.equal("@0:3+2", shape(read(profile((chat:gsub('"', '\\"'))))))
    says(message_of(profile "{}"), "experiments[0].requests[0]: key 'request_inputs.payload'")
  end)

  it("are sessions with turns", function()
    local found = graphs_of('{"session_id":"s","turns":[{"text":"12345678","output_length":3},'
      .. '{"texts":["1234"],"output_length":4,"delay":500}]}\n')
    local list = found.list
    assert.equal("aiperf-turns", found.about.format)
    assert.same({ "s", 2, 2 + 3 + 1, 4, 500000 }, { list[1].name, list[1][1].prompt_tokens,
      list[1][2].prompt_tokens, list[1][2].output_tokens, list[1][2].delay_us })
    says(graph_message '{"session_id":"s","turns":[{"text":"a"}]}\n',
      ":1: key 'turns[0].output_length': is missing; AIPerf leaves it to the server")
    says(graph_message '{"session_id":"s","turns":[{"text":""}]}\n', ":1: key 'turns[0]")
  end)
end)

describe("files that are no text", function()
  it("are named, with the way to the text in them", function()
    for start, message in pairs {
      ["\xff\xfet\0i\0"] = "the file is UTF-16 text, expected UTF-8; 'iconv",
      ["PAR1\0"] = "the file is a Parquet file; 'python3 share/python/parquet_to_jsonl.py",
      ["PK\3\4"] = "the file is a ZIP archive", ["\xfd7zXZ\0"] = "compressed by xz",
      ["SQLite format 3\0"] = "an SQLite database", ["BZh9"] = "compressed by bzip2",
      ["version https://git-lfs.github.com/spec/v1\n"] = "a pointer of Git LFS",
      ["<!DOCTYPE html>"] = "a web page", [("x"):rep(257) .. "ustar\0"] = "a tar archive",
    } do
      for _, found in ipairs { message_of(start), graph_message(start) } do
        says(found, message)
        assert.is_nil(found:find "other formats")
      end
    end
  end)
end)

describe("tables of requests", function()
  it("may have blanks around numbers, and other separators than known formats", function()
    assert.equal("@0:100+10 @1000000:200+20",
      shape(read "timestamp, input_tokens, output_tokens\n 0.5, 100 ,10\n1.5,200.0, 2e1\n"))
    assert.equal("@0:472+18 @40000000:108+23", shape(read("Timestamp;Model;Request tokens;"
      .. "Response tokens\n5;a;472;18\n45;a;108;23\n", { time_unit = "s" })))
    assert.equal("@0:3+4", shape(read "when;in;out\n7;3;4\n"))
  end)

  it("say which column has other values than its name promises", function()
    says(message_of 'timestamp,input_tokens,output_tokens\n0.5,"1,100",10\n',
      "the values of column 'input_tokens' are no numbers")
    says(message_of 'time;in;out\n"0,5";100;10\n', "the values of column 'time' are no times")
    says(message_of "{}\n", "the first object has no member with a value")
    says(message_of '[{"timestamp":1}]', "as jq -c '.[]' FILE prints them")
  end)
end)

describe("files of conversations", function()
  it("are one per line, or a list, with any of the usual names", function()
    for text, count in pairs {
      ['{"id":"x","conversations":[{"from":"human","value":"a"},'
        .. '{"from":"gpt","value":"b"}]}\n'] = 1,
      ['{"conversation_id":"x","conversation":[{"role":"user","content":"a"},'
        .. '{"role":"assistant","content":"b"}]}\n'] = 1,
      ['[{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},'
        .. '\n{"role":"assistant","content":null},{"role":"tool","content":"x"},'
        .. '\n{"role":"assistant","content":"b"}]}]'] = 2,
    } do
      local found = graphs_of(text)
      assert.same({ "sharegpt", count, false }, { found.about.format, found.about.requests,
        found.about.has_starts })
    end
  end)

  it("start at their recorded times, if all have one", function()
    local function one(id, time)
      return ('{"conversation_hash":"%s","timestamp":%s,"conversation":[{"role":"user",'
        .. '"content":"a"},{"role":"assistant","content":"b"}]}\n'):format(id, time)
    end
    local found = graphs_of(one("late", '"2023-04-09T00:02:53"') .. one("early", "1680998400"))
    assert.same({ true, "early", 0, "late", 173000000 }, { found.about.has_starts,
      found.list[1].name, found.list[1].start_us, found.list[2].name, found.list[2].start_us })
    assert.is_false(graphs_of(one("a", "5") .. one("b", "null")).about.has_starts)
    says(graph_message(one("a", '"noon"')), ":1: key 'timestamp': 'noon' is no time")
  end)

  it("are battles of two models, or rows of a data set of Hugging Face", function()
    local talk = '[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]'
    local found = graphs_of(('{"question_id":"q","conversation_a":%s,"conversation_b":%s,'
      .. '"tstamp":1682351591.5}\n'):format(talk, talk))
    assert.same({ 2, 2, true, "q_a", "q_b" }, { found.about.graphs, found.about.requests,
      found.about.has_starts, found.list[1].name, found.list[2].name })
    assert.equal(1, graphs_of(('{"features":[],"rows":[{"row_idx":0,"row":{"conversation_id":"x",'
      .. '"conversation":%s}}]}'):format(talk)).about.graphs)
  end)

  it("report the line, or the number in a list", function()
    local good = '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}'
    says(graph_message(good .. "\n" .. '{"messages":[{"role":"user","content":3}]}\n'),
      ":2: key 'content': 3 is not a string")
    says(graph_message("[" .. good .. ",3]"), "3 is not an object (conversation 2 of the list)")
  end)
end)

describe("JSON texts of several lines", function()
  local function span(start, more)
    return ('{\n "trace_id": "t",\n "start_time": %d,\n "attributes": {\n'
      .. '  "gen_ai.usage.input_tokens": 10,\n  "gen_ai.usage.output_tokens": 5, "x": "{["%s\n'
      .. ' }\n}\n'):format(start, more or "")
  end

  it("follow each other, as exporters print them to a console", function()
    local found = graphs_of(span(100) .. "\n" .. span(103))
    assert.same({ "spans", 1, 2, true }, { found.about.format, found.about.graphs,
      found.about.requests, found.about.has_starts })
  end)

  it("report the line of a fault", function()
    says(graph_message(span(100) .. span(103, ",")), ":15: column 2")
    says(graph_message(span(100) .. "{\n\n"), ":11: column 1: unexpected end of text")
  end)

  local function otlp(attributes, more)
    return ('{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a","startTimeUnixNano":%d,'
      .. '"endTimeUnixNano":%d,"attributes":[%s]%s}]}]}]}\n'):format(more and 1 or 5e9 // 1,
      more and 9 or 6e9 // 1, attributes, more or "")
  end

  local function value(key, text)
    return ('{"key":"%s","value":{"stringValue":"%s"}}'):format(key, text)
  end

  it("of a trace are one session, in whatever batches they are", function()
    local counts = '{"key":"gen_ai.usage.input_tokens","value":{"intValue":"10"}},'
      .. '{"key":"gen_ai.usage.output_tokens","value":{"intValue":"5"}}'
    for _, format in ipairs { otlp(counts), (otlp(counts):gsub("resourceSpans", "resource_spans")
      :gsub("scopeSpans", "scope_spans"):gsub("intValue", "int_value")) } do
      local found = graphs_of(format .. format:gsub('"a"', '"b"') .. format, { format = "spans" })
      assert.same({ 2, 3 }, { found.about.graphs, found.about.requests })
    end
  end)

  it("have texts in attributes or events", function()
    local messages = value("openinference.span.kind", "LLM") .. ","
      .. value("llm.input_messages.0.message.content", "12345678") .. ","
      .. value("llm.output_messages.0.message.content", "1234")
    local events = ',"events":[{"name":"gen_ai.user.message","attributes":['
      .. value("content", "12345678") .. ']},{"name":"gen_ai.choice","attributes":['
      .. value("message", "1234") .. "]}]"
    local chat = value("gen_ai.operation.name", "chat")
    for _, text in ipairs { otlp(messages), otlp(chat, events) } do
      local node = graphs_of(text).list[1][1]
      assert.same({ 2, 1 }, { node.prompt_tokens, node.output_tokens })
    end
  end)

  it("may be of Zipkin, with tags", function()
    local found = graphs_of('[{"traceId":"a","id":"b","timestamp":1700000000000000,"duration":1000,'
      .. '"tags":{"gen_ai.usage.input_tokens":"100","gen_ai.usage.output_tokens":"9"}}]')
    assert.same({ "spans", 100, true }, { found.about.format, found.list[1][1].prompt_tokens,
      found.about.has_starts })
  end)

  it("have no recorded starts if sessions are not in their order", function()
    local function session(name, start)
      return (span(start):gsub('"t"', '"' .. name .. '"'))
    end
    assert.is_true(graphs_of(session("a", 100) .. session("b", 200)).about.has_starts)
    local found = graphs_of(session("a", 200) .. session("b", 100))
    assert.is_false(found.about.has_starts)
    says(table.concat(found.notes, "\n"), "sessions are not in order of their starts")
  end)
end)

describe("rows of AIPerf with texts", function()
  it("may have text, texts, or messages", function()
    for _, text in ipairs { '"text":"12345678"', '"texts":["1234","5678"]',
      '"messages":[{"role":"user","content":"12345678"}]', '"text_input":"12345678"' } do
      local found = graphs_of('{"timestamp":0,"output_length":5,' .. text .. "}\n")
      assert.same({ "mooncake-delta", 2 }, { found.about.format, found.list[1][1].prompt_tokens })
    end
  end)
end)
