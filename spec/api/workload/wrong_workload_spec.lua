-- A wrong value of every option of a workload is an error that names place, value and what is
-- allowed. Options are those that are described, so that a new one cannot be forgotten here.
local blis = require "blis"
local core = require "blis.core"
local sections = require "blis.config.workload"
local small = require "spec.support.small"

local says = small.says

--- A table with an option and not its other name.
local function with(keys, name, value, other_name)
  local part = {}
  for key, other in pairs(keys or {}) do part[key] = other end
  if other_name then part[other_name] = nil end
  if name then part[name] = value end
  return part
end

-- Functions that put a value of an option into a workload; they return it, and where that is.

local function in_workload(keys)
  return function(name, value, other_name)
    return with(keys, name, value, other_name), "workload." .. name
  end
end

local function inside(section, keys)
  return function(name, value, other_name)
    return { [section] = with(keys, name, value, other_name) },
      ("workload.%s.%s"):format(section, name)
  end
end

local client = { id = "a", input_distribution = 5, output_distribution = 5 }
local cohort = with(client, "population", 2)

--- In a part of a client or cohort; build makes the keys of that from the part.
local function in_part(list, base, place, build, keys)
  return function(name, value, other_name)
    local one = with(base)
    for key, other in pairs(build(with(keys, name, value, other_name))) do one[key] = other end
    return { aggregate_rate = 1, num_requests = 2, [list] = { one } },
      ("workload.%s[1]%s.%s"):format(list, place, name)
  end
end

local function in_client(...) return in_part("clients", client, ...) end

local function in_cohort(...) return in_part("cohorts", cohort, ...) end

local function itself(list, base)
  return function(name, value, other_name)
    return { aggregate_rate = 1, num_requests = 2,
      [list] = { with(base, name, value, other_name) } },
      ("workload.%s[1].%s"):format(list, name)
  end
end

local function as(name)
  return function(part) return { [name] = part } end
end

local places = {
  short = in_workload { requests = 2 },
  prefixes = inside("prefixes", { tokens = 5 }),
  sessions = inside("sessions", { max_rounds = 2 }),
  file = in_workload { file = "tests/data/workload/prefix.yaml" },
  generator = in_workload { generator = function() return nil end },
  graph_file = in_workload { graphs = "tests/data/graphs/weka.jsonl", rate = 1 },
  graphs = in_workload { graphs = { { { prompt_tokens = 1, output_tokens = 1 } } } },
  replay = in_workload { trace = "tests/data/tracev2/mt.csv", session_mode = "closed-loop" },
  with_clients = in_workload { aggregate_rate = 1, num_requests = 2, clients = { client } },
  client = itself("clients", client),
  cohort = itself("cohorts", cohort),
  window = in_client(".lifecycle.windows[1]",
    function(part) return { lifecycle = { windows = { part } } } end, { end_us = 5 }),
  lifecycle = in_client(".lifecycle", as "lifecycle"),
  multi_turn = in_client(".reasoning.multi_turn",
    function(part) return { reasoning = { multi_turn = part } } end, { max_rounds = 1 }),
  reasoning = in_client(".reasoning", as "reasoning", { multi_turn = { max_rounds = 1 } }),
  multimodal = in_client(".multimodal", as "multimodal", { text_distribution = 5 }),
  diurnal = in_cohort(".diurnal", as "diurnal", { peak_hour = 1, peak_to_trough_ratio = 2 }),
  spike = in_cohort(".spike", as "spike", { duration_us = 5 }),
  drain = in_cohort(".drain", as "drain", { ramp_duration_us = 5 }),
}

-- What is read by the core says it in other words.
local number_words = { "expected", "is not a number", "is not a whole number", "must be",
  "invalid value" }
local word_words = { "expected", "unknown", "neither", "is no version" }
local list_words = { "expected", "is not a mapping", "is not a list", "must be", "must have",
  "excludes", "has no end" }

local wrong = {
  integer = { { "five", number_words }, { 1.5, number_words }, { {}, number_words } },
  time_us = { { "five", number_words }, { 1.5, number_words }, { true, number_words } },
  number = { { "five", number_words }, { 0 / 0, number_words }, { 1 / 0, number_words } },
  boolean = { { 7, { "expected", "is not a boolean" } },
    { "five", { "expected", "is not a boolean" } } },
  string = { { {}, { "expected", "is not a string" } } },
  path = { { 7, { "expected" } } },
  choice = { { "nosuch", word_words } },
  distribution = { { { "nosuch" }, { "known are" } }, { -1, number_words },
    { 1.5, number_words }, { { "constant" }, { "needs the parameter" } },
    { { "constant", vale = 3 }, { "did you mean" } } },
  arrival = { { "nosuch", { "known are" } }, { { "gamma", cv = 0 }, { "must be" } },
    { { "gamma", cw = 1 }, { "did you mean", "known are" } } },
  shape = { { 7, { "expected" } }, { "nosuch", { "expected" } },
    { { "ramp", form = 1 }, { "did you mean" } } },
  section = { { 7, list_words }, { { nosuch = 1 }, { "nosuch" } } },
  table = { { 7, list_words } },
  prefixes = { { 7, list_words }, { { nosuch = 1 }, { "known are", "did you mean" } } },
  sessions = { { 7, list_words }, { { nosuch = 1 }, { "known are", "did you mean" } } },
  served_models = { { 7, { "expected" } }, { {}, { "expected" } }, { "a=b,c", { "expected" } } },
}
wrong.lengths, wrong.gaps = wrong.distribution, wrong.arrival
wrong.columns = { { 5, { "expected columns by role" } },
  { "start", { "expected columns by role" } }, { {}, { "expected columns by role" } } }

-- What makes a workload another one, or what has specs of its own.
local other = { ["file.file"] = true, ["generator.generator"] = true, ["replay.trace"] = true,
  ["graphs.graphs"] = true }

--- Fails unless a workload is refused, with its place and one of some words.
local function check(workload, place, shown, words)
  local ok, problem = pcall(blis.simulation, { workload = workload })
  assert(not ok, place .. " takes " .. shown)
  assert.equal("table", type(problem), place)
  assert.equal("invalid", problem.code, place)
  local message = problem.message
  says(message, "wrong_workload_spec.lua:")
  says(message, place)
  if shown ~= "" then says(message, shown) end
  for _, word in ipairs(words) do
    if message:find(word, 1, true) then return end
  end
  error(("%s: %q has none of %s"):format(place, message, table.concat(words, ", ")))
end

local function shown_text(value)
  if type(value) == "table" then return "" end
  if value ~= value then return "nan" end
  if value == 1 / 0 then return "inf" end
  return tostring(value)
end

local function check_limits(put, option)
  local values = {}
  if option.min then values[1] = option.min - 1 end
  if option.max then values[#values + 1] = option.max * 2 end
  if option.above then values[#values + 1] = option.above end
  for _, value in ipairs(values) do
    local workload, place = put(option.name, value)
    local whole = math.tointeger(value)
    check(workload, place, whole and ("%d"):format(whole) or ("%.14g"):format(value), number_words)
  end
end

describe("a wrong value of every option", function()
  for name, section in pairs(sections) do
    local put = assert(places[name], "there is no place for " .. name)
    for _, option in ipairs(section.options) do
      if not other[name .. "." .. option.name] then
        it(("is named: %s.%s"):format(name, option.name), function()
          for _, case in ipairs(assert(wrong[option.type], option.type)) do
            local workload, place = put(option.name, case[1])
            check(workload, place, shown_text(case[1]), case[2])
          end
          check_limits(put, option)
          for _, alias in ipairs(option.aliases or {}) do
            local case = wrong[option.type][1]
            local workload, place = put(alias, case[1], option.name)
            check(workload, place, shown_text(case[1]), case[2])
          end
        end)
      end
    end
    it(("is named: an unknown option of %s"):format(name), function()
      local workload, place = put("nosuch_option", 1)
      check(workload, place:gsub("%.nosuch_option$", ""), "nosuch_option", { "known are",
        "did you mean" })
    end)
  end
end)

describe("the descriptions", function()
  it("have every key of specifications", function()
    local described = 0
    for _ in pairs(core.workload_keys()) do described = described + 1 end
    assert.equal(17, described)
  end)
end)
