--- The protocol of `blis serve --stdio`, spoken with the program as a process.
local core = require "blis.core"
local json = require "blis.json"
local program = require "spec.support.program"
local small = require "spec.support.small"

local suite = "spec/eval/small_suite.lua"

local function evaluate(id, lua, more)
  local params = { program = { lua = lua }, scenario = "a" }
  for key, value in pairs(more or {}) do params[key] = value end
  return json.encode(json.object("id", id, "method", "evaluate", "params", params))
end

--- Sends lines and returns what came: in order, and the last line of each id.
local function talk(lines, answers)
  local input = table.concat(lines, "\n") .. "\n"
  local outcome
  program.with_file(input, function(path)
    outcome = program.shell(('cat %s | "$BLIS" serve --stdio --suite %s'):format(path, suite))
  end)
  local list, by_id = {}, {}
  for line in outcome.out:gmatch "[^\n]+" do
    local object = json.decode(line)
    list[#list + 1] = object
    if object.id ~= nil and object.id ~= json.null then by_id[object.id] = object end
  end
  if answers then assert.equal(answers, #list - 1, outcome.out .. outcome.err) end
  return list, by_id, outcome
end

describe("blis serve --stdio #host", function()
  it("says first that it is ready", function()
    local list, _, outcome = talk({}, 0)
    assert.is_true(list[1].ready)
    assert.equal(1, list[1].protocol)
    assert.equal(0, outcome.status)
    assert.equal("", outcome.err)
  end)

  it("answers every request once, short ones perhaps first", function()
    local _, by_id = talk({
      evaluate("long", "return 'round-robin'", { seeds = { 1, 2, 3, 4, 5, 6 } }),
      evaluate("short", "return 'round-robin'"),
    }, 2)
    assert.is_true(by_id.long.ok)
    assert.is_true(by_id.short.ok)
    assert.equal("complete", by_id.short.result.status)
  end)

  it("stops what does not end, and goes on", function()
    local start = core.clock_us()
    local _, by_id = talk({
      evaluate(1, "return function() while true do end end", { limits = {
        instructions = 1000000000000, wall_s = 0.5 } }),
      evaluate(2, "return 'round-robin'"),
      evaluate(3, "while true do end"),
    }, 3)
    assert.equal("timeout", by_id[1].error.code)
    assert.is_true(by_id[2].ok)
    assert.equal("timeout", by_id[3].error.code)
    -- Without limits they take hours; 2 minutes are for a machine with other work.
    assert.is_true(core.clock_us() - start < 120000000)
  end)

  it("computes nothing of a request in the server's own process", function()
    local pipe = os.tmpname()
    os.remove(pipe)
    assert(os.execute("mkfifo " .. pipe))
    local limits = { wall_s = 1, cpu_s = 1 }
    local cluster = { instances = 2 }
    local list, by_id = talk({
      evaluate("tokens", "return 'random'", { limits = limits, scenario = { cluster = cluster,
        workload = { rate = 10, requests = 20000, prompt_tokens = 1000000000 } } }),
      evaluate("prefixes", "return 'random'", { limits = limits, scenario = { cluster = cluster,
        workload = { rate = 10, requests = 20000, prefixes = { groups = 1000,
          tokens = 1000000000 } } } }),
      json.encode(json.object("id", "file", "method", "evaluate", "params", json.object("program",
        { file = pipe }, "scenario", "a"))),
      '{"id":"describe","method":"describe"}',
    }, 4)
    os.remove(pipe)
    assert.equal("describe", list[2].id)
    for _, id in ipairs { "tokens", "prefixes" } do
      assert.is_true(by_id[id].error.code == "timeout" or by_id[id].error.code == "memory")
      small.says(by_id[id].error.message, "policy.lua: ")
    end
    assert.equal("invalid_params", by_id.file.error.code)
  end)

  it("gives each role of a program parameters of its own", function()
    local program_of = [[local p = ...
      return { admission = function() p.seen = (p.seen or 0) + 1 return require("blis").admit() end,
        routing = function() if p.seen then error "leak" end return p.place end }]]
    local _, by_id = talk({ evaluate(1, program_of, { params = { place = 1 } }) }, 1)
    assert.is_true(by_id[1].ok, json.encode(by_id[1]))
  end)

  it("reports a wrong request once, whatever its limits say", function()
    local _, by_id = talk({
      evaluate(1, "return 'random'", { limits = { wall_s = -1 } }),
      evaluate(2, "return 'random'", { limits = "none" }),
      evaluate(3, "return 'random'", { objectives = { "cost", "cost" } }),
      evaluate(4, "return 'random'", { seeds = { 1, "2" } }),
      '{"id":5,"method":"evaluate","params":7}',
      '{"id":6,"method":"run","params":{"experiment":{},"limits":{"wall_s":0}}}',
    }, 6)
    for id = 1, 6 do
      assert.is_false(by_id[id].ok)
      assert.equal("invalid_params", by_id[id].error.code)
    end
    small.says(by_id[1].error.message, "wall_s")
    assert.equal("objectives[2]: 'cost' is a duplicate", by_id[3].error.message)
  end)

  it("delivers every answer when it is asked to end", function()
    for signal, status in pairs { TERM = 143, INT = 130, HUP = 129 } do
      local outcome = program.shell(([[F=$(mktemp -d); mkfifo $F/in $F/out
        env --default-signal=INT,HUP "$BLIS" serve --stdio --workers 1 --suite %s \
          <$F/in >$F/out & server=$!
        { read -r ready; sleep 0.7; cat >$F/answers; } <$F/out & reader=$!
        exec 3>$F/in
        for id in $(seq 2000); do
          echo '{"id":'$id',"method":"evaluate","params":{"program":{"lua":"return 1"}}}'
        done >&3
        kill -%s $server; wait $server; status=$?; exec 3>&-; wait $reader
        echo "$status $(grep -c '"id":' $F/answers) $(grep -vc '}$' $F/answers)"
        rm -r $F]]):format(suite, signal))
      local got, answers, torn = outcome.out:match "^(%d+) (%d+) (%d+)\n$"
      assert.same({ tostring(status), "0" }, { got, torn }, outcome.out .. outcome.err)
      -- Lines that the server has not read yet have no answer.
      assert.is_true(tonumber(answers) > 100 and tonumber(answers) <= 2000, answers)
    end
  end)

  it("fails when answers cannot be written", function()
    local outcome = program.shell [[
      echo '{"id":1,"method":"describe"}' | "$BLIS" serve --stdio >/dev/full; echo "status $?"]]
    assert.equal("status 1\n", outcome.out)
    assert.matches("^blis: serve: %d lines? not written: No space left on device\n$", outcome.err)
  end)

  it("lives through garbage", function()
    local list, by_id = talk({ "garbage", "[1]", "{}", '{"id":{}}', '{"id":1}',
      '{"id":2,"method":"nope"}', '{"id":3,"method":"evaluate"}', "", "\0\255",
      evaluate(4, "return 'round-robin'"), '{"id":5,"method":"run","parms":{}}',
      '{"id":6,"method":"run","params":{"experiment":{"seed":9223372036854775808}}}' }, 11)
    assert.equal("parse_error", by_id[6].error.code)
    assert.equal("parse_error", list[2].error.code)
    assert.equal(json.null, list[2].id)
    assert.equal("invalid_request", list[3].error.code)
    assert.equal("invalid_request", by_id[1].error.code)
    assert.equal("unknown_method", by_id[2].error.code)
    assert.equal("invalid_params", by_id[3].error.code)
    assert.is_true(by_id[4].ok)
    assert.equal("unknown member 'parms'; did you mean 'params'?", by_id[5].error.message)
  end)

  it("says the same of the same", function()
    local want = { want = { "objectives", "constraints", "per_seed", "feedback", "trace",
      "metrics" }, seeds = { 3, 4 } }
    local lua = "local n = math.random() return require('blis').scorer { name = 'x', "
      .. "score = function(r, i) n = n + 1 return 1 / (1 + i.in_flight + math.random()) end }"
    local _, by_id = talk({ evaluate("a", lua, want), evaluate("b", "return 'random'", want),
      evaluate("c", lua, want) }, 3)
    local function text(id)
      local result = by_id[id].result
      result.cpu_s = nil
      return json.encode(result)
    end
    assert.equal(text "a", text "c")
    assert.equal(16, #by_id.a.result.digest)
  end)

  it("answers soon after its limit where a program loops for ever", function()
    program.with_file(evaluate(1, "return function() while true do end end",
      { limits = { instructions = 1000000000000, wall_s = 0.4 } }) .. "\n", function(path)
      local result = program.shell(([[mkfifo $F.in $F.out
        "$BLIS" serve --stdio --suite $SUITE <$F.in >$F.out &
        exec 3>$F.in 4<$F.out; read ready <&4; cat $F >&3; before=$(date +%s%N)
        read answer <&4; after=$(date +%s%N); exec 3>&-; wait $!; rm -f $F.in $F.out
        echo "$((($after - $before) / 1000000)) $answer"]]):gsub("%$(%u+)",
        { F = path, SUITE = suite }))
      local ms = tonumber(result.out:match "^%d+")
      small.says(result.out, '"code":"timeout"')
      -- On an idle machine the answer comes 100 ms after the limit. This limit separates "soon"
      -- from "at the end of the run", which is hours later.
      assert.is_true(ms <= 120000, result.out)
    end)
  end)

  it("has room for ten thousand that wait, and says when there are more", function()
    local wait = { limits = { instructions = 1000000000000, wall_s = 3600 } }
    local lines = { evaluate("w", "return function() while true do end end", wait),
      evaluate("v", "return function() while true do end end", wait) }
    for i = 1, 10000 do
      lines[#lines + 1] = evaluate(i,
        ("return function() while true do end end -- %d"):format(i), wait)
    end
    program.with_file(table.concat(lines, "\n") .. "\n", function(path)
      local result = program.shell(([[mkfifo $F.in
        "$BLIS" serve --stdio --workers 2 --suite $SUITE <$F.in >$F.out &
        pid=$!; exec 3>$F.in; cat $F >&3; echo '{"id":"d","method":"describe"}' >&3
        tries=0
        until grep -q '"id":"d"' $F.out || [ $tries -gt 20000 ]; do
          tries=$((tries + 1)); sleep 0.01; done
        grep VmRSS /proc/$pid/status; grep -c '"code":"busy"' $F.out; grep -c '"retry":true' $F.out
        kill -TERM $pid; wait $pid; grep -c '"code":"cancelled"' $F.out; rm -f $F.in $F.out]])
        :gsub("%$(%u+)", { F = path, SUITE = suite }))
      local kb, busy, retry, cancelled = result.out:match "(%d+) kB\n(%d+)\n(%d+)\n(%d+)"
      assert.same({ "2", "2", "10000" }, { busy, retry, cancelled })
      assert.is_true(tonumber(kb) < 200000, kb)
    end)
  end)

  it("gives no item of a batch the id of somebody else", function()
    local slow = { seeds = { 1, 2, 3 } }
    local list = talk({ evaluate("b/0", "return 'random'", slow),
      json.encode(json.object("id", "b", "method", "evaluate_batch", "params",
        { items = { { program = { lua = "return 'random'" }, scenario = "a" } } })),
      '{"id":"c","method":"evaluate_batch","params":{"items":{"a":1}}}' }, 4)
    local codes = {}
    for i = 2, #list do codes[#codes + 1] = list[i].ok and "ok" or list[i].error.code end
    table.sort(codes)
    assert.same({ "duplicate_id", "invalid_params", "ok", "ok" }, codes)
  end)

  it("tells when an equal request gives another result", function()
    -- Programs cannot do that; what a suite makes of parameters is trusted, and may be careless.
    local text = [[
      local suite = dofile "]] .. suite .. [["
      local core = require "blis.core"
      suite.policy = function()
        return { routing = core.clock_us() % 2 == 0 and "round-robin" or function() return 1 end }
      end
      return suite]]
    program.with_file(text, function(path)
      local lines = {}
      for i = 1, 30 do
        lines[i] = ('{"id":%d,"method":"evaluate","params":{"params":{},"scenario":"a"}}'):format(i)
      end
      program.with_file(table.concat(lines, "\n") .. "\n", function(input)
        local result = program.shell(('cat %s | "$BLIS" serve --stdio --suite %s'):format(input,
          path))
        small.says(result.out, '"code":"nondeterminism"')
        small.says(result.out, '"ok":true')
      end)
    end)
  end)

  it("answers what is still open when its time after the end of the input is over", function()
    local lines, endless = {}, "return function() while true do end end"
    for id = 1, 5 do
      lines[id] = evaluate(id, endless,
        { limits = { instructions = 1000000000000, wall_s = 600 } })
    end
    local _, by_id, outcome = talk(lines, 5)
    for id = 1, 5 do assert.equal("cancelled", by_id[id].error.code) end
    assert.equal(0, outcome.status)
  end)

  it("ends with its input", function()
    local result = program.shell('"$BLIS" serve --stdio </dev/null')
    assert.equal(0, result.status)
    assert.equal(1, select(2, result.out:gsub("\n", "")))
  end)

  it("takes a thousand requests from who does not read", function()
    local lines = {}
    for i = 1, 1000 do lines[i] = ('{"id":%d,"method":"describe"}'):format(i) end
    lines[1001] = evaluate("last", "return 'round-robin'")
    program.with_file(table.concat(lines, "\n") .. "\n", function(path)
      -- All is written before anything is read.
      local result = program.shell(([[mkfifo $F.in $F.out
        "$BLIS" serve --stdio --suite $SUITE <$F.in >$F.out &
        exec 3>$F.in 4<$F.out; cat $F >&3; exec 3>&-
        grep -c '"ok":true' <&4; wait $!; rm -f $F.in $F.out]]):gsub("%$(%u+)",
        { F = path, SUITE = suite }))
      assert.equal("1001\n", result.out)
      assert.equal("", result.err)
    end)
  end)

  it("knows an id only once at a time", function()
    local list = talk({ evaluate("x", "return 'random'", { seeds = { 1, 2, 3 } }),
      evaluate("x", "return 'random'") }, 2)
    local codes = {}
    for i = 2, 3 do codes[#codes + 1] = list[i].ok and "ok" or list[i].error.code end
    table.sort(codes)
    assert.same({ "duplicate_id", "ok" }, codes)
  end)

  it("gives each item of a batch an answer, and one for all", function()
    local items = { { program = { lua = "return 'random'" }, scenario = "a" },
      { program = { lua = "return 42" }, scenario = "a" },
      { params = { queue = 2 }, scenario = "a" } }
    local _, by_id = talk({ json.encode(json.object("id", 7, "method", "evaluate_batch", "params",
      { items = items })) }, 4)
    assert.is_true(by_id["7/0"].ok)
    assert.equal("script_error", by_id["7/1"].error.code)
    assert.is_true(by_id["7/2"].ok)
    assert.equal(3, by_id[7].done)
  end)

  it("tells how far it is, when asked", function()
    local line = evaluate("p", "return 'random'", { seeds = { 1, 2, 3, 4 } })
      :gsub("}$", ',"progress":true}')
    local list, by_id = talk({ line })
    assert.equal(5, #list)
    assert.is_number(list[2].progress.done)
    assert.is_number(list[2].progress.interim.ttft_p99_ms)
    assert.is_true(by_id.p.ok)
  end)

  it("cancels", function()
    local _, by_id = talk({
      evaluate("w", "return function() while true do end end",
        { limits = { instructions = 1000000000000, wall_s = 600 } }),
      '{"id":"c","method":"cancel","params":{"target":"w"}}',
      '{"id":"d","method":"cancel","params":{"target":"nobody"}}' }, 3)
    assert.equal("cancelled", by_id.w.error.code)
    assert.is_true(by_id.c.result.cancelled)
    assert.is_true(by_id.d.ok)
  end)

  it("says where a program is wrong", function()
    local _, by_id = talk({ evaluate(1, "local a = 1\nreturn function() return a.b.c end"),
      evaluate(2, "return function("),
      evaluate(3, "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(60000) .. i end",
        { limits = { memory_mb = 8, instructions = 1000000000 } }),
      evaluate(4, "return 'random'", { limits = { events = 10 } }),
      evaluate(5, "return { admission = function() return require('blis').delay(1) end }",
        { limits = { events = 100000 } }),
      evaluate(6, "error { code = 'events', message = 'not really' }") }, 6)
    assert.equal("script_error", by_id[1].error.code)
    assert.equal(2, by_id[1].error.where.line)
    assert.equal("script_error", by_id[2].error.code)
    assert.equal("memory", by_id[3].error.code)
    assert.equal("events", by_id[4].error.code)
    assert.is_false(by_id[4].error.retry)
    assert.equal("events", by_id[5].error.code)
    assert.equal("script_error", by_id[6].error.code)
  end)

  it("refuses what it does not know, and says what it does", function()
    local _, by_id = talk({ evaluate(1, "return 'random'", { scenario = "b" }),
      evaluate(2, "return 'random'", { objectives = { "ttft" } }),
      evaluate(3, "return 'random'", { want = { "all" } }),
      evaluate(4, "return 'random'", { fidelity = 2 }),
      evaluate(5, "return 'random'", { nope = 2 }),
      evaluate(6, "return 'random'", { seeds = { 1.5 } }),
      evaluate(8, "return 'random'", { workload = { requests = "x" } }),
      evaluate(9, "return 'random'", { workload = { requests = 0 } }),
      evaluate(10, "return 'random'", { workload = { rate = "x" } }),
      evaluate(11, "return 'random'", { workload = { rate = 0 } }),
      evaluate(12, "return 'random'", { workload = { requests = 1 << 60 } }),
      '{"id":7,"method":"describe"}' }, 12)
    for i = 1, 6 do assert.equal("invalid_params", by_id[i].error.code, i) end
    for i = 8, 12 do assert.equal("invalid_params", by_id[i].error.code, i) end
    small.says(by_id[5].error.message, "nope")
    assert.equal("a", by_id[7].result.scenarios[1].id)
    assert.is_true(#by_id[7].result.metrics > 10)
  end)

  it("takes scenarios of one's own, workloads, parameters and names", function()
    local _, by_id = talk({
      json.encode(json.object("id", 1, "method", "evaluate", "params", {
        program = { name = "llmd.default" }, scenario = { cluster = { instances = 2 },
          workload = { rate = 20, requests = 30 } } })),
      evaluate(2, "local p = ... return function(r, all) return p.place end",
        { params = { place = 2 }, workload = { requests = 20 }, fidelity = 0.5,
          want = { "metrics" }, constraints = { miss_frac = "<0.5" },
          objectives = { "balance_cv" } }),
    }, 2)
    assert.is_true(by_id[1].ok, json.encode(by_id[1]))
    assert.is_true(by_id[2].ok, json.encode(by_id[2]))
    assert.is_true(by_id[2].result.metrics.balance_cv > 1)
  end)

  it("has energy and carbon as objectives, of clusters with figures of power", function()
    local function ask(id, cluster)
      return json.encode(json.object("id", id, "method", "evaluate", "params", {
        program = { name = "round-robin" }, objectives = { "joules_per_token", "carbon_g" },
        scenario = { cluster = cluster, workload = { rate = 20, requests = 30 } } }))
    end
    local _, by_id = talk({ ask(1, { gpu_watts = 100, carbon_g_per_kwh = 400 }),
      ask(2, { gpu_watts = 200, carbon_g_per_kwh = 400 }) }, 2)
    local one, two = by_id[1].result.objectives, by_id[2].result.objectives
    assert.is_true(one.joules_per_token > 0)
    assert.near(2 * one.joules_per_token, two.joules_per_token, 1e-9 * two.joules_per_token)
    assert.near(2 * one.carbon_g, two.carbon_g, 1e-9 * two.carbon_g)
    assert.equal("min", by_id[1].result.directions.joules_per_token)
  end)

  it("says that a line is too long, and goes on with the next", function()
    local result = program.shell(([[{ head -c 68000000 /dev/zero | tr '\0' x; echo;
      echo '{"id":1,"method":"describe"}'; } | "$BLIS" serve --stdio --suite %s]]):format(suite))
    small.says(result.out, '"code":"too_large"')
    small.says(result.out, '"id":1,"ok":true')
  end)

  it("cancels all when it is told to end, with 143", function()
    local line = evaluate("w", "return function() while true do end end",
      { limits = { instructions = 1000000000000, wall_s = 600 } })
    program.with_file(line .. "\n", function(path)
      local result = program.shell(([[mkfifo $F.in
        "$BLIS" serve --stdio --suite $SUITE <$F.in >$F.out &
        pid=$!; exec 3>$F.in; cat $F >&3
        tries=0
        until [ -n "$(cat /proc/$pid/task/$pid/children)" ] || [ $tries -gt 6000 ]; do
          tries=$((tries + 1)); sleep 0.01; done
        kill -TERM $pid; wait $pid; echo "status $?"; cat $F.out; rm -f $F.in $F.out]])
        :gsub("%$(%u+)", { F = path, SUITE = suite }))
      small.says(result.out, "status 143")
      small.says(result.out, '"code":"cancelled"')
    end)
  end)
end)
