--- What commands want of the sweeps of a script that they run.
local settings = {}

--- What the command line says in place of the script; set by `blis sweep run`.
---@type table<string, any>
settings.overrides = {}

--- What runs a script's sweeps in place of the runner; set by commands that look for one of them.
---@type fun(plan: blis.sweep.Plan, values: table[], trial: function, options: table,
---  object: blis.Sweep): table<string, blis.sweep.Record>
settings.instead = nil

--- Trials of this process's sweeps that failed, for the exit status of `blis sweep run`.
settings.failed = 0

--- Sweeps that this process has run.
settings.runs = 0

return settings
