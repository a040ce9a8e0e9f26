local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("a prefix index by itself", function()
  it("remembers full blocks of prompts by instance", function()
    local index = blis.prefix_index { capacity = 100, block_size = 16 }
    assert.equal(100, index.capacity)
    assert.equal(16, index.block_size)
    assert.equal(0, #index)
    index:record({ { "system", 64 }, { "chat 1", 32 }, 5 }, 1)
    index:record({ { "system", 64 }, { "chat 2", 8 } }, 3)
    assert.equal(6, index:size(1))
    assert.equal(0, index:size(2))
    assert.equal(4, index:size(3))
    assert.equal(10, #index)
    assert.equal(96, index:match({ { "system", 64 }, { "chat 1", 40 } }, 1))
    assert.equal(64, index:match({ { "system", 64 }, { "chat 1", 40 } }, 3))
    assert.equal(0, index:match({ { "chat 1", 40 } }, 1))
    assert.equal(0, index:match(500, 1))
    assert.same({ 64, 0, 64 }, index:match_all { { "system", 64 } })
    local filled = { 7, 7, 7 }
    assert.equal(filled, index:match_all({ { "system", 70 } }, { 3, 2, 9 }, filled))
    assert.same({ 64, 0, 0 }, filled)
    assert.equal("prefix index (10 blocks of 16 tokens over 3 instances, at most 100 each)",
      tostring(index))
  end)

  it("goes over its instances in order", function()
    local index = blis.prefix_index { block_size = 1 }
    index:record({ { "x", 5 } }, 3)
    index:record({ { "x", 2 } }, 1)
    local seen = {}
    for instance, blocks in pairs(index) do seen[#seen + 1] = instance .. ":" .. blocks end
    assert.equal("1:2 2:0 3:5", table.concat(seen, " "))
  end)

  it("drops what was not used for the longest time", function()
    local index = blis.prefix_index { capacity = 4, block_size = 10 }
    index:record({ { "a", 20 } }, 1)
    index:record({ { "b", 20 } }, 1)
    index:record({ { "a", 20 } }, 1)
    index:record({ { "c", 10 } }, 1)
    assert.equal(4, index:size(1))
    assert.equal(20, index:match({ { "a", 20 } }, 1))
    assert.equal(0, index:match({ { "b", 20 } }, 1))
  end)

  it("forgets an instance, and everything", function()
    local index = blis.prefix_index()
    assert.equal(31250, index.capacity)
    index:record({ { "a", 160 } }, 1)
    index:record({ { "a", 160 } }, 2)
    assert.equal(0, select("#", index:forget(1)))
    index:forget(77)
    assert.same({ 0, 160 }, index:match_all { { "a", 200 } })
    index:clear()
    assert.equal(0, #index)
    assert.same({}, index:match_all { { "a", 200 } })
  end)

  it("refuses nonsense", function()
    local index = blis.prefix_index {}
    local closed = blis.prefix_index {}
    closed:close()
    local list = blis.workload { requests = 1 }
    local cases = {
      { "did you mean 'capacity'?", function() blis.prefix_index { capacit = 5 } end },
      { "prefix_index.capacity: invalid value 0",
        function() blis.prefix_index { capacity = 0 } end },
      { "prefix_index.block_size: invalid value 1.5",
        function() blis.prefix_index { block_size = 1.5 } end },
      { "an instance or its index, 1 to 1000000, got 0", function() index:match(5, 0) end },
      { "got nil", function() index:record(5) end },
      { "got the string 'instance_1'", function() index:record(5, "instance_1") end },
      { "got a table", function() index:forget {} end },
      { "got 1.5", function() index:size(1.5) end },
      { "{ { name, tokens }, ..., tokens } expected", function() index:record("x", 1) end },
      { "names as keys", function() index:record(list[1], 1) end },
      { "number of tokens", function() index:match({ { "x", -1 } }, 1) end },
      { "is closed", function() return #closed end },
      { "calling 'size' on bad self (the prefix index is closed)",
        function() return closed:size(1) end },
      { "did you mean 'capacity'?", function() return index.capasity end },
    }
    for _, case in ipairs(cases) do says(small.message_of(case[2]), case[1]) end
  end)
end)

-- A prefix-affinity of one's own, which is to decide as the built-in one does.
local function own_scorer(form)
  local index = blis.prefix_index {}
  local spec = { name = "own", observe = function(request, instance)
    index:record(request, instance)
  end }
  local function share(tokens, request) return tokens / (request.prompt_tokens // 16 * 16) end
  if form == "score_all" then
    function spec.score_all(request, instances, scores)
      index:match_all(request, instances, scores)
      for i = 1, #instances do scores[i] = share(scores[i], request) end
    end
  else
    spec.columns = form == "columns"
    function spec.score(request, c) return share(index:match(request, c), request) end
  end
  return blis.scorer(spec), index
end

local function experiment(scorer)
  return {
    cluster = { instances = 4, kv_blocks = 4000 },
    workload = { rate = 60, requests = 300, prompt_tokens = 100, output_tokens = 20,
      prefixes = { groups = 9, tokens = 320 } },
    routing = { "weighted", scorers = { { scorer, 3 }, { "queue-depth", 1 } } },
  }
end

describe("a prefix index in a policy", function()
  local expected = blis.run(experiment "prefix-affinity")

  for _, form in ipairs { "per candidate", "columns", "score_all" } do
    it(("is what prefix-affinity has, %s"):format(form), function()
      local scorer, index = own_scorer(form)
      local result = blis.run(experiment(scorer))
      assert.is_true(result.requests_per_instance[2] > 10)
      assert.equal(expected.hash, result.hash)
      assert.is_true(#index > 0)
      local held = #index
      assert.equal(expected.hash, blis.run(experiment(scorer)).hash)
      assert.equal(held, #index)
    end)
  end

  it("does not take a request that was kept for a prompt", function()
    local kept
    blis.run { workload = { requests = 2 }, routing = function(request)
      kept = request
      return 1
    end }
    local index = blis.prefix_index()
    says(small.message_of(function() return index:match(kept, 1) end),
      "the request that the policy was called with, or a prompt")
    assert.equal(0, index:match({}, 1))
  end)

  it("belongs to each simulation by itself: runs side by side, clones, regret", function()
    local scorer = own_scorer "columns"
    local a, b = blis.simulation(experiment(scorer)), blis.simulation(experiment(scorer))
    for _ = 1, 400 do
      a:step()
      b:step()
    end
    local clone = a:clone()
    assert.equal(expected.hash, clone:run().hash)
    assert.equal(expected.hash, a:run().hash)
    assert.equal(expected.hash, b:run().hash)
  end)

  it("takes instances of observers, inside sim:at too", function()
    local scorer, index = own_scorer "columns"
    local spec = experiment(scorer)
    local sizes = {}
    function spec.on_first_token(_, instance) sizes[1] = index:size(instance) end
    local sim = blis.simulation(spec)
    sim:at(2000000, function(s)
      sizes[2] = index:size(s.instances[1])
      index:forget(s.instances[1])
      sizes[3] = index:size(1)
    end)
    sim:run()
    assert.is_true(sizes[1] > 0 and sizes[2] > 0)
    assert.equal(0, sizes[3])
    assert.is_true(index:size(1) > 0)
  end)

  it("takes contents of one's own instead", function()
    local index = blis.prefix_index { block_size = 1 }
    local function key(request) return { { request.prefix_group, 1 } } end
    local scorer = blis.scorer { name = "by group",
      score = function(request, instance) return index:match(key(request), instance) end,
      observe = function(request, instance) index:record(key(request), instance) end }
    local result = blis.run(experiment(scorer))
    assert.equal(300, result.completed)
    assert.is_true(#index >= 9)
  end)

  it("says when a prompt cannot be had", function()
    local function message(changes)
      local spec = experiment "load-balance"
      for key, value in pairs(changes) do spec[key] = value end
      return small.message_of(blis.run, spec)
    end
    local index = blis.prefix_index {}
    says(message { on_completion = function(request, instance)
      index:record(request, instance)
    end }, "only while it is being admitted or routed")
    says(message { routing = function(request, instances)
      index:record(request, instances[1])
      return index:match({ { "x", 5 } }, 1) + 1
    end }, "holds prompts of requests, and this is content")
    says(message { routing = function(request)
      index:record({ { "x", 16 } }, 1)
      return index:match(request, 1)
    end }, "holds prompts written by the script, and this is a request")
    local kept
    blis.run(experiment(blis.scorer { name = "x", score = function(request)
      kept = request
      return request.prompt_tokens / request.prompt_tokens
    end }))
    says(small.message_of(index.record, index, kept, 1), "names as keys")
  end)
end)
