--- The list of all trials of a sweep: equal in every process, on every machine. Processes select
--- trials by index.
local canonical = require "blis.sweep.canonical"
local core = require "blis.core"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local json = deferred "blis.json"
local program = require "blis.sweep.program"
local sources = require "blis.sweep.sources"

local plan = {}

---@class blis.sweep.Trial
---@field key string 32 hexadecimal digits
---@field point integer
---@field replication integer
---@field seed integer
---@field tried? integer when its point was chosen from outside, as Unix time

---@class blis.sweep.Plan
---@field name string
---@field program string version of blis and of its sources
---@field versions table<string, "keep"|"ignore"> what is done with results of other versions
---@field script string hash of what the trials do
---@field sources? blis.sweep.Sources files that the hash covers; nil with an identity
---@field names string[] of the parameters
---@field points { labels: table<string, any>, tried?: integer }[]
---@field trials blis.sweep.Trial[] replications of a point stand side by side
---@field replications integer of each point; the most, with a rule
---@field rule? blis.StoppingRule
---@field metric? string that the rule looks at
---@field report? string[]
---@field level number
---@field interval string

--- Returns what the trials do, besides parameters and seed: the script with the files that it
--- loads, or the identity that stands for them, and the input files.
local function script_hash(options, points)
  local found, script = nil, options.identity
  if not script then
    local values = {}
    for i, point in ipairs(points) do values[i] = point.values or false end
    found = sources.of(options.trial, values)
    script = sources.script_text(options.trial) .. "\0" .. sources.key(found)
  end
  local parts = { script }
  for _, path in ipairs(options.inputs or {}) do
    local text = sources.read_file(path)
    if not text then errors.invalid("inputs: %s cannot be read", path) end
    parts[#parts + 1] = core.hash128(text)
  end
  return core.hash128(table.concat(parts, "\0")), found
end

--- The key of a trial, unique to what is run.
local function key_of(self, version, labels_text, seed)
  return core.hash128(table.concat({ version, self.script, labels_text, ("%d"):format(seed) },
    "\0"))
end

--- Calls visit(key, point, replication, seed) for every trial in their order.
local function each_trial(self, version, visit)
  for i, point in ipairs(self.points) do
    local text = point.text or canonical.text(point.labels, "parameters")
    for r = 1, self.replications do
      local seed = self.seed + r - 1
      visit(key_of(self, version, text, seed), i, r, seed)
    end
  end
end

local function add_trials(self)
  local trials = {}
  each_trial(self, self.program, function(key, point, replication, seed)
    trials[#trials + 1] = { key = key, point = point, replication = replication, seed = seed,
      tried = self.points[point].tried }
  end)
  self.trials = trials
end

--- The keys that the trials have here, by the keys that another version gives them.
---@param self blis.sweep.Plan
---@param version string
---@return table<string, string>
function plan.keys_of_version(self, version)
  local keys, i = {}, 0
  each_trial(self, version, function(key)
    i = i + 1
    keys[key] = self.trials[i].key
  end)
  return keys
end

-- The trials of the largest sweeps; each takes 200 bytes of memory.
local most_trials = 100000000

local function check_size(self)
  if #self.points > most_trials // self.replications then
    errors.invalid("replications: %d points with %d replications are more than %d trials",
      #self.points, self.replications, most_trials)
  end
  if self.seed > math.maxinteger - self.replications then
    errors.invalid("seed: %d is too high for the seeds of %d replications", self.seed,
      self.replications)
  end
end

--- The plan of a sweep.
---@param options table what the section of sweeps has read
---@param names string[]
---@param points blis.sweep.Point[]
---@return blis.sweep.Plan
function plan.new(options, names, points)
  local rule = options.rule
  local script, found = script_hash(options, points)
  local self = {
    name = options.name, program = program.id(), versions = {}, script = script, sources = found,
    names = names, points = points, replications = rule and rule.max or options.replications,
    rule = rule, metric = options.metric, report = options.report, level = options.level,
    interval = options.interval, seed = options.seed,
  }
  check_size(self)
  add_trials(self)
  return self
end

local function with_points(self, points)
  local other = {}
  for key, value in pairs(self) do other[key] = value end
  other.points = points
  add_trials(other)
  return other
end

--- The plan of the same trials at one point, which need not be one of its own.
---@param self blis.sweep.Plan
---@param point blis.sweep.Point
---@return blis.sweep.Plan
function plan.of_point(self, point)
  point.tried = os.time()
  return with_points(self, { point })
end

--- The plan to which points are added as they are tried.
---@param self blis.sweep.Plan
---@return blis.sweep.Plan
function plan.without_points(self) return with_points(self, {}) end

--- Adds the points of trials that were run one by one, in their order; those of other scripts and
--- versions are no points of this plan.
---@param self blis.sweep.Plan
---@param records table<string, blis.sweep.Record> by key
function plan.adopt(self, records)
  local seen, added = {}, {}
  for _, point in ipairs(self.points) do
    seen[point.text or canonical.text(point.labels, "parameters")] = true
  end
  for key, one in pairs(records) do
    local text = one.tried and canonical.text(one.parameters, "parameters")
    if text and not seen[text] and key_of(self, self.program, text, one.seed) == key then
      seen[text] = true
      added[#added + 1] = { labels = one.parameters, text = text, tried = one.tried }
    end
  end
  table.sort(added, function(a, b)
    if a.tried ~= b.tried then return a.tried < b.tried end
    return a.text < b.text
  end)
  table.move(added, 1, #added, #self.points + 1, self.points)
  add_trials(self)
end

--- Indices of the trials of a point.
---@param self blis.sweep.Plan
---@param point integer
---@param replication integer
---@return integer
function plan.index(self, point, replication)
  return (point - 1) * self.replications + replication
end

--- A parameter as people read it.
function plan.label_text(label)
  if label == nil then return "-" end
  if math.type(label) == "integer" then return ("%d"):format(label) end
  if type(label) == "number" then return ("%.6g"):format(label) end
  return (tostring(label):gsub("%c", " "))
end

--- "prefix_weight=2 rate=40", what messages call a point.
---@param self blis.sweep.Plan
---@param point integer
---@return string
function plan.point_name(self, point)
  local parts = {}
  for _, name in ipairs(self.names) do
    local label = self.points[point].labels[name]
    if label ~= nil then parts[#parts + 1] = name .. "=" .. plan.label_text(label) end
  end
  return table.concat(parts, " ")
end

--- The same with the seed, which makes it a trial.
---@param self blis.sweep.Plan
---@param trial blis.sweep.Trial
---@return string
function plan.trial_name(self, trial)
  local name = plan.point_name(self, trial.point)
  return ("%s%sseed=%d"):format(name, name == "" and "" or " ", trial.seed)
end

local function write_points(writer, self)
  writer:array("points")
  for _, point in ipairs(self.points) do canonical.write(writer, point.labels, nil, "points") end
  writer:done()
end

-- The members of a plan in its file, and those of its rule.
local plain_members = { "name", "program", "script", "replications", "seed", "level", "interval" }
local members = { "sweep", "metric", "rule", "versions", "names", "report", "points",
  table.unpack(plain_members) }
local rule_members = { "rule", "min", "max", "precision", "level" }

--- The plan as JSON, for those who have the store and not the script.
---@param self blis.sweep.Plan
---@return string
function plan.to_json(self)
  local writer = core.json_writer(1):object():field("sweep", 1)
  for _, key in ipairs(plain_members) do writer:field(key, self[key]) end
  if self.metric then
    writer:field("metric", self.metric):object("rule")
    for _, key in ipairs(rule_members) do writer:field(key, self.rule[key]) end
    writer:done()
  end
  if next(self.versions) then canonical.write(writer, self.versions, "versions", "versions") end
  json.write_list(writer, "names", self.names)
  if self.report then json.write_list(writer, "report", self.report) end
  write_points(writer, self)
  return writer:done():take() .. "\n"
end

local function is_list_of(given, kind)
  if type(given) ~= "table" then return false end
  for key, item in pairs(given) do
    if math.type(key) ~= "integer" or type(item) ~= kind then return false end
  end
  return true
end

local function is_level(given)
  return type(given) == "number" and given > 0.5 and given < 1
end

--- A rule comes with the metric it looks at.
local function is_rule(given, metric)
  if given == nil then return metric == nil end
  return type(given) == "table" and given.rule == "precision" and type(metric) == "string"
    and math.type(given.min) == "integer" and given.min >= 2
    and math.type(given.max) == "integer" and given.max >= given.min
    and type(given.precision) == "number" and is_level(given.level)
end

local function is_versions(given)
  for _, treatment in pairs(given) do
    if treatment ~= "keep" and treatment ~= "ignore" then return false end
  end
  return true
end

--- True when a file says all that a plan is made of.
local function is_plan(self)
  return type(self) == "table" and self.sweep == 1 and type(self.name) == "string"
    and type(self.program) == "string" and type(self.script) == "string"
    and is_list_of(self.names, "string") and is_list_of(self.points, "table")
    and math.type(self.replications) == "integer" and self.replications >= 1
    and math.type(self.seed) == "integer" and is_level(self.level)
    and (self.interval == "student-t" or self.interval == "bootstrap")
    and (self.report == nil or is_list_of(self.report, "string"))
    and is_rule(self.rule, self.metric)
    and (self.versions == nil or type(self.versions) == "table" and is_versions(self.versions))
end

--- The plan that to_json has written.
---@param text string
---@param path string for messages
---@return blis.sweep.Plan
function plan.from_json(text, path)
  local self = errors.located(core.json_read, text, path)
  if type(self) == "table" and math.type(self.sweep) and self.sweep ~= 1 then
    errors.invalid("%s: this sweep has format %s, but this program reads format 1; use the version "
      .. "of blis that wrote it", path, self.sweep)
  end
  if not is_plan(self) then
    errors.invalid("%s: not a sweep of this version of blis", path)
  end
  errors.check_names(self, members, path)
  if self.rule then errors.check_names(self.rule, rule_members, path .. ": rule") end
  for i, labels in ipairs(self.points) do self.points[i] = { labels = labels } end
  self.versions = self.versions or {}
  add_trials(self)
  return self
end

return plan
