-- The best layouts of a budget of GPUs.
local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local folders = require "spec.support.folders"
local layouts = require "blis.recommend.layouts"
local small = require "spec.support.small"

local says = small.says

local function names(gpus, degrees, kinds)
  local list = {}
  local choice = { gpus = gpus, degrees = degrees, kinds = kinds }
  for i, layout in ipairs(layouts.all(choice)) do list[i] = layout.name end
  return table.concat(list, ", ")
end

local function search(changes)
  local given = {
    experiment = {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
      workload = { prompt_tokens = 500, output_tokens = 8 },
    },
    gpus = 2, tp_degrees = { 1, 2 }, targets = { ["ttft_ms.p90"] = 200 }, from = 4, tolerance = 0.2,
    requests = 200, max_requests = 400, replications = 2, jobs = 2, quiet = true,
  }
  for key, value in pairs(changes or {}) do given[key] = value end
  return blis.recommend(given)
end

describe("blis.recommend", function()
  it("knows all layouts that use a budget up", function()
    assert.equal("4 x TP 1, 2 x TP 2, 1P TP 1 + 3D TP 1, 2P TP 1 + 2D TP 1, 3P TP 1 + 1D TP 1, "
      .. "2P TP 1 + 1D TP 2, 1P TP 2 + 2D TP 1, 1P TP 2 + 1D TP 2",
      names(4, { 1, 2 }, "all"))
    assert.equal("3 x TP 1, 1 x TP 2", names(3, { 1, 2, 4 }, "aggregated"))
    assert.equal("1P TP 2 + 1D TP 2", names(5, { 2 }, "disaggregated"))
    assert.equal("", names(1, { 1 }, "disaggregated"))
  end)

  it("confirms the best of each kind, and marks the front", function()
    local found = search()
    assert.equal(3, #found.layouts)
    assert.equal(0, #found.infeasible)
    assert.is_true(found:best("aggregated").is_confirmed)
    assert.equal("1P TP 1 + 1D TP 1", found:best("disaggregated").name)
    local front = 0
    for _, layout in ipairs(found.layouts) do
      assert.equal(2, layout.gpus)
      if layout.on_front then front = front + 1 end
      if layout.is_confirmed then
        assert.is_true(layout.low < layout.bound * 1.5)
        assert.is_near(layout.per_gpu * 2 * 3600 / layout.usd_per_hour, layout.per_usd, 1e-6)
      end
    end
    assert.is_true(front >= 1 and found.layouts[1].on_front)
    says(tostring(found), "2 GPUs; ttft_ms.p90 200; 2 seeds")
    assert.equal(tostring(found), tostring(search { jobs = 1 }))
  end)

  it("finds the front that a search of all layouts with all seeds finds", function()
    local function front(found)
      local list = {}
      for _, layout in ipairs(found.layouts) do
        if layout.on_front then list[#list + 1] = layout.name end
      end
      table.sort(list)
      return table.concat(list, ", ")
    end
    local changes = { gpus = 4, experiment = {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
      workload = { prompt_tokens = 1500, output_tokens = 12 },
    }, targets = { ["ttft_ms.p90"] = 400, ["itl_ms.p90"] = 40 }, replications = 3 }
    local found = search(changes)
    changes.exhaustive = true
    local all = search(changes)
    local interval, confirmed = {}, 0
    for _, layout in ipairs(all.layouts) do
      assert.is_true(layout.is_confirmed)
      interval[layout.name] = { layout.low, layout.high }
    end
    for _, layout in ipairs(found.layouts) do
      if layout.is_confirmed then
        confirmed = confirmed + 1
        assert.same(interval[layout.name], { layout.low, layout.high })
      end
    end
    assert.is_true(confirmed < #all.layouts)
    assert.equal(front(all), front(found))
    assert.equal(all.layouts[1].name, found.layouts[1].name)
  end)

  it("tries types of GPUs, for each pool", function()
    local found = search { tp_degrees = { 1 }, hardware = { "H100" },
      decode_hardware = { "H100", "A100-80" } }
    local prices = {}
    for _, layout in ipairs(found.layouts) do prices[layout.name] = layout.usd_per_hour end
    assert.is_near(7, prices["1P TP 1 on H100 + 1D TP 1 on H100"], 1e-9)
    assert.is_near(5.5, prices["1P TP 1 on H100 + 1D TP 1 on A100-80"], 1e-9)
    assert.is_near(7, prices["2 x TP 1 on H100"], 1e-9)
  end)

  it("says why a layout is infeasible", function()
    local found = search { targets = { ["ttft_ms.p90"] = 1 }, layouts = "aggregated" }
    assert.equal(0, #found.layouts)
    says(found.infeasible[1].reason, "misses the targets at 4 requests/s: ttft_ms.p90")
    says(found:headline(), "no layout")
    found = search { layouts = "aggregated", experiment = {
      cluster = { model = "meta-llama/llama-3.1-70b-instruct", hardware = "H100" },
    } }
    assert.equal("2 x TP 1", found.infeasible[1].name)
    says(found.infeasible[1].reason, "does not fit")
    found = search { layouts = "aggregated", gpus = 4, experiment = {
      cluster = { model = "meta-llama/llama-3.1-70b-instruct", hardware = "H100",
        defaults = "1.0-rc1" },
      workload = { prompt_tokens = 2000, output_tokens = 200 },
    } }
    says(tostring(found), "4 x TP 1: model llama-3.1-70b-instruct does not fit")
    says(tostring(found),
      "2 x TP 2: requests of up to 2,200 tokens do not fit into instances of TP 2, which have 78")
  end)

  it("refuses what layouts say themselves", function()
    local ok, problem = pcall(search, { experiment = { cluster = { tp = 2 } } })
    assert.is_false(ok)
    says(problem.message, "remove cluster.tp: the layouts set it")
    ok, problem = pcall(search, { tp_degrees = { 1.5 } })
    assert.is_false(ok)
    says(problem.message, "whole numbers")
  end)

  it("refuses traffic of a file, whose rate it cannot set #host", function()
    local function refuses(part, ...)
      local _, message = commands.error_of(...)
      says(message, part)
    end
    local function recommend(part, ...)
      refuses("recommend: " .. part, "recommend", "--gpus", "2", "--target", "ttft_ms.p90=400", ...)
    end
    recommend("--workload-spec: the rate of its clients cannot be set; leave it out",
      "--workload-spec", "x.yaml")
    recommend("--tp: layouts set it; leave it out", "--tp", "2")
    recommend("--tp-degrees: duplicate value 1", "--tp-degrees", "1,1")
    recommend("--target: 'ttft_ms.p90': invalid value -1", "--target", "ttft_ms.p90=-1")
    recommend("--target: ttft_ms contains count, mean, min, p50", "--target", "ttft_ms=5")
    recommend("no layout (all) of 2 GPUs", "--tp-degrees", "4")
    refuses("--workload-spec: --rate cannot vary because the file sets it", "capacity", "--target",
      "ttft_ms.p90=400", "--workload-spec", "x.yaml")
  end)

  it("takes no error of its user for a property of layouts", function()
    local function refuses(part, changes)
      local ok, problem = pcall(search, changes)
      assert.is_false(ok)
      says(problem.message, part)
    end
    refuses("duplicate value 'H100'", { hardware = { "H100", "H100" } })
    refuses("recommend.tp_degrees: duplicate value 1", { tp_degrees = { 1, 2, 1 } })
    refuses("no layout (all) of 2 GPUs has instances of 3 GPUs", { tp_degrees = { 3 } })
    refuses("'ttft_ms.p90': invalid value -1", { targets = { ["ttft_ms.p90"] = -1 } })
    refuses("recommend.targets: ttft_ms contains count, mean, min, p50",
      { targets = { ttft_ms = 5 } })
    refuses("unknown hardware 'nope'", { hardware = { "H100", "nope" } })
    local function given(cluster, disaggregation)
      cluster.model, cluster.hardware = "qwen/qwen3-14b", "H100"
      return { experiment = { cluster = cluster, disaggregation = disaggregation,
        workload = { prompt_tokens = 500, output_tokens = 8 } } }
    end
    refuses("unknown decider 'nope'", given({}, { decider = "nope" }))
    refuses("remove cluster.encode_instances: the layouts set it", given { encode_instances = 13 })
    local short, scaled = given {}, given {}
    short.experiment.horizon_us, scaled.experiment.autoscaler = 1, "hpa"
    refuses("recommend: no request arrives in the experiment at 4 requests/s", short)
    refuses("layouts have a fixed number of instances; remove autoscaler", scaled)
  end)

  it("starts where nothing is kept, and says so in time", function()
    local found = search { tp_degrees = { 1 }, from = 1e9, max_requests = 20, requests = 20 }
    assert.equal(0, #found.layouts)
    says(tostring(found), "no layout meets the targets")
    says(tostring(found), "2 x TP 1: misses the targets at 1e+09 requests/s")
  end)

  it("says what was left out by rule of thumb", function()
    local found = search { gpus = 3, layouts = "disaggregated" }
    says(tostring(found), "layouts left out for bounds of short runs, times")
    assert.is_nil(tostring(search { exhaustive = true }):find("left out", 1, true))
  end)

  it("compares by what is sure where runs are too short for more", function()
    local report = require "blis.recommend.report"
    local together = { name = "a", kind = "aggregated", gpus = 2, is_confirmed = true, low = 8,
      high = 10, per_gpu = 4.5 }
    local apart = { name = "b", kind = "disaggregated", gpus = 2, is_confirmed = true, low = 2,
      high = 4, per_gpu = 1.4 }
    local found = report.new { layouts = { together, apart } }
    assert.equal("a (aggregated) sustains at least 2.00 times the load of b (disaggregated) "
      .. "per GPU",
      found:headline())
    apart.high = 9
    says(found:headline(), "a (aggregated) seems to sustain more load per GPU than b")
    together.goodput, apart.goodput, apart.per_gpu = 9, 6, 3
    says(found:headline(), "sustains 1.50 times the load of b (disaggregated) per GPU; their ")
    -- The same model and GPU at two TP degrees.
    local function subject(tp)
      local regime = { gpu = "H100", layers = 32, hidden_size = 4096, weights = "bf16",
        has_experts = false, is_async = true }
      return { step_times = { { regime = regime, tp = tp, dp = 1 } }, ttft_ms = 50, e2e_ms = 900,
        error = { tpot_band = 0.05, ttft_band = 0.1, tpot_level = "model", ttft_level = "model" } }
    end
    together.subject, apart.subject = subject(1), subject(2)
    assert.is_nil(found:headline():find("within the error", 1, true))
    apart.goodput, apart.per_gpu, apart.high = 8.7, 4.35, 9
    says(found:headline(), "sustains 1.03 times the load of b (disaggregated) per GPU; their "
      .. "intervals overlap; within the error of the model between these setups (")
    apart.subject = subject(1)
    assert.is_nil(found:headline():find("within the error", 1, true))
  end)

  it("says where pools are idle", function()
    local changes = { tp_degrees = { 1 }, experiment = { disaggregation = { decider = "never" },
      cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
      workload = { prompt_tokens = 500, output_tokens = 8 } } }
    local part = "in short runs of 1 layout the decider split no request"
    says(tostring(search(changes)), part)
    changes.experiment.disaggregation = nil
    assert.is_nil(tostring(search(changes)):find(part, 1, true))
  end)

  it("takes options of pools, and layouts whose pools have different TP", function()
    local found = search { gpus = 3, tp_degrees = { 1, 2 }, experiment = {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", prefill_nic_gb_s = 25 },
      workload = { prompt_tokens = 500, output_tokens = 8 } } }
    says(tostring(found), "1P TP 1 + 1D TP 2")
  end)

  --- What a folder has, a line each, and how many runs there are.
  local function runs_in(folder)
    local count = 0
    for _, name in ipairs(core.folder(folder)) do
      if name:match "%.jsonl$" then
        for _ in io.lines(folder .. "/" .. name) do count = count + 1 end
        count = count - 1 -- its head
      end
    end
    return count
  end

  it("does not run again what a store knows #host", function()
    folders.with(function(folder)
      local store = folder
      -- One layout, for what is looked at is not which is best.
      local function search_one(changes)
        changes.layouts, changes.tp_degrees = "aggregated", { 2 }
        return search(changes)
      end
      local first = search_one { store = store }
      local runs = runs_in(store)
      assert.is_true(runs > 4)
      local second = search_one { store = store }
      assert.equal(tostring(first), tostring(second))
      assert.equal(runs, runs_in(store))
      assert.equal(tostring(search_one {}), tostring(first))
      -- Other questions are others.
      for _, changes in ipairs { { targets = { ["ttft_ms.p90"] = 100 } }, { replications = 3 },
        { max_requests = 300, seed = 7 }, { identity = "another" } } do
        changes.store = store
        local found = search_one(changes)
        changes.store = nil
        assert.equal(tostring(search_one(changes)), tostring(found))
        local more = runs_in(store)
        assert.is_true(more > runs)
        runs = more
      end
      local other = search_one { store = store, experiment = {
        cluster = { model = "qwen/qwen3-14b", hardware = "A100-80" },
        workload = { prompt_tokens = 500, output_tokens = 8 } } }
      assert.are_not.equal(tostring(first), tostring(other))
    end)
  end)

  it("wants to be told what stands for functions in a store", function()
    local changes = { store = "never-made", experiment = {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
      routing = function() return 1 end,
      workload = { prompt_tokens = 500, output_tokens = 8 } } }
    says(small.message_of(search, changes), "set identity = \"...\"")
  end)

  it("takes the older name of tp_degrees", function()
    local found = blis.recommend {
      experiment = { cluster = { model = "qwen/qwen3-14b", hardware = "H100" },
        workload = { prompt_tokens = 500, output_tokens = 8 } },
      gpus = 2, degrees = { 2 }, targets = { ["ttft_ms.p90"] = 200 }, replications = 2,
      max_requests = 200, requests = 200, quiet = true,
    }
    assert.equal("1 x TP 2", found.layouts[1].name)
    assert.equal(1, #found.layouts)
  end)

  it("keeps what flags asked for #host", function()
    folders.with(function(folder)
      local function call(...)
        return commands.call("recommend", "--gpus", "1", "--tp-degrees", "1", "--hardware", "H100",
          "--target", "ttft_ms.p90=400", "--prompt-tokens", "500", "--output-tokens", "8",
          "--replications", "2", "--max-requests", "300", "--quiet", "--store", folder, ...)
      end
      local first = call()
      local runs = runs_in(folder)
      assert.equal(first.out, call().out)
      assert.equal(runs, runs_in(folder))
      call("--routing-policy", "round-robin")
      assert.is_true(runs_in(folder) > runs)
    end)
  end)

  it("heeds the flags of hand-offs #host", function()
    local outcome = commands.call("recommend", "--gpus", "2", "--layouts", "disaggregated",
      "--tp-degrees", "1", "--hardware", "H100", "--target", "ttft_ms.p90=400", "--prompt-tokens",
      "500", "--output-tokens", "8", "--quiet", "--pd-transfer-bandwidth", "0.02")
    says(outcome.out, "1P TP 1 + 1D TP 1: misses the targets at 0.25 requests/s: ttft_ms.p90")
    assert.equal(3, outcome.status) -- nothing keeps the targets
  end)
end)
