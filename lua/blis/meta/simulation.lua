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
---@field next_us integer? time of the next event; nil if there are no events
---@operator len: integer instances
local simulation = {}

--- Something that is scheduled.
---@class blis.PendingEvent
---@field time_us integer
---@field kind "arrival"|"admission"|"routing"|"hand-off"|"queue"|"encoder"|"tiers"|"call"|"instance"|"scaling"
---@field request? string of an arrival, admission or routing
---@field instance? string whose next event it is

--- The scheduled events, in order. For the source: its next arrival; for an instance: its next
--- event.
---@return blis.PendingEvent[]
function simulation:events() end

--- Executes the next event; false if there was none.
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

--- Changes parameters of a built-in routing policy for later decisions: `sim:change_routing { kv =
--- 0.1, load = 0.7 }`. A parameter that is fixed during a run is an error.
---@param parameters table<string, number|string|boolean>
---@return blis.Simulation
function simulation:change_routing(parameters) end

--- Fixes the destination of a request's next routing decision: the policy sees only that instance.
--- Stops the run if it is not a candidate at that time. If no decision follows, the result contains
--- a note.
---@param request string "request_17"
---@param instance string "instance_2"
---@param stage? "any"|"prefill"|"decode" with pools: its stage (default "any": next)
---@return blis.Simulation self
function simulation:pin(request, instance, stage) end

--- Shows the cluster on standard error during sim:run and sim:run_until, like watch = true in an
--- experiment: a live display on a terminal, otherwise one line every ten seconds.
---@param interval_ms? integer wall-clock time between two pictures
---@return blis.Simulation self
function simulation:watch(interval_ms) end

--- Returns a second simulation in the same state, by repeating all operations of this one, which
--- takes as long as this simulation has taken so far. Afterwards, the two are independent. They
--- share the functions of the script; if functions with state lead to a different state, this is an
--- error. Cannot be called inside hooks. Callbacks of sim:at must use their simulation argument.
---@return blis.Simulation
function simulation:clone() end

--- Frees the simulation; results remain valid.
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

--- Drains the instance: it receives no new requests and stops when it has finished its requests.
--- Requests that only wait there can return to routing.
---@param options? { reroute?: boolean }
---@return blis.Instance self
function instance:drain(options) end

--- It serves again; after a failure or a completed drain, with an empty cache.
---@return blis.Instance self
function instance:restart() end

--- Its prefix cache is emptied; requests in the batch keep their blocks.
---@return blis.Instance self
function instance:lose_cache() end

--- Multiplies the duration of later steps; 1 = normal.
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

--- Removes and returns the next event; nil if there is none.
---@return integer? time_us
---@return any value
---@return integer class
function queue:pop() end

--- Time of the next event; nil if there is none.
---@return integer? time_us
function queue:next_us() end

--- Takes an event out, wherever it is.
---@param handle integer
---@return boolean is_cancelled false when it is pending no longer
function queue:cancel(handle) end

--- Changes the time of an event.
---@param handle integer
---@param time_us integer
---@return boolean is_moved false when it is pending no longer
function queue:reschedule(handle, time_us) end

--- Drops all events; it cannot be used any more.
function queue:close() end
