--- Runs named runs as processes of their own, and measures them.
local measure = {}

local one = package.searchpath("one", package.path)

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- What a command prints; an error with it where the command fails.
local function output_of(command)
  local pipe <close> = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  if not pipe:close() then error(command .. " failed:\n" .. text, 0) end
  return text
end

local function command_of(program, name, requests)
  return ("%s %s %s %d"):format(quoted(program), quoted(one), quoted(name), requests)
end

--- Whether instructions can be counted here.
function measure.can_count()
  return os.execute("command -v valgrind >/dev/null") == true
end

--- Starts to count the instructions of a run of that many requests, with the start and the end of
--- the program. The function returned waits for the number.
---@return fun(): integer
local function start_counting(program, name, requests)
  local pipe = assert(io.popen("valgrind --tool=callgrind --callgrind-out-file=/dev/null "
    .. command_of(program, name, requests) .. " 2>&1"))
  return function()
    local text = pipe:read "a"
    if not pipe:close() then error(name .. " failed:\n" .. text, 0) end
    return math.tointeger(text:match "Collected : (%d+)") or error("no count in:\n" .. text, 0)
  end
end

--- Instructions of a run of that many requests, with the start and the end of the program.
---@return integer
function measure.instructions(program, name, requests)
  return start_counting(program, name, requests)()
end

--- Instructions per request, as defined in runs.lua. The two runs execute at the same time.
function measure.per_request(program, run)
  local few, many = run.counted[1], run.counted[2]
  local count_few = start_counting(program, run.name, few)
  local count_many = start_counting(program, run.name, many)
  local least = count_few()
  return (count_many() - least) / (many - few)
end

--- Hash, seconds of CPU time and largest resident size of one run.
---@return { hash: string, seconds: number, peak_kb: integer }
function measure.timed(program, name, requests)
  local text = output_of(command_of(program, name, requests))
  local hash, seconds, peak_kb = text:match "^(%x+)%s+(%S+)%s+(%d+)"
  if not hash then error(text, 0) end
  return { hash = hash, seconds = tonumber(seconds), peak_kb = math.tointeger(peak_kb) }
end

--- Figures by name, from a file of lines "name <tab> figure".
function measure.read_figures(path)
  local figures = {}
  for line in io.lines(path) do
    local name, figure = line:match "^([^#\t][^\t]*)\t(%S+)$"
    if name then figures[name] = tonumber(figure) end
  end
  return figures
end

--- The middle one; of an even number, the mean of the two in the middle.
function measure.median(values)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  return #sorted % 2 == 1 and sorted[middle + 1] or (sorted[middle] + sorted[middle + 1]) / 2
end

return measure
