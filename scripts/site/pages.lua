--- Writes the Markdown of the documentation site: `blis -E scripts/site/pages.lua FOLDER`. Sources
--- are README.md, docs, examples, CHANGELOG.md, and the reference of the program. FOLDER gets one
--- file per page, linked files of the checkout as text, and navigation.json for VitePress.
local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local json = require "blis.json"
local links = require "links"
local reference = require "reference"

local top, out = here .. "../../", arg[1]

local function fail(message)
  io.stderr:write("docs: ", message, "\n")
  os.exit(1)
end

if not out then fail "missing FOLDER" end

local function read(path)
  local file = io.open(top .. path, "rb")
  local text = file and file:read "a" -- nil for a folder
  if file then file:close() end
  return text
end

local made = {}
local function write(path, text)
  local folder = (out .. "/" .. path):match "^(.*)/"
  if not made[folder] then
    made[folder] = true
    assert(os.execute(("mkdir -p '%s'"):format(folder)))
  end
  local file = assert(io.open(out .. "/" .. path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function title_of(text) return text:match "^#%s+([^\n]+)" or text:match "\n#%s+([^\n]+)" end

--- The files of a folder of the checkout, by name.
local function list(folder, ending)
  local found = {}
  local pipe = assert(io.popen(("ls '%s' 2>/dev/null"):format(top .. folder)))
  for name in pipe:lines() do
    if name:find(ending .. "$") then found[#found + 1] = folder .. "/" .. name end
  end
  pipe:close()
  return found
end

-- Files outside docs that are pages, and their addresses.
local address = {
  ["README.md"] = "/", ["docs/README.md"] = "/tasks", ["CHANGELOG.md"] = "/changelog",
  ["CONTRIBUTING.md"] = "/contributing", ["src/README.md"] = "/source-layout",
  ["lua/blis/sweep/README.md"] = "/sweeps-on-many-machines", ["docs/guide.md"] = "/guide/",
  ["examples"] = "/examples/", ["examples/gallery"] = "/examples/gallery/",
}

local examples, gallery = list("examples", "%.lua"), list("examples/gallery", "%.lua")
for _, path in ipairs(list("docs", "%.md")) do
  address[path] = address[path] or "/" .. path:match "^docs/(.*)%.md$"
end
for _, group in ipairs { examples, gallery } do
  for _, path in ipairs(group) do address[path] = "/" .. path:gsub("%.lua$", "") end
end

--- "First run" is first-run.
local slug = links.anchor

--- The guide as a path of short pages: one per section of the second level.
local function guide_parts()
  local parts, fence = {}, false
  for line in read("docs/guide.md"):gmatch "([^\n]*)\n" do
    if line:find "^```" then fence = not fence end
    local heading = not fence and line:match "^## (.*)$"
    if heading or #parts == 0 then
      local name = heading and slug(heading) or "index"
      parts[#parts + 1] = { name = name, title = heading or "Guide", lines = {} }
    end
    local part = parts[#parts]
    part.lines[#part.lines + 1] = not fence and heading and "# " .. heading
      or not fence and line:gsub("^##(#+ )", "#%1") or line
  end
  return parts
end

local guide = guide_parts()
local guide_page = {} -- of each anchor
for _, part in ipairs(guide) do
  part.text = table.concat(part.lines, "\n") .. "\n"
  local url = part.name == "index" and "/guide/" or "/guide/" .. part.name
  part.url = url
  for anchor in pairs(links.anchors(part.text)) do
    guide_page[anchor] = anchor == part.name and url or url .. "#" .. anchor
  end
end

local copied = {}

--- The address of a file of the checkout that is no page: the file as text.
local function asset(path, from)
  local text = read(path)
  local files = not text and list(path, "") or {} -- a link to a folder shows the names of its files
  if #files > 0 then text = table.concat(files, "\n") .. "\n" end
  if not text then fail(("%s links to %s, which does not exist"):format(from, path)) end
  local is_picture = path:find "%.png$" or path:find "%.svg$"
  local url = "/files/" .. path .. (is_picture and "" or ".txt")
  if not copied[url] then
    copied[url] = true
    write("public" .. url, text)
  end
  return url
end

--- The target of a link on the site.
local function target_of(from)
  return function(target)
    local path, anchor = links.resolve(from, target)
    if not path then return target end
    if path == "docs/guide.md" and anchor then return guide_page[anchor] or "/guide/" end
    local page = address[path]
    if not page then return asset(path, from) end
    if from == path and anchor and path ~= "docs/guide.md" then return "#" .. anchor end
    return page .. (anchor and "#" .. anchor or "")
  end
end

--- A fenced block for indented code, with a language.
local function fenced(part)
  local code = part:gsub("^    ", ""):gsub("\n    ", "\n"):gsub("%s+$", "")
  local is_lua = code:find "^local " or code:find "^[%w_.]+%s*=" or code:find "^[%w_]+ = {"
    or code:find "blis%.[%w_]+[%s({]" or code:find "%f[%w]function%f[%W]"
  local is_shell = code:find "^blis " or code:find "^%$ " or code:find "^scripts/"
  return ("```%s\n%s\n```\n\n"):format(is_shell and "sh" or is_lua and "lua" or "", code)
end

--- Text that Vue takes literally.
local function literal(text)
  local parts = {}
  links.parts(text, function(part)
    parts[#parts + 1] = part:gsub("<(%a[%w-]*:)", "\0%1"):gsub("<(br>)", "\0%1"):gsub("<", "&lt;")
      :gsub("\0", "<")
      :gsub("{{", "&#123;&#123;")
  end, function(part) parts[#parts + 1] = part end)
  return table.concat(parts)
end

--- The text of a page with the links and code blocks of the site.
local function converted(from, text)
  local rewritten = links.rewrite(text, target_of(from), function(part, kind)
    return kind == "indented" and fenced(part) or part
  end)
  return literal(rewritten)
end

local function file_of(url) return (url:sub(2):gsub("/$", "/index") .. ".md") end

local function write_page(url, from, text) write(file_of(url), converted(from, text)) end

--- The comment at the top of a script, without the marks, and the script.
local function example_of(path)
  local code = read(path)
  local comment = {}
  for line in (code:gsub("^#![^\n]*\n", "")):gmatch "([^\n]*)\n" do
    local words = line:match "^%-%-+ ?(.*)$"
    if not words or line:find "^%-%-%[%[" then break end
    comment[#comment + 1] = words
  end
  return { path = path, url = address[path], title = path:match "([^/]+)%.lua$":gsub("_", " "),
    about = literal(table.concat(comment, "\n")), code = code }
end

local function write_example(example)
  local page = "# Example: %s\n\n%s\n\nRun it: `blis %s`\n\n```lua\n%s```\n"
  write(file_of(example.url), page:format(
    example.title, example.about, example.path, example.code))
end

--- The first sentence of a text.
local function gist(text)
  local line = text:gsub("\n", " ")
  return line:match "^(.-[.?!])%s" or line
end

local function write_examples(paths, url, title, about)
  local items, lines = {}, { "# " .. title, "", about, "", "| Example | Purpose |", "|---|---|" }
  for _, path in ipairs(paths) do
    local example = example_of(path)
    write_example(example)
    items[#items + 1] = { text = example.title, link = example.url }
    lines[#lines + 1] = ("| [%s](%s) | %s |"):format(example.title, example.url,
      (gist(example.about):gsub("|", "\\|")))
  end
  write(file_of(url), table.concat(lines, "\n") .. "\n")
  return items
end

--- The start page: the first lines of the README as a banner, and the rest of it.
local function write_start()
  local readme = read "README.md"
  local tagline, after = readme:match "^# blis\n\n%*%*(.-)%*%*\n\n(.*)$"
  if not tagline then fail "README.md does not start with '# blis' and a line in bold" end
  local lead, rest = after:match "^(.-)\n\n(.*)$"
  local function quoted(text) return json.encode((text:gsub("\n", " "))) end
  local banner = table.concat({
    "---", "layout: home", "hero:", "  name: blis", "  text: " .. quoted(tagline:match "^[^.]+"),
    "  tagline: " .. quoted(lead),
    "  image: { src: " .. asset("docs/report.png", "README.md") .. ", alt: A report of a run }",
    "  actions:",
    "    - { theme: brand, text: Guide, link: /guide/ }",
    "    - { theme: alt, text: Tasks, link: /tasks }",
    "    - { theme: alt, text: Reference, link: /reference/metrics }",
    "---", "",
  }, "\n")
  write("index.md", banner .. "\n" .. converted("README.md", rest))
end

local function write_guide()
  local items = {}
  for _, part in ipairs(guide) do
    write_page(part.url, "docs/guide.md", part.text)
    items[#items + 1] = { text = part.title, link = part.url }
  end
  return items
end

--- The pages that a section of docs/README.md links to, in its order.
local function linked_pages(section, seen)
  local items = {}
  for _, target in ipairs(links.targets(section)) do
    local path = links.resolve("docs/README.md", target)
    local is_page = path and (path:find "^docs/.*%.md$" or path:find "README%.md$"
      or path == "CHANGELOG.md" or path == "CONTRIBUTING.md") and path ~= "README.md"
    if is_page and address[path] and not seen[path] and path ~= "docs/guide.md" then
      seen[path] = true
      write_page(address[path], path, read(path))
      items[#items + 1] = { text = title_of(read(path)), link = address[path] }
    end
  end
  return items
end

--- Groups of the side bar: the sections of docs/README.md.
local function write_documents()
  local index = read "docs/README.md"
  write_page("/tasks", "docs/README.md", index)
  local groups, seen, waiting = {}, { ["docs/README.md"] = true }, {}
  for section in (index:gsub("\n## ", "\0") .. "\0"):gmatch "([^\0]*)\0" do
    local title, rest = section:match "^([^\n]*)\n(.*)$"
    local items = linked_pages(rest, seen)
    if title:find "^# " then -- what the introduction names leads the first group
      waiting = items
    elseif #items > 0 then
      table.move(items, 1, #items, #waiting + 1, waiting)
      groups[#groups + 1] = { text = title, items = waiting }
      waiting = {}
    end
  end
  for path in pairs(address) do
    if path:find "^docs/" and path ~= "docs/guide.md" and not seen[path] then
      fail(("docs/README.md does not link to %s, so the site has no place for it"):format(path))
    end
  end
  return groups
end

--- The embedded playground, if its files are in the folder of public files.
local function add_playground()
  local is_built = io.open(out .. "/public/playground/index.html")
  if not is_built then return end
  is_built:close()
  local text = read "docs/playground.md"
  local head, rest = text:match "^(#[^\n]*\n)(.*)$"
  write_page("/playground", "docs/playground.md", head .. "\n@PLAYGROUND@\n" .. rest)
  local path = out .. "/playground.md"
  local file = assert(io.open(path))
  local page = file:read "a"
  file:close()
  write("playground.md", (page:gsub("@PLAYGROUND@", "<Playground />")))
end

local function write_reference()
  local groups = {}
  for _, group in ipairs(reference.groups()) do
    local items = {}
    for _, page in ipairs(group.pages) do
      write(page.path .. ".md", literal(page.body))
      items[#items + 1] = { text = page.title, link = "/" .. page.path }
    end
    groups[#groups + 1] = { text = group.title, collapsed = #items > 10, items = items }
  end
  return groups
end

write_start()
local documents = write_documents()
local learn = { { text = "Guide", items = write_guide() } }
table.move(documents, 1, #documents, #learn + 1, learn)
local shown = {
  { text = "Policy gallery", items = write_examples(gallery, "/examples/gallery/", "Policy gallery",
    "Short policies to adapt. Each file states when to use it.") },
  { text = "Examples", items = write_examples(examples, "/examples/", "Examples",
    "Complete experiments: `blis examples/NAME.lua` runs one.") },
}
add_playground()
write("navigation.json", json.encode {
  nav = { { text = "Guide", link = "/guide/" }, { text = "Tasks", link = "/tasks" },
    { text = "Examples", link = "/examples/" }, { text = "Reference", link = "/reference/metrics" },
    { text = "Playground", link = "/playground" } },
  sidebar = { ["/reference/"] = write_reference(), ["/examples/"] = shown, ["/"] = learn },
})
