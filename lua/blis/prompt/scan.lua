--- Determines the context of a cursor in a piece of Lua: the enclosing brackets and the preceding
--- words. Works on characters without a grammar, so incomplete statements are sufficient.
local scan = {}

---@class blis.prompt.Bracket
---@field letter string "(", "[" or "{"
---@field key? string the name that it is assigned to
---@field chain? string what is called: "blis.run"
---@field first? string the text that is its first item
---@field at integer

---@class blis.prompt.Place
---@field brackets blis.prompt.Bracket[] open ones, the outermost first
---@field quote? string that the cursor is behind
---@field word string what stands between the quote, or the last break, and the cursor
---@field start integer where the word begins
---@field key? string the name that the text is assigned to
---@field chain? string what the text is given to: "blis.scorer"
---@field is_comment? boolean

--- Parses a long bracket at a position: its end and its content; nil without a long bracket.
local function long_bracket(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local first, last = text:find("]" .. level .. "]", at, true)
  return first and last or #text, first ~= nil
end

--- Position after a comment; nil if the comment is open at the end of the text.
local function skip_comment(text, at)
  local last, is_closed = long_bracket(text, at + 2)
  if last then return is_closed and last + 1 or nil end
  local line_end = text:find("\n", at, true)
  return line_end and line_end + 1 or nil
end

--- Position after a quoted string; nil if it is open.
local function skip_quoted(text, at, quote)
  local position = at + 1
  while position <= #text do
    local letter = text:sub(position, position)
    if letter == quote then return position + 1 end
    position = position + (letter == "\\" and 2 or 1)
  end
end

--- The assigned name, and the chain of names, before a position.
local function before(text, at)
  local head = text:sub(1, at - 1)
  local key = head:match "([%a_][%w_]*)%s*=%s*$"
  local chain = head:match "([%a_][%w_.:]*)%s*%(?%s*$"
  return key, not key and chain or nil
end

local closing = { [")"] = true, ["]"] = true, ["}"] = true }

--- Notes a whole text as the first item of the bracket that it stands right behind.
local function note_first(text, brackets, from, behind)
  local inner = brackets[#brackets]
  if inner and text:sub(inner.at + 1, from - 1):find "^%s*$" then
    inner.first = text:sub(from + 1, behind - 2)
  end
end

--- Opens or closes a bracket, if the letter is one.
local function note_bracket(text, brackets, at, letter)
  if letter:find "[%(%[{]" then
    local key, chain = before(text, at)
    brackets[#brackets + 1] = { letter = letter, key = key, chain = chain, at = at }
  elseif closing[letter] then
    brackets[#brackets] = nil
  end
end

--- The context at the end of a line.
---@param text string
---@return blis.prompt.Place
function scan.place(text)
  local brackets, at = {}, 1
  while at <= #text do
    local letter = text:sub(at, at)
    if text:find("^%-%-", at) then
      at = skip_comment(text, at)
      if not at then
        return { brackets = brackets, word = "", start = #text + 1, is_comment = true }
      end
    elseif letter == '"' or letter == "'" then
      local behind = skip_quoted(text, at, letter)
      if not behind then
        local key, chain = before(text, at)
        return { brackets = brackets, quote = letter, word = text:sub(at + 1), start = at + 1,
          key = key, chain = chain }
      end
      note_first(text, brackets, at, behind)
      at = behind
    elseif letter == "[" and long_bracket(text, at) then
      at = long_bracket(text, at) + 1
    else
      note_bracket(text, brackets, at, letter)
      at = at + 1
    end
  end
  local word = text:match "[%w_.:]*$"
  return { brackets = brackets, word = word, start = #text - #word + 1 }
end

return scan
