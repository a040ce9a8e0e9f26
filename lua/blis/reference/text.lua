--- The reference as text for a terminal and as a page in Markdown.
local format = require "blis.format"

local reference_text = {}

--- The parts of "name type doc"; a type may have spaces inside brackets and quotes, and around "|".
local function split_field(rest)
  local name, after = rest:match "^(%S+)%s*(.*)$"
  name = name:match '^%["(.*)"%]$' or name -- ["p99.9"]
  local position, depth = 1, 0
  while position <= #after do
    local letter = after:sub(position, position)
    if letter:find "[%(%[{<]" then
      depth = depth + 1
    elseif letter:find "[%)%]}>]" then
      depth = depth - 1
    elseif letter == '"' then
      position = after:find('"', position + 1, true) or #after
    elseif letter == " " and depth <= 0 then
      local before = after:sub(position - 1, position - 1)
      if before ~= "," and before ~= ":" and before ~= "|" then break end
    end
    position = position + 1
  end
  return name, after:sub(1, position - 1), after:sub(position + 1)
end

--- The description of a field, in the form "name type doc".
---@param rest string
---@return string
function reference_text.doc_of(rest)
  local _, _, doc = split_field(rest)
  return doc
end

--- Lines of comments. Lines below a tag belong to it, up to an empty line.
local function joined(lines)
  local out, is_open = {}, false
  for _, line in ipairs(lines) do
    if is_open and line ~= "" and line:sub(1, 1) ~= "@" then
      out[#out] = out[#out] .. " " .. line
    else
      out[#out + 1] = line
      is_open = line:sub(1, 1) == "@"
    end
  end
  return out
end

--- Calls on[tag] with what the line says, on.text without a tag.
local function visit(topic, on)
  for _, line in ipairs(joined(topic.lines)) do
    local tag, rest = line:match "^@(%w+)%s*(.*)$"
    if not tag then
      on.text(line)
    elseif tag == "field" or tag == "param" then
      on[tag](split_field(rest))
    elseif on[tag] then
      on[tag](rest)
    end
  end
end

local usual_width = 100

-- Below this width, names and descriptions use separate lines.
local least_for_columns = 76

--- Lines that are no paragraph: lists, code.
local function stands_alone(line)
  return line == "" or line:find "^[%s|#]" or line:find "^[-*] " or line:find "^```"
end

--- Collects lines of text and gives paragraphs in lines of a width.
local function paragraphs(out, width)
  local open
  local function close()
    if open then table.move(format.wrap(open, width), 1, 1000, #out + 1, out) end
    open = nil
  end
  local function add(line)
    if stands_alone(line) then
      close()
      out[#out + 1] = line
    else
      open = open and open .. " " .. line or line
    end
  end
  return add, close
end

--- A topic as text: names in one column, what they are in another.
---@param topic blis.Topic
---@param width? integer
---@return string
function reference_text.plain(topic, width)
  width = width or usual_width
  local out = { topic.title, "" }
  local add_text, close = paragraphs(out, width)
  local indent = width >= least_for_columns and 31 or 6
  local function entry(name, text)
    close()
    local name_part = ("  %-28s "):format(name)
    local is_beside = indent > #name
    local lines = format.wrap(text, width - (is_beside and math.max(#name_part, indent) or indent))
    if is_beside then
      out[#out + 1] = name_part .. table.concat(lines, "\n" .. (" "):rep(indent))
    else
      out[#out + 1] = "  " .. name .. "\n" .. (" "):rep(indent)
        .. table.concat(lines, "\n" .. (" "):rep(indent))
    end
  end
  local function line(text, start)
    close()
    out[#out + 1] = start .. table.concat(format.wrap(text, width - 4), "\n    ")
  end
  local function field(name, kind, doc)
    if #kind > width // 2 then kind = kind:gsub("|", " | ") end -- so that it can be cut
    entry(name, kind .. (doc == "" and "" or ": " .. doc))
  end
  visit(topic, {
    text = add_text, field = field,
    item = function(rest) entry(rest:match "^(%S+)%s+(.*)$") end,
    param = function(name, kind, doc) line(("%s %s %s"):format(name, kind, doc), "  ") end,
    ["return"] = function(rest) line("returns " .. rest, "  ") end,
    operator = function(rest) line("operator " .. rest, "  ") end,
  })
  close()
  return (table.concat(out, "\n"):gsub("\n\n+", "\n\n"):gsub("%s+$", "")) .. "\n"
end

--- Escapes the characters of a string that have a meaning in tables of Markdown.
---@param text string
---@return string
function reference_text.escaped(text)
  return (text:gsub("|", "\\|"):gsub("<", "&lt;"))
end

local cell = reference_text.escaped

local function code(text)
  return text == "" and "" or "`" .. text .. "`"
end

--- A topic as a section of a page in Markdown.
---@param topic blis.Topic
---@return string
function reference_text.markdown_section(topic)
  local text, rows, results = {}, {}, {}
  local function row(name, kind, doc)
    rows[#rows + 1] = ("| %s | %s | %s |"):format(code(name), code((kind:gsub("|", "\\|"))),
      cell(doc))
  end
  visit(topic, {
    text = function(line) text[#text + 1] = line end,
    field = row, param = row,
    item = function(rest)
      local name, doc = rest:match "^(%S+)%s+(.*)$"
      row(name, "", doc)
    end,
    ["return"] = function(rest)
      local _, kind, doc = split_field("result " .. rest)
      results[#results + 1] = "Returns " .. code(kind) .. (doc == "" and "" or " " .. doc)
    end,
    operator = function(rest) row("operator", rest, "") end,
  })
  local heading = topic.kind == "function" and code(topic.title) or topic.title
  local out = { "### " .. heading, "", table.concat(text, "\n"), "" }
  if #rows > 0 then
    out[#out + 1] = "| name | type | |\n|---|---|---|\n" .. table.concat(rows, "\n") .. "\n"
  end
  if #results > 0 then out[#out + 1] = table.concat(results, ".\\\n") .. ".\n" end
  return table.concat(out, "\n")
end

local parts = {
  { "function", "Functions and methods" }, { "options", "Options" }, { "type", "Types" },
  { "policy", "Built-in policies" }, { "figures", "Figures" }, { "names", "Names" },
  { "command", "Commands" },
}

--- Topics as a page, one part per kind.
---@param topics blis.Topic[]
---@return string
function reference_text.markdown(topics)
  local out = {
    "# Reference of the Lua interface",
    "Written by `blis help all --format markdown`; do not edit.",
  }
  for _, part in ipairs(parts) do
    local is_first = true
    for _, topic in ipairs(topics) do
      if topic.kind == part[1] then
        if is_first then out[#out + 1] = "## " .. part[2] end
        is_first = false
        out[#out + 1] = reference_text.markdown_section(topic)
      end
    end
  end
  return (table.concat(out, "\n\n"):gsub("\n\n\n+", "\n\n"):gsub("%s+$", "")) .. "\n"
end

return reference_text
