local blis = require "blis"
local complete = require "blis.prompt.complete"
local small = require "spec.support.small"

--- The words that may stand at the end of a text, and the text with the first one in place.
local function at(text)
  local words, start = complete.words(text)
  return words, words[1] and text:sub(1, start - 1) .. words[1]
end

local function has(words, word)
  for _, one in ipairs(words) do
    if one == word then return true end
  end
  return false
end

describe("completion #host", function()
  setup(function()
    rawset(_G, "blis", blis)
    rawset(_G, "a_result", blis.run(small.experiment()))
    rawset(_G, "a_simulation", blis.simulation(small.experiment()))
  end)

  teardown(function()
    for _, name in ipairs { "blis", "a_result", "a_simulation" } do rawset(_G, name, nil) end
  end)

  it("knows fields and methods of what is there, and calls nothing", function()
    for text, expected in pairs {
      ["a_res"] = "a_result", ["blis.kv_cap"] = "blis.kv_capacity", ["math.flo"] = "math.floor",
      ["print(a_result.ttft"] = "print(a_result.ttft_ms",
      ["a_result.ttft_ms.p9"] = "a_result.ttft_ms.p90", ["a_result:rep"] = "a_result:report",
      ["x = a_simulation:run_"] = "x = a_simulation:run_until",
      ["a_simulation.instances[2].kv_ut"] = "a_simulation.instances[2].kv_utilization",
      ["a_simulation.instances[2]:dr"] = "a_simulation.instances[2]:drain",
      ['("x"):rep'] = '("x"):rep', ["blis.vec.cl"] = "blis.vec.clamp",
      ["for i = 1, #a_result.requ"] = "for i = 1, #a_result.request_hit_rate",
      ["loc"] = "local",
    } do
      assert.equal(expected, (select(2, at(text))), text)
    end
    assert.same({}, (at "nosuch."))
    assert.same({}, (at "nosuch.x.y"))
    assert.same({}, (at "blis.run(spec)."))
    assert.same({}, (at "-- bli"))
    assert.is_false(has(at "a_simulation:", "a_simulation:now_us"))
    assert.is_false(has(at "blis.", "blis._VERSION"))
    assert.is_true(has(at "blis._", "blis._VERSION"))
  end)

  it("knows the options of the tables that functions take", function()
    assert.is_true(has(at "blis.run { clu", "cluster = "))
    assert.equal("blis.run { cluster = ", select(2, at "blis.run { clu"))
    assert.equal("blis.run({ seed = 3, cluster = { instances = 2, hardware = ",
      select(2, at "blis.run({ seed = 3, cluster = { instances = 2, hardw"))
    assert.is_true(has(at "blis.run {\n  workload = {", "prompt_tokens = "))
    assert.is_true(has(at "blis.run { cluster = { instances = 2 }, ", "routing = "))
    assert.is_true(has(at "blis.compare { ", "replications = "))
    assert.is_true(has(at "blis.capacity { ", "targets = "))
    assert.is_true(has(at "blis.kv_capacity { ", "model = "))
    assert.is_true(has(at "blis.run { cluster = { groups = { { ", "instances = "))
    assert.is_true(has(at 'blis.run { routing = { "weighted", ', "scorers = "))
    assert.is_true(has(at 'blis.run { routing = { "dynamo.kv", ', "router_temperature = "))
    assert.is_false(has(at "blis.run { seed = ", "cluster = "))
    assert.is_true(has(at "blis.run { seed = ", "math"))
  end)

  it("knows names of policies, models, GPUs and choices inside quotes", function()
    assert.is_true(has(at 'blis.run { routing = "', "round-robin"))
    assert.is_true(has(at 'blis.run { disaggregation = { decider = "', "prefix-threshold"))
    assert.is_true(has(at "blis.run { routing = { 'wei", "weighted"))
    assert.is_true(has(at 'blis.run { routing = { "weighted", scorers = { { "pref',
      "prefix-affinity"))
    assert.is_true(has(at 'blis.scorer "queue', "queue-depth"))
    assert.is_true(has(at 'blis.router("', "least-loaded"))
    assert.is_true(has(at 'blis.run { cluster = { model = "qwen/', "qwen/qwen3-14b"))
    assert.is_true(has(at 'blis.kv_capacity { hardware = "RTX P', "RTX PRO 6000"))
    assert.same({ "design", "go-blis" }, (at 'blis.run { profile = "'))
    assert.same({}, (at 'x = "'))
    assert.is_true(has(at 'blis.run { queue = { order = "', "edf"))
    assert.is_true(has(at 'blis.run { queue = { ordering = { "', "edf"))
    assert.is_false(has(at 'blis.run { queue = { order = "', "round-robin"))
    assert.is_true(has(at 'help "ttft', "ttft_ms"))
    assert.is_true(has(at 'help("clus', "cluster"))
    local all = at 'help "'
    for _, word in ipairs { "blis.run", "queue_depth", "weighted", "signals" } do
      assert.is_true(has(all, word), word)
    end
  end)

  it("stays silent or quick for anything else", function()
    for _, text in ipairs {
      "", " ", ")", "}}}", "x.", ":", "::", "..", "a..b", "x[", "x[1", "x[1].", "x]]", "'", '"',
      '"\\', "--[[ x", "--[==[ x ]=] ", "[[ blis.", "[=[x]=] bli", "\27[A", "\0", "\xFF",
      ("{"):rep(2000), ("("):rep(2000) .. "bl", ("a."):rep(2000), "0x", "1.", "blis.run{{{",
    } do
      local words, start = complete.words(text)
      assert(type(words) == "table" and start >= 1 and start <= #text + 1, text)
    end
  end)
end)
