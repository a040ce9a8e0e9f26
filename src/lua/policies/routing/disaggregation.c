#include "lua/policies/routing/disaggregation.h"

#include <string.h>

#include "cluster/encode/encode.h"
#include "cluster/handoff/handoff.h"
#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/routing/routing.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"
#include "lua/policies/view/stage_context.h"

typedef struct call {
  const bind_decider *decider;
  size_t chosen;
  blis_split split; /* out */
} call;

/* Rejects unknown keys: with a misspelled key, the router would choose without any notice. */
static void check_keys(lua_State *L, int index) {
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pop(L, 1);
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(key, "prefill") != 0 && strcmp(key, "decode") != 0) {
      luaL_error(L,
                 "it returned a table with the key %s, expected prefill and "
                 "decode alone",
                 push_what(L, lua_gettop(L)));
    }
  }
}

static blis_split check_split(lua_State *L, int index) {
  blis_split split = {.splits = true, .prefill = -1, .decode = -1};
  int type = lua_type(L, index);
  const char *word = type == LUA_TSTRING ? lua_tostring(L, index) : "";
  if (type == LUA_TTABLE) {
    check_keys(L, index);
    split.prefill = check_instance_field(L, index, "prefill");
    split.decode = check_instance_field(L, index, "decode");
  } else if (strcmp(word, "local") == 0) {
    split.splits = false;
  } else if (strcmp(word, "split") != 0) {
    luaL_error(L,
               "it returned %s, expected \"local\", \"split\" or "
               "{ prefill = instance, decode = instance }",
               push_what(L, index));
  }
  return split;
}

/* context.peer is the decode instance. */
static int ask(lua_State *L, void *ud) {
  call *asked = ud;
  bind_view *view = asked->decider->view;
  view->peer = view->view->instances[asked->chosen];
  push_view_instances(L, view, AT_ANCHOR);
  lua_pop(L, 1);
  lua_rawgeti(L, AT_ANCHOR, ANCHOR_CONTEXT);
  lua_call(L, 2, 1);
  asked->split = check_split(L, lua_gettop(L));
  return 0;
}

static blis_status decide(const blis_question *q, size_t chosen, blis_split *split) {
  call asked = {.decider = q->state, .chosen = chosen};
  BLIS_TRY(bind_decide(asked.decider, q->request, q->view, ask, &asked, q->error));
  *split = asked.split;
  return BLIS_OK;
}

static void free_scripted(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(bind_decider));
}

static const blis_decider_ops scripted_ops = {.decide = decide, .free = free_scripted};

static void check_scripted(lua_State *L, int index, bind_view *view, blis_decider *decider) {
  const bind_decider made = check_decider(L, index, view, "decider", "decide");
  bind_decider *state = check_copy(L, &made, sizeof made);
  *decider = (blis_decider){
      .ops = &scripted_ops,
      .state = state,
      .alloc = bind_alloc(L),
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* other signals are fetched when read */
      .name = state->name,
  };
}

static bool has_function(lua_State *L, int index) {
  bool found =
      lua_getfield(L, index, "decide") != LUA_TNIL || lua_getfield(L, index, "make") != LUA_TNIL;
  lua_settop(L, index);
  return found;
}

/* Creates the router of a stage, if set, with a separate stream for ties. */
static void check_stage_router(lua_State *L, int index, const char *name, const char *ties,
                               bind_view *view, const blis_policy_context *context,
                               blis_router *router) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, name) != LUA_TNIL) {
    blis_policy_context own = *context;
    own.ties = opt_field_string(L, index, ties);
    check_router(L, top + 1, view, &own, router);
  }
  lua_settop(L, top);
}

static void check_policies(lua_State *L, int index, bind_view *view,
                           const blis_policy_context *context, blis_disaggregation *made) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "decider");
  if (has_function(L, top + 1)) {
    check_fresh(L, top + 1, context);
    check_scripted(L, top + 1, view, &made->decider);
  } else {
    check_builtin_decider(L, top + 1, context, &made->decider);
  }
  check_stage_router(L, index, "prefill_routing", "prefill_ties", view, context, &made->prefill);
  lua_settop(L, top);
}

void check_disaggregation(lua_State *L, int index, bind_view *view,
                          const blis_policy_context *context, blis_disaggregation *made) {
  static const char *const orders[] = {"source", "destination", NULL};
  static const char *const givers[] = {"decode", "prefill", NULL};
  static const char *const no_rooms[] = {"wait", "drop", "local", NULL};
  static const char *const failures[] = {"fail", "recompute", "retry", NULL};
  static const char *const charges[] = {"all", "missing", NULL};
  static const char *const remains[] = {"keep", "drop", NULL};
  static const char *const firsts[] = {"decode-first", "prefill-first", NULL};
  made->prefill_first = check_field_choice(L, index, "stage_order", firsts) == 1;
  made->reserves_first = check_field_choice(L, index, "order", orders) == 1;
  made->gives_first_token = check_field_choice(L, index, "first_token", givers) == 1;
  made->on_no_room = (blis_no_room)check_field_choice(L, index, "on_destination_full", no_rooms);
  made->on_failure = (blis_handoff_failure)check_field_choice(L, index, "on_failure", failures);
  made->moves_missing = check_field_choice(L, index, "transfer_content", charges) == 1;
  made->drops_source_cache = check_field_choice(L, index, "source_cache", remains) == 1;
  made->retries_max = check_field_integer(L, index, "retries");
  made->retry_pause_us = check_field_integer(L, index, "retry_pause_us");
  made->timeout_us = check_field_integer(L, index, "transfer_timeout_us");
  made->handshake_us = check_field_integer(L, index, "handshake_us");
  made->kv_limit = check_field_number(L, index, "kv_limit");
  made->bytes_per_us = check_field_number(L, index, "bytes_per_us");
  made->fabric_bytes_per_us = check_field_number(L, index, "fabric_bytes_per_us");
  made->overlap_portion = check_field_number(L, index, "overlap_portion");
  made->overlap_from_tokens = check_field_integer(L, index, "overlap_min_tokens");
  made->base_us = check_field_number(L, index, "base_us");
  made->ops = check_profile(L, index)->handoffs;
  made->has_contention = opt_field_boolean(L, index, "contention", false);
  check_policies(L, index, view, context, made);
}

void check_encode_stage(lua_State *L, int index, bind_view *view,
                        const blis_policy_context *context, blis_encode_stage *made) {
  static const char *const rules[] = {"never", "always", "multimodal", NULL};
  made->rule = (blis_encode_rule)check_field_choice(L, index, "encode_decider", rules);
  if (made->rule == BLIS_ENCODES_NOBODY) {
    return;
  }
  made->base_us = check_field_number(L, index, "encode_base_us");
  made->us_per_token = check_field_number(L, index, "encode_us_per_token");
  made->chooses_only = check_profile(L, index)->encodes_in_passing;
  made->as_prefill = opt_field_boolean(L, index, "encode_as_prefill", false);
  check_stage_router(L, index, "encode_routing", "encode_ties", view, context, &made->router);
}
