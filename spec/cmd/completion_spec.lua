local commands = require "spec.support.commands"
local program = require "spec.support.program"

--- The definitions of all forms of all commands.
local function forms()
  local list = {}
  for _, command in ipairs(require("blis.cli.program").describe().commands) do
    for _, form in ipairs(command.forms) do list[#list + 1] = form end
  end
  return list
end

local function each_flag(body)
  for _, form in ipairs(forms()) do
    for _, group in ipairs(form.definition.groups) do
      for _, option in ipairs(group.options) do body(option.flag, form.words) end
    end
  end
end

describe("completion #host", function()
  it("knows every command and flag", function()
    local described = require("blis.cli.program").describe()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local text = commands.output_of("completion", shell)
      for _, command in ipairs(described.commands) do
        assert.is_truthy(text:find(command.name, 1, true), command.name)
      end
      each_flag(function(flag, words)
        local written = shell == "fish" and flag:gsub("^%-%-", "-l ") or flag
        assert.is_truthy(text:find(written, 1, true), words .. " " .. flag)
      end)
    end
  end)

  --- What bash offers at the end of a command line.
  local function offered(...)
    local words = { "blis", ... }
    for i, word in ipairs(words) do words[i] = program.quote(word) end
    local outcome = program.shell(("bash -c %s"):format(program.quote(([[
source <(%s completion bash)
COMP_WORDS=(%s) COMP_CWORD=%d
_blis
printf '%%s\n' "${COMPREPLY[@]}"]]):format(program.path, table.concat(words, " "), #words - 1))))
    assert.equal("", outcome.err)
    return outcome.out
  end

  it("works in bash", function()
    for _, case in ipairs {
      { "replay\n", "repl" },
      { "--format\n", "run", "--form" },
      { "table\njson\ncsv\n", "run", "--format", "" },
      { "json\n", "run", "--format", "=", "js" },
      { "qwen/qwen3-14b\n", "run", "--tp", "1", "--model", "qwen/qwen3-14" },
      { "H100\nH100\\ NVL\n", "--scripts", "lua", "run", "--hardware", "H1" },
      { "RTX\\ 4090\n", "run", "--hardware", "RTX 4" },
      { "round-robin\n", "run", "--routing-policy", "round" },
      { "\n", "run", "--tp", "" },
      { "info\n", "trace", "inf" },
      { "--limit\n", "trace", "info", "--lim" },
      { "README.md\n", "run", "--workload-spec", "README" },
      { "README.md\n", "READM" },
      { "--version\n", "--vers" },
    } do
      assert.equal(case[1], offered(table.unpack(case, 2)))
    end
  end)

  it("works in fish", function()
    if program.shell("command -v fish").status ~= 0 then return pending("fish is not installed") end
    for _, case in ipairs {
      { "replay\n", "repl" },
      { "--format\n", "run --form" },
      { "csv\n", "run --format c" },
      { "H100\n", "--scripts lua run --hardware H10" },
      { "RTX 4090\n", "run --hardware RTX\\ 4" },
      { "info\n", "trace inf" },
      { "--limit\n", "trace info --lim" },
      { "README.md\n", "run --workload-spec READM" },
    } do
      local outcome = program.shell(("fish -N -c %s"):format(program.quote(
        ("%s completion fish | source; complete -C 'blis %s' | cut -f1"):format(program.path,
          case[2]))))
      assert.equal(case[1], outcome.out)
    end
  end)

  it("is for shells that are known", function()
    local code, message = commands.error_of("completion", "tcsh")
    assert.equal("usage", code)
    assert.equal("completion: invalid value 'tcsh': expected bash, zsh or fish; 'blis completion "
      .. "--help' lists the flags", message)
    code, message = commands.error_of("completion")
    assert.equal("usage", code)
    assert.matches("SHELL is missing, expected bash, zsh or fish", message, 1, true)
  end)
end)

describe("the manual page #host", function()
  it("has every command and flag", function()
    local text = commands.output_of("man"):gsub("\\%-", "-")
    each_flag(function(flag, words)
      assert.is_truthy(text:find("\\fB" .. flag .. "\\fR", 1, true), words .. " " .. flag)
    end)
    assert.is_truthy(text:find("\n.SS blis run [FLAGS]\n", 1, true))
  end)

  it("says what is refused, where something is", function()
    local help, count = require "blis.cli.help", 0
    local text = commands.output_of("man"):gsub("\\%-", "-"):gsub("\\%(aq", "'")
    for _, form in ipairs(forms()) do
      local refused = help.refused(form.definition)
      if #refused > 0 then count = count + 1 end
      for _, one in ipairs(refused) do
        assert.is_truthy(text:find(("\n.TP\n%s\n%s\n"):format(one.feature, one.flags), 1, true),
          one.feature)
      end
    end
    assert.is_true(count > 0 and count < #forms())
    assert.equal(count, select(2, text:gsub("\n%.I Unsupported flags %(rejected%)\n", "")))
  end)

  it("is what groff understands", function()
    local outcome = program.shell [[
command -v groff >/dev/null || exit 0
"$BLIS" man | groff -man -Tutf8 -ww -z]]
    assert.equal("", outcome.err)
    assert.equal(0, outcome.status)
  end)
end)
