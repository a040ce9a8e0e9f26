local blis = require "blis"
local go_blis = require "blis.cli.go_blis"

--- A result with the given records and nothing else to tell.
local function result_of(records)
  return {
    requests = records, instances = { { steps = 0, queue_depth_sum = 0, cpu_saved = 0 } },
    rejected = 0, unservable = 0, timed_out = 0, length_capped = 0, preemption_rate = 0,
    cache_hit_rate = 0, by_slo_class = {}, by_tenant = {}, by_model = {}, duration_us = 1000000,
  }
end

local function record(fields)
  local made = { state = "completed", instance = "instance_0", slo_class = "", tenant = "",
    model = "", session = "", output_tokens = 1, itl_sum_us = 0, itl_count = 0 }
  for key, value in pairs(fields) do made[key] = value end
  return made
end

local function section(run, title)
  for _, lines in ipairs(go_blis.sections(run)) do
    if lines[1] == ("=== %s ==="):format(title) then return lines end
  end
end

describe("refused requests", function()
  it("are told apart by who refused them", function()
    local result = result_of {
      record { state = "rejected", reason = "rate-limit", slo_class = "batch" },
      record { state = "rejected", reason = "reject-all" },
      record { state = "rejected", reason = "no-candidate", slo_class = "batch" },
      record {},
    }
    result.rejected = 3
    assert.same({ "=== Anomaly Counters ===", "Priority Inversions: 0", "HOL Blocking Events: 0",
      "Rejected Requests (Admission): 2", "  Shed (batch): 1", "  Shed (standard): 1",
      "Rejected Requests (Routing): 1", "Dropped Unservable: 0", "Timed Out Requests: 0",
      "Length-Capped Requests: 0" }, section({ result = result }, "Anomaly Counters"))
  end)
end)

describe("priority inversions", function()
  local function count(records, scheduler)
    local lines = section({ result = result_of(records), scheduler = scheduler },
      "Anomaly Counters")
    return lines and tonumber(lines[2]:match("Priority Inversions: (%d+)")) or 0
  end

  it("are those of a look at every pair", function()
    local rng = blis.rng(5)
    for _ = 1, 20 do
      local records, expected = {}, 0
      for i = 1, 40 do
        records[i] = record { e2e_us = rng:integer(1, 60), arrival_us = i,
          instance = "instance_" .. rng:integer(0, 1) }
        for j = 1, i - 1 do
          if records[j].instance == records[i].instance
            and records[j].e2e_us > 2 * records[i].e2e_us then
            expected = expected + 1
          end
        end
      end
      assert.equal(expected, count(records, "priority-fcfs"))
    end
  end)

  it("are counted within a class, and only where priorities matter", function()
    local records = {
      record { e2e_us = 100, slo_class = "batch" }, record { e2e_us = 10, slo_class = "batch" },
      record { e2e_us = 1, slo_class = "critical" },
    }
    assert.equal(1, count(records, "priority-fcfs"))
    assert.equal(0, count(records, "fcfs"))
  end)
end)

describe("sections", function()
  it("are left out when there is nothing to tell", function()
    assert.same({}, go_blis.sections { result = result_of { record { e2e_us = 5 } } })
  end)

  it("tell the times of several classes", function()
    local result = result_of {
      record { slo_class = "batch", ttft_us = 1000, e2e_us = 2000, output_tokens = 3,
        itl_sum_us = 500, itl_count = 2 },
      record { slo_class = "", ttft_us = 4000, state = "timed_out" },
      record { slo_class = "", ttft_us = 3000, e2e_us = 4000 },
    }
    result.by_slo_class = { { name = "" }, { name = "batch" } }
    assert.same({
      "=== Per-SLO Metrics ===",
      "  batch:",
      "    TTFT: mean=1000.00 p99=1000.00 (n=1)",
      "    ITL:  mean=250.00 p99=250.00 (n=1)",
      "    E2E:  mean=2000.00 p99=2000.00 (n=1)",
      "  default:",
      "    TTFT: mean=3500.00 p99=3990.00 (n=2)",
      "    ITL:  mean=0.00 p99=0.00 (n=1)",
      "    E2E:  mean=4000.00 p99=4000.00 (n=1)",
    }, section({ result = result }, "Per-SLO Metrics"))
  end)

  it("name the classes of rejected requests", function()
    local result = result_of {
      record { state = "rejected" }, record { state = "rejected", slo_class = "batch" },
    }
    result.rejected = 2
    local lines = section({ result = result }, "Anomaly Counters")
    assert.same({ "Rejected Requests (Admission): 2", "  Shed (batch): 1",
      "  Shed (standard): 1" }, { table.unpack(lines, 4, 6) })
  end)

  it("tell sessions from first to last round", function()
    local result = result_of {
      record { session = "s", round_index = 0, arrival_us = 0, ttft_us = 2000, e2e_us = 9000 },
      record { session = "s", round_index = 1, arrival_us = 20000, ttft_us = 1000,
        e2e_us = 5000 },
    }
    result.has_sessions = true
    assert.same({
      "=== Session Metrics ===",
      "  Sessions: 1",
      "  TTFT cold (round 0): mean=2.00 p50=2.00 p95=2.00 p99=2.00 ms (n=1)",
      "  TTFT warm (round≥1): mean=1.00 p50=1.00 p95=1.00 p99=1.00 ms (n=1)",
      "  Session duration:    mean=25.00 p50=25.00 p95=25.00 p99=25.00 ms (n=1)",
    }, section({ result = result }, "Session Metrics"))
  end)
end)

describe("hand-offs", function()
  it("that start at time 0 count, but have no duration, as in BLIS (Go)", function()
    local function moved(start_us, end_us)
      return record { prefill_instance = "instance_0", transfer_start_us = start_us,
        transfer_end_us = end_us, prefill_end_us = start_us, ttft_us = 7 }
    end
    local result = result_of { moved(0, 500), moved(100, 1100), moved(100, 3100), record {} }
    result.handoffs, result.setup = { started = 3 }, {}
    local lines = section({ result = result }, "PD Metrics")
    assert.equal("Disaggregated Requests: 3", lines[2])
    assert.equal("KV Transfer Duration (us): mean=2000.0 p50=2000.0 p95=2900.0 p99=2980.0",
      lines[8])
  end)
end)
