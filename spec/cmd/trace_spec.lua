local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

local file = "tests/data/azure_2023.csv"
local sessions = "tests/data/tracev2/mt.csv"
local names = { "info", "convert", "cut", "scale", "warp", "cap", "filter", "merge" }

--- What `blis trace ...` writes, read back.
local function made_by(...)
  local arguments, list = { ... }, nil
  files.with(nil, function(path)
    for _, word in ipairs { "--output", path, "--to", "routesim", "--quiet" } do
      arguments[#arguments + 1] = word
    end
    commands.output_of("trace", table.unpack(arguments))
    list = blis.trace.read(path)
  end)
  return list
end

describe("blis trace info", function()
  it("describes a trace for people and for programs", function()
    local text = commands.output_of("trace", "info", file, "--limit", "20")
    assert.matches("^azure trace azure_2023.csv", text)
    assert.matches("\n  20 requests over ", text)
    local got = core.json_read(commands.output_of("trace", "info", file, "--format", "json"))
    assert.equal(40, got.requests)
    assert.is_true(got.prompt_tokens.max >= got.prompt_tokens.p99)
    assert.same({}, got.notes)
  end)
end)

describe("blis trace", function()
  local whole = blis.trace.read(file)

  it("cuts", function()
    local list = made_by("cut", file, "--skip", "5", "--count", "7", "--from-zero")
    assert.equal(7, #list)
    assert.equal(0, list[1].arrival_us)
    assert.equal(whole[6].prompt_tokens, list[1].prompt_tokens)
    local start_us, end_us = whole[3].arrival_us, whole[9].arrival_us
    list = made_by("cut", file, "--start", start_us .. "us", "--end", end_us .. "us")
    assert.equal(start_us, list[1].arrival_us)
    assert.is_true(list[#list].arrival_us < end_us)
  end)

  it("scales by a factor and to a rate", function()
    local rate = whole:statistics().requests_per_sec
    local list = made_by("scale", file, "--factor", "2")
    assert.is_true(math.abs(list:statistics().requests_per_sec / rate - 2) < 0.01)
    list = made_by("scale", file, "--rate", "8")
    assert.is_true(math.abs(list:statistics().requests_per_sec - 8) < 0.01)
  end)

  it("warps", function()
    local list = made_by("warp", file, "--points", "0:1s,10s:2s")
    assert.equal(1000000 + math.floor(whole[2].arrival_us / 10 + 0.5), list[2].arrival_us)
  end)

  it("caps sessions of plain JSON lines", function()
    local lines = {}
    for turn = 0, 9 do
      for session, start in pairs { a = 0, b = 300 } do
        if session == "a" or turn < 3 then
          lines[#lines + 1] = ('{"timestamp": %d, "input_length": %d, "output_length": 5, '
            .. '"session_id": "%s", "turn_id": %d}'):format(start + 1000 * turn, 100 + turn,
            session, turn)
        end
      end
    end
    table.sort(lines, function(x, y)
      return tonumber(x:match "%d+") < tonumber(y:match "%d+")
    end)
    files.with(table.concat(lines, "\n") .. "\n", function(path)
      local capped = made_by("cap", path, "--turns", "8")
      assert.equal(8 + 3, #capped)
      local seen = {}
      for _, request in capped:requests() do
        seen[#seen + 1] = request.session .. request.round_index
        assert.equal(100 + request.round_index, request.prompt_tokens)
      end
      assert.equal("a0 b0 a1 b1 a2 b2 a3 a4 a5 a6 a7", table.concat(seen, " "))
    end)
  end)

  it("caps sessions", function()
    assert.equal(2, made_by("cap", sessions, "--turns", "2"):statistics().turns.max)
  end)

  it("filters", function()
    local list = made_by("filter", file, "--where", "prompt_tokens > 400 and tenant == ''")
    assert.is_true(#list > 0 and #list < #whole)
    for _, request in list:requests() do assert.is_true(request.prompt_tokens > 400) end
  end)

  it("merges", function()
    local list = made_by("merge", sessions, file, sessions)
    local one = blis.trace.read(sessions)
    assert.equal(2 * #one + #whole, #list)
    assert.equal(2 * one:statistics().sessions, list:statistics().sessions)
    list = made_by("merge", sessions, sessions, "--same-content")
    assert.equal(one:statistics().sessions, list:statistics().sessions)
  end)

  it("converts, to a pair of files as well, and packs", function()
    files.with(nil, function(stem)
      commands.output_of("trace", "convert", file, "-o", stem, "--to", "tracev2", "--quiet")
      local pair = blis.trace.read(stem)
      assert.equal(#whole, #pair)
      for i, request in whole:requests() do assert.same(request, pair[i]) end
      commands.output_of("trace", "convert", stem .. ".csv", "--output", stem .. ".jsonl.zst",
        "--quiet")
      assert.equal("\x28\xb5\x2f\xfd", files.read(stem .. ".jsonl.zst"):sub(1, 4))
      assert.equal(#whole, #blis.trace.read(stem .. ".jsonl.zst"))
      for _, ending in ipairs { ".csv", ".yaml", ".jsonl.zst" } do os.remove(stem .. ending) end
    end)
  end)

  it("does the same with a trace that stays in its file", function()
    for _, case in ipairs {
      { "convert", file }, { "cut", file, "--skip", "5", "--count", "7", "--from-zero" },
      { "scale", file, "--rate", "8" }, { "warp", file, "--points", "0:1s,10s:2s" },
      { "filter", sessions, "--where", "round_index > 0" },
    } do
      local texts = {}
      for i, mode in ipairs { "never", "always" } do
        files.with(nil, function(path)
          local arguments = table.move(case, 1, #case, 1, {})
          table.move({ "--stream", mode, "--to", "routesim", "--quiet", "-o", path }, 1, 7,
            #case + 1, arguments)
          commands.output_of("trace", table.unpack(arguments))
          texts[i] = files.read(path)
        end)
      end
      assert.is_true(#texts[1] > 100)
      assert.equal(texts[1], texts[2])
    end
    for _, path in ipairs { file, sessions } do
      assert.equal(commands.output_of("trace", "info", path),
        commands.output_of("trace", "info", path, "--stream", "always"))
    end
  end)

  it("says what it wrote unless it is to be quiet", function()
    files.with(nil, function(path)
      local outcome = commands.call("trace", "cut", file, "--count", "3", "--to", "routesim",
        "-o", path)
      assert.same({ "blis: 3 requests written to " .. path }, outcome.said)
      outcome = commands.call("trace", "cut", file, "--to", "routesim", "--quiet", "-o", path)
      assert.same({}, outcome.said)
    end)
  end)

  it("tells what is wrong", function()
    local function hint(name)
      return ("; 'blis trace%s --help' lists the flags"):format(name and " " .. name or "")
    end
    local all = table.concat(names, ", ")
    for _, case in ipairs {
      { {}, "trace: missing COMMAND: expected one of " .. all .. hint() },
      { { "inof" }, "trace: invalid value 'inof': expected one of " .. all .. hint() },
      { { "info" }, "trace info: FILE is missing" .. hint "info" },
      { { "info", file, "--limit", "-1" },
        "trace info: --limit: invalid value -1: expected an integer of at least 0"
          .. hint "info" },
      { { "info", file, file }, "trace info: unexpected argument '" .. file .. "'" .. hint "info" },
      { { "merge" }, "trace merge: FILE is missing" .. hint "merge" },
      { { "cut", file, "--start", "9s", "--end", "5s" },
        "trace cut: --end is 5000000; it must be after --start, which is 9000000 (or 0 for no "
          .. "end)" },
      { { "cut", file, "--strat", "9s" },
        "trace cut: unknown flag '--strat'; did you mean '--start'?" .. hint("cut"):sub(2) },
      { { "scale", file }, "trace scale: expected either --factor or --rate" .. hint "scale" },
      { { "scale", file, "--factor", "2", "--rate", "3" },
        "trace scale: --factor cannot be combined with --rate" .. hint "scale" },
      { { "scale", file, "--factor", "0" },
        "trace scale: --factor: invalid value 0: expected a number above 0" .. hint "scale" },
      { { "scale", file, "--limit", "1", "--rate", "1" },
        "trace scale: --rate: the requests of " .. file .. " all arrive at the same time"
          .. hint "scale" },
      { { "warp", file }, "trace warp: --points is missing" .. hint "warp" },
      { { "warp", file, "--points", "0:1s,5" },
        "trace warp: --points: invalid value '5': expected FROM:TO with two times"
          .. hint "warp" },
      { { "warp", file, "--points", "5us:5us,0:0" }, "trace warp: point 2 of a time warp is 0 us "
        .. "to 0 us, after 5 us to 5 us; the first must rise, the second must not fall" },
      { { "cap", file }, "trace cap: --turns is missing" .. hint "cap" },
      { { "filter", file }, "trace filter: --where is missing" .. hint "filter" },
      { { "filter", file, "--where", "prompt_token > 1" }, "trace filter: --where: a request has "
        .. "no 'prompt_token'; did you mean 'prompt_tokens'?" .. hint("filter"):sub(2) },
      { { "filter", file, "--where", "1 +" }, "trace filter: --where: '1 +' is not a Lua "
        .. "expression: unexpected symbol near <eof>" .. hint "filter" },
      { { "cut", file, "--start", "99h", "-o", "x.jsonl" },
        "trace cut: x.jsonl: no requests to write; an empty trace could not be read" },
      { { "cut", file, "-o", file }, "trace cut: --output and FILE are both '" .. file .. "'"
        .. hint "cut" },
      { { "merge", file, sessions, "-o", sessions }, "trace merge: --output and FILE are both '"
        .. sessions .. "'" .. hint "merge" },
      { { "info", "tests/data/traces/vllm.json", "--stream", "always" },
        "trace info: tests/data/traces/vllm.json: a single JSON text cannot be streamed; "
          .. "read it into memory (stream = never)" },
      { { "filter", file, "--where", "(function() while true do end end)()" },
        "trace filter: --where: it takes more than 20000000 instructions, for request_0"
        .. hint "filter" },
      { { "filter", file, "--where", "deadline_us > 1" }, "trace filter: --where: attempt to "
        .. "compare number with nil, for request_0" .. hint "filter" },
      { { "convert", file, "--to", "tracev2" },
        "trace convert: tracev2 is a pair of files and cannot go to standard output; "
          .. "name a file or use routesim" },
      { { "convert", file, "-o", "x.txt" }, "trace convert: x.txt: cannot tell the trace format "
        .. "from the name '.txt'; expected .jsonl (routesim), "
        .. "or .csv, .yaml or no extension (tracev2)" },
    } do
      local code, message = commands.error_of("trace", table.unpack(case[1]))
      assert.equal(case[2], message)
      assert.equal("usage", code)
    end
  end)

  it("leaves no half of a file", function()
    files.with("old", function(path)
      local code = commands.error_of("trace", "filter", file, "--where", "nil > 1", "-o", path,
        "--to", "routesim")
      assert.equal("usage", code)
      assert.equal("old", files.read(path))
    end)
  end)

  it("lists its commands in the help", function()
    local text = commands.output_of("trace", "--help")
    for _, name in ipairs(names) do
      assert.is_truthy(text:find("\n  " .. name .. " +%S"), name)
    end
    assert.matches("'blis trace COMMAND --help' lists the flags of a command.", text, 1, true)
  end)
end)
