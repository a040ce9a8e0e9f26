/*
 * test_binding_memory.c - memory runs out at every place inside the binding:
 * each time that is one Lua error, the state goes on working, and in the end
 * nothing is left. Working folder is the root of the project.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "lua/lua_core.h"

/* Uses every type and every kind of hook on very small runs. */
static const char exercise[] =
    "local blis = require 'blis'\n"
    "local spec = { cluster = { instances = 2, kv_blocks = 64,\n"
    "  slo_priorities = { batch = 1 }, tenant_budgets = { a = 0.5 } },\n"
    "  workload = { rate = 100, requests = 2, prompt_tokens = 40,\n"
    "               output_tokens = 2, prefixes = { groups = 2, tokens = 16 } "
    "} }\n"
    "local function run(routing)\n"
    "  spec.routing = routing\n"
    "  local result = blis.run(spec)\n"
    "  assert(result.completed == 2 and #result.requests == 2)\n"
    "  return result\n"
    "end\n"
    "local function weighted(scorer)\n"
    "  return { 'weighted', scorers = { { scorer, 1 } } }\n"
    "end\n"
    "local exercises = {\n"
    "  function() assert(#tostring(run('round-robin')) > 100) end,\n"
    "  function() run(weighted(blis.scorer { name = 'a',\n"
    "    score = function(r, i) return 1 / (r.prompt_tokens + i.in_flight) "
    "end,\n"
    "    observe = function(r, i) assert(r.tenant == '' and i.id) end })) "
    "end,\n"
    "  function() run(weighted(blis.scorer { name = 'b', columns = true,\n"
    "    score = function(r, c)\n"
    "      return 1 / (1 + c.in_flight + blis.vec.norm(c.queue_depth)) end })) "
    "end,\n"
    "  function() run(weighted(blis.scorer { name = 'c',\n"
    "    score_all = function(r, list, scores)\n"
    "      for i = 1, #list do scores[i] = list[i].prefix_hit end end })) "
    "end,\n"
    "  function() run(function(r, list) return #list end) end,\n"
    "  function()\n"
    "    spec.admission = function(r, c) return c.mean_in_flight < 9 end\n"
    "    spec.scheduler = function(a, b) return a.prompt_tokens < "
    "b.prompt_tokens end\n"
    "    local ok, problem = pcall(run, 'least-loaded')\n"
    "    spec.admission, spec.scheduler = nil, nil\n"
    "    if not ok then error(problem, 0) end\n"
    "  end,\n"
    "  function()\n"
    "    local _, problem = pcall(run, function() error 'no' end)\n"
    "    assert(tostring(problem):find('no', 1, true), problem)\n"
    "  end,\n"
    "  function()\n"
    "    spec.routing = nil\n"
    "    local sim = blis.simulation(spec)\n"
    "    sim:at(10, function(s) assert(s.instances[1].queue_depth == 0) end)\n"
    "    sim:run_until(1000)\n"
    "    assert(sim:step())\n"
    "    sim:close()\n"
    "  end,\n"
    "  function()\n"
    "    local list = blis.workload(spec.workload)\n"
    "    assert(#tostring(list) > 50 and list[1].prompt_tokens == 56)\n"
    "    assert(#list:slice(1, 1) == 1)\n"
    "    local part = list:cut { skip = 1 }:scale(2):warp { { 0, 9 } }\n"
    "    assert(#blis.trace.merge { part:cap(1), list } == 3)\n"
    "    assert(#list:filter(function(r) return r.id ~= '' end) == 2)\n"
    "  end,\n"
    "  function()\n"
    "    local cache = blis.kv_cache { blocks = 8 }\n"
    "    local holder = cache:allocate { { 'x', 32 }, 20 }\n"
    "    assert(cache:append(holder) and cache:match { { 'x', 32 } } == 32)\n"
    "    cache:release(holder)\n"
    "  end,\n"
    "  function()\n"
    "    local queue = blis.event_queue()\n"
    "    local handle = queue:push(1, {})\n"
    "    queue:push(2, 'x')\n"
    "    assert(queue:cancel(handle) and queue:pop() == 2)\n"
    "    assert(blis.rng(1, 'x'):shuffle({ 1, 2 }))\n"
    "  end,\n"
    "  function()\n"
    "    local base = blis.latency_model('roofline')\n"
    "    assert(base:step_time { { 0, 5, 9 } } > 1)\n"
    "    spec.cluster.latency_model = { queueing_time = function() return 5 "
    "end,\n"
    "      step_time = function(b) return b[1].new_tokens +\n"
    "        base:step_time(b) end }\n"
    "    local ok, problem = pcall(run, 'round-robin')\n"
    "    spec.cluster.latency_model = nil\n"
    "    if not ok then error(problem, 0) end\n"
    "  end,\n"
    "  function()\n"
    "    local gpu = { name = 'G', memory_gib = 80, peak_tflops = 9,\n"
    "      bandwidth_tb_s = 1, mfu_prefill = 1, mfu_decode = 1 }\n"
    "    local c = blis.kv_capacity { hardware = gpu, tp = 1 }\n"
    "    assert(c.blocks == 15909 and #tostring(blis.hardware()) > 50)\n"
    "  end,\n"
    "}\n"
    "return exercises\n";

static const char set_path[] = "package.path = 'lua/?.lua;lua/?/init.lua'";

/* Lua tells the kind of a new object where the core passes 0. */
static void *allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  const blis_alloc *alloc = ud;
  return alloc->fn(alloc->ud, block, block == NULL ? 0 : old_size, new_size);
}

/* Calls exercise number i; how many allocations it asked for in *requests. */
static int call_exercise(lua_State *L, blis_alloc_probe *probe, lua_Integer i,
                         long fail_after, int fail_forever, long *requests) {
  lua_settop(L, 1);
  lua_rawgeti(L, 1, i);
  long before = probe->requests;
  probe->fail_at = fail_after == 0 ? 0 : before + fail_after;
  probe->fail_forever = fail_forever;
  int status = lua_pcall(L, 0, 0, 0);
  probe->fail_at = 0;
  *requests = probe->requests - before;
  return status;
}

/*
 * Fails each allocation alone (Lua then tries again, the core does not), or
 * all from one on.
 */
static void test_exercise(lua_State *L, blis_alloc_probe *probe, lua_Integer i,
                          int fail_forever) {
  long total = 0;
  for (int warm = 0; warm < 2; warm++) {
    CHECK(call_exercise(L, probe, i, 0, 0, &total) == LUA_OK);
  }
  long failures = 0;
  for (long n = 1; n <= total + 16; n += 1 + n / 10) {
    long requests = 0;
    int status = call_exercise(L, probe, i, n, fail_forever, &requests);
    failures += status != LUA_OK;
    CHECK(status == LUA_OK || lua_type(L, -1) == LUA_TSTRING ||
          lua_type(L, -1) == LUA_TTABLE);
    CHECK(call_exercise(L, probe, i, 0, 0, &requests) == LUA_OK);
  }
  CHECK(failures > 0 || !fail_forever);
}

static void test_memory_runs_out(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  lua_State *L = lua_newstate(allocate, &alloc);
  CHECK(L != NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "blis.core", luaopen_blis_core, 0);
  lua_settop(L, 0);
  CHECK(luaL_dostring(L, set_path) == LUA_OK);
  CHECK(luaL_dostring(L, exercise) == LUA_OK);
  CHECK(lua_type(L, 1) == LUA_TTABLE);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    test_exercise(L, &probe, i, 0);
    test_exercise(L, &probe, i, 1);
  }
  lua_close(L);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

int main(void) {
  RUN(test_memory_runs_out);
  return check_done();
}
