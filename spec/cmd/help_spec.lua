-- The help of every command, and errors of the command line. The whole text is compared for `run`
-- (run_spec.lua). The other commands have the same generator, so their help is compared with their
-- definitions, and the names of their flags with spec/cmd/golden/flags.txt.
local units = require "blis.units"
local commands = require "spec.support.commands"
local golden = require "spec.support.golden"
local program = require "spec.support.program"

local names = { "calibrate", "capacity", "compare", "completion", "compose", "conformance",
  "decisions", "diff", "eval", "export", "gate", "gepa-evaluate", "hardware", "import", "live",
  "serve", "man", "models", "observe", "plot", "policies", "recommend" }

--- Calls visit(words, definition) for every command and subcommand.
local function each_definition(visit)
  local all = { "run", "replay", "trace", "sweep", "check", "convert", "routesim", "help",
    "openevolve-evaluate", table.unpack(names) }
  table.sort(all)
  for _, name in ipairs(all) do
    local command = require("blis.cmd." .. name)
    for _, one in ipairs(command.subcommands or {}) do
      visit({ name, one.name }, one.definition)
    end
    if command.definition then visit({ name }, command.definition) end
  end
end

--- The help of a command.
local function help_of(words, flag)
  local arguments = { table.unpack(words) }
  arguments[#arguments + 1] = flag or "--help"
  return commands.output_of(table.unpack(arguments))
end

--- Text without the line breaks and the columns of its layout.
local function flat(text) return (text:gsub("%s+", " ")) end

describe("every command", function()
  it("has its usage, description, and argument in its help", function()
    local count = 0
    each_definition(function(words, definition)
      local text, name = help_of(words), table.concat(words, " ")
      count = count + 1
      assert.equal(text, help_of(words, "-h"), name)
      assert.equal("usage: " .. definition.usage .. "\n\n",
        text:sub(1, #definition.usage + 9), name)
      local flat_text, position = flat(text), 1
      local positional = definition.positional
      for _, part in ipairs { definition.description or definition.summary,
        positional and positional.name .. " " .. positional.doc or "", definition.notes or "" } do
        local _, last = flat_text:find(flat(part), position, true)
        assert.is_truthy(last, ("%s: %s"):format(name, part))
        position = last
      end
    end)
    assert.is_true(count >= 40, count)
  end)

  it("has its groups, flags, and descriptions in its help, in order", function()
    local count = 0
    each_definition(function(words, definition)
      local text, name, position = flat(help_of(words)), table.concat(words, " "), 1
      local function expect(part)
        local _, last = text:find(flat(part), position, true)
        assert.is_truthy(last, ("%s: %s"):format(name, part))
        position = last
      end
      local groups = require("blis.cli.help").groups(definition)
      for g, group in ipairs(definition.groups) do
        expect(group.title .. ":")
        for i, option in ipairs(group.options) do
          local flag, described = table.unpack(groups[g].entries[i])
          assert.equal(option.flag, flag:match "^%S+", name)
          -- A value has a name, and a switch has none.
          assert.equal(option.type == "boolean", flag == option.flag, name .. " " .. flag)
          assert.is_true(#described > 3, name .. " " .. flag)
          expect(flag .. " " .. described)
          count = count + 1
        end
      end
      expect "--help Print this text."
    end)
    assert.is_true(count > 1000, count)
  end)

  it("shows defaults, choices, and units of its flags", function()
    each_definition(function(words, definition)
      local text, name = flat(help_of(words)), table.concat(words, " ")
      for _, group in ipairs(definition.groups) do
        for _, option in ipairs(group.options) do
          local from = text:find(" " .. option.flag .. " ", 1, true)
          local part = text:sub(from, (text:find(" %-%-", from + 3)))
          for _, choice in ipairs(option.choices or {}) do
            assert.is_truthy(text:find(choice, from, true), name .. " " .. option.flag)
          end
          local has_default = math.type(option.default) == "integer"
          if has_default then
            local scale = units.scale(option.type:match "_us$" and "us" or option.unit)
            local shown = "default " .. (scale and units.text(option.default * scale)
              or ("%d"):format(option.default))
            assert.is_truthy(text:find(shown, from, true), name .. " " .. option.flag .. part)
          end
        end
      end
    end)
  end)

  it("keeps its lines within the width", function()
    each_definition(function(words)
      for line in help_of(words):gmatch "[^\n]+" do
        local is_long = #line > 100 and line:find " " and not line:find "^usage" and not
          line:find "^       blis"
        assert.is_falsy(is_long, table.concat(words, " ") .. ": " .. line)
      end
    end)
  end)

  it("has the flags of spec/cmd/golden/flags.txt, which scripts of users name", function()
    local users, flags = {}, {}
    each_definition(function(words, definition)
      for _, group in ipairs(definition.groups) do
        for _, option in ipairs(group.options) do
          if not users[option.flag] then
            users[option.flag] = {}
            flags[#flags + 1] = option.flag
          end
          table.insert(users[option.flag], table.concat(words, " "))
        end
      end
    end)
    table.sort(flags)
    local lines = {}
    for i, flag in ipairs(flags) do
      lines[i] = ("%s: %s\n"):format(flag, table.concat(users[flag], ", "))
    end
    golden.check("spec/cmd/golden/flags.txt", table.concat(lines))
  end)

  it("compares variants with quotes, which have to be closed #host", function()
    local code, message = commands.error_of("compare", "--variant", '--routing-policy "x')
    assert.equal("usage", code)
    assert.matches("--variant: invalid value '--routing-policy \"x': missing closing quote",
      message, 1, true)
    local text = commands.output_of("compare", "--variant", "--routing-policy 'random'",
      "--variant", '--scheduler "sjf"', "--num-requests", "20", "--replications", "2", "--quiet")
    assert.matches("--scheduler \"sjf\"", text, 1, true)
  end)

  it("names what is wrong with its command line", function()
    local hint = "; 'blis %s --help' lists the flags"
    for _, name in ipairs { "run", "replay", table.unpack(names) } do
      local tail = hint:format(name)
      local code, message = commands.error_of(name, "--no-such-flag")
      assert.equal("usage", code)
      local start = name .. ": unknown flag '--no-such-flag'"
      assert.equal(start, message:sub(1, #start))
      assert.equal(tail, message:sub(-#tail))
      if name ~= "plot" then -- which takes any number of files
        code, message = commands.error_of(name, "a", "b", "c", "d")
        assert.equal("usage", code)
        assert.matches(": unexpected argument '[abcd]'; ", message)
        assert.equal(tail, message:sub(-#tail))
      end
      code, message = commands.error_of(name, "--help=perhaps")
      assert.equal("usage", code)
      assert.equal(name .. ": --help: invalid value 'perhaps': expected true or false" .. tail,
        message)
    end
  end)

  it("finds a figure without its unit #host", function()
    assert.matches("^blis%.Result%.ttft_ms, blis%.Part%.ttft_ms\n\n  ttft_ms +blis",
      commands.output_of("help", "ttft"))
  end)

  it("is found by words of its description, in any spelling #host", function()
    for _, words in ipairs { { "cold start" }, { "cold", "start" }, { "Cold-Starts" } } do
      local text = commands.output_of("help", table.unpack(words))
      assert.matches("^descriptions with '[Cc]old", text)
      assert.matches("ScalePhases.under_provisioned +fewer ready", text)
    end
    local _, message = commands.error_of("help", "no", "such", "words")
    assert.matches("unknown topic 'no such words'", message, 1, true)
  end)

  it("begins with tasks, each of which is a topic #host", function()
    local text = commands.output_of "help"
    assert.matches("^First steps: 'blis run'", text)
    local tasks, count = text:match "Tasks:\n(.-)\nOptions:\n", 0
    for name, title in tasks:gmatch "  (%S+) +([^\n]+)" do
      count = count + 1
      assert.equal(title, commands.output_of("help", name):match "^[^\n]*")
    end
    assert.is_true(count >= 9)
  end)

  it("lists names in an order of use, with what they are, and not all of them #host", function()
    local text = commands.output_of("help", "slo")
    local own, other = text:find("latency-slo ", 1, true), text:find("lora.slots", 1, true)
    assert.is_true(own ~= nil and own < (other or math.huge))
    assert.is_nil(commands.output_of("help", "slot"):find("SloTarget", 1, true))
    assert.matches("experiment%.slo_targets +Latency targets by SLO class", text)
    text = commands.output_of("help", "kv_")
    local _, items = text:gsub("\n  %S", "")
    assert.equal(24, items)
    assert.matches("\nAnd %d+ more: ", text)
  end)

  it("is found by the names that it prints, and as it is written in scripts #host", function()
    for word, line in pairs {
      ["blis.FaultOptions.every"] = "blis.FaultOptions.every",
      ["cluster.instances"] = "  instances ",
      ["blis.Result.ttft_ms"] = "blis.Result.ttft_ms", ["workload.rate"] = "  rate ",
      ["Candidate.cached_tokens"] = "  cached_tokens ", ["result:timeline()"] = "Result:timeline",
      ["Result.timeline"] = "Result:timeline", ["blis.run()"] = "blis.run(",
      ["dynamo.planner.ttft_ms"] = "autoscaler dynamo.planner.ttft_ms",
    } do
      assert.is_truthy(commands.output_of("help", word):find(line, 1, true), word)
    end
    local _, message = commands.error_of("help", "cluster.ttft_ms")
    assert.matches("unknown topic", message, 1, true)
  end)

  it("shows what is asked for in a line of its own #host", function()
    local _, message = commands.error_of("help", "a\27[31mb\n\1")
    assert.matches("unknown topic 'a\\x1b[31mb\\x0a\\x01'", message, 1, true)
    _, message = commands.error_of("help", "x" .. ("é"):rep(2500))
    assert.matches(("unknown topic 'x%s...'"):format(("é"):rep(99)), message, 1, true)
    local text = commands.output_of("help", "num\ninstances")
    assert.is_nil(text:find("num\ninstances", 1, true))
    assert.matches("descriptions with 'cold\\x0astart'",
      commands.output_of("help", "cold\nstart"), 1, true)
  end)

  it("keeps what goes on under a field in its column #host", function()
    assert.matches("\n  plot +fun.-charts of all policies:",
      commands.output_of("help", "Comparison"))
  end)

  it("is found by a part of a name #host", function()
    local text = commands.output_of("help", "gpu_hou")
    assert.matches("^names with 'gpu_hou'\n", text)
    assert.matches("gpu_hours", text, 1, true)
    assert.matches("usd_per_gpu_hour", text, 1, true)
    local code, message = commands.error_of("help", "gpu_houx")
    assert.equal("usage", code)
    assert.matches("unknown topic 'gpu_houx'", message, 1, true)
  end)

  it("explains a topic and the flag of the same name #host", function()
    local text = commands.output_of("help", "watch")
    assert.is_truthy(text:find("Simulation:watch", 1, true))
    assert.is_truthy(text:find("--watch of blis", 1, true))
  end)

  it("is found by a flag #host", function()
    local text = commands.output_of("help", "--watch")
    assert.matches("^%-%-watch of blis live, blis replay, blis run\n\nShow instances", text)
    assert.matches("^# .*%-%-show of blis plot", commands.output_of("help", "--show", "--format",
      "markdown"))
    assert.matches("option cluster.instances", commands.output_of("help", "--num-instances"), 1,
      true)
    local _, message = commands.error_of("help", "--no-such-flag")
    assert.matches("unknown topic '--no-such-flag'", message, 1, true)
  end)

  it("is found in every spelling #host", function()
    for first_line, words in pairs {
      ["--num-instances, the option cluster.instances"] = { "numInstances", "--numInstances",
        "--num_instances", "-num-instances", "num_instances", "NumInstances", "num instances" },
      ["routing policy round-robin"] = { "roundrobin", "RoundRobin", "round_robin" },
      ["blis.SloTarget"] = { "slo_target", "slotarget", "blis.sloTarget" },
      ["blis.ClusterOptions.max_num_seqs"] = { "cluster.maxNumSeqs", "cluster.maxnumseqs" },
      ["blis.Result.ttft_ms, blis.Part.ttft_ms"] = { "ttftms", "TtftMs", "ttftP99",
        "blis help ttft" },
    } do
      for _, word in ipairs(words) do
        local text = commands.output_of("help", word)
        assert.equal(first_line, text:match "^[^\n]*", word)
      end
    end
    -- What is written as a name is that alone, and a beginning of names is no name.
    assert.is_nil(commands.output_of("help", "max_num_seqs"):find("--max-num-seqs", 1, true))
    assert.matches("^names with 'kv_'", commands.output_of("help", "kv_"))
  end)

  it("explains a command, first of all where it is asked for as one #host", function()
    for _, words in ipairs { { "blis sweep run" }, { "blis", "sweep", "run" }, { "sweep run" },
      { "SweepRun" }, { "blis-sweep-run" } } do
      local text = commands.output_of("help", table.unpack(words))
      assert.is_truthy(text:find("blis sweep run\n\nRuns a script", 1, true), words[1])
      assert.is_truthy(text:find("'blis sweep run --help' lists its flags.", 1, true), words[1])
    end
    assert.matches("^blis run\n", commands.output_of("help", "blis run"))
    local text = commands.output_of("help", "run")
    assert.is_true(text:find("blis.run(", 1, true) < text:find("\nblis run\n", 1, true))
    assert.matches("^blis sweep\n.-\n  status +count finished",
      commands.output_of("help", "blis sweep"))
    assert.matches("## Commands\n\n### blis models\n", commands.output_of("help", "blis models",
      "--format", "markdown"), 1, true)
  end)

  it("suggests flags for flags, and names and commands for the others #host", function()
    for word, wanted in pairs {
      ["--num-instnces"] = "--num-instances", ["--numInstnces"] = "--num-instances",
      ["-num-instnces"] = "--num-instances", ["num-instnces"] = "num-instances",
      ["--wathc"] = "--watch", numInstnces = "num-instances", rondrobin = "round-robin",
      ["blis sweep rnu"] = "sweep run", ["--tftt_ms"] = "ttft_ms",
    } do
      local code, message = commands.error_of("help", word)
      assert.equal("usage", code)
      local told = ("help: unknown topic '%s'; did you mean '%s'?"):format(word, wanted)
      assert.equal(told, message:sub(-#told))
    end
  end)

  it("is in the list of commands #host", function()
    local text = program.run("--help").out
    for _, name in ipairs { "run", "replay", "trace", table.unpack(names) } do
      local summary = require("blis.cmd." .. name).summary
      assert.is_truthy(text:find(("\n  %-12s %s\n"):format(name, summary), 1, true), name)
    end
  end)
end)

describe("help on a task #host", function()
  it("names the commands for it", function()
    local wanted = {
      python = "blis.run(experiment)", pip = "blis-simulator", epp = "blis import FILE",
      gate = "blis gate BASE NEW", ["p/d"] = "--prefill-instances", units = "blis help durations",
      mistakes = "blis check FILE", resume = "blis sweep run FILE", csv = "--columns",
      ShareGPT = "--graphs FILE",
    }
    for word, text in pairs(wanted) do
      local output = commands.output_of("help", word)
      assert.matches(text, output, 1, true)
    end
  end)

  it("also shows options and functions with that name", function()
    assert.matches("blis.SweepTable.csv", commands.output_of("help", "csv"), 1, true)
    assert.matches("smg.cache_aware", commands.output_of("help", "gate"), 1, true)
  end)

  it("still refuses other words", function()
    local _, message = commands.error_of("help", "qwertyuiop")
    assert.matches("unknown topic 'qwertyuiop'", message, 1, true)
  end)
end)
