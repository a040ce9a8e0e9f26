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
      { "cut: unknown option 'strat_us', did you mean 'start_us'?",
        function() list:cut { strat_us = 1 } end },
      { "cut.limit: -1 is not allowed, expected an integer of at least 0",
        function() list:cut { limit = -1 } end },
      { "end_us is 3; it must be after start_us, which is 7",
        function() list:cut { start_us = 7, end_us = 3 } end },
      { "factor: 0 is not allowed, expected a number above 0", function() list:scale(0) end },
      { "nan is not allowed", function() list:scale(0 / 0) end },
      { "warp: nil is not allowed, expected a list of points", function() list:warp() end },
      { "warp[2]: 5 is not allowed, expected two times, { from_us, to_us }",
        function() list:warp { { 0, 0 }, 5 } end },
      { "warp[1][2]: -1 is not allowed", function() list:warp { { 0, -1 } } end },
      { "point 2 of a time warp is 1 us to 0 us", function()
        list:warp { { 0, 5 }, { 1, 0 } }
      end },
      { "a time warp needs at least one point", function() list:warp {} end },
      { "max_turns: 0 is not allowed", function() list:cap(0) end },
      { "filter: 'x' is not allowed, expected a function(request)",
        function() list:filter "x" end },
      { "attempt to compare", function()
        list:filter(function(request) return request.prompt_tokens < nil end)
      end },
      { "merge[2]: 5 is not allowed", function() blis.trace.merge { list, 5 } end },
      { "there are no workloads to be merged", function() blis.trace.merge {} end },
      { "path: nil is not allowed", function() list:write() end },
      { "write.format: 'azure' is not allowed, expected one of tracev2, routesim",
        function() list:write("x", { format = "azure" }) end },
      { "known from \".txt\"", function() list:write "x.txt" end },
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
