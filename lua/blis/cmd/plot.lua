--- blis plot: pictures of saved results and of sweeps, in the terminal or as files.
local charts = require "blis.charts"
local command = require "blis.cli.command"
local endings = require "blis.endings"
local flags = require "blis.cli.flags"
local result = require "blis.results.result"
local store = require "blis.sweep.store"
local table_of = require "blis.sweep.table"

local definition = {
  name = "plot",
  summary = "draw saved results or a sweep, in the terminal or as SVG, PNG, or PDF",
  usage = "blis plot FILE... | DIR [FLAGS]",
  description = "Draws saved results (--save, result:save) side by side, or the sweep in a folder. "
    .. "Without --output, draws characters.",
  positional = { name = "FILE... | DIR", count = math.huge,
    doc = "Result files, or the folder of a sweep (its store = ...)." },
  groups = {
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        {
          name = "show", type = "string", is_list = true, flag = "--show", metavar = "NAME",
          may_be_empty = false, expected = "what to draw, such as ttft, time or front",
          doc = "Plot type. For one result: ttft, itl, e2e, latencies (these three; default), "
            .. "tails (the fraction of requests above each time, logarithmic), rates, queue, "
            .. "batch, kv, tiers, lora, transfers, gateway, replicas, price, or time (these ten). "
            .. "Also ttft_time, itl_time, e2e_time (p50 and p99 by time of arrival), and "
            .. "attainment. For several results: ttft, itl, e2e, latencies, tails, time, or "
            .. "metrics such as ttft_ms.p99. For a sweep: curve (a metric over a parameter; "
            .. "default) or front (Pareto front of two metrics).",
        },
        {
          name = "path", type = "path", is_output = true, flag = "--output", metavar = "FILE.svg",
          endings = endings.picture,
          doc = "A file that ends in .svg, .txt, .png, or .pdf. .png and .pdf need the program "
            .. "rsvg-convert (package librsvg2-bin).",
        },
        {
          name = "x", type = "string", flag = "--x", metavar = "NAME", may_be_empty = false,
          doc = "For a sweep: the parameter on the x axis, or the metric for a front.",
        },
        {
          name = "y", type = "string", flag = "--y", metavar = "FIGURE", may_be_empty = false,
          doc = "For a sweep: the metric on the y axis.",
        },
        {
          name = "where", type = "string", is_list = true, flag = "--where",
          metavar = "NAME=VALUE", may_be_empty = false, expected = "NAME=VALUE such as rate=40",
          doc = "For a sweep: only the points with this value of a parameter.",
        },
        {
          name = "facet", type = "string", flag = "--facet", metavar = "NAME",
          may_be_empty = false,
          doc = "For a sweep: one chart for each value of this parameter.",
        },
        {
          name = "target", type = "number", flag = "--target-line",
          doc = "For a sweep: draw a line at this value of the y axis.",
        },
        {
          name = "log", type = "choice", choices = { "x", "y", "xy" }, flag = "--log",
          doc = "Logarithmic axes.",
        },
        {
          name = "width", type = "integer", min = 5, max = 20000, flag = "--width",
          doc = "Width in characters or, for a file, in pixels per chart.",
        },
        {
          name = "height", type = "integer", min = 5, max = 20000, flag = "--height",
          doc = "Height in lines or, for a file, in pixels per chart.",
        },
      },
    },
  },
}

--- "a" of "runs/a.blis"; the whole path where another file is called like that.
local function labels_of(paths)
  local labels, count = {}, {}
  for i, path in ipairs(paths) do
    labels[i] = path:match "([^/]+)$" or path
    labels[i] = labels[i]:match "^(.+)%.[^.]*$" or labels[i]
    count[labels[i]] = (count[labels[i]] or 0) + 1
  end
  for i, path in ipairs(paths) do
    if count[labels[i]] > 1 then labels[i] = path end
  end
  return labels
end

--- { rate = "40" } of { "rate=40" }.
local function conditions_of(texts)
  if not texts then return nil end
  local wanted = {}
  for _, text in ipairs(texts) do
    local name, value = text:match "^([^=]+)=(.*)$"
    if not name then
      flags.fail(definition, "--where: invalid value '%s': expected NAME=VALUE such as rate=40",
        text)
    end
    wanted[name] = value
  end
  return wanted
end

local function plot_sweep(path, options)
  options.where = conditions_of(options.where)
  if options.show and #options.show > 1 then
    flags.fail(definition, "--show: expected either 'curve' or 'front' for a sweep")
  end
  options.show = options.show and options.show[1]
  local self = store.plan(path)
  return table_of.new(self, store.read(path, self).known):plot(options)
end

local function plot_results(paths, options)
  for name, flag in pairs { x = "--x", y = "--y", where = "--where", facet = "--facet",
    target = "--target-line" } do
    if options[name] then flags.fail(definition, "%s requires the folder of a sweep", flag) end
  end
  local results = {}
  for i, path in ipairs(paths) do results[i] = result.load(path) end
  if #results == 1 then return charts.plot_result(results[1], options) end
  return charts.plot_results(results, labels_of(paths), options)
end

return command.define(definition, function(parsed)
  local paths, given, options = parsed.positionals, parsed.values.output, {}
  if #paths == 0 then flags.fail(definition, "FILE is missing") end
  for _, option in ipairs(definition.groups[1].options) do
    options[option.name] = given[option.name]
  end
  local is_sweep = #paths == 1 and store.has_plan(paths[1])
  local text = command.checked(definition, is_sweep and plot_sweep or plot_results,
    is_sweep and paths[1] or paths, options)
  if text then command.print(text .. "\n") end
end)
