local blis = require "blis"
local files = require "spec.support.files"

--- The warnings of the page of a result or comparison, one each.
local function warnings_of(shown)
  local list
  files.with(nil, function(path)
    shown:report(path)
    local section = files.read(path):match '<section [^>]*id="notes">.-</section>'
    list = {}
    for item in section:gmatch "<li>(.-)</li>" do list[#list + 1] = item end
    if #list == 0 then assert.truthy(section:find("None.", 1, true)) end
  end, ".html")
  return list
end

local function run(changes)
  local spec = { cluster = { instances = 2 }, workload = { rate = 5, requests = 50 } }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

local function has(list, wanted)
  for _, text in ipairs(list) do
    if text:find(wanted, 1, true) then return true end
  end
  return false
end

describe("warnings of pages", function()
  -- One slow instance that is sent twice of what it can do.
  local overloaded = { cluster = { instances = 1, max_num_seqs = 4 },
    workload = { rate = 20, requests = 400, prompt_tokens = 200, output_tokens = 50 } }

  it("are none of a run in which all is well", function()
    assert.same({}, warnings_of(run { workload = { rate = 2, requests = 100 } }))
    assert.same({}, warnings_of(run { workload = { rate = 5, requests = 1000 } }))
  end)

  it("say that no request completed, and why", function()
    local code = "nothing-served (invalid): "
    assert.same({ code .. "no request completed: of 50 that arrived, 50 timed out" },
      warnings_of(run { workload = { rate = 5, requests = 50, timeout_us = 10000 } }))
    assert.same({ code .. "no request completed: of 50 that arrived, 50 rejected" },
      warnings_of(run { admission = "reject-all" }))
    assert.same({ code .. "no request arrived, so there is nothing to measure. The run lasted "
      .. "0.000 s; check horizon and rate." },
      warnings_of(run { workload = { rate = 1, requests = 0, horizon_us = 1 } }))
  end)

  it("say how many requests did not complete, from one in twenty on", function()
    local function rejecting(every)
      local n = 0
      return run { workload = { rate = 5, requests = 400 }, admission = blis.admission {
        name = "some", decide = function()
          n = n + 1
          return every(n)
        end } }
    end
    assert.same({ "losses (warning): most requests did not complete: 202 of 400 requests (50.5 %) "
      .. "ended as rejected." }, warnings_of(rejecting(function(n) return n <= 198 end)))
    assert.same({ "losses (warning): 20 of 400 requests (5.0 %) ended as rejected." },
      warnings_of(rejecting(function(n) return n > 20 end)))
    assert.same({}, warnings_of(rejecting(function(n) return n > 19 end)))
  end)

  it("start with overload, which is not among the rest", function()
    local r = run(overloaded)
    assert.equal("OVERLOADED", r:saturation().final.composite)
    local list = warnings_of(r)
    assert.truthy(list[1]:find("overload (invalid): the queue grew by ", 1, true))
    assert.truthy(tostring(r):find("^verdict     invalid: overload\n  overload: the queue grew"))
    for i = 2, #list do assert.is_nil(list[i]:find("overload", 1, true), list[i]) end
  end)

  it("do not take long answers for a queue", function()
    local r = run { workload = { rate = 2, requests = 200, output_tokens = 1500 } }
    assert.equal("OVERLOADED", r:saturation().final.threshold)
    assert.is_false(has(warnings_of(r), "overload"))
  end)

  it("say that some waited far longer than the rest", function()
    local workload = { rate = 5, requests = 400, prompt_tokens = 100, output_tokens = 10 }
    assert.is_false(has(warnings_of(run { workload = workload }), "far longer"))
    -- Who comes while the only adapter is loaded, which is a quarter of all, waits for it.
    local r = run { workload = workload, cluster = { instances = 1,
      lora = { adapters = 1, slots = 1, load_base_latency_us = 20000000 } } }
    assert.is_true(r.ttft_ms.max > 20000)
    assert.is_true(has(warnings_of(r), "some requests waited far longer than the rest: the longest "
      .. "TTFT is 20,"))
  end)

  it("name the policies that they are about, and say once what is so for all", function()
    local spec = { cluster = { instances = 2 },
      workload = { rate = 5, requests = 50, timeout_us = 10000 } }
    spec.routing = { "round-robin", "least-loaded" }
    local list = warnings_of(blis.compare(spec))
    assert.equal("all: nothing-served (invalid): no request completed: of 50 that arrived, 50 "
      .. "timed out", list[1])
    spec.workload = { rate = 2, requests = 100 }
    spec.routing = { "round-robin", blis.router { name = "first",
      route = function() return 1 end } }
    list = warnings_of(blis.compare(spec))
    assert.equal(1, #list)
    assert.truthy(list[1]:find("first: imbalance (warning): 1 of 2 instances received no request",
      1, true))
  end)
end)
