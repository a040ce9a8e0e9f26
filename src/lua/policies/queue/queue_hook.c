#include "lua/policies/queue/queue_hook.h"

#include <inttypes.h>
#include <math.h>

#include "lua/bind/bind.h"
#include "lua/bind/closed.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"

/* State of a hook; the decider contains the index of the function. */
typedef struct scripted {
  bind_decider decider;
} scripted;

typedef struct call {
  const scripted *self;
  const blis_flow_question *question;
  double answer; /* out */
} call;

enum { CALL = 1, ANCHOR };

static call *open_call(lua_State *L) {
  call *asked = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, asked->self->decider.view->hooks);
  lua_rawgeti(L, ANCHOR, asked->self->decider.function);
  return asked;
}

static blis_status ask(call *asked, lua_CFunction body, blis_error *error) {
  const bind_decider *decider = &asked->self->decider;
  const bind_hook_place place = {
      .kind = decider->kind, .name = decider->name, .now_us = asked->question->now_us};
  return bind_pcall(decider->view->hooks, &place, body, asked, error);
}

/* Returns the index on top of the stack, converted to count from 0. */
static double check_index(lua_State *L, size_t count, const char *what) {
  int is_integer = 0;
  lua_Integer index = lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -1) != LUA_TNUMBER || !is_integer || index < 1 || index > (lua_Integer)count) {
    luaL_error(L, "it returned %s, expected the index of one of %I %s", push_what(L, -1),
               (LUAI_UACINT)count, what);
  }
  return (double)(index - 1);
}

/* Fairness. */

static const char *const flow_names[] = {"tenant", "waiting", "head_wait_us", "service_tokens",
                                         NULL};
static const bind_closed of_flow = {"blis.Flow", "a flow of the queue", flow_names,
                                    "'blis help Flow' lists the fields", NULL};

static void push_flow(lua_State *L, const blis_flow_seen *flow) {
  lua_createtable(L, 0, 4);
  set_field_string(L, "tenant", flow->tenant);
  set_field_integer(L, "waiting", flow->waiting);
  set_field_integer(L, "head_wait_us", flow->head_wait_us);
  set_field_number(L, "service_tokens", flow->service_tokens);
  close_table(L, &of_flow);
}

static int pick_flow(lua_State *L) {
  call *asked = open_call(L);
  const blis_flow_question *question = asked->question;
  lua_createtable(L, (int)question->count, 0);
  for (size_t i = 0; i < question->count; i++) {
    push_flow(L, &question->flows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, question->now_us);
  lua_call(L, 2, 1);
  asked->answer = check_index(L, question->count, "flows");
  return 0;
}

static blis_status ask_fairness(void *state, const blis_flow_question *question, double *answer,
                                blis_error *error) {
  call asked = {.self = state, .question = question};
  BLIS_TRY(ask(&asked, pick_flow, error));
  *answer = asked.answer;
  return BLIS_OK;
}

/* Bands. */

static const char *const band_names[] = {"priority", "waiting",    "longest_wait_us",   "ceiling",
                                         "is_open",  "dispatched", "dispatched_tokens", NULL};
static const bind_closed of_band = {"blis.Band", "a band of the queue", band_names,
                                    "'blis help Band' lists the fields", NULL};

static void push_band(lua_State *L, const blis_flow_band_seen *band, double saturation) {
  lua_createtable(L, 0, 7);
  set_field_integer(L, "priority", band->priority);
  set_field_integer(L, "waiting", band->waiting);
  set_field_integer(L, "longest_wait_us", band->longest_wait_us);
  set_field_number(L, "ceiling", band->ceiling);
  lua_pushboolean(L, saturation < band->ceiling);
  lua_setfield(L, -2, "is_open");
  set_field_integer(L, "dispatched", band->dispatched);
  set_field_number(L, "dispatched_tokens", band->dispatched_tokens);
  close_table(L, &of_band);
}

static int pick_band(lua_State *L) {
  call *asked = open_call(L);
  const blis_flow_question *question = asked->question;
  lua_createtable(L, (int)question->count, 0);
  for (size_t i = 0; i < question->count; i++) {
    push_band(L, &question->bands[i], question->saturation);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushnumber(L, question->saturation);
  lua_pushinteger(L, question->now_us);
  lua_call(L, 3, 1);
  asked->answer = lua_isnil(L, -1) ? -1 : check_index(L, question->count, "bands, or nil");
  return 0;
}

static blis_status ask_band(void *state, const blis_flow_question *question, double *answer,
                            blis_error *error) {
  call asked = {.self = state, .question = question};
  BLIS_TRY(ask(&asked, pick_band, error));
  *answer = asked.answer;
  return BLIS_OK;
}

/* Order. */

static int find_key(lua_State *L, void *ud) {
  call *asked = ud;
  lua_pushinteger(L, asked->question->now_us);
  lua_call(L, 2, 1);
  lua_Number key = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || isnan(key)) {
    return luaL_error(L,
                      "it returned %s, expected a number; the request with the "
                      "lowest number is next",
                      push_what(L, -1));
  }
  asked->answer = key;
  return 0;
}

static blis_status ask_order(void *state, const blis_flow_question *question, double *answer,
                             blis_error *error) {
  call asked = {.self = state, .question = question};
  const blis_routing_view nobody = {.now_us = question->now_us};
  BLIS_TRY(bind_decide(&asked.self->decider, question->request, &nobody, find_key, &asked, error));
  *answer = asked.answer;
  return BLIS_OK;
}

/* Creation from definitions. */

static void check_hook(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                       const char *kind, const char *field, blis_flow_hook *hook) {
  check_fresh(L, index, context);
  const scripted made = {.decider = check_decider(L, index, view, kind, field)};
  scripted *state = check_copy(L, &made, sizeof made);
  hook->state = state;
  hook->state_size = sizeof *state;
  hook->alloc = bind_alloc(L);
  hook->name = state->decider.name;
}

void check_fairness_hook(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context, blis_flow_hook *hook) {
  check_hook(L, index, view, context, "fairness policy", "pick", hook);
  hook->ask = ask_fairness;
}

void check_band_hook(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                     blis_flow_hook *hook) {
  check_hook(L, index, view, context, "band selection", "pick", hook);
  hook->ask = ask_band;
}

void check_order_hook(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                      blis_flow_hook *hook) {
  check_hook(L, index, view, context, "order of a queue", "key", hook);
  hook->ask = ask_order;
}
