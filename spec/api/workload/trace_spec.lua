local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says = small.says

--- Requests as "number@arrival", in order.
local function shape(list)
  local parts = {}
  for i, request in list:requests() do
    parts[i] = ("%s@%d"):format(request.id:match "%d+$", request.arrival_us)
  end
  return table.concat(parts, " ")
end

--- Ten requests, one every second, of two sessions in turn.
local function ten()
  local lines = {}
  for i = 0, 9 do
    lines[i + 1] = ('{"ts": %d, "prompt_tokens": %d, "gen_tokens": 5, "conversation_id": "s%d", '
      .. '"turn": %d, "prefix_hash": "p", "prefix_len": 16, "deadline_us": %d}\n'):format(
      i * 1000, 100 + i, i % 2, i // 2, i * 1000000 + 500000)
  end
  local list
  files.with(table.concat(lines), function(path) list = blis.trace.read(path) end)
  return list
end

describe("the tools for workloads", function()
  it("cut a window and a number of requests", function()
    local list = ten()
    assert.equal("2@2000000 3@3000000",
      shape(list:cut { start_us = blis.seconds(2), end_us = blis.seconds(4) }))
    local part = list:cut { skip = 4, limit = 2, from_zero = true }
    assert.equal("4@0 5@1000000", shape(part))
    assert.equal(500000, part[1].deadline_us)
    assert.equal(shape(list), shape(list:cut()))
  end)

  it("change the pace", function()
    local list = ten():cut { limit = 3 }
    assert.equal("0@0 1@500000 2@1000000", shape(list:scale(2)))
    assert.equal("0@7 1@9 2@1000009",
      shape(list:warp { { 0, 7 }, { 1000000, 9 } }))
    assert.equal(shape(list), shape(list:warp { { 5, 5 } }))
  end)

  it("keep the first turns of sessions", function()
    assert.equal("0@0 1@1000000 2@2000000 3@3000000", shape(ten():cap(2)))
  end)

  it("keep what a function wants", function()
    local list = ten():filter(function(request)
      return request.session == "s1" and request.prompt_tokens > 104
    end)
    assert.equal("5@5000000 7@7000000 9@9000000", shape(list))
    assert.equal(0, #list:filter(function() return false end))
  end)

  it("merge", function()
    local list = ten()
    local apart = blis.trace.merge { list:cut { limit = 1 }, list:cut { skip = 1, limit = 2 } }
    assert.equal("0@0 1@1000000 2@2000000", shape(apart))
    assert.equal("s0", apart[1].session)
    assert.equal("s0#2", apart[3].session)
    local halves = { list:cut { end_us = 5000000 }, list:cut { start_us = 5000000 } }
    local whole = blis.trace.merge(halves, { same_content = true })
    assert.equal(blis.run { workload = list }.hash, blis.run { workload = whole }.hash)
  end)

  it("leave the workload that they are given as it is", function()
    local list = ten()
    local before = shape(list)
    list:cut { limit = 1 }
    list:scale(3)
    list:cap(1)
    assert.equal(before, shape(list))
  end)

  it("go on from generated requests, and into runs", function()
    local list = blis.workload { rate = 20, requests = 40, prompt_tokens = 100, output_tokens = 5 }
    assert.equal(20, blis.run { workload = list:scale(4):cut { limit = 20 } }.completed)
  end)

  it("tell what is wrong", function()
    local list = ten()
    for _, case in ipairs {
      { "cut: unknown option 'strat_us'; did you mean 'start_us'?",
        function() list:cut { strat_us = 1 } end },
      { "cut.limit: invalid value -1: expected an integer of at least 0",
        function() list:cut { limit = -1 } end },
      { "end_us is 3; it must be after start_us, which is 7",
        function() list:cut { start_us = 7, end_us = 3 } end },
      { "factor: invalid value 0: expected a number above 0", function() list:scale(0) end },
      { "invalid value nan", function() list:scale(0 / 0) end },
      { "warp: invalid value nil: expected a list of points", function() list:warp() end },
      { "warp[2]: invalid value 5: expected two times, { from_us, to_us }",
        function() list:warp { { 0, 0 }, 5 } end },
      { "warp[1][2]: invalid value -1", function() list:warp { { 0, -1 } } end },
      { "point 2 of a time warp is 1 us to 0 us", function()
        list:warp { { 0, 5 }, { 1, 0 } }
      end },
      { "a time warp needs at least one point", function() list:warp {} end },
      { "max_turns: invalid value 0", function() list:cap(0) end },
      { "filter: invalid value 'x': expected a function(request)",
        function() list:filter "x" end },
      { "attempt to compare", function()
        list:filter(function(request) return request.prompt_tokens < nil end)
      end },
      { "merge[2]: invalid value 5", function() blis.trace.merge { list, 5 } end },
      { "no workloads to merge", function() blis.trace.merge {} end },
      { "path: invalid value nil", function() list:write() end },
      { "write.format: invalid value 'azure': expected one of tracev2, routesim",
        function() list:write("x", { format = "azure" }) end },
      { "cannot tell the trace format from the name '.txt'", function() list:write "x.txt" end },
      { "a workload has no field 'cutt'", function() list:cutt() end },
    } do
      local message = small.message_of(case[2])
      says(message, case[1])
      says(message, "trace_spec.lua:")
    end
  end)
end)

describe("blis.Workload:write", function()
  local function round_trip(list, ending, options)
    files.with(nil, function(stem)
      list:write(stem .. ending, options)
      local read = blis.trace.read(stem .. ending)
      os.remove(stem .. ending)
      if ending == ".csv" then os.remove(stem .. ".yaml") end
      assert.equal(#list, #read)
      for i, request in list:requests() do assert.same(request, read[i]) end
      assert.equal(blis.run { workload = list }.hash, blis.run { workload = read }.hash)
    end)
  end

  it("is read back the same, by every format", function()
    local made = blis.workload { rate = 50, requests = 60, prompt_tokens = 300,
      output_tokens = 9, prefixes = { groups = 3, tokens = 64 } }
    for _, list in ipairs { ten(), made, made:cut { skip = 7, limit = 20 } } do
      round_trip(list, ".csv")
      round_trip(list, ".jsonl")
    end
  end)

  it("keeps hash ids", function()
    local list = blis.trace.read "tests/data/mooncake.jsonl"
    round_trip(list, ".csv")
    round_trip(list, ".jsonl")
  end)

  it("gives new numbers when it is told to", function()
    files.with(nil, function(stem)
      local part = ten():cut { skip = 4 }
      part:write(stem, { format = "routesim", renumber = true })
      assert.equal("request_0", blis.trace.read(stem)[1].id)
    end)
  end)

  it("leaves nothing behind when it fails", function()
    local problem = small.message_of(function() ten():write "/nowhere/x.jsonl" end)
    says(problem, "/nowhere/x.jsonl: cannot be written")
  end)
end)

describe("the trace of a run", function()
  local lengths = { "gaussian", mean = 60, std_dev = 20, min = 2, max = 200 }

  local function turns(closed_loop, context_growth, think_time_us)
    return {
      seed = 3, aggregate_rate = 5, num_requests = 80,
      clients = {
        {
          id = "chat", tenant_id = "t", rate_fraction = 1, arrival = { process = "poisson" },
          input_distribution = lengths, output_distribution = lengths, prefix_group = "sys",
          prefix_length = 70, closed_loop = closed_loop,
          reasoning = {
            multi_turn = {
              max_rounds = 4, think_time_us = think_time_us, context_growth = context_growth,
            },
          },
        },
      },
    }
  end

  local function spec_of(workload)
    return {
      cluster = { instances = 3, kv_blocks = 600 }, workload = workload, routing = "weighted",
      keep_requests = true,
    }
  end

  it("stay the same from the first replay on where policies hash prompts", function()
    local function hash_of(workload, routing, stem)
      local result = blis.run {
        cluster = { instances = 3, kv_blocks = 600 }, workload = workload, routing = routing,
        keep_requests = true,
      }
      result:write_trace(stem)
      return result.hash
    end
    for _, routing in ipairs { "consistent-hash", "cognitora.score", "smg.prefix_hash",
      "vllm-router.rendezvous_hash" } do
      files.with(nil, function(stem)
        hash_of({ rate = 30, requests = 40, prompt_tokens = 100, output_tokens = 20,
          prefixes = { groups = 4, tokens = 64 } }, routing, stem)
        local replayed = hash_of(blis.trace.read(stem), routing, stem)
        assert.equal(replayed, hash_of(blis.trace.read(stem), routing, stem), routing)
        os.remove(stem .. ".csv")
        os.remove(stem .. ".yaml")
      end)
    end
  end)

  --- Runs a workload, then its trace from a file.
  local function check_equal(workload)
    files.with(nil, function(stem)
      local first = blis.run(spec_of(workload))
      first:write_trace(stem)
      local read = blis.trace.read(stem)
      local second = blis.run(spec_of(read))
      assert.equal(first.hash, second.hash)
      assert.equal(first.hash, blis.run(spec_of(first:trace())).hash)
      assert.matches("\nmode: generated\n", files.read(stem .. ".yaml"))
      local data = files.read(stem .. ".csv")
      second:write_trace(stem)
      assert.equal(data, files.read(stem .. ".csv"))
      assert.matches("\nmode: replayed\n", files.read(stem .. ".yaml"))
      os.remove(stem .. ".csv")
      os.remove(stem .. ".yaml")
    end)
  end

  it("gives the same result once more", function()
    check_equal { rate = 30, requests = 100, prompt = lengths, output = lengths,
      timeout_us = 900000,
      prefixes = { groups = 4, tokens = 100, zipf = 1 } }
    for _, growth in ipairs { "", "accumulate" } do
      for _, think_time_us in ipairs { 0, 400000 } do
        check_equal(turns(true, growth, think_time_us))
        check_equal(turns(false, growth, think_time_us))
      end
    end
    check_equal { seed = 3, num_requests = 80, clients = { { id = "u", concurrency = 7,
      think_time_us = 0, input_distribution = lengths, output_distribution = lengths } } }
  end)

  it("tells how every request ended", function()
    files.with(nil, function(path)
      local result = blis.run(spec_of { rate = 100, requests = 60, prompt = lengths,
        output = lengths, timeout_us = 600000 })
      assert.is_true(result.completed > 0 and result.timed_out > 0)
      result:write_trace(path .. ".csv")
      local ok, late = 0, 0
      for line in io.lines(path .. ".csv") do
        ok = ok + (line:find(",ok,", 1, true) and 1 or 0)
        late = late + (line:find(",timeout,", 1, true) and 1 or 0)
      end
      assert.equal(result.completed, ok)
      assert.equal(result.timed_out, late)
      os.remove(path .. ".csv")
      os.remove(path .. ".yaml")
    end)
  end)

  it("has targets in its header", function()
    files.with(nil, function(path)
      local spec = spec_of { rate = 5, requests = 3, seed = 9 }
      spec.slo_targets = { batch = { e2e_ms = 5000 } }
      blis.run(spec):write_trace(path, { format = "tracev2" })
      assert.equal("trace_version: 3\ntime_unit: microseconds\nmode: generated\n"
        .. "warm_up_requests: 0\nworkload_seed: 9\ngoodput_slo_targets:\n    batch:\n"
        .. "        e2e_ms: 5000\n", files.read(path .. ".yaml"))
      local list = blis.trace.read(path .. ".csv")
      local target = { slo_class = "batch", ttft_ms = 0, itl_ms = 0, e2e_ms = 5000 }
      assert.same({ target }, list:goodput_targets())
      assert.same({ target }, list:cut { limit = 2 }:goodput_targets())
      assert.same({ target }, blis.trace.stream(path .. ".csv"):goodput_targets())
      assert.same({ slo_class = "batch", e2e_ms = 5000 },
        blis.run { workload = list }.goodput.classes.batch.targets)
      assert.equal(1, blis.run { workload = list,
        slo_targets = { batch = { e2e_ms = 1 } } }.goodput.classes.batch.targets.e2e_ms)
      list:write(path .. ".csv")
      assert.same({ target }, blis.trace.read(path .. ".csv"):goodput_targets())
      os.remove(path .. ".csv")
      os.remove(path .. ".yaml")
    end)
  end)

  it("is there when it was asked for", function()
    local result = blis.run { workload = { requests = 2 } }
    says(small.message_of(result.trace, result), "keep_requests = true")
    says(small.message_of(result.write_trace, result, "x"), "keep_requests = true")
    says(small.message_of(result.write_trace, result), "write_trace: invalid value nil")
    says(small.message_of(blis.run, { keep_requests = true, keep_records = false }),
      "keep_requests needs records")
  end)
end)
