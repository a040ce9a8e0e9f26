--- Errors for scripts: invalid input.
local core = require "blis.core"

local errors = {}

-- Everything in the folder of this file is blis itself; errors point at the code that called it.
local own_folder = debug.getinfo(1, "S").source:match("^(.*)errors%.lua$")

--- "script.lua:12: ", the location in the calling script, or "".
---@return string
local function position()
  local _, name, line = core.script_place(own_folder)
  return name and ("%s:%d: "):format(name, line) or ""
end

--- "experiments/", the folder of the calling script; "" for the one we are in.
---@return string
function errors.script_folder()
  local source = core.script_place(own_folder)
  return source and source:match("^@(.*/)") or ""
end

--- Raises an error object; its message starts with the place in the calling script.
---@param code string "invalid", "usage", ...
---@param message string
function errors.raise(code, message)
  local object = core.error_object(code, position() .. message)
  object.traceback = false -- the message says it all
  error(object, 0)
end

--- Raises an error of code "invalid".
---@param format string
function errors.invalid(format, ...)
  errors.raise("invalid", format:format(...))
end

--- The code of an error object of the core or of errors.raise; nil of other errors.
---@param object any
---@return string?
function errors.code(object)
  local has_code = type(object) == "table" or type(object) == "userdata"
  return has_code and object.code or nil
end

--- Calls fn(...); an error object of the core gets the place in the calling script.
function errors.located(fn, ...)
  local results = table.pack(pcall(fn, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local object = results[2]
  local is_located = type(object) == "table" and object.traceback == false
  if type(object) == "table" and type(object.message) == "string" and not object.policy
    and not is_located then
    object.message = position() .. object.message
    object.traceback = false
  end
  error(object, 0)
end

-- Names that other programs use for an option, and what it is called here.
local synonyms = { seeds = "replications", observed = "fit", measured = "fit" }

--- The end of a message about an unknown word: "; did you mean 'instances'?" or "; known are a, b".
--- The word that is meant has the same meaning, or a similar spelling.
---@param word string
---@param words string[]
---@param otherwise? string if none is similar; default: a list of the words
---@return string
function errors.suggestion(word, words, otherwise)
  local dashes, name = tostring(word):match "^(%-*)(.*)$"
  local meant = synonyms[name] and dashes .. synonyms[name]
  for _, known in ipairs(meant and words or {}) do
    if known == meant then return ("; did you mean '%s'?"):format(meant) end
  end
  return core.suggestion(word, words, otherwise)
end

--- Raises for the first unknown name of a table, in order: "store.json: unknown member 'x'".
---@param given table<string, any>
---@param known string[]
---@param place string
---@param what? string what a name is called (default member)
function errors.check_names(given, known, place, what)
  local is_known, unknown = {}, nil
  for _, name in ipairs(known) do is_known[name] = true end
  for name in pairs(given) do
    local text = tostring(name)
    if not is_known[name] and (not unknown or text < unknown) then unknown = text end
  end
  if unknown then
    errors.invalid("%s: unknown %s %s%s", place, what or "member", errors.show(unknown),
      errors.suggestion(unknown, known))
  end
end

local longest_text = 200

-- What a terminal obeys instead of showing it: control characters, U+0080 to U+009F too, and those
-- that turn the direction of text, U+202A to U+202E and U+2066 to U+2069.
local controls = { "%c", "\xc2[\x80-\x9f]", "\xe2\x80[\xaa-\xae]", "\xe2\x81[\xa6-\xa9]" }

local function escape(bytes)
  return (bytes:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

--- A foreign string on one line of a terminal, with control characters escaped: "two\x0alines".
---@param text string
---@return string
function errors.escaped(text)
  for _, pattern in ipairs(controls) do text = text:gsub(pattern, escape) end
  return text
end

--- A string on one line, truncated to leave space for the rest; characters are never split.
local function show_text(text)
  if #text <= longest_text then return ("'%s'"):format(errors.escaped(text)) end
  local last = longest_text
  while last > longest_text - 3 and text:find("^[\x80-\xbf]", last + 1) do last = last - 1 end
  return ("'%s...'"):format(errors.escaped(text:sub(1, last)))
end

--- The shortest decimal number that is this one.
local function show_number(number)
  if number ~= number then return "nan" end
  for digits = 14, 16 do
    local text = ("%%.%dg"):format(digits):format(number)
    if tonumber(text) == number then return text end
  end
  return ("%.17g"):format(number)
end

--- A value as shown in error messages.
---@return string
function errors.show(value)
  local kind = type(value)
  if kind == "string" then return show_text(value) end
  if math.type(value) == "integer" then return ("%d"):format(value) end
  if kind == "number" then return show_number(value) end
  if kind == "nil" or kind == "boolean" then return tostring(value) end
  return "a " .. kind
end

--- The start of a message about a value that an option does not accept: "invalid value 5", or
--- "invalid value of type table". The caller appends what it expected.
---@return string
function errors.invalid_value(value)
  local kind = type(value)
  local is_shown = kind == "string" or kind == "number" or kind == "boolean" or kind == "nil"
  return is_shown and "invalid value " .. errors.show(value) or "invalid value of type " .. kind
end

--- The start of a message about a value that an option does not accept: "invalid value 5", or
--- "invalid value of type table". The caller appends what it expected.
---@return string
function errors.invalid_value(value)
  local kind = type(value)
  local is_shown = kind == "string" or kind == "number" or kind == "boolean" or kind == "nil"
  return is_shown and "invalid value " .. errors.show(value) or "invalid value of type " .. kind
end

--- What messages call a function of a script: "the function at FILE:LINE".
---@param fn function
---@return string
function errors.function_name(fn)
  local about = debug.getinfo(fn, "S")
  if about.what == "C" then return "the function" end
  return ("the function at %s:%d"):format(about.short_src, about.linedefined)
end

--- Raises unless it is the path of a regular file, as far as its type is known.
---@param where string the method that was called
---@param path any
function errors.check_path(where, path)
  if type(path) == "string" and path ~= "" then return end
  errors.invalid("%s: %s: expected the path of a file", where, errors.invalid_value(path))
end

return errors
