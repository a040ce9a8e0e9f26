--- The first requests of each session of a JSONL trace, as the lines of the file: every member
--- stays, also those that blis does not read.
local core = require "blis.core"

local cap_lines = {}

-- Names of members, in lower case without other characters than letters.
local session_names = { "sessionid", "session", "conversationid", "conversation", "convid" }
local turn_names = { "turnid", "turn", "roundindex", "round" }
local time_names = { "timestamp", "ts", "arrivaltime", "arrivedat", "arrival", "arrivaltimens",
  "time", "starttime" }

local function member_of(object, names)
  local by_name = {}
  for key in pairs(object) do by_name[(key:lower():gsub("[^%l]", ""))] = key end
  for _, name in ipairs(names) do
    if by_name[name] then return by_name[name] end
  end
end

--- The members of the first row that name session, turn, and time; nil if sessions have no name.
local function members_of(object, columns)
  if type(object) ~= "table" then return nil end
  local session = columns.session or member_of(object, session_names)
  if not session or object[session] == nil then return nil end
  return { session = session, turn = columns.turn or member_of(object, turn_names),
    time = columns.timestamp or member_of(object, time_names) }
end

local function is_before(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") and a ~= b then
    return a < b
  end
end

--- Whether a row precedes another one of its session: by turn, time, and place in the file.
local function precedes(a, b)
  local before = is_before(a.turn, b.turn)
  if before == nil then before = is_before(a.time, b.time) end
  if before == nil then before = a.place < b.place end
  return before
end

local function is_earlier(a, b)
  local before = is_before(a.time, b.time)
  if before == nil then before = a.place < b.place end
  return before
end

local function read_rows(path, columns, limit)
  local rows, members = {}, nil
  local next_line, next_object = core.file_lines(path, false), core.file_lines(path, true)
  for line in next_line do
    if line:find "%S" then
      if limit > 0 and #rows == limit then break end
      local object = next_object()
      members = members or members_of(object, columns)
      if not members or type(object) ~= "table" then return nil end
      rows[#rows + 1] = { line = line, place = #rows + 1, session = object[members.session],
        turn = object[members.turn or ""], time = object[members.time or ""] }
    end
  end
  return rows
end

--- The lines of a JSONL file that are kept, in the order of their times; nil if the file is not
--- JSONL whose rows name their session.
---@param path string
---@param max_turns integer requests of each session
---@param options { columns?: table<string, string>, limit?: integer }
---@return string[]?
function cap_lines.of(path, max_turns, options)
  if path == "-" or core.file_head(path):sub(1, 1) ~= "{" then return nil end
  local ok, rows = pcall(read_rows, path, options.columns or {}, options.limit or 0)
  if not ok or not rows then return nil end
  local sessions, kept = {}, {}
  for _, row in ipairs(rows) do
    local name = row.session
    if name == nil or name == core.json_null or name == "" then
      kept[#kept + 1] = row
    else
      sessions[name] = sessions[name] or {}
      table.insert(sessions[name], row)
    end
  end
  for _, session in pairs(sessions) do
    table.sort(session, precedes)
    table.move(session, 1, math.min(max_turns, #session), #kept + 1, kept)
  end
  table.sort(kept, is_earlier)
  local lines = {}
  for i, row in ipairs(kept) do lines[i] = row.line end
  return lines
end

return cap_lines
