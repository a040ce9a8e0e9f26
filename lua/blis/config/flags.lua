--- Options that only command lines have: how results are shown and where they go.
local formats = { "table", "json", "csv" }

---@type blis.Section
local listing = {
  name = "output",
  summary = "How a list is shown.",
  options = {
    {
      name = "format", type = "choice", choices = formats, default = "table", flag = "--format",
      doc = "Form of what is printed.",
    },
  },
}

---@type blis.Section
local catalogue = {
  name = "catalogue",
  summary = "Models, GPUs and coefficients beside those that come with the program.",
  options = {
    {
      name = "files", type = "path", is_list = true, flag = "--catalogue",
      doc = "YAML file with more models, GPUs and coefficients; what it says goes before the rest.",
    },
  },
}

return { listing = listing, catalogue = catalogue }
