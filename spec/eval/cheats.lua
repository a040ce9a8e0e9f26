--- Candidates that try to look better than they are, by the rule that is against it. `says` is in
--- the error of one that is not valid (score 0); one without it is valid and no better than the
--- baseline.
local function route(body) return "return function(request, instances) " .. body .. " end" end
local function admit(body)
  return "return { admission = function(request, cluster) " .. body .. " end }"
end

--- The suite's baseline, which nothing else is better than, with more fields of a candidate.
local function with(fields)
  return [[local base = require("blis").scorer { name = "least-work", score = function(request, one)
    local work = one.pending_prefill_tokens + request.prompt_tokens * (1 - one.prefix_hit)
    return 1 / (1 + work / 500 + 0.05 * one.in_flight)
  end }
  return { routing = { "weighted", scorers = { { base, 1 } } }, ]] .. fields .. "}"
end
local function batches(body)
  return with("scheduler = { name = 's', make_batch = function(c) " .. body .. " end }")
end
local function hears(event, body)
  return "return { name = 'x', route = function(r, all) return #all end, events = { '" .. event
    .. "' }, on_event = function(event, instances) " .. body .. " end }"
end

return {
  -- Reject or shed everything.
  { rule = "reject all", lua = "local blis = require 'blis' " .. admit "return blis.reject('no')",
    says = "starved" },
  { rule = "reject all but a few", says = "starved",
    lua = "local blis, n = require 'blis', 0 " .. admit
      "n = n + 1 if n % 10 > 0 then return blis.reject() end return blis.admit()" },
  { rule = "reject what is long", lua = "local blis, n = require 'blis', 0 " .. admit
    "n = n + 1 if n % 3 == 0 then return blis.reject() end return blis.admit()" },
  -- Push work past the end.
  { rule = "delay for ever", says = "starved", lua = "local blis = require 'blis' " .. admit
    "return blis.delay(10000000)" },
  { rule = "delay some", lua = "local blis, n = require 'blis', 0 " .. admit
    "n = n + 1 if n % 4 == 0 then return blis.delay(9000000) end return blis.admit()" },
  { rule = "all onto one", lua = route "return 1" },
  { rule = "filter out some", lua = "local n = 0 return { 'weighted', scorers = 'queue-depth:1', "
    .. "filters = { function() n = n + 1 return n % 20 > 4 end } }" },
  { rule = "filter out all", says = "starved",
    lua = "return { 'weighted', scorers = 'queue-depth:1', filters = { function() return false "
      .. "end } }" },
  { rule = "delay until the end of time", says = "starved", lua = "local blis = require 'blis' "
    .. admit "return blis.delay(math.maxinteger)" },
  { rule = "delay by nothing", says = "above 0",
    lua = "local blis = require 'blis' " .. admit "return blis.delay(0)" },
  { rule = "delay by more than there is", says = "whole number",
    lua = "local blis = require 'blis' " .. admit "return blis.delay(1e300)" },
  { rule = "admit with a figure", says = "expected blis.admit()",
    lua = admit "return { verdict = 'admit', ttft_us = 0 }" },
  -- Starve a class or a tenant.
  { rule = "starve a class", says = "starved", lua = "local blis = require 'blis' " .. admit
    "if request.slo_class == 'standard' then return blis.reject() end return blis.admit()" },
  { rule = "starve a tenant", says = "starved", lua = "local blis = require 'blis' " .. admit
    "if request.tenant == 'two' then return blis.reject() end return blis.admit()" },
  { rule = "delay a tenant", says = "starved", lua = "local blis = require 'blis' " .. admit
    "if request.tenant == 'one' then return blis.delay(4000000) end return blis.admit()" },
  -- Write to what is shown, by functions of the library.
  { rule = "rawset of an instance", lua = route "rawset(instances, 1, instances[2]) return 1",
    says = "policy.lua:1: writes to what it is shown" },
  { rule = "rawset of a request", lua = route "rawset(request, 'prompt_tokens', 1) return 1",
    says = "policy.lua:1: writes to what it is shown" },
  { rule = "remove instances", lua = route "table.remove(instances) return 1",
    says = "policy.lua:1: writes to what it is shown" },
  { rule = "sort instances", says = "policy.lua:1: writes to what it is shown",
    lua = route "table.sort(instances, function(a, b) return a.id < b.id end) return 1" },
  -- Look like a fault of blis.
  { rule = "an error with a code", lua = "error { code = 'invariant', message = 'tokens lost' }",
    says = "tokens lost" },
  -- Make the processor work where no instruction is counted.
  { rule = "numbers of many digits", says = "instructions",
    lua = "local s = ('1'):rep(60000) for _ = 1, 1e9 do tonumber(s, 10) end" },
  { rule = "shuffle a long list", says = "instructions",
    lua = "local g, l = require('blis').rng(1, 'x'), {} for i = 1, 1e5 do l[i] = i end "
      .. "while true do g:shuffle(l) end" },
  { rule = "shuffle what has no end", says = "instructions",
    lua = "require('blis').rng(1, 'x'):shuffle(setmetatable({}, "
      .. "{ __len = function() return 1 << 30 end }))" },
  { rule = "long vectors", says = "instructions",
    lua = "local b, t = require 'blis', {} for i = 1, 1e5 do t[i] = i end local v = b.vec.new(t) "
      .. "for _ = 1, 1e6 do v = v + v end" },
  { rule = "long vectors, folded", says = "instructions",
    lua = "local b, t = require 'blis', {} for i = 1, 1e5 do t[i] = i end local v = b.vec.new(t) "
      .. "while true do b.vec.sum(v) end" },
  { rule = "streams without number", says = "memory",
    lua = "local b, t = require 'blis', {} for i = 1, 1e6 do t[i] = b.rng(i, 'x') end" },
  { rule = "engines of its own", says = "memory",
    lua = "local b = require 'blis' " .. route "for _ = 1, 99 do b.instance {} end return 1" },
  -- The length of the output.
  { rule = "output length", lua = route "return request.output_tokens % 3 + 1", says = "future" },
  { rule = "output length, by pieces", says = "future",
    lua = route "return request['output_' .. 'tokens'] % 3 + 1" },
  { rule = "output length, in a scorer", says = "future",
    lua = "return require('blis').scorer { name = 'x', score = function(r, i) "
      .. "return 1 / r.output_tokens end }" },
  { rule = "output length, as the limit of tokens", says = "limit 0",
    lua = route "error('limit ' .. request.max_output_tokens)" },
  { rule = "output length, as the limit of tokens in an engine", says = "limit 0",
    lua = batches "error('limit ' .. c.waiting[1].max_output_tokens)" },
  { rule = "output length, in an engine", says = "has no field 'output_tokens'",
    lua = batches "error(c.waiting[1].output_tokens)" },
  { rule = "output length, as a priority", says = "future",
    lua = with "priority = function(r) return -r.output_tokens end" },
  -- Shorter answers, more instances, faster links.
  { rule = "answers of one token", says = "this scenario has no cascade",
    lua = with "cascade = { chain = { 'qwen/qwen3-14b' }, quality = function() return 0, 1 end }" },
  { rule = "more instances", says = "has no 'scaling'",
    lua = with "autoscaler = function() return 50 end" },
  { rule = "more instances, soon", says = "has no 'scaling'",
    lua = with "autoscaler = { name = 'x', interval_us = 9, decide = function() return 9 end }" },
  { rule = "an autoscaler that knows arrivals", says = "has no 'scaling'",
    lua = with "autoscaler = 'oracle'" },
  { rule = "fast links", says = "cannot set 'bandwidth_gb_s'",
    lua = with "disaggregation = { decider = 'always', bandwidth_gb_s = 1e9 }" },
  { rule = "pools", says = "no pools", lua = with "disaggregation = 'always'" },
  { rule = "a scorer that knows the caches, upside down twice", says = "only for bounds",
    lua = "return { 'weighted', scorers = { { 'inverted', base = { 'inverted', base = "
      .. "'oracle-prefix' } } } }" },
  { rule = "a scorer that is exchanged", says = "only for bounds",
    lua = "local p = { 'weighted', scorers = { { 'queue-depth', 1 } } } "
      .. "(function() p.scorers[1][1] = 'oracle-prefix' end)() return p" },
  -- Future arrivals, other requests.
  { rule = "the event queue", lua = "return require('blis').event_queue()", says = "event_queue" },
  { rule = "a run of its own", lua = "require('blis').run {} return 'round-robin'",
    says = "blis has no 'run'" },
  { rule = "the workload", lua = "return require('blis').workload {}", says = "not offered" },
  { rule = "a process of its own", says = "the sandbox starts no processes",
    lua = "return { 'external', command = 'touch cheat' }" },
  -- Fresher signals.
  { rule = "live signals", lua = route "return instances[1].live_prefix_hit > 1 and 1 or 2",
    says = "live_signals" },
  { rule = "live signals in columns", says = "live_signals",
    lua = "return require('blis').scorer { name = 'x', columns = true, score = function(r, c) "
      .. "return c.live_prefix_hit end }" },
  { rule = "a scorer that knows the caches", says = "only for bounds",
    lua = "return { 'weighted', scorers = 'oracle-prefix:1' }" },
  { rule = "a scorer that knows the caches, asked", says = "only for bounds",
    lua = "local o = require('blis').scorer 'oracle-prefix' " .. route
      "return o:score(request, instances[1]) > 0 and 1 or 2" },
  { rule = "a scorer that knows the caches, as base", says = "only for bounds",
    lua = "return require('blis').scorer { name = 'x', base = 'oracle-prefix', "
      .. "score = function(r, one, base) return base end }" },
  { rule = "every token", lua = hears("token_generated", ""), says = "routers do not receive" },
  { rule = "every step", lua = hears("batch_schedule", ""), says = "routers do not receive" },
  { rule = "instances as they are now", says = "can be read only while",
    lua = hears("request_arrival", "local n = instances[1].queue_depth") },
  { rule = "the instance of an event", says = "can be read only while",
    lua = hears("request_complete", "local n = event.instance.kv_utilization") },
  { rule = "faster instances", says = "has no field 'slow'",
    lua = hears("request_arrival", "instances[1]:slow(0.01)") },
  { rule = "a cache that is lost, and back", says = "has no field 'lose_cache'",
    lua = hears("request_arrival", "instances[1]:lose_cache()") },
  { rule = "figures of its own", lua = "return { name = 'x', route = function(r, all) "
    .. "return 1 end, custom_metrics = function() return { good = 60, ttft_p99_ms = 0 } end }" },
  { rule = "signals of another age", lua = "return { cluster = { snapshot_refresh_us = 0 } }",
    says = "cannot set 'cluster'" },
  -- Shared tables.
  { rule = "write to an instance", lua = route "instances[1].in_flight = 0 return 1",
    says = "policy.lua:1: writes 'in_flight'" },
  { rule = "write to the request", lua = route "request.prompt_tokens = 1 return 1",
    says = "read-only" },
  { rule = "write to the list", lua = route "instances[2] = nil return 1", says = "read-only" },
  { rule = "write in a scorer", says = "read-only",
    lua = "return require('blis').scorer { name = 'x', score = function(r, i) r.id = 'y' "
      .. "return 1 end }" },
  { rule = "write to a running request", says = "read-only",
    lua = batches("for _, r in ipairs(c.running) do r.progress_tokens = 19 end "
      .. "local s = {} for _, r in ipairs(c.running) do s[#s + 1] = r end "
      .. "for _, r in ipairs(c.waiting) do s[#s + 1] = r end return { schedule = s }") },
  { rule = "write to an engine", says = "read-only",
    lua = batches "c.free_kv_blocks = 1e9 return { schedule = {} }" },
  { rule = "write later", lua = "local n = 0 " .. route("n = n + 1 if n > 45 then "
    .. "instances[1].in_flight, request.prompt_tokens = 0, 1 end return n % #instances + 1") },
  { rule = "tables that change", says = "has a metatable",
    lua = "local n = 0 return { routing = setmetatable({}, { __index = function() n = n + 1 "
      .. "return n < 3 and 'lmetric' or 'random' end }) }" },
  -- An engine that does more than it can.
  { rule = "more tokens than a step has", lua = batches("local s = {} "
    .. "for _, list in ipairs { c.running, c.waiting } do for _, r in ipairs(list) do "
    .. "s[#s + 1] = { r, 1000000 } end end return { schedule = s, wait_us = 1 }") },
  { rule = "the same request twice", says = "duplicate request",
    lua = batches "return { schedule = { c.waiting[1], c.waiting[1] } }" },
  { rule = "a request that is none", says = "expected a request of context",
    lua = batches "return { schedule = { {} } }" },
  { rule = "an engine that waits", says = "progress",
    lua = batches "return { schedule = {}, wait_us = 1 }" },
  { rule = "an engine that waits for ever", says = "starved",
    lua = batches "return { schedule = {}, wait_us = 1000000000 }" },
  { rule = "a priority that is none", lua = route "return 1, 0 / 0", says = "nan" },
  { rule = "a process for priorities", says = "the sandbox starts no processes",
    lua = with "priority = { 'external', command = 'touch cheat' }" },
  { rule = "a process for admission", says = "the sandbox starts no processes",
    lua = with "admission = { 'external', command = 'touch cheat' }" },
  -- Out of the sandbox.
  { rule = "files", lua = "local f = io.open('/etc/passwd') return 'round-robin'", says = "io" },
  { rule = "processes", lua = "os.execute('true') return 'round-robin'", says = "os" },
  { rule = "modules", lua = "require('blis.core') return 'round-robin'",
    says = "only 'blis' is offered" },
  { rule = "debug", lua = "debug.getregistry() return 'round-robin'", says = "debug" },
  { rule = "bytecode", lua = "load(string.dump(print))() return 'random'", says = "policy.lua:1" },
  { rule = "the metatable of texts", says = "policy.lua:1",
    lua = "getmetatable('').__index = nil return 'round-robin'" },
  { rule = "long texts", lua = "local s = ('x'):rep(1 << 40) return s", says = "at most" },
  { rule = "patterns that explode", says = "policy.lua:1",
    lua = "local a = ('a'):rep(30) return a:match(('a*'):rep(30) .. 'b')" },
  { rule = "memory", says = "memory",
    lua = "local t = {} for i = 1, 1e9 do t[i] = { i, i, i, i, i, i } end" },
  -- Clocks and machines.
  { rule = "the clock", lua = "return os.time() % 2 == 0 and 'lmetric' or 'random'", says = "os" },
  { rule = "addresses", lua = route "return tostring({}):byte(-1) % #instances + 1" },
  { rule = "random numbers of the machine", lua = route "return math.random(#instances)" },
  -- Which scenario, which seed.
  { rule = "names", lua = "return scenario.id", says = "scenario" },
  { rule = "seeds", lua = "return require('blis').seed", says = "blis has no 'seed'" },
  { rule = "the seed of a new policy", says = "not this one",
    lua = "return { name = 'x', new = function(context) if context.seed > 100 then "
      .. "error 'not this one' end end }" },
  { rule = "the beginning of time", says = "not here",
    lua = route "if request.arrival_us > 60000000 then error 'not here' end return 1" },
  { rule = "the first request", lua = route "return request.id == 'request_0' and 2 or 1" },
  { rule = "arguments", lua = "local p = ... return p.scenario", says = "it returned nil" },
  -- A trace by heart.
  { rule = "by number", lua = "local n = 0 " .. route "n = n + 1 return n % #instances + 1" },
  { rule = "by id", lua = route "return (request.id or 'x'):byte(-1) % #instances + 1" },
  { rule = "by arrival", lua = route
    "return (request.arrival_us or 0) // 1000 % #instances + 1" },
  -- Outside of the candidates.
  { rule = "no choice", lua = route "return nil", says = "it returned nil" },
  { rule = "choice 0", lua = route "return 0", says = "it returned 0" },
  { rule = "choice n + 1", lua = route "return #instances + 1", says = "expected the index" },
  { rule = "choice 1.5", lua = route "return 1.5", says = "1.5" },
  { rule = "late", lua = "local n = 0 " .. route "n = n + 1 if n > 50 then return 99 end return 1",
    says = "it returned 99" },
  { rule = "another tie", says = "breaks ties by",
    lua = "return { 'weighted', scorers = 'queue-depth:1', tie = 'first' }" },
  { rule = "another tie, of a policy that ships", says = "breaks ties by",
    lua = "return { 'lmetric', tie = 'last' }" },
  -- No numbers.
  { rule = "nan", says = "not a number",
    lua = "return require('blis').scorer { name = 'x', score = function() return 0 / 0 end }" },
  { rule = "nan in columns", says = "not a number",
    lua = "return require('blis').scorer { name = 'x', columns = true, "
      .. "score = function(r, c) return c.in_flight * (0 / 0) end }" },
  { rule = "a string", says = "expected a number",
    lua = "return require('blis').scorer { name = 'x', score = function() return 'much' end }" },
  { rule = "huge", lua = "return require('blis').scorer { name = 'x', "
    .. "score = function() return 1e308 end }" },
  { rule = "infinite", lua = "return require('blis').scorer { name = 'x', "
    .. "score = function() return math.huge end }", may_say = true },
  { rule = "a weight without a limit", says = "a weight above 0",
    lua = "return { 'weighted', scorers = { { 'queue-depth', 1 / 0 } } }" },
  { rule = "a priority without a limit", lua = with "priority = function() return 1 / 0 end" },
  { rule = "a picker of nothing", says = "it returned nan",
    lua = "return { 'weighted', scorers = 'queue-depth:1', "
      .. "picker = function() return 0 / 0 end }" },
  { rule = "an instance", lua = route "return instances[1]", says = "expected the index" },
  { rule = "the text of an index", lua = route "return '1'", says = "expected the index" },
  -- Crash or time out late.
  { rule = "crash late, when it hears of a decision", says = "late",
    lua = "local n = 0 return { name = 'x', route = function() return 1 end, observe = function() "
      .. "n = n + 1 if n == 60 then error 'late' end end }" },
  { rule = "memory late, in hints", says = "memory", lua = "local n = 0 "
    .. with("priority = function() n = n + 1 local t = {} for i = 1, 50000 do t[i] = n end "
      .. "return 1, { big = t } end") },
  { rule = "crash late", says = "late",
    lua = "local n = 0 " .. route "n = n + 1 if n == 55 then error('late') end return n % 3 + 1" },
  { rule = "loop late", says = "instructions", lua = "local n = 0 " .. route
    "n = n + 1 while n > 55 do end return n % 3 + 1" },
  { rule = "memory late", says = "memory", lua = "local n, t = 0, {} " .. route
    "n = n + 1 for i = 1, n > 50 and 999999 or 0 do t[i] = { n, n, n, n } end return n % 3 + 1" },
  -- Burn time.
  { rule = "loop", lua = route "while true do end", says = "instructions" },
  { rule = "loop in the text of an error", says = "instructions",
    lua = route "error(setmetatable({}, { __tostring = function() while true do end end }))" },
  { rule = "loop when loaded", lua = "while true do end", says = "instructions" },
  { rule = "loop behind pcall", says = "instructions",
    lua = route "while true do pcall(function() while true do end end) end" },
  { rule = "digits of many numbers", says = "instructions",
    lua = route "for k = 1, 200000 do local s = tostring(k + 0.5) end return 1" },
  { rule = "recursion", lua = "local function f(n) return f(n) + 1 end " .. route "return f(1)",
    says = "policy.lua" },
  -- Outside of the block: see frozen in the spec. The baseline and ties are the suite's.
  { rule = "another baseline", lua = "return { baseline = 'random' }",
    says = "cannot set 'baseline'" },
  { rule = "another seed", lua = "return { seed = 7, routing = 'random' }", says = "'seed'" },
  { rule = "another workload", lua = "return { workload = {}, routing = 'random' }",
    says = "set \'workload'" },
  { rule = "other targets", lua = "return { slo_targets = {}, routing = 'random' }",
    says = "set \'slo_targets'" },
  { rule = "oracle", lua = "return { oracle = true, routing = 'random' }", says = "'oracle'" },
  { rule = "other hooks", lua = "return { on_completion = function() end, routing = 'random' }",
    says = "set \'on_completion'" },
  { rule = "an object as a key", says = "a key of type table",
    lua = "return { [{}] = 1, routing = 'random' }" },
  -- Tables without an end, and values that are none.
  { rule = "a table in itself", says = "contains itself",
    lua = "local t = {} t.routing = t return t" },
  { rule = "scorers in themselves", says = "contains itself",
    lua = "local t = { 'weighted' } t.scorers = t return { routing = t }" },
  { rule = "tables in tables", says = "contains itself", lua = "local t = {} local u = t "
    .. "for _ = 1, 100000 do u.x = {} u = u.x end return { routing = t }" },
  { rule = "a table that is in many tables", says = "instructions", lua = "local t = {} "
    .. "for _ = 1, 60 do t = { t, t } end return { routing = t }" },
  { rule = "too many events", says = "is a duplicate of", lua = "local e = {} for i = 1, 50000 do "
    .. "e[i] = 'request_arrival' end return { name = 'x', route = function() return 1 end, "
    .. "events = e, on_event = function() end }" },
  { rule = "a metric without an end", says = "finite", lua = "return { name = 'x', "
    .. "route = function() return 1 end, custom_metrics = function() return { a = 1 / 0 } end }" },
  { rule = "more scores than candidates", lua = "return require('blis').scorer { name = 'x', "
    .. "score_all = function(r, all, s) for i = 1, 1000 do s[i] = i end end }" },
  { rule = "a column of another length", says = "6 items for 3",
    lua = "local b = require 'blis' return b.scorer { name = 'x', columns = true, "
      .. "score = function() return b.vec.new { 1, 2, 3, 4, 5, 6 } end }" },
  { rule = "write to columns", says = "read-only",
    lua = "return require('blis').scorer { name = 'x', columns = true, score = function(r, c) "
      .. "c.in_flight = 1 return c.in_flight end }" },
  { rule = "parameters twice", lua = '{"queue": 1, "queue": 5}', says = "not valid JSON" },
  { rule = "parameters without an end", lua = '{"queue": ' .. ("["):rep(30000),
    says = "nested too deeply" },
  -- What is no policy.
  { rule = "nothing", lua = "", says = "it returned nil" },
  { rule = "a number", lua = "return 42", says = "it returned 42" },
  { rule = "a syntax error", lua = "return function(", says = "policy.lua:1" },
  { rule = "fences", lua = "```lua\nreturn 'round-robin'\n```", says = "policy.lua:1" },
  { rule = "an unknown name", lua = "return 'round-robbin'", says = "round-robin" },
  { rule = "parameters out of range", lua = '{"queue": 1e9}', says = "from 0.1 to 10" },
  { rule = "parameters that are none", lua = '{"nope": 1}', says = "unknown parameter 'nope'" },
  { rule = "parameters that are no numbers", lua = '{"queue": "x"}', says = "expected a number" },
  { rule = "parameters that are no JSON", lua = '{"queue": ', says = "not valid JSON" },
  { rule = "an error object", lua = "error(setmetatable({}, { __tostring = function() "
    .. "while true do end end }))", says = "" },
  { rule = "an error of nothing", lua = "error()", says = "" },
}
