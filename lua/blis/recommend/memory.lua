--- Outcomes of the runs of a recommendation, in memory or in a folder. A later search reads them
--- instead of repeating the runs. The folder is a store of sweeps that grows by one point at a
--- time. The key of each run contains everything that the outcome depends on, so that several
--- questions can share a folder.
local canonical = require "blis.sweep.canonical"
local core = require "blis.core"
local errors = require "blis.errors"
local runner = require "blis.sweep.runner"
local sources = require "blis.sweep.sources"
local store = require "blis.sweep.store"
local sweep = require "blis.sweep"

local memory = {}

---@class blis.recommend.Memory
---@field identity string what all runs depend on
---@field known table<string, blis.sweep.Record> by key
---@field writer table? of the folder
local Memory = {}
Memory.__index = Memory
Memory.__close = function(self)
  if self.writer then self.writer.close() end
end

--- The default identity of the experiment.
local function text_of(experiment)
  if type(experiment) == "function" then return sources.text_of(experiment) end
  local ok, text = pcall(canonical.text, experiment, "recommend.experiment")
  if not ok then
    errors.invalid("recommend.store: the experiment cannot be identified (%s); set identity = "
      .. "\"...\", a string that changes with the experiment", tostring(text.message))
  end
  return text
end

--- Without a folder nothing is kept for later, and it does not matter what the runs are of.
---@param folder string?
---@param experiment table|function
---@param identity string?
---@return blis.recommend.Memory
function memory.open(folder, experiment, identity)
  local self = setmetatable({ identity = "recommend", known = {} }, Memory)
  if not folder then return self end
  self.identity = core.hash128(identity or text_of(experiment))
  local root = sweep.new { name = "recommend", points = { { item = 1 } },
    identity = "recommend", trial = function() end }
  self.known = store.join(folder, root.plan, "ignore").known
  self.writer = store.writer(folder, root.plan)
  return self
end

--- As blis.sweep.runner.run, of a sweep whose identity begins with that of the memory.
---@param self blis.recommend.Memory
---@param round blis.Sweep
---@param options { jobs: integer, quiet: boolean }
---@return table<string, blis.sweep.Record> known
function Memory:run(round, options)
  return runner.run(round.plan, round.values, round.trial, { jobs = options.jobs,
    quiet = options.quiet, known = self.known, writer = self.writer })
end

--- An identity of runs that depend on all this, too.
---@param self blis.recommend.Memory
---@param ... string|number
---@return string
function Memory:identity_of(...)
  local parts = { self.identity }
  for i, part in ipairs { ... } do parts[i + 1] = tostring(part) end
  return table.concat(parts, "\0")
end

return memory
