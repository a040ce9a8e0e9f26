-- What policies know of the length of an output: max_tokens, where a client says it.
local blis = require "blis"

--- The limits that policies see in a run, by request: in admission, routing, queue, engine, events.
local function seen(options)
  local limits = {}
  local function note(where, id, limit)
    limits[id] = limits[id] or {}
    limits[id][where] = limit
  end
  local spec = {
    cluster = { instances = 2, max_num_seqs = 2 }, seed = 5,
    admission = { name = "note", decide = function(request)
      note("admission", request.id, request.max_output_tokens)
      return "admit"
    end },
    routing = { name = "note", route = function(request)
      note("routing", request.id, request.max_output_tokens)
      return 1
    end },
    priority = function(request)
      note("priority", request.id, request.max_output_tokens)
      return 0
    end,
    scheduler = { name = "note", goes_before = function(a, b)
      note("engine", a.id, a.max_output_tokens)
      note("engine", b.id, b.max_output_tokens)
      return a.arrival_us < b.arrival_us
    end },
    on_completion = function(request) note("end", request.id, request.max_output_tokens) end,
  }
  for key, value in pairs(options) do spec[key] = value end
  local result = blis.run(spec)
  assert.is_true(result.completed > 0)
  local by_id = {}
  for i = 1, #result.requests do
    by_id[result.requests[i].id] = result.requests[i].output_tokens
  end
  return limits, by_id
end

local function each(limits, check)
  local count = 0
  for id, places in pairs(limits) do
    for where, limit in pairs(places) do
      check(id, limit, where)
      count = count + 1
    end
  end
  assert.is_true(count > 20)
end

local function hidden(limits)
  each(limits, function(id, limit, where) assert.equal(0, limit, id .. " " .. where) end)
end

local varied = { "gaussian", mean = 60, std_dev = 30, min = 2, max = 200 }

describe("the limit of output tokens", function()
  it("is unknown where a workload has none, in every place that a policy looks at", function()
    hidden(seen { workload = { rate = 50, requests = 40, output = varied } })
  end)

  it("is unknown of what follows on answers", function()
    hidden(seen { workload = { rate = 20, requests = 30, output = varied,
      sessions = { max_rounds = 4, think_time_us = 1000 } } })
  end)

  it("is unknown where models answer at other lengths", function()
    local small, large = "qwen/qwen2.5-7b-instruct", "qwen/qwen3-14b"
    hidden(seen { workload = { rate = 20, requests = 30, output = varied },
      cascade = { name = "two", chain = { small, large },
        quality = function(_, model, _, tokens)
          return -1, model == small and tokens // 2 or nil
        end,
        escalate = function(_, attempt) return attempt.stage == 1 end },
      cluster = { groups = { { model = small }, { model = large } }, max_num_seqs = 2 },
      routing = "round-robin" })
  end)

  it("is what clients say, and no longer hides behind the length of others", function()
    local rows = {}
    for i = 1, 20 do
      rows[i] = { arrival_us = i * 1000, prompt_tokens = 50, output_tokens = 10 + i,
        max_output_tokens = i % 2 == 0 and 500 or nil }
    end
    local next_row = 0
    local limits = seen { workload = function()
      next_row = next_row + 1
      return rows[next_row]
    end }
    each(limits, function(id, limit, where)
      local number = tonumber(id:match "%d+") + 1
      assert.equal(number % 2 == 0 and 500 or 0, limit, id .. " " .. where)
    end)
  end)

  it("is the length where somebody asks for it, an oracle, and for profile go-blis", function()
    for _, options in ipairs { { hide_output_limits = false }, { oracle = true },
      { profile = "go-blis" } } do
      options.workload = { rate = 50, requests = 40, output = varied }
      local limits, lengths = seen(options)
      each(limits, function(id, limit, where)
        assert.equal(lengths[id], limit, id .. " " .. where)
      end)
    end
  end)

  it("changes no result of policies that do not look at it", function()
    local function hash(hides)
      return blis.run({ cluster = { instances = 2, kv_blocks = 300 }, hide_output_limits = hides,
        workload = { rate = 30, requests = 200, output = varied }, seed = 3 }).hash
    end
    assert.equal(hash(true), hash(false))
  end)
end)
