local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

local folder = "tests/data/"

describe("blis replay", function()
  it("serves the requests of any trace", function()
    for _, name in ipairs { "tracev2/mt.csv", "tracev2/mt.yaml", "mooncake.jsonl",
      "azure_2023.csv" } do
      local got = core.json_read(commands.output_of("replay", folder .. name, "--format", "json",
        "--quiet", "--max-model-len", "0"))
      assert.is_true(got.completed > 0, name)
    end
  end)

  it("takes trace, format and limit from flags", function()
    local got = core.json_read(commands.output_of("replay", "--trace-data",
      folder .. "mooncake.jsonl", "--trace-format", "mooncake", "--limit", "3", "--format",
      "json", "--quiet"))
    assert.equal(3, got.completed + got.unservable)
  end)

  it("plays session graphs with recorded starts, and says how to play others", function()
    local rows = [[{"session_id":"a","timestamp":0,"input_length":600,"output_length":10}
{"session_id":"a","delay":2000,"input_length":1100,"output_length":10}
{"session_id":"b","timestamp":50,"input_length":300,"output_length":10}
]]
    files.with(rows, function(path)
      local call = commands.call("replay", path, "--format", "json")
      assert.equal(3, core.json_read(call.out).completed)
      assert.matches("played as session graphs (mooncake-delta): 3 requests in 2 sessions",
        table.concat(call.said, "\n"), 1, true)
    end)
    files.with('[{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}]',
      function(path)
        assert.matches("session graphs (sharegpt) without arrival times cannot be replayed; 'blis "
          .. "run --graphs " .. path .. " --rate X' or '--concurrency N' plays them",
          select(2, commands.error_of("replay", path)), 1, true)
      end)
    files.with('{"text_input":"What?","output_length":3}\n{"text_input":"Why?"}\n', function(path)
      assert.matches(":2: key 'output_length': is missing",
        select(2, commands.error_of("replay", path)), 1, true)
    end)
  end)

  it("ends as BLIS in Go does under that profile", function()
    local text = commands.output_of("replay", folder .. "tracev2/t1.csv", "--profile", "go-blis",
      "--quiet")
    assert.equal("=== Simulation Metrics ===\n{\n  \"instance_id\": \"cluster\",\n",
      text:match("^[^,]*,\n"))
  end)

  it("tells when it ends by itself", function()
    local function said(...)
      return commands.call("replay", folder .. "tracev2/t1.csv", "--profile", "go-blis", ...).said
    end
    assert.same({ "blis: the replay ends at 4.000 s, as in BLIS (Go): twice the time of the last "
      .. "arrival; set --horizon to change it" }, said())
    assert.same({}, said("--horizon", "9s"))
  end)

  it("ends by the last arrival that is known before, which follow-ups are not", function()
    local trace, last_us = folder .. "tracev2/mt.csv", 0
    for _, request in require("blis").trace.read(trace):requests() do
      if request.round_index == 0 then last_us = math.max(last_us, request.arrival_us) end
    end
    local said = commands.call("replay", trace, "--profile", "go-blis", "--session-mode",
      "closed-loop", "--model", "qwen/qwen3-14b").said
    assert.matches(("ends at %.3f s, "):format(2 * last_us / 1e6), said[1], 1, true)
  end)

  it("writes sessions and rounds", function()
    files.with(nil, function(path)
      commands.output_of("replay", folder .. "tracev2/mt.csv", "--metrics-path", path)
      local rounds = 0
      for _, request in ipairs(core.json_read(files.read(path)).requests) do
        assert.is_string(request.session_id)
        rounds = math.max(rounds, request.round_index)
      end
      assert.equal(2, rounds)
    end)
  end)

  it("lets rounds wait for answers, at the times of BLIS in Go", function()
    files.with(nil, function(path)
      commands.output_of("replay", folder .. "tracev2/mt.csv", "--profile", "go-blis", "--quiet",
        "--session-mode", "closed-loop", "--metrics-path", path, "--model", "qwen/qwen3-14b")
      local metrics = core.json_read(files.read(path))
      assert.equal(15, metrics.completed_requests)
      local expected = {
        { "request_0", 0.051115, 30, 10, 138.553 }, { "request_1", 0.831625, 30, 10, 138.553 },
        { "session_sess_3732988374295573383_round_1_1", 1.325964, 109, 10, 138.944 },
        { "request_4", 2.103353, 30, 10, 139.124 },
        { "session_sess_833118233388112889_round_1_2", 2.106344, 109, 10, 148.305 },
        { "session_sess_3732988374295573383_round_2_3", 2.601137, 148, 10, 139.138 },
        { "request_8", 3.251616, 30, 10, 138.553 },
        { "session_sess_3972514521863111287_round_1_4", 3.378643, 109, 10, 139.704 },
        { "session_sess_833118233388112889_round_2_5", 3.390878, 148, 10, 139.645 },
      }
      for i, one in ipairs(expected) do
        local got = metrics.requests[i]
        assert.same(one, { got.requestID, got.arrived_at, got.num_prefill_tokens,
          got.num_decode_tokens, got.e2e_ms })
      end
    end)
  end)

  it("loses no round to think times that are longer than time", function()
    for _, times in ipairs { "lognormal:mu=40,sigma=1", "constant:value=99999999999999999s" } do
      local got = core.json_read(commands.output_of("replay", folder .. "tracev2/mt.csv",
        "--quiet", "--session-mode", "closed-loop", "--think-time-dist", times, "--format",
        "json"))
      assert.equal(15, got.completed)
    end
  end)

  it("takes think times from flags", function()
    local function arrivals(...)
      local list, more = {}, { ... }
      files.with(nil, function(path)
        commands.output_of("replay", folder .. "tracev2/mt.csv", "--quiet", "--session-mode",
          "closed-loop", "--metrics-path", path, table.unpack(more))
        for i, request in ipairs(core.json_read(files.read(path)).requests) do
          list[i] = request.arrived_at
        end
      end)
      return list
    end
    assert.same(arrivals("--think-time-ms", "200"),
      arrivals("--think-time-dist", "constant:value=0.2s"))
    local drawn = arrivals("--think-time-dist", "lognormal:mu=-1,sigma=1,min=5us,max=2s")
    assert.equal(15, #drawn)
    assert.not_same(drawn, arrivals("--think-time-dist",
      "lognormal:mu=-1,sigma=1,min=5us,max=2s", "--seed", "7"))
    local outcome = commands.call("replay", folder .. "mooncake.jsonl", "--session-mode",
      "closed-loop", "--max-model-len", "0")
    assert.matches("the trace contains no sessions; all requests arrive at their recorded times",
      outcome.said[#outcome.said])
  end)

  it("gives the result of the run that a trace is of", function()
    files.with(nil, function(name)
      local flags = { "--num-instances", "3", "--routing-policy", "weighted", "--format", "json",
        "--quiet" }
      local function hash_of(...)
        local arguments = { ... }
        table.move(flags, 1, #flags, #arguments + 1, arguments)
        return core.json_read(commands.output_of(table.unpack(arguments))).hash
      end
      local run = hash_of("run", "--rate", "20", "--num-requests", "50", "--trace-output", name)
      assert.equal(run, hash_of("replay", name .. ".csv", "--trace-output", name .. "2"))
      assert.equal(run, hash_of("replay", name .. "2"))
      assert.matches("%-%-trace%-output and TRACE are both",
        select(2, commands.error_of("replay", name .. ".csv", "--trace-output", name)))
      for _, ending in ipairs { ".csv", ".yaml", "2.csv", "2.yaml" } do
        os.remove(name .. ending)
      end
    end)
  end)

  it("tells what is wrong", function()
    local hint = "; 'blis replay --help' lists the flags"
    for _, case in ipairs {
      { {}, "usage", "replay: TRACE is missing" .. hint },
      { { "a", "--trace-data", "b" }, "usage",
        "replay: 'a' cannot be combined with --trace-data" .. hint },
      { { "/nosuch.csv" }, "io", "/nosuch.csv" },
      { { folder .. "mooncake.jsonl", "--trace-format", "azur" }, "usage",
        "replay: --trace-format: invalid value 'azur': expected one of " },
      { { folder .. "mooncake.jsonl", "--session-mode", "open" }, "usage",
        "replay: --session-mode: invalid value 'open': expected one of fixed, closed-loop" },
      { { folder .. "tracev2/mt.csv", "--think-time-ms", "5" }, "usage",
        "replay: --think-time-ms requires --session-mode closed-loop" },
      { { folder .. "tracev2/mt.csv", "--session-mode", "closed-loop", "--think-time-dist",
        "constant:value=5ms,value=6ms" }, "usage",
        "replay: --think-time-dist: invalid value 'constant:value=5ms,value=6ms': value appears" },
    } do
      local code, message = commands.error_of("replay", table.unpack(case[1]))
      assert.equal(case[2], code)
      assert.equal(case[3], message:sub(1, #case[3]))
    end
  end)
end)
