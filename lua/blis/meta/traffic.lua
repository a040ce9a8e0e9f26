---@meta
--- Requests in memory and in files: types whose values come from C, for editors;
--- nothing here is ever run.

--- Requests in memory, in order of arrival: a trace, or generated ones.
---@class blis.Workload
---@field [integer] table a request
---@operator len: integer
local list = {}

--- Length and reuse statistics; reuse is counted in blocks of that many tokens, 16 by default.
---@param block_size? integer
---@return table
function list:statistics(block_size) end

--- for i, request in workload:requests() do
---@return fun(list: blis.Workload, i: integer): integer?, table? next
---@return blis.Workload
---@return integer
function list:requests() end

--- Some of the requests, with their numbers and times.
---@param first integer
---@param count integer
---@return blis.Workload
function list:slice(first, count) end

--- Requests that arrive in a window: `list:cut { start_us = blis.minutes(5), end_us =
--- blis.minutes(10), from_zero = true }`. Like all methods that return a workload, it creates a new
--- one; deadlines move with their arrivals.
---@param options? blis.CutOptions
---@return blis.Workload
function list:cut(options) end

--- The same at another rate: 2 sends twice as many requests per second.
---@param factor number above 0
---@return blis.Workload
function list:scale(factor) end

--- The same in a time that runs now faster, now slower: what arrives at a point's first time then
--- arrives at its second one, with straight lines between the points.
---@param points integer[][] { { from_us, to_us }, ... }, the first times rise, the second never fall
---@return blis.Workload
function list:warp(points) end

--- At most the first max_turns requests of every session, and all without a session.
---@param max_turns integer
---@return blis.Workload
function list:cap(max_turns) end

--- The requests that a function is true for.
---@param test fun(request: table): any
---@return blis.Workload
function list:filter(test) end

--- Writes a trace that blis.trace.read reads back; the file appears when it is complete. tracev2
--- is a pair of files, NAME.csv and NAME.yaml.
---@param path string
---@param options? blis.TraceWriteOptions
function list:write(path, options) end

--- Notes about the input.
---@return string[]
function list:notes() end

--- Recorded SLO targets: the goodput_slo_targets of a tracev2 header. Results use them for goodput
--- unless slo_targets is set.
---@return blis.SloTarget[]
function list:goodput_targets() end

--- A description with the source.
---@return string
function list:description() end

--- Last arrival time; 0 if empty.
---@return integer
function list:last_arrival_us() end

--- Returns a new list. fn receives each request as a table and returns a table of changes, or nil
--- to remove the request. Content does not change; a deadline moves with its arrival.
---@param fn fun(request: table): table?
---@return blis.Workload
function list:map(fn) end

--- Session graphs of a file: blis.session_graphs.
---@class blis.GraphFile
---@operator len: integer
local graph_file = {}

--- A description; models are the targets of recorded names, as set in the option of this name,
--- repeated as often as there.
---@return { format: string, graphs: integer, requests: integer, has_starts: boolean, models?: string[] }
function graph_file:about() end

--- The first graphs as tables (default: all): lists of requests with session, round_index, after
--- (indexes in the list), delay_us, tool_us, prompt_tokens, known_tokens (prompt tokens with
--- shareable content), output_tokens, background, extends, and model if mapped.
---@param count? integer
---@return table[]
function graph_file:list(count) end

--- Notes for users: omissions, and ignored fields.
---@return string[]
function graph_file:notes() end

--- A trace that stays in its file: blis.trace.stream. Every loop, method, and run reads the file
--- separately. Memory does not grow with the number of rows, only with distinct values (for example
--- 60 to 100 bytes per session). Printing and writing give the same output as for a list. Changing
--- the file during a run is an error.
---@class blis.TraceStream
---@operator len: integer counts the requests, which may take a pass over the file
local stream = {}

--- for i, request in stream:requests() do
---@return fun(stream: blis.TraceStream, i: integer): integer?, table? next
---@return blis.TraceStream
---@return integer
---@return table closes the file when the loop is left
function stream:requests() end

--- All requests in memory.
---@return blis.Workload
function stream:list() end

---@param block_size? integer
---@return table
function stream:statistics(block_size) end

--- Last arrival time; 0 if empty.
---@return integer
function stream:last_arrival_us() end

---@return string[]
function stream:notes() end

---@return blis.SloTarget[]
function stream:goodput_targets() end

---@return string
function stream:description() end

--- Returns another stream, like the methods of blis.Workload return lists; the file is read on
--- demand.
---@param options? blis.CutOptions
---@return blis.TraceStream
function stream:cut(options) end

---@param factor number above 0
---@return blis.TraceStream
function stream:scale(factor) end

---@param points integer[][] { { from_us, to_us }, ... }
---@return blis.TraceStream
function stream:warp(points) end

--- Calls the function immediately for every request, and stores one bit for each.
---@param test fun(request: table): any
---@return blis.TraceStream
function stream:filter(test) end

--- Returns a list, because the first turns are only known at the end of the trace.
---@param max_turns integer
---@return blis.Workload
function stream:cap(max_turns) end

---@param path string
---@param options? blis.TraceWriteOptions
function stream:write(path, options) end
