std = "lua54"
max_line_length = 100
exclude_files = { "build*/", "spec/sandbox/attacks" }
-- They replace what scripts could reach, which is what they are for.
files["lua/blis/cmd/check.lua"] = { ignore = { "121", "122" } }
files["lua/blis/sandbox.lua"] = { ignore = { "122" } }
files["examples/sweep.lua"] = { max_line_length = 111 } -- comments at the ends of lines
-- Globals that test_column_program.c gives.
files["tests/lua/column_programs.lua"] = { read_globals = { "vec", "translate", "translate_each" } }
files["spec"] = { std = "+busted" }
files["lua/blis/meta"] = { max_line_length = false, ignore = { "211", "212", "241", "431" } }
