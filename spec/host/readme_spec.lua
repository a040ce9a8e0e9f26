-- The commands of the README and of the documentation index, run as processes, and typical errors
-- in first commands.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says
local readme = assert(files.read "README.md")
local index = assert(files.read "docs/README.md")

--- Runs a line in which blis is the program and @ a folder of its own.
local function run(line, folder)
  line = line:gsub("^blis ", '"$BLIS" '):gsub("@", folder or "/nowhere")
  return program.shell(line .. " </dev/null")
end

local function succeeds(line, folder)
  local outcome = run(line, folder)
  assert.equal(0, outcome.status, line .. ": " .. outcome.err)
  assert.not_matches("traceback", outcome.err)
  return outcome.out
end

local function fails(line, status, part)
  local outcome = run(line)
  assert.equal(status, outcome.status, line .. ": " .. outcome.err)
  says(outcome.err, part)
end

local tiny_model = [[{"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
  "vocab_size": 1000, "intermediate_size": 512, "torch_dtype": "bfloat16", "hidden_act": "silu",
  "max_position_embeddings": 2048}]]

--- Calls body with a folder that has a script, a config.json and two saved results.
local function with_folder(body)
  folders.with(function(folder)
    succeeds(("mkdir @ && echo 'print(1)' >@/script.lua && echo '%s' >@/config.json"):format(
      tiny_model), folder)
    succeeds("blis run --num-requests 5 --quiet --save @/a.blis", folder)
    succeeds("blis run --num-requests 5 --quiet --save @/b.blis", folder)
    body(folder)
  end)
end

-- Placeholders in the commands; @ is the folder.
local stands_for = {
  FILE = "@/script.lua", A = "@/a.blis", B = "@/b.blis", TOPIC = "least-loaded", GPU = "H100",
  ["path/to/config.json"] = "@/config.json", ["run.html"] = "@/run.html",
}
local names = { models = "qwen/qwen3-14b" }

-- Commands that need arguments which the text omits.
local incomplete = { ["blis calibrate --fit"] = true }

--- Every `blis ...` in the text and every indented line with one, once each.
local function commands_of(text)
  local list, known = {}, {}
  local function add(command)
    if not known[command] and not incomplete[command] then
      known[command], list[#list + 1] = true, command
    end
  end
  for command in text:gmatch "`(blis [^`\n]+)`" do add(command) end
  for command in text:gmatch "\n    (blis [^\n]+)" do add(command) end
  return list
end

local function filled(command)
  local first = command:match "^blis (%S+)"
  return (command:gsub("%S+", function(word)
    if word == "NAME" then return names[first] end
    return stands_for[word]
  end))
end

describe("the README and the index #host", function()
  it("shows the plot that the program draws", function()
    folders.with(function(folder)
      succeeds("mkdir @", folder)
      succeeds("blis scripts/lib/plot.lua @/plot.svg", folder)
      assert.equal(files.read(folder .. "/plot.svg"), files.read "docs/plot.svg")
      says(index, "(plot.svg)")
    end)
  end)

  it("has commands that run", function()
    local list = commands_of(readme .. index)
    assert.is_true(#list >= 25)
    with_folder(function(folder)
      for _, command in ipairs(list) do succeeds(filled(command), folder) end
    end)
  end)

  it("shows what its first example prints", function()
    local script, printed = readme:match "```lua\n(.-)```\n\n```\n(.-)```"
    program.with_file(script, function(path)
      assert.equal(printed, succeeds("blis " .. path))
    end)
  end)

  it("has at most 900 words", function()
    local _, words = readme:gsub("%S+", "")
    assert.is_true(words <= 900, words .. " words")
  end)

  it("links to files that exist", function()
    for name, folder in pairs { ["README.md"] = "", ["docs/README.md"] = "docs/" } do
      for target in files.read(name):gmatch "%]%(([%w_./-]+)[^%)]*%)" do
        assert.is_not_nil(io.open(folder .. target), name .. ": " .. target)
      end
    end
  end)

  it("has a recipe for stock Lua in Installing", function()
    local recipe = files.read("docs/installing.md"):match "\n    (LUA_PATH=[^\n]+)"
    local modules = program.path:gsub("[^/]*$", "") .. "cmod"
    if not files.read(modules .. "/blis/core.so") or run("lua5.4 -v").status ~= 0 then
      return pending "there are no modules for stock Lua, or there is no lua5.4"
    end
    recipe = recipe:gsub("build/cmod", (modules:gsub("%%", "%%%%")))
    if run(recipe).err:find("ASan runtime does not come first", 1, true) then
      return pending "modules built with sanitizers cannot be loaded by stock Lua"
    end
    says(succeeds(recipe), "round-robin")
  end)
end)

local few = " --num-requests 20 --prompt-tokens 64 --output-tokens 8"

describe("first commands #host", function()
  it("save results and records", function()
    with_folder(function(folder)
      succeeds("blis run --save @/x.blis --requests-path @/x.csv" .. few, folder)
      succeeds("blis run --trace-output @/t --quiet" .. few, folder)
      succeeds("blis replay @/t.csv --save @/y.blis --requests-path @/y.jsonl", folder)
      for _, name in ipairs { "x.blis", "x.csv", "y.blis", "y.jsonl" } do
        assert.is_true(#files.read(folder .. "/" .. name) > 100)
      end
      says(succeeds("blis diff @/x.blis @/x.blis", folder), "no metric differs")
    end)
  end)

  it("take lengths as they are given", function()
    local out = succeeds("blis run --num-requests 40 --output-tokens 50 --prompt-tokens 100 "
      .. "--format csv")
    local header, values = out:match "([^\n]*)\n([^\n]*)"
    local figures, names_ = {}, {}
    for name in header:gmatch "[^,]+" do names_[#names_ + 1] = name end
    for value in (values .. ","):gmatch "([^,]*)," do
      figures[names_[#figures + 1] or ""] = tonumber(value)
      figures[#figures + 1] = value
    end
    assert.equal(40 * 50, figures.output_tokens)
    assert.equal(40 * 100, figures.prompt_tokens)
  end)

  it("show no latencies of nothing, and say what did not complete", function()
    local nothing = succeeds("blis compare --policies round-robin,least-loaded --replications 1 "
      .. "--admission-policy reject-all" .. few)
    says(nothing, "20 rejected (reject-all); nothing completed")
    assert.matches("round%-robin +%- +%- +%- +%- +%- +0%.0 +%- +%- +20 +0 +"
      .. "invalid: nothing%-served\n", nothing)
    local some = succeeds("blis compare --policies round-robin --replications 1 "
      .. "--admission-policy token-bucket --token-bucket-capacity 500 "
      .. "--token-bucket-refill-rate 1" .. few)
    assert.matches("%d+ rejected .*; latencies cover the %d+ that completed", some)
    local out = succeeds "blis run --num-requests 3 --prompt-tokens 500000"
    says(out, "3 arrived = 0 completed + 3 unservable")
    assert.matches("TTFT +%- +%-", out)
  end)

  it("name what took part", function()
    local out = succeeds("blis run --num-instances 16 --scheduler sjf --admission-policy "
      .. "always-admit" .. few)
    for _, word in ipairs { "always-admit", "sjf", "preemption", "priority", "round-robin" } do
      says(out, word)
    end
    assert.not_matches("blocking", out)
  end)

  it("find words in the help, in lines that fit", function()
    local found = { queue_depth = "waiting", ttft = "time to first token", cluster = "tp",
      routing = "round-robin", scorers = "queue-depth", ["least-loaded"] = "routing policy" }
    for word, part in pairs(found) do
      local out = succeeds("blis help " .. word)
      says(out, part)
      for line in out:gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 100, line) end
    end
  end)

  it("compare, and look for capacity", function()
    local out = succeeds("blis compare --policies round-robin,least-loaded --quiet" .. few)
    says(out, "no difference between least-loaded and round-robin in any of 5 pairs")
    out = succeeds("blis compare --variant '--scheduler fcfs' --variant '--scheduler sjf "
      .. "--max-num-seqs 1' --replications 1" .. few)
    assert.matches("\n%-%-scheduler sjf %-%-max%-num%-seqs 1 .* 20 +20 +"
      .. "warning: short[^\n]*\n", out)
    fails("blis compare --variant '--rate 3'", 2, "all variants get the same traffic")
    fails("blis compare --seed 5 --variant '--seed 2' --variant '--seed 5'", 2,
      "all variants use the seed of --seed")
    fails("blis compare", 2, "missing --policies, or at least two --variant flags")
    out = succeeds("blis capacity --target ttft_ms.p90=200 --from 8 --tolerance 0.2 "
      .. "--replications 4 --prompt-tokens 256 --output-tokens 8 --quiet")
    assert.matches("\n[%d.]+ requests/s %([%d.]+ to [%d.]+, 95 %% interval of 4 seeds%)", out)
  end)

  it("show what scores out of range do", function()
    local text = [[
      local blis = require "blis"
      local scorer = blis.scorer { name = "mine",
        score = function(_, instance) return -instance.queue_depth end }
      print(blis.run { cluster = { instances = 4 }, workload = { rate = 20, requests = 200 },
        routing = { "weighted", scorers = { { scorer, 1 } } } })
    ]]
    local outcome
    program.with_file(text, function(path) outcome = run("blis " .. path) end)
    assert.equal(0, outcome.status)
    assert.matches("blis: note: scorer mine: %d+ of 800 scores were outside 0 to 1", outcome.err)
    says(outcome.out, "3 of 4 instances received no request")
  end)

  it("rank no decision that noise explains", function()
    -- One decision moves p99 by seconds here, and so does every seed.
    local text = [[
      local blis = require "blis"
      print(blis.regret { metric = "ttft_ms.p99", decisions = { "request_5" }, experiment = {
        cluster = { instances = 4 }, workload = { rate = 25, requests = 1500,
          prefixes = { groups = 20, tokens = 2000, zipf = 1 } },
        routing = { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 1 } } },
      } })
    ]]
    local out
    program.with_file(text, function(path) out = succeeds("blis " .. path) end)
    assert.matches("request_5 +instance_%d +%- .* no difference seen %(%-[%d.,]+ to [%d.,]+%)", out)
    says(out, "no decision cost more than noise explains")
  end)

  it("call figures by one name everywhere, and end requests when they end", function()
    with_folder(function(folder)
      succeeds("blis run --slo-ttft default=1s --save @/x.blis --requests-path @/x.csv --format "
        .. "json >@/x.json" .. few, folder)
      succeeds("blis run --slo-ttft default=1s --format csv >@/figures.csv" .. few, folder)
      local header = files.read(folder .. "/figures.csv"):match "[^\n]+"
      says(succeeds([[blis -e '
        local blis = require "blis"
        local result = blis.load_result "@/x.blis"
        local json = require("blis.core").json_read(io.open("@/x.json"):read "a")
        assert(json.ttft_ms.p99 == result.ttft_ms.p99 and json.completed == result.completed)
        for i = 1, #result.requests do
          local request = result.requests[i]
          assert(request.end_us == request.arrival_us + request.e2e_us)
        end
        print "as one"']], folder), "as one")
      for _, name in ipairs { "completed", "ttft_ms.p99", "goodput.attainment" } do
        says("," .. header .. ",", "," .. name .. ",")
      end
    end)
  end)

  it("are corrected", function()
    fails("blis run --routing round-robin", 2, "did you mean '--routing-policy'?")
    fails("blis replay --trace F", 2, "did you mean '--trace-data'?")
    fails([[blis -e 'require("blis").run { instances = 4 }']], 1, "cluster")
    fails([[blis -e 'require("blis").run{}:export_requests "/tmp/a.parquet"']], 1, "parquet")
  end)

  it("find modules beside a script from any folder", function()
    with_folder(function(folder)
      succeeds([[echo 'return 7' >@/beside_it.lua &&
        echo 'print(require "beside_it")' >@/main.lua]], folder)
      local path = program.path:match "^/" and program.path or "$PWD/" .. program.path
      assert.matches("^7%s", succeeds(("B=%s; cd / && \"$B\" @/main.lua"):format(path), folder))
    end)
  end)
end)
