-- A policy in Lua as a plugin of Dynamo's router: the same file, loaded by a small C program as its
-- host would load it, takes the decisions of the simulator.
local blis = require "blis"
local files = require "spec.support.files"
local program = require "spec.support.program"
local selector = require "blis.production.export.selector"
local workload = require "blis.production.conformance_workload"

local policy = "spec/production/least_work.lua"
local block_size = 16

--- A filter that keeps all, and writes down what a decision is about.
local function recorder(lines)
  local current, parts
  local function flush()
    if current then
      lines[#lines + 1] = ("%s %d %s"):format(current, #parts, table.concat(parts, " "))
    end
    current = nil
  end
  return blis.filter { name = "record", keep = function(request, instance)
    local head = ("%d %s %d"):format(request.prompt_tokens,
      request.session == "" and "-" or request.session, block_size)
    if instance.index == 1 then
      flush()
      current, parts = head, {}
    end
    parts[#parts + 1] = ("%d %d %d %d %d"):format(instance.index - 1, instance.cached_tokens,
      instance.pending_prefill_tokens, instance.kv_blocks, instance.max_num_batched_tokens)
    return true
  end }, flush
end

--- The decisions of a run: what was seen, a line each, and the indexes chosen.
local function simulated()
  local lines, chosen = {}, {}
  local filter, flush = recorder(lines)
  local routing = dofile(policy)
  routing.filters = { filter }
  local result = workload.run { routing = routing }
  flush()
  for i = 1, #result.decisions do
    local one = result.decisions[i]
    if one.kind == "routing" then chosen[#chosen + 1] = one.chosen:match "%d+$" end
  end
  return lines, chosen
end

local function fields_of(line)
  local numbers = {}
  for word in line:gmatch "%S+" do numbers[#numbers + 1] = word end
  local request = { isl_tokens = tonumber(numbers[1]), expected_output_tokens = 0,
    session_id = numbers[2] ~= "-" and numbers[2] or nil, block_size_tokens = tonumber(numbers[3]) }
  local list = {}
  for i = 1, tonumber(numbers[4]) do
    local at = 5 * i
    list[i] = { worker_id = math.tointeger(numbers[at]),
      cached_tokens = math.tointeger(numbers[at + 1]),
      active_prefill_tokens = math.tointeger(numbers[at + 2]),
      total_kv_blocks = math.tointeger(numbers[at + 3]),
      max_num_batched_tokens = math.tointeger(numbers[at + 4]) }
  end
  return request, list
end

describe("the selector", function()
  it("takes the decisions of the simulator", function()
    local lines, chosen = simulated()
    assert.is_true(#lines == #chosen and #lines >= 300)
    local select, places = selector(function() return dofile(policy) end), {}
    for i, line in ipairs(lines) do
      local place = select(fields_of(line))
      assert.equal(chosen[i], tostring(place - 1), "decision " .. i)
      places[place] = true
    end
    assert.is_true(#places == 4) -- all of them were chosen some time
  end)

  it("says what the router does not pass", function()
    local select = selector(function()
      return function(_, instances) return instances[1].queue_depth end
    end)
    local ok, problem = pcall(select, fields_of "10 - 16 1 0 0 0 5 5")
    assert.is_false(ok)
    assert.matches("the router does not pass instance.queue_depth", problem, 1, true)
  end)

  it("refuses what it cannot run", function()
    for text, part in pairs {
      ["return 'random'"] = "expected a policy in Lua",
      ["return { 'weighted', scorers = { { 'queue-depth', 1 } } }"] = "built into the simulator",
      ["return require('blis').run {}"] = "blis.run is not available in a selector",
      ["return require('blis').scorer { columns = true, score = print }"] = "works on columns",
      ["return {}"] = "with route or score",
    } do
      local ok, problem = pcall(selector, load(text))
      local message = ok and "nothing" or tostring(problem)
      if ok then ok, problem = pcall(problem, fields_of "10 - 16 1 0 0 0 5 5") end
      message = not ok and tostring(problem) or message
      assert.matches(part, message, 1, true)
    end
    assert.equal(blis, require "blis") -- it is back
  end)

  it("does the same in a plugin that a C program loads #host", function()
    local build = program.path:match "^(.*)/[^/]*$"
    local host, plugin = build .. "/tests/dynamo_host", build .. "/blis_dynamo_selector.so"
    local lines, chosen = simulated()
    files.with(table.concat(lines, "\n") .. "\n", function(path)
      local outcome = program.shell(("'%s' '%s' '%s' '%s'"):format(host, plugin, policy, path))
      assert.equal("", outcome.err)
      assert.equal(0, outcome.status)
      assert.equal(table.concat(chosen, "\n") .. "\n", outcome.out)
      local none = program.shell(("'%s' '%s' /no/such/policy.lua '%s'"):format(host, plugin, path))
      assert.equal(1, none.status)
      assert.matches("cannot open /no/such/policy.lua", none.err, 1, true)
      program.with_file("return function() error 'no' end", function(bad)
        local failed = program.shell(("'%s' '%s' '%s' '%s' | sort -u"):format(host, plugin, bad,
          path))
        assert.equal("-1\n", failed.out)
        assert.matches("blis selector: [^\n]*no", failed.err)
      end)
    end)
  end)
end)
