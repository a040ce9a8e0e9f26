--- Checks that the core names no optional feature: `blis features.lua`, in the root of the
--- repository.
---
--- The words are those of the lists of features: the slots of src/cluster/lists/features.h and the
--- folders of src/cluster for C, the list of lua/blis/feature/init.lua for Lua. The core consists
--- of src/cluster without the folders of features, lua/blis/experiment.lua, and
--- lua/blis/cli/simulate.lua. A name in a comment counts as well.
local core = require "blis.core"
local feature = require "blis.feature"

-- Words of these lists that the core uses in a sense of its own: receivers of cluster/watch, for
-- which the core declares what they get; parts of names of several words; a field of every request;
-- folders of the core; and words that mean more than the feature.
local own_words = "belief decisions observer visits run events tokens presence watch "
  .. "go blis balance barrier kv has tenants lists signals table rules costs links queue energy "
  .. "routers"

--- Returns the words of a name or a text: "KV_TIERS" has "kv" and "tier".
local function words_of(text)
  local words = {}
  for word in text:lower():gmatch "%a+" do words[#words + 1] = (word:gsub("s$", "")) end
  return words
end

-- Folders of src/cluster that belong to the core.
local core_folders = { "requests", "instances", "construct" }

local own = {}
for _, text in ipairs { own_words, table.concat(core_folders, " ") } do
  for _, word in ipairs(words_of(text)) do own[word] = true end
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function add(set, text)
  for _, word in ipairs(words_of(text)) do
    if not own[word] then set[word] = true end
  end
end

local function words_of_c()
  local set, slots = {}, 0
  for descriptor in read "src/cluster/lists/features.h":gmatch "XX%([%u_]+, ([%l_]+)%)" do
    add(set, descriptor)
    slots = slots + 1
  end
  assert(slots > 20, "no slots in src/cluster/lists/features.h")
  for _, name in ipairs(core.folder "src/cluster") do
    if not name:find(".", 1, true) then add(set, name) end
  end
  return set
end

local function words_of_lua()
  local set = {}
  for _, entry in ipairs(feature.list) do
    add(set, entry.name)
    add(set, entry.part or "")
    for _, options in ipairs { entry.experiment or {}, entry.cluster or {} } do
      for _, option in ipairs(options) do add(set, option) end
    end
  end
  return set
end

local failed = false

local function check(path, set)
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    for _, word in ipairs(words_of(line)) do
      if set[word] then
        print(("%s:%d: the core names the feature '%s'"):format(path, number, word))
        failed = true
      end
    end
    if line:find "go_blis" and path:find "%.[ch]$" then
      print(("%s:%d: the core names a profile"):format(path, number))
      failed = true
    end
  end
end

local in_c = words_of_c()
local function check_folder(folder)
  local files = 0
  for _, name in ipairs(core.folder(folder)) do
    if name:find "%.[ch]$" then
      check(folder .. "/" .. name, in_c)
      files = files + 1
    end
  end
  assert(files > 0, "no files in " .. folder)
end

check_folder "src/cluster"
for _, folder in ipairs(core_folders) do check_folder("src/cluster/" .. folder) end
local in_lua = words_of_lua()
for word in pairs(in_c) do in_lua[word] = true end
check("lua/blis/experiment.lua", in_lua)
check("lua/blis/cli/simulate.lua", in_lua)
os.exit(not failed)
