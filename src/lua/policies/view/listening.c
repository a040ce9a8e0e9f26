#include "lua/policies/view/listening.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"

static uint32_t check_kind(lua_State *L, const char *name) {
  for (int kind = 0; kind < BLIS_RUN_EVENT_KIND_COUNT; kind++) {
    if (strcmp(name, blis_run_event_name((blis_run_event_kind)kind)) == 0) {
      return BLIS_RUN_EVENT_BIT(kind);
    }
  }
  return (uint32_t)luaL_error(L, "unknown event '%s'", name);
}

/* Raises for kinds of events that routers do not receive: routers receive only arrivals, first
   tokens, and outcomes of requests. */
static void check_is_heard(lua_State *L, const bind_view *view, const char *name, uint32_t kind) {
  const uint32_t heard = BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_ARRIVAL) |
                         BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_PREFILL_COMPLETE) |
                         BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_COMPLETE) |
                         BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_REJECTED) |
                         BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_FAILED);
  if (view->hides_live && (kind & heard) == 0) {
    luaL_error(L,
               "on_event: routers do not receive '%s'; policies do only with live_signals = true "
               "in the experiment",
               name);
  }
}

/* Reads the list in the field events of the definition at index. */
static uint32_t check_kinds(lua_State *L, int index, const bind_view *view) {
  uint32_t kinds = 0;
  if (lua_getfield(L, index, "events") != LUA_TNIL) {
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
      const char *name = luaL_checkstring(L, -1);
      uint32_t kind = check_kind(L, name);
      check_is_heard(L, view, name, kind);
      kinds |= kind;
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return kinds;
}

/* Returns whether the policy is already listed: a policy of two stages receives each event once. */
static bool is_known(lua_State *L, const bind_view *view, const bind_ear *made) {
  bool is_same = false;
  bind_hooks_anchor(L, view->hooks);
  for (const bind_ear *ear = view->ears; ear != NULL && !is_same; ear = ear->next) {
    lua_rawgeti(L, -1, ear->decider.function);
    lua_rawgeti(L, -2, made->decider.function);
    lua_rawgeti(L, -3, ear->custom_metrics);
    lua_rawgeti(L, -4, made->custom_metrics);
    is_same = lua_rawequal(L, -4, -3) != 0 && lua_rawequal(L, -2, -1) != 0;
    lua_pop(L, 4);
  }
  lua_pop(L, 1);
  return is_same;
}

/* "_router_2" of the second router replica, "_router_2_restart_1" after its first crash. */
static void set_suffix(bind_ear *ear, const blis_policy_context *context) {
  if (context->replicas == 0) {
    return;
  }
  int length = snprintf(ear->suffix, sizeof ear->suffix, "_router_%u", context->replica + 1);
  if (context->incarnation > 0) {
    (void)snprintf(ear->suffix + length, sizeof ear->suffix - (size_t)length, "_restart_%u",
                   context->incarnation);
  }
}

void check_listening(lua_State *L, int index, bind_view *view, const bind_decider *policy) {
  bind_ear made = {.decider = *policy};
  made.decider.function = push_hook_field(L, index, "on_event", view->hooks);
  made.custom_metrics = push_hook_field(L, index, "custom_metrics", view->hooks);
  made.kinds = made.decider.function == 0 ? 0 : check_kinds(L, index, view);
  if ((made.kinds == 0 && made.custom_metrics == 0) || is_known(L, view, &made)) {
    return;
  }
  set_suffix(&made, &view->context);
  bind_ear *ear = push_buffer(L, 1, sizeof *ear);
  push_hook_function(L, view->hooks);
  *ear = made;
  bind_ear **last = &view->ears; /* listeners are called in the order of the script */
  while (*last != NULL) {
    last = &(*last)->next;
  }
  *last = ear;
}

uint32_t bind_ear_kinds(const bind_view *view) {
  uint32_t kinds = 0;
  for (const bind_ear *ear = view->ears; ear != NULL; ear = ear->next) {
    kinds |= ear->kinds;
  }
  return kinds;
}

typedef struct metrics_call {
  const bind_ear *ear;
} metrics_call;

enum { METRIC_NAME_MAX = 200 };

/* Returns whether the name is valid in a line of a summary. */
static bool is_metric_name(const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)name[i];
    if (byte < 0x20 || byte == 0x7F) {
      return false;
    }
  }
  return length > 0 && length <= METRIC_NAME_MAX;
}

/*
 * Stores the metric on top of the stack in the table at index all, under its name plus the suffix.
 * The name is below the value. Pops the value. Raises if another policy has already reported this
 * name.
 */
static void set_metric(lua_State *L, int all, const char *suffix) {
  if (lua_type(L, -2) != LUA_TSTRING) {
    luaL_error(L, "custom_metrics: a metric is named by %s, expected a string", push_what(L, -2));
  }
  size_t length;
  const char *name = lua_tolstring(L, -2, &length);
  if (!is_metric_name(name, length)) {
    luaL_error(L,
               "custom_metrics: a metric is named by %s, expected a string "
               "of 1 to %d bytes without control characters",
               push_what(L, -2), METRIC_NAME_MAX);
  }
  lua_Number value = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(value)) {
    luaL_error(L, "custom_metrics: '%s' is %s, expected a finite number", name, push_what(L, -1));
  }
  const char *full = lua_pushfstring(L, "%s%s", name, suffix);
  if (lua_getfield(L, all, full) != LUA_TNIL) {
    luaL_error(L, "custom_metrics: two policies have a metric '%s'", full);
  }
  lua_pop(L, 1);
  lua_insert(L, -2); // [name, full, value]
  lua_rawset(L, all);
}

static int ask_metrics(lua_State *L) {
  const metrics_call *call = lua_touserdata(L, 1);
  const bind_view *view = call->ear->decider.view;
  bind_hooks_anchor(L, view->hooks);
  int anchor = lua_gettop(L);
  lua_rawgeti(L, anchor, call->ear->custom_metrics);
  lua_call(L, 0, 1);
  int given = lua_gettop(L);
  if (lua_type(L, given) != LUA_TTABLE) {
    return luaL_error(L, "custom_metrics returned %s, expected { name = number, ... }",
                      push_what(L, given));
  }
  if (lua_rawgeti(L, anchor, ANCHOR_METRICS) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, anchor, ANCHOR_METRICS);
  }
  int all = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, given) != 0) {
    set_metric(L, all, call->ear->suffix);
  }
  return 0;
}

blis_status bind_collect_metrics(bind_view *view, blis_error *error) {
  for (const bind_ear *ear = view->ears; ear != NULL; ear = ear->next) {
    if (ear->custom_metrics == 0) {
      continue;
    }
    metrics_call call = {.ear = ear};
    const bind_hook_place place = {
        .kind = ear->decider.kind, .name = ear->decider.name, .now_us = -1};
    BLIS_TRY(bind_pcall(view->hooks, &place, ask_metrics, &call, error));
  }
  return BLIS_OK;
}

int bind_event_kinds(lua_State *L) {
  lua_createtable(L, BLIS_RUN_EVENT_KIND_COUNT, 0);
  for (int kind = 0; kind < BLIS_RUN_EVENT_KIND_COUNT; kind++) {
    lua_pushstring(L, blis_run_event_name((blis_run_event_kind)kind));
    lua_rawseti(L, -2, kind + 1);
  }
  return 1;
}
