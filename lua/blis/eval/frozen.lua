--- The frozen part of a candidate: everything outside of its EVOLVE-BLOCK. It is compared token by
--- token, because a block can change the meaning of code that it does not touch. Examples are a
--- comment that swallows the code, a return before it, or a variable of the same name.
local frozen = {}

---@class blis.eval.Token
---@field kind "name"|"string"|"number"|"symbol"
---@field text string
---@field line integer

local two_letters = { ["=="] = true, ["~="] = true, ["<="] = true, [">="] = true, ["//"] = true,
  ["::"] = true, ["<<"] = true, [">>"] = true, [".."] = true }

--- The end of a long-bracket string that begins at from; nil if none begins there.
local function end_of_long(text, from)
  local level = text:match("^%[(=*)%[", from)
  if not level then return nil end
  local _, last = text:find("]" .. level .. "]", from, true)
  return last or #text
end

--- The end of a quoted string that begins at from.
local function end_of_quoted(text, from)
  local quote, at = text:sub(from, from), from + 1
  while at <= #text do
    local letter = text:sub(at, at)
    if letter == quote or letter == "\n" then return at end
    if letter == "\\" then at = at + 1 end
    at = at + 1
  end
  return #text
end

--- The end of a comment that begins at from.
local function end_of_comment(text, from)
  return end_of_long(text, from + 2) or (text:find("\n", from, true) or #text + 1) - 1
end

--- The end and the kind of the token that begins at a character; nil for a comment.
local function token_at(text, at)
  local letter = text:sub(at, at)
  if text:find("^%-%-", at) then return end_of_comment(text, at), nil end
  if letter:find "[%a_]" then return select(2, text:find("^[%w_]+", at)), "name" end
  if text:find("^%.?%d", at) then
    local last = at
    while text:find("^[%w.]", last + 1) or text:find("^[eEpP][+-]", last) do last = last + 1 end
    return last, "number"
  end
  if letter == '"' or letter == "'" then return end_of_quoted(text, at), "string" end
  local long = end_of_long(text, at)
  if long then return long, "string" end
  if text:sub(at, at + 2) == "..." then return at + 2, "symbol" end
  return two_letters[text:sub(at, at + 1)] and at + 1 or at, "symbol"
end

--- The tokens of Lua code, without comments. Invalid code also returns some tokens.
---@param text string
---@return blis.eval.Token[]
function frozen.tokens(text)
  local list, at, line, counted = {}, 1, 1, 1
  while true do
    at = text:find("%S", at)
    if not at then return list end
    line = line + select(2, text:sub(counted, at - 1):gsub("\n", ""))
    counted = at
    local last, kind = token_at(text, at)
    if kind then
      list[#list + 1] = { kind = kind, text = text:sub(at, last), line = line }
    end
    at = last + 1
  end
end

--- The tokens outside of the blocks, and those of each block. is_inside: by line; nil for the line
--- of a marker.
local function parted(text, is_inside)
  local outside, blocks, before = {}, {}, false
  for _, token in ipairs(frozen.tokens(text)) do
    if not is_inside[token.line] then
      outside[#outside + 1] = token
    else
      if not before then blocks[#blocks + 1] = {} end
      table.insert(blocks[#blocks], token)
    end
    before = is_inside[token.line]
  end
  return outside, blocks
end

local opening = { ["function"] = true, ["do"] = true, ["then"] = true, ["repeat"] = true }

--- The first return or goto of a block outside of functions: it skips the frozen code that follows.
--- If the block is inside of a function, a return ends only that function.
local function way_out(tokens, is_inside)
  local open, functions = {}, 0
  for _, token in ipairs(tokens) do
    local word = token.kind == "name" and token.text
    if word == "return" or word == "goto" then
      if functions == 0 and is_inside[token.line] then return token end
    elseif opening[word] then
      open[#open + 1] = word
      functions = functions + (word == "function" and 1 or 0)
    elseif word == "elseif" or word == "end" or word == "until" then
      -- "elseif" ends the part that its own "then" reopens.
      local ended = table.remove(open)
      functions = functions - (ended == "function" and 1 or 0)
    end
  end
end

--- Calls visit(token) for each name that the declaration at tokens[at], a "local", declares.
local function each_declared(tokens, at, visit)
  at = at + 1
  if tokens[at] and tokens[at].text == "function" then at = at + 1 end
  while tokens[at] and tokens[at].kind == "name" do
    visit(tokens[at])
    at = at + 1
    if tokens[at] and tokens[at].text == "<" then at = at + 3 end
    if not tokens[at] or tokens[at].text ~= "," then return end
    at = at + 1
  end
end

--- Names that the frozen part declares as local variables before its first block.
local function declared_before(tokens, first_line)
  local names = {}
  for i, token in ipairs(tokens) do
    if token.text == "local" and token.line < first_line then
      each_declared(tokens, i, function(one) names[one.text] = true end)
    end
  end
  return names
end

--- The place after the bracket that closes the one at block[at].
local function after_brackets(block, at)
  local depth = 0
  repeat
    local text = block[at] and block[at].text
    depth = depth + (text == "[" and 1 or text == "]" and -1 or 0)
    at = at + 1
  until depth == 0 or not block[at]
  return at
end

--- Whether the name at block[i] is assigned to, or a field of it.
local function is_set(block, i)
  if block[i - 1] and block[i - 1].text == "function" then return true end
  local at = i + 1
  while block[at] do
    local text = block[at].text
    if text == "." or text == "," then
      at = at + 2
    elseif text == "[" then
      at = after_brackets(block, at)
    else
      return text == "="
    end
  end
  return false
end

local nesting = { ["("] = 1, ["{"] = 1, ["["] = 1, [")"] = -1, ["}"] = -1, ["]"] = -1 }

--- Calls visit(k) for each initializer that begins at tokens[at] and is a table constructor, with
--- its number. A line end outside of brackets ends the list.
local function each_table(tokens, at, visit)
  local k, depth, is_first = 1, 0, true
  while tokens[at] do
    local text = tokens[at].text
    if depth == 0 and not is_first and tokens[at].line > tokens[at - 1].line then return end
    if is_first and text == "{" then visit(k) end
    is_first = depth == 0 and text == ","
    k = k + (is_first and 1 or 0)
    depth = depth + (nesting[text] or 0)
    at = at + 1
  end
end

--- Names that the frozen part declares before its first block, and whose value is a table
--- constructor.
local function tables_before(tokens, first_line)
  local names = {}
  for i, token in ipairs(tokens) do
    if token.text == "local" and token.line < first_line then
      local declared, at = {}, i
      each_declared(tokens, i, function(one) declared[#declared + 1] = one.text end)
      while tokens[at] and tokens[at].text ~= "=" and tokens[at].line == token.line do
        at = at + 1
      end
      if tokens[at] and tokens[at].text == "=" then
        each_table(tokens, at + 1, function(k) names[declared[k] or ""] = true end)
      end
    end
  end
  return names
end

local readers = { ipairs = true, pairs = true, next = true }

--- The first token of a block that gives a table of the frozen part another name, under which the
--- block could write to it, or passes it to a function that could.
local function aliased(block, tables)
  for i, token in ipairs(block) do
    local before, after = block[i - 1], block[i + 1]
    local is_field = before and (before.text == "." or before.text == ":")
    local next_text = after and after.text
    local is_read = next_text == "." or next_text == "[" or next_text == ":" or next_text == "="
      or before and before.text == "#"
      or before and before.text == "(" and block[i - 2] and readers[block[i - 2].text]
    if token.kind == "name" and tables[token.text] and not is_field and not is_read then
      return token
    end
  end
end

local function named(block, name)
  for _, token in ipairs(block) do
    if token.kind == "name" and token.text == name then return token end
  end
end

--- The first token of a block that gives another meaning to a name of the frozen part: a
--- declaration, an assignment, or a field that is set.
local function redefined(block, names)
  local found, braces = nil, 0
  for i, token in ipairs(block) do
    local before = block[i - 1] and block[i - 1].text
    braces = braces + (token.text == "{" and 1 or token.text == "}" and -1 or 0)
    if token.text == "local" then
      each_declared(block, i, function(one) found = found or names[one.text] and one end)
    elseif token.kind == "name" and names[token.text] and braces == 0 and before ~= "."
      and before ~= ":" and is_set(block, i) then
      found = found or token
    end
  end
  return found
end

--- How a block changes what the frozen part means; nil if it does not.
local function block_problem(block, names, tables)
  local token = redefined(block, names)
  if token then
    return ("line %d: the EVOLVE-BLOCK changes '%s', which the frozen text sets")
      :format(token.line, token.text)
  end
  token = named(block, "_ENV")
  if token then
    return ("line %d: the EVOLVE-BLOCK uses '_ENV', which gives another meaning to the globals of "
      .. "the frozen text"):format(token.line)
  end
  token = aliased(block, tables)
  return token and ("line %d: the EVOLVE-BLOCK passes on '%s', a table of the frozen text. Read "
    .. "its fields instead"):format(token.line, token.text)
end

--- What of a candidate differs from the frozen part of a seed, or takes its meaning away; nil when
--- nothing does.
---@param text string
---@param seed string
---@param lines_of fun(text: string): table<integer, boolean?> whether a line is inside of a block;
--- nil for a marker
---@return string?
function frozen.problem(text, seed, lines_of)
  local is_inside = lines_of(text)
  local own, blocks = parted(text, is_inside)
  local wanted = parted(seed, lines_of(seed))
  for i = 1, math.max(#own, #wanted) do
    local one, other = own[i] and own[i].text, wanted[i] and wanted[i].text
    if one ~= other then
      return ("the text outside the EVOLVE-BLOCK is frozen: Lua found %s, expected %s")
        :format(one and ("'%s' in line %d"):format(one, own[i].line) or "nothing",
        other and ("'%s'"):format(other) or "nothing")
    end
  end
  local first = math.huge
  for line, inside in pairs(is_inside) do if inside then first = math.min(first, line) end end
  local names, tables = declared_before(own, first), tables_before(own, first)
  local exit = way_out(frozen.tokens(text), is_inside)
  if exit then
    return ("line %d: '%s' outside a function skips the frozen text after the EVOLVE-BLOCK")
      :format(exit.line, exit.text)
  end
  for _, block in ipairs(blocks) do
    local problem = block_problem(block, names, tables)
    if problem then return problem end
  end
end

return frozen
