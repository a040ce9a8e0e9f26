local blis = require "blis"
local small = require "spec.support.small"

local function spec(changes)
  local given = small.experiment { routing = { "round-robin", "least-loaded", "weighted" },
    quiet = true, report = { "ttft_ms.mean", "e2e_ms.mean" } }
  for key, value in pairs(changes) do given[key] = value end
  return given
end

describe("blis.compare with replications", function()
  it("compares policies seed by seed", function()
    local got = blis.compare(spec { replications = 4 })
    assert.same({ 4, "fixed", 1 }, { got.replications, got.rule, got.baseline })
    local direct = blis.run(small.experiment { routing = "least-loaded", seed = 44 })
    assert.equal(direct.ttft_ms.mean, got.table.points[2].values["ttft_ms.mean"][3])
    local pair = got.against[2]["ttft_ms.mean"]
    assert.equal(4, pair.n)
    assert.is_true(pair.adjusted_p >= pair.p_value)
    assert.is_nil(got.against[1])
    small.says(tostring(got), "\nttft_ms.mean: ")
    assert.equal(tostring(got), tostring(blis.compare(spec { replications = 4, jobs = 7 })))
  end)

  it("says what it goes by", function()
    local rule = { rule = "obrien-fleming", max = 10, min = 5 }
    local got = blis.compare(spec { replications = rule })
    assert.equal(2, got.max_looks)
    small.says(tostring(got),
      ("\nrule obrien-fleming: %d runs each, analysis %d of at most 2"):format(got.replications,
        got.looks))
    assert.is_nil(tostring(got):find("p [=<]"))
    local text = tostring(blis.compare(spec { replications = 4,
      report = { "ttft_ms.p99", "cache_hit_rate" } }))
    small.says(text, "ttft_ms.p99 is based on at most 60 requests in some runs; a p99 requires "
      .. "1,000")
    assert.is_nil(text:find("\nrule", 1, true))
  end)

  it("does not take one of many comparisons for more than it is", function()
    local found = blis.compare(spec { replications = 4, seed = 1 })
    for _, pairs_of in pairs(found.against) do
      for _, pair in pairs(pairs_of) do
        pair.low, pair.high, pair.change = 0.01, 0.05, 0.03
        pair.p_value, pair.adjusted_p = 0.03, 0.09
      end
    end
    small.says(tostring(found), "and round-robin (p = 0.09 among 3 "
      .. "policies); changes outside 1.0 % to 5.0 % are excluded")
    assert.is_nil(tostring(found):find("loses to", 1, true))
  end)

  it("goes on until the difference is known", function()
    local got = blis.compare(spec { replications = "auto" })
    assert.is_true(got.replications >= 5 and got.replications <= 40)
    local loose = blis.compare(spec { replications = { precision = 1, min = 2 } })
    assert.same({ 2, 1 }, { loose.replications, loose.looks })
    local test = blis.compare(spec { replications = { rule = "pocock", max = 8, min = 4 } })
    assert.is_true(test.replications == 4 or test.replications == 8)
  end)

  --- Prefixes that are in no cache at first.
  local function cold(changes)
    local given = { cluster = { instances = 2 }, warm_up_us = "auto",
      routing = { "round-robin", "weighted" },
      workload = { rate = 20, requests = 500, prompt_tokens = 200, output_tokens = 10,
        prefixes = { groups = 10, tokens = 6000 } } }
    for key, value in pairs(changes or {}) do given[key] = value end
    return given
  end

  it("leaves out the same warm-up for all policies", function()
    local alone = {}
    for i, routing in ipairs { "round-robin", "weighted" } do
      alone[i] = blis.run(cold { routing = routing }).steady.from_us
    end
    assert.is_true(alone[1] ~= alone[2])
    local longest = math.max(alone[1], alone[2])
    local once = blis.compare(cold())
    for i = 1, 2 do
      assert.equal(longest, once[i].steady.from_us)
      assert.same(once[i]:window(longest).ttft_ms, once[i].steady.ttft_ms)
    end
    local seconds = ("%.1f s"):format(longest / 1e6)
    small.says(tostring(once), "latencies and tokens/s are without the first " .. seconds)
    local got = blis.compare(cold { replications = 2, quiet = true })
    assert.equal(longest, got.warm_up_us)
    assert.equal(once[2].steady.ttft_ms.p99,
      got.table.points[2].values["steady.ttft_ms.p99"][1])
    small.says(tostring(got), "steady: without the requests of the first " .. seconds)
    local given = blis.compare(cold { replications = 2, quiet = true, warm_up_us = 3000000,
      report = { "ttft_ms.mean", "steady.ttft_ms.mean" } })
    assert.equal(3000000, given.warm_up_us)
    assert.equal(3000000, given.table.points[1].values["steady.from_us"][2])
  end)

  it("says of how many requests the latencies are", function()
    local late = small.experiment { quiet = true, replications = 4,
      routing = { "round-robin", "least-loaded" } }
    late.workload.timeout_us = 250000
    local counts = { arrived = 0, completed = 0, timed_out = 0 }
    for seed = 42, 45 do
      local one = blis.run(small.experiment { workload = late.workload, seed = seed,
        routing = "round-robin" })
      for name, n in pairs(counts) do counts[name] = n + one[name] end
    end
    assert.is_true(counts.timed_out > 0 and counts.completed > 0)
    small.says(tostring(blis.compare(late)), ("\nrouting=round-robin: of %d requests %d timed out; "
      .. "latencies cover the %d that completed\n"):format(counts.arrived, counts.timed_out,
      counts.completed))
  end)

  it("has no latencies where nothing completed", function()
    for _, arrival in ipairs { "poisson", "constant" } do
      local given = small.experiment { quiet = true, replications = 4, admission = "reject-all",
        routing = { "round-robin", "least-loaded" } }
      given.workload = { rate = 20, requests = 40, arrival = arrival, prompt_tokens = 100,
        output_tokens = 10 }
      local got = blis.compare(given)
      local text = tostring(got)
      assert.is_nil(got.table.points[1].metrics["ttft_ms.p99"])
      assert.matches("round%-robin +%- +%- ", text)
      small.says(text, "rejected; nothing completed")
      small.says(text, "ttft_ms.p99: no values to compare for least-loaded and round-robin")
    end
  end)

  it("tells policies of one name apart", function()
    local text = tostring(blis.compare(small.experiment { quiet = false, routing = { "weighted",
      { "weighted", scorers = { { "queue-depth", 1 } } }, "weighted" },
      workload = { rate = 40, requests = 300, prompt_tokens = 200, output_tokens = 20 } }))
    small.says(text, "\nagainst weighted (")
    small.says(text, "\n  weighted(queue-depth:1): ")
    small.says(text, "\n  weighted #3: ")
  end)

  describe("of variants", function()
    local variants = { { scheduler = "fcfs" }, { scheduler = "sjf", name = "shortest" },
      { cluster = { max_num_seqs = 2 }, admission = "always-admit" } }

    local function compare(changes)
      local given = small.experiment { variants = variants }
      for key, value in pairs(changes or {}) do given[key] = value end
      return blis.compare(given)
    end

    it("changes any option, those of the cluster one by one", function()
      local got = compare()
      local direct = blis.run(small.experiment { cluster = { instances = 3, max_num_seqs = 2 } })
      assert.equal(direct.hash, got[3].hash)
      assert.equal(blis.run(small.experiment { scheduler = "fcfs" }).hash, got[1].hash)
      assert.same({ "scheduler=fcfs", "shortest", "admission=always-admit max_num_seqs=2" },
        got.labels)
      local text = tostring(got)
      small.says(text, "variant ")
      small.says(text, "\nadmission=always-admit max_num_seqs=2 ")
    end)

    it("compares them with replications", function()
      local got = compare { replications = 4, quiet = true, report = { "ttft_ms.mean" } }
      assert.same({ "scheduler=fcfs", "shortest", "admission=always-admit max_num_seqs=2" },
        got.policies)
      local direct = blis.run(small.experiment { seed = 43,
        cluster = { instances = 3, max_num_seqs = 2 } })
      assert.equal(direct.ttft_ms.mean, got.table.points[3].values["ttft_ms.mean"][2])
      small.says(tostring(got), "max_num_seqs=2 loses to scheduler=fcfs by")
    end)

    it("keeps the traffic", function()
      small.says(small.message_of(compare, { variants = { { workload = {} } } }),
        "variants[1].workload: all variants get the same traffic")
      small.says(small.message_of(compare, { variants = { { seed = 7 } } }),
        "variants[1].seed: all variants get the same traffic; replications vary the seed")
      small.says(small.message_of(compare, { variants = { scheduler = "sjf" } }),
        "got one with 'scheduler'; write { { ... } }")
      small.says(small.message_of(compare, { variants = { 5 } }), "expected a table of options")
      small.says(small.message_of(compare, { variants = {} }), "the list is empty")
    end)
  end)

  it("shows names of variants and reasons of rejections on a line", function()
    local got = blis.compare(small.experiment { routing = "random",
      variants = { { name = "two\nlines" }, { scheduler = "sjf" } },
      admission = function(request)
        if request.id == "request_0" then return blis.admit() end
        return blis.reject "a\n\27[31m\u{202e}"
      end })
    small.says(tostring(got), "\ntwo\\x0alines  ")
    small.says(tostring(got), "rejected (a\\x0a\\x1b[31m\\xe2\\x80\\xae)")
  end)

  it("says of what timelines are", function()
    local one, many = blis.compare(cold {}), blis.compare(spec { replications = 2, quiet = true })
    small.says(small.message_of(function() one:timeline "x.json" end),
      "use comparison[i]:timeline(path) for policy i")
    small.says(small.message_of(function() many:timeline "x.json" end),
      "results of replications are not kept")
  end)

  it("tells what is wrong", function()
    small.says(small.message_of(blis.compare, spec { replications = 1 }), "compare.replications: "
      .. "invalid value 1: expected an integer of at least 2, 'auto', or { rule =, min =, max =, "
      .. "precision = }")
    small.says(small.message_of(blis.compare, cold { level = 0.9 }),
      "level: requires replications = ...")
    small.says(small.message_of(blis.compare, spec { replications = 2, baseline = 4 }),
      "compare.baseline: there are 3 policies, not 4")
    small.says(small.message_of(blis.compare, spec { replications = 2, report = { "ttft" } }),
      "report: the trial returned no number 'ttft'")
    small.says(small.message_of(blis.compare, spec { replications = { min = 8, max = 4 } }),
      "replications: max = 4 is below min = 8")
    small.says(small.message_of(blis.compare, spec { replications = { rule = "pokock" } }),
      "did you mean 'pocock'?")
    small.says(small.message_of(blis.compare, spec { replications = 2, sede = 3 }),
      "unknown option 'sede'; did you mean 'seed'?")
  end)
end)
