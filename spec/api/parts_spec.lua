local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("blis.rng", function()
  it("gives the same numbers for the same seed and name", function()
    local a, b = blis.rng(42, "router"), blis.rng(42, "router")
    for _ = 1, 100 do assert.equal(a:integer(1000), b:integer(1000)) end
    assert.not_equal(blis.rng(42, "router"):number(), blis.rng(42, "other"):number())
    assert.not_equal(blis.rng(42):number(), blis.rng(43):number())
  end)

  it("draws in range", function()
    local rng = blis.rng(1)
    for _ = 1, 500 do
      local x = rng:integer(3)
      assert.is_true(x >= 1 and x <= 3 and math.type(x) == "integer")
      local y = rng:integer(-5, 5)
      assert.is_true(y >= -5 and y <= 5)
      local z = rng:number()
      assert.is_true(z >= 0 and z < 1)
      assert.is_true(rng:exponential(2) >= 0)
      assert.equal("float", math.type(rng:normal()))
    end
  end)

  it("shuffles in place", function()
    local list = blis.rng(5):shuffle { 1, 2, 3, 4, 5, 6, 7, 8 }
    assert.equal(8, #list)
    table.sort(list)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, list)
  end)

  it("prints its seed and refuses nonsense", function()
    assert.equal("random stream (seed 42, router)", tostring(blis.rng(42, "router")))
    assert.equal("random stream (seed 42)", tostring(blis.rng(42)))
    local rng = blis.rng(1)
    says(small.message_of(rng.integer, rng, 0), "range is empty")
    says(small.message_of(rng.integer, rng, math.maxinteger), "2147483647")
    says(small.message_of(rng.shuffle, rng, 5), "table expected")
    says(small.message_of(blis.rng, "x"), "number expected")
  end)
end)

describe("blis.event_queue", function()
  it("pops by time, class, order of pushing", function()
    local queue = blis.event_queue()
    queue:push(5, "late")
    queue:push(3, { "table" })
    queue:push(5, "late too")
    queue:push(5, "class", -1)
    queue:push(4, false)
    assert.equal(5, #queue)
    assert.equal(3, queue:next_us())
    local order = {}
    while #queue > 0 do
      local time_us, value, class = queue:pop()
      local text = type(value) == "table" and value[1] or tostring(value)
      order[#order + 1] = time_us .. ":" .. text .. ":" .. class
    end
    assert.same({ "3:table:0", "4:false:0", "5:class:-1", "5:late:0", "5:late too:0" }, order)
    assert.is_nil(queue:pop())
    assert.is_nil(queue:next_us())
  end)

  it("cancels and reschedules", function()
    local queue = blis.event_queue()
    local a = queue:push(1, "a")
    local b = queue:push(2, "b")
    assert.is_true(queue:reschedule(a, 9))
    assert.is_true(queue:cancel(b))
    assert.is_false(queue:cancel(b))
    local time_us, value = queue:pop()
    assert.equal(9, time_us)
    assert.equal("a", value)
    assert.is_false(queue:cancel(a))
    assert.is_false(queue:reschedule(a, 1))
  end)

  it("lets go of the values that have left", function()
    local queue = blis.event_queue()
    local watched = setmetatable({}, { __mode = "k" })
    for i = 1, 10 do
      local value = {}
      watched[value] = true
      local handle = queue:push(i, value)
      if i % 2 == 0 then queue:cancel(handle) end
    end
    while queue:pop() do end
    collectgarbage()
    assert.is_nil(next(watched))
  end)

  it("is closed once and for all", function()
    local queue = blis.event_queue()
    queue:push(1, "x")
    assert.equal("event queue (1 events)", tostring(queue))
    queue:close()
    queue:close()
    assert.equal("event queue (closed)", tostring(queue))
    says(small.message_of(queue.pop, queue), "closed")
  end)
end)

describe("blis.kv_cache", function()
  it("shares blocks of equal content", function()
    local cache = blis.kv_cache { blocks = 20, block_size = 16 }
    local first = cache:allocate { { "system", 64 }, { "chat 1", 16 }, 10 }
    assert.equal(6, first.blocks)
    assert.equal(0, first.cached_tokens)
    assert.equal(14, cache.free_blocks)
    assert.equal(64, cache:match { { "system", 64 }, { "chat 2", 16 } })
    assert.equal(80, cache:match { { "system", 64 }, { "chat 1", 99 } })
    assert.equal(0, cache:match { { "chat 1", 64 } })
    local second = cache:allocate { { "system", 64 }, 16 }
    assert.equal(64, second.cached_tokens)
    assert.equal(13, cache.free_blocks)
    cache:release(first)
    assert.equal(15, cache.free_blocks)
    assert.equal(80, cache:match { { "system", 64 }, { "chat 1", 16 } })
    cache:release(second)
    assert.equal(20, cache.free_blocks)
    assert.equal(0, cache.used_blocks)
    assert.equal(4, cache.hits)
    assert.equal("KV cache (20 of 20 blocks of 16 tokens free)", tostring(cache))
  end)

  it("drops what was not used for the longest time, and the end of a prompt before its beginning",
    function()
      local cache = blis.kv_cache { blocks = 8, block_size = 16 }
      local old, new = { { "old", 64 } }, { { "new", 64 } }
      local holders = { cache:allocate(old), cache:allocate(new) }
      for _, holder in ipairs(holders) do cache:release(holder) end -- old first
      for blocks = 1, 8 do
        local other = cache:allocate(16 * blocks)
        assert.equal(math.max(0, 4 - blocks) * 16, cache:match(old))
        assert.equal(math.min(4, 8 - blocks) * 16, cache:match(new))
        cache:release(other)
        cache:close()
        cache = blis.kv_cache { blocks = 8, block_size = 16 }
        holders = { cache:allocate(old), cache:allocate(new) }
        for _, holder in ipairs(holders) do cache:release(holder) end
      end
    end)

  it("says when there is no room", function()
    local cache = blis.kv_cache { blocks = 4 }
    assert.is_nil(cache:allocate(100))
    assert.equal(4, cache.free_blocks)
    local holder = cache:allocate(63)
    assert.is_true(cache:append(holder))
    assert.is_false(cache:append(holder))
    assert.equal(64, holder.tokens)
    assert.equal(4, holder.blocks)
  end)

  it("refuses nonsense", function()
    local cache = blis.kv_cache { blocks = 4 }
    local holder = cache:allocate(16)
    cache:release(holder)
    local cases = {
      { "already been released", function() cache:release(holder) end },
      { "another cache", function() cache:release(blis.kv_cache { blocks = 4 }:allocate(16)) end },
      { "come last", function() cache:match { 16, { "x", 16 } } end },
      { "number of tokens", function() cache:match { { "x", -1 } } end },
      { "number of tokens", function() cache:allocate(1.5) end },
      { "no field 'free'", function() return cache.free end },
      { "no field 'size'", function() return holder.size end },
      { "kv_cache.blocks: invalid value 0", function() blis.kv_cache { blocks = 0 } end },
      { "kv_cache.blocks is missing", function() blis.kv_cache {} end },
      { "did you mean 'blocks'?", function() blis.kv_cache { block = 5 } end },
    }
    for _, case in ipairs(cases) do
      local message = small.message_of(case[2])
      says(message, case[1])
    end
  end)
end)

describe("blis.workload", function()
  it("is a list of requests", function()
    local list = blis.workload { rate = 10, requests = 30, prefixes = { groups = 2, tokens = 64 } }
    assert.equal(30, #list)
    local last_us, count = 0, 0
    for i, request in list:requests() do
      assert.equal(i, count + 1)
      assert.equal("request_" .. count, request.id)
      assert.is_true(request.arrival_us >= last_us)
      assert.is_true(request.prompt_tokens > 64)
      assert.is_truthy(request.prefix_group:find("^prefix_"))
      last_us, count = request.arrival_us, count + 1
    end
    assert.equal(30, count)
    assert.equal("request_4", list[5].id)
    assert.is_nil(list[31])
  end)

  it("has statistics and can be printed", function()
    local list = blis.workload { rate = 10, requests = 30, prompt_tokens = 100, output_tokens = 7 }
    local s = list:statistics()
    assert.equal(30, s.requests)
    assert.equal(100, s.prompt_tokens.p50)
    assert.equal(210, s.output_tokens.sum)
    says(tostring(list), "30 requests")
  end)

  it("is the same as when it is given in place", function()
    local options = { rate = 40, requests = 60, prompt_tokens = 200, output_tokens = 20,
      prefixes = { groups = 2, tokens = 64 } }
    local list = blis.workload(options)
    assert.equal(blis.run { workload = options }.hash, blis.run { workload = list }.hash)
    assert.equal(blis.run { workload = list }.hash, blis.run { workload = list, seed = 7 }.hash)
  end)

  it("can be cut", function()
    local list = blis.workload { requests = 20 }
    local part = list:slice(6, 5)
    assert.equal(5, #part)
    assert.equal(list[6].id, part[1].id)
    assert.equal(5, blis.run { workload = part }.completed)
  end)
end)

describe("blis.trace", function()
  local function with_file(text, body)
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    local ok, problem = pcall(body, path)
    os.remove(path)
    if not ok then error(problem, 0) end
  end

  local row = '{"timestamp": %d, "input_length": 1000, "output_length": 20, "hash_ids": [1, %d]}\n'

  it("reads, prints and runs a trace", function()
    local text = row:format(0, 2) .. row:format(100, 3) .. row:format(250, 2)
    with_file(text, function(path)
      local trace = blis.trace.read(path)
      assert.equal(3, #trace)
      assert.equal(250000, trace[3].arrival_us)
      assert.equal(2, #blis.trace.read(path, { limit = 2 }))
      local result = blis.run { cluster = { block_size = 512 }, workload = trace }
      assert.equal(3, result.completed)
      assert.is_true(result.cache_hit_rate > 0)
      says(tostring(trace), "3 requests")
    end)
  end)

  it("tells file and line of what is wrong, and the line of the script", function()
    with_file(row:format(0, 2) .. '{"timestamp": 5, "input_length": -4}\n', function(path)
      local problem = small.error_of(function() return #blis.trace.read(path) end)
      says(problem.message, "parts_spec.lua:")
      says(problem.message, path .. ":2")
    end)
    local missing = small.message_of(blis.trace.read, "/nowhere/at all")
    says(missing, "/nowhere/at all")
    says(small.message_of(blis.trace.read, 5), "the path of a file")
    says(small.message_of(blis.trace.read, "x", { limt = 5 }), "did you mean 'limit'?")
    says(small.message_of(blis.trace.read, "x", { format = "mooncak" }), "mooncake")
  end)
end)
