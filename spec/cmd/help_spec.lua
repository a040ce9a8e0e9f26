-- What every command says about itself, and about a command line that is wrong. Those of run,
-- replay and trace are in their own specs.
local commands = require "spec.support.commands"
local files = require "spec.support.files"
local program = require "spec.support.program"

local names = { "calibrate", "capacity", "compare", "completion", "compose", "conformance",
  "decisions", "diff", "eval", "export", "gate", "gepa-evaluate", "hardware", "import", "serve",
  "man", "models", "plot", "policies", "recommend" }

describe("every command", function()
  it("has its flags in its help", function()
    for _, name in ipairs(names) do
      local expected = files.read(("spec/cmd/golden/help/%s.txt"):format(name))
      assert.equal(expected, commands.output_of(name, "--help"), name)
      assert.equal(expected, commands.output_of(name, "-h"), name)
    end
  end)

  it("compares variants with quotes, which have to be closed #host", function()
    local code, message = commands.error_of("compare", "--variant", '--routing-policy "x')
    assert.equal("usage", code)
    assert.matches("--variant: '--routing-policy \"x' is not allowed, a quote is not closed",
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
      assert.equal(name .. ": --help: 'perhaps' is not allowed, expected true or false" .. tail,
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
      assert.matches("ScalePhases.short +fewer were ready", text)
    end
    local _, message = commands.error_of("help", "no", "such", "words")
    assert.matches("unknown topic 'no such words'", message, 1, true)
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
    assert.matches("\n  plot +fun.-a picture of all policies:",
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
    assert.matches("^%-%-watch of blis replay, blis run\n\nShow instances", text)
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
    assert.matches("^blis sweep\n.-\n  status +count what is done",
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
