-- What policies are told of the traffic: by tenant, and of all.
local blis = require "blis"

local workload = { rate = 50, requests = 300 }

--- Traffic of three tenants, with prefixes of their own; request by request.
local function traffic()
  local rng, at_us, n = blis.rng(3, "tenants"), 0, 0
  return blis.workload(function()
    n = n + 1
    if n > workload.requests then return nil end
    at_us = at_us + math.floor(rng:exponential(1e6 / workload.rate))
    local tenant = ({ "a", "b", "" })[rng:integer(1, 3)]
    return { arrival_us = at_us, tenant = tenant, slo_class = "class of " .. tenant,
      output_tokens = 30,
      content = tenant ~= "" and { { "of " .. tenant, 64 }, 100 } or { 164 } }
  end)
end

--- What an observer counts, as the policies should be told.
local function counts()
  local times, made = {}, { requests = {}, active = {} }
  function made.arrived(request)
    made.requests[request.tenant] = (made.requests[request.tenant] or 0) + 1
    times[#times + 1] = { request.now_us, request.tenant }
  end
  function made.add_active(tenant, n) made.active[tenant] = (made.active[tenant] or 0) + n end
  function made.rate(now_us, tenant)
    local n = 0
    for _, one in ipairs(times) do
      local is_recent = one[1] > now_us - 10000000
      if is_recent and (not tenant or one[2] == tenant) then n = n + 1 end
    end
    return n / math.min(10, now_us / 1e6)
  end
  return made
end

describe("the state of tenants", function()
  for _, engine in ipairs { "fast", "stepwise" } do
    it("is what has come and not gone, in admission, routing and priority: " .. engine, function()
      local made, asked = counts(), { admission = 0, routing = 0, priority = 0 }
      local function check(request, where)
        asked[where] = asked[where] + 1
        assert.equal(made.requests[request.tenant], request.tenant_requests)
        assert.equal(made.active[request.tenant] or 0, request.tenant_active)
        assert.is_near(made.rate(request.now_us, request.tenant), request.tenant_rate, 1e-9)
        assert.is_near(made.rate(request.now_us), request.request_rate, 1e-9)
        local names = 0
        for name, state in pairs(request.tenants) do
          names = names + 1
          assert.equal(made.requests[name], state.requests)
          assert.equal(made.active[name] or 0, state.active)
          assert.is_near(made.rate(request.now_us, name), state.rate, 1e-9)
          assert.equal("class of " .. name, state.slo_class)
        end
        for _ in pairs(made.requests) do names = names - 1 end
        assert.equal(0, names)
      end
      local r = blis.run {
        cluster = { instances = 2, engine = engine }, workload = traffic(),
        priority = function(request)
          made.arrived(request)
          check(request, "priority")
          return 0
        end,
        admission = function(request)
          check(request, "admission")
          if request.tenant_active > 5 then return "reject", "too many" end
          made.add_active(request.tenant, 1)
          return "admit"
        end,
        routing = function(request)
          check(request, "routing")
          return 1 + request.tenant_requests % 2
        end,
        on_completion = function(request) made.add_active(request.tenant, -1) end,
      }
      assert.equal(300, asked.admission)
      assert.equal(300, asked.priority)
      assert.equal(r.completed, asked.routing)
      assert.is_true(r.rejected > 0 and r.completed > 100)
    end)
  end

  it("does not count a delayed request twice", function()
    local most, delays = 0, {}
    blis.run { workload = { rate = 20, requests = 100, tenant = "a" },
      admission = function(request)
        most = math.max(most, request.tenant_requests)
        delays[request.id] = (delays[request.id] or 0) + 1
        if delays[request.id] == 1 then return blis.delay(1000) end
        return "admit"
      end }
    assert.equal(100, most)
  end)

  it("comes with a hash of the prefix", function()
    local hashes, count = {}, 0
    blis.run { workload = traffic(), routing = function(request)
      local hash = request.prefix_hash
      assert.equal("integer", math.type(hash))
      assert.equal(request.tenant == "", hash == 0)
      hashes[request.tenant] = hashes[request.tenant] or hash
      assert.equal(hashes[request.tenant], hash)
      count = count + 1
      return 1
    end }
    assert.equal(300, count)
    assert.not_equal(hashes.a, hashes.b)
  end)
end)
