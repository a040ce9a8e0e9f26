#include "lua/simulation/run_events.h"

#include "lua/bind/bind.h"
#include "lua/bind/closed.h"
#include "lua/policies/view/listening.h"
#include "lua/simulation/instance.h"

typedef struct event_call {
  const bind_run_events *events;
  const bind_ear *ear;
  const blis_run_event *event;
} event_call;

/* Sets the instance of an event. The list of instances is at index `instances`. */
static void set_instance(lua_State *L, int instances, int64_t instance, const char *name) {
  if (instance < 0) {
    lua_pushnil(L);
  } else {
    lua_rawgeti(L, instances, instance + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const blis_run_event *event, blis_run_event_kind kind,
                      const char *name) {
  if (event->kind == kind) {
    lua_pushinteger(L, event->count);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, name);
}

/* Pushes the shared table of events, filled with this event. */
static void push_event(lua_State *L, const event_call *call, int anchor, int instances) {
  const blis_run_event *event = call->event;
  lua_rawgeti(L, anchor, call->events->event);
  set_field_string(L, "kind", blis_run_event_name(event->kind));
  set_field_integer(L, "time_us", bind_alias_us(&call->events->view->hooks->alias, event->time_us));
  set_instance(L, instances, event->instance, "instance");
  set_instance(L, instances, event->to, "to");
  set_count(L, event, BLIS_RUN_EVENT_TOKEN_GENERATED, "token");
  set_count(L, event, BLIS_RUN_EVENT_BATCH_SCHEDULE, "batch_size");
  lua_pushstring(L, event->reason); /* NULL pushes nil */
  lua_setfield(L, -2, "reason");
  if (event->request != NULL) {
    push_view_request(L, call->events->view, anchor);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, "request");
}

/* Pushes the instances of sim.instances, or, if these are hidden, the instances that policies
   read. */
static void push_shown_instances(lua_State *L, const bind_view *view, int anchor) {
  if (view->hides_live) {
    lua_rawgeti(L, anchor, ANCHOR_INSTANCES);
    return;
  }
  lua_rawgeti(L, anchor, ANCHOR_SELF);
  int self = lua_gettop(L);
  push_instances(L, self, lua_touserdata(L, self));
}

static int call_on_event(lua_State *L, const event_call *call, int anchor) {
  push_shown_instances(L, call->events->view, anchor);
  int instances = lua_gettop(L);
  lua_rawgeti(L, anchor, call->ear->decider.function);
  push_event(L, call, anchor, instances);
  lua_pushvalue(L, instances);
  lua_call(L, 2, 0);
  return 0;
}

static int about_request(lua_State *L, void *ud) {
  return call_on_event(L, ud, AT_ANCHOR);
}

static int about_batch(lua_State *L) {
  const event_call *call = lua_touserdata(L, 1);
  bind_hooks_anchor(L, call->events->view->hooks);
  return call_on_event(L, call, lua_gettop(L));
}

static blis_status tell(event_call *call, blis_error *error) {
  const blis_run_event *event = call->event;
  bind_decider decider = call->ear->decider;
  if (event->request == NULL) {
    const bind_hook_place place = {
        .kind = decider.kind, .name = decider.name, .now_us = event->time_us};
    return bind_pcall(decider.view->hooks, &place, about_batch, call, error);
  }
  const blis_routing_view nobody = {.now_us = event->time_us};
  decider.function = 0;
  return bind_decide(&decider, event->request, &nobody, about_request, call, error);
}

static blis_status hear(void *ud, const blis_run_event *event, blis_error *error) {
  const bind_run_events *self = ud;
  for (const bind_ear *ear = self->view->ears; ear != NULL; ear = ear->next) {
    if ((ear->kinds & BLIS_RUN_EVENT_BIT(event->kind)) != 0) {
      event_call call = {.events = self, .ear = ear, .event = event};
      BLIS_TRY(tell(&call, error));
    }
  }
  return BLIS_OK;
}

static const char *const field_names[] = {"kind",  "time_us",    "request", "instance", "to",
                                          "token", "batch_size", "reason",  NULL};
static const bind_closed of_event = {"blis.RunEvent", "an event", field_names,
                                     "'blis help RunEvent' lists what there is", NULL};

void check_run_events(lua_State *L, bind_view *view, bind_run_events *events) {
  lua_createtable(L, 0, 8);
  close_table(L, &of_event);
  *events =
      (bind_run_events){.view = view,
                        .event = push_hook_function(L, view->hooks),
                        .listener = {.ud = events, .kinds = bind_ear_kinds(view), .hear = hear}};
}
