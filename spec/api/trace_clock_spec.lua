--- Traces of any clock: rebasing, units, and tables of any columns, for each reader.
local blis = require "blis"
local commands = require "spec.support.commands"
local files = require "spec.support.files"

local units = { s = 1e6, ms = 1e3, us = 1, ns = 1e-3 }

-- Requests of each format; t formats a time of the file's clock.
local formats = {
  { name = "mooncake", usual = "ms",
    row = function(t)
      return ('{"timestamp": %s, "input_length": 100, "output_length": 4}'):format(t)
    end },
  { name = "bailian", usual = "s",
    row = function(t, i)
      return ('{"chat_id": %d, "parent_chat_id": -1, "timestamp": %s, "input_length": 100, '
        .. '"output_length": 4, "type": "text", "turn": 1, "hash_ids": []}'):format(i, t)
    end },
  { name = "routesim", usual = "ms",
    row = function(t) return ('{"ts": %s, "prompt_tokens": 100, "gen_tokens": 4}'):format(t) end },
  { name = "burstgpt", usual = "s",
    head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
    row = function(t) return t .. ",ChatGPT,100,4,104,API log" end },
  { name = "vidur", usual = "s", head = "arrived_at,num_prefill_tokens,num_decode_tokens",
    row = function(t) return t .. ",100,4" end },
  { name = "splitwise", usual = "s",
    head = "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,"
      .. "token_size",
    row = function(t, i) return ("%d,2,0,%s,1,100,4"):format(i, t) end },
  { name = "csv", head = "start,tokens_in,tokens_out", row = function(t) return t .. ",100,4" end },
  { name = "jsonl",
    row = function(t)
      return ('{"created": %s, "usage": {"prompt_tokens": 100, "completion_tokens": 4}}'):format(t)
    end },
}

local function text_of(format, unit, start_us, gap_us, count)
  local lines = { format.head }
  for i = 1, count do
    local t = (start_us + gap_us * (i - 1)) / units[unit]
    lines[#lines + 1] = format.row(("%.0f"):format(t), i)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function read(text, options)
  local list
  files.with(text, function(path)
    list = blis.trace.read(path, options)
    local stream = blis.trace.stream(path, options)
    assert.equal(#list, #stream:list())
    for i, request in ipairs(stream:list()) do
      assert.equal(list[i].arrival_us, request.arrival_us)
    end
  end)
  return list
end

local epoch_us = 1736500000000000

describe("the clock of a trace", function()
  for _, format in ipairs(formats) do
    it("of format " .. format.name .. " is found in any unit since 1970", function()
      for unit in pairs(units) do
        local list = read(text_of(format, unit, epoch_us, 2000000, 30))
        assert.matches(format.name, list:description(), 1, true)
        assert.equal(0, list[1].arrival_us)
        assert.equal(58000000, list[30].arrival_us)
        assert.matches(" since 1970; requests arrive from the first one on",
          table.concat(list:notes(), "\n"), 1, true)
      end
    end)

    it("of format " .. format.name .. " counts from the first request", function()
      local unit = format.usual or "s"
      local list = read(text_of(format, unit, 7000000, 3000000, 20))
      assert.equal(0, list[1].arrival_us)
      assert.equal(57000000, list[20].arrival_us)
    end)

    it("of format " .. format.name .. " can be stated", function()
      for unit in pairs(units) do
        local list = read(text_of(format, unit, 0, 2000000, 5), { time_unit = unit })
        assert.equal(8000000, list[5].arrival_us)
      end
    end)
  end

  it("of RouteSim in seconds is not taken as milliseconds", function()
    local lines = {}
    for i = 0, 1999 do
      local row = '{"ts": %.4f, "prompt_tokens": 100, "gen_tokens": 4}'
      lines[#lines + 1] = row:format(i * 0.0787)
    end
    local list = read(table.concat(lines, "\n"))
    assert.near(157e6, list:statistics().duration_us or list[2000].arrival_us, 1e6)
    assert.matches("read as seconds, since milliseconds would mean 1.27e+04 requests/s",
      table.concat(list:notes(), "\n"), 1, true)
  end)

  it("is equal for trace info, replay, and run, which is billed from its first request", function()
    files.with(text_of(formats[1], "ms", epoch_us, 500000, 2), function(path)
      local out = commands.output_of("replay", path, "--quiet", "--format", "json")
      local r = require("blis.core").json_read(out)
      assert.is_true(r.duration_us > 500000 and r.duration_us < 700000, r.duration_us)
      assert.is_true(r.cost.gpu_hours < 0.001)
      local info = require("blis.core").json_read(commands.output_of("trace", "info", path,
        "--format", "json"))
      assert.is_truthy(info)
      local run = blis.run { cluster = { instances = 1 }, workload = { trace = path } }
      assert.equal(r.hash, run.hash)
    end)
  end)

  it("is kept in traces that blis wrote", function()
    local list = blis.workload { rate = 10, requests = 30 }:cut { start_us = 1000000 }
    assert.is_true(list[1].arrival_us >= 1000000)
    for _, name in ipairs { "/t.csv", "/t.jsonl" } do
      require("spec.support.folders").with(function(folder)
        os.execute("mkdir " .. folder)
        list:write(folder .. name)
        local again = blis.trace.read(folder .. name)
        for i = 1, #list do assert.equal(list[i].arrival_us, again[i].arrival_us) end
        assert.equal(blis.run { workload = list }.hash, blis.run { workload = again }.hash)
      end)
    end
  end)

  it("is not billed before its first request, if that comes late", function()
    local list = blis.workload { rate = 10, requests = 30 }:warp { { 0, 7200000000 } }
    local cost = blis.run { cluster = { instances = 2 }, workload = list }.cost
    local soon = blis.run { cluster = { instances = 2 },
      workload = blis.workload { rate = 10, requests = 30 } }.cost
    assert.near(soon.gpu_hours, cost.gpu_hours, 0.001)
    local scaled = blis.run { cluster = { instances = 2 }, workload = list, autoscaler = "hpa",
      scaling = { max_replicas = 2, min_replicas = 2 } }.cost
    assert.near(soon.gpu_hours, scaled.gpu_hours, 0.001)
  end)

  it("that spans years is an error that names the rows", function()
    local text = "timestamp,prompt_tokens,output_tokens\n0,10,1\n5,10,1\n90000000,10,1\n"
      .. "90000005,10,1\n"
    files.with(text, function(path)
      local list = blis.trace.read(path, { time_unit = "s" })
      local ok, message = pcall(blis.run, { workload = list })
      assert.is_false(ok)
      message = message.message or message
      for _, part in ipairs { "span 1042 days", "at most 400",
        "between request_1 (row 2, at 5 s) and request_2 (row 3, at 9e+07 s)", "blis trace cut" } do
        assert.matches(part, message, 1, true)
      end
      assert.equal(2, blis.run { workload = list, horizon_us = "1h" }.completed)
    end)
  end)
end)

describe("any table of requests", function()
  local odd = "when;who;n_in;n_out;extra\n2026-05-10 00:00:00.25;a;100.0;4;x\n"
    .. "2026-05-10T00:00:01Z;b;50;5.0;y\n"

  it("is read with assigned columns", function()
    local columns = "timestamp=when,prompt=n_in,output=n_out,tenant=who"
    local list = read(odd, { columns = columns })
    assert.same({ 0, 750000 }, { list[1].arrival_us, list[2].arrival_us })
    assert.same({ 100, 5, "b" }, { list[1].prompt_tokens, list[2].output_tokens, list[2].tenant })
    assert.matches(
      "columns: timestamp=when, prompt=n_in, output=n_out, tenant=who; not used: extra",
      table.concat(list:notes(), "\n"), 1, true)
    local same = read(odd, { columns = { timestamp = "when", prompt = "n_in", output = "n_out",
      tenant = "who" } })
    assert.equal(list[2].tenant, same[2].tenant)
  end)

  it("is read by the names of its columns, with the mapping as a note", function()
    local list = read("Arrival Time (ms),Input Length,Output Length,Session ID,prefix_hash,"
      .. "prefix_len\n" .. "100,30,3,s,p,20\n600,40,4,s,p,20\n")
    assert.equal(500000, list[2].arrival_us)
    assert.same({ "s", 0, 1 }, { list[1].session, list[1].round_index, list[2].round_index })
    assert.equal(20, list[1].prefix_tokens)
    assert.matches("prompt=Input Length, output=Output Length, session=Session ID",
      table.concat(list:notes(), "\n"), 1, true)
  end)

  it("may have texts, whose tokens are estimated", function()
    local list = read('{"time": 0, "prompt": "abcdefgh", "response": "abc", "x": NaN}\n'
      .. '{"time": 1, "prompt": "", "response": "abcde", "x": Infinity}\n')
    assert.same({ 2, 1, 0, 2 }, { list[1].prompt_tokens, list[1].output_tokens,
      list[2].prompt_tokens, list[2].output_tokens })
    assert.matches("lengths estimated from texts, at 4 bytes per token: 4",
      table.concat(list:notes(), "\n"), 1, true)
  end)

  it("is refused with what is missing or wrong", function()
    local csv = "timestamp,prompt_tokens,output_tokens\n"
    for _, case in ipairs {
      { "a,b\n1,2\n", nil, "no column is known to be the timestamp among a, b; --columns "
        .. "timestamp=NAME" },
      { csv .. "1,2,3\n", { columns = "timestmp=timestamp" }, "did you mean 'timestamp'" },
      { csv .. "1,2,3\n", { columns = "timestamp=ts" }, "has no column 'ts'; its columns are "
        .. "timestamp, prompt_tokens, output_tokens" },
      { csv .. "1,2,3\n", { columns = "timestamp=timestamp,timestamp=timestamp" }, "given twice" },
      { csv .. "1,2,3\n", { columns = "timestamp=timestamp", format = "vllm" },
        "columns apply to the formats csv and jsonl" },
      { csv .. "1,2.5,3\n", nil, ":2: column 'prompt_tokens': '2.5' is not a whole number" },
      { csv .. "1,2,3\n1,-2,3\n", nil, ":3: column 'prompt_tokens': invalid value '-2'" },
      { csv .. "1,2,3\nx,2,3\n", nil, ":3: column 'timestamp': 'x'" },
      { csv .. "1,2,3\n1,2\n", nil, ":3: the row has 2 fields" },
      { '{"time": 1, "prompt_tokens": 2}\n', nil, "no member is known to be the output" },
      { '{"time": 1, "prompt_tokens": 2, "output_tokens": 1}\n{"time": 1, "prompt_tokens": 2}\n',
        nil, ":2: key" },
      { "", nil, "the file is empty" },
      { '[{"id": 1, "conversations": [{"from": "human", "value": "x"}]}]', nil,
        "'blis run --graphs FILE --concurrency N' plays them" },
    } do
      files.with(case[1], function(path)
        local ok, message = pcall(blis.trace.read, path, case[2])
        assert.is_false(ok, case[3])
        assert.matches(case[3], message.message or message, 1, true)
      end)
    end
  end)

  it("that is no trace is refused with the reason of each format", function()
    files.with("x,y\n1,2\n", function(path)
      local _, message = pcall(blis.trace.read, path)
      message = message.message or message
      for _, part in ipairs { "not recognized as a trace",
        "mooncake: the file does not start with '{'",
        "azure: TIMESTAMP, is missing", "burstgpt: Request tokens is missing",
        "vllm: the file does not start with '{'", "tracev2: arrival_time_us is missing" } do
        assert.matches(part, message, 1, true)
      end
    end)
  end)
end)
