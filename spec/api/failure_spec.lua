local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

--- A hook that raises at call number n, and counts the calls of all runs.
local function failing_at(n, value)
  local calls = 0
  return function()
    calls = calls + 1
    if calls == n then error("call " .. n .. " failed", 0) end
    return value
  end, function() return calls end
end

--- Two instances of which one fails for a while, so that requests are lost with it.
local function failing_instance(changes)
  changes.workload = { rate = 400, requests = 8, prompt_tokens = 40, output_tokens = 60 }
  return changes, function(sim)
    sim:at(18000, function(s) s.instances[1]:fail() end)
    sim:at(30000, function(s) s.instances[1]:restart() end)
  end
end

--- What to make of a hook, by decision point: an experiment, and what is done to its simulation. A
--- fourth item says how many calls there are at least; 8 when it is left out.
local points = {
  { "score", 1, function(f)
    return { routing = { "weighted", scorers = { blis.scorer { name = "p", score = f } } } }
  end },
  { "columns", 0.5, function(f)
    local scorer = blis.scorer { name = "p", columns = true, score = f }
    return { routing = { "weighted", scorers = { scorer } } }
  end },
  { "score_all", nil, function(f)
    local function fill(request, instances, scores)
      f(request)
      for i = 1, #instances do scores[i] = 1 end
    end
    return { routing = { "weighted", scorers = { blis.scorer { name = "p", score_all = fill } } } }
  end },
  { "observe", nil, function(f)
    local scorer = blis.scorer { name = "p", score = function() return 1 end, observe = f }
    return { routing = { "weighted", scorers = { scorer } } }
  end },
  { "route", 1, function(f) return { routing = f } end },
  { "admission", true, function(f) return { admission = f } end },
  { "scheduler", false, function(f) return { scheduler = f } end, 6 },
  { "filter", true, function(f)
    return { routing = { "weighted", scorers = "queue-depth:1", filters = { f } } }
  end },
  { "picker", 1, function(f)
    return { routing = { "weighted", scorers = "queue-depth:1", picker = f } }
  end },
  { "priority", 3, function(f) return { priority = f } end },
  { "on_arrival", nil, function(f) return { on_arrival = f } end },
  { "on_routed", nil, function(f) return { on_routed = f } end },
  { "on_first_token", nil, function(f) return { on_first_token = f } end },
  { "on_completion", nil, function(f) return { on_completion = f } end },
  { "on_rejection", nil, function(f)
    return { on_rejection = f, admission = function(request)
      return request.id ~= "request_3" or blis.reject "no"
    end }
  end, 1 },
  { "on_failure", nil, function(f) return failing_instance { on_failure = f } end, 2 },
  { "think_time", 5, function(f)
    return { think_time = f, workload = { rate = 500, requests = 8, prompt_tokens = 40,
      output_tokens = 4, sessions = { max_rounds = 3, think_time_us = 9 } } }
  end, 3 },
  { "call of sim:at", nil, function(f)
    return {}, function(sim)
      for i = 1, 8 do sim:at(100000 + i, f) end
    end
  end },
  { "preemption", 1, function(f)
    return { preemption = function(running) return f() and #running end,
      cluster = { instances = 2, kv_blocks = 9 },
      workload = { rate = 500, requests = 8, prompt_tokens = 40, output_tokens = 60 } }
  end },
}

local function tiny(changes)
  local spec = { cluster = { instances = 2, max_num_seqs = 1 },
    workload = { rate = 500, requests = 8, prompt_tokens = 40, output_tokens = 4 } }
  for key, value in pairs(changes) do spec[key] = value end
  return spec
end

describe("an error in a hook", function()
  --- A simulation with the hook in it.
  local function build(make, hook)
    local changes, prepare = make(hook)
    local sim = blis.simulation(tiny(changes))
    if prepare then prepare(sim) end
    return sim
  end

  for _, point in ipairs(points) do
    local name, value, make, least = table.unpack(point, 1, 4)
    it(("of %s at any call stops the run and breaks nothing"):format(name), function()
      local count, calls = failing_at(0, value)
      local whole = build(make, count):run()
      assert.is_true(calls() >= (least or 8), name .. ": " .. calls() .. " calls")
      if not least then assert.equal(8, whole.completed) end
      for n = 1, calls() do
        local sim = build(make, (failing_at(n, value)))
        local first = small.error_of(sim.run, sim)
        assert.equal("policy", first.code)
        assert.equal("call " .. n .. " failed", first.cause)
        assert.equal(first, small.error_of(sim.run, sim))
        assert.equal(first, small.error_of(sim.step, sim))
        assert.is_true(sim.now_us >= 0 and sim.injected >= 1)
        assert.equal(2, #sim.instances)
        says(tostring(sim), "simulation")
        sim:close()
      end
    end)
  end

  it("names policy, request, time, place, and where it came from", function()
    local function helper(request)
      return request.prompt_tokens + nil
    end
    local function score(request)
      local sum = helper(request)
      return sum
    end
    local scorer = blis.scorer { name = "least-x", score = score }
    local problem = small.error_of(small.run_scorer, scorer)
    assert.equal("policy", problem.code)
    assert.equal("scorer 'least-x'", problem.policy)
    assert.equal("request_0", problem.request)
    assert.equal("integer", math.type(problem.time_us))
    local expected = ("scorer 'least-x', request_0, at %d us: "):format(problem.time_us)
    assert.equal(expected, problem.message:sub(1, #expected))
    assert.is_truthy(problem.message:find("failure_spec.lua:%d+: attempt to perform arithmetic"))
    says(problem.traceback, "helper")
    says(tostring(problem), "stack traceback")
  end)

  it("has no address in its text", function()
    for _, value in ipairs { {}, print, coroutine.create(print) } do
      local scorer = blis.scorer { name = "x", score = function() error(value) end }
      local message = small.error_of(small.run_scorer, scorer).message
      says(message, ("error() was called with a %s instead of a message"):format(type(value)))
      assert.is_nil(message:find "0x")
    end
    local shown = setmetatable({}, { __tostring = function() return "of mine" end })
    local scorer = blis.scorer { name = "x", score = function() error(shown) end }
    says(small.error_of(small.run_scorer, scorer).message, "us: of mine")
  end)

  it("names the policy even when its text cannot be had", function()
    local function message_with(tostring_of_it)
      local value = setmetatable({}, { __tostring = tostring_of_it })
      local scorer = blis.scorer { name = "x", score = function() error(value) end }
      return small.error_of(small.run_scorer, scorer).message
    end
    local start = "^scorer 'x', request_0, at %d+ us: error%(%) was called with a table whose "
      .. "__tostring failed"
    assert.is_truthy(message_with(function() error("no", 0) end):find(start .. " %(no%)$"))
    assert.is_truthy(message_with(function() return {} end):find(start))
    assert.is_truthy(message_with(function() error {} end):find(start .. "$"))
  end)

  it("has one traceback, from the innermost of runs within runs", function()
    local function innermost() error("deep down", 0) end
    local score = function() innermost() end
    for depth = 1, 3 do
      local inner = score
      local scorer = blis.scorer { name = "level-" .. depth, score = inner }
      score = function() small.run_scorer(scorer) end
    end
    local problem = small.error_of(score)
    says(problem.message, "scorer 'level-3', request_0, at ")
    says(problem.message, "scorer 'level-1', request_0, at ")
    says(problem.message, "us: deep down")
    local text, count = tostring(problem):gsub("stack traceback:", "")
    assert.equal(1, count)
    says(text, "innermost")
  end)

  it("has a traceback of functions with names alone", function()
    local function inner(instance) return instance.nix end
    local scorer = blis.scorer { name = "mine", score = function(_, instance)
      return inner(instance)
    end }
    local text = small.error_of(small.run_scorer, scorer).traceback
    says(text, "failure_spec.lua:")
    for _, noise in ipairs { "[C]: in ?", "(...tail calls...)", "(blis" } do
      assert.is_nil(text:find(noise, 1, true), text)
    end
  end)

  it("names a follow-up as results do", function()
    local seen = {}
    local spec = { workload = { requests = 6, sessions = { max_rounds = 3, think_time_us = 5 } },
      on_completion = function(request) seen[request.id] = true end }
    for _, request in ipairs(blis.run(spec).requests) do
      assert.is_true(seen[request.id], request.id)
    end
    function spec.on_completion(request)
      if request.round_index > 0 then error("no", 0) end
    end
    local problem = small.error_of(blis.run, spec)
    assert.is_truthy(problem.request:find "^session_.+_round_1_%d+$", problem.request)
    says(problem.message, ("on_completion, %s, at "):format(problem.request))
  end)

  it("is the value that was raised", function()
    local value = { "mine" }
    local scorer = blis.scorer { name = "x", score = function() error(value) end }
    local problem = small.error_of(small.run_scorer, scorer)
    assert.equal(value, problem.cause)
  end)

  it("names the candidate without a proper score", function()
    local function message(score)
      return small.message_of(small.run_scorer, blis.scorer { name = "odd", score = score })
    end
    local nan = message(function(_, instance) return instance.index == 2 and 0 / 0 or 1 end)
    assert.is_truthy(nan:find("^scorer 'odd', request_0, at %d+ us: "), nan)
    says(nan, "instance_1 is not a number (nan)")
    says(message(function() end), "instance_0 is nil, expected a number")
    says(message(function() return "1" end), "is the string '1', expected a number")
    local missing = small.message_of(small.run_scorer, blis.scorer { name = "odd",
      score_all = function(_, _, scores) scores[1] = 1 end })
    says(missing, "set no score for instance_1 (scores[2])")
    local column = small.message_of(small.run_scorer, blis.scorer { name = "odd", columns = true,
      score = function(_, c) return c.index and 1 or c.queue_depth / 0 end })
    says(column, "no field 'index'")
    local nan_column = small.message_of(small.run_scorer, blis.scorer {
      name = "odd", columns = true, score = function(_, c) return c.queue_depth / 0 end })
    says(nan_column, "instance_0 is not a number")
  end)

  it("may be a stack overflow or a yield", function()
    local function forever() return 1 + forever() end
    local deep = blis.scorer { name = "deep", score = forever }
    local message = small.message_of(small.run_scorer, deep)
    says(message, "stack overflow")
    local thread = coroutine.wrap(function()
      local lazy = blis.scorer { name = "lazy", score = coroutine.yield }
      return small.message_of(small.run_scorer, lazy)
    end)
    says(thread(), "yield across a C-call boundary")
  end)
end)

describe("what a hook is given", function()
  it("tells which field was meant", function()
    local function message(score)
      return small.message_of(small.run_scorer, blis.scorer { name = "x", score = score })
    end
    says(message(function(r) return r.promt_tokens end), "did you mean 'prompt_tokens'?")
    says(message(function(_, i) return i.queue_dept end), "did you mean 'queue_depth'?")
    says(message(function(_, i) return i.kv_util end), "did you mean 'kv_utilization'?")
    says(message(function(_, i) return i.zzzzzz end), "'blis help signals' lists its fields")
    says(message(function(r) return r.zzzzzz end), "'blis help Request' lists its fields")
  end)

  it("can be kept, but not read for the first time when the decision is over", function()
    local request, instance
    small.run_scorer(blis.scorer { name = "x", score = function(r, i)
      request, instance = r, i
      return i.queue_depth >= 0 and 1
    end })
    says(small.message_of(function() return request.tenant end), "during a decision")
    says(small.message_of(function() return instance.batch_size end), "during a decision")
    assert.equal("number", type(instance.queue_depth))
  end)

  it("survives fields being written and deleted", function()
    local result = small.run_scorer(blis.scorer { name = "x", score = function(r, i)
      local score = 1 / (1 + i.in_flight + r.prompt_tokens)
      i.in_flight, r.prompt_tokens, r.mine = nil, nil, 1
      return score
    end })
    assert.equal(60, result.completed)
  end)
end)
