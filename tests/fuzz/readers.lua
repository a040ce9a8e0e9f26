--- Fuzz targets for what Lua reads: blis tests/fuzz/readers.lua TARGET [RUNS [SEED]]
---
--- Mutated files give a result, or an error that blis worded: never a Lua error such as "attempt
--- to index", and never a run that does not end. CTest runs each target for a moment; more RUNS
--- look for longer. A fault prints the input and the seed that leads to it.
local blis = require "blis"
local core = require "blis.core"
local experiment = require "blis.experiment"
local import = require "blis.production.import"
local json = require "blis.json"
local notices = require "blis.notices"
local records = require "blis.production.records"
local result_file = require "blis.results.file"
local store = require "blis.sweep.store"
local toml_file = require "blis.toml_file"

local name, runs, seed = arg[1], tonumber(arg[2] or "400"), tonumber(arg[3] or "1")
local rng = core.rng(seed, "fuzz")
local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local made = {}

local function path_of(file)
  made[file] = true
  return folder .. "/" .. file
end

local function write(file, text)
  local out <close> = assert(io.open(path_of(file), "wb"))
  out:write(text)
  return folder .. "/" .. file
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- What is put into texts: what readers look for, and what numbers and texts may not be.
local words = { "0", "-1", "1e999", "nan", "9223372036854775808", "0.5", "null", "true", "{}", "[]",
  '""', '"x"', ",", ":", "\n", "\r\n", "\t", " ",
  "#", "[", "]", "{", "}", "=", "'", '"""', "\\u0000",
  "\0", "\xFF", "\u{202E}",
  "- ", "&a ", "*a", "<<: ", "!!int ", "--- ", "[[a]]", "a.b = 1\n" }

local mutations = {
  function(s, i) return s:sub(1, i - 1) .. string.char(rng:integer(0, 255)) .. s:sub(i + 1) end,
  function(s, i) return s:sub(1, i - 1) .. s:sub(i + rng:integer(1, 8)) end,
  function(s, i) return s:sub(1, i) .. words[rng:integer(#words)] .. s:sub(i + 1) end,
  function(s, i)
    return s:sub(1, i) .. words[rng:integer(#words)] .. s:sub(i + rng:integer(1, 9))
  end,
  function(s, i)
    local from = rng:integer(#s)
    return s:sub(1, i) .. s:sub(from, from + rng:integer(1, 60)) .. s:sub(i + 1)
  end,
  function(s, i) return s:sub(1, i) end,
}

local function mutated(text)
  for _ = 1, rng:integer(1, 4) do
    if #text > 0 then text = mutations[rng:integer(#mutations)](text, rng:integer(#text)) end
  end
  return text:sub(1, 100000)
end

--- An error that is a text of blis, and none of Lua.
local function check_error(problem)
  local message = type(problem) == "table" and rawget(problem, "message") or problem
  assert(type(message) == "string" and message ~= "", "the error has no text")
  for _, word in ipairs { "attempt to ", "bad argument", "stack overflow", "assertion failed",
    "not enough memory" } do
    assert(not message:find(word, 1, true), message)
  end
end

local function try(fn, ...)
  local ok, result = pcall(fn, ...)
  if not ok then check_error(result) end
  return ok and result or nil
end

local small = { cluster = { instances = 2 }, workload = { rate = 50, requests = 12,
  prompt_tokens = 64, output_tokens = 4 } }

local function with_cluster(changes)
  local cluster = { instances = 2, gpu_price_per_hour = 3 }
  for key, value in pairs(changes) do cluster[key] = value end
  return { cluster = cluster, workload = small.workload }
end

-- Each: texts to begin with, and what reads one.
local targets = {}

function targets.results()
  local result = blis.run { cluster = small.cluster, workload = small.workload,
    slo_targets = { default = { ttft_ms = 100 } } }
  result:save(path_of "seed.json")
  return { read(folder .. "/seed.json") }, function(text)
    local got = try(result_file.read, write("r.json", text))
    if got then try(tostring, got) end
  end
end

function targets.decisions()
  local result = blis.run { cluster = small.cluster, workload = small.workload,
    routing = "weighted", trace_level = "decisions" }
  result:save_decisions(path_of "seed.jsonl")
  return { read(folder .. "/seed.jsonl"), read "spec/production/decisions.jsonl" }, function(text)
    try(records.read, write("d.jsonl", text), { request = "request", chosen = "chosen" })
  end
end

function targets.journals()
  local sub = folder .. "/sweep"
  blis.sweep { name = "s", identity = "1", parameters = { { "a", { 1, 2 } } }, replications = 2,
    trial = function(p) return { y = p.a * p.seed } end,
  }:run { store = sub, quiet = true, jobs = 1 }
  local journal
  for _, file in ipairs(core.folder(sub)) do
    made["sweep/" .. file] = true
    if file:match "%.jsonl$" then journal = sub .. "/" .. file end
  end
  local plan_text, lines = read(sub .. "/sweep.json"), read(journal)
  return { lines, plan_text }, function(text)
    local is_plan = text:sub(1, 40):find('"name"', 1, true) ~= nil
    write("sweep/sweep.json", is_plan and text or plan_text)
    local out <close> = assert(io.open(journal, "wb"))
    out:write(is_plan and lines or text)
    out:close()
    local plan = try(store.plan, sub)
    if plan then try(store.read, sub, plan) end
  end
end

function targets.toml()
  return { 'a = 1\nb = "x" # y\n[t]\nc = [1, 2.5, "z"]\nd = true\n[[list]]\ne = -3\n[[list]]\n'
    .. "f = 'raw'\n[x.y]\ng = 1_000\n" }, function(text) try(toml_file.parse, text, "fuzz.toml") end
end

function targets.bundles()
  local bundle = require "blis.cli.bundle"
  return { "admission:\n  policy: token-bucket\n  token_bucket_capacity: 100\nrouting:\n  policy: "
    .. "weighted\n  scorers:\n    - name: queue-depth\n      weight: 2.0\npriority:\n  policy: "
    .. "constant\nscheduler: fcfs\ntenant_budgets:\n  a: 0.5\n" }, function(text)
    local given = { experiment = {}, cluster = {}, policies = {}, workload = {}, queue = {},
      disaggregation = {}, kv_tiers = {}, scaling = {} }
    try(bundle.add, write("b.yaml", text), given, function() end)
  end
end

function targets.epp()
  local texts = {}
  for _, file in ipairs(core.folder "spec/production/epp") do
    if file:match "%.yaml$" then texts[#texts + 1] = read("spec/production/epp/" .. file) end
  end
  return texts, function(text)
    try(import.read, write("e.yaml", text), { from = "llm-d", allow_missing = true })
  end
end

function targets.spot()
  return { "time_s,available,gpu_price_per_hour\n0,2,1.5\n10,1,2\n20.5,2,\n" }, function(text)
    try(experiment.read, with_cluster { spot = write("s.csv", text) })
  end
end

function targets.carbon()
  return { "time_s,g_per_kwh\n0,300\n3600,250.5\n7200,10\n" }, function(text)
    try(experiment.read, with_cluster { carbon_g_per_kwh = write("c.csv", text) })
  end
end

function targets.servegen()
  local from = "tests/data/servegen/language/"
  local texts, files = {}, {}
  for _, file in ipairs(core.folder(from)) do
    if file:match "^chunk" then texts[#texts + 1], files[#files + 1] = read(from .. file), file end
  end
  core.make_folder(folder .. "/chunks")
  return texts, function(text, index)
    for i, file in ipairs(files) do write("chunks/" .. file, i == index and text or texts[i]) end
    try(experiment.read, { cluster = small.cluster, workload = { rate = 1, requests = 5,
      shape = { "servegen", path = folder .. "/chunks" } } })
    try(experiment.read, { cluster = small.cluster,
      workload = { servegen_data = { path = folder .. "/chunks" }, aggregate_rate = 1,
        num_requests = 5 } })
  end
end

function targets.serve()
  local jobs = require "blis.serve.jobs"
  local known = require("blis.serve.request").scenarios()
  local answers = 0
  -- A process would read the request; here it is this one.
  function jobs.add(_, read_request, _, finish)
    try(read_request)
    finish(nil, { code = "x", message = "x" })
    return {}
  end
  function jobs.cancel() end
  local function session(module)
    local opener = require("blis.serve." .. module).opener(known, 1)
    return opener({}, function(line)
      json.decode(line)
      answers = answers + 1
    end)
  end
  local stdio, mcp = session "stdio", session "mcp"
  return { '{"id":1,"method":"evaluate","params":{"program":{"lua":"return 1"},"scenario":'
    .. '"chat-steady","seeds":[1,2],"limits":{"wall_s":1},"want":["feedback"],'
    .. '"objectives":["cost"],"constraints":{"served_share":">=0.9"},"fidelity":0.5}}',
    '{"id":"b","method":"evaluate_batch","params":{"items":[{"program":{"name":"random"}}]}}',
    '{"id":2,"method":"run","params":{"experiment":{"seed":1},"want":["requests"]}}',
    '{"id":3,"method":"cancel","params":{"target":1}}', '{"id":4,"method":"describe"}',
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evaluate","arguments":'
      .. '{"program":{"lua":"return 1"},"scenario":"chat-steady"},"_meta":{"progressToken":1}}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"docs","arguments":{"name":'
      .. '"routing"}}}' }, function(text)
    for line in (text .. "\n"):gmatch "(.-)\n" do
      stdio.line(line)
      mcp.line(line)
    end
  end
end

--- A function that the core translates has the values of the function itself, bit for bit. One
--- with a branch is not translated.
function targets.columns()
  local fields = { "queue_depth", "kv_utilization", "in_flight", "batch_size", "prefix_hit" }
  local operators = { "+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ".." }
  local function expression(depth)
    local kind = depth > 3 and rng:integer(1, 2) or rng:integer(1, 8)
    if kind == 1 then return ("%d"):format(rng:integer(-3, 9)) end
    if kind == 2 then return "s." .. fields[rng:integer(#fields)] end
    local a, b = expression(depth + 1), expression(depth + 1)
    if kind == 3 then return ("(- %s)"):format(a) end
    if kind == 4 then return ("math.max(%s, %s)"):format(a, b) end
    return ("(%s %s %s)"):format(a, operators[rng:integer(rng:integer(7, #operators))], b)
  end
  local function outcome(body)
    local ok, result = pcall(blis.run, { cluster = { instances = 3 }, seed = 3,
      workload = small.workload, routing = { "weighted", scorers = { { blis.scorer {
        name = "fuzz", score = load("return function(r, s) " .. body .. " end")() }, 1 } } } })
    return ok and result.hash or "error"
  end
  return { "x" }, function()
    local text = expression(1)
    local translated = outcome("return " .. text)
    local called = outcome(("if s.in_flight < 0 then return 0 end return %s"):format(text))
    assert(translated == called, ("%s: translated %s, called %s"):format(text, translated, called))
  end
end

local function remove_all()
  for file in pairs(made) do os.remove(folder .. "/" .. file) end
  for _, sub in ipairs { "/sweep", "/chunks", "" } do os.remove(folder .. sub) end
end

notices.collect(function() end)
assert(targets[name], "expected the name of a target")
local texts, run = targets[name]()
local longest_us, start_us, own_print = 0, core.clock_us(), print
for number = 1, runs do
  local index = rng:integer(#texts)
  local text = number <= #texts and texts[number] or mutated(texts[index])
  local before_us = core.clock_us()
  local ok, problem = xpcall(run, debug.traceback, text, number <= #texts and number or index)
  longest_us = math.max(longest_us, core.clock_us() - before_us)
  if not ok then
    own_print(("%s, seed %d, run %d: %s\n%q"):format(name, seed, number, problem, text))
    remove_all()
    os.exit(1)
  end
end
remove_all()
own_print(("%s: %d runs, %.0f/s, the longest %.2f s"):format(name, runs,
  runs / math.max(1e-6, (core.clock_us() - start_us) / 1e6), longest_us / 1e6))
