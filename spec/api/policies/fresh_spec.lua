local blis = require "blis"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

--- A function for `new` that makes of what a run remembers, a counter, the functions of a policy.
local function counting(make)
  local calls = { count = 0 }
  local function new(context)
    calls.count, calls.context = calls.count + 1, context
    return make { n = 0 }
  end
  return new, calls
end

local function next_of(memory)
  memory.n = memory.n + 1
  return memory.n
end

local function weighted(scorer)
  return { "weighted", scorers = { { scorer, 1 } } }
end

-- Every kind of policy, as one that depends on how often it was asked.
local kinds = {
  ["a scorer"] = function()
    local new, calls = counting(function(memory)
      return { score = function(_, instance) return (next_of(memory) * instance.index) % 7 / 7 end }
    end)
    return { routing = weighted(blis.scorer { name = "counting", new = new }) }, calls
  end,
  ["a scorer that listens"] = function()
    local new, calls = counting(function(memory)
      return {
        score_all = function(_, instances, scores)
          for i = 1, #instances do scores[i] = i == memory.n % 3 + 1 and 1 or 0 end
        end,
        observe = function() memory.n = memory.n + (memory.n % 5 == 0 and 2 or 1) end,
      }
    end)
    return { routing = weighted { name = "listening", new = new } }, calls
  end,
  ["a scorer of columns"] = function()
    local new, calls = counting(function(memory)
      return {
        columns = true,
        score = function(_, columns) return columns.queue_depth * 0 + 1 / next_of(memory) end,
      }
    end)
    return { routing = { "weighted", picker = "power-of-two",
      scorers = { { { name = "columns", new = new }, 1 } } } }, calls
  end,
  ["a scorer on a base"] = function()
    local new, calls = counting(function(memory)
      return { base = "queue-depth", score = function(_, instance, base)
        return base * ((next_of(memory) + instance.index) % 4) / 4
      end }
    end)
    return { routing = weighted { name = "based", new = new } }, calls
  end,
  ["a scorer that another one asks"] = function()
    local new, calls = counting(function(memory)
      return { score = function(_, instance) return (next_of(memory) * instance.index) % 5 / 5 end }
    end)
    local asked = blis.scorer { name = "asked", new = new }
    return { routing = weighted { name = "asking", score = function(request, instance)
      return asked:score(request, instance)
    end } }, calls
  end,
  ["a filter"] = function()
    local new, calls = counting(function(memory)
      return {
        keep = function(_, instance) return instance.index == 3 or next_of(memory) % 3 > 0 end,
      }
    end)
    return { routing = { "weighted", scorers = { { "queue-depth", 1 } },
      filters = { { name = "counting", new = new } } } }, calls
  end,
  ["a picker"] = function()
    local new, calls = counting(function(memory)
      return { pick = function(_, instances) return next_of(memory) % 5 % #instances + 1 end }
    end)
    return { routing = { "weighted", scorers = { { "queue-depth", 1 } },
      picker = blis.picker { name = "counting", new = new } } }, calls
  end,
  ["a router"] = function()
    local new, calls = counting(function(memory)
      return { route = function(_, instances) return next_of(memory) % 5 % #instances + 1 end }
    end)
    return { routing = blis.router { name = "counting", new = new } }, calls
  end,
  ["an admission policy"] = function()
    local new, calls = counting(function(memory)
      return { decide = function()
        return next_of(memory) % 7 == 0 and blis.reject "seventh" or blis.admit()
      end }
    end)
    return { admission = { name = "counting", new = new } }, calls
  end,
  ["a priority policy"] = function()
    local new, calls = counting(function(memory)
      return { decide = function() return next_of(memory) % 5 end }
    end)
    return { priority = { name = "counting", new = new }, scheduler = "priority-fcfs",
      cluster = { instances = 3, max_num_seqs = 2 } }, calls
  end,
  ["a scheduler"] = function()
    local new, calls = counting(function(memory)
      return { goes_before = function(a, b)
        memory.n = memory.n + 1
        if memory.n > 40 then return a.arrival_us > b.arrival_us end
        return a.prompt_tokens < b.prompt_tokens
      end }
    end)
    return { scheduler = blis.scheduler { name = "counting", new = new },
      cluster = { instances = 3, max_num_seqs = 2 } }, calls
  end,
  ["a preemption policy"] = function()
    local new, calls = counting(function(memory)
      return { victim = function(running) return next_of(memory) % #running + 1 end }
    end)
    return { preemption = { name = "counting", new = new },
      cluster = { instances = 3, kv_blocks = 20 } }, calls
  end,
  ["a cascade"] = function()
    local new, calls = counting(function(memory)
      return { quality = function() return next_of(memory) % 3 == 0 and -2 or -0.5 end }
    end)
    return {
      cascade = { chain = { "qwen/qwen2.5-7b-instruct", "qwen/qwen3-14b" },
        confidence_threshold = -1, new = new },
      cluster = { groups = { { model = "qwen/qwen2.5-7b-instruct", hardware = "H100" },
        { model = "qwen/qwen3-14b", hardware = "H100" } } },
    }, calls
  end,
}

describe("policies with new", function()
  for name, make in pairs(kinds) do
    it("start afresh in every run: " .. name, function()
      local changes, calls = make()
      local spec = small.experiment(changes)
      local first = blis.run(spec)
      assert.equal(1, calls.count)
      assert.equal(42, calls.context.seed)
      assert.equal(16, calls.context.block_size)
      assert.is_true(calls.context.kv_blocks > 0 and calls.context.instances >= 2)
      assert.equal(first.hash, blis.run(spec).hash)
      assert.equal(2, calls.count)
      assert.not_matches("remembers something", first.setup.notes)

      local sim = blis.simulation(spec)
      for _ = 1, 40 do sim:step() end
      local clone = sim:clone()
      assert.equal(first.hash, sim:run().hash)
      assert.equal(first.hash, clone:run().hash)
    end)
  end

  it("have a random stream under the seed of the run", function()
    local function run(seed)
      return blis.run(small.experiment { seed = seed,
        workload = { rate = 40, requests = 60, seed = 1 },
        routing = { name = "dice", new = function(context)
          return { route = function() return context.rng:integer(context.instances) end }
        end } }).hash
    end
    assert.equal(run(3), run(3))
    assert.not_equal(run(3), run(4))
  end)

  it("are refused when they are not whole", function()
    local function message(scorer)
      return small.message_of(small.run_scorer, scorer)
    end
    says(message { name = "x", new = 5 }, "routing.scorers[1][1].new: invalid value 5")
    says(message { name = "x", new = function() end },
      "routing.scorers[1][1].new: the function returned nil, expected a table")
    says(message { name = "x", new = function() return {} end },
      "routing.scorers[1][1].new(): expected one of score and score_all")
    says(message { name = "x", new = function() return { scor = print } end },
      "routing.scorers[1][1].new(): unknown option 'scor'")
    says(message { name = "x", new = print, score = print }, "unknown option 'score'")
    says(message { name = "x", new = function() error "no" end }, "no")
  end)
end)

local script = [[
local blis = require "blis"
local function policy(is_fresh)
  local function new()
    local n = 0
    return { route = function(_, instances) n = n + 1 return n % 5 % #instances + 1 end }
  end
  if is_fresh then return { name = "counting", new = new } end
  return { name = "counting", route = new().route }
end
local spec = { cluster = { instances = 3 }, workload = { rate = 40, requests = 61, seed = 1 },
  routing = policy(arg[1] == "fresh") }
if arg[2] == "run" then
  assert((blis.run(spec).hash == blis.run(spec).hash) == (arg[1] == "fresh"))
elseif arg[2] == "sweep" then
  spec.workload.seed = nil
  print(blis.sweep {
    parameters = { { "rate", { 20, 40 } } }, replications = 2, report = { "ttft_ms.mean" },
    trial = function(p)
      spec.workload.rate, spec.seed = p.rate, p.seed
      return blis.run(spec)
    end,
  }:run { quiet = true, jobs = 2 })
elseif arg[2] == "regret" then
  blis.regret { experiment = spec, decisions = 1, continuations = 1 }
else
  spec.routing = { spec.routing, "round-robin" }
  spec.replications = math.tointeger(arg[2])
  spec.quiet = spec.replications and true
  print(blis.compare(spec))
end
]]

describe("a policy that remembers something between runs", function()
  local path = os.tmpname()
  setup(function()
    local file <close> = assert(io.open(path, "w"))
    file:write(script)
  end)
  teardown(function() os.remove(path) end)

  for _, how in ipairs { "run", "compare", "4", "regret", "sweep" } do
    it("is told, and with new there is nothing to tell: " .. how, function()
      local plain = program.run(path, "plain", how)
      assert.equal(0, plain.status, plain.err)
      says(plain.err, "note: two runs of the same experiment gave different results")
      local fresh = program.run(path, "fresh", how)
      assert.equal(0, fresh.status, fresh.err)
      assert.equal("", fresh.err)
    end)
  end

  it("is told in the tables, which draw no conclusions from it", function()
    local short = "keeps state between runs, so its metrics depend on earlier runs"
    local once = program.run(path, "plain", "compare").out
    local often = program.run(path, "plain", "4").out
    says(once, "\n  " .. short)
    says(often, "routing=counting: " .. short)
    says(often, "no interval and no p-value, because runs are not independent")
    assert.not_matches("p [=<]", often)
    local swept = program.run(path, "plain", "sweep").out
    says(swept, "rate=20: " .. short)
    says(swept, "rate=40: " .. short)
    for _, how in ipairs { "compare", "4", "sweep" } do
      assert.not_matches("remembers", program.run(path, "fresh", how).out)
    end
  end)
end)
