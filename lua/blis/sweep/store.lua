--- A folder that keeps the results of a sweep: its plan, and one journal for each process that ever
--- wrote to it.
---
--- A journal is a text file of JSON lines that one process appends to, a line for each trial, each
--- in one write. Nothing is ever changed, so nothing needs a lock; a torn last line, left behind by
--- a process that was killed, is as good as none. What is true is what the journals say together.
local core = require "blis.core"
local errors = require "blis.errors"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"

local store = {}

local plan_name = "sweep.json"

---@class blis.sweep.Store
---@field folder string
---@field known table<string, blis.sweep.Record> by key: done, or failed and not to be tried again
---@field journals integer

local function header_line()
  return core.json_writer():object():field("journal", "blis-sweep"):field("format", 1)
    :field("program", core._VERSION):done():take()
end

--- Raises for results of another program: figures of two versions are not to be mixed.
local function check_program(folder, program)
  if program ~= core._VERSION then
    errors.invalid("%s: its results are those of blis %s, and this is blis %s, whose figures may "
      .. "differ; use another folder, or export and remove this one", folder, tostring(program),
      core._VERSION)
  end
end

local function check_header(folder, path, line)
  local ok, header = pcall(core.json_read, line, path .. ":1")
  if not ok or type(header) ~= "table" or header.journal ~= "blis-sweep" then
    errors.invalid("%s:1: this is no journal of a sweep", path)
  end
  check_program(folder, header.program)
end

--- Calls visit(record) for every whole line of a journal.
local function read_journal(folder, name, visit)
  local path = folder .. "/" .. name
  local file <close>, problem = io.open(path, "rb")
  if not file then errors.invalid("%s", problem) end
  local number = 0
  for line in file:lines("L") do
    number = number + 1
    if line:sub(-1) ~= "\n" then return end
    if number == 1 then
      check_header(folder, path, line)
    else
      visit(record.read(line, ("%s:%d"):format(path, number)))
    end
  end
end

--- What is known of each key: done beats failed; failed counts unless as many retries were asked
--- for.
local function settle(folder, names)
  local known, failures, retries = {}, {}, {}
  for _, name in ipairs(names) do
    read_journal(folder, name, function(one)
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
  local file <close> = io.open(folder .. "/" .. plan_name, "rb")
  return file and file:read("a")
end

--- The plan in a folder; raises when there is none or it is another version's.
---@param folder string
---@return blis.sweep.Plan
function store.plan(folder)
  local text = read_plan_text(folder)
  if not text then
    errors.invalid("%s: there is no sweep in it (no file %s)", folder, plan_name)
  end
  local path = folder .. "/" .. plan_name
  local ok, raw = pcall(core.json_read, text, path)
  if ok and type(raw) == "table" and raw.program then check_program(folder, raw.program) end
  return plan.from_json(text, path)
end

--- What the journals of a folder say.
---@param folder string
---@return blis.sweep.Store
function store.read(folder)
  local names = journal_names(folder)
  return { folder = folder, known = settle(folder, names), journals = #names }
end

--- Opens the folder of a plan, made if need be, and reads what is there.
---@param folder string
---@param self blis.sweep.Plan
---@return blis.sweep.Store
function store.open(folder, self)
  errors.located(core.make_folder, folder)
  local text, before = plan.to_json(self), read_plan_text(folder)
  if before then store.plan(folder) end
  local result = store.read(folder)
  if before ~= text then
    local output <close> = errors.located(core.output, folder .. "/" .. plan_name)
    output:write(text)
    output:commit()
  end
  return result
end

--- Writes of one process; the file is made with the first line.
---@param folder string
---@return { append: fun(line: string), close: fun() }
function store.writer(folder)
  local journal
  return {
    append = function(line)
      if not journal then
        journal = errors.located(core.journal, folder, core.writer_name())
        journal:append(header_line())
      end
      errors.located(journal.append, journal, line)
    end,
    close = function()
      if journal then journal:close() end
    end,
  }
end

return store
