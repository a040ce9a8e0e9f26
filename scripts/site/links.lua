--- Links of Markdown files in the repository: their targets, the anchors of headings, and copies of
--- files with other targets. The site and the packages show the same files at other places.
local links = {}

--- The folder of a path, with its slash; "" for a file at the top.
local function folder_of(path) return path:match "^(.*/)[^/]*$" or "" end

--- A path without "." and "..": "docs/../src/x.c" is "src/x.c".
---@param path string
---@return string
function links.normal(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

--- The file in the repository that a target means, and its anchor. nil for a target with a scheme.
---@param from string file that has the link, from the top of the repository
---@param target string "models.md#gpus", "../src/README.md", "#options"
---@return string? path
---@return string? anchor
function links.resolve(from, target)
  if target:find "^%a[%w+.-]*:" then return nil end
  local path, anchor = target:match "^([^#]*)#?(.*)$"
  if anchor == "" then anchor = nil end
  if path == "" then return from, anchor end
  return links.normal(folder_of(from) .. path), anchor
end

--- The relative path from a file to a path; both start at the same folder.
---@param from string
---@param path string
---@return string
function links.relative(from, path)
  local here, there = {}, {}
  for part in folder_of(from):gmatch "[^/]+" do here[#here + 1] = part end
  for part in path:gmatch "[^/]+" do there[#there + 1] = part end
  local common = 0
  while common < #here and common < #there - 1 and here[common + 1] == there[common + 1] do
    common = common + 1
  end
  return ("../"):rep(#here - common) .. table.concat(there, "/", common + 1)
end

--- The anchor of a heading, as GitHub makes it.
---@param heading string
---@return string
function links.anchor(heading)
  local text = heading:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("`", "")
  return (text:lower():gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-"))
end

--- Calls on_text(text) and on_code(text) for the parts of a Markdown text in order. Fenced and
--- indented blocks and code spans are code.
---@param text string
---@param on_text fun(part: string)
---@param on_code fun(part: string, kind: "fence"|"indented"|"span")
function links.parts(text, on_text, on_code)
  local plain = {}
  local function flush()
    local part = table.concat(plain)
    plain = {}
    local position = 1
    while true do
      local from, opened = part:find("`+", position)
      if not from then break end
      local _, closed = part:find("%f[`]" .. part:sub(from, opened) .. "%f[^`]", opened + 1)
      if not closed then break end
      on_text(part:sub(position, from - 1))
      on_code(part:sub(from, closed), "span")
      position = closed + 1
    end
    on_text(part:sub(position))
  end
  local block, kind, fence
  local is_blank, is_list = true, false
  local function close()
    if block then on_code(table.concat(block), kind) end
    block = nil
  end
  for line in text:gmatch "[^\n]*\n?" do
    if line == "" then break end
    local mark = line:match "^%s*(```+)"
    local is_indented = line:find "^    " and not is_list
    if fence then
      block[#block + 1] = line
      if mark and #mark >= #fence then
        close()
        fence = nil
      end
    elseif mark then
      close()
      flush()
      block, kind, fence = { line }, "fence", mark
    elseif is_indented and (is_blank or block) then
      if not block then flush() end
      block, kind = block or {}, "indented"
      block[#block + 1] = line
    elseif block and not line:find "%S" then
      block[#block + 1] = line
    else
      close()
      plain[#plain + 1] = line
      is_list = line:find "^%s*[-*] " ~= nil or line:find "^%s*%d+%. " ~= nil
        or is_list and (line:find "^%s" ~= nil or not line:find "%S")
    end
    is_blank = not line:find "%S"
  end
  close()
  flush()
end

--- The text with other targets. map(target, is_image) returns the new target. nil replaces a link
--- by its text, and removes an image.
---@param text string
---@param map fun(target: string, is_image: boolean): string?
---@param on_code? fun(part: string, kind: string): string code blocks and spans; default: unchanged
---@return string
function links.rewrite(text, map, on_code)
  local out, opened = {}, {}
  local function close(target)
    local start = table.remove(opened)
    if not start then return "](" .. target .. ")" end
    local is_image = start.is_image
    local new = map(target, is_image)
    if new then return "](" .. new .. ")" end
    if is_image then
      for i = start.index, #out do out[i] = "" end
    else
      out[start.index] = ""
    end
    return ""
  end
  links.parts(text, function(part)
    local position = 1
    while true do
      local from = part:find("[%[%]]", position)
      if not from then break end
      local before = part:sub(position, from - 1)
      if part:sub(from, from) == "[" then
        local is_image = before:sub(-1) == "!"
        if is_image then before = before:sub(1, -2) end
        out[#out + 1] = before
        out[#out + 1] = is_image and "![" or "["
        opened[#opened + 1] = { index = #out, is_image = is_image }
        position = from + 1
      else
        out[#out + 1] = before
        local target, stop = part:match("^%]%(([^()%s]+)%)()", from)
        if target then
          out[#out + 1] = close(target)
          position = stop
        else
          opened[#opened] = nil
          out[#out + 1] = "]"
          position = from + 1
        end
      end
    end
    out[#out + 1] = part:sub(position)
  end, function(part, kind) out[#out + 1] = on_code and on_code(part, kind) or part end)
  return table.concat(out)
end

--- The targets of the links and images of a text.
---@param text string
---@return string[]
function links.targets(text)
  local found = {}
  links.rewrite(text, function(target)
    found[#found + 1] = target
    return target
  end)
  return found
end

--- The anchors of a text: of its headings, with numbers for repeated ones, and of `id="..."`.
---@param text string
---@return table<string, true>
function links.anchors(text)
  local found, count = {}, {}
  local fence = false
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    if line:find "^%s*```" then fence = not fence end
    local heading = not fence and line:match "^#+%s+(.-)%s*$"
    if heading then
      local anchor = links.anchor(heading)
      local times = count[anchor] or 0
      count[anchor] = times + 1
      found[times == 0 and anchor or ("%s-%d"):format(anchor, times)] = true
    end
    for id in line:gmatch 'id="([^"]+)"' do found[id] = true end
  end
  return found
end

return links
