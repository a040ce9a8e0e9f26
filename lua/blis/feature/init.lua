--- The optional features of a simulation: their list, and the loops over it.
---
--- Every feature is one entry of the list and one module, blis.feature.NAME, which returns a
--- blis.Feature. Experiments, results, reports, pages, and commands use features through the
--- functions below and name none of them. A feature's module is loaded when an experiment asks for
--- the feature, or when a result contains its part.

---@class blis.feature.Entry
---@field name string of the module blis.feature.NAME
---@field experiment? string[] options of the experiment that ask for the feature
---@field cluster? string[] options of the cluster, or of one of its groups, that ask for it
---@field part? string field of a result with the feature's metrics
---@field line? string name of its line in summaries; metrics refer to it in `shown`
---@field without? table<string, any> rules for traffic in an experiment without the feature
---@field unmeasured? blis.Unmeasured what no measured run had, if results contain the part
---@field flags_at? number position of its groups of flags; the help of commands shows all groups by
--- ascending positions

--- What a feature does. Every function is optional.
---@class blis.Feature
---@field options? string module with the section of its options; those with a `group` are flags
---@field flag_groups? fun(): blis.feature.FlagGroup[] default: the flags of that section, by group
---@field policy_flags? string[] its flags among the parameters of policies: the option that they
--- follow, and the module that returns them
---@field flags? fun(spec: table, cli: blis.feature.Flags) sets the options of an experiment from
--- its flags; default: the values of the flags, when there are any
---@field needs? string start of the error for flags of the feature without a required one
---@field flag_scorers? fun(scorers: any, routing?: string, cli: blis.feature.Flags): any scorers of
--- the routing policy, with those that flags of the feature add
---@field read? fun(values: table, config: table) reads the options of an experiment into what the
--- core takes
---@field read_cluster? fun(given: any, path: string, profile?: string, values: table): any reads
--- the option of a cluster or a group
---@field fill? fun(given: table, path: string): table adds defaults of a cluster or a group that
--- follow from the feature
---@field resize? fun(values: table, path: string, most: integer) changes the number of instances
---@field is_scripted? fun(config: table): boolean whether a function of a script may read anything
---@field policies? fun(config: table): table[] definitions of its policies
---@field read_policies? fun(spec: table, config: table) reads only the policies of an experiment
---@field notes? fun(config: table): string[] known differences from a real system
---@field complete? fun(summary: table, config: table, name_of: fun(policy: any): string) adds
--- metrics to the summary of a run, before its costs are known
---@field finish? fun(summary: table, config: table) the same, with costs and energy
---@field judge? fun(value: any, r: blis.Result, judgment: blis.results.Judgment) adds what its part
--- of a result shows to the verdict
---@field summary? blis.feature.Summary
---@field page? blis.feature.Page
---@field asked? fun(config: table, add: fun(name: string, text?: string), of_groups: function) adds
--- the rows that describe its configuration
---@field asked_at? integer position of these rows among those of other features; default: the
--- position in the list

---@class blis.feature.Summary
---@field slot "work"|"cost"|"events"|"below" where its lines are
---@field lines? fun(value: any, r: blis.Result, shown: fun(line: string, values: table): string):
--- (string|string[])[] lines, or pairs of title and line; default: the metrics of its part on the
--- line of the entry
---@field title? string of the first line; default: the line of the entry

---@class blis.feature.Page
---@field title string of its section
---@field at? integer position among the sections of features; default: the position in the list
---@field answer? fun(value: table): string? a line of the block at the top of a page
---@field cards? fun(cards: table[], value: table, most: integer) adds cards
---@field section? fun(r: blis.Result, parts: table): any the section, in place of the usual one

---@class blis.feature.FlagGroup
---@field title string
---@field section string values of the flags are in blis.cli.Parsed.values[section]
---@field options blis.Option[]
---@field at number see blis.feature.Entry.flags_at

--- What a feature uses of a command line.
---@class blis.feature.Flags
---@field command string name of the command
---@field values table<string, table> values of flags, by section
---@field given table<string, boolean> flags of the command line
---@field fail fun(format: string, ...) raises what is wrong with the command line
---@field talk fun(format: string, ...) prints a line, unless --quiet is given
---@field add_parameters fun(policy: table, flag: string, texts?: string[]) adds "name=value" pairs

local features = {}

---@type blis.feature.Entry[]
local list = {
  { name = "disaggregation", experiment = { "disaggregation" }, cluster = { "has_pools" },
    part = "handoffs",
    unmeasured = { text = "hand-offs between pools" }, line = "hand-offs", flags_at = 51 },
  { name = "kv_tiers", experiment = { "kv_tiers" }, part = "kv_tiers",
    unmeasured = { text = "KV tiers", ttft_only = true }, line = "KV tiers",
    flags_at = 35 },
  { name = "queue", experiment = { "queue" }, part = "queue",
    unmeasured = { text = "waits in a gateway queue", ttft_only = true }, line = "queue",
    flags_at = 53 },
  { name = "speculation", cluster = { "speculation" }, part = "speculation",
    unmeasured = { text = "speculative decoding" }, line = "speculation",
    flags_at = 56 },
  { name = "sglang", cluster = { "sglang" }, flags_at = 50.5 },
  { name = "trtllm", cluster = { "trtllm" }, flags_at = 50.7 },
  { name = "ranks", cluster = { "ranks" }, part = "ranks",
    unmeasured = { text = "data-parallel ranks" }, line = "ranks", flags_at = 54 },
  { name = "lora", cluster = { "lora" }, part = "lora",
    unmeasured = { text = "LoRA adapters" }, line = "adapters", flags_at = 55,
    without = { refuses_adapters = true } },
  { name = "faults", experiment = { "faults" }, part = "faults",
    unmeasured = { text = "failing instances", ttft_only = true } },
  { name = "spot", cluster = { "spot" }, part = "spot",
    unmeasured = { text = "spot instances", ttft_only = true }, line = "spot" },
  { name = "routers", experiment = { "routers" }, part = "routers", line = "routers",
    flags_at = 52 },
  { name = "regions", experiment = { "regions" }, part = "regions", line = "regions" },
  { name = "scaling", experiment = { "autoscaler", "scaling" }, part = "scaling",
    unmeasured = { text = "waits for new instances", ttft_only = true }, flags_at = 90 },
  { name = "cascade", experiment = { "cascade" }, part = "cascade",
    unmeasured = { text = "cascades of models", ttft_only = true } },
  { name = "energy", flags_at = 40 },
}

--- The list, in the order in which experiments are read and summaries are printed.
features.list = list

--- Returns the module of a feature.
---@param entry blis.feature.Entry
---@return blis.Feature
function features.module(entry)
  return require("blis.feature." .. entry.name)
end

--- Returns whether one of these options is given; false of a cluster asks for nothing.
local function has_any(names, values)
  for _, name in ipairs(names or {}) do
    if values[name] ~= nil then return true end
  end
  return false
end

local function is_in_cluster(entry, cluster)
  for _, name in ipairs(entry.cluster or {}) do
    if cluster[name] then return true end
  end
  return false
end

local function is_asked(entry, values, cluster)
  if has_any(entry.experiment, values) or is_in_cluster(entry, cluster) then return true end
  for _, group in ipairs(entry.cluster and cluster.groups or {}) do
    if is_in_cluster(entry, group) then return true end
  end
  return false
end

--- Reads every feature that an experiment asks for, and notes them in config.features.
---@param values table the options of the experiment
---@param config table what the core takes, with the cluster, the traffic, and the policies
function features.read(values, config)
  config.features = {}
  for i, entry in ipairs(list) do
    if is_asked(entry, values, config.cluster) then
      local feature = features.module(entry)
      if feature.read then feature.read(values, config) end
      table.insert(config.features, { feature = feature, position = i })
    end
  end
end

-- The options that ask for features, made when it is first read.
local options_of_all

--- Returns whether an option of an experiment, or of a cluster, asks for a feature.
---@param name string
---@return boolean
function features.has_option(name)
  if not options_of_all then
    options_of_all = {}
    for _, entry in ipairs(list) do
      for _, one in ipairs(entry.experiment or {}) do options_of_all[one] = true end
      for _, one in ipairs(entry.cluster or {}) do options_of_all[one] = true end
    end
  end
  return options_of_all[name] or false
end

--- Returns the rules for traffic that follow from the features that a cluster lacks.
---@param cluster table as blis.engine returns it
---@return table<string, any>
function features.rules_without(cluster)
  local rules = {}
  for _, entry in ipairs(list) do
    if entry.without and not is_in_cluster(entry, cluster) then
      for name, value in pairs(entry.without) do rules[name] = value end
    end
  end
  return rules
end

--- Reads the options of a cluster, or of one of its groups, that ask for features.
---@param values table options, changed
---@param path string
---@param profile? string
function features.read_cluster(values, path, profile)
  for _, entry in ipairs(list) do
    local name = entry.cluster and entry.cluster[1]
    if name and values[name] ~= nil then
      local read = features.module(entry).read_cluster
      if read then values[name] = read(values[name], path .. "." .. name, profile, values) end
    end
  end
end

--- Lets features change how many instances a cluster, or a group of it, has.
---@param values table options that read_cluster has read
---@param path string
---@param most integer greatest number of instances
function features.resize(values, path, most)
  for _, entry in ipairs(list) do
    if entry.cluster and values[entry.cluster[1]] then
      local resize = features.module(entry).resize
      if resize then resize(values, path, most) end
    end
  end
end

--- Calls a function of every feature of an experiment that has it.
local function each_of(config, name, visit)
  for _, one in ipairs(config.features or {}) do
    local fn = one.feature[name]
    if fn then visit(fn, one) end
  end
end

--- Returns whether a function of a script, in a policy of a feature, may read anything.
---@param config table
---@return boolean
function features.are_scripted(config)
  local found = false
  each_of(config, "is_scripted", function(fn) found = found or fn(config) end)
  return found
end

local function joined(config, name)
  local all = {}
  each_of(config, name, function(fn)
    for _, one in ipairs(fn(config)) do all[#all + 1] = one end
  end)
  return all
end

--- Returns the definitions of the policies of all features of an experiment.
---@param config table
---@return table[]
function features.policies(config) return joined(config, "policies") end

--- Returns the known differences from a real system, a sentence each.
---@param config table
---@return string[]
function features.notes(config) return joined(config, "notes") end

--- Reads only the policies of the features that an experiment asks for.
---@param spec table as a script gives it
---@param config table
function features.read_policies(spec, config)
  config.features = {}
  for i, entry in ipairs(list) do
    if has_any(entry.experiment, spec) then
      local feature = features.module(entry)
      if feature.read_policies then feature.read_policies(spec, config) end
      table.insert(config.features, { feature = feature, position = i })
    end
  end
end

--- Adds the metrics of features to the summary of a run, before its costs are known.
---@param summary table
---@param config table
---@param name_of fun(policy: any): string what results call a policy
function features.complete(summary, config, name_of)
  each_of(config, "complete", function(fn) fn(summary, config, name_of) end)
end

--- Adds the metrics of features that follow from costs and energy.
---@param summary table
---@param config table
function features.finish(summary, config)
  each_of(config, "finish", function(fn) fn(summary, config) end)
end

--- Adds the rows that describe the configuration of all features.
---@param config table
---@param add fun(name: string, text?: string)
---@param of_groups function joins the strings of groups
function features.describe(config, add, of_groups)
  local sorted = {}
  each_of(config, "asked", function(fn, one)
    sorted[#sorted + 1] = { fn = fn, at = one.feature.asked_at or one.position }
  end)
  table.sort(sorted, function(a, b) return a.at < b.at end)
  for _, one in ipairs(sorted) do one.fn(config, add, of_groups) end
end

--- Returns the part of a result whose metrics a line of summaries shows, nil for other lines.
---@param line string
---@return string?
function features.part_of_line(line)
  for _, entry in ipairs(list) do
    if entry.line == line then return entry.part end
  end
end

--- Calls add(title, text) for every summary line of the features in a slot. The first line of a
--- feature has its title, the others have "".
---@param r blis.Result
---@param slot string see blis.feature.Summary
---@param shown fun(line: string, values: table): string
---@param add fun(title: string, text: string)
function features.summarize(r, slot, shown, add)
  for _, entry in ipairs(list) do
    local value = entry.part and rawget(r, entry.part)
    local summary = value and features.module(entry).summary
    if summary and summary.slot == slot then
      local lines = summary.lines and summary.lines(value, r, shown)
        or { shown(entry.line, value) }
      for i, line in ipairs(lines) do
        local title = i == 1 and (summary.title or entry.line) or ""
        if type(line) == "table" then title, line = table.unpack(line) end
        add(title, line)
      end
    end
  end
end

--- Lets the features of a result add to its verdict.
---@param r blis.Result
---@param judgment blis.results.Judgment
function features.judge(r, judgment)
  for _, entry in ipairs(list) do
    local value = entry.part and rawget(r, entry.part)
    local judge = value and features.module(entry).judge
    if judge then judge(value, r, judgment) end
  end
end

--- Returns what the features of a result have that no measured run had.
---@param r blis.Result
---@return blis.Unmeasured[]
function features.unmeasured(r)
  local found = {}
  for _, entry in ipairs(list) do
    if entry.unmeasured and entry.part and rawget(r, entry.part) then
      found[#found + 1] = entry.unmeasured
    end
  end
  return found
end

--- Returns the parts of results that pages have a section for, in the order of these sections.
---@return { part: string, page: blis.feature.Page }[]
function features.pages()
  local pages = {}
  for i, entry in ipairs(list) do
    local page = entry.part and features.module(entry).page
    if page then pages[#pages + 1] = { part = entry.part, page = page, at = page.at or i } end
  end
  table.sort(pages, function(a, b) return a.at < b.at end)
  return pages
end

--- Returns the options of a section whose flags are in one group of help, as command lines read
--- them: with the fields of `as_flag` in place of their own.
---@param section blis.Section
---@param title string
---@return blis.Option[]
function features.flags_in(section, title)
  local options = {}
  for _, option in ipairs(section.options) do
    if option.group == title then
      options[#options + 1] = option.as_flag
        and setmetatable(option.as_flag, { __index = option }) or option
    end
  end
  return options
end

--- Returns the groups of a section, in the order of their first flags.
local function groups_of(section, at)
  local groups, is_known = {}, {}
  for _, option in ipairs(section.options) do
    local title = option.flag and option.group
    if title and not is_known[title] then
      is_known[title] = true
      groups[#groups + 1] = { title = title, section = section.name, at = at,
        options = features.flags_in(section, title) }
    end
  end
  return groups
end

--- Returns the groups of flags of all features.
---@return blis.feature.FlagGroup[]
function features.flag_groups()
  local groups = {}
  for _, entry in ipairs(list) do
    local feature = entry.flags_at and features.module(entry)
    local own = feature and (feature.flag_groups and feature.flag_groups(entry.flags_at)
      or groups_of(require(feature.options), entry.flags_at))
    for _, group in ipairs(own or {}) do groups[#groups + 1] = group end
  end
  return groups
end

--- Returns the options of a section with the flags that features add to it.
---@param options blis.Option[] of blis.config.flags
---@return blis.Option[]
function features.with_policy_flags(options)
  local all = table.move(options, 1, #options, 1, {})
  for _, entry in ipairs(list) do
    local own = entry.flags_at and features.module(entry).policy_flags
    for i = 1, own and #all or 0 do
      if all[i].name == own[1] then
        for k, option in ipairs(require(own[2])) do table.insert(all, i + k, option) end
        break
      end
    end
  end
  return all
end

--- Returns the values of flags of a section as options, nil without any. Raises where a required
--- option is missing.
local function values_of(section, needs, cli)
  local all = {}
  for key, value in pairs(cli.values[section.name] or {}) do all[key] = value end
  if next(all) == nil then return nil end
  local missing, required = false, {}
  for _, option in ipairs(section.options) do
    if option.required then
      required[#required + 1] = option.flag
      missing = missing or all[option.name] == nil
    end
  end
  if missing then cli.fail("%s %s", needs, table.concat(required, " and ")) end
  return all
end

--- Returns the option of one feature that its flags ask for, nil without any.
---@param name string
---@param cli blis.feature.Flags
---@return table?
function features.option_of_flags(name, cli)
  for _, entry in ipairs(list) do
    local feature = entry.name == name and features.module(entry)
    if feature then return values_of(require(feature.options), feature.needs, cli) end
  end
end

--- Sets the options of an experiment that flags, or a policy bundle, ask for.
---@param spec table the experiment, with its cluster
---@param cli blis.feature.Flags
function features.apply_flags(spec, cli)
  for _, entry in ipairs(list) do
    for _, name in ipairs(entry.experiment or {}) do
      spec[name] = cli.values.experiment[name]
    end
    local feature = entry.flags_at and features.module(entry)
    if feature and feature.flags then
      feature.flags(spec, cli)
    elseif feature then
      spec.cluster[entry.cluster[1]] = values_of(require(feature.options), feature.needs, cli)
    end
  end
end

--- Returns the scorers of a routing policy, with those that flags of features add.
---@param scorers any as flags or a bundle give them, nil for none
---@param routing? string name of the policy
---@param cli blis.feature.Flags
---@return any
function features.flag_scorers(scorers, routing, cli)
  for _, entry in ipairs(list) do
    local add = entry.flags_at and features.module(entry).flag_scorers
    if add then scorers = add(scorers, routing, cli) end
  end
  return scorers
end

return features
