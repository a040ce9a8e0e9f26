-- The prompt as somebody at a terminal finds it.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local terminal = require "spec.support.terminal"

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- What somebody does who types lines, each when the prompt is there; a line is a text, or a list
--- of steps.
local function typing(...)
  local steps = {}
  for _, line in ipairs { ... } do
    steps[#steps + 1] = { "prompt" }
    if type(line) == "string" then
      steps[#steps + 1] = { "type", line .. "\n" }
      steps[#steps + 1] = { "told", "> " } -- the next one
    else
      table.move(line, 1, #line, #steps + 1, steps)
    end
  end
  table.move({ { "prompt" }, { "type", "\4" } }, 1, 2, #steps + 1, steps)
  return steps
end

local function run(steps, options)
  options = options or {}
  options.environment = options.environment or { "BLIS_HISTORY=" }
  local arguments = table.move(options, 1, #options, 2, { "-i" })
  return terminal.run(steps, arguments, options)
end

describe("the prompt on a terminal #host", function()
  if not terminal.is_there then
    pending "needs python3"
    return
  end

  it("has blis, and shows values", function()
    local seen = run(typing("x = blis.run { workload = { requests = 20 } }",
      "x.completed, x.arrived", "{ 1, a = { 'b' } }", "'text'", "x", "= 1 + 1", "blis.run"))
    assert.matches("\n20\t", seen.text)
    for _, line in ipairs { '\n{ 1, a = { "b" } }\n', "\ntext\n", "result hash", "\n2\n",
      "function blis.run; help(blis.run) explains it" } do
      assert.is_truthy(seen.screen:find(line, 1, true), line .. "\n" .. seen.screen)
    end
    assert.equal(0, seen.status)
  end)

  it("reads every character, and formats numbers as anywhere", function()
    for _, name in ipairs { "C.UTF-8", "C", "no_such_locale" } do
      local seen = run(typing("#'éa日', ('é'):find '%a', 1.5",
        "'é' .. os.setlocale(nil, 'ctype'), os.setlocale(nil, 'numeric')"),
        { environment = { "BLIS_HISTORY=", "LC_ALL=" .. name } })
      assert.matches("> #'éa日', ('é'):find '%a', 1.5\n6\tnil\t1.5\n", seen.text:gsub("\r", ""),
        1, true)
      assert.matches("\néC\tC\n", seen.text:gsub("\r", ""), 1, true)
    end
  end)

  it("clears the line, or all lines of a statement, on Ctrl-C", function()
    local ctrl_c = { { "type", "x = 5 no\3" }, { "told", "^C" }, { "told", "> " } }
    local seen = run(typing(ctrl_c, "for i = 1, 2 do", ctrl_c, "'still ' .. 'here'"))
    assert.matches("> x = 5 no%^C\n> for i = 1, 2 do\n>> x = 5 no%^C\n> .*\nstill here\n> ",
      seen.screen)
    assert.equal(0, seen.status)
  end)

  it("ends what runs on Ctrl-C and stays", function()
    local endless = { { "type", "while true do end\n" }, { "run" }, { "type", "\3" },
      { "told", "interrupted" }, { "told", "> " } }
    local long = { { "type", "blis.run { workload = { rate = 50, requests = 1000000000 }, "
      .. "watch = true }\n" }, { "see", "requests ended" }, { "type", "\3" },
      { "told", "interrupted" }, { "told", "> " } }
    local seen = run(typing(endless, endless, long, "6 * 7"))
    assert.matches("\n42\n", seen.screen)
    assert.equal(0, seen.status)
  end)

  it("completes with Tab", function()
    local clear = { { "type", "\3" }, { "told", "> " } }
    local seen = run(typing({ { "type", "blis.kv_cap\t" }, { "see", "blis.kv_capacity" },
      { "type", " { ha\t" }, { "see", "{ hardware =" }, { "type", "\"RTX P\t" },
      { "see", "PRO 6000" }, { "type", "\" }.blocks\n" }, { "told", "\n> " } },
      { { "type", "x = {\n" }, { "told", ">> " } },
      { { "type", "1, blis.ve\t" }, { "see", "blis.vec" }, table.unpack(clear) },
      { { "type", "x = { 1 } blis.ve\t" }, { "see", "blis.vec" }, table.unpack(clear) },
      { { "type", "blis.run { profile = \"\t\t" }, { "see", "go-blis" },
        table.unpack(clear) }))
    assert.matches("\n%d+\n", seen.screen)
    assert.matches('blis.kv_capacity { hardware = "RTX PRO 6000" }.blocks\n', seen.screen)
  end)

  it("says how its own functions are used, and has the list of topics", function()
    local seen = run(typing("help", "traceback", 'help ""'), { rows = 200 })
    assert.matches("> help\nhelp \"TOPIC\" explains a function", seen.screen, 1, true)
    assert.matches("> traceback\ntraceback() shows details", seen.screen, 1, true)
    assert.matches('> help ""\n', seen.screen, 1, true)
    assert.matches("\nOptions:\n  ", seen.screen, 1, true)
  end)

  it("has help, with near names", function()
    local seen = run(typing('help "num-instances"', "help(blis.kv_cache)", "help()",
      'help "instacnes"', "help(5)", "help(ttft_ms)", 'help "spot.usd"'), { rows = 100 })
    for _, text in ipairs { "Number of instances", "The KV cache of one engine",
      "Tab completes", "did you mean 'instances'?", "help: invalid value 5",
      "No value has this name", "result.spot.usd" } do
      assert.is_truthy(seen.screen:find(text, 1, true), text .. "\n" .. seen.screen)
    end
  end)

  it("tells errors in a line, and more when asked", function()
    local seen = run(typing("error 'first'", "traceback()", "x = = 1",
      "blis.run { clutser = 1 }"))
    assert.matches("\nblis: stdin:1: first %(traceback%(%) shows where%)\n> traceback%(%)\n"
      .. "stdin:1: first\nstack traceback:\n", seen.screen)
    assert.matches("blis: stdin:1: unexpected symbol near '='\n", seen.screen)
    assert.is_truthy(seen.screen:find("did you mean 'cluster'?", 1, true))
    local _, traces = seen.screen:gsub("stack traceback", "")
    assert.equal(1, traces)
  end)

  it("keeps what was typed in a file for its owner alone", function()
    folders.with(function(folder)
      local options = { environment = { "XDG_STATE_HOME=" .. folder .. "/state" } }
      run(typing("first = 1", "first = 1", "  ", "'second'"), options)
      local path = folder .. "/state/blis/history"
      local text = "-- what was typed at the prompt of blis\nfirst = 1\n'second'\n"
      assert.equal(text, files.read(path))
      assert.equal("600 700\n", program.shell(("stat -c %%a %s | tr '\\n' ' '; stat -c %%a %s")
        :format(path, folder .. "/state/blis")).out)
      program.shell("chmod 644 " .. path)
      local seen = run(typing { { "type", "\27[A\27[A" }, { "see", "> first = 1" },
        { "type", "\n" }, { "told", "> " } }, options)
      assert.equal(0, seen.status)
      assert.equal(text .. "first = 1\n", files.read(path))
      assert.equal("600\n", program.shell("stat -c %a " .. path).out)
      run(typing "'third'", { "--no-history", environment = options.environment })
      run(typing "'third'", { environment = { options.environment[1], "BLIS_HISTORY=" } })
      assert.equal(text .. "first = 1\n", files.read(path))
    end)
  end)

  it("leaves other files alone, and does without one", function()
    folders.with(function(folder)
      os.execute("mkdir -p " .. folder)
      local path = folder .. "/precious"
      write(path, "something else\n")
      run(typing "1", { environment = { "BLIS_HISTORY=" .. path } })
      assert.equal("something else\n", files.read(path))
      for _, where in ipairs { "/dev/null", path .. "/x/y", folder, "/proc/x" } do
        assert.equal(0, run(typing "1", { environment = { "BLIS_HISTORY=" .. where } }).status)
      end
    end)
  end)

  it("keeps no more than the last lines", function()
    folders.with(function(folder)
      os.execute("mkdir -p " .. folder)
      local path, lines = folder .. "/history", { "-- what was typed at the prompt of blis" }
      for i = 1, 2500 do lines[#lines + 1] = "x = " .. i end
      write(path, table.concat(lines, "\n") .. "\n")
      run(typing "'new'", { environment = { "BLIS_HISTORY=" .. path } })
      local text = files.read(path)
      local _, count = text:gsub("\n", "")
      assert.equal(1002, count)
      assert.matches("^%-%- [^\n]*\nx = 1501\n.*x = 2500\n'new'\n$", text)
      assert.is_nil(files.read(path .. ".new"))
    end)
  end)
end)
