local heat = require "blis.watch.heat"
local pace = require "blis.watch.pace"
local styled = require "blis.watch.styled"
local view = require "blis.watch.view"

--- A look at instances that are all alike, with changes.
local function look_of(count, changes)
  local look = {
    now_us = 2000000, arrived = 100, routed = 100, rejected = 0, completed = 60, timed_out = 0,
    unservable = 0, failed = 0, escalated = 0, rerouted = 0, retried = 0, in_flight = 40,
    gateway = { waiting = 0, peak = 0, saturation = 0 }, pools = {},
    ids = {}, states = {}, roles = {}, queues = {}, batches = {}, kv = {}, hits = {},
  }
  for i = 1, count do
    look.states[i], look.roles[i], look.queues[i], look.batches[i] = "active", "", 0, 4
    look.ids[i] = ("instance_%d"):format(i - 1)
    look.kv[i], look.hits[i] = 0.5, -1
  end
  for name, value in pairs(changes or {}) do look[name] = value end
  return look
end

local function lines_of(look, columns, rows, has_colours)
  local progress = pace.new(200)
  pace.note(progress, look, 0)
  return view.lines(look, progress, columns or 80, rows or 24, has_colours or false)
end

describe("the pace of a run", function()
  it("is that between looks, and what is left follows from it", function()
    local progress = pace.new(1000)
    pace.note(progress, look_of(1, { arrived = 100, in_flight = 0, now_us = 1000000 }), 500000)
    assert.is_nil(pace.rates(progress).speed)
    pace.note(progress, look_of(1, { arrived = 200, in_flight = 50, now_us = 3000000 }), 1000000)
    local rates = pace.rates(progress)
    assert.equal(0.15, pace.share(progress))
    assert.equal(50, rates.arriving) -- 100 in 2 s
    assert.equal(25, rates.ending)
    assert.equal(4, rates.speed) -- 2 s in half a second
    assert.equal(100, rates.ended)
    assert.near(8.5, rates.left_s, 1e-9) -- a twentieth took half a second
  end)

  it("knows the share by requests or by the horizon, whatever is more", function()
    local progress = pace.new(nil, 4000000)
    pace.note(progress, look_of(1), 0)
    assert.equal(0.5, pace.share(progress))
    progress = pace.new(100, 4000000)
    pace.note(progress, look_of(1), 0)
    assert.equal(0.6, pace.share(progress))
    progress = pace.new()
    pace.note(progress, look_of(1), 0)
    assert.is_nil(pace.share(progress))
  end)

  it("forgets old looks", function()
    local progress = pace.new(1000)
    for i = 0, 20 do
      pace.note(progress, look_of(1, { now_us = i * i * 1000000 }), i * 1000000)
    end
    assert.near((400 - 169) / 7, pace.rates(progress).speed, 1e-9)
  end)
end)

describe("the picture", function()
  it("has a row per instance", function()
    assert.same({
      "[####------------]  30.0 %  60 of 200 requests ended, 40 in the cluster",
      "simulated   2.0 s",
      "ended       completed 60",
      "",
      "instance        queue   batch  KV blocks in use  cache hit",
      "instance_0          0       4  █████····· 50.0 %         -",
      "instance_1      1,200       4  ██████████ 99.0 %    25.0 %",
    }, lines_of(look_of(2, { queues = { 0, 1200 }, kv = { 0.5, 0.99 }, hits = { -1, 0.25 } })))
  end)

  it("tells of ends, latencies, the gateway and scaling where there are any", function()
    local text = table.concat(lines_of(look_of(2, {
      completed = 50, rejected = 7, timed_out = 3, ttft = { p50_us = 12345, p99_us = 678900 },
      itl = { p50_us = 9000, p99_us = 31000 },
      gateway = { waiting = 5, peak = 12, saturation = 0.8 },
      pools = { { role = "", ready = 2, wanted = 4, paid = 3, changes = 1, last_us = 1500000,
        from = 2, to = 4, reason = "queue" } },
      states = { "active", "loading" }, roles = { "prefill", "decode" },
    })), "\n")
    for _, line in ipairs {
      "ended       completed 50, rejected 7, timed out 3",
      "p50, p99 ms TTFT 12.3, 679   ITL 9.00, 31.0",
      "gateway     5 waiting, at most 12 so far; saturation 0.80",
      "scaling     2 ready, 4 wanted, 3 paid; 1 changes, the last 2 to 4 at 1.5 s (queue)",
      "instance_1    loading      decode",
    } do
      assert.is_truthy(text:find(line:sub(1, 79), 1, true), line .. "\n\n" .. text)
    end
  end)

  it("tells of tasks, adapters, KV tiers and groups of ranks where there are any", function()
    local text = table.concat(lines_of(look_of(2, {
      tasks = { running = 12, ended = 33, completed = 30 },
      lora = { slots = 8, loaded = 6, running = 4, waiting = 1, loads = 1234 },
      kv_tiers = { { name = "cpu", used_blocks = 30, capacity_blocks = 40 },
        { name = "disk", used_blocks = 0, capacity_blocks = 0 } },
      groups = { 0, 3 },
    })), "\n")
    for _, line in ipairs {
      "tasks       12 running, 30 completed, 3 broken\n",
      "adapters    6 loaded in 8 slots, 4 running, 1 waiting; 1,234 loads\n",
      "KV tiers    cpu 75.0 %, disk 0.0 %\n",
      "instance      group    queue   batch  KV blocks in use",
      "instance_1    3            0       4  █",
    } do
      assert.is_truthy(text:find(line, 1, true), line .. "\n\n" .. text)
    end
    assert.is_nil(table.concat(lines_of(look_of(1, { tasks = { running = 1, ended = 2,
      completed = 2 } })), "\n"):find("broken", 1, true))
  end)

  it("leaves out instances that have gone", function()
    local text = table.concat(lines_of(look_of(2, { states = { "drained", "active" } })), "\n")
    assert.is_nil(text:find "instance_0")
    assert.is_nil(text:find "state")
  end)

  it("keeps to the terminal, whatever its size and whatever there is", function()
    for _, count in ipairs { 0, 1, 5, 16, 17, 400, 5000 } do
      local look = look_of(count, { ttft = { p50_us = 1, p99_us = 2 } })
      for i = 1, count do
        look.queues[i], look.kv[i] = i * 7 % 50, i % 11 / 10
        look.states[i] = i % 13 == 0 and "failed" or i % 17 == 0 and "drained" or "active"
      end
      for _, columns in ipairs { 1, 2, 9, 20, 80, 300 } do
        for _, rows in ipairs { 1, 2, 3, 8, 24, 100 } do
          local lines = lines_of(look, columns, rows)
          assert(#lines <= math.max(0, rows - 1), #lines)
          for _, line in ipairs(lines) do assert(utf8.len(line) < columns, line) end
        end
      end
    end
  end)

  it("has colours only where they are wanted", function()
    local plain = table.concat(lines_of(look_of(3), 80, 24, false), "\n")
    local coloured = table.concat(lines_of(look_of(3), 80, 24, true), "\n")
    assert.is_nil(plain:find "\27")
    assert.is_truthy(coloured:find "\27%[32m")
    assert.equal(plain, (coloured:gsub("\27%[%d*m", "")))
  end)

  it("is a line where there is no terminal", function()
    local progress = pace.new(200)
    local look = look_of(2, { ttft = { p50_us = 1000, p99_us = 45600 } })
    pace.note(progress, look, 0)
    assert.equal("30.0 %, 60 requests ended, 40 in the cluster, 2.0 s simulated, TTFT p99 45.6 ms",
      view.line(look, progress))
  end)
end)

describe("strips of many instances", function()
  local function strips(look, columns, room)
    local present, texts = {}, {}
    for i = 1, #look.states do present[i] = i end
    for i, line in ipairs(heat.lines(look, present, columns, room)) do
      texts[i] = styled.text(line, columns, false)
    end
    return texts
  end

  it("have a mark for each, by its share of the cache or of the most", function()
    local look = look_of(8)
    for i = 1, 8 do look.kv[i], look.queues[i] = (i - 1) / 7, i == 3 and 80 or 0 end
    look.states[4] = "failed"
    look.states[5] = "loading"
    assert.same({
      "8 instances, one per mark; queue at most 80, batch at most 4",
      "KV     ▁▂▃x+▆▇█",
      "queue  ▁▁█x+▁▁▁",
      "batch  ███x+███",
    }, strips(look, 80, 10))
  end)

  it("have a mark for several where there is little room", function()
    local look = look_of(100)
    for i = 1, 100 do look.kv[i] = i <= 50 and 0.01 or 1 end
    local texts = strips(look, 18, 2)
    assert.equal("KV     ▁▁▁▁▁█████", texts[2])
    assert.is_nil(texts[3])
  end)

  it("go on in the next rows", function()
    local texts = strips(look_of(15), 18, 20)
    assert.same({ "KV     ▄▄▄▄▄▄▄▄▄▄", "queue  ▁▁▁▁▁▁▁▁▁▁", "batch  ██████████", "KV     ▄▄▄▄▄",
      "queue  ▁▁▁▁▁", "batch  █████" }, table.move(texts, 2, #texts, 1, {}))
  end)
end)

describe("a line of pieces", function()
  it("is cut by characters and cannot command the terminal", function()
    assert.equal("äöü", styled.text({ { "äöüß" } }, 4, false))
    assert.equal("ab", styled.text({ { "a" }, { "bcd" } }, 3, false))
    assert.equal("\27[1ma\27[0mb", styled.text({ { "a", "strong" }, { "bcd" } }, 3, true))
    assert.equal("x?[2Jy?", styled.text({ { "x\27[2Jy\xC2\x9B" } }, 80, false))
    assert.equal("a?b", styled.text({ { "a\xFFb" } }, 80, false))
  end)
end)
