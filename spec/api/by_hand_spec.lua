-- Parts that are asked and stepped by a script itself.
local blis = require "blis"
local old_defaults = require "spec.support.old_defaults"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

local engine = { model = "qwen/qwen3-14b", hardware = "H100", kv_blocks = 500 }

--- Steps an instance until it has nothing to do; the records of what ended.
local function drain(instance)
  local all = {}
  for _ = 1, 100000 do
    local ended = instance:step()
    if not ended then return all end
    table.move(ended, 1, #ended, #all + 1, all)
  end
  error "it never ends"
end

describe("an instance by itself", function()
  it("serves requests that it is given", function()
    local instance = blis.instance(old_defaults.pinned(engine))
    assert.is_nil(instance.next_us)
    assert.is_nil(instance:step())
    assert.equal("request_1", instance:add { prompt_tokens = 100, output_tokens = 3 })
    assert.equal("request_7", instance:add { number = 7, prompt_tokens = 50, output_tokens = 2 })
    assert.equal(2, #instance)
    while #instance.running < 2 do instance:step() end
    assert.same({ "request_1", "request_7" }, instance.running)
    assert.same({}, instance.waiting)
    assert.equal(2, instance.batch_size)
    assert.equal(instance.kv_blocks - instance.used_kv_blocks, instance.free_kv_blocks)
    assert.is_true(instance.used_kv_blocks >= 7 + 4)
    local records = drain(instance)
    assert.equal(2, #records)
    for _, record in ipairs(records) do assert.equal("completed", record.state) end
    assert.equal(7, records[1].number) -- the shorter one
    assert.equal(0, #instance)
    assert.equal(0, instance.used_kv_blocks)
    assert.equal(2, instance.completed)
  end)

  it("knows each request that is here by one id and one number", function()
    local instance = blis.instance(engine)
    local a = { id = "a", prompt_tokens = 10 }
    instance:add(a)
    says(message_of(instance.add, instance, a), "id is the string 'a', which another request")
    instance:add { number = 7, prompt_tokens = 10 }
    says(message_of(instance.add, instance, { id = "b", number = 7, prompt_tokens = 10 }),
      "number is 7, which another request on this instance has")
    assert.equal(2, #instance)
    drain(instance)
    assert.equal("a", instance:add(a))
    assert.equal("request_7", instance:add { number = 7, prompt_tokens = 10 })
    assert.equal(2, #drain(instance))
  end)

  it("finds what is in its cache", function()
    local instance = blis.instance(engine)
    local prompt = { { "system", 64 }, { "user", 40 } }
    local request = { content = prompt, output_tokens = 2 }
    assert.equal(0, instance:cached_tokens(request))
    instance:add(request)
    drain(instance)
    assert.equal(96, instance:cached_tokens(request))
    assert.equal(64, instance:cached_tokens { content = { { "system", 64 }, { "other", 40 } } })
  end)

  --- Hashes of a workload on one instance: by hand, and by blis.run.
  local function hashes(cluster, workload, profile)
    local traffic = blis.workload(workload)
    local instance, list = blis.instance(cluster, profile), blis.records()
    local function step()
      for _, record in ipairs(instance:step()) do
        record.instance = "instance_0"
        list:add(record)
      end
    end
    for i, request in traffic:requests() do
      while instance.next_us and instance.next_us < request.arrival_us do step() end
      instance:add(traffic, i)
    end
    while instance.next_us do step() end
    local result = blis.run { cluster = cluster, workload = traffic, profile = profile }
    assert.equal(#result.requests, #list)
    return list:hash(), result.hash
  end

  it("gives the hash of a run, with either engine and under either profile", function()
    for _, changes in ipairs {
      {}, { engine = "fast" }, { kv_blocks = 120 }, { scheduler = "sjf" },
      { scheduler = "priority-fcfs", preemption_policy = "priority", kv_blocks = 150 },
      { kv_cpu_blocks = 200, kv_blocks = 150 }, { max_model_len = 400 },
    } do
      local cluster = {}
      for key, value in pairs(engine) do cluster[key] = value end
      for key, value in pairs(changes) do cluster[key] = value end
      for _, profile in ipairs { "design", "go-blis" } do
        local own, run = hashes(cluster, { rate = 40, requests = 80, prompt_tokens = 300,
          output_tokens = 40, slo_class = "batch", prefixes = { groups = 3, tokens = 128 } },
          profile)
        assert.equal(run, own)
      end
    end
  end)

  it("keeps what a run shows of a request, wherever its stages were", function()
    local pools = { prefill_instances = 1, decode_instances = 1 }
    for _, cluster in ipairs { { instances = 2 }, pools } do
      local result = blis.run { cluster = cluster, workload = { rate = 30, requests = 40,
        prompt_tokens = 300, output_tokens = 20, slo_class = "batch", tenant = "t" } }
      local list = blis.records()
      for _, record in ipairs(result.requests) do list:add(record) end
      assert.equal(result.hash, list:hash())
      for i, record in ipairs(result.requests) do assert.same(record, list[i]) end
    end
  end)

  it("adds no record that is not one", function()
    local list = blis.records()
    local function wrong(changes, text)
      local record = { number = 3, state = "completed", arrival_us = 5, ttft_us = 10, e2e_us = 20,
        end_us = 30 }
      for key, value in pairs(changes) do record[key] = value ~= "none" and value or nil end
      says(message_of(list.add, list, record), text)
      assert.equal(0, #list)
    end
    wrong({ tfft_us = 10 }, "a record has no field 'tfft_us'; did you mean 'ttft_us'?")
    wrong({ colour = "red" }, "a record has no field 'colour'; it has those that list[i] shows")
    wrong({ "completed" }, "a record has named fields")
    wrong({ ttft_us = "none" }, "a completed request has no ttft_us")
    wrong({ e2e_us = "none" }, "a completed request has no e2e_us")
    wrong({ end_us = "none", state = "length_capped" }, "a length_capped request has no end_us")
    wrong({ state = "none" }, "state = nil, expected a string")
    wrong({ state = "done" }, "unknown request state 'done'")
    wrong({ ttft_us = 0.5 }, "ttft_us = 0.5, expected an integer from 0")
    wrong({ instance = 3 }, "instance = 3, expected instance_<number>")
    wrong({ instance = "instance_99999999" }, "'instance_99999999', expected instance_<number>")
    wrong({ instance = "instance_ 1" }, "'instance_ 1', expected instance_<number>")
    wrong({ arrival_us = 31 }, "arrival_us = 31 and end_us = 30, which is less")
    wrong({ attempts = 5 }, "attempts = 5, expected a list")
    wrong({ attempts = { 5 } }, "attempts[1] is 5, expected a table")
    wrong({ ttft_us = 21 }, "ttft_us = 21 and e2e_us = 20, which is less")
    wrong({ end_us = math.maxinteger }, "expected an integer from 0 to 9007199254740992")
    wrong({ attempts = { { model = "m", step = 7, stage = 1, stages = 1, start_us = 5 } } },
      "an attempt has step = 7, expected 1 to 1")
    wrong({ attempts = { { model = "m", step = 1, stage = 1, stages = 1, start_us = 4 } } },
      "an attempt has start_us = 4, expected 5 to")
    wrong({ attempts = { { model = "m", step = 1, stages = 1, start_u = 5 } } },
      "an attempt has no field 'start_u'; did you mean 'start_us'?")
    wrong({ attempts = { { [1] = 5 } } }, "an attempt has named fields")
    wrong({ prefill_instance = "pool" }, "prefill_instance = 'pool'")
    wrong({ tenant = 5 }, "tenant = 5, expected a string")
    wrong({ moved_bytes = -1 }, "moved_bytes = -1")
    list:add { state = "rejected", reason = "full" }
    assert.equal(1, #list)
  end)

  it("says what is wrong", function()
    local instance = blis.instance(engine)
    says(message_of(instance.add, instance, { prompt_token = 5 }), "prompt_tokens")
    says(message_of(instance.add, instance, { prompt_tokens = -5 }), "-5")
    says(message_of(instance.add, instance, { content = { { "a", 5 } }, prompt_tokens = 7 }),
      "content has 5 tokens")
    says(message_of(instance.add, instance, 5), "table expected")
    for _, case in ipairs {
      { { priority = 0 / 0 }, "priority is nan, expected a finite number" },
      { { priority = "high" }, "priority is the string 'high', expected a finite number" },
      { { slo_class = 5 }, "slo_class is 5, expected a string" },
      { { tenant = {} }, "tenant is a table, expected a string" },
      { { id = 3 }, "id is 3, expected a string" },
      { { number = -1 }, "number is -1, expected an integer from 0 to" },
      { { number = 1.5 }, "number is 1.5, expected an integer" },
      { { arrival_us = 0 / 0 }, "arrival_us is nan, expected an integer" },
      { { arrival_us = math.maxinteger }, "arrival_us is 9223372036854775807, expected" },
      { { deadline_us = -4 }, "deadline_us is -4, expected" },
      { { labels = { a = 1 } }, "a request has no field 'labels'" },
      { { 5 }, "a request has named fields" },
    } do
      case[1].prompt_tokens = 10
      says(message_of(instance.add, instance, case[1]), case[2])
      assert.equal(0, #instance)
    end
    says(message_of(instance.add, instance, { prompt_tokens = 5 }, 0 / 0), "now_us is nan")
    says(message_of(instance.add, instance, { prompt_tokens = 5 }, "soon"), "now_us is the string")
    for _, profile in ipairs { "nosuch", 3 } do
      says(message_of(blis.instance, {}, profile), "unknown profile")
    end
    local list = blis.workload { requests = 2, prefixes = { groups = 1, tokens = 64 } }
    says(message_of(instance.add, instance, list, 3), "no such request")
    says(message_of(instance.add, instance, list[1]), "give the list")
    instance:add({ prompt_tokens = 5 }, 1000)
    says(message_of(instance.add, instance, { prompt_tokens = 5 }, 10), "now_us is 10")
    says(message_of(blis.instance, { instances = 2 }), "one instance")
    says(message_of(blis.instance, { latency_model = function() return 5 end }), "built-in")
    says(message_of(blis.instance, { kv_block = 5 }), "kv_blocks")
    instance:close()
    says(message_of(instance.step, instance), "closed")
  end)
end)

describe("a scorer that is asked by hand", function()
  local request = { prompt_tokens = 100 }

  it("scores candidates of one's own by its formula", function()
    local loads = { { effective_load = 6 }, { effective_load = 2 }, { effective_load = 4 } }
    assert.same({ 0, 1, 0.5 }, blis.scorer("queue-depth"):score_all(request, loads))
    assert.same({ 1 / 7, 1 / 3, 1 / 5 }, blis.scorer("load-balance"):score_all(request, loads))
    assert.equal(1 / 3, blis.scorer("load-balance"):score(request, loads[2]))
    local parts = { { queue_depth = 2, batch_size = 3, pending = 1 }, { queue_depth = 2 } }
    assert.same({ 1 / 7, 1 / 3 }, blis.scorer("load-balance"):score_all(request, parts))
    local used = { { kv_utilization = 0.6 }, { kv_utilization = 0.1 } }
    assert.same({ 0.4, 0.9 }, blis.scorer("kv-utilization"):score_all(request, used))
    local scores = {}
    assert.equal(scores, blis.scorer("kv-utilization"):score_all(request, used, scores))
  end)

  it("scores where an adapter runs, has room or waits, as llm-d does", function()
    local function at(has, running, waiting, waits)
      return { adapter_running = has, adapters_running = running, adapters_waiting = waiting,
        adapter_waiting = waits, adapter_slots = 3 }
    end
    local places = { at(1, 3, 0, 0), at(0, 1, 1, 0), at(0, 2, 1, 1), at(0, 2, 1, 0),
      at(0, 1, 0, 0) }
    local wanted = { adapter = "a" }
    assert.same({ 1, 0.8, 0.6, 0, 0.8 },
      blis.scorer("llm-d.lora-affinity-scorer"):score_all(wanted, places))
    -- Those that run were told as waiting as well: twice their number has to leave a slot.
    local before = blis.scorer { "llm-d.lora-affinity-scorer", version = "before-2625" }
    assert.same({ 1, 0.8, 0, 0, 0.8 }, before:score_all(wanted, places))
  end)

  it("remembers what it is told", function()
    local scorer = blis.scorer { "prefix-affinity", capacity = 100 }
    local a = { content = { { "system", 64 }, { "a", 16 } } }
    local b = { content = { { "system", 64 }, { "b", 16 } } }
    local candidates = { {}, {}, {} }
    assert.same({ 0, 0, 0 }, scorer:score_all(a, candidates))
    scorer:observe(a, { index = 2 })
    assert.same({ 0, 1, 0 }, scorer:score_all(a, candidates))
    assert.same({ 0, 0.8, 0 }, scorer:score_all(b, candidates))
    assert.same({ 0.8 }, scorer:score_all(b, { { index = 2 } }))
    assert.same({ 0, 0, 0 }, (blis.scorer "prefix-affinity"):score_all(a, candidates))
  end)

  it("does not disturb runs in which it takes part", function()
    local scorer = blis.scorer { "prefix-affinity", capacity = 100 }
    local before = small.run_scorer(scorer).hash
    local asked = { content = { { "system", 64 } } }
    scorer:observe(asked, { index = 1 })
    assert.equal(before, small.run_scorer(scorer).hash)
    assert.same({ 1, 0 }, scorer:score_all(asked, { {}, {} }))
  end)

  it("can be any built-in one that is not written in Lua", function()
    local full = { index = 1, session = "s" }
    for _, signal in ipairs(require("blis.core").signals()) do full[signal.name] = 0.5 end
    for _, entry in ipairs(require("blis.policy.catalogue").scorers) do
      local ok, score = pcall(function()
        return blis.scorer(entry.name):score({ prompt_tokens = 64, session = "s" }, full)
      end)
      if not entry.define then
        assert.is_true(ok, entry.name .. ": " .. tostring(score))
        assert.is_number(score)
      end
    end
    local of_labels = blis.scorer { "llm-d.header-label-affinity-scorer", label = "owner",
      labels = { owner = { "a" } } }
    says(message_of(of_labels.score, of_labels, { tenant = "a" }, full), "a scorer in Lua can be "
      .. "called only during a decision")
  end)

  it("says what is wrong", function()
    local scorer = blis.scorer "queue-depth"
    says(message_of(scorer.score_all, scorer, request, { {} }), "has no effective_load")
    says(message_of(scorer.score_all, scorer, request, {}), "candidates")
    says(message_of(scorer.score_all, scorer, request, { 5 }), "candidate 1 is 5")
    says(message_of(scorer.score, scorer, request, { queue_depth = "x" }), "expected a number")
    says(message_of(scorer.score_all, scorer, request,
      { { queue_depth = 1, index = 2 }, { queue_depth = 1, index = 2 } }), "index = 2")
    says(message_of(scorer.score, scorer, {}, 7), "candidate 1 is 7")
    says(message_of(scorer.observe, scorer, request, {}), "index = 2")
    local prefix = blis.scorer "prefix-affinity"
    local list = blis.workload { requests = 1, prefixes = { groups = 1, tokens = 64 } }
    says(message_of(prefix.score, prefix, list[1], {}), "stays in its list")
    local own = blis.scorer { name = "own", score = function() return 1 end }
    says(message_of(own.score, own, request, {}), "during a decision")
    says(message_of(function()
      small.run_scorer(blis.scorer { name = "tells", score = function(r, i)
        scorer:observe(r, i)
        return 1
      end })
    end), "by themselves")
  end)
end)

describe("the events of a simulation", function()
  it("are what happens next, in order", function()
    local sim = blis.simulation(small.experiment { cluster = { instances = 3,
      admission_latency_us = 500, routing_latency_us = 700 } })
    sim:at(3000000, function() end)
    local kinds, last_us = {}, 0
    assert.equal("arrival", sim:events()[1].kind)
    assert.equal("request_0", sim:events()[1].request)
    for _ = 1, 400 do
      local events = sim:events()
      assert.equal(events[1].time_us, sim.next_us)
      for i = 2, #events do assert.is_true(events[i - 1].time_us <= events[i].time_us) end
      for _, event in ipairs(events) do kinds[event.kind] = true end
      local first = events[1]
      assert.is_true(first.time_us >= last_us)
      assert.is_true(sim:step())
      if first.kind ~= "instance" then assert.equal(first.time_us, sim.now_us) end
      last_us = first.time_us
    end
    assert.same({ arrival = true, admission = true, routing = true, instance = true, call = true },
      kinds)
    sim:run()
    assert.same({}, sim:events())
    assert.is_nil(sim.next_us)
  end)

  it("are those of every part", function()
    local sim = blis.simulation(small.experiment { autoscaler = "threshold" })
    local kinds = {}
    for _, event in ipairs(sim:events()) do kinds[event.kind] = true end
    assert.same({ arrival = true, scaling = true }, kinds)
  end)
end)
