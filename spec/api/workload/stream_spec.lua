local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local small = require "spec.support.small"

--- The message of what fn raises must hold a text.
local function says(text, fn)
  small.says(small.message_of(fn), text)
end

local paths = { "tests/data/azure_2023.csv", "tests/data/mooncake.jsonl", "tests/data/tracev2/o" }

local function same(list, stream)
  assert.equal(#list, #stream)
  assert.equal(list:description(), stream:description())
  assert.same(list:notes(), stream:notes())
  local count = 0
  for i, request in stream:requests() do
    assert.same(list[i], request)
    count = i
  end
  assert.equal(#list, count)
end

describe("a trace that stays in its file", function()
  it("has the requests of the list", function()
    for _, path in ipairs(paths) do
      local list, stream = blis.trace.read(path), blis.trace.stream(path)
      same(list, stream)
      same(list, stream:list())
      assert.same(list:statistics(), stream:statistics())
      assert.equal(tostring(list), tostring(stream))
      assert.equal(list:last_arrival_us(), stream:last_arrival_us())
    end
  end)

  it("is cut, scaled, warped, filtered, capped and merged like it", function()
    local function made(one)
      return one:cut { skip = 3, from_zero = true }:scale(1.5)
        :filter(function(request) return request.prompt_tokens > 100 end)
        :warp { { 0, 10 }, { 5000000, 900000 } }
    end
    for _, path in ipairs(paths) do
      local list, stream = made(blis.trace.read(path)), made(blis.trace.stream(path))
      same(list, stream)
      same(list:cap(1), stream:cap(1))
      same(blis.trace.merge { list, list }, blis.trace.merge { stream, list })
      assert.equal(list:last_arrival_us(), stream:last_arrival_us())
    end
  end)

  it("is written like it", function()
    files.with(nil, function(path)
      local texts = {}
      for i, one in ipairs { blis.trace.read(paths[2]), blis.trace.stream(paths[2]) } do
        one:write(path, { format = "routesim" })
        texts[i] = files.read(path)
      end
      assert.equal(texts[1], texts[2])
    end)
  end)

  it("is replayed with the same result", function()
    for _, path in ipairs(paths) do
      local hashes = {}
      for _, mode in ipairs { "never", "always", "auto" } do
        local result = blis.run { cluster = { instances = 2, kv_blocks = 20000 },
          workload = { trace = path, stream = mode } }
        hashes[#hashes + 1] = result.hash
      end
      local result = blis.run { cluster = { instances = 2, kv_blocks = 20000 },
        workload = blis.trace.stream(path), keep_records = false }
      assert.equal(hashes[1], hashes[2])
      assert.equal(hashes[1], hashes[3])
      assert.equal(hashes[1], result.hash)
    end
  end)

  it("can be cloned in the middle of a run, and kept as a trace", function()
    local stream = blis.trace.stream(paths[2])
    local sim <close> = blis.simulation { cluster = { instances = 2 }, workload = stream,
      keep_requests = true }
    sim:run_until(4000000)
    local clone <close> = sim:clone()
    local first, second = sim:run(), clone:run()
    assert.equal(first.hash, second.hash)
    local kept = first:trace()
    for i, request in stream:requests() do assert.same(request, kept[i]) end
  end)

  it("takes part in comparisons", function()
    local results = blis.compare { cluster = { instances = 2 },
      workload = { trace = paths[2], stream = "always" },
      routing = { "round-robin", "least-loaded" } }
    assert.equal(2, #results)
    assert.equal(results[1].completed, results[2].completed)
  end)

  it("can be left in the middle and read by two at a time", function()
    local stream = blis.trace.stream(paths[1])
    for i, one in stream:requests() do
      for k, other in stream:requests() do
        if k == i then
          assert.same(one, other)
          break
        end
      end
      if i == 5 then break end
    end
  end)

  it("waits for answers when it is a list", function()
    local function hash(trace)
      return blis.run { cluster = { instances = 1 },
        workload = { trace = trace, session_mode = "closed-loop" } }.hash
    end
    local path = "tests/data/tracev2/mt"
    assert.equal(hash(path), hash(blis.trace.stream(path)))
  end)

  it("says what is wrong", function()
    local stream = blis.trace.stream(paths[1])
    says("a stream has no field '1'; use stream:list()", function() return stream[1] end)
    says("cut.skip: invalid value -1", function() stream:cut { skip = -1 } end)
    says("factor: invalid value 0", function() stream:scale(0) end)
    says("filter: invalid value 7", function() stream:filter(7) end)
    says("no", function() stream:filter(function() error "no" end) end)
    says("vllm.json: a single JSON text cannot be streamed", function()
      blis.trace.stream "tests/data/traces/vllm.json"
    end)
    says("blis.trace.stream: invalid value 5", function() blis.trace.stream(5) end)
    says("x.jsonl: no requests to write; an empty trace could not be read",
      function() stream:cut { start_us = 1 << 50 }:write "x.jsonl" end)
    says("workload.stream: invalid value 'sometimes': expected one of auto, always, never",
      function() blis.run { workload = { trace = paths[1], stream = "sometimes" } } end)
    says("stream = 'always' cannot be combined with session_mode = 'closed-loop'", function()
      blis.run { workload = { trace = paths[1], stream = "always", session_mode = "closed-loop" } }
    end)
  end)

  it("notices that its file has changed", function()
    local head = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,9,9\n1,9,9\n"
    files.with(head .. "2,9,9\n", function(path)
      local stream = blis.trace.stream(path)
      local file <close> = assert(io.open(path, "w"))
      file:write(head)
      file:flush()
      says("the file has changed since it was first read", function() stream:list() end)
      says("the file has changed since it was first read", function()
        blis.run { workload = stream }
      end)
      os.remove(path)
      says("No such file", function() stream:list() end)
    end)
  end)

  it("is opened as what is best for its size", function()
    local trace = require "blis.traffic.trace"
    assert.is_true(core.is_workload(trace.open(paths[1], nil, "auto")))
    assert.is_true(core.is_trace_stream(trace.open(paths[1], nil, "always")))
  end)
end)
