-- What policies know of the other stage where prefill and decode are apart, and what they may say.
local blis = require "blis"
local small = require "spec.support.small"

--- The call fails, and says so.
local function says(part, call)
  local ok, problem = pcall(call)
  assert.is_false(ok)
  small.says(problem.message, part)
end

--- A run of two instances that prefill and three that decode.
local function run(more)
  local spec = {
    cluster = { prefill_instances = 2, decode_instances = 3 },
    workload = { rate = 8, requests = 40, prompt = 600, output = 30 },
  }
  for key, value in pairs(more) do spec[key] = value end
  return blis.run(spec)
end

describe("the context of stages", function()
  it("shows deciders both pools, fresh", function()
    local prefill_load, seen = 0, 0
    run { disaggregation = function(request, context)
      seen = seen + 1
      assert.equal(2, #context.prefill)
      assert.equal(3, #context.decode)
      assert.equal("instance_0", context.prefill[1].id)
      assert.equal("instance_4", context.decode[3].id)
      assert.equal(1, context.prefill[1].role)
      assert.equal(2, context.decode[1].role)
      assert.equal("decode", context.stage)
      assert.is_true(context.peer.index > 2)
      assert.equal(request.prompt_tokens, 600)
      for _, one in ipairs(context.prefill) do
        prefill_load = prefill_load + one.pending_prefill_tokens
      end
      assert.equal(8192, context.peer.max_num_batched_tokens)
      return "split"
    end }
    assert.equal(40, seen)
    assert.is_true(prefill_load > 0)
  end)

  it("tells what a transfer would get and take", function()
    local gb_s, ms = {}, {}
    local result = run {
      disaggregation = { bandwidth_gb_s = 1, base_latency_ms = 2, handshake_us = 5000,
        decider = function(_, context)
          gb_s[#gb_s + 1] = context.links.gb_s(1, 3)
          ms[#ms + 1] = context.links.transfer_ms(context.prefill[1], 3)
          return { prefill = 1, decode = 3 }
        end },
    }
    -- 38 blocks of 16 tokens, 163,840 bytes each: 99.6 ms at 1 GB/s.
    local alone = 38 * 16 * 163840 / 1e6
    assert.equal(1, gb_s[1])
    assert.is_near(alone + 2 + 5, ms[1], 1e-9)
    local shared = false
    for i = 2, #gb_s do
      if gb_s[i] == 0.5 then
        shared = true
        assert.is_near(2 * alone + 2, ms[i], 1e-9)
      end
    end
    assert.is_true(shared)
    assert.is_true(result.handoffs.mean_transfer_ms >= alone)
  end)

  it("knows links from who prefills to who decodes alone", function()
    for _, name in ipairs { "gb_s", "transfer_ms" } do
      local ok, problem = pcall(run, { disaggregation = {
        decider = function(_, context) return context.links[name](3, 1) > 0 and "split" end,
      } })
      assert.is_false(ok)
      small.says(problem.message, "instance_2 does not prefill; KV goes from an instance that")
    end
  end)

  it("has no fields where there are no pools", function()
    local result = run { cluster = { instances = 2 },
      routing = blis.router { name = "mine", route = function(request, instances, context)
        assert.is_nil(context.peer)
        assert.is_nil(context.prefill)
        assert.is_nil(context.links)
        assert.is_nil(request.stage)
        assert.equal(0, instances[1].role)
        return 1
      end } }
    assert.equal(40, result.completed)
  end)

  it("tells routing policies of the other stage's choice", function()
    local peers = {}
    local result = run {
      disaggregation = {
        prefill_routing = blis.router { name = "p", route = function(request, instances, context)
          assert.equal("prefill", context.stage)
          assert.equal("prefill", request.stage)
          assert.equal(context.peer.index, request.peer)
          assert.equal(context.decode[1].role, 2)
          peers[#peers + 1] = context.peer.in_flight
          return #instances
        end },
        decode_routing = blis.router { name = "d", route = function(request, _, context)
          assert.equal("decode", context.stage)
          assert.is_nil(context.peer)
          assert.is_nil(request.peer)
          return 2
        end },
      },
    }
    assert.equal("0 40 0 40 0", tostring(result.requests_per_instance))
    assert.equal(40, #peers)
    assert.is_true(peers[1] == 1 and peers[40] >= 1)
  end)

  it("lets routing policies return both instances", function()
    local function pair(choose)
      return run { disaggregation = "never",
        routing = blis.router { name = "pair", route = function(_, _, context)
          return choose(context)
        end } }
    end
    -- Least wait for prefill + transfer + batch.
    local result = pair(function(context)
      local best, found = math.huge, nil
      for _, p in ipairs(context.prefill) do
        for _, d in ipairs(context.decode) do
          local cost = p.pending_prefill_tokens / 20 + context.links.transfer_ms(p, d)
            + d.in_flight
          if cost < best then best, found = cost, { prefill = p, decode = d } end
        end
      end
      return found
    end)
    assert.equal(40, result.handoffs.completed)
    assert.equal(0, pair(function() return 3 end).handoffs.started)
    says("us: instance_3 is not one of those that prefill", function()
      pair(function() return { prefill = 4, decode = 3 } end)
    end)
    says("instance_0 is not one of those that decode", function()
      pair(function() return { prefill = 1, decode = 1 } end)
    end)
    says("routing policy 'pair', request_0, at ", function()
      pair(function() return { prefill = 9, decode = 3 } end)
    end)
    says("without prefill", function() pair(function() return { decode = 3 } end) end)
    says("both instances", function()
      run { cluster = { instances = 2 },
        routing = function() return { prefill = 1, decode = 2 } end }
    end)
    says("prefill_routing, or leave stage_order at \"decode-first\"", function()
      run { disaggregation = { stage_order = "prefill-first" },
        routing = function() return { prefill = 1, decode = 3 } end }
    end)
    local function expects_index(spec)
      spec.routing = function(_, instances) return instances[2] end
      says("it returned a table, expected the index of a candidate, an integer from 1 to 3",
        function() run(spec) end)
    end
    expects_index {}
    expects_index { cluster = { instances = 3 } }
    says("a context has no field 'chosen'", function()
      pair(function(context) return context.chosen end)
    end)
  end)

  it("routes prefill first, if told so", function()
    local result = run {
      disaggregation = { stage_order = "prefill-first",
        prefill_routing = blis.router { name = "p", route = function(request)
          assert.is_nil(request.peer)
          return 2
        end } },
      routing = blis.router { name = "d", route = function(request, instances)
        assert.equal(2, request.peer)
        return #instances
      end },
    }
    assert.equal("0 40 0 0 40", tostring(result.requests_per_instance))
    assert.equal("instance_1", result.requests[1].prefill_instance)
    says("stage_order = \"prefill-first\" every request is split", function()
      run { disaggregation = { stage_order = "prefill-first", decider = "never" } }
    end)
  end)

  it("asks the router of the prefill stage before a decision on load, and books nothing", function()
    local function with(engine, threshold, order)
      return run { cluster = { prefill_instances = 2, decode_instances = 2, engine = engine },
        workload = { rate = 30, requests = 200, prompt = 3000, output = 20 },
        disaggregation = { order = order,
          decider = { "dynamo.conditional-disagg", policy = "prefill_load",
            prefill_busy_threshold = threshold },
          prefill_routing = "routesim.least_outstanding" } }
    end
    for _, order in ipairs { "source", "destination" } do
      local result = with("fast", 1, order)
      assert.is_true(result.handoffs.started > 20 and result.handoffs.colocated > 20)
      assert.equal(result.hash, with("stepwise", 1, order).hash)
      assert.equal(0, with("fast", 1000, order).handoffs.colocated)
    end
  end)

  it("gives scorers the role, and deciders the names of their systems", function()
    local roles = {}
    run { cluster = { groups = { { role = "prefill" }, { role = "both" }, { role = "decode" } } },
      routing = { "weighted", scorers = { { blis.scorer { name = "role", columns = true,
        score = function(_, c)
          for _, role in ipairs(blis.vec.totable(c.role)) do roles[role] = true end
          return 0.25 * c.role
        end }, 1 } } } }
    assert.same({ true, true, true }, roles)
    for _, name in ipairs { "routesim.split", "llmd.always-disagg-pd-decider" } do
      assert.equal(40, run { disaggregation = name }.handoffs.completed)
    end
    assert.equal(40, run { disaggregation = "llmd.if-available" }.handoffs.completed)
    assert.equal(40, run { disaggregation = "dynamo.isl-bounding" }.handoffs.completed)
    says("policy", function()
      run { disaggregation = { "dynamo.conditional-disagg", policy = "often" } }
    end)
  end)
end)
