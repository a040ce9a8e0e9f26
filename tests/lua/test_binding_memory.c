/*
 * test_binding_memory.c - memory runs out at every place inside the binding:
 * each time that is one Lua error, the state goes on working, and in the end
 * nothing is left. What is tried is in binding_memory.lua and, for scripts from
 * others, in sandbox_memory.lua.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/containers/histogram.h"
#include "exercises.h"

enum { INSTANCES = 1009 }; /* of a run that is like no other */

/* Lua tells the kind of a new object where the core passes 0. */
static void *allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  const blis_alloc *alloc = ud;
  return alloc->fn(alloc->ud, block, block == NULL ? 0 : old_size, new_size);
}

/* Calls between two collections of all garbage. */
enum { COLLECT_EVERY = 8 };

/*
 * Calls exercise number i; how many allocations it asked for in *requests.
 * Collections for lack of memory leave finalisers for later: without a
 * collection now and then the garbage of all calls would pile up.
 */
static int call_failing(lua_State *L, blis_alloc_probe *probe, lua_Integer i, long fail_after,
                        int fail_forever, long *requests) {
  static int calls;
  lua_settop(L, 1);
  if (calls++ % COLLECT_EVERY == 0) {
    lua_gc(L, LUA_GCCOLLECT);
  }
  long before = probe->requests;
  probe->fail_at = fail_after == 0 ? 0 : before + fail_after;
  probe->fail_forever = fail_forever;
  int status = call_exercise(L, i);
  probe->fail_at = 0;
  *requests = probe->requests - before;
  return status;
}

/* Failing allocations lie further apart the more there were; under sanitizers,
   where each costs several times as much, sooner. */
#ifdef BLIS_SANITIZE
enum { DENSITY = 6 };
#else
enum { DENSITY = 16 };
#endif

/*
 * Fails each allocation alone (Lua then tries again, the core does not), or
 * all from one on.
 */
static void test_exercise(lua_State *L, blis_alloc_probe *probe, lua_Integer i, int fail_forever) {
  long total = 0;
  for (int warm = 0; warm < 2; warm++) {
    CHECK(call_failing(L, probe, i, 0, 0, &total) == LUA_OK);
  }
  long failures = 0;
  for (long n = 1; n <= total + 16; n += 1 + n / DENSITY) {
    long requests = 0;
    int status = call_failing(L, probe, i, n, fail_forever, &requests);
    failures += status != LUA_OK;
    CHECK(status == LUA_OK || lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TTABLE);
    CHECK(call_failing(L, probe, i, 0, 0, &requests) == LUA_OK);
  }
  CHECK(failures > 0 || !fail_forever);
}

static void test_exercises(const char *path, bind_sandbox *sandbox) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  lua_State *L = open_exercises(allocate, &alloc, path, sandbox);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    test_exercise(L, &probe, i, 0);
    test_exercise(L, &probe, i, 1);
  }
  if (sandbox != NULL) {
    bind_sandbox_close(L);
  }
  lua_close(L);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

/* Allocations of the size of histograms of all instances. */
static struct {
  int made;
  int refused; /* that one of them; 0 = none */
} histograms;

static void *allocate_and_count(void *ud, void *block, size_t old_size, size_t new_size) {
  if (block == NULL && new_size == INSTANCES * sizeof(blis_histogram) &&
      ++histograms.made == histograms.refused) {
    return NULL;
  }
  return allocate(ud, block, old_size, new_size);
}

/* Whether a run with or without times of instances ends well. */
static bool run_ends_well(lua_State *L, bool has_times, int refused) {
  histograms.made = 0;
  histograms.refused = refused;
  CHECK(luaL_loadstring(L, "local ok, problem = pcall(require('blis').run, {"
                           "  cluster = { instances = 1009 }, workload = { requests = 2 },"
                           "  instance_times = ... }) "
                           "assert(ok or problem.code == 'nomem') "
                           "return ok") == LUA_OK);
  lua_pushboolean(L, has_times);
  CHECK(lua_pcall(L, 1, 1, 0) == LUA_OK);
  bool is_well = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_well;
}

/* Times of instances are kept where they are asked for, and need memory. */
static void test_no_memory_for_times_of_instances(void) {
  blis_alloc alloc = blis_alloc_heap();
  lua_State *L = open_exercises(allocate_and_count, &alloc, exercises_of_all, NULL);
  CHECK(run_ends_well(L, false, 0));
  int usual = histograms.made;
  CHECK(run_ends_well(L, true, 0));
  int wanted = histograms.made;
  CHECK_EQ_I64(wanted, usual + 1);
  for (int i = 1; i <= wanted; i++) {
    CHECK(!run_ends_well(L, true, i));
  }
  lua_close(L);
}

static void test_memory_runs_out(void) {
  test_exercises(exercises_of_all, NULL);
}

static void test_memory_runs_out_in_a_sandbox(void) {
  bind_sandbox sandbox = {.memory_bytes = SIZE_MAX, .call_instructions = INT64_MAX};
  test_exercises(exercises_in_a_sandbox, &sandbox);
  CHECK(sandbox.fatal == NULL);
}

int main(void) {
  RUN(test_no_memory_for_times_of_instances);
  RUN(test_memory_runs_out);
  RUN(test_memory_runs_out_in_a_sandbox);
  return check_done();
}
