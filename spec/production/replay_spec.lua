-- Recorded decisions, taken again by another policy.
local commands = require "spec.support.commands"
local files = require "spec.support.files"
local json = require "blis.json"
local workload = require "blis.production.conformance_workload"

local scorers = { { "llm-d.queue-scorer", 2 }, { "kv-utilization", 2 },
  { "llm-d.prefix-cache-scorer", 3 } }
local policy = "llm-d.queue-scorer:2,kv-utilization:2,llm-d.prefix-cache-scorer:3"

--- Calls body with the record of a run.
local function with_record(routing, body)
  local path = os.tmpname() .. ".jsonl"
  workload.run({ routing = routing }):save_decisions(path)
  local ok, problem = pcall(body, path)
  os.remove(path)
  if not ok then error(problem, 0) end
end

local weighted = { "weighted", scorers = scorers, picker = "llm-d.max-score-picker" }

describe("recorded decisions", function()
  it("of a policy are all its own", function()
    with_record(weighted, function(path)
      local out = commands.output_of("decisions", path, policy)
      assert.matches("^300 of 300 decisions agree %(100.0 %%%)", out)
      assert.matches("scores of kv-utilization: as recorded", out, 1, true)
    end)
  end)

  it("are not all those of others, and it is told why", function()
    with_record(weighted, function(path)
      local found = json.decode(commands.output_of("decisions", path,
        "llm-d.queue-scorer:2,kv-utilization:2", "--format", "json", "--limit", "1000"))
      assert.is_true(found.agreed < 300 and found.agreed > 30)
      assert.equal(300 - found.agreed, #found.differences)
      for _, one in ipairs(found.differences) do
        local gain = 0
        for _, term in ipairs(one.terms) do gain = gain + term.gain end
        assert.is_true(gain > 0, one.request)
        assert.not_equal(one.recorded, one.preferred)
      end
    end)
  end)

  it("tell other scorers what they saw", function()
    with_record(weighted, function(path)
      local out = commands.output_of("decisions", path, "running-requests:1,kv-utilization:1")
      assert.matches("scores of running%-requests: computed from the recorded state", out)
      local code, message = commands.error_of("decisions", path, "prefix-affinity:1")
      assert.equal("usage", code)
      assert.matches("scorer 'prefix-affinity' cannot be replayed", message, 1, true)
      code, message = commands.error_of("decisions", path, "least-loaded")
      assert.equal("usage", code)
      assert.matches("does not add up scores", message, 1, true)
    end)
  end)

  --- What replaying a policy in Lua says: output, or the message of its error.
  local function replayed(path, list, ...)
    local path_of_policy = os.tmpname() .. ".lua"
    local file = assert(io.open(path_of_policy, "wb"))
    file:write("return { 'weighted', scorers = {", list, "} }")
    file:close()
    local outcome = commands.call("decisions", path, path_of_policy, ...)
    os.remove(path_of_policy)
    os.remove((path_of_policy:gsub("%.lua$", "")))
    return outcome.problem and outcome.problem.message or outcome.out
  end

  it("tell scorers in Lua what they saw, too", function()
    with_record({ "weighted", scorers = { { "queue-depth", 1 } }, tie = "lowest-id" },
      function(path)
        for _, own in ipairs {
          "{ { name = 'own', score = function(_, one) return 1 / (1 + one.queue_depth) end }, 1 }",
          "{ { name = 'own', score_all = function(_, list, scores) for i, one in ipairs(list) do "
            .. "scores[i] = 1 / (1 + one.queue_depth) end end }, 1 }",
          "{ 'inverted', base = { 'inverted', base = 'queue-depth' } }",
          "{ { name = 'half', base = 'queue-depth', score = function(_, _, b) return b / 2 end }, "
            .. "1 }",
        } do
          local out = replayed(path, own)
          assert.matches("^300 of 300 decisions agree", out)
          assert.matches("computed from the recorded state", out, 1, true)
        end
        local out = replayed(path, "{ 'inverted', base = 'queue-depth' }")
        assert.is_true(tonumber(out:match "^(%d+) of 300") < 250, out)
      end)
  end)

  it("say what of the state a scorer in Lua misses", function()
    with_record({ "weighted", scorers = { { "queue-depth", 1 } } }, function(path)
      for _, case in ipairs {
        { "{ 'llm-d.context-length-aware', labels = { ['llm-d.ai/context-length-range'] = {"
          .. "'0-900', '901-4000' } } }", "it reads request.prompt_tokens, which is not recorded" },
        { "{ 'llm-d.header-label-affinity-scorer', label = 'a', labels = { a = { 'x', 'y' } } }",
          "it reads request.tenant, which is not recorded" },
        { "{ { name = 'own', score = function(_, one) return one.cached_tokens end }, 1 }",
          "scorer 'own' cannot be replayed: its scores are not recorded, and it reads "
            .. "instance.cached_tokens, which is not recorded" },
        { "{ { name = 'own', columns = true, score = function(_, c) return c.in_flight end }, 1 }",
          "it works on columns" },
        { "{ { name = 'own', score = function() return 1 end, observe = function() end }, 1 }",
          "its result depends on earlier requests of a run" },
        { "{ 'inverted', base = 'prefix-affinity' }",
          "'prefix-affinity', which it builds on, neither: " },
        { "{ { name = 'own', score = function() return 0 / 0 end }, 1 }",
          "for request request_0 it returns nan, expected a number" },
        { "{ { name = 'own', score = function(_, one) one.queue_depth = 1 return 1 end }, 1 }",
          "it writes instance.queue_depth, which is read-only" },
      } do
        assert.matches(case[2], replayed(path, case[1]), 1, true)
      end
    end)
  end)

  it("of a gateway that tells of its requests are asked of policies that read them", function()
    local rows = {}
    for i, tokens in ipairs { 100, 3000, 100 } do
      rows[i] = ([[{"id":"%d","to":"pod-%d","len":%d,"who":"b","s":{"pod-1":{"queue-scorer":0.5},]]
        .. [["pod-2":{"queue-scorer":0.5}}}]]):format(i, i == 2 and 2 or 1, tokens)
    end
    files.with(table.concat(rows, "\n"), function(path)
      local fields = { "--field", "chosen=to", "--field", "scores=s", "--field",
        "prompt_tokens=len", "--field", "tenant=who" }
      local out = replayed(path, "{ 'llm-d.context-length-aware', labels = {"
        .. "['llm-d.ai/context-length-range'] = { '0-900', '901-4000' } } }, 'llm-d.queue-scorer'",
        table.unpack(fields))
      assert.matches("^3 of 3 decisions agree", out)
      out = replayed(path, "{ 'llm-d.header-label-affinity-scorer', label = 'owner', labels = {"
        .. "owner = { 'a', 'b' } } }", table.unpack(fields))
      assert.matches("^1 of 3 decisions agree", out)
    end)
  end)

  local lines = {
    [[{"level":"info","msg":"starting"}]], "not even JSON",
    [[{"id":"a","target":"pod-1","s":{"pod-1":{"queue-scorer":1,]]
      .. [["kv-cache-utilization-scorer":0.5},"pod-2":{"queue-scorer":0,]]
      .. [["kv-cache-utilization-scorer":0.9}}}]],
    [[{"id":"b","target":"pod-1","s":{"queue-scorer":{"pod-1":0,"pod-2":1},]]
      .. [["kv-cache-utilization-scorer":{"pod-1":0.2,"pod-2":0.9}}}]],
  }
  local log = table.concat(lines, "\n") .. "\n"
  local fields = { "--field", "chosen=target", "--field", "scores=s", "--field", "request=id" }

  it("come from the log of a gateway, too", function()
    files.with(log, function(path)
      local out = commands.output_of("decisions", path, "llm-d.queue-scorer:1,kv-utilization:1",
        table.unpack(fields))
      assert.matches("^1 of 2 decisions agree %(50.0 %%%); 2 lines or spans are not routing "
        .. "decisions", out)
      assert.matches("b went to pod-1, this policy prefers pod-2: llm-d.queue-scorer +0.500 "
        .. "(0.5 x (1.000 - 0.000)), kv-utilization +0.350 (0.5 x (0.900 - 0.200))", out, 1, true)
    end)
  end)

  it("come from OpenTelemetry spans", function()
    local span = [[{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"schedule","attributes":[
      {"key":"epp.target","value":{"stringValue":"pod-2"}},
      {"key":"epp.scores","value":{"stringValue":
        "{\"pod-1\":{\"queue-scorer\":1},\"pod-2\":{\"queue-scorer\":0.5}}"}}]},
      {"name":"other"}]}]}]}]]
    files.with(span, function(path)
      local out = commands.output_of("decisions", path, "llm-d.queue-scorer:1", "--field",
        "chosen=epp.target", "--field", "scores=epp.scores")
      assert.matches("^0 of 1 decisions agree", out)
    end)
  end)

  it("say what is wrong with them", function()
    files.with(log, function(path)
      for _, case in ipairs {
        { { path, policy }, "name its fields" },
        { { path, policy, "--field", "chosen=x", "--field", "scores=y" },
          "no decision of 4 lines" },
        { { path, policy, "--field", "choice=x" }, "invalid value 'choice=x'" },
        { { path }, "expected FILE POLICY" },
        { { "/no/such", policy, "--field", "chosen=x", "--field", "scores=y" }, "cannot open" },
      } do
        local _, message = commands.error_of("decisions", table.unpack(case[1]))
        assert.matches(case[2], message, 1, true)
      end
    end)
  end)
end)
