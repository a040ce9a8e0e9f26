std = "lua54"
max_line_length = 100
exclude_files = { "build*/", "spec/sandbox/attacks" }
files["spec"] = { std = "+busted" }
files["library"] = { ignore = { "211", "212", "241" } }
files["lua/blis/meta"] = { max_line_length = false, ignore = { "211", "212", "241" } }
