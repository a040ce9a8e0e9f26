local program = require "spec.support.program"

-- Tagged because it is about the program, whatever Lua runs the spec.
describe("the program #host", function()
  describe("with a script", function()
    it("passes arguments as ... and in arg", function()
      program.with_file("print(...) print(arg[0], arg[1], arg[2], arg[-1])", function(path)
        local run = program.run("-E", path, "a", "b c")
        assert.equal(("a\tb c\n%s\ta\tb c\t-E\n"):format(path), run.out)
        assert.equal("", run.err)
        assert.equal(0, run.status)
      end)
    end)

    it("skips a first line that starts with #", function()
      program.with_file("#!/usr/bin/env blis\nprint(1)", function(path)
        assert.equal("1\n", program.run(path).out)
      end)
    end)

    it("reads it from standard input for - and for no arguments", function()
      assert.equal("x\n", program.feed("print(...)", "-", "x").out)
      assert.equal("y\n", program.feed("print('y')").out)
    end)

    it("finds modules beside it from every folder", function()
      program.with_file("return 'beside'", function(module)
        local folder, name = module:match "^(.*)/([^/]+)$"
        os.rename(module, module .. ".lua")
        program.with_file(("print((require %q))"):format(name), function(path)
          local moved = folder .. path:match "/[^/]+$"
          assert.equal(path, moved)
          assert.equal("beside\n", program.shell(("cd / && \"$BLIS\" %s"):format(path)).out)
        end)
        os.remove(module .. ".lua")
      end)
    end)

    it("leaves options behind the script to the script", function()
      program.with_file("print(...)", function(path)
        assert.equal("--version\t-e\n", program.run(path, "--version", "-e").out)
      end)
    end)

    it("takes a name that starts with - after --", function()
      local run = program.run("--", "-nosuch.lua")
      assert.equal(2, run.status)
      assert.matches("'-nosuch.lua' is neither a file nor a command", run.err, 1, true)
    end)

    it("gives math.random the same start in every run", function()
      local first = program.run("-e", "print(math.random(1 << 40))").out
      assert.equal(first, program.run("-e", "print(math.random(1 << 40))").out)
    end)
  end)

  describe("with options", function()
    it("runs -e and -l in their order", function()
      local run = program.run("-e", "x = 1", "-l", "blis", "-eprint(x, type(blis))",
        "-l", "b=blis", "-e", "print(b == blis)")
      assert.equal("1\ttable\ntrue\n", run.out)
      assert.equal(0, run.status)
    end)

    it("prints its versions: of libraries, commit, sources and profiles", function()
      local run = program.run("--version")
      local first, second, third, events, fourth =
        run.out:match "^(.-\n)(.-)\n(.-)\n(.-)\n(.-)\n$"
      assert.matches("^blis %d+%.%d+%.%d+[-%w]* %(Lua 5%.4%.%d+, xxHash [%d.]+, "
        .. "libyaml [%d.]+%)\n$", first)
      assert.matches("^commit [%x+unkow]+, sources " .. require("blis.core").source_id
        .. "; profiles: design of 20%d%d%-%d%d, go%-blis of 20%d%d%-%d%d$", second)
      local library = require("blis.core").live_library()
      assert.equal(library and "live: libevent " .. library or "live: no (built without libevent)",
        third)
      local zmq = require("blis.core").live_zmq_library()
      assert.equal("KV events: " .. (zmq and "libzmq " .. zmq or "no (libzmq is missing)"), events)
      local client = require("blis.core").observe_library()
      assert.equal("observe: " .. (client and client:match "^%S+" or "no (libcurl is missing)"),
        fourth)
      assert.equal(0, run.status)
      assert.equal(first .. "1\n", program.run("-v", "-e", "print(1)").out)
    end)

    it("prints help to standard output", function()
      local run = program.run("--help")
      assert.matches("blis [OPTIONS] FILE.lua", run.out, 1, true)
      assert.matches("--scripts DIR", run.out, 1, true)
      assert.equal("", run.err)
      assert.equal(0, run.status)
    end)

    it("honours LUA_INIT unless -E says otherwise", function()
      local line = [[LUA_INIT='io.write("init ")' "$BLIS" %s -e 'print(1)']]
      assert.equal("init 1\n", program.shell(line:format("")).out)
      assert.equal("1\n", program.shell(line:format("-E")).out)
    end)

    it("turns warnings on with -W", function()
      assert.equal("", program.run("-e", "warn('w')").err)
      assert.equal("Lua warning: w\n", program.run("-W", "-e", "warn('w')").err)
    end)

    it("rejects what it does not know with status 2", function()
      for _, case in ipairs {
        { { "--sed" }, "unknown option '--sed'" },
        { { "-x" }, "unknown option '-x'" },
        { { "-ix" }, "unknown option '-ix'" },
        { { "-e" }, "missing value after '-e'" },
        { { "--scripts" }, "missing value after '--scripts'" },
        { { "--scripts", "/nosuch" }, "/nosuch/blis/init.lua does not exist" },
      } do
        local run = program.run(table.unpack(case[1]))
        assert.matches(case[2], run.err, 1, true)
        assert.equal("", run.out)
        assert.equal(2, run.status)
      end
    end)
  end)

  describe("finding modules", function()
    it("has the Lua half inside, whatever the working folder is", function()
      local run = program.shell([[cd / && "$BLIS" -e 'print(require("blis")._VERSION)']])
      assert.matches("^%d+%.%d+%.%d+[-%w]*\n$", run.out)
    end)

    it("reads it from a folder with --scripts", function()
      local folder = os.tmpname()
      local run = program.shell(([[
        rm -f %s && mkdir -p %s/blis &&
        echo 'return "from disk"' >%s/blis/init.lua &&
        echo 'error("broken")' >%s/blis/part.lua &&
        "$BLIS" --scripts=%s -e 'print((require "blis"))
                                 print(pcall(require, "blis.part"))
                                 print(pcall(require, "blis.none"))'
        rm -r %s]]):gsub("%%s", folder))
      assert.matches("^from disk\nfalse\t[^\n]*broken\nfalse\tmodule .blis.none. not found",
        run.out)
    end)

    it("has compiled it with the lines of the text", function()
      local statement = [[
        local function show(path, f)
          local info = debug.getinfo(f, "SL")
          local lines = {}
          for line in pairs(info.activelines) do lines[#lines + 1] = line end
          table.sort(lines)
          print(path, info.linedefined, table.concat(lines, " "))
          print((string.dump(f, true):gsub("[^%w]", ".")))
        end
        local blis = require "blis"
        local names = {}
        for name, value in pairs(blis) do
          if type(value) == "function" and debug.getinfo(value, "S").what == "Lua" then
            names[#names + 1] = name
          end
        end
        table.sort(names)
        for _, name in ipairs(names) do show(name, blis[name]) end
        print(select(2, xpcall(require("blis.errors").raise, debug.traceback)))]]
      local compiled = program.run("-e", statement)
      local text = program.run("--scripts", "lua", "-e", statement)
      assert.equal("", text.err)
      assert.equal((text.out:gsub("lua/blis/", "blis/")), compiled.out)
      assert.matches("blis/errors.lua:%d+: in ", compiled.out)
    end)

    it("keeps package.path, with the installed folder in it", function()
      local line = [[LUA_PATH_5_4='/x/?.lua;;' "$BLIS" -e 'print(package.path)']]
      local run = program.shell(line)
      assert.matches("/x/?.lua;", run.out, 1, true)
      assert.matches("/share/lua/5.4/?.lua;", run.out, 1, true)
      assert.matches("./?.lua", run.out, 1, true)
    end)

    it("loads C modules of other packages", function()
      assert.equal("table\n", program.run("-e", "print(type(require('lfs')))").out)
    end)
  end)

  describe("when something fails", function()
    it("prints script errors with a traceback and ends with status 1", function()
      program.with_file("local function f() error('broken') end\nf()", function(path)
        local run = program.run(path)
        assert.equal("", run.out)
        assert.matches(("blis: %s:1: broken\nstack traceback:\n"):format(path), run.err, 1, true)
        assert.is_nil(run.err:find("[C]: in ?", 1, true), run.err)
        assert.matches(path .. ":2: in main chunk", run.err, 1, true)
        assert.equal(1, run.status)
      end)
    end)

    it("prints syntax errors without one", function()
      local run = program.run("-e", "x = = 1")
      assert.equal("blis: (command line):1: unexpected symbol near '='\n", run.err)
      assert.equal(1, run.status)
    end)

    it("names both meanings of a word that has none", function()
      local run = program.run("nosuch.lua")
      assert.matches("^blis: 'nosuch.lua' is neither a file nor a command", run.err)
      assert.equal(2, run.status)
      assert.equal(2, program.run("/").status)
    end)

    it("shows error values that are not strings", function()
      for _, case in ipairs {
        { "error(nil)", "(error object is a nil value)" },
        { "error({})", "(error object is a table value)" },
        { "error(print)", "(error object is a function value)" },
        { "error(12)", "blis: 12\n" },
        { "error { code = 'invalid', message = 'a reason' }", "blis: a reason\nstack traceback" },
        { "error(setmetatable({}, { __tostring = function() return 'T' end }))", "blis: T\nstack" },
        { "error(setmetatable({}, { __tostring = error }))", "blis: " },
      } do
        local run = program.run("-e", case[1])
        assert.matches(case[2], run.err, 1, true)
        assert.equal(1, run.status)
      end
    end)

    it("shows what a terminal would obey", function()
      local shown = "a\\x1b[31m\n\tb\\x0d\\xe2\\x80\\xaeé"
      local run = program.run("-e", "error('a\\27[31m\\n\\tb\\r\\u{202e}é', 0)")
      assert.matches("blis: " .. shown .. "\nstack traceback:", run.err, 1, true)
      run = program.run("run", "--model", "a\27[31m")
      assert.matches("unknown model 'a\\x1b[31m'", run.err, 1, true)
    end)

    it("shows usage errors alone, with status 2", function()
      local run = program.run("-e", "error { code = 'usage', message = 'not like that' }")
      assert.equal("blis: not like that\n", run.err)
      assert.equal(2, run.status)
    end)

    it("survives an endless recursion and a lack of memory", function()
      local run = program.run("-e", "local function f() return 1 + f() end f()")
      assert.matches("stack overflow", run.err)
      assert.equal(1, run.status)
      run = program.run("-e", "return ('xx'):rep(math.maxinteger)")
      assert.matches("resulting string too large\n", run.err)
      assert.equal(1, run.status)
    end)

    it("passes on the status of os.exit", function()
      assert.equal(7, program.run("-e", "os.exit(7)").status)
    end)

    it("notices that its output could not be written", function()
      local run = program.shell([["$BLIS" -e 'print(1)' >/dev/full]])
      assert.matches("^blis: cannot write to standard output: ", run.err)
      assert.equal(1, run.status)
    end)
  end)

  describe("interrupted", function()
    --- Sends the signal when the script has started.
    local function interrupt(script)
      local start = 'io.open(os.getenv "STARTED", "w"):close() '
      return program.shell(([[folder=$(mktemp -d); export STARTED=$folder/started
        env --default-signal=INT "$BLIS" -e %s & blis=$!
        until [ -e $STARTED ] || ! kill -0 $blis; do sleep 0.01; done
        kill -INT $blis; wait $blis; status=$?
        rm -r $folder; exit $status]]):format(program.quote(start .. script)))
    end

    it("stops a script with status 130 and says where it was", function()
      local run = interrupt("while true do end")
      assert.equal("blis: (command line):1: interrupted\n", run.err)
      assert.equal(130, run.status)
    end)

    it("ends with status 130 even when the script handles it", function()
      local run = interrupt("print(pcall(function() while true do end end))")
      assert.equal("false\t(command line):1: interrupted\n", run.out)
      assert.equal(130, run.status)
    end)
  end)

  describe("as a prompt", function()
    local function prompt(input)
      local run = program.feed(input, "-i")
      return (run.out:gsub("^blis [^\n]*\n", "")), run
    end

    it("prints the values of expressions", function()
      assert.equal("> 3\n> 1\tnil\tx\n> \n", (prompt("1 + 2\n1, nil, 'x'\n")))
      assert.equal("> 3\n> \n", (prompt("=1 + 2\n")))
    end)

    it("goes on reading while a statement is not complete", function()
      assert.equal("> >> >> > 5\n> \n",
        (prompt("function f()\nreturn 5\nend\nf()\n")))
    end)

    it("goes on after an error", function()
      local out, run = prompt("error('a')\nx = = 1\n6\n")
      assert.equal("> > > 6\n> \n", out)
      assert.matches("blis: stdin:1: a (traceback() shows where)\n", run.err, 1, true)
      assert.matches("blis: stdin:1: unexpected symbol near '='", run.err, 1, true)
      assert.equal(0, run.status)
    end)

    it("shows what a terminal would obey in errors", function()
      local out, run = prompt("error('a\\27[31m\\u{202e}')\ntraceback()\n")
      local shown = "stdin:1: a\\x1b[31m\\xe2\\x80\\xae"
      assert.matches("blis: " .. shown, run.err, 1, true)
      assert.matches(shown .. "\nstack traceback:\n\t", out, 1, true)
    end)

    it("goes on reading while an expression is not complete", function()
      assert.equal("> >> 3\n> \n", (prompt("1 +\n2\n")))
      assert.equal("> >> >> 6\n> \n", (prompt("=1 +\n2 +\n3\n")))
      local _, run = prompt("1 +\n)\n")
      assert.matches("stdin:1: unexpected symbol near '1'", run.err, 1, true)
    end)

    it("says what lacks when the input ends within a statement", function()
      local _, run = prompt("if x then\n")
      assert.matches("blis: stdin: the statement is not complete", run.err, 1, true)
    end)

    it("comes after the script", function()
      program.with_file("answer = 42", function(path)
        assert.matches("> 42\n", program.feed("answer\n", "-i", path).out, 1, true)
      end)
    end)
  end)

  describe("with a command", function()
    local folder

    before_each(function()
      folder = os.tmpname()
      program.shell(([[
        rm -f %s && mkdir -p %s/blis/cmd && touch %s/blis/init.lua && cd %s/blis/cmd &&
        cat >greet.lua <<'END'
        return { summary = "says hello", run = function(args)
          if args[1] == "usage" then error({ code = "usage", message = "no such name" }) end
          if args[1] == "input" then error({ code = "parse", message = "t.csv:3: no number" }) end
          if args[1] == "fault" then error("a bug") end
          print("hello", #args, args[1])
          return tonumber(args[2])
        end }
END
        echo 'return function(args) return args[1] ~= "fail" end' >plain.lua]])
        :gsub("%%s", folder))
    end)

    after_each(function() program.shell("rm -r " .. folder) end)

    local function command(...) return program.run("--scripts", folder, ...) end

    it("passes the arguments and returns its status", function()
      local run = command("greet", "you", "3")
      assert.equal("hello\t2\tyou\n", run.out)
      assert.equal(3, run.status)
      assert.equal(0, command("plain").status)
      assert.equal(1, command("plain", "fail").status)
    end)

    it("lists it in the help with its summary", function()
      local out = command("--help").out
      assert.matches("\n  greet +says hello\n  plain *\n", out)
    end)

    it("suggests the nearest one", function()
      local run = command("gret")
      assert.matches("'gret' is neither a file nor a command; did you mean 'greet'?",
        run.err, 1, true)
      assert.equal(2, run.status)
    end)

    it("prints bad input alone and faults with a traceback", function()
      local run = command("greet", "input")
      assert.equal("blis: t.csv:3: no number\n", run.err)
      assert.equal(1, run.status)
      run = command("greet", "usage")
      assert.equal("blis: no such name\n", run.err)
      assert.equal(2, run.status)
      run = command("greet", "fault")
      assert.matches("a bug\nstack traceback:", run.err, 1, true)
      assert.equal(1, run.status)
    end)

    it("goes before a file of that name", function()
      program.shell(("echo 'print(\"the file\")' >%s/greet"):format(folder))
      local function call(name)
        return program.shell(("cd %s && \"$BLIS\" --scripts . %s"):format(folder, name)).out
      end
      assert.equal("the file\n", call("./greet"))
      assert.equal("hello\t0\tnil\n", call("greet"))
    end)
  end)
end)
