--- blis hardware: the catalogue of GPUs.
local catalogue = require "blis.cli.catalogue"
local command = require "blis.cli.command"
local flag_sections = require "blis.config.flags"
local library = require "blis.catalogue"
local listing = require "blis.listing"

local definition = {
  name = "hardware",
  summary = "list GPUs: compute, memory, price",
  usage = "blis hardware [NAME] [FLAGS]",
  description = "Lists the GPUs of the catalog and of hardware/NAME.yaml in this folder. Rates are "
    .. "per GPU, without sparsity. Prices are in US dollars per GPU and hour.",
  positional = { name = "NAME", doc = "Only the GPU of this name or alias, in any case." },
  groups = {
    { title = "Catalogue", section = "catalogue", options = flag_sections.catalogue.options },
    {
      title = "Output", section = "output", has_defaults = true,
      options = flag_sections.listing.options,
    },
  },
}

local function print_list(parsed)
  local rows = parsed.positional and { library.hardware(parsed.positional) } or library.hardware()
  command.print(listing.text({ columns = library.hardware_columns, rows = rows },
    parsed.values.output.format))
end

return command.define(definition, function(parsed)
  catalogue.add(parsed)
  command.checked(definition, print_list, parsed)
end)
