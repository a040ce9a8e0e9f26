local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local function weighted(scorer)
  return { "weighted", scorers = { { scorer, 1 } } }
end

local function run(scorer, changes)
  local spec = small.experiment(changes)
  spec.routing = weighted(scorer)
  return blis.run(spec)
end

local function scorer(score)
  return blis.scorer { name = "probe", score = score }
end

describe("a scorer in Lua", function()
  it("decides the same in all three forms", function()
    local each = blis.scorer {
      name = "x",
      score = function(request, instance)
        local new_tokens = request.prompt_tokens - instance.cached_tokens
        local waiting = instance.pending_prefill_tokens
        return 1 / (1 + (waiting + new_tokens) * (instance.requests + 1) / 1000)
      end,
    }
    local columns = blis.scorer {
      name = "x", columns = true,
      score = function(request, c)
        return 1 / (1 + (c.pending_prefill_tokens + request.prompt_tokens - c.cached_tokens)
          * (c.requests + 1) / 1000)
      end,
    }
    local all = blis.scorer {
      name = "x",
      score_all = function(request, instances, scores)
        for i, instance in ipairs(instances) do
          local new_tokens = request.prompt_tokens - instance.cached_tokens
          local waiting = instance.pending_prefill_tokens
          scores[i] = 1 / (1 + (waiting + new_tokens) * (instance.requests + 1) / 1000)
        end
      end,
    }
    for _, refresh_us in ipairs { 0, 50000 } do
      local changes = { cluster = { instances = 4, snapshot_refresh_us = refresh_us },
        workload = { rate = 200, requests = 300 } }
      local hash = run(each, changes).hash
      assert.equal(hash, run(columns, changes).hash)
      assert.equal(hash, run(all, changes).hash)
    end
  end)

  it("decides what the built-in one decides", function()
    local changes = { workload = { rate = 200, requests = 300 } }
    local norm = blis.vec.norm
    local copies = {
      ["queue-depth"] = function(_, c) return norm(-c.effective_load, 1) end,
      ["kv-utilization"] = function(_, c) return 1 - c.kv_utilization end,
      ["load-balance"] = function(_, c) return 1 / (1 + c.effective_load) end,
    }
    for name, score in pairs(copies) do
      local copy = blis.scorer { name = "copy", columns = true, score = score }
      assert.equal(run(name, changes).hash, run(copy, changes).hash, name)
    end
  end)

  it("sees every signal, and the same values in every form", function()
    local signals = require("blis.core").signals()
    local by_field, by_column = {}, {}
    local function collect(list, value_of)
      local row = {}
      for i, signal in ipairs(signals) do
        row[i] = ("%s=%.17g"):format(signal.name, value_of(signal.name))
      end
      list[#list + 1] = table.concat(row, " ")
    end
    local changes = {
      workload = { rate = 100, requests = 80, prefixes = { groups = 2, tokens = 64 } },
    }
    run(blis.scorer { name = "a", score_all = function(_, instances, scores)
      for i, instance in ipairs(instances) do
        collect(by_field, function(name) return instance[name] end)
        scores[i] = 1 / (1 + instance.in_flight)
      end
    end }, changes)
    run(blis.scorer { name = "b", columns = true, score = function(_, c)
      for i = 1, c.count do collect(by_column, function(name) return c[name][i] end) end
      return 1 / (1 + c.in_flight)
    end }, changes)
    assert.equal(80 * 3, #by_field)
    assert.same(by_field, by_column)
  end)

  it("may read a field for the first time at any decision", function()
    for first = 1, 5 do
      local count = 0
      local late = run(scorer(function(_, instance)
        count = count + 1
        local load = count > 3 * first and instance.in_flight or 0
        return 1 / (1 + load)
      end))
      count = 0
      local early = run(scorer(function(_, instance)
        count = count + 1
        local load = instance.in_flight
        return 1 / (1 + (count > 3 * first and load or 0))
      end))
      assert.equal(early.hash, late.hash)
    end
  end)

  it("sees what there is to know about a request", function()
    local seen
    run(scorer(function(request, instance)
      seen = seen or {
        id = request.id, prompt = request.prompt_tokens, max = request.max_output_tokens,
        tenant = request.tenant, class = request.slo_class, model = request.model,
        session = request.session, round = request.round_index, priority = request.priority,
        arrival = request.arrival_us, deadline = request.deadline_us, now = request.now_us,
        group = request.prefix_group, prefix = request.prefix_tokens, client = request.client,
        instance = instance.id, index = instance.index,
      }
      return 1
    end), { workload = { rate = 40, requests = 5, prompt_tokens = 200, output_tokens = 20,
      tenant = "t", slo_class = "batch", prefixes = { groups = 1, tokens = 64 } } })
    assert.equal("request_0", seen.id)
    assert.equal(264, seen.prompt)
    assert.equal(0, seen.max) -- its client says no max_tokens
    assert.equal("t", seen.tenant)
    assert.equal("batch", seen.class)
    assert.equal("shared", seen.group)
    assert.equal(64, seen.prefix)
    assert.equal(0, seen.round)
    assert.equal(seen.arrival + 300000000, seen.deadline)
    assert.equal(seen.arrival, seen.now)
    assert.equal("instance_0", seen.instance)
    assert.equal(1, seen.index)
    assert.equal("", seen.session)
  end)

  it("sees no deadline where there is none", function()
    local deadlines = {}
    run(scorer(function(request)
      deadlines[#deadlines + 1] = tostring(request.deadline_us)
      return 1
    end), { workload = { requests = 2, timeout_us = 0 } })
    assert.equal("nil", deadlines[1])
    assert.equal("nil", deadlines[#deadlines])
  end)

  it("sees the tokens of the prompt", function()
    local prompts = {}
    local reads = blis.scorer { name = "reads", score_all = function(request, instances, scores)
      local all, part = blis.token_ids(request), blis.token_ids(request, 63, 66)
      assert.equal(request.prompt_tokens, #all)
      assert.same(table.move(all, 63, 66, 1, {}), part)
      assert.same({}, blis.token_ids(request, #all + 1))
      assert.same({ all[#all] }, blis.token_ids(request, #all, #all + 5))
      prompts[#prompts + 1] = { group = request.prefix_group, tokens = all }
      for k = 1, #instances do scores[k] = 1 end
    end }
    small.run_scorer(reads)
    assert.equal(60, #prompts)
    local seen = { same = 0, other = 0 }
    for i = 2, #prompts do
      local a, b = prompts[1], prompts[i]
      local n = 0
      while n < math.min(#a.tokens, #b.tokens) and a.tokens[n + 1] == b.tokens[n + 1] do
        n = n + 1
      end
      local is_same = a.group == b.group
      assert.equal(is_same and 64 or 0, n)
      seen[is_same and "same" or "other"] = seen[is_same and "same" or "other"] + 1
    end
    assert.is_true(seen.same > 0 and seen.other > 0)
    says(small.message_of(blis.token_ids, {}), "during a decision")
    says(small.message_of(small.run_scorer, blis.scorer { name = "x",
      score = function() return #blis.token_ids {} end }), "the request that the policy")
  end)

  it("sees the future only in an oracle experiment", function()
    local function look(request) return 1 / request.output_tokens end
    local message = small.message_of(run, scorer(look))
    says(message, "oracle = true")
    assert.equal(60, run(scorer(look), { oracle = true }).completed)
  end)

  it("observes every decision, when it wants to", function()
    local chosen, requests = {}, {}
    local result = run(blis.scorer {
      name = "memory",
      score = function(_, instance) return chosen[#chosen] == instance.id and 0 or 1 end,
      observe = function(request, instance)
        chosen[#chosen + 1] = instance.id
        requests[#requests + 1] = request.id
      end,
    })
    assert.equal(60, #chosen)
    assert.equal("request_59", requests[60])
    for i = 2, 60 do assert.not_equal(chosen[i - 1], chosen[i]) end
    assert.equal(60, result.completed)
  end)

  it("can be one of several, built in and scripted", function()
    local other = blis.scorer {
      name = "other", columns = true, score = function(_, c) return 1 / (1 + c.batch_size) end,
    }
    local spec = small.experiment {
      routing = { "weighted", tie = "first", scorers = {
        { scorer(function(_, i) return 1 / (1 + i.queue_depth) end), 2 }, { other, 1 },
        "kv-utilization", { "prefix-affinity", 3, block_size = 32 }, blis.scorer "load-balance",
      } },
    }
    local result = blis.run(spec)
    assert.equal(60, result.completed)
    assert.equal("weighted(probe:2,other:1,kv-utilization:1,prefix-affinity:3,load-balance:1)",
      result.routing)
  end)

  it("is clamped to 0 to 1", function()
    local low = run(scorer(function(_, i) return i.index == 2 and 1 or -5 end))
    local high = run(scorer(function(_, i) return i.index == 2 and 50 or 0 end))
    assert.equal("0 60 0", tostring(low.requests_per_instance))
    assert.equal(low.hash, high.hash)
  end)

  it("has a name and a kind", function()
    local value = blis.scorer "queue-depth"
    assert.equal("userdata", type(value))
    assert.equal("scorer", value.kind)
    assert.equal("queue-depth", value.name)
    assert.equal("scorer 'queue-depth'", tostring(value))
    says(small.message_of(function() return value.weight end), "no field 'weight'")
  end)

  it("must be described rightly", function()
    local f = function() return 1 end
    local cases = {
      { {}, "one of score and score_all" },
      { { name = "x", score = f, score_all = f }, "one of score and score_all" },
      { { name = "x", score_all = f, columns = true }, "columns = true requires score" },
      { { score = f }, "scorer.name" },
      { { name = ("x"):rep(64), score = f },
        "a string of 1 to 63 bytes without control characters" },
      { { name = "", score = f }, "scorer.name: invalid value '': expected a string of 1 to 63" },
      { { name = "a\tb", score = f }, "invalid value 'a\\x09b': expected a string of 1 to 63" },
      { { name = "x", score = 5 }, "scorer.score: invalid value 5" },
      { { name = "x", score = f, observ = f }, "did you mean 'observe'?" },
      { { "queue-dept" }, "did you mean 'queue-depth'?" },
      { 5, "the name of a scorer" },
    }
    for _, case in ipairs(cases) do
      local message = small.message_of(blis.scorer, case[1])
      says(message, case[2])
    end
  end)
end)

describe("a routing policy in Lua", function()
  local function run_router(route)
    return blis.run(small.experiment { routing = route })
  end

  it("returns the index of its choice", function()
    local turn = 0
    local result = run_router(function(_, instances)
      turn = turn % #instances + 1
      return turn
    end)
    assert.equal(result.hash, blis.run(small.experiment()).hash)
    assert.equal("function", result.routing)
  end)

  it("can have a name", function()
    local function last(_, instances) return #instances end
    local named = blis.router { name = "always-last", route = last }
    local result = run_router(named)
    assert.equal("always-last", result.routing)
    assert.equal("0 0 60", tostring(result.requests_per_instance))
  end)

  it("must return an index that exists", function()
    local cases = { { 0, "0" }, { 4, "4" }, { 1.5, "1.5" }, { "1", "the string '1'" },
      { nil, "nil" } }
    for _, case in ipairs(cases) do
      local message = small.message_of(run_router, function() return case[1] end)
      says(message, "it returned " .. case[2])
      says(message, "an integer from 1 to 3")
    end
    assert.equal(60, run_router(function() return 2.0 end).completed)
  end)
end)

describe("decisions in Lua", function()
  local function formula(_, x)
    return 1 / (1 + x.effective_load) + x.prefix_hit + x.kv_utilization
  end
  local forms = {
    candidate = { score = formula },
    columns = { columns = true, score = formula },
    all = { score_all = function(request, instances, scores)
      for i = 1, #instances do scores[i] = formula(request, instances[i]) end
    end },
    base = { base = "queue-depth", columns = true,
      score = function(_, c, b) return b + c.pending end },
  }
  for name, form in pairs(forms) do
    it("leave no garbage: " .. name, function()
      form.name = name
      local sim <close> = blis.simulation {
        cluster = { instances = 4 },
        workload = { rate = 100, requests = 1000, prompt_tokens = 100, output_tokens = 5,
          prefixes = { groups = 9, tokens = 64 } },
        routing = { "weighted", scorers = { { blis.scorer(form), 1 } },
          filters = { function(_, instance) return instance.queue_depth < 1e9 end } },
      }
      sim:run_until(blis.seconds(2))
      collectgarbage()
      collectgarbage "stop"
      local before = collectgarbage "count"
      local routed = sim.routed
      sim:run_until(blis.seconds(8))
      local after = collectgarbage "count"
      collectgarbage "restart"
      assert.is_true(sim.routed - routed > 300)
      assert.is_true(after - before < 0.5, ("%g KiB in %d decisions"):format(after - before,
        sim.routed - routed))
    end)
  end

  it("decide alike in every form, however many candidates there are", function()
    local function load_score(i) return 1 / (1 + i.effective_load) end
    local function all(_, list, scores)
      for k = 1, #list do scores[k] = load_score(list[k]) end
    end
    local ways = {
      { name = "x", score = function(_, i) return load_score(i) end },
      { name = "x", score = function(_, _, base) return base end, base = "load-balance" },
      { name = "x", score = function(_, c) return load_score(c) end, columns = true },
      { name = "x", score_all = all },
      { name = "x", score_all = function() end, base = { name = "y", score_all = all } },
    }
    for _, count in ipairs { 1, 2, 15, 16, 17, 32, 50 } do
      local function hash_of(one)
        return blis.run(small.experiment { cluster = { instances = count },
          workload = { rate = 400, requests = 200, prompt_tokens = 200, output_tokens = 20 },
          routing = { "weighted", scorers = { { one, 1 } },
            filters = { function(request, i)
              return i.index == 1 or (i.index + request.arrival_us) % 3 > 0
            end } } }).hash
      end
      local expected = hash_of "load-balance"
      for k, way in ipairs(ways) do
        assert.equal(expected, hash_of(blis.scorer(way)), ("form %d of %d"):format(k, count))
      end
    end
  end)

  it("come to the same whether or not an expression over columns has to be called", function()
    local vec, w, k, seen = blis.vec, 0.25, { weight = 200 }, 0
    local function expect_same(score, changes)
      local function result_of(fn)
        w, k, seen = 0.25, { weight = 200 }, 0
        local experiment = { cluster = { instances = 5 },
          workload = { rate = 200, requests = 300, prompt_tokens = 300, output_tokens = 30,
            prefixes = { groups = 5, tokens = 128 } },
          routing = { "weighted", scorers = {
            { blis.scorer { name = "x", columns = true, base = "queue-depth", score = fn }, 1 },
          } } }
        for key, value in pairs(changes or {}) do experiment[key] = value end
        local ok, result = pcall(blis.run, small.experiment(experiment))
        return ok and result.hash or tostring(result):match "^[^\n]*"
      end
      local hash = result_of(score)
      assert.equal(result_of(function(...) return (score(...)) end), hash)
      return hash
    end
    local hashes = {
      expect_same(function(_, c) return 0.4 / (1 + c.queue_depth) + 0.6 * c.prefix_hit end),
      expect_same(function(r, c, base)
        return base * w + k.weight / (c.pending_prefill_tokens + r.prompt_tokens)
      end),
      expect_same(function(_, c) return vec.norm(c.in_flight * w - c.queue_depth, k.weight) end, {
        on_arrival = function()
          seen = seen + 1
          w = w < 1 and w + 0.0625 or -1
          k.weight = seen % 7 / 8
        end,
      }),
      expect_same(function(r, c) return c.queue_depth / r.prompt_tokens end, {
        admission = function(request)
          seen = seen + 1
          if seen % 3 == 0 then request.prompt_tokens = seen end
          return blis.admit()
        end,
      }),
      expect_same(function(_, c) return 1 / (1 + c.in_flight) end, {
        admission = function(_, cluster)
          seen = seen + 1
          vec = seen % 2 == 0 and blis.vec or nil
          return cluster and blis.admit()
        end,
      }),
      expect_same(function(_, c) return c.in_flight / k.weight end, {
        on_arrival = function()
          seen = seen + 1
          k = seen < 20 and { weight = 300 } or { weight = "no number" }
        end,
      }),
      expect_same(function(r, c) return c.in_flight + r.deadline_us end, {
        workload = { rate = 200, requests = 50, prompt_tokens = 300, output_tokens = 30 },
      }),
    }
    says(hashes[6], "number or vector expected, got string")
    local calls = 0
    small.run_scorer(blis.scorer { name = "x", columns = true, score = function(_, c)
      calls = calls + 1
      return 1 / (1 + c.in_flight)
    end })
    assert.equal(60, calls)
  end)

  it("come to the same whether or not a function has to be called for each candidate", function()
    local w, held, seen = 0.25, nil, 0
    local function expect_same(given, changes, before)
      local function result_of(fn)
        w, held, seen = 0.25, nil, 0
        local definition = { name = "x" }
        for key, value in pairs(given) do definition[key] = value end
        definition.score = fn
        local made = blis.scorer(definition)
        local first = before and blis.scorer { name = "y", score_all = before(made) }
        local experiment = { cluster = { instances = 5 },
          workload = { rate = 200, requests = 300, prompt_tokens = 300, output_tokens = 30,
            prefixes = { groups = 5, tokens = 128 } },
          routing = { "weighted", scorers = first and { first, made } or { made } } }
        for key, value in pairs(changes or {}) do experiment[key] = value end
        local ok, result = pcall(blis.run, small.experiment(experiment))
        return ok and result.hash or tostring(result):match "^[^\n]*"
      end
      local score = given.score
      local called = result_of(function(...) return (score(...)) end)
      assert.equal(called, result_of(score))
      return called
    end
    local function load_of(_, i) return 1 / (1 + i.in_flight + i.queue_depth * w) end
    local usual = expect_same { score = load_of }
    expect_same { score = function(r, i) return 1 - i.queue_depth / r.prompt_tokens end }
    expect_same { score = function(_, i) return -i.queue_depth / -i.in_flight end }
    expect_same { score = function(_, i) return i.in_flight + i.index end }
    expect_same({ score = load_of }, { on_arrival = function() w = -w * 1.25 end })
    -- A script that writes to the tables of instances, when it chooses an instance or elsewhere.
    local changed = expect_same { score = load_of, observe = function(_, i)
      seen = seen + 1
      if seen % 5 == 0 then i.in_flight = 50 end
    end }
    assert.not_equal(usual, changed)
    changed = expect_same({ score = load_of, observe = function(_, i) held = held or i end }, {
      on_arrival = function() if held then held.in_flight, held.queue_depth = 9.5, -1 end end,
    })
    assert.not_equal(usual, changed)
    says(expect_same({ score = load_of, observe = function(_, i) held = held or i end }, {
      on_arrival = function() if held then held.queue_depth = "many" end end,
    }), "'string'")
    -- One that asks, and then writes to what was looked at for it.
    local asked = expect_same({ score = load_of }, nil, function(made)
      return function(request, instances, scores)
        local given = made:score_all(request, instances)
        seen = seen + 1
        for k, i in ipairs(instances) do
          scores[k] = 0.5
          if seen % 23 == 0 and given[k] > 0.05 then i.in_flight = (k + seen) % 5 * 100 end
        end
      end
    end)
    assert.not_equal(usual, asked)
  end)

  it("notice a missing score in any decision, with a picker in Lua, too", function()
    for _, picker in ipairs { false, function() return 1 end } do
      local decisions = 0
      local lazy = blis.scorer { name = "lazy", score_all = function(_, list, scores)
        decisions = decisions + 1
        for k = 1, #list do
          if decisions < 30 or k ~= 2 then scores[k] = k end
        end
      end }
      local message = small.message_of(blis.run, small.experiment {
        routing = { "weighted", scorers = { { lazy, 1 } }, picker = picker or nil } })
      says(message, "set no score for instance_1 (scores[2])")
      assert.equal(30, decisions)
    end
  end)

  it("notice a missing score of a scorer that another one asks", function()
    local lazy = blis.scorer { name = "lazy", score_all = function(_, list, scores)
      for k = 1, #list do
        if k ~= 2 then scores[k] = k end
      end
    end }
    local asking = blis.scorer { name = "asking", score_all = function(request, list, scores)
      lazy:score_all(request, list, scores)
    end }
    says(small.message_of(blis.run, small.experiment {
      routing = { "weighted", scorers = { { asking, 1 } } } }),
      "score_all set no score for instance_1 (scores[2])")
  end)

  it("use the random numbers of the simulation", function()
    local function hash_of(seed)
      local spec = small.experiment { seed = seed,
        routing = function(_, instances) return math.random(#instances) end }
      return blis.run(spec).hash
    end
    math.randomseed(1)
    local first = hash_of(7)
    local outside = math.random()
    math.randomseed(1)
    assert.equal(outside, math.random())
    math.randomseed(2)
    assert.equal(first, hash_of(7))
    assert.not_equal(first, hash_of(8))
  end)

  it("draw all kinds of random numbers within bounds", function()
    local seen = {}
    blis.run(small.experiment { on_arrival = function()
      seen[#seen + 1] = math.random()
      assert(math.random(5) <= 5 and math.type(math.random(0)) == "integer")
      local drawn = math.random(-3, 3)
      assert(drawn >= -3 and drawn <= 3)
      assert(math.random(math.mininteger, math.maxinteger))
      assert(not pcall(math.random, 2, 1))
    end })
    assert.equal(60, #seen)
    for _, number in ipairs(seen) do assert.is_true(number >= 0 and number < 1) end
  end)
end)
