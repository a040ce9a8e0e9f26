#include "lua/simulation/observer.h"

#include <math.h>

#include "base/time.h"
#include "lua/bind/bind.h"
#include "lua/policies/routing/cascade.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"
#include "lua/policies/view/hints.h"
#include "lua/simulation/instance.h"

/* One call of a function. */
typedef struct event_call {
  bind_observer *observer;
  int function;                        /* index in the anchor */
  const blis_request_end *end;         /* of ends */
  const blis_cascade_attempt *attempt; /* set for escalations */
  int64_t instance;                    /* -1 = none */
  int64_t ttft_us;
  double priority; /* out */
} event_call;

/* Pushes the live instance, as in sim.instances; nil if there is none. */
static void push_instance(lua_State *L, int64_t instance) {
  if (instance < 0) {
    lua_pushnil(L);
    return;
  }
  lua_rawgeti(L, AT_ANCHOR, ANCHOR_SELF);
  push_instances(L, lua_gettop(L), lua_touserdata(L, -1));
  lua_rawgeti(L, -1, instance + 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static void set_time(lua_State *L, const char *name, int64_t time_us) {
  if (time_us >= 0) {
    lua_pushinteger(L, time_us);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, name);
}

/* Pushes the shared table of outcomes, filled with this outcome. */
static void push_outcome(lua_State *L, const event_call *call) {
  const blis_request_end *end = call->end;
  lua_rawgeti(L, AT_ANCHOR, call->observer->outcome);
  set_field_string(L, "state", blis_request_state_name(end->state));
  set_time(L, "ttft_us", end->ttft_us);
  set_time(L, "e2e_us", end->e2e_us);
  set_time(L, "end_us", end->end_us);
  set_time(L, "scheduling_delay_us", end->scheduling_delay_us);
  set_field_number(L, "mean_itl_us",
                   end->itl_count == 0 ? 0 : (double)end->itl_sum_us / (double)end->itl_count);
  set_field_integer(L, "output_tokens", end->ttft_us < 0 ? 0 : end->itl_count + 1);
  set_field_integer(L, "steps", end->steps > 0 ? end->steps : 1);
  if (end->attempt != NULL) {
    lua_pushstring(L, end->attempt->model);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, "model");
}

static int tell_arrival(lua_State *L, void *ud) {
  (void)ud;
  lua_call(L, 1, 0);
  return 0;
}

static int tell_routed(lua_State *L, void *ud) {
  const event_call *call = ud;
  push_instance(L, call->instance);
  lua_call(L, 2, 0);
  return 0;
}

static int tell_first_token(lua_State *L, void *ud) {
  const event_call *call = ud;
  push_instance(L, call->instance);
  lua_pushinteger(L, call->ttft_us);
  lua_call(L, 3, 0);
  return 0;
}

static int tell_escalation(lua_State *L, void *ud) {
  const event_call *call = ud;
  push_instance(L, call->attempt->instance);
  lua_rawgeti(L, AT_ANCHOR, call->observer->attempt);
  set_attempt(L, &call->observer->view->hooks->alias, call->attempt);
  lua_call(L, 3, 0);
  return 0;
}

static int tell_end(lua_State *L, void *ud) {
  const event_call *call = ud;
  push_instance(L, call->instance);
  push_outcome(L, call);
  lua_call(L, 3, 0);
  return 0;
}

static int tell_rejection(lua_State *L, void *ud) {
  const event_call *call = ud;
  lua_pushstring(L, call->end->reason == NULL ? "" : call->end->reason);
  lua_call(L, 2, 0);
  return 0;
}

static blis_status enter(event_call *call, const char *name, bind_body body,
                         const blis_routing_request *request, int64_t now_us, blis_error *error) {
  const bind_decider decider = {
      .view = call->observer->view, .kind = name, .function = call->function};
  const blis_routing_view nobody = {.now_us = now_us};
  return bind_decide(&decider, request, &nobody, body, call, error);
}

static blis_status on_arrival(void *ud, const blis_routing_request *request, int64_t now_us,
                              blis_error *error) {
  bind_observer *self = ud;
  event_call call = {.observer = self, .function = self->functions[EVENT_ARRIVAL]};
  return enter(&call, "on_arrival", tell_arrival, request, now_us, error);
}

static blis_status on_routed(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t now_us, blis_error *error) {
  bind_observer *self = ud;
  event_call call = {
      .observer = self, .function = self->functions[EVENT_ROUTED], .instance = instance};
  return enter(&call, "on_routed", tell_routed, request, now_us, error);
}

static blis_status on_first_token(void *ud, const blis_routing_request *request, uint32_t instance,
                                  int64_t ttft_us, int64_t now_us, blis_error *error) {
  bind_observer *self = ud;
  event_call call = {.observer = self,
                     .function = self->functions[EVENT_FIRST_TOKEN],
                     .instance = instance,
                     .ttft_us = ttft_us};
  return enter(&call, "on_first_token", tell_first_token, request, now_us, error);
}

static blis_status on_escalation(void *ud, const blis_routing_request *request,
                                 const blis_cascade_attempt *attempt, int64_t now_us,
                                 blis_error *error) {
  bind_observer *self = ud;
  event_call call = {
      .observer = self, .function = self->functions[EVENT_ESCALATION], .attempt = attempt};
  return enter(&call, "on_escalation", tell_escalation, request, now_us, error);
}

static blis_status on_end(void *ud, const blis_routing_request *request,
                          const blis_request_end *end, int64_t now_us, blis_error *error) {
  static const char *const names[] = {[EVENT_COMPLETION] = "on_completion",
                                      [EVENT_REJECTION] = "on_rejection",
                                      [EVENT_FAILURE] = "on_failure"};
  bind_observer *self = ud;
  bind_event event = EVENT_FAILURE;
  if (end->state == BLIS_REQUEST_COMPLETED || end->state == BLIS_REQUEST_LENGTH_CAPPED) {
    event = EVENT_COMPLETION;
  } else if (end->state == BLIS_REQUEST_REJECTED) {
    event = EVENT_REJECTION;
  }
  event_call call = {
      .observer = self, .function = self->functions[event], .end = end, .instance = end->instance};
  return call.function == 0
             ? BLIS_OK
             : enter(&call, names[event], event == EVENT_REJECTION ? tell_rejection : tell_end,
                     request, now_us, error);
}

/* Priorities. */

static int ask_priority(lua_State *L, void *ud) {
  event_call *call = ud;
  lua_call(L, 1, 2);
  bind_view *view = call->observer->view;
  lua_Number priority = lua_tonumber(L, -2);
  if (lua_type(L, -2) != LUA_TNUMBER || isnan(priority)) {
    return luaL_error(L, "it returned %s, expected a number (%s is more urgent)", push_what(L, -2),
                      bind_counts_down(view) ? "lower" : "higher");
  }
  if (!lua_isnoneornil(L, -1) && !lua_istable(L, -1)) {
    return luaL_error(L, "its second result is %s, expected a table of hints", push_what(L, -1));
  }
  call->priority = bind_view_priority(view, priority);
  set_hints(L, view, view->request->slot);
  return 0;
}

static blis_status give_priority(void *ud, const blis_routing_request *request, int64_t now_us,
                                 double *priority, blis_error *error) {
  bind_observer *self = ud;
  event_call call = {.observer = self, .function = self->priority};
  BLIS_TRY(enter(&call, "priority", ask_priority, request, now_us, error));
  *priority = call.priority;
  return BLIS_OK;
}

/* Think times. */

typedef struct think_call {
  bind_observer *observer;
  const blis_request *follow_up;
  int64_t think_us; /* in and out */
} think_call;

static int ask_think_time(lua_State *L) {
  think_call *call = lua_touserdata(L, 1);
  const bind_observer *self = call->observer;
  const blis_intern *strings = self->inner->strings;
  bind_hooks_anchor(L, self->view->hooks);
  lua_rawgeti(L, AT_ANCHOR, self->think_time);
  lua_pushstring(L, blis_intern_text(strings, call->follow_up->session));
  lua_pushinteger(L, call->follow_up->round_index);
  lua_pushinteger(L, call->think_us);
  lua_call(L, 3, 1);
  double think_us = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || !(think_us >= 0 && think_us <= 0x1p53)) {
    return luaL_error(L, "it returned %s, expected microseconds from 0 to 2^53", push_what(L, -1));
  }
  call->think_us = (int64_t)think_us;
  return 0;
}

static blis_status source_next(void *state, blis_request *request, bool *done, blis_error *error) {
  const bind_observer *self = state;
  return self->inner->next(self->inner->state, request, done, error);
}

static blis_status source_ended(void *state, const blis_request *request,
                                const blis_request_outcome *outcome, blis_request *follow_up,
                                bool *has_follow_up, blis_error *error) {
  bind_observer *self = state;
  BLIS_TRY(
      self->inner->ended(self->inner->state, request, outcome, follow_up, has_follow_up, error));
  if (!*has_follow_up) {
    return BLIS_OK;
  }
  int64_t usual_us = follow_up->arrival_us - outcome->end_us;
  think_call call = {.observer = self, .follow_up = follow_up, .think_us = usual_us};
  const bind_request_name name = {.number = request->number,
                                  .session =
                                      blis_intern_text(self->inner->strings, request->session),
                                  .round_index = request->round_index};
  const bind_hook_place place = {
      .kind = "think_time", .name = "", .request = &name, .now_us = outcome->end_us};
  BLIS_TRY(bind_pcall(self->view->hooks, &place, ask_think_time, &call, error));
  follow_up->arrival_us = blis_time_after_us(outcome->end_us, call.think_us);
  if (follow_up->deadline_us != 0) {
    int64_t allowed_us = follow_up->deadline_us - outcome->end_us - usual_us;
    follow_up->deadline_us = blis_time_after_us(follow_up->arrival_us, allowed_us);
  }
  return BLIS_OK;
}

const blis_request_source *check_observed_source(lua_State *L, bind_observer *self,
                                                 const blis_request_source *source) {
  if (self->think_time == 0) {
    return source;
  }
  if (source->ended == NULL) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "think_time: no request of this workload waits for an answer; "
              "only sessions and users (concurrency) do");
    bind_raise(L, &error);
  }
  if (source->also != NULL) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "think_time: the requests of session graphs wait as their graphs "
              "say; write delay_us there");
    bind_raise(L, &error);
  }
  self->inner = source;
  self->source = *source;
  self->source.next = source_next;
  self->source.ended = source_ended;
  self->source.state = self;
  return &self->source;
}

/* Returns the index in the anchor of the function of a Lua priority policy; 0 = none. */
static int push_priority(lua_State *L, int config, const bind_view *view) {
  if (lua_getfield(L, config, "priority") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  check_fresh(L, lua_gettop(L), &view->context);
  int place = push_hook_field(L, lua_gettop(L), "decide", view->hooks);
  lua_pop(L, 1);
  return place;
}

void check_observer(lua_State *L, int config, bind_view *view, bind_observer *self) {
  static const char *const names[EVENT_COUNT] = {"on_arrival",    "on_routed",     "on_first_token",
                                                 "on_escalation", "on_completion", "on_rejection",
                                                 "on_failure"};
  *self = (bind_observer){.view = view};
  for (int i = 0; i < EVENT_COUNT; i++) {
    self->functions[i] = push_hook_field(L, config, names[i], view->hooks);
  }
  self->priority = push_priority(L, config, view);
  self->think_time = push_hook_field(L, config, "think_time", view->hooks);
  lua_createtable(L, 0, 8);
  self->outcome = push_hook_function(L, view->hooks);
  lua_createtable(L, 0, 14);
  self->attempt = push_hook_function(L, view->hooks);
  bool hears_ends = self->functions[EVENT_COMPLETION] != 0 ||
                    self->functions[EVENT_REJECTION] != 0 || self->functions[EVENT_FAILURE] != 0;
  const int *functions = self->functions;
  self->observer =
      (blis_observer){.ud = self,
                      .arrived = functions[EVENT_ARRIVAL] != 0 ? on_arrival : NULL,
                      .routed = functions[EVENT_ROUTED] != 0 ? on_routed : NULL,
                      .first_token = functions[EVENT_FIRST_TOKEN] != 0 ? on_first_token : NULL,
                      .escalated = functions[EVENT_ESCALATION] != 0 ? on_escalation : NULL,
                      .ended = hears_ends ? on_end : NULL};
}

void bind_observer_configure(bind_observer *self, blis_cluster_config *made) {
  made->observer = &self->observer;
  if (self->priority != 0) {
    made->priority = give_priority;
    made->priority_ud = self;
  }
}
