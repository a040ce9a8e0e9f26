/*
 * test_binding_gc.c - the collector runs at the worst of moments: whatever the
 * binding holds without telling Lua is gone then, and sanitizers notice its
 * use. Nothing may change by it, and nothing may be left in the end. What is
 * tried is in binding_memory.lua and sandbox_memory.lua.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exercises.h"

/*
 * Lua that is refused memory for an object collects all garbage and asks again.
 * So refusing every step-th object at its first request is a collection there.
 */
typedef struct stress {
  long live_bytes;
  long objects;  /* asked for */
  long step;     /* 0 = no stress */
  bool is_again; /* the next request is the second one for an object */
  long collections;
} stress;

/* For new blocks Lua tells the kind of the object; the core never does. */
static bool is_object(const void *block, size_t old_size) {
  return block == NULL && old_size >= LUA_TSTRING;
}

static void *allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  stress *s = ud;
  if (is_object(block, old_size) && s->step > 0) {
    if (!s->is_again && ++s->objects % s->step == 0) {
      s->is_again = true;
      s->collections++;
      return NULL;
    }
    s->is_again = false;
  }
  long held = block == NULL ? 0 : (long)old_size;
  if (new_size == 0) {
    free(block);
    s->live_bytes -= held;
    return NULL;
  }
  void *moved = realloc(block, new_size);
  CHECK(moved != NULL);
  s->live_bytes += (long)new_size - held;
  return moved;
}

/* Collections of the whole state in a phase of an exercise: many where sanitizers notice the use
   of what was freed. Elsewhere only a crash or another result shows it. */
#ifdef BLIS_SANITIZE
enum { COLLECTIONS = 500 };
#else
enum { COLLECTIONS = 100 };
#endif

static long step_for(long objects) {
  return 1 + objects / COLLECTIONS;
}

static void collect_at_objects(lua_State *L, stress *s, lua_Integer i) {
  s->step = 1L << 60;
  s->objects = 0;
  CHECK(call_exercise(L, i) == LUA_OK);
  long step = step_for(s->objects);
  s->collections = 0;
  for (long phase = 0; phase < 2; phase++) {
    s->step = step;
    s->objects = phase * (step / 2);
    CHECK(call_exercise(L, i) == LUA_OK);
    s->step = 0;
    lua_gc(L, LUA_GCCOLLECT);
  }
  CHECK(s->collections > 0);
}

static void collect(lua_State *L, lua_Debug *event) {
  (void)event;
  lua_gc(L, LUA_GCCOLLECT);
}

/* Between instructions finalisers are called, too. */
static void collect_at_instructions(lua_State *L, lua_Integer i) {
  lua_sethook(L, collect, LUA_MASKCOUNT, 397);
  CHECK(call_exercise(L, i) == LUA_OK);
  lua_sethook(L, NULL, 0, 0);
}

static void test_exercises(const char *path, bind_sandbox *sandbox) {
  stress s = {0};
  lua_State *L = open_exercises(allocate, &s, path, sandbox);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    CHECK(call_exercise(L, i) == LUA_OK);
    lua_gc(L, LUA_GCCOLLECT);
    collect_at_objects(L, &s, i);
    if (sandbox == NULL) { /* which has a hook of its own */
      collect_at_instructions(L, i);
    }
  }
  if (sandbox != NULL) {
    bind_sandbox_close(L);
  }
  lua_close(L);
  CHECK_EQ_I64(s.live_bytes, 0);
}

static void test_collector_everywhere(void) {
  test_exercises(exercises_of_all, NULL);
}

static void test_collector_everywhere_in_a_sandbox(void) {
  bind_sandbox sandbox = {.memory_bytes = SIZE_MAX, .call_instructions = INT64_MAX};
  test_exercises(exercises_in_a_sandbox, &sandbox);
}

int main(void) {
  RUN(test_collector_everywhere);
  RUN(test_collector_everywhere_in_a_sandbox);
  return check_done();
}
