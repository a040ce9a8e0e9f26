--- A folder that keeps the results of a sweep: its plan, and one journal for each process that ever
--- wrote to it.
---
--- A journal is a file of JSON lines. One process appends one line per trial, each in a single
--- write. Lines never change, so no locks are needed. An incomplete last line of a killed process
--- is ignored, and so is a damaged line, detected by its checksum. The state is the union of all
--- journals.
local core = require "blis.core"
local errors = require "blis.errors"
local notices = require "blis.notices"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"

local store = {}

local plan_name = "sweep.json"

---@class blis.sweep.Store
---@field folder string
---@field known table<string, blis.sweep.Record> by key: done, or failed and not to be tried again
---@field journals integer

-- The form of journals.
local format = 2

local function header_line(program)
  return core.json_writer():object():field("journal", "blis-sweep"):field("format", format)
    :field("program", program):done():take()
end

--- Treatment of results of another version; metrics of two versions are not mixed by default. The
--- choice is stored in the plan.
local function treatment_of(self, folder, version, other_versions)
  if other_versions ~= "refuse" then self.versions[version] = other_versions end
  if not self.versions[version] then
    errors.invalid("%s: it contains results of blis %s, but metrics of blis %s may differ. To run "
      .. "their trials again, use --other-versions ignore (in a script: other_versions = "
      .. "\"ignore\"). To use them, use --other-versions keep. Or use another "
      .. "folder", folder, version,
      self.program)
  end
  return self.versions[version]
end

--- The version that has written a journal.
local function version_of(path, line)
  local ok, header = pcall(core.json_read, line, path .. ":1")
  local is_journal = ok and type(header) == "table" and header.journal == "blis-sweep"
  if is_journal and header.format ~= format then
    errors.invalid("%s:1: this journal has format %s, but this program reads format %d; use the "
      .. "version of blis that wrote it, or move the file away (its trials will run again)", path,
      tostring(header.format), format)
  end
  if not is_journal or type(header.program) ~= "string" then
    errors.invalid("%s:1: not the journal of a sweep; move the file away (trials without another "
      .. "record will run again)", path)
  end
  errors.check_names(header, { "journal", "format", "program" }, path .. ":1")
  return header.program
end

--- Reads the header of a journal; returns the keys of its version as those of the plan, nil when
--- they are the same, and false when its results do not count.
local function read_header(settings, path, line)
  local self, version = settings.self, version_of(path, line)
  if version == self.program then return nil end
  local treatment = treatment_of(self, settings.folder, version, settings.other_versions)
  return treatment == "keep" and plan.keys_of_version(self, version)
end

local function tell_damage(path, lines)
  if #lines == 0 then return end
  local places = table.concat(lines, ", ", 1, math.min(#lines, 5))
  notices.tell(("%s: %s %s%s damaged and skipped; trials without another record will "
    .. "run again"):format(path, #lines == 1 and "line" or "lines", places,
    #lines == 1 and " is" or #lines > 5 and " ... are" or " are"))
end

--- The whole lines of a file, with their ends.
local function lines_of(file, path)
  return function()
    local line, problem = file:read("L")
    if problem then errors.invalid("%s: %s", path, problem) end
    return line and line:sub(-1) == "\n" and line or nil
  end
end

--- Calls visit(record) for every line of a journal that is as it was written.
---@param settings { self: blis.sweep.Plan, folder: string, other_versions: string }
local function read_journal(settings, name, visit)
  local path = settings.folder .. "/" .. name
  local file <close>, problem = core.open_input(path, "data")
  if not file then errors.invalid("%s", problem) end
  local number, keys, damaged = 0, nil, {}
  for line in lines_of(file, path) do
    number = number + 1
    if number == 1 then
      keys = read_header(settings, path, line)
      if keys == false then return end
    elseif record.is_whole(line) then
      local one = record.read(line, ("%s:%d"):format(path, number))
      if keys then one.key = keys[one.key] or one.key end
      one.journal = name
      visit(one)
    else
      damaged[#damaged + 1] = number
    end
  end
  tell_damage(path, damaged)
end

--- The state of each key: done takes precedence over failed; failed counts unless a retry was
--- requested.
local function settle(settings, names)
  local known, failures, retries = {}, {}, {}
  for _, name in ipairs(names) do
    read_journal(settings, name, function(one)
      local key = one.key
      if one.status == "done" then
        known[key] = known[key] or one
      elseif one.status == "retry" then
        retries[key] = (retries[key] or 0) + 1
      else
        failures[key] = failures[key] or { count = 0 }
        failures[key].count = failures[key].count + 1
        failures[key].last = one
      end
    end)
  end
  for key, failure in pairs(failures) do
    if not known[key] and failure.count > (retries[key] or 0) then known[key] = failure.last end
  end
  return known
end

local function journal_names(folder)
  local names = {}
  for _, name in ipairs(core.folder(folder)) do
    if name:match("%.jsonl$") then names[#names + 1] = name end
  end
  return names
end

--- The text of the plan in a folder, or nil.
local function read_plan_text(folder)
  local file <close> = core.open_input(folder .. "/" .. plan_name, "data")
  return file and file:read("a")
end

--- True when a folder holds a sweep.
---@param folder string
---@return boolean
function store.has_plan(folder)
  return read_plan_text(folder) ~= nil
end

--- The plan in a folder, written by any version of blis; raises if the folder has no plan.
---@param folder string
---@return blis.sweep.Plan
function store.plan(folder)
  local text = read_plan_text(folder)
  if not text then
    errors.invalid("%s: not a sweep (no file %s)", folder, plan_name)
  end
  return plan.from_json(text, folder .. "/" .. plan_name)
end

--- What the journals of a folder say of a plan. Results of versions other than the plan's are
--- counted ("keep") or not ("ignore") or, by default, an error unless the plan says what to do.
---@param folder string
---@param self blis.sweep.Plan its versions are added to
---@param other_versions? "keep"|"ignore"|"refuse"
---@return blis.sweep.Store
function store.read(folder, self, other_versions)
  local names = journal_names(folder)
  local settings = { self = self, folder = folder, other_versions = other_versions or "refuse" }
  return { folder = folder, known = settle(settings, names), journals = #names }
end

local function write_plan(folder, self)
  local output <close> = errors.located(core.output, folder .. "/" .. plan_name)
  output:write(plan.to_json(self))
  output:commit()
end

--- What was decided about other versions counts for this plan too.
local function take_versions(folder, self)
  local before = store.plan(folder)
  for version, treatment in pairs(before.versions) do self.versions[version] = treatment end
  return before
end

--- Opens a folder for points that are chosen one by one: a plan of the same script stays as it is,
--- else there is one without points, to which each reader adds those that were tried.
---@param folder string
---@param self blis.sweep.Plan
---@param other_versions? "keep"|"ignore"|"refuse"
---@return blis.sweep.Store
function store.join(folder, self, other_versions)
  errors.located(core.make_folder, folder)
  local before = store.has_plan(folder) and take_versions(folder, self)
  local result = store.read(folder, self, other_versions)
  local is_same = before and before.script == self.script and before.program == self.program
  if not is_same then write_plan(folder, plan.without_points(self)) end
  return result
end

--- Opens the folder of a plan, creating it if necessary, and reads its content.
---@param folder string
---@param self blis.sweep.Plan
---@param other_versions? "keep"|"ignore"|"refuse"
---@return blis.sweep.Store
function store.open(folder, self, other_versions)
  errors.located(core.make_folder, folder)
  local before = read_plan_text(folder)
  if before then take_versions(folder, self) end
  local result = store.read(folder, self, other_versions)
  if before ~= plan.to_json(self) then write_plan(folder, self) end
  return result
end

--- Writes of one process; the file is made with the first line.
---@param folder string
---@param self blis.sweep.Plan
---@return { append: fun(line: string), close: fun() }
function store.writer(folder, self)
  local journal
  return {
    append = function(line)
      if not journal then
        journal = errors.located(core.journal, folder, core.writer_name())
        errors.located(journal.append, journal, header_line(self.program))
      end
      errors.located(journal.append, journal, line)
    end,
    close = function()
      if journal then journal:close() end
    end,
  }
end

return store
