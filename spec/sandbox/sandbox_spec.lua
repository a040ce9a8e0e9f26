--- Scripts that mean harm: each ends with the error that its first line expects, or by itself when
--- that is empty, within a few seconds and without touching anything.
local program = require "spec.support.program"
local small = require "spec.support.small"

local folder = "spec/sandbox/attacks/"

local function attacks()
  local names, listing = {}, assert(io.popen("ls " .. folder))
  for name in listing:lines() do names[#names + 1] = name end
  listing:close()
  return names
end

local function run_attack(path)
  return program.run("--sandbox", "--sandbox-memory", "64", "--sandbox-instructions", "2000000",
    "--sandbox-seconds", "30", path)
end

describe("a sandboxed script #host", function()
  local function run(source, ...)
    local options, result = { ... }, nil
    program.with_file(source, function(path)
      options[#options + 1] = path
      result = program.run(table.unpack(options))
    end)
    return result
  end

  for _, name in ipairs(attacks()) do
    it("ends as it should: " .. name, function()
      local file = assert(io.open(folder .. name))
      local expected = file:read("l"):match "^%-%- expect: ?(.*)$"
      file:close()
      local result = run_attack(folder .. name)
      if expected == "" then
        assert.equal("", result.err)
        assert.equal(0, result.status)
      else
        small.says(result.err, expected)
        assert.equal(1, result.status)
        assert.is_nil(result.out:find("went on", 1, true))
      end
    end)
  end

  for _, one in ipairs(require "spec.sandbox.review") do
    it("gets nowhere with " .. one.try, function()
      local result = run(one.source, "--sandbox")
      if one.says then
        small.says(result.err, one.says)
        assert.equal(1, result.status)
        assert.is_nil(one.never and result.err:find(one.never, 1, true))
      else
        assert.equal("", result.err)
        assert.equal(0, result.status)
        if one.out then assert.equal(one.out, (result.out:gsub("\t", " "))) end
        if one.twice then assert.equal(result.out, run(one.source, "--sandbox").out) end
      end
    end)
  end

  it("does not outlive who runs it", function()
    for _, signal in ipairs { "TERM", "KILL", "HUP" } do
      program.with_file("while true do end", function(path)
        local seen = program.shell(([[
          "$BLIS" --sandbox --sandbox-instructions 1000000000000 --sandbox-seconds 2000 %s &
          parent=$!
          until child=$(cat /proc/$parent/task/$parent/children) && [ -n "$child" ]; do :; done
          kill -%s $parent
          wait $parent 2>/dev/null
          tries=0
          while grep -q '^State:.*[RSD] ' /proc/$child/status 2>/dev/null; do
            tries=$((tries + 1))
            if [ $tries -gt 6000 ]; then echo "it lives"; kill -KILL $child; break; fi
            sleep 0.01
          done]]):format(path, signal))
        assert.is_nil(seen.out:find("it lives", 1, true), signal)
      end)
    end
  end)

  it("loses no output in silence", function()
    for _, source in ipairs { "print(1)", "for i = 1, 20000 do print(i) end",
      "print(1) local r = require('blis').run { workload = { requests = 3 } }" } do
      program.with_file(source, function(path)
        local result = program.shell('"$BLIS" --sandbox ' .. path .. " >/dev/full")
        small.says(result.err, "cannot write to standard output")
        assert.equal(1, result.status)
      end)
    end
  end)

  it("ends as others do when nobody reads", function()
    program.with_file("for i = 1, 100000 do print(i) end", function(path)
      local result = program.shell('{ "$BLIS" --sandbox ' .. path
        .. '; echo status $? >&2; } | head -n 1')
      assert.equal("1\n", result.out)
      assert.equal("status 141\n", result.err)
    end)
  end)

  it("is a file", function()
    local result = program.run("--sandbox", "/tmp")
    small.says(result.err, "cannot open /tmp: Is a directory")
    assert.equal(1, result.status)
  end)

  it("can do what policies need, and gives the same results", function()
    local source = [[
      local blis = require "blis"
      local result = blis.run {
        cluster = { instances = 3 }, workload = { rate = 50, requests = 100 },
        routing = { "weighted", scorers = { { blis.scorer { name = "x", columns = true,
          score = function(_, c) return 1 / (1 + c.in_flight) end }, 1 } } },
      }
      print(result.hash, ("%.3f"):format(result.ttft_ms.mean))
    ]]
    local boxed = run(source, "--sandbox")
    assert.equal("", boxed.err)
    assert.equal(run(source).out, boxed.out)
  end)

  it("is stopped when its time is up, wherever it is", function()
    local result = run("local s = 'x' while true do s = ('x'):rep(60000) end",
      "--sandbox", "--sandbox-seconds", "1", "--sandbox-instructions", "1000000000000")
    small.says(result.err, "time limit of 1 s exceeded")
    assert.equal(1, result.status)
  end)

  it("is refused when it is too long, or binary", function()
    small.says(run(("x = 1\n"):rep(20000), "--sandbox").err, "at most 65536 are allowed")
    small.says(run(string.dump(function() end), "--sandbox").err, "binary chunk")
  end)

  it("sees nothing but what is listed", function()
    local result = run([[
      local seen, names = {}, {}
      local function walk(t, path)
        if seen[t] then return end
        seen[t] = true
        for name, value in pairs(t) do
          local at = path .. name
          names[#names + 1] = at
          if type(value) == "table" then walk(value, at .. ".") end
        end
      end
      walk(_G, "")
      local blis = require "blis"
      walk(blis, "blis.")
      table.sort(names)
      print(table.concat(names, "\n"))
    ]], "--sandbox")
    local file = assert(io.open "spec/sandbox/allowed.txt")
    local allowed = file:read "a"
    file:close()
    assert.equal("", result.err)
    assert.equal(allowed, result.out)
  end)

  it("goes with a script alone, and sensible limits", function()
    assert.equal(2, program.run("--sandbox").status)
    assert.equal(2, program.run("--sandbox", "-e", "1", "x").status)
    small.says(program.run("--sandbox", "--sandbox-memory", "0", "x").err, "from 1 to")
    small.says(program.run("--sandbox", "no_such_file.lua").err, "cannot open no_such_file.lua")
  end)
end)
