local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

--- The order in which requests that wait together are admitted to the batch of one instance.
local function order_of(rows, priority)
  local i, order = 0, {}
  local result = blis.run {
    cluster = { instances = 1, max_num_seqs = 1, scheduler = "priority-fcfs" },
    workload = function()
      i = i + 1
      local row = rows[i]
      if not row then return nil end
      local request = { arrival_us = i, prompt_tokens = 100, output_tokens = 50 }
      for key, value in pairs(row) do request[key] = value end
      return request
    end,
    priority = priority,
    on_first_token = function(request) order[#order + 1] = request.id:match "%d+" end,
  }
  assert(result.completed + result.timed_out == #rows)
  return table.concat(order, " ")
end

-- The first one runs before the others are there.
local classes = { {}, { slo_class = "batch" }, { slo_class = "interactive" },
  { slo_class = "realtime" }, { slo_class = "realtime" } }

describe("priority policies", function()
  it("of the macro-level plan order the wait queue", function()
    assert.equal("0 1 2 3 4", order_of(classes, "constant"))
    assert.equal("0 3 4 2 1", order_of(classes, "slo-based"))
    assert.equal("0 2 3 4 1", order_of({ {}, { slo_class = "batch" }, { slo_class = "critical" },
      { slo_class = "realtime" }, {} }, { "slo-based", default_score = 11 }))
    assert.equal("0 1 3 4 2", order_of(classes, { "slo-based", scores = { batch = 200 } }))
    assert.equal("0 2 1 3 4", order_of(classes, { "slo-based", default_score = 300,
      batch_score = 250 }))
    assert.equal("0 4 3 2 1", order_of(classes, "inverted-slo"))
    assert.equal("0 3 1 4 2", order_of(
      { {}, { tenant = "a" }, { tenant = "b" }, { tenant = "c" }, { tenant = "d" } },
      { "tenant-priority", scores = { c = 80.5, b = -3 } }))
  end)

  it("go by deadlines", function()
    local far = 1e9 // 1 | 0
    assert.equal("0 2 1 3 4", order_of({ {}, { deadline_us = 2 * far }, { deadline_us = far }, {},
      {} }, "deadline-aware"))
    assert.equal("0 4 2 1 3", order_of({ {}, { deadline_us = 2 * far }, { deadline_us = far },
      {}, { slo_class = "realtime" } },
      { "deadline-aware", targets_ms = { realtime = 500000 } }))
  end)

  it("say what is wrong with them", function()
    local function of(priority)
      return small.message_of(blis.run, small.experiment { priority = priority })
    end
    says(of "slo", "priority: unknown priority policy 'slo'")
    says(of { "slo-based", realtime = 1 }, "unknown option 'realtime'")
    says(of { "tenant-priority", scores = { a = 1 / 0 } }, "scores")
    says(of(3), "priority: invalid value 3: expected the name of a priority policy")
  end)
end)
