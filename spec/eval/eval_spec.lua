--- Evaluations: what they say of good candidates, bad ones and those that cheat.
local candidate = require "blis.eval.candidate"
local eval = require "blis.eval"
local json = require "blis.json"
local program = require "spec.support.program"
local score = require "blis.eval.score"
local small = require "spec.support.small"
local suites = require "blis.eval.suite"

local path = "spec/eval/small_suite.lua"

-- What the baseline does is measured once.
local known = {}

local function evaluate(lua, changes)
  local suite = suites.read(path)
  local options = { stage = suite.stages.train, limits = suite.limits, jobs = 2, known = known }
  for key, value in pairs(changes or {}) do options[key] = value end
  return eval.run(suite, lua, "policy.lua", options)
end

--- All scenarios of the search, with one seed.
local function quick_stage()
  local stage = suites.read(path).stages.train
  return { name = stage.name, split = stage.split, seeds = { 1 }, scenarios = stage.scenarios }
end

local function decoded(result) return json.decode(json.encode(result.object)) end

describe("scores", function()
  it("are those of the worked example", function()
    local items = {}
    for i, one in ipairs { { 2, 800, 640 }, { 1, 400, 400 }, { 1, 1200, 1320 } } do
      items[i] = { weight = one[1], log_ratio = score.log_ratio(one[2], one[3]) }
    end
    local log_ratio = score.combined(items)
    assert.near(0.087744, log_ratio, 1e-6)
    assert.near(1.091709, math.exp(log_ratio), 1e-6)
    assert.near(1.039723, math.exp(log_ratio) * score.penalty(0.05, 1), 1e-6)
  end)

  it("stay within 1/16 and 16", function()
    assert.near(math.log(16), score.log_ratio(1e9, 1), 1e-12)
    assert.near(-math.log(16), score.log_ratio(1, 1e9), 1e-12)
    assert.equal(0.0, score.log_ratio(0, 0))
  end)
end)

describe("text of candidates", function()
  local forms = { "# %s", "-- # %s", "--# %s", "-- %s", "  %s", "// %s", "--// %s", "\t# %s  " }

  it("has markers in any form, on any line, with any ends of lines", function()
    for _, form in ipairs(forms) do
      for _, ending in ipairs { "\n", "\r\n" } do
        local text = table.concat({ form:format "EVOLVE-BLOCK-START", "local a = 1",
          form:format "EVOLVE-BLOCK-END", "return a, debug.traceback and 4" }, ending)
        local chunk = assert(load(candidate.clean(text), "=policy.lua"), form)
        assert.equal(1, (chunk()))
        local broken = text .. ending .. "error 'five'"
        broken = broken:gsub("return a, [^\r\n]*", "")
        local _, problem = pcall(assert(load(candidate.clean(broken), "=policy.lua")))
        assert.equal("policy.lua:5: five", problem)
      end
    end
  end)

  it("may begin with the tag of a fence, or a byte-order mark", function()
    assert.equal(7, load(candidate.clean "lua\nreturn 7")())
    assert.equal(7, load(candidate.clean "\xEF\xBB\xBFreturn 7")())
  end)

  it("is frozen outside of the block", function()
    local seed = "local a\n# EVOLVE-BLOCK-START\nx()\n# EVOLVE-BLOCK-END\nreturn a\n"
    local function problem(text) return candidate.frozen_problem(text, seed) end
    assert.is_nil(problem(seed))
    assert.is_nil(problem(seed:gsub("x%(%)", "y()\nz()")))
    assert.is_nil(problem(seed:gsub("# EV", "-- EV")))
    small.says(problem(seed:gsub("return a", "return b")), "return b")
    small.says(problem("more()\n" .. seed), "more()")
    small.says(problem "x()", "frozen")
  end)

  it("is frozen as Lua reads it", function()
    local seed = "local blis = require 'blis'\n# EVOLVE-BLOCK-START\nlocal function score() end\n"
      .. "# EVOLVE-BLOCK-END\nlocal b = 1\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n"
      .. "return blis.scorer { name = 'evolved', score = score }\n"
    local function problem(first, second)
      local text = seed:gsub("local function score%(%) end", function() return first end)
      text = text:gsub("START\n# EVO", function()
        return "START\n" .. (second or "") .. "\n# EVO"
      end)
      return candidate.frozen_problem(text, seed)
    end
    for _, fine in ipairs { "local function score() return 1 end", "local c = {} c.x = 1",
      "local function score() for i = 1, 2 do return i end end", "local s = 'return' -- return",
      "local t = { blis = 1 } t.blis = 2", "if a then elseif b then else end local n = 0x1p-3",
      "local function score() if a then return 1 elseif b then return 2 end return 3 end",
      "local f = function() repeat local x = [==[ end ]==] until x return 1 end",
      "local x = blis.vec.add" } do
      assert.is_nil(problem(fine), fine)
    end
    for _, case in ipairs {
      { "do return 'least-loaded' end", says = "'return' outside a function" },
      { "return 'least-loaded'", says = "'return' outside a function" },
      { "if true then return 1 end", says = "'return' outside a function" },
      { "local function f() end do return 1 end", says = "'return' outside a function" },
      { "goto over", says = "'goto' outside a function" },
      { "local blis = {}", says = "changes 'blis'" },
      { "local a, blis = 1, 2", says = "changes 'blis'" },
      { "local blis", says = "changes 'blis'" },
      { "local a <const>, blis", says = "changes 'blis'" },
      { "blis = {}", says = "changes 'blis'" },
      { "blis.scorer = f", says = "changes 'blis'" },
      { "blis['scorer'] = f", says = "changes 'blis'" },
      { "function blis.scorer() end", says = "changes 'blis'" },
      { "local function blis() end", says = "changes 'blis'" },
      { "x = [==[", "]==]", says = "Lua found 'return' in line 9, expected 'local'" },
      { "--[[", "]]", says = "Lua found 'return' in line 9, expected 'local'" },
    } do
      small.says(problem(case[1], case[2]) or "", case.says)
    end
    local inside = "return function(r, all)\n# EVOLVE-BLOCK-START\nreturn 1\n"
      .. "# EVOLVE-BLOCK-END\nend"
    assert.is_nil(candidate.frozen_problem(inside, inside))
  end)

  it("is frozen with its globals and tables", function()
    local function text_of(block)
      return table.concat({ "local limits, k = { most = 3 }, 2", "local more =", "{ 1, 2 }",
        "local made, other = f { 1 }, 3",
        "# EVOLVE-BLOCK-START", block, "# EVOLVE-BLOCK-END", "return limits.most" }, "\n")
    end
    local function problem(block)
      return candidate.frozen_problem(text_of(block), text_of "")
    end
    for _, fine in ipairs { "local x = more[1] + #more", "for i, v in ipairs(more) do f(v) end",
      "local t = { more = 1 }", "local x = t.more", "f(k)", "f(made, other)",
      "for k in pairs(more) do f(k) end" } do
      assert.is_nil(problem(fine), fine)
    end
    for _, case in ipairs {
      { "local t = more", says = "line 6: the EVOLVE-BLOCK passes on 'more'" },
      { "local t = limits", says = "passes on 'limits'" },
      { "rawset(more, 1, 9)", says = "passes on 'more'" },
      { "table.insert(more, 9)", says = "passes on 'more'" },
      { "local function f() return more end", says = "passes on 'more'" },
      { "local t = { more }", says = "passes on 'more'" },
      { "more[1] = 9", says = "changes 'more'" },
      { "more[more[1]].x = 9", says = "changes 'more'" },
      { "local x x, limits.most = 1, 2", says = "changes 'limits'" },
      { "local _ENV = {}", says = "uses '_ENV'" },
      { "_ENV.ipairs = nil", says = "uses '_ENV'" },
    } do
      small.says(problem(case[1]) or "", case.says)
    end
  end)
end)

describe("an evaluation #host", function()
  it("gives the baseline exactly 1", function()
    local result = evaluate(suites.read(path).baseline)
    assert.equal(1, result.score)
    assert.is_true(result.is_valid)
  end)

  it("ranks what is better above, what is worse below", function()
    local good = evaluate [[return { "weighted", scorers = "prefix-affinity:3,queue-depth:2" }]]
    local bad = evaluate [[return function() return 1 end]]
    assert.is_true(good.score > bad.score, good.feedback)
    assert.is_true(bad.score > 0 and bad.score < 1, bad.feedback)
    small.says(bad.feedback, "WORST")
    small.says(bad.feedback, "hot spot")
  end)

  for _, cheat in ipairs(require "spec.eval.cheats") do
    it("is not deceived: " .. cheat.rule, function()
      local result = evaluate(cheat.lua, { stage = quick_stage() })
      local object = decoded(result)
      if cheat.says then
        assert.equal(0, object.combined_score)
        assert.is_false(object.correct)
        assert.equal(-1, object.metrics.validity)
        small.says(object.artifacts.error, cheat.says)
      elseif object.correct then
        assert.is_true(object.combined_score > 0 and object.combined_score <= 1, result.feedback)
      else
        assert.is_true(cheat.may_say, result.feedback)
      end
      assert.is_true(#object.artifacts.feedback <= 4000)
      assert.is_nil(object.artifacts.feedback:find "%w+%w+" and
        object.artifacts.feedback:find(("%w"):rep(32)))
      assert.is_nil(object.artifacts.feedback:lower():find "token[:=]")
    end)
  end

  it("gives no memory away that is garbage of the process that asks", function()
    -- 30 MB of it, and a limit of 16 MB: 20 MB are too many.
    local lua = "local t = {} for i = 1, 150000 do t[i] = { i, i, i, i } end return 'round-robin'"
    assert.equal(0, evaluate(lua, { stage = quick_stage() }).score)
    do
      local garbage = {}
      for i = 1, 30 do garbage[i] = ("y"):rep(1000000) .. i end
      assert.equal(30, #garbage)
    end
    local result = evaluate(lua, { stage = quick_stage() })
    assert.equal(0, result.score)
    small.says(result.feedback, "memory")
  end)

  it("gives candidates no stream that traffic is drawn from", function()
    local function drawn(lua)
      return evaluate(("local blis = require 'blis' error('draws ' .. %s:integer(1000000))")
        :format(lua), { stage = quick_stage() }).feedback:match "draws (%d+)"
    end
    for _, name in ipairs { "", ", 'workload-gen'", ", 'router'" } do
      local text = ("blis.rng(1%s)"):format(name)
      local outside = load(("return require('blis').rng(1%s):integer(1000000)"):format(name))()
      assert.is_true(tonumber(drawn(text)) ~= outside, text)
      assert.equal(drawn(text), drawn(text))
    end
    assert.not_equal(drawn "blis.rng(1)", drawn "blis.rng(2)")
    assert.not_equal(drawn "blis.rng(1, 'a')", drawn "blis.rng(1, 'b')")
    for arguments, says in pairs { ["'x'"] = "number expected, got string",
      ["1, 5"] = "string expected, got number", ["1, 0.5"] = "string expected, got number",
      ["1, true"] = "string expected, got boolean", ["1, {}"] = "string expected, got table",
      ["0.5"] = "number expected", ["nil"] = "number expected, got nil" } do
      small.says(evaluate(("require('blis').rng(%s)"):format(arguments),
        { stage = quick_stage() }).feedback, says)
    end
  end)

  it("says the same whatever the number of processes, but for the time", function()
    local lua = [[return { "weighted", scorers = "prefix-affinity:1,queue-depth:1" }]]
    local function text(jobs)
      return (json.encode(evaluate(lua, { jobs = jobs, stage = suites.read(path).stages.full,
        probes = true, known = {} }).object):gsub('"wall_ms":%d+', ""))
    end
    local alone = text(1)
    assert.equal(alone, text(8))
    assert.equal(alone, text(8))
  end)

  it("shows ids, names and times that differ from seed to seed", function()
    local function seen(seed)
      local stage = quick_stage()
      stage.seeds = { seed }
      local result = evaluate([[
        local seed
        return { name = "x", new = function(context)
          seed = context.seed
          return { route = function(request, all)
            print(request.id, all[1].id, request.prefix_group, request.prefix_hash, seed,
              request.arrival_us == request.now_us and request.now_us > 60000000)
            return 1
          end }
        end }]], { stage = stage })
      return { result.feedback:match(
        "printed:\n  > (request_%x+)%s+(instance_%x+)%s+(name_%x+)%s+(%d+)%s+(%d+)%s+true") }
    end
    local one, other = seen(1), seen(2)
    assert.equal(5, #one)
    for i, word in ipairs(one) do assert.is_true(word ~= other[i] and #word > 9, word) end
    assert.same(one, seen(1))
  end)

  it("gains nothing by what a candidate writes when nobody watches", function()
    local function hash_of(writes)
      local text = "local n = 0 return function(request, instances) n = n + 1 if n > 45 then "
        .. writes .. " end return (n + request.prompt_tokens) % 3 + 1 end"
      local result = evaluate(text, { stage = quick_stage() })
      assert.is_true(result.is_valid, result.feedback)
      return result.measures[1][1].hash
    end
    assert.equal(hash_of "", hash_of [[for _, one in ipairs(instances) do
      one.in_flight, one.id, one.index = 0, 'x', 1 end
      request.id, request.deadline_us = 'y', nil]])
  end)

  it("watches longer where candidates are accepted", function()
    local text = [[local n = 0 return function(request, instances)
      n = n + 1
      if n > 45 then request.prompt_tokens = 1 end
      return n % 3 + 1
    end]]
    assert.is_true(evaluate(text).is_valid)
    small.says(evaluate(text, { stage = suites.read(path).stages.full }).feedback, "read-only")
  end)

  it("holds parts outside of the block, when asked", function()
    local suite = suites.read(path)
    local frozen = { frozen = suite.seed_program }
    assert.is_true(evaluate(suite.seed_program, frozen).is_valid)
    local changed = evaluate(suite.seed_program:gsub("local a = 1", "local a = 2"), frozen)
    assert.equal(0, changed.score)
    small.says(changed.feedback, "frozen")
  end)

  it("keeps the libraries of a frozen text as they are", function()
    local function text_of(block)
      return table.concat({ "local blis = require 'blis'", "-- EVOLVE-BLOCK-START", block,
        "-- EVOLVE-BLOCK-END", "local names = tostring(math.max(1, 2))",
        "return function(request, instances) return #names end" }, "\n")
    end
    local frozen = { frozen = text_of "", stage = quick_stage() }
    for _, block in ipairs {
      "local b = blis b.scorer = nil", "rawset(require 'blis', 'scorer', 1)", "blis.new = 1",
      "math.max = nil", "local m = math m.max = nil", "rawset(math, 'max', nil)",
      "tostring = nil", "_G.tostring = nil", "rawset(_G, 'tostring', nil)",
      "function tostring() return '' end", "local g = _G g.math = {}",
      "local v = blis.vec v.add = nil", "string.format = nil", "table.insert(math, 1)",
    } do
      local result = evaluate(text_of(block), frozen)
      assert.is_false(result.is_valid, block)
      assert.equal(0, result.score)
    end
    local fine = [[x = 1 x = x + 1
      local count = 0
      for name in pairs(math) do count = count + #name end
      for name, fn in next, string do count = count + 1 end
      assert(count > 50 and rawget(math, "pi") == math.pi and blis.vec.sum)
      assert(pairs(_G) and x == 2 and rawget(_G, "x") == 2 and _G.math == math)]]
    assert.is_true(evaluate(text_of(fine), frozen).is_valid)
    -- Without a frozen text, a script may change its own environment.
    assert.is_true(evaluate(text_of "math.new = 1", { stage = quick_stage() }).is_valid)
  end)

  it("keeps held-out scores where models do not look", function()
    local suite = suites.read(path)
    local object = decoded(evaluate([[return "round-robin"]], { heldout = suite.stages.test }))
    assert.is_number(object.private.heldout)
    for _, part in ipairs { "metrics", "artifacts", "public", "scenarios" } do
      assert.is_nil(json.encode(object[part]):find("secret", 1, true))
      assert.is_nil(json.encode(object[part]):find("heldout", 1, true))
    end
  end)

  it("has no booleans among its metrics, and no error in a success", function()
    local object = decoded(evaluate [[return "round-robin"]])
    for name, value in pairs(object.metrics) do assert.is_number(value, name) end
    assert.is_nil(object.artifacts.error)
    for _, value in pairs(object.artifacts) do assert.is_string(value) end
    assert.equal(16, #object.provenance.result_sha)
  end)

  it("tells what depends on the order of instances", function()
    local suite = suites.read(path)
    local result = evaluate([[return function() return 1 end]],
      { stage = suite.stages.test, probes = true })
    small.says(result.feedback, "depends on the order of the endpoints")
    local fair = evaluate([[return "least-loaded"]], { stage = suite.stages.test, probes = true })
    assert.is_nil(fair.feedback:find("PROBE", 1, true))
  end)

  it("tells which decisions lost most, by trying others", function()
    local suite = suites.read(path)
    local stage = { name = "full", split = "train", seeds = { 1 },
      scenarios = { suite.stages.train.scenarios[1] } }
    local all_onto_one = evaluate("local n = 0 return function() n = n + 1 return 1 end",
      { stage = stage, probes = true })
    local lost = {}
    for chosen, best, ms in all_onto_one.feedback:gmatch
      "regret: t=[%d.]+s request_%d+ %-> (%S+) %(%d+ requests%); (%S+) had %d+: lost (%d+) ms" do
      assert.equal("instance_0", chosen)
      assert.is_true(best ~= chosen)
      lost[#lost + 1] = tonumber(ms)
    end
    assert.equal(3, #lost, all_onto_one.feedback)
    assert.is_true(lost[1] >= lost[2] and lost[2] >= lost[3] and lost[3] > 0)
    local again = evaluate("local n = 0 return function() n = n + 1 return 1 end",
      { stage = stage, probes = true })
    assert.equal(all_onto_one.feedback, again.feedback)
    local balanced = evaluate([[return "least-loaded"]], { stage = stage, probes = true })
    assert.is_nil(balanced.feedback:find "lost %d%d%d ms")
  end)

  it("takes parameters in place of a program", function()
    local result = evaluate [[{"queue": 2, "prefix": 3}]]
    assert.is_true(result.is_valid)
  end)
end)

describe("texts that are no candidates #host", function()
  local function check(result, says)
    assert.equal("", result.err)
    local object = json.decode(result.out)
    assert.equal(0, object.combined_score)
    small.says(object.artifacts.error, says)
  end

  it("may be binary, and no UTF-8", function()
    for text, says in pairs { ["\xFF\xFE"] = "unexpected symbol", ["\27LuaT"] = "binary chunk",
      ["error('\xFF\xFE')"] = "policy.lua:1:", [""] = "returned nil",
      [("x"):rep(100000)] = "65536" } do
      check(program.feed(text, "eval", path, "-", "smoke", "--json"), says)
    end
  end)

  it("may have no end", function()
    check(program.run("eval", path, "/dev/null", "smoke", "--json"), "returned nil")
    local result = program.run("eval", path, "/dev/zero", "smoke", "--json")
    assert.equal(2, result.status)
    small.says(result.err, "cannot open /dev/zero: it is a device, expected a file")
  end)

  it("may be pipes, whose other end is nobody's", function()
    local result = program.shell(([[folder=$(mktemp -d) && mkfifo $folder/policy.lua
      "$BLIS" eval %s $folder/policy.lua smoke; status=$?
      echo '{"id":1,"method":"evaluate","params":{"program":{"file":"'$folder'/policy.lua"}}}' |
        "$BLIS" serve --stdio --suite %s
      echo '{"policy":"'$folder'/policy.lua"}' | "$BLIS" eval %s --batch - --stage smoke
      rm -r $folder; exit $status]]):format(path, path, path))
    assert.equal(2, result.status)
    small.says(result.err, "policy.lua: it is a named pipe, expected a file")
    assert.equal(4, select(2, result.out:gsub("it is a named pipe", ""))) -- three times in a batch
  end)

  it("may be no files", function()
    for _, name in ipairs { "/", "/proc/self/fd/nothing" } do
      local result = program.shell(('"$BLIS" eval %s %s smoke'):format(path, name))
      assert.equal(2, result.status)
      small.says(result.err, "cannot open")
    end
  end)
end)

describe("blis eval #host", function()
  local function with_policy(lua, fn) program.with_file(lua, fn) end

  it("prints one JSON object, and nothing else", function()
    with_policy([[return "round-robin"]], function(file)
      local result = program.run("eval", path, file, "train", "--json")
      assert.equal("", result.err)
      assert.equal(0, result.status)
      assert.equal(1, select(2, result.out:gsub("\n", "")))
      assert.equal("blis-eval/1", json.decode(result.out).schema)
    end)
  end)

  it("ends with 0 for what is not valid, 1 for a broken suite, 2 for mistakes", function()
    with_policy("return 42", function(file)
      assert.equal(0, program.run("eval", path, file, "--stage", "smoke").status)
      assert.equal(1, program.run("eval", "no_such_suite", file).status)
      assert.equal(1, program.run("eval", file, file).status)
      assert.equal(2, program.run("eval", path, file, "--stage", "no").status)
      assert.equal(2, program.run("eval", path, "no_such_policy.lua").status)
      assert.equal(2, program.run("eval", path, file, "train", "--heldout").status)
      assert.equal(2, program.run("eval", path, file, "--scenario", "secret").status)
      assert.equal(2, program.run("eval").status)
    end)
  end)

  it("reads a policy from standard input, under the names of frameworks too", function()
    for _, name in ipairs { "eval", "gepa-evaluate", "openevolve-evaluate" } do
      local result = program.feed(suites.read(path).baseline, name, path, "-", "smoke", "--json")
      assert.equal(1, json.decode(result.out).combined_score)
    end
  end)

  it("answers a batch in order", function()
    local first = json.encode { lua = suites.read(path).baseline, scenario = "a" }
    with_policy(table.concat({ first,
      [[{"lua":"return 42"}]], [[{"parameters":{"queue":1},"scenario":"tenants"}]],
      [[garbage]], [[{"lua":"return 1","scenario":"nope"}]] }, "\n"), function(file)
      local result = program.run("eval", path, "--batch", file, "--stage", "train")
      local lines = {}
      for line in result.out:gmatch "[^\n]+" do lines[#lines + 1] = json.decode(line) end
      assert.equal(5, #lines)
      assert.equal(1, lines[1].combined_score)
      assert.equal(1, #lines[1].scenarios)
      assert.equal("tenants", lines[3].scenarios[1].id)
      for _, i in ipairs { 2, 4, 5 } do assert.equal(0, lines[i].combined_score) end
      assert.equal(0, result.status)
    end)
  end)

  it("writes what ShinkaEvolve reads", function()
    with_policy("return 42", function(file)
      local folder = os.tmpname()
      os.remove(folder)
      program.run("eval", path, file, "smoke", "--shinka-dir", folder)
      local correct = assert(io.open(folder .. "/correct.json")):read "a"
      local metrics = assert(io.open(folder .. "/metrics.json")):read "a"
      os.execute("rm -r " .. folder)
      assert.is_false(json.decode(correct).correct)
      small.says(json.decode(correct).error, "42")
      assert.equal(0, json.decode(metrics).combined_score)
    end)
  end)

  --- Ends whoever started `blis eval SUITE ARGUMENTS`, and gives what is left.
  local function left_behind(arguments)
    return program.shell(([[
        pid=$(sh -c 'blis=$1; suite=$2; shift 2; "$blis" eval "$suite" "$@" \
          --wall 3000 --instr 1000000000000 >/dev/null 2>&1 </dev/null & echo $!
          until [ -n "$(cat /proc/$!/task/$!/children)" ]; do sleep 0.01; done' \
          sh "$BLIS" $SUITE $ARGUMENTS)
        tries=0
        while grep -q '^State:.*[RSD] ' /proc/$pid/status 2>/dev/null; do
          tries=$((tries + 1))
          if [ $tries -gt 6000 ]; then echo "it lives"; kill $pid; break; fi
          sleep 0.01
        done]]):gsub("%$(%u%u+)", { SUITE = path, ARGUMENTS = arguments })).out
  end

  it("does not outlive the loop that asked", function()
    with_policy("return function() while true do end end", function(file)
      assert.equal("", left_behind(file .. " train --json"))
      with_policy(json.encode { policy = file }, function(batch)
        assert.equal("", left_behind("--stage train --batch " .. batch))
      end)
    end)
  end)

  it("knows how much there is to win", function()
    local result = program.run("eval", path, "--bounds", "--stage", "train")
    small.says(result.out, "oracle")
    small.says(result.out, "reactive")
  end)
end)

describe("suites that ship #host", function()
  for _, name in ipairs(suites.names) do
    it("can be run, and there is something to win: " .. name, function()
      local suite = suites.read(name)
      local function of(lua, stage)
        return eval.run(suite, lua, "policy.lua", { stage = stage, jobs = 2 })
      end
      local smoke = suite.stages.smoke
      assert.equal(1, of(suite.baseline, smoke).score)
      assert.is_true(of(suite.bounds.oracle, suites.oracle(smoke)).score > 1)
      local seed = of(suite.seed_program, smoke)
      assert.is_true(seed.is_valid, seed.feedback)
    end)
  end

  it("refuse a baseline that has changed", function()
    local given = dofile(path)
    given.baseline_sha = "0123456789abcdef"
    small.says(small.message_of(suites.of_table, given, "text"), "baseline")
  end)
end)
