-- Traces of decisions, pins and regret where prefill and decode are apart.
local blis = require "blis"

local function spec_of(changes)
  local spec = {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", prefill_instances = 2,
      decode_instances = 2 },
    disaggregation = { prefill_routing = { "weighted", scorers = { { "queue-depth", 1 } } } },
    workload = { rate = 40, requests = 40, prompt_tokens = 400, output_tokens = 20 },
    routing = { "weighted", scorers = { { "kv-utilization", 2 }, { "load-balance", 1 } } },
    trace_level = "decisions",
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return spec
end

--- Decisions by kind and stage.
local function sorted_out(decisions)
  local by = {}
  for i = 1, #decisions do
    local decision = decisions[i]
    local key = decision.stage or decision.kind
    by[key] = by[key] or {}
    table.insert(by[key], decision)
  end
  return by
end

local function decider_of(fn)
  return { decider = blis.disaggregation { name = "mine", decide = fn } }
end

describe("decisions of stages", function()
  it("have a trace of both, with the scorers of each", function()
    local result = blis.run(spec_of())
    local by = sorted_out(result.decisions)
    assert.are.equal(40, #by.decode)
    assert.are.equal(40, #by.prefill)
    assert.are.equal("always", by.disaggregation[1].reason)
    for i, record in ipairs(result.requests) do
      local decode, prefill = by.decode[i], by.prefill[i]
      assert.are.equal(record.instance, decode.chosen)
      assert.are.equal(record.prefill_instance, prefill.chosen)
      assert.are.equal(2, #decode.candidates)
      assert.is_number(decode.candidates[1].scores["kv-utilization"])
      assert.is_nil(decode.candidates[1].scores["queue-depth"])
      assert.is_number(prefill.candidates[1].scores["queue-depth"])
      assert.is_nil(prefill.candidates[1].scores["kv-utilization"])
    end
    assert.are.same({ { name = "queue-depth", weight = 1.0 } }, result.decisions:scorers("prefill"))
    assert.are.equal(2, #result.decisions:scorers())
    assert.are.equal(80, result.decisions:summary().routed)
  end)

  it("have what a decider says", function()
    local spec = spec_of()
    spec.disaggregation = decider_of(function(request, context)
      if tonumber(request.id:match "%d+") % 2 == 0 then return "local" end
      return { prefill = context.prefill[1], decode = context.decode[2] }
    end)
    local by = sorted_out(blis.run(spec).decisions)
    assert.are.equal(40, #by.disaggregation)
    assert.is_nil(by.prefill) -- no policy was asked
    for i, decision in ipairs(by.disaggregation) do
      local is_split = i % 2 == 0
      assert.are.equal("mine", decision.reason)
      assert.are.equal(is_split and "split" or "local", decision.verdict)
      assert.are.equal(is_split and "instance_0" or nil, decision.prefill)
      assert.are.equal(is_split and "instance_3" or by.decode[i].chosen, decision.instance)
    end
  end)

  it("keep the scores of a choice when the decider has the same policy asked again", function()
    local spec = spec_of {
      disaggregation = { decider = { "dynamo.conditional-disagg", policy = "prefill_load" } } }
    local function scores(result)
      local list = {}
      for _, decision in ipairs(sorted_out(result.decisions).decode) do
        for _, candidate in ipairs(decision.candidates) do
          list[#list + 1] = candidate.instance .. " " .. candidate.scores["load-balance"]
        end
      end
      return list
    end
    for _, one in ipairs(scores(blis.run(spec))) do
      assert.truthy(one:find("^instance_[23] ")) -- those that decode
    end
  end)

  it("are not traced under go-blis where requests are split", function()
    local spec = spec_of { profile = "go-blis", disaggregation = { decider = "always" } }
    local by = sorted_out(blis.run(spec).decisions)
    assert.is_nil(by.prefill)
    assert.is_nil(by.decode)
  end)

  it("can be pinned one by one", function()
    local sim <close> = blis.simulation(spec_of())
    sim:pin("request_7", "instance_1", "prefill"):pin("request_7", "instance_2", "decode")
    local record = sim:run().requests[8]
    assert.are.equal("instance_1", record.prefill_instance)
    assert.are.equal("instance_2", record.instance)
    local other <close> = blis.simulation(spec_of())
    other:pin("request_7", "instance_0", "prefill"):pin("request_7", "instance_3")
    record = other:run().requests[8]
    assert.are.equal("instance_0", record.prefill_instance)
    assert.are.equal("instance_3", record.instance)
    local none <close> = blis.simulation {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2 },
      workload = { rate = 1, requests = 1 } }
    assert.has_error(function() none:pin("request_0", "instance_0", "prefill") end)
  end)

  it("names the stages that it knows", function()
    local sim <close> = blis.simulation(spec_of())
    assert.error_matches(function() sim:pin("request_7", "instance_1", "foo") end,
      "invalid value 'foo': expected one of any, prefill, decode")
    local decisions = sim:run().decisions
    assert.error_matches(function() decisions:scorers("foo") end,
      "invalid value 'foo': expected one of decode, prefill")
  end)

  it("have regrets", function()
    local spec = spec_of()
    spec.trace_level = nil
    local found = blis.regret { experiment = spec, decisions = { "request_3" }, continuations = 2 }
    assert.are.equal(2, #found.decisions)
    assert.are.equal("decode", found.decisions[1].stage)
    assert.are.equal("prefill", found.decisions[2].stage)
    for _, one in ipairs(found.decisions) do assert.are.equal(1, #one.alternatives) end
    assert.truthy(tostring(found):find("request_3 (prefill)", 1, true))
  end)
end)
