#include "lua/traffic/observe.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/bind/interrupt.h"
#include "lua/bind/sandbox.h"
#include "lua/traffic/workload.h"
#include "workload/trace/write/write.h"

#ifdef BLIS_HAVE_LIBCURL

#include "observe/observe.h"

static bool is_interrupted(void *ud) {
  (void)ud;
  return blis_interrupt_requested();
}

/* Pushes a list of numbers and sets it as a field of the table below. */
#define SET_LIST(L, made, member)                                                                  \
  do {                                                                                             \
    lua_createtable(L, (int)(made)->count, 0);                                                     \
    for (size_t i = 0; i < (made)->count; i++) {                                                   \
      lua_pushinteger(L, (lua_Integer)(made)->items[i].member);                                    \
      lua_rawseti(L, -2, (lua_Integer)i + 1);                                                      \
    }                                                                                              \
    lua_setfield(L, -2, #member);                                                                  \
  } while (0)

static void set_texts(lua_State *L, const blis_observations *made) {
  lua_createtable(L, (int)made->count, 0);
  lua_createtable(L, (int)made->count, 0);
  for (size_t i = 0; i < made->count; i++) {
    const blis_observation *seen = &made->items[i];
    lua_pushstring(L, seen->finish);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    if (seen->problem == NULL) {
      lua_pushboolean(L, false);
    } else {
      lua_pushstring(L, seen->problem);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -3, "problem");
  lua_setfield(L, -2, "finish");
}

static void set_events(lua_State *L, const blis_observations *made) {
  lua_createtable(L, (int)made->count, 0);
  for (size_t i = 0; i < made->count; i++) {
    const blis_observation *seen = &made->items[i];
    lua_createtable(L, (int)seen->events, 0);
    for (uint32_t k = 0; k < seen->events && seen->event_us != NULL; k++) {
      lua_pushinteger(L, seen->event_us[k]);
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "event_us");
}

/* Pushes the table of the observations at argument 1, a light userdata. */
static int push_observations(lua_State *L) {
  const blis_observations *made = lua_touserdata(L, 1);
  lua_createtable(L, 0, 20);
  set_field_integer(L, "sent", (lua_Integer)made->sent);
  set_field_integer(L, "started_unix_us", made->started_unix_us);
  set_field_integer(L, "ended_us", made->ended_us);
  lua_pushboolean(L, made->was_interrupted);
  lua_setfield(L, -2, "was_interrupted");
  SET_LIST(L, made, due_us);
  SET_LIST(L, made, sent_us);
  SET_LIST(L, made, first_us);
  SET_LIST(L, made, last_us);
  SET_LIST(L, made, events);
  SET_LIST(L, made, prompt_tokens);
  SET_LIST(L, made, output_tokens);
  SET_LIST(L, made, cached_tokens);
  SET_LIST(L, made, status);
  set_texts(L, made);
  set_events(L, made);
  return 1;
}

int bind_observe(lua_State *L) {
  enum { WORKLOAD = 1, OPTIONS };
  const blis_workload *workload = check_workload(L, WORKLOAD);
  if (bind_sandbox_of(L) != NULL) {
    return luaL_error(L, "the sandbox has no network");
  }
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  lua_getfield(L, OPTIONS, "model"); /* remains on the stack, like the key */
  lua_getfield(L, OPTIONS, "key");
  const blis_observe_config config = {
      .url = check_field_string(L, OPTIONS, "url"),
      .model = lua_tostring(L, OPTIONS + 1),
      .key = lua_tostring(L, OPTIONS + 2),
      .is_chat = opt_field_boolean(L, OPTIONS, "is_chat", false),
      .ignores_eos = opt_field_boolean(L, OPTIONS, "ignores_eos", true),
      .keeps_events = opt_field_boolean(L, OPTIONS, "keeps_events", false),
      .vocabulary = (uint32_t)check_field_integer(L, OPTIONS, "vocabulary"),
      .speed = check_field_number(L, OPTIONS, "speed"),
      .most_outstanding = (size_t)check_field_integer(L, OPTIONS, "most_outstanding"),
      .stall_seconds = check_field_integer(L, OPTIONS, "stall_seconds"),
      .interrupted = is_interrupted};
  blis_alloc alloc = bind_alloc(L);
  blis_observations made;
  blis_error error = {0};
  blis_status status = blis_observe(&alloc, &config, workload, &made, &error);
  int outcome = LUA_OK;
  if (status == BLIS_OK) {
    lua_pushcfunction(L, push_observations);
    lua_pushlightuserdata(L, &made);
    outcome = lua_pcall(L, 1, 1, 0);
  }
  blis_observations_free(&made);
  check_status(L, status, &error);
  return outcome == LUA_OK ? 1 : lua_error(L);
}

const char *bind_observe_version(void) {
  return blis_observe_library();
}

#else

int bind_observe(lua_State *L) {
  return luaL_error(L, "this build has no libcurl");
}

const char *bind_observe_version(void) {
  return NULL;
}

#endif

/* Returns item i of a list in a field of the table at index. */
static lua_Integer item_of(lua_State *L, int index, const char *list, lua_Integer i) {
  lua_getfield(L, index, list);
  lua_rawgeti(L, -1, i);
  lua_Integer value = lua_tointeger(L, -1);
  lua_pop(L, 2);
  return value;
}

/* Like item_of, for a string, which the table keeps alive; NULL if the item is not a string or
   is empty. */
static const char *text_of(lua_State *L, int index, const char *list, lua_Integer i) {
  lua_getfield(L, index, list);
  lua_rawgeti(L, -1, i);
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 2);
  return text == NULL || *text == '\0' ? NULL : text;
}

static blis_trace_outcome outcome_at(lua_State *L, int index, lua_Integer i, int64_t started_us) {
  int64_t sent_us = item_of(L, index, "sent_us", i);
  int64_t first_us = item_of(L, index, "first_us", i);
  const char *problem = text_of(L, index, "problem", i);
  if (sent_us < 0) {
    return (blis_trace_outcome){.status = BLIS_TRACE_INCOMPLETE, .sent_us = started_us};
  }
  return (blis_trace_outcome){
      .status = problem == NULL ? BLIS_TRACE_OK : BLIS_TRACE_ERROR,
      .sent_us = started_us + sent_us,
      .first_chunk_us = first_us < 0 ? 0 : started_us + first_us,
      .last_chunk_us = first_us < 0 ? 0 : started_us + item_of(L, index, "last_us", i),
      .chunks = (uint32_t)item_of(L, index, "events", i),
      .server_input_tokens = (uint32_t)item_of(L, index, "prompt_tokens", i),
      .output_tokens = (uint32_t)item_of(L, index, "output_tokens", i),
      .problem = problem,
      .finish = text_of(L, index, "finish", i)};
}

int bind_observed_write(lua_State *L) {
  enum { WORKLOAD = 1, OBSERVED, PATH };
  const blis_workload *workload = check_workload(L, WORKLOAD);
  luaL_checktype(L, OBSERVED, LUA_TTABLE);
  const char *path = luaL_checkstring(L, PATH);
  int64_t started_us = check_field_integer(L, OBSERVED, "started_unix_us");
  size_t count = blis_workload_count(workload);
  blis_trace_outcome *outcomes = push_buffer(L, count, sizeof *outcomes);
  for (size_t i = 0; i < count; i++) {
    outcomes[i] = outcome_at(L, OBSERVED, (lua_Integer)i + 1, started_us);
  }
  const blis_trace_write_options options = {
      .format = "tracev2", .outcomes = outcomes, .is_observed = true};
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_write(&alloc, path, workload, &options, &error), &error);
  return 0;
}

int bind_observe_library(lua_State *L) {
  lua_pushstring(L, bind_observe_version()); /* nil for NULL */
  return 1;
}
