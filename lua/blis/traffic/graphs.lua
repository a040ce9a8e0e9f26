--- Session graphs as a workload: requests that wait for others.
local core = require "blis.core"
local deferred = require "blis.deferred"
local agents = deferred "blis.traffic.agents"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local sorted = require "blis.sorted"
local importers = require("blis.config.trace").importers
local sections = require "blis.config.workload"
local types = require "blis.config.types"

local graphs = {}

--- Who starts graphs has the last word, so a graph cannot have one of its own.
local function check_start(graph, place, number, starter)
  if starter and type(graph) == "table" and graph.start_us ~= nil then
    errors.invalid("%s[%d]: start_us is %s, but %s already sets when graphs start; set only one of "
      .. "them",
      place, number, tostring(graph.start_us), starter)
  end
end

--- Only their starts can end graphs without a count; else all would begin at once, without end.
local function check_will_end(graph, number, read)
  if not read.starter and not read.count and type(graph) == "table" and graph.start_us == nil then
    errors.invalid("graphs[%d]: start_us is missing; set it, or set rate, concurrency, or count, "
      .. "because a function might never stop returning graphs", number)
  end
end

-- Graphs in a row with one start.
local max_still = 100000

--- Raises for a function whose graphs all start at one time, so that the horizon never comes.
local function check_time_advances(still, graph, fn)
  local start_us = type(graph) == "table" and graph.start_us
  if not start_us then return end
  still.count = start_us == still.start_us and still.count + 1 or 1
  still.start_us = start_us
  if still.count > max_still then
    errors.invalid("graphs: %s returned %d graphs in a row with start_us = %s; advance start_us, "
      .. "or set count", errors.function_name(fn), max_still, errors.show(start_us))
  end
end

--- The rest of a graph's form is for the core to check.
local function check_models(graph, place, number, check)
  if type(graph) ~= "table" then return end
  local at = ("%s[%d]"):format(place, number)
  if type(graph.model) == "string" then check(at .. ".model", graph.model) end
  for i, request in ipairs(graph) do
    local model = type(request) == "table" and request.model
    if type(model) == "string" then check(("%s[%d].model"):format(at, i), model) end
  end
end

--- A function that returns, for every run, a new function(number) that returns a graph; and a
--- function that passes the models of the graphs to check(place, model). Models of a function are
--- checked later.
local function factory_of(given, path, read)
  if type(given) == "function" then
    local check_model
    return function()
      local rng, still = core.rng(read.seed, "workload-graphs"), {}
      return function(number)
        local graph = given(rng, number)
        check_start(graph, "graphs", number, read.starter)
        check_will_end(graph, number, read)
        if not read.count then check_time_advances(still, graph, given) end
        if check_model then check_models(graph, "graphs", number, check_model) end
        return graph
      end
    end, function(check) check_model = check end
  end
  for i = 1, read.file and 0 or #given do -- graphs of a file have been checked
    errors.located(core.check_graph, given[i], path, i)
    check_start(given[i], path, i, read.starter)
  end
  return function()
    return function(number) return given[number] end
  end, function(check)
    for i = 1, #given do check_models(given[i], path, i, check) end
  end
end

--- What the core takes: { served =, recorded = }, recorded without names for an order.
local function models_of(given)
  if given == nil then return nil end
  if type(given) == "string" then
    local read = {}
    for one in given:gmatch "[^,]+" do
      local name, model = one:match "^([^=]+)=(.+)$"
      if name and read[name] then
        errors.invalid("workload.models: duplicate name '%s'", name)
      end
      read[name or #read + 1] = model or one
    end
    given = read
  end
  if #given > 0 then return { served = given } end
  local served, recorded = {}, {}
  for i, name in ipairs(sorted.names(given)) do
    recorded[i], served[i] = name, given[name]
  end
  return { served = served, recorded = recorded }
end

local function formats() return require "blis.traffic.trace_formats" end

--- The graphs of a format in Lua: of a script, or, for a file that the core does not recognize, an
--- included one.
local function read_in_lua(path, options, is_included)
  local format
  if is_included then
    format = formats().included(path, "graphs")
  elseif package.loaded["blis.traffic.trace_formats"] or importers[options.format] then
    format = formats().of_script(path, options.format, "graphs")
  end
  if not format then return nil end
  if options.models then
    errors.invalid("workload.models: format '%s' is read in Lua; its requests name their models",
      format.name)
  end
  return formats().read_graphs(format, path, options)
end

--- Adds to an error about an unknown format why the file is of none.
local function explain(object)
  local lines = { object.message }
  for _, format in ipairs(core.graph_formats()) do
    lines[#lines + 1] = ("  %s: needs %s"):format(format.name, format.needs)
  end
  lines[#lines + 1] = formats().explain "graphs"
  object.message = table.concat(lines, "\n")
end

local function open_file(path, options)
  local found = read_in_lua(path, options)
  if found then return found end
  options.models = models_of(options.models)
  local ok, file = pcall(errors.located, core.graph_file, path, options)
  if ok then return file end
  local message = type(file) == "table" and tostring(file.message) or ""
  if message:find("not recognised as session", 1, true) then
    found = read_in_lua(path, options, true)
    if found then return found end
    explain(file)
  end
  error(file, 0)
end

--- Whether a value has the session graphs of a file.
---@param value any
---@return boolean
function graphs.is_file(value)
  local in_lua = package.loaded["blis.traffic.trace_formats"]
  return core.is_graph_file(value) or in_lua ~= nil and in_lua.are_graphs(value)
end

--- Session graphs of a file, to be looked at and to be played: formats weka, agentic-mooncake,
--- mooncake-delta, applied-compute, sharegpt, spans, and aiperf-turns (docs/agents.md). A path may
--- be that of a folder with a weka corpus.
--- `workload = { graphs = that }` plays them.
---@param path string
---@param options? blis.GraphFileOptions
---@return blis.GraphFile
function graphs.open(path, options)
  errors.check_path("session_graphs", path)
  return open_file(path, schema.read(sections.graph_file, options, "graphs"))
end

--- The file of a path, or one that is open; nil for graphs of a script.
local function file_of(values, given, path)
  local options = {}
  for _, option in ipairs(sections.graph_file.options) do
    options[option.name] = values[option.name]
    if type(values.graphs) ~= "string" and given[option.name] ~= nil then
      errors.invalid("%s: '%s' requires the path of a file", path, option.name)
    end
  end
  if type(values.graphs) == "string" then
    return open_file(values.graphs, options)
  end
  return graphs.is_file(values.graphs) and values.graphs or nil
end

-- What the AgentX profile says (AISimulate, mid 2026).
local plays = {
  agentx = { primers = true, warm_up_requests = 10, duration_us = 3600000000,
    response_grace_us = 30000000, tree_idle_cap_us = 300000000, idle_cap_us = 10000000 },
}

local play_options = { "duration_us", "response_grace_us", "warm_up_requests", "primers",
  "tree_idle_cap_us", "idle_cap_us" }

--- Fills in the options of a named play; they apply to a number of concurrent graphs.
local function read_play(values, path)
  local named = plays[values.play] or {}
  for _, name in ipairs(play_options) do
    if values[name] ~= nil and not values.concurrency then
      errors.invalid("%s: %s requires concurrency", path, name)
    end
    if values[name] == nil then values[name] = named[name] end
  end
  if values.play and not values.concurrency then
    errors.invalid("%s: play = '%s' requires concurrency, the number of its "
      .. "lanes", path, values.play)
  end
  if values.response_grace_us and not values.duration_us then
    errors.invalid("%s: response_grace_us requires duration_us", path)
  end
end

--- What check_graphs of the core takes.
---@param given table
---@param path string
---@param defaults blis.WorkloadDefaults
---@return table
function graphs.read(given, path, defaults)
  local values = schema.read(sections.graphs, given, path)
  local place = path .. ".graphs"
  if values.preset then
    if values.graphs ~= nil then
      errors.invalid("%s: 'graphs' cannot be combined with 'preset'", path)
    end
    values.graphs = agents.by_name[values.preset]
    if not values.rate and not values.concurrency then
      errors.invalid("%s: preset '%s' requires rate or concurrency", path, values.preset)
    end
  end
  local is_function = type(values.graphs) == "function"
  local file = file_of(values, given, path)
  if not is_function and not file then
    local expected = "a list of graphs, a path or a function(rng, number)"
    schema.check_list(values.graphs, place, expected)
    if #values.graphs == 0 then
      errors.invalid("%s: the list is empty, expected %s", place, expected)
    end
  end
  if values.rate and values.concurrency then
    errors.invalid("%s: 'rate' cannot be combined with 'concurrency'", path)
  end
  read_play(values, path)
  local horizon_us = values.horizon_us or defaults.horizon_us or 0
  local has_end = values.count or values.duration_us or horizon_us > 0
  if is_function and not has_end then
    errors.invalid("%s: a function might never stop returning graphs; set count or "
      .. "horizon_us", path)
  end
  if file and not file:about().has_starts and not values.rate and not values.concurrency then
    errors.invalid("%s: the graphs of this file have no recorded start times; set rate or "
      .. "concurrency",
      path)
  end
  local starter = values.rate and "rate" or values.concurrency and "concurrency"
  local read = {
    can_repeat = not is_function, starter = starter,
    rate = values.rate, arrival = types.arrival.check(values.arrival, nil, path .. ".arrival"),
    concurrency = values.concurrency,
    count = values.count, horizon_us = horizon_us, timeout_us = values.timeout_us,
    speed = values.speed, continues = values.on_failure == "continue",
    tells_future = values.hints,
    seed = values.seed or defaults.seed,
  }
  for _, name in ipairs(play_options) do read[name] = values[name] end
  read.file = file
  if file and core.is_graph_file(file) then
    read.graphs = file
    read.check_models = function(check)
      for _, model in ipairs(file:about().models or {}) do check(path .. ".models", model) end
    end
  else
    local list = file and file:played(starter ~= nil) or values.graphs
    read.graphs, read.check_models = factory_of(list, place, read)
  end
  return read
end

--- Do the results of a run have a part of it that is measured?
function graphs.is_measured(spec)
  return spec.duration_us ~= nil or spec.primers or (spec.warm_up_requests or 0) > 0
end

--- Notes for users.
function graphs.notes(spec)
  local file = spec.file
  local notes = file and file:notes() or {}
  if file and spec.starter and file:about().has_starts then
    notes[#notes + 1] = ("recorded start times of graphs are ignored, because %s is set")
      :format(spec.starter)
  end
  return notes
end

--- Estimated time during which graphs start; 0: unknown.
function graphs.length_us(spec)
  if spec.horizon_us > 0 then return spec.horizon_us end
  if spec.duration_us then return spec.duration_us end
  return spec.rate and spec.count and math.tointeger((spec.count / spec.rate * 1e6) // 1) or 0
end

return graphs
