local program = require "spec.support.program"
local terminal = require "spec.support.terminal"

-- Long enough that nobody waits for its end.
local endless = { "run", "--num-instances", "3", "--rate", "60", "--num-requests", "1000000000" }

local function with(words, ...)
  local list = table.move(words, 1, #words, 1, {})
  for _, word in ipairs { ... } do list[#list + 1] = word end
  return list
end

local short = [[
  local blis = require "blis"
  local spec = {
    cluster = { instances = 3 },
    workload = { rate = 40, requests = 3000, prompt_tokens = 200, output_tokens = 20 },
    watch = %s, watch_interval_ms = 0,
  }
  %s]]

local function script_of(watch, rest)
  return short:format(tostring(watch), rest)
end

local run_it = "print(blis.run(spec).hash)"
local plain_hash = program.run("-e", script_of(false, run_it)).out

describe("a watched run #host", function()
  it("has the same result", function()
    local run = program.run("-e", script_of(true, run_it))
    assert.matches("^%x+\n$", plain_hash)
    assert.equal(plain_hash, run.out)
    assert.equal(plain_hash, program.run("-e", script_of(true, [[
      spec.keep_records, spec.cluster.engine = false, "stepwise"
      print(blis.run(spec).hash)]])).out)
  end)

  it("tells in lines where there is no terminal", function()
    local run = program.run("-e", script_of(true, run_it))
    local count = 0
    for line in run.err:gmatch "[^\n]+" do
      count = count + 1
      assert.matches("^blis: [%d.]+ %%, [%d,]+ requests ended, [%d,]+ in the cluster, [%d.,]+ s "
        .. "simulated",
        line)
    end
    assert(count > 3, run.err)
    assert.is_nil(run.err:find "\27")
    run = program.run("-e", (script_of(true, run_it):gsub("watch_interval_ms = 0,", "")))
    assert.equal("", run.err) -- too short for a line
  end)

  it("is driven by hand, too", function()
    local run = program.run("-e", script_of(false, [[
      local sim = blis.simulation(spec)
      assert(sim:watch(0) == sim)
      sim:run_until(20000000)
      io.stderr:write("between\n")
      for _ = 1, 1000 do sim:step() end
      io.stderr:write("stepped\n")
      print(sim:run().hash, sim:clone() ~= nil)]]))
    assert.equal(plain_hash:gsub("\n", "") .. "\ttrue\n", run.out)
    assert.matches("^blis: .*\nbetween\nstepped\nblis: .*", run.err)
  end)

  it("says what is wrong with how it is asked for", function()
    assert.matches("watch: invalid value 3: expected true or false",
      program.run("-e", script_of(3, run_it)).err)
    for _, interval in ipairs { "-1", "math.maxinteger" } do
      assert.matches("expected 0 to 1000000000 ms", program.run("-e", script_of(false,
        ("blis.simulation(spec):watch(%s)"):format(interval))).err)
    end
    assert.matches("the simulation is over", program.run("-e", script_of(false,
      "local sim = blis.simulation(spec) sim:run() sim:watch()")).err)
    local run = program.run("run", "--watch", "--quiet")
    assert.equal(2, run.status)
    assert.equal("blis: run: --watch cannot be combined with --quiet; 'blis run --help' lists the "
      .. "flags\n", run.err)
  end)
end)

describe("a watched run on a terminal #host", function()
  if not terminal.is_there then
    pending "needs python3"
    return
  end

  it("is drawn in place, and Ctrl-C leaves the last picture", function()
    local run = terminal.run({ { "see", "instance_2" }, { "told", "s per second" },
      { "type", "\3" } }, with(endless, "--watch"))
    assert.equal(130, run.status)
    assert.matches("^%[[#-]+%]  +0.%d %%  [%d,]+ of 1,000,000,000 requests ended", run.screen)
    local _, pictures = run.screen:gsub("KV blocks in use", "")
    assert.equal(1, pictures)
    local _, drawn = run.text:gsub("KV blocks in use", "")
    assert(drawn >= 2)
    assert.matches("instance_2 [^\n]*\n%^C?blis: interrupted", run.screen)
    assert.is_nil(run.text:find("\27[?25l", 1, true)) -- the cursor is never hidden
    assert.matches("\27%[%?7h\27%[%?2026l%^?C?blis: ", run.text) -- lines wrap again
  end)

  it("goes away when the run is over", function()
    local run = terminal.run({}, { "-e", script_of(true, run_it) })
    assert.is_truthy(run.text:find "instance_2")
    assert.equal(plain_hash, run.screen)
  end)

  it("stays where a policy fails", function()
    local run = terminal.run({}, { "-e", script_of(true, [[
      spec.routing = blis.router { name = "r", route = function(request)
        if request.id == "request_2000" then error "no more" end
        return 1
      end }
      blis.run(spec)]]) })
    assert.equal(1, run.status)
    assert.matches("instance_2[^\n]*\nblis: ", run.screen)
    assert.is_truthy(run.text:find("no more", 1, true))
  end)

  it("follows the width", function()
    local run = terminal.run({ { "see", "instance_2" }, { "size", 40, 24 },
      { "told", "instance_2" }, { "told", "s per s" }, { "type", "\3" } },
      with(endless, "--watch"))
    local last = run.screen:match ".*(%[[#-]+%].*)$"
    for line in last:gmatch "[^\n]+" do
      assert(utf8.len(line) < 40 or line:find "interrupted", line)
    end
    assert.matches("instance_2", last)
    local _, pictures = run.screen:gsub("%[[#-]+%] ", "") -- the wide one stays where it is
    assert.equal(2, pictures)
  end)

  it("has no colours with NO_COLOR, and lines on a terminal that cannot do more", function()
    local steps = { { "see", "instance_2" }, { "type", "\3" } }
    assert.is_truthy(terminal.run(steps, with(endless, "--watch")).text:find "\27%[3%dm")
    local run = terminal.run(steps, with(endless, "--watch"), { environment = { "NO_COLOR=1" } })
    assert.is_nil(run.text:find "\27%[[%d;]*m")
    run = terminal.run({}, { "-e", script_of(true, run_it) }, { environment = { "TERM=dumb" } })
    assert.is_nil(run.text:find "\27")
    assert.matches("^blis: [%d.]+ %%, ", run.text)
  end)

  it("draws strips of many instances", function()
    local run = terminal.run({ { "see", "batch at most" }, { "type", "\3" } },
      with({ "run", "--num-instances", "40", "--rate", "400", "--num-requests", "1000000000" },
        "--watch"))
    assert.matches("40 instances, one per mark", run.screen)
    local kv = run.screen:match "\nKV +([^\n]+)"
    assert.equal(40, utf8.len(kv))
  end)
end)
