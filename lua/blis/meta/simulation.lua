---@meta
--- Simulations driven by hand: types whose values come from C, for editors;
--- nothing here is ever run.

--- A simulation that is driven by hand.
---@class blis.Simulation
---@field now_us integer
---@field seed integer
---@field instances blis.Instance[]
---@field injected integer requests that have arrived
---@field routed integer
---@field rejected integer
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field failed integer lost with their instance
---@field escalated integer times that a cascade asked another model
---@field rerouted integer taken from an instance and routed once more
---@field retried integer lost with their instance and sent once more
---@field in_flight integer arrived and not ended
---@field next_us integer? of the next event; nil when there is none
---@operator len: integer instances
local simulation = {}

--- Something that is scheduled.
---@class blis.PendingEvent
---@field time_us integer
---@field kind "arrival"|"admission"|"routing"|"hand-off"|"queue"|"encoder"|"tiers"|"call"|"instance"|"scaling"
---@field request? string of an arrival, admission or routing
---@field instance? string whose next event it is

--- The event queue as it is: everything that is scheduled, in the order in which it will happen if
--- nothing comes between. Of the source, its next arrival; of an instance, its next event.
---@return blis.PendingEvent[]
function simulation:events() end

--- Executes the next event; false when there was none.
---@return boolean
function simulation:step() end

--- Executes everything up to and including that time.
---@param t_us integer
---@return blis.Simulation self
function simulation:run_until(t_us) end

--- Executes everything and returns the result.
---@return blis.Result
function simulation:run() end

--- Calls fn once at that time, before the instances do anything at it. Also inside hooks.
---@param t_us integer
---@param fn fun(sim: blis.Simulation)
---@return blis.Simulation self
function simulation:at(t_us, fn) end

--- New values of some parameters of a built-in routing policy, for the decisions from now on:
--- `sim:change_routing { kv = 0.1, load = 0.7 }`. An error names one that is fixed for the run.
---@param parameters table<string, number|string|boolean>
---@return blis.Simulation
function simulation:change_routing(parameters) end

--- Decides beforehand where the next routing decision sends a request: the policy is shown that
--- instance alone, as if the others were not there. Stops the run when it is no candidate then; a
--- note of the result tells when no decision came.
---@param request string "request_17"
---@param instance string "instance_2"
---@param stage? "any"|"prefill"|"decode" with pools: of which decision (default "any", the next one)
---@return blis.Simulation self
function simulation:pin(request, instance, stage) end

--- Shows the cluster on standard error from now on while sim:run and sim:run_until go on, as watch =
--- true does in an experiment: on a terminal a picture that is drawn again and again and goes away at
--- the end, elsewhere a line every ten seconds.
---@param interval_ms? integer wall-clock time between two pictures
---@return blis.Simulation self
function simulation:watch(interval_ms) end

--- A second simulation in the same state, made by doing everything that was done to this one once
--- more: it takes as long as this one has taken so far. From then on both go their own ways.
--- Functions of the script are shared; it is an error when one of them remembers so much that the
--- clone came to another state. Not inside hooks; callbacks of sim:at should use the simulation that
--- they are given.
---@return blis.Simulation
function simulation:clone() end

--- Gives its memory back; results stay.
function simulation:close() end

--- One instance of a simulation, live: the signals of blis.Candidate that are not about a request,
--- and these.
---@class blis.Instance : blis.Candidate
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field steps integer
---@field cache_hits integer blocks
---@field cache_misses integer blocks
---@field used_kv_blocks integer
---@field state "active"|"draining"|"drained"|"failed"
---@field model string "" = it serves any
---@field gpu string
local instance = {}

--- The instance fails: its requests are lost (state "failed"), or go back to routing. Faults are for
--- functions of sim:at and for between steps, not for policies.
---@param options? { reroute?: boolean }
---@return blis.Instance self
function instance:fail(options) end

--- It gets nothing new, and is gone when it has finished what it has; what only waits there can go
--- back to routing.
---@param options? { reroute?: boolean }
---@return blis.Instance self
function instance:drain(options) end

--- It serves again; after a failure or a completed drain, with an empty cache.
---@return blis.Instance self
function instance:restart() end

--- Its prefix cache is emptied; requests in the batch keep their blocks.
---@return blis.Instance self
function instance:lose_cache() end

--- From its next step on, steps take this many times as long as its latency model says; 1 = as at
--- first.
---@param factor number from 0.001 to 1000000
---@return blis.Instance self
function instance:slow(factor) end

--- Events in the order of time, class, pushing.
---@class blis.EventQueue
---@operator len: integer
local queue = {}

--- Adds an event.
---@param time_us integer
---@param value any
---@param class? integer lower ones first among equal times; 0 by default
---@return integer handle
function queue:push(time_us, value, class) end

--- Takes the next event out; nil when there is none.
---@return integer? time_us
---@return any value
---@return integer class
function queue:pop() end

--- When the next event is; nil when there is none.
---@return integer? time_us
function queue:next_us() end

--- Takes an event out, wherever it is.
---@param handle integer
---@return boolean is_cancelled false when it is pending no longer
function queue:cancel(handle) end

--- Gives an event another time.
---@param handle integer
---@param time_us integer
---@return boolean is_moved false when it is pending no longer
function queue:reschedule(handle, time_us) end

--- Drops all events; it cannot be used any more.
function queue:close() end
