local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("an admission policy", function()
  local function run(admission, changes)
    local spec = small.experiment(changes)
    spec.admission = admission
    return blis.run(spec)
  end

  it("admits, and rejects with a reason", function()
    local result = run(function(request)
      if request.id:find("1$") then return blis.reject "ends in one" end
      return blis.admit()
    end)
    assert.equal(6, result.rejected)
    assert.equal(54, result.completed)
    assert.equal("rejected", result.requests[2].state)
    assert.equal("ends in one", result.requests[2].reason)
    says(tostring(result), "60 arrived = 54 completed + 6 rejected")
  end)

  it("by name takes a table of numbers as a parameter", function()
    local function of(quota)
      local traffic = { rate = 40, requests = 60, prompt_tokens = 200, output_tokens = 20,
        tenant = "a" }
      return run({ "tenant-quota", quota = quota }, { workload = traffic })
    end
    assert.equal(60, of({}).completed)
    assert.equal(60, of({ b = 1 }).completed)
    local few, fewer = of({ b = 9, a = 6 }), of({ a = 2 })
    assert.is_true(few.rejected > 0 and fewer.rejected > few.rejected)
    says(small.message_of(of, { a = -1 }), "expected a table of numbers by name, each from 0 to")
    says(small.message_of(of, { 5 }), "admission tenant-quota.quota: invalid value of type table")
  end)

  it("may answer with true and false", function()
    assert.equal(60, run(function() return true end).completed)
    assert.equal(60, run(function() return false end).rejected)
  end)

  it("delays", function()
    local asked = {}
    local result = run(function(request)
      asked[request.id] = (asked[request.id] or 0) + 1
      if asked[request.id] < 3 then return blis.delay(blis.milliseconds(10)) end
      return blis.admit()
    end)
    assert.equal(60, result.completed)
    assert.equal(3, asked.request_7)
    assert.is_true(result.ttft_ms.min >= 20)
  end)

  it("sees the cluster as a whole", function()
    local checked = 0
    run(function(_, cluster)
      local sum, most = 0, 0
      for _, instance in ipairs(cluster.instances) do
        sum, most = sum + instance.in_flight, math.max(most, instance.in_flight)
      end
      assert(cluster.sum_in_flight == sum and cluster.max_in_flight == most)
      assert(cluster.mean_in_flight == sum / 3 and cluster.min_in_flight <= most)
      assert(math.type(cluster.now_us) == "integer")
      checked = checked + 1
      return true
    end)
    assert.equal(60, checked)
  end)

  it("must answer rightly", function()
    local cases = {
      { function() end, "expected blis.admit()" },
      { function() return "maybe" end, "it returned the string 'maybe'" },
      { function() return blis.delay(0) end, "a whole number of microseconds above 0" },
      { function() return blis.delay() end, "a whole number of microseconds above 0" },
      { function() return blis.reject {} end, "the reason is a table, expected a string" },
      { function(_, cluster) return cluster.mean_queue_dept end, "such as queue_depth" },
      { function(request) return request.prompt_tokns end, "did you mean 'prompt_tokens'?" },
    }
    for _, case in ipairs(cases) do
      local message = small.message_of(run, case[1])
      says(message, case[2])
    end
  end)
end)

describe("a scheduler", function()
  local crowd = { cluster = { max_num_seqs = 2 },
    workload = { rate = 1000, requests = 40, prompt = { "exponential", mean = 300 },
      output_tokens = 20 } }

  local function run(scheduler)
    local spec = small.experiment(crowd)
    spec.scheduler = scheduler
    return blis.run(spec)
  end

  it("can be one of the built-in ones", function()
    assert.not_equal(run("fcfs").hash, run("sjf").hash)
    assert.equal(run("fcfs").hash, run(nil).hash)
  end)

  it("can be a function, and orders as the built-in one does", function()
    local scripted = run(function(a, b) return a.prompt_tokens < b.prompt_tokens end)
    assert.equal(run("sjf").ttft_ms.mean, scripted.ttft_ms.mean)
  end)

  it("must answer with true or false, and knows its fields", function()
    says(small.message_of(run, function() return 1 end), "expected true or false")
    says(small.message_of(run, function(a) return a.tokens < 1 end), "no field 'tokens'")
  end)
end)
