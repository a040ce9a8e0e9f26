local blis = require "spec.support.old_defaults"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

local block_size = 16

--- Requests of RouteSim's trace format: { ms, prompt, output, prefix group or nil, prefix tokens }.
local function trace_of(rows)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  for _, row in ipairs(rows) do
    local prefix = row[4] and (',"prefix_hash":%d,"prefix_len":%d'):format(row[4], row[5]) or ""
    file:write(('{"ts":%d,"prompt_tokens":%d,"gen_tokens":%d%s}\n'):format(row[1], row[2], row[3],
      prefix))
  end
  file:close()
  local requests = blis.trace.read(path)
  os.remove(path)
  return requests
end

--- One instance with these options, and what it makes of these requests.
local function serve(rows, options)
  local cluster = { instances = 1, engine_preset = "routesim" }
  for key, value in pairs(options or {}) do cluster[key] = value end
  return blis.run { cluster = cluster, workload = trace_of(rows), routing = "round-robin" }
end

local function reasons_of(result)
  local reasons = {}
  for i, request in ipairs(result.requests) do reasons[i] = request.reason or request.state end
  return reasons
end

describe("the engine preset routesim", function()
  it("keeps prefixes, and gives them up last", function()
    -- The example of RouteSim's two passes: 8 blocks of 16 tokens.
    local result = serve({
      { 0, 40, 8, 1, 32 },      -- 3 blocks; 2 of them stay
      { 1000, 40, 40, 1, 32 },  -- 5, of which these 2
      { 1000, 60, 20 },         -- 5, and 3 are free: nobody gives up what is in use
      { 9000, 100, 20 },        -- 8: the prefix goes
      { 19000, 40, 8, 1, 32 },
      { 29000, 40, 8, 1, 32 },
    }, { kv_blocks = 8 })
    assert.same({ "completed", "completed", "kv-full", "completed", "completed", "completed" },
      reasons_of(result))
    local hits = {}
    for i, request in ipairs(result.requests) do hits[i] = request.had_hit end
    assert.same({ false, true, false, false, false, true }, hits)
    assert.equal(0, result.preemptions)
  end)

  it("has the shared prefix after many prompts of others, where an LRU list has lost it", function()
    local rows = { { 0, 80, 8, 1, 64 } }
    for i = 1, 38 do rows[i + 1] = { 1000 * i, 80, 8 } end
    rows[40] = { 60000, 80, 8, 1, 64 }
    local function last_hit(options)
      local result = serve(rows, options)
      return result.requests[40].had_hit
    end
    assert.is_true(last_hit { kv_blocks = 200 })
    assert.is_false(last_hit { kv_blocks = 200, kv_eviction = "lru" })
  end)

  it("evicts as a list of blocks by hand does", function()
    for seed = 1, 40 do
      local rng, rows = blis.rng(seed, "rows"), {}
      local blocks = rng:integer(6, 30)
      for i = 1, 60 do
        local group = rng:number() < 0.7 and rng:integer(1, 5) or nil
        local prefix = group and group * block_size or 0 -- a group's prefix is as long as it is
        rows[i] = { i * 100000, prefix + rng:integer(17, 120), rng:integer(1, 60), group, prefix }
      end
      local result = serve(rows, { kv_blocks = blocks, max_model_len = 0 })
      local kept = {} -- prefix blocks that nobody holds, those to go first in front
      for i, row in ipairs(rows) do
        local need, group = (row[2] + row[3] + block_size - 1) // block_size, row[4]
        local request, found = result.requests[i], {}
        local function place_of(k)
          for place, block in ipairs(kept) do
            if block.group == group and block.k == k then return place end
          end
        end
        local most = group and math.min(group, (row[2] - 1) // block_size) or 0
        while #found < most and place_of(#found + 1) do found[#found + 1] = true end
        local held = #found
        if need - held > blocks - held then
          assert.is_true(request.reason == "kv-full" or request.state == "unservable")
        else
          for k = 1, held do table.remove(kept, place_of(k)) end
          while need - held > blocks - held - #kept do table.remove(kept, 1) end
          assert.equal("completed", request.state, seed .. ": " .. i)
          assert.equal(held > 0, request.had_hit, seed .. ": " .. i)
          for k = most, 1, -1 do kept[#kept + 1] = { group = group, k = k } end
        end
      end
    end
  end)

  it("turns away whom it has no room for in the queue", function()
    -- All come before the first of them begins: two wait, the others are refused.
    local rows = {}
    for i = 1, 5 do rows[i] = { 0, 100, 10 } end
    assert.same({ "completed", "completed", "queue-full", "queue-full", "queue-full" },
      reasons_of(serve(rows, { max_queue_depth = 2, latency_model = "roofline" })))
    local result = serve(rows, { max_queue_depth = 2, kv_blocks = 1000 })
    assert.equal(result.rejected, 5 - result.completed)
  end)

  it("reserves tokens for prompt and output; what is too long runs alone", function()
    local rows = { { 0, 400, 100 }, { 1, 400, 100 }, { 2, 400, 101 }, { 3, 3000, 100 } }
    local starts, slack_us = {}, 30000 -- what a client has last is on its way for a while
    local result = serve(rows, { max_reserved_tokens = 1000, kv_blocks = 1000 })
    for i, request in ipairs(result.requests) do
      starts[i] = request.arrival_us + request.scheduling_delay_us
    end
    local ends = {}
    for i, request in ipairs(result.requests) do ends[i] = request.end_us end
    assert.is_true(starts[2] < ends[1])
    assert.is_true(starts[3] >= math.min(ends[1], ends[2]) - slack_us)
    assert.is_true(starts[4] >= math.max(ends[1], ends[2], ends[3]) - slack_us)
    assert.equal(4, result.completed)
  end)

  it("lets requests join at boundaries only, within what may be reserved", function()
    for seed = 1, 12 do
      local rng = blis.rng(seed, "cases")
      local budget, events, left_us = rng:integer(300, 3000), {}, {}
      local cluster = {
        instances = rng:integer(1, 3), engine_preset = "routesim", max_reserved_tokens = budget,
        kv_blocks = rng:integer(60, 600), max_queue_depth = rng:integer(3, 60),
      }
      local result = blis.run {
        cluster = cluster, seed = seed,
        workload = { rate = rng:integer(20, 400), requests = 200,
          prompt = { "gaussian", mean = 200, std_dev = 150, min = 10, max = 400 },
          output = { "gaussian", mean = 50, std_dev = 50, min = 1, max = 120 },
          prefixes = { groups = 3, tokens = 64 } },
        routing = blis.router {
          name = "by-turns",
          new = function()
            local turn = 0
            return {
              route = function(_, instances)
                turn = turn % #instances + 1
                return turn
              end,
              events = { "prefill_complete", "request_complete", "request_failed",
                "request_rejected" },
              on_event = function(event)
                local instance = event.instance
                if instance then events[#events + 1] = { instance.id, event.time_us } end
                if event.kind == "request_complete" then
                  left_us[event.request.id] = event.time_us
                end
              end,
            }
          end,
        },
      }
      local boundaries, by_instance = {}, {}
      for _, event in ipairs(events) do boundaries[event[1] .. event[2]] = true end
      for _, request in ipairs(result.requests) do
        local id = request.instance
        if request.state == "completed" then
          by_instance[id] = by_instance[id] or {}
          table.insert(by_instance[id], request)
          request.start_us = request.arrival_us + request.scheduling_delay_us
        else
          assert.is_true(request.reason == "kv-full" or request.reason == "queue-full")
        end
      end
      assert.equal(0, result.preemptions)
      assert.equal(200, result.completed + result.rejected)
      for id, list in pairs(by_instance) do
        for _, request in ipairs(list) do
          local running, tokens = 0, request.prompt_tokens + request.output_tokens
          for _, other in ipairs(list) do
            local is_before = other.start_us < request.start_us
              or other.start_us == request.start_us and other.number < request.number
            if is_before and left_us[other.id] > request.start_us then
              running, tokens = running + 1, tokens + other.prompt_tokens + other.output_tokens
            end
          end
          local joins_others = false
          for _, other in ipairs(list) do
            joins_others = joins_others
              or other.start_us < request.start_us and left_us[other.id] > request.start_us
          end
          assert.is_true(not joins_others or boundaries[id .. request.start_us],
            seed .. " " .. request.id)
          assert.is_true(running == 0 or tokens <= budget, seed .. " " .. request.id)
        end
      end
    end
  end)

  it("is the same with either engine, and its options are those it names", function()
    local options = { batching = "boundary", kv_reservation = "whole", kv_eviction = "two-pass",
      max_queue_depth = 256, max_reserved_tokens = 16384, max_num_seqs = 1000000,
      max_num_batched_tokens = 1000000000 }
    local function hash_of(cluster, changes)
      local all = { instances = 2, kv_blocks = 300 }
      for key, value in pairs(cluster) do all[key] = value end
      for key, value in pairs(changes or {}) do all[key] = value end
      return blis.run(small.experiment { cluster = all, workload = { rate = 300, requests = 300,
        prompt_tokens = 300, output_tokens = 40, prefixes = { groups = 4, tokens = 128 } } }).hash
    end
    local preset = hash_of { engine_preset = "routesim" }
    assert.equal(preset, hash_of(options))
    assert.equal(preset, hash_of({ engine_preset = "routesim" }, { engine = "stepwise" }))
    for _, name in ipairs { "batching", "kv_reservation", "kv_eviction" } do
      local alone = { [name] = options[name] }
      assert.equal(hash_of(alone), hash_of(alone, { engine = "stepwise" }))
    end
    assert.equal(hash_of {}, hash_of { batching = "iteration", kv_reservation = "as-needed",
      kv_eviction = "lru", max_queue_depth = 0, max_reserved_tokens = 0 })
    assert.are_not.equal(preset, hash_of {})
  end)

  it("is of one group, if that group says so", function()
    local result = blis.run(small.experiment {
      cluster = { groups = { { instances = 1 }, { instances = 1, engine_preset = "routesim",
        max_queue_depth = 1 } } },
      workload = { rate = 2000, requests = 100, prompt_tokens = 400, output_tokens = 40 },
      routing = "round-robin",
    })
    assert.equal(50, result.instances[1].completed)
    assert.is_true(result.instances[2].completed < 50)
    assert.equal(50 - result.instances[2].completed, result.rejected)
  end)

  it("is described rightly, or the error says how", function()
    local function error_of(cluster, profile)
      return message_of(blis.run, { cluster = cluster, profile = profile })
    end
    says(error_of { engine_preset = "routsim" }, "routesim")
    says(error_of({ engine_preset = "routesim" }, "go-blis"),
      "cluster.engine_preset requires profile design")
    says(error_of({ max_queue_depth = 3 }, "go-blis"), "cluster.max_queue_depth requires")
    says(error_of { kv_eviction = "two-pass", kv_cpu_blocks = 10 }, "kv_cpu_blocks = 10")
    says(error_of { max_queue_depth = -1 }, "max_queue_depth")
    says(error_of { batching = "continuous" }, "batching")
  end)

  it("leaves the batches to a scheduler that makes them, or the error says so", function()
    local function run(cluster)
      local function schedule(context)
        local all = table.move(context.waiting, 1, #context.waiting, #context.running + 1,
          { table.unpack(context.running) })
        return { schedule = all }
      end
      cluster.instances, cluster.kv_blocks = 1, 300
      return blis.run(small.experiment { cluster = cluster,
        scheduler = { name = "everybody", make_batch = schedule } })
    end
    for _, cluster in ipairs { { batching = "boundary" }, { engine_preset = "routesim" } } do
      says(message_of(run, cluster), 'make_batch says who joins a batch, and so does batching = '
        .. '"boundary"')
    end
    local result = run { engine_preset = "routesim", batching = "iteration", max_queue_depth = 4 }
    assert.equal(60, result.completed + result.rejected)
  end)
end)
