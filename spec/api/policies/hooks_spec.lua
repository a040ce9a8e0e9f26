local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("an error in the hook of an engine", function()
  local function message_of(changes)
    local spec = { cluster = { instances = 1, max_num_seqs = 2 },
      workload = { rate = 1000, requests = 20, prompt_tokens = 300, output_tokens = 4 } }
    for name, value in pairs(changes) do spec[name] = value end
    local _, problem = pcall(blis.run, spec)
    return problem.message
  end

  it("names the request that an order is asked about", function()
    local message = message_of { scheduler = { name = "mine", goes_before = function()
      error "of mine"
    end } }
    assert.matches("scheduler 'mine', request_%d+, at %d+ us: .*of mine", message)
  end)

  it("names no request where a batch is formed", function()
    local message = message_of { scheduler = { name = "mine", make_batch = function()
      error "of mine"
    end } }
    assert.matches("scheduler 'mine'.* at %d+ us: .*of mine", message)
    assert.is_nil(message:find("request_", 1, true))
  end)
end)

describe("functions that hear of requests", function()
  it("hear of everything once, and change nothing", function()
    local heard = {}
    local function count(name)
      return function(request) heard[#heard + 1] = name .. " " .. request.id end
    end
    local outcomes = {}
    local spec = small.experiment {
      admission = function(request) return request.id ~= "request_5" end,
    }
    local hash = blis.run(spec).hash
    spec.on_arrival, spec.on_routed = count "arrival", count "routed"
    spec.on_first_token, spec.on_failure = count "token", count "failure"
    function spec.on_rejection(request, reason)
      assert(request.id == "request_5" and reason == "")
    end
    function spec.on_completion(request, instance, outcome)
      outcomes[request.id] = ("%s %s %d %d"):format(instance.id, outcome.state, outcome.ttft_us,
        outcome.output_tokens)
      assert(instance.queue_depth >= 0 and outcome.end_us >= request.now_us)
      assert(outcome.mean_itl_us > 0 and outcome.e2e_us > outcome.ttft_us)
    end
    local result = blis.run(spec)
    assert.equal(hash, result.hash)
    assert.equal(60 + 59 + 59, #heard)
    assert.equal("arrival request_0", heard[1])
    for _, record in ipairs(result.requests) do
      if record.state == "completed" then
        assert.equal(("%s completed %d 20"):format(record.instance, record.ttft_us),
          outcomes[record.id])
      end
    end
  end)

  it("hear it in order of time, whatever the engine", function()
    local function log_of(engine)
      local log, last = {}, 0
      local function note(request)
        assert(request.now_us >= last)
        last = request.now_us
        log[#log + 1] = request.id .. "@" .. last
      end
      blis.run(small.experiment { cluster = { instances = 3, engine = engine },
        on_first_token = note, on_completion = note })
      return table.concat(log, " ")
    end
    assert.equal(log_of "stepwise", log_of "fast")
  end)

  it("hear of requests that are given up", function()
    local reasons = {}
    local result = blis.run(small.experiment {
      cluster = { instances = 1, max_num_seqs = 1 },
      workload = { rate = 100, requests = 20, timeout_us = 1000000 },
      on_failure = function(_, instance, outcome)
        reasons[#reasons + 1] = instance.id .. " " .. outcome.state
      end,
    })
    assert.equal(result.timed_out, #reasons)
    assert.equal("instance_0 timed_out", reasons[1])
  end)

  it("must be functions", function()
    says(small.message_of(blis.run, { on_arrival = 5 }), "on_arrival: invalid value 5")
  end)
end)

describe("a priority", function()
  it("is given on arrival, and seen by every policy", function()
    local urgent = 0
    local result = blis.run(small.experiment {
      priority = function(request) return request.prompt_tokens > 0 and -7.5 end,
      on_routed = function(request) urgent = urgent + (request.priority == -7.5 and 1 or 0) end,
    })
    assert.equal(60, urgent)
    assert.equal(60, result.completed)
  end)

  it("orders queues of that kind", function()
    local function run(priority, profile)
      return blis.run {
        cluster = { instances = 1, max_num_seqs = 1 }, scheduler = "priority-fcfs",
        profile = profile,
        workload = { rate = 1000, requests = 30, prompt = { "exponential", mean = 300 },
          output_tokens = 4 },
        priority = priority,
      }
    end
    local short_first = run(function(request) return -request.prompt_tokens end)
    assert.is_true(short_first.ttft_ms.mean < run().ttft_ms.mean)
    local as_in_go = run(function(request) return request.prompt_tokens end, "go-blis")
    assert.is_true(as_in_go.ttft_ms.mean < run(nil, "go-blis").ttft_ms.mean)
  end)

  it("is that of the SLO class, higher for what is more urgent", function()
    local function seen(profile)
      local priorities = {}
      local i = 0
      local classes = { "critical", "standard", "batch", "realtime", "sheddable", "unknown" }
      blis.run {
        profile = profile, cluster = { model = "qwen/qwen3-14b" },
        workload = function()
          i = i + 1
          return classes[i] and { arrival_us = i, prompt_tokens = 10, output_tokens = 2,
            slo_class = classes[i] }
        end,
        on_routed = function(request) priorities[#priorities + 1] = request.priority end,
      }
      return priorities
    end
    assert.same({ 4, 3, -1, 4, -2, 3 }, seen())
    assert.same({ 0, 1, 5, 1, 6, 1 }, seen "go-blis")
  end)

  it("is a number", function()
    for _, case in ipairs { { 0 / 0, "nan" }, { "1", "a string" }, { true, "a boolean" } } do
      local message = small.message_of(blis.run, small.experiment {
        priority = function() return case[1] end })
      says(message, "it returned")
      says(message, "priority, request_0, at")
    end
  end)

  it("comes with hints for those who decide later", function()
    local seen = { admission = 0, routing = 0, none = 0 }
    local function note(who, request)
      local number = tonumber(request.id:match "%d+")
      if number % 3 == 0 then
        assert.is_nil(request.hints)
        seen.none = seen.none + 1
      else
        assert.equal(number, request.hints.number)
        seen[who] = seen[who] + 1
      end
    end
    local function run(engine, goes_before)
      return blis.run {
        cluster = { instances = 1, max_num_seqs = 2, engine = engine },
        workload = { rate = 1000, requests = 60, prompt = { "exponential", mean = 300 },
          output_tokens = 4 },
        priority = function(request)
          local number = tonumber(request.id:match "%d+")
          if number % 3 == 0 then return 0 end
          return 0, { number = number, is_short = request.prompt_tokens < 200 }
        end,
        admission = function(request)
          note("admission", request)
          return blis.admit()
        end,
        on_routed = function(request) note("routing", request) end,
        scheduler = { name = "hinted", goes_before = goes_before },
      }
    end
    local function is_short(request) return request.hints ~= nil and request.hints.is_short end
    local function short_first(a, b) return is_short(a) and not is_short(b) end
    local hinted = run("fast", short_first)
    assert.same({ admission = 40, routing = 40, none = 40 }, seen)
    assert.equal(hinted.hash, run("stepwise", short_first).hash)
    local plain = run("fast", function() return false end)
    assert.is_true(hinted.ttft_ms.mean < plain.ttft_ms.mean)
  end)

  it("has hints that are a table", function()
    says(small.message_of(blis.run, small.experiment {
      priority = function() return 1, "urgent" end,
    }), "its second result is the string 'urgent', expected a table of hints")
  end)
end)

describe("a preemption policy", function()
  local function tight(preemption, engine)
    return blis.run {
      cluster = { instances = 2, kv_blocks = 120, engine = engine },
      workload = { rate = 100, requests = 100, prompt_tokens = 200, output_tokens = 200 },
      preemption = preemption,
    }
  end

  local function least_progress(running)
    local victim = 1
    for i = 2, #running do
      if running[i].progress_tokens <= running[victim].progress_tokens then victim = i end
    end
    return victim
  end

  it("can be one of the built-in ones, or a function that does the same", function()
    assert.equal(tight().hash, tight("fcfs").hash)
    assert.equal(tight("fcfs").hash, tight(function(running) return #running end).hash)
  end)

  it("chooses by what it sees, the same with both engines", function()
    local policy = blis.preemption { name = "least", victim = least_progress }
    assert.equal("preemption 'least'", tostring(policy))
    local fast = tight(policy)
    assert.equal(fast.hash, tight(least_progress, "stepwise").hash)
    assert.equal(100, fast.completed)
  end)

  it("must return an index, and knows its fields", function()
    says(small.message_of(tight, function() return 0 end),
      "it returned 0, expected the index of a running request")
    says(small.message_of(tight, function(running) return running[1].tokens end),
      "has no field 'tokens'")
    says(small.message_of(tight, "fcsf"), "did you mean 'fcfs'?")
    says(small.message_of(tight, { name = "x" }), "preemption.victim: invalid value nil")
  end)
end)

describe("a think time", function()
  local users = {
    clients = { { id = "x", concurrency = 3, think_time_us = 1000000,
      input_distribution = { "constant", value = 100 },
      output_distribution = { "constant", value = 20 } } },
    num_requests = 30,
  }

  local function run(think_time, workload)
    return blis.run { workload = workload or users, think_time = think_time }
  end

  it("is that of the workload unless a function says otherwise", function()
    local usual
    local same = run(function(_, _, usual_us)
      usual = usual_us
      return usual_us
    end)
    assert.equal(1000000, usual)
    assert.equal(run().hash, same.hash)
    local rounds = {}
    local slow = run(function(session, round, usual_us)
      rounds[session .. round] = true
      return 2 * usual_us
    end)
    assert.is_true(slow.tokens_per_sec < 0.7 * same.tokens_per_sec)
    assert.is_truthy(next(rounds))
  end)

  it("must be a time, and needs requests that wait for answers", function()
    says(small.message_of(run, function() return -1 end), "expected microseconds")
    says(small.message_of(run, function() return 1 end, { requests = 3 }), "waits for an answer")
  end)
end)

describe("policies by constructor", function()
  it("have a kind and a name", function()
    local function f() return true end
    assert.equal("admission 'a'", tostring(blis.admission { name = "a", decide = f }))
    assert.equal("scheduler 's'", tostring(blis.scheduler { name = "s", goes_before = f }))
    assert.equal("autoscaler 'a'",
      tostring(blis.autoscaler { name = "a", interval_us = 5, decide = f }))
    assert.equal("disaggregation 'd'",
      tostring(blis.disaggregation { name = "d", decide = f }))
    assert.equal("admission 'always-admit'", tostring(blis.admission "always-admit"))
  end)

  it("name themselves in errors", function()
    local admission = blis.admission { name = "door", decide = function() return "maybe" end }
    says(small.message_of(blis.run, small.experiment { admission = admission }),
      "admission policy 'door', request_0, at")
    local scheduler = blis.scheduler { name = "odd", goes_before = function() return 1 end }
    says(small.message_of(blis.run, { cluster = { max_num_seqs = 1 }, scheduler = scheduler,
      workload = { rate = 1000 } }), "scheduler 'odd'")
  end)

  it("must be described rightly", function()
    says(small.message_of(blis.autoscaler, { name = "a" }), "autoscaler.decide: invalid value nil")
    says(small.message_of(blis.scheduler, { name = "a", goes_befor = 1 }), "did you mean")
    says(small.message_of(blis.admission, 5), "the name of an admission policy")
  end)
end)
