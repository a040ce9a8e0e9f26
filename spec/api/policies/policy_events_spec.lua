local blis = require "blis"
local old_defaults = require "spec.support.old_defaults"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

local function first(_, instances) return #instances > 0 and 1 end

--- A small run with a routing policy of these fields.
local function run(fields, changes)
  fields.name = fields.name or "probe"
  fields.route = fields.route or first
  local spec = small.experiment(changes)
  spec.routing = blis.router(fields)
  return blis.run(spec)
end

--- How often each of these kinds of events came, and what was seen of each by the function.
local function count(events, changes, see)
  local counts = {}
  local result = run({
    events = events,
    on_event = function(event, instances)
      counts[event.kind] = (counts[event.kind] or 0) + 1
      if see then see(event, instances) end
    end,
  }, changes)
  return counts, result
end

local all = { "request_arrival", "prefill_complete", "token_generated", "request_complete",
  "request_rejected", "request_failed", "batch_schedule", "kv_transfer_start",
  "kv_transfer_complete" }

local pools = { instances = 4, prefill_instances = 2, decode_instances = 2 }

describe("on_event", function()
  it("hears of what is listed, and of nothing else", function()
    local counts, result = count { "prefill_complete", "request_complete" }
    assert.same({ prefill_complete = 60, request_complete = 60 }, counts)
    assert.equal(60, result.completed)
    counts = count { "request_arrival" }
    assert.same({ request_arrival = 60 }, counts)
  end)

  it("hears of every token in order, and of every batch", function()
    local next_token, batches, last_us = {}, {}, 0
    local counts, result = count({ "token_generated", "batch_schedule", "request_complete" }, nil,
      function(event, instances)
        assert.is_true(event.time_us >= last_us)
        last_us = event.time_us
        if event.kind == "token_generated" then
          local id = event.request.id
          assert.equal(next_token[id] or 1, event.token)
          next_token[id] = event.token + 1
          assert.equal(instances[1].id, event.instance.id)
        elseif event.kind == "batch_schedule" then
          assert.is_nil(event.request)
          assert.is_true(event.batch_size >= 1 and event.batch_size <= 60)
          batches[#batches + 1] = event.batch_size
        else
          assert.equal(21, next_token[event.request.id])
          assert.is_nil(event.token)
        end
      end)
    assert.equal(60 * 20, counts.token_generated)
    assert.equal(result.output_tokens, counts.token_generated)
    assert.equal(result.steps, #batches)
  end)

  it("changes nothing, whatever it hears of and with whatever engine", function()
    for _, profile in ipairs { "design", "go-blis" } do
      for _, cluster in ipairs { { instances = 3 }, pools,
        { instances = 3, kv_blocks = 40, max_num_seqs = 8 } } do
        local changes = { cluster = cluster, profile = profile }
        local plain = run({}, changes)
        local counts, heard = count(all, changes)
        assert.equal(plain.hash, heard.hash)
        assert.equal(plain.steps, heard.steps)
        assert.equal(heard.arrived, counts.request_arrival)
        assert.equal(heard.completed, counts.request_complete)
      end
    end
  end)

  it("hears of KV that moves, from where to where", function()
    local stages = {}
    local counts = count(all, { cluster = pools }, function(event)
      if not event.request then return end
      local seen = stages[event.request.id] or {}
      stages[event.request.id] = seen
      if event.kind ~= "token_generated" then seen[#seen + 1] = event.kind end
      if event.kind == "kv_transfer_start" then
        seen.from, seen.to = event.instance.id, event.to.id
      elseif event.kind == "kv_transfer_complete" then
        assert.same({ seen.from, seen.to }, { event.instance.id, event.to.id })
        assert.is_true(event.instance.index <= 2 and event.to.index > 2)
      elseif event.kind == "prefill_complete" then
        assert.is_true(event.instance.index <= 2)
      end
    end)
    assert.equal(60, counts.kv_transfer_start)
    assert.equal(60 * 20, counts.token_generated)
    for _, seen in pairs(stages) do
      seen.from, seen.to = nil, nil
      assert.same({ "request_arrival", "prefill_complete", "kv_transfer_start",
        "kv_transfer_complete", "request_complete" }, seen)
    end
  end)

  it("is shown instances as they are: their state, and how fast they are", function()
    local seen, states = 0, {}
    count({ "prefill_complete" }, { cluster = { instances = 2, latency_model = "piecewise" } },
      function(event, instances)
        local at = event.instance
        -- RouteSim's throughput: 80 tokens/s of one, 3,200 of 64, a straight line between them.
        local line = at.batch_size == 0 and 0 or 80 + (at.batch_size - 1) / 63 * 3120
        assert.near(line, at.tokens_per_sec, 0.01 * line)
        seen = seen + (at.batch_size > 1 and 1 or 0)
        for _, one in ipairs(instances) do states[one.state] = true end
      end)
    assert.is_true(seen > 20)
    assert.same({ active = true }, states)
  end)

  it("hears why requests were rejected or lost", function()
    local reasons = {}
    local function see(event) reasons[event.reason] = (reasons[event.reason] or 0) + 1 end
    local counts = count({ "request_rejected" }, { admission = "reject-all" }, see)
    assert.equal(60, counts.request_rejected)
    reasons = {}
    counts = count({ "request_failed" }, { workload = { rate = 400, requests = 60,
      prompt_tokens = 200, output_tokens = 200, timeout_us = 500000 } }, see)
    assert.is_true(counts.request_failed > 0)
    assert.same({ timed_out = counts.request_failed }, reasons)
  end)

  it("can be of any policy that decides about a request", function()
    local heard = {}
    local function listening(name, fields)
      fields.name, fields.events = name, { "request_complete" }
      fields.on_event = function() heard[name] = (heard[name] or 0) + 1 end
      return fields
    end
    blis.run(small.experiment {
      admission = listening("guard", { decide = function() return true end }),
      routing = { "weighted", scorers = {
        { blis.scorer(listening("scorer", { score = function() return 1 end })), 1 } },
        filters = { listening("filter", { keep = function() return true end }) },
        picker = listening("picker", { pick = first }) },
    })
    assert.same({ guard = 60, scorer = 60, filter = 60, picker = 60 }, heard)
  end)

  it("starts afresh in every run where it is made for it", function()
    local made = blis.router {
      name = "counting",
      new = function()
        local seen = 0
        return {
          route = first, events = { "request_complete" },
          on_event = function() seen = seen + 1 end,
          custom_metrics = function() return { seen = seen } end,
        }
      end,
    }
    for _ = 1, 2 do
      local result = blis.run(small.experiment { routing = made })
      assert.equal(60, result.custom_metrics.seen)
    end
  end)

  it("starts afresh once in a run, whose stages share what it remembers", function()
    local made, stages = 0, {}
    local seen = {
      name = "seen",
      new = function()
        made = made + 1
        local asked = 0
        return {
          route = function(_, _, context)
            asked = asked + 1
            stages[context.stage] = true
            return 1
          end,
          events = { "request_complete" },
          on_event = function() asked = asked + 1 end,
          custom_metrics = function() return { seen = asked } end,
        }
      end,
    }
    local kept = {
      name = "kept",
      new = function()
        return { keep = function() return true end,
          custom_metrics = function() return { kept = 1 } end }
      end,
    }
    local result = blis.run(small.experiment { cluster = pools, routing = seen })
    assert.same({ 1, { prefill = true, decode = true } }, { made, stages })
    assert.equal(3 * 60, result.custom_metrics.seen)
    assert.equal(result.hash,
      blis.run(small.experiment { cluster = pools, routing = blis.router(seen) }).hash)
    result = blis.run(small.experiment { cluster = pools, routing = { "weighted",
      filters = { kept }, scorers = { { "queue-depth", 1 } } } })
    assert.equal(1, result.custom_metrics.kept)
  end)

  it("is described rightly, or the error says how", function()
    local function error_of(fields) return message_of(run, fields) end
    says(error_of { events = { "prefil_complete" }, on_event = print },
      "router.events[1]: unknown event 'prefil_complete'; did you mean 'prefill_complete'?")
    says(error_of { events = { 3 }, on_event = print }, "router.events[1]: invalid value 3")
    says(error_of { events = "x", on_event = print }, "router.events: invalid value 'x'")
    says(error_of { events = {}, on_event = print }, "router.events: empty list: expected a list")
    says(error_of { events = { request_arrival = true }, on_event = print },
      "router.events: unexpected key 'request_arrival': expected a list")
    says(error_of { events = { "request_arrival", [3] = "batch_schedule" }, on_event = print },
      "unexpected key 3: expected a list")
    says(error_of { events = { "request_arrival", "request_arrival" }, on_event = print },
      "router.events[2]: 'request_arrival' is a duplicate of [1]")
    says(error_of { events = { "token_generated" }, on_event = function(e) return e.tokn end },
      "an event has no field 'tokn'; did you mean 'token'?")
    says(error_of { name = "two\nlines" }, "router.name: invalid value 'two\\x0alines'")
    says(error_of { on_event = print }, "on_event requires events")
    says(error_of { events = { "request_arrival" } }, "on_event requires events")
    says(error_of { events = { "request_arrival" }, on_event = 3 }, "router.on_event")
    local failing = error_of { events = { "batch_schedule" }, on_event = function() error "no" end }
    says(failing, "routing policy 'probe'")
    says(failing, "no")
    local about = error_of { events = { "prefill_complete" }, on_event = function() error "no" end }
    says(about, "request_0")
  end)
end)

describe("what a routing policy in Lua returns", function()
  it("may be a rejection", function()
    local result = run { route = function(request, instances)
      if request.round_index == 0 and tonumber(request.id:match "%d+") % 2 == 1 then
        return blis.reject "odd"
      end
      return #instances
    end }
    assert.equal(30, result.rejected)
    assert.equal(30, result.completed)
    assert.equal("odd", result.requests[2].reason)
    local plain = run { route = function() return blis.reject() end }
    assert.equal("rejected-by-routing", plain.requests[1].reason)
    assert.equal("rejected-by-routing",
      run({ route = function() return blis.reject "" end }).requests[1].reason)
  end)

  it("may be a rejection for a long reason, which is cut between two characters", function()
    for _, character in ipairs { "a", "\u{e4}", "\u{20ac}", "\u{1f600}" } do
      for before = 0, 3 do
        local text = ("x"):rep(before) .. character:rep(130)
        local reason = run({ route = function() return blis.reject(text) end }).requests[1].reason
        assert.equal(text:sub(1, #reason), reason)
        assert.is_true(#reason > 127 - #character and #reason <= 127)
        assert.is_truthy(utf8.len(reason))
        local refused = blis.run(small.experiment { admission = {
          name = "guard", decide = function() return blis.reject(text) end } })
        assert.equal(reason, refused.requests[1].reason)
      end
    end
  end)

  it("may have a priority behind it, which the instance goes by", function()
    local function late_first(request, instances)
      return #instances, tonumber(request.id:match "%d+")
    end
    local changes = {
      cluster = old_defaults.pinned { instances = 1, max_num_seqs = 1,
        scheduler = "priority-fcfs" },
      workload = { rate = 4000, requests = 20, prompt_tokens = 200, output_tokens = 5 },
    }
    local result = run({ route = late_first }, changes)
    local starts = {}
    for i, request in ipairs(result.requests) do
      assert.equal(i - 1, request.priority)
      starts[i] = request.arrival_us + request.scheduling_delay_us
    end
    for i = 3, 19 do assert.is_true(starts[i] > starts[i + 1]) end
  end)

  it("may have a priority behind it in every stage, of which the last one asked holds", function()
    for order, last in pairs { ["decode-first"] = "prefill", ["prefill-first"] = "decode" } do
      local result = run({ route = function(request, instances, context)
        return #instances, context.stage == last and tonumber(request.id:match "%d+") or 3
      end }, { cluster = pools, disaggregation = { decider = "always", stage_order = order } })
      assert.equal(60, result.completed)
      for i, request in ipairs(result.requests) do assert.equal(i - 1, request.priority) end
    end
  end)

  it("is told to observe, with who was chosen", function()
    local seen = {}
    local result = run {
      route = function(_, instances) return #seen % #instances + 1 end,
      observe = function(request, chosen)
        seen[#seen + 1] = { request.id, chosen.index }
      end,
    }
    assert.equal(60, #seen)
    for i, request in ipairs(result.requests) do
      assert.same({ request.id, (i - 1) % 3 + 1 }, seen[i])
      assert.equal("instance_" .. (i - 1) % 3, request.instance)
    end
  end)

  it("is an error when it is anything else", function()
    local function error_of(...)
      local given = table.pack(...)
      return message_of(run, { route = function() return table.unpack(given, 1, given.n) end })
    end
    says(error_of "later", "from 1 to 3, or blis.reject(reason)")
    says(error_of("reject", 3), "the reason is a number, expected a string")
    says(error_of("reject", "a\0b"), "the reason has a zero byte in it")
    says(error_of(1, "high"), "its second result is")
    says(error_of(1, 0 / 0), "higher is more urgent")
    says(error_of(nil), "expected the index of a candidate")
    says(error_of(false), "expected the index of a candidate")
  end)
end)

describe("custom metrics of policies", function()
  it("are in results, in files of results, and in the summary", function()
    local given = { ["load.most"] = 2.5, asked = 60 }
    local result = run { custom_metrics = function() return given end }
    assert.same(given, result.custom_metrics)
    says(tostring(result), "asked = 60")
    local written = require("blis.results.json").text { result = result }
    assert.same(given, require("blis.core").json_read(written, "result").custom_metrics)
    local figures = require "blis.results.figures"
    local figure, value = figures.find("custom_metrics.load.most", result)
    assert.same({ "load.most", 2.5 }, { figure.name, value })
    assert.is_nil(select(2, figures.find("custom_metrics.other", result)))
    local path = os.tmpname()
    result:save(path)
    assert.same(result.custom_metrics, blis.load_result(path).custom_metrics)
    os.remove(path)
    says(message_of(function() return run({}).custom_metrics end),
      "requires custom_metrics")
  end)

  it("are numbers by names that no other policy has", function()
    local function error_of(returned)
      return message_of(run, { custom_metrics = function() return returned end })
    end
    says(error_of(3), "custom_metrics returned 3, expected { name = number, ... }")
    says(error_of { a = "x" }, "'a' is")
    says(error_of { a = 1 / 0 }, "expected a finite number")
    says(error_of { 7 }, "expected a string")
    says(error_of { [""] = 1 }, "a metric is named by the string '', expected a string of 1 to 200")
    says(error_of { ["a\nb"] = 1 }, "the string 'a\\x0ab', expected a string of 1 to 200 bytes")
    says(error_of { [("x"):rep(201)] = 1 }, "a metric is named by a long string")
    local guard = {
      name = "guard", decide = function() return true end,
      custom_metrics = function() return { same = 2 } end,
    }
    says(message_of(run, { custom_metrics = function() return { same = 1 } end },
      { admission = guard }), "two policies have a metric 'same'")
  end)
end)
