-- A weka corpus as a folder: a conversation in each .json file, one per line of .jsonl files.
local blis = require "blis"
local folders = require "spec.support.folders"
local small = require "spec.support.small"

local says = small.says

--- A conversation of two requests, of which one has a hash id beyond 64 bits.
local function conversation(id, model)
  return ([[{"id": "%s", "block_size": 64, "requests": []] .. "\n  "
    .. [[{"t": 0, "in": 64, "out": 2, "hash_ids": [18446744073709551615], "model": "%s"},]]
    .. "\n  "
    .. [[{"t": 2, "in": 130, "out": 3, "hash_ids": [7, 8], "model": "%s"}]]
    .. "\n]}\n"):format(id, model or "m", model or "m")
end

local function line(id) return (conversation(id):gsub("\n", "")) .. "\n" end

--- Calls body with a folder that has these files.
local function with(contents, body)
  folders.with(function(path)
    assert(os.execute(("mkdir '%s'"):format(path)))
    for name, text in pairs(contents) do
      local file <close> = assert(io.open(path .. "/" .. name, "wb"))
      file:write(text)
    end
    body(path)
  end)
end

local function names_of(file)
  local names = {}
  for i, graph in ipairs(file:list()) do names[i] = graph.name end
  return names
end

local function message_of(contents, options)
  local message
  with(contents, function(path)
    message = small.message_of(blis.session_graphs, path, options):gsub(path, "FOLDER", nil)
  end)
  return message
end

describe("a folder of session graphs", function()
  it("is one corpus, file by file in the order of their names", function()
    with({ ["b.json"] = conversation "second", ["a.jsonl"] = line "first", ["c.jsonl"] = "\n",
      ["d.jsonl"] = line "third" .. "\n" .. line "fourth",
      ["B.json"] = "\n" .. conversation "zeroth",
      ["README.md"] = "nothing", [".hidden.json"] = "nothing" }, function(path)
      for _, spelled in ipairs { path, path .. "/" } do
        local file = blis.session_graphs(spelled)
        assert.same({ "zeroth", "first", "second", "third", "fourth" }, names_of(file))
        assert.same({ "zeroth", "first", "second", "third", "fourth" }, names_of(file))
        assert.same({ format = "weka", graphs = 5, requests = 10, has_starts = false },
          file:about())
      end
      assert.same({ "zeroth", "first" }, names_of(blis.session_graphs(path, { limit = 2 })))
    end)
  end)

  it("is played as the same lines of one file are", function()
    with({ ["1.json"] = conversation "a", ["2.json"] = conversation "b",
      ["3.jsonl"] = line "c" }, function(path)
      local one = os.tmpname()
      local file <close> = assert(io.open(one, "w"))
      file:write(line "a", line "b", line "c")
      file:close()
      local function hash(graphs)
        return blis.run { workload = { graphs = graphs, concurrency = 2, count = 7 } }.hash
      end
      local expected = hash(one)
      os.remove(one)
      assert.equal(expected, hash(path))
      assert.equal(expected, hash(blis.session_graphs(path)))
    end)
  end)

  it("has packed files, too", function()
    with({ ["1.json"] = conversation "a", ["2.jsonl"] = line "b" }, function(path)
      assert(os.execute(("gzip '%s/1.json' '%s/2.jsonl'"):format(path, path)))
      assert.same({ "a", "b" }, names_of(blis.session_graphs(path)))
    end)
  end)

  it("has one basis of nested times, and one order of models", function()
    local function nested(id, t, model)
      return ([[{"id":"%s","block_size":64,"requests":[{"t":90,"in":1,"out":1,"model":"%s"},]]
        .. [[{"t":100,"type":"subagent","agent_id":"a","requests":[{"t":%s,"in":1,"out":1}]}]}]])
        :format(id, model, t)
    end
    with({ ["1.json"] = nested("a", 103, "x"), ["2.json"] = nested("b", 3, "y") }, function(path)
      local file = blis.session_graphs(path, { reading = "llm-d-router", models = { "A", "B" } })
      local list = file:list()
      assert.same({ 113000000, 13000000 }, { list[1][2].delay_us, list[2][2].delay_us })
      assert.same({ "A", "B" }, { list[1][1].model, list[2][1].model })
      says(file:notes()[1], path .. ": models by their order in the file: 'x' is A, 'y' is B")
    end)
  end)

  it("leaves empty files out, wherever they are, and says so", function()
    local blank = (" "):rep(200000) .. "\n"
    with({ ["1.json"] = "", ["2.jsonl"] = "\n\n", ["3.json"] = conversation "a",
      ["4.jsonl"] = "", ["5.json"] = blank .. conversation "b", ["6.json"] = "\n" },
      function(path)
        local file = blis.session_graphs(path)
        assert.same({ "a", "b" }, names_of(file))
        says(file:notes()[1], path .. ": empty files, skipped: 4")
      end)
    says(message_of { ["1.json"] = "", ["2.json"] = "\n" }, "FOLDER/2.json: the file is empty")
  end)

  it("says which of its files is wrong, and where", function()
    local good = conversation "a"
    says(message_of { ["1.json"] = good, ["2.json"] = '{"id":\n7,,}' }, "FOLDER/2.json:2: ")
    says(message_of { ["1.json"] = good, ["2.jsonl"] = line "b" .. "{" }, "FOLDER/2.jsonl:2: ")
    says(message_of { ["1.json"] = good, ["2.json"] = good:gsub('"in": 64', '"in": -1') },
      "FOLDER/2.json:1: key 'in': invalid value -1")
    -- A .json file is one conversation, whatever its lines are.
    local small_ids = (line "a" .. line "b"):gsub("%d+615", "9")
    says(message_of { ["1.json"] = small_ids }, "FOLDER/1.json:2: ")
    says(message_of { ["1.json"] = "what" },
      "FOLDER/1.json: not recognised as session graphs")
    says(message_of { ["1.txt"] = good }, "FOLDER: the folder has no file that ends in .json or "
      .. ".jsonl (.gz and .zst may follow)")
    local spans = [[{"trace_id":"t","start_time":1,"attributes":{"gen_ai.usage.input_tokens":9}}]]
    says(message_of { ["1.jsonl"] = spans }, "FOLDER: graphs of format spans are in one file; a "
      .. "folder is for weka")
    says(message_of({ ["1.json"] = good }, { format = "sharegpt" }), "a folder is for weka")
    with({ ["1.json"] = good }, function(path)
      assert(os.execute(("mkdir '%s/2.json'"):format(path)))
      says(small.message_of(blis.session_graphs, path), "/2.json: cannot be opened: ")
    end)
  end)
end)
