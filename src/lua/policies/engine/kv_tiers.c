#include "lua/policies/engine/kv_tiers.h"

#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/bind/hook.h"

enum { CALL = 1, ANCHOR };

/* A call that selects the blocks to load. */

typedef struct load_call {
  bind_kv_tiers *scripts;
  const blis_kv_offer *offer;
  int64_t tokens; /* out */
} load_call;

static void set_offer(lua_State *L, const bind_kv_tiers *scripts, const blis_kv_offer *offer) {
  int table = lua_gettop(L);
  set_field_integer(L, "cached_tokens", offer->cached_tokens);
  set_field_integer(L, "offered_tokens", offer->offered_tokens);
  set_field_number(L, "load_us", offer->load_us);
  set_field_number(L, "compute_us", offer->compute_us);
  set_field_integer(L, "instance", (lua_Integer)offer->instance + 1);
  set_field_integer(L, "now_us", offer->now_us);
  lua_getfield(L, table, "tiers");
  for (uint32_t t = 0; t < scripts->count; t++) {
    lua_rawgeti(L, ANCHOR, scripts->names[t]);
    lua_pushinteger(L, offer->tier_tokens[t]);
    lua_rawset(L, table + 1);
  }
  lua_settop(L, table);
}

static int choose(lua_State *L) {
  load_call *call = lua_touserdata(L, CALL);
  bind_kv_tiers *scripts = call->scripts;
  bind_hooks_anchor(L, scripts->view->hooks);
  lua_rawgeti(L, ANCHOR, scripts->load_choice);
  lua_rawgeti(L, ANCHOR, scripts->request);
  set_live_request(L, &scripts->shown, scripts->view, call->offer->request,
                   call->offer->request->progress_tokens);
  lua_rawgeti(L, ANCHOR, scripts->offer);
  set_offer(L, scripts, call->offer);
  lua_call(L, 2, 1);
  int is_integer = 0;
  lua_Integer tokens = lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -1) == LUA_TBOOLEAN) {
    tokens = lua_toboolean(L, -1) ? call->offer->offered_tokens : 0;
  } else if (lua_type(L, -1) != LUA_TNUMBER || !is_integer || tokens < 0) {
    return luaL_error(L,
                      "it returned %s, expected a number of tokens from 0, true "
                      "or false",
                      push_what(L, -1));
  }
  call->tokens = tokens;
  return 0;
}

static blis_status load_choice(void *ud, const blis_kv_offer *offer, int64_t *tokens,
                               blis_error *error) {
  load_call call = {.scripts = ud, .offer = offer};
  const bind_request_name about = live_request_name(offer->request);
  const bind_hook_place place = {
      .kind = "kv_tiers", .name = "load", .request = &about, .now_us = offer->now_us};
  BLIS_TRY(bind_pcall(call.scripts->view->hooks, &place, choose, &call, error));
  *tokens = call.tokens;
  return BLIS_OK;
}

/* A call that scores the blocks to evict. */

typedef struct score_call {
  const bind_kv_tiers *scripts;
  const blis_kv_sight *sight;
  double score; /* out */
} score_call;

static int ask_score(lua_State *L) {
  score_call *call = lua_touserdata(L, CALL);
  const bind_kv_tiers *scripts = call->scripts;
  const blis_kv_sight *sight = call->sight;
  bind_hooks_anchor(L, scripts->view->hooks);
  lua_rawgeti(L, ANCHOR, scripts->scores[sight->tier]);
  lua_rawgeti(L, ANCHOR, scripts->block);
  set_field_integer(L, "depth", sight->depth);
  set_field_integer(L, "blocks", sight->blocks);
  set_field_integer(L, "uses", sight->uses);
  set_field_integer(L, "now_us", sight->now_us);
  if (sight->reused_after_us >= 0) {
    lua_pushinteger(L, sight->reused_after_us);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, "reused_after_us");
  lua_rawgeti(L, ANCHOR, scripts->names[sight->tier]);
  lua_setfield(L, -2, "tier");
  lua_call(L, 1, 1);
  double score = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || score != score) {
    return luaL_error(L, "it returned %s, expected a number", push_what(L, -1));
  }
  call->score = score;
  return 0;
}

static blis_status score(void *ud, const blis_kv_sight *sight, double *given, blis_error *error) {
  score_call call = {.scripts = ud, .sight = sight};
  const bind_hook_place place = {.kind = "kv_tiers", .name = "policy", .now_us = sight->now_us};
  BLIS_TRY(bind_pcall(call.scripts->view->hooks, &place, ask_score, &call, error));
  *given = call.score;
  return BLIS_OK;
}

/* Options. */

static void check_tier(lua_State *L, int index, uint32_t t, bind_kv_tiers *scripts,
                       blis_kv_tier *tier) {
  static const char *const scopes[] = {"instance", "node", "cluster", NULL};
  static const char *const policies[] = {"lru", "fifo", "lfu", "arc", "scored", NULL};
  static const char *const stores[] = {"write-through", "on-evict", "none", NULL};
  bind_hooks *hooks = scripts->view->hooks;
  *tier =
      (blis_kv_tier){.name = check_field_string(L, index, "name"),
                     .blocks = check_field_integer(L, index, "blocks"),
                     .bytes = check_field_number(L, index, "bytes"),
                     .scope = (blis_tier_scope)check_field_choice(L, index, "scope", scopes),
                     .instances_per_node = opt_field_integer(L, index, "instances_per_node", 1),
                     .stage = (int32_t)check_field_integer(L, index, "stage_index"),
                     .read_bytes_per_us = check_field_number(L, index, "read_bytes_per_us"),
                     .write_bytes_per_us = check_field_number(L, index, "write_bytes_per_us"),
                     .is_per_gpu = opt_field_boolean(L, index, "per_gpu", false),
                     .is_half_duplex = opt_field_boolean(L, index, "half_duplex", false),
                     .latency_us = check_field_number(L, index, "latency_us"),
                     .policy = (blis_tier_policy)check_field_choice(L, index, "policy", policies),
                     .evict_above = opt_field_number(L, index, "evict_above", 0),
                     .evict_share = opt_field_number(L, index, "evict_share", 0),
                     .keeps_hinted = opt_field_boolean(L, index, "keeps_hinted", false),
                     .keep_us = opt_field_integer(L, index, "keep_us", 0),
                     .saving = (blis_tier_saving)check_field_choice(L, index, "store", stores),
                     .threshold = check_field_integer(L, index, "threshold"),
                     .sights_kept = check_field_integer(L, index, "max_tracked"),
                     .promotes = opt_field_boolean(L, index, "promote", true),
                     .is_shared = opt_field_boolean(L, index, "shared", false),
                     .survives = opt_field_boolean(L, index, "survives", false),
                     .weight = check_field_number(L, index, "weight"),
                     .peer_weight = opt_field_number(L, index, "peer_weight", 0)};
  scripts->scores[t] = push_hook_field(L, index, "score", hooks);
  lua_getfield(L, index, "name");
  scripts->names[t] = push_hook_function(L, hooks);
}

/* Creates the tables that are passed to the functions, once. */
static void make_tables(lua_State *L, bind_kv_tiers *scripts) {
  bind_hooks *hooks = scripts->view->hooks;
  push_live_request(L, &scripts->shown, scripts->view->oracle);
  scripts->request = push_hook_function(L, hooks);
  lua_createtable(L, 0, 8);
  lua_createtable(L, 0, (int)scripts->count);
  lua_setfield(L, -2, "tiers");
  scripts->offer = push_hook_function(L, hooks);
  lua_createtable(L, 0, 8);
  scripts->block = push_hook_function(L, hooks);
}

void check_kv_tiers(lua_State *L, int index, const bind_view *view, bind_kv_tiers *scripts,
                    blis_kv_tiers *made) {
  static const char *const rules[] = {"all", "if-faster", "as-told", NULL};
  uint32_t count = (uint32_t)lua_rawlen(L, index);
  luaL_argcheck(L, count <= BLIS_KV_TIERS_MAX, index, "too many KV tiers");
  *scripts = (bind_kv_tiers){.view = view, .count = count};
  blis_kv_tier *tiers = push_buffer(L, BLIS_KV_TIERS_MAX, sizeof *tiers);
  for (uint32_t t = 0; t < count; t++) {
    lua_rawgeti(L, index, (lua_Integer)t + 1);
    check_tier(L, lua_gettop(L), t, scripts, &tiers[t]);
    lua_pop(L, 1);
  }
  scripts->load_choice = push_hook_field(L, index, "load_choice", view->hooks);
  make_tables(L, scripts);
  *made =
      (blis_kv_tiers){.tiers = tiers,
                      .count = count,
                      .cache_weight = check_field_number(L, index, "cache_weight"),
                      .bytes_per_token = opt_field_number(L, index, "kv_bytes_per_token", 0),
                      .network_bytes_per_us = check_field_number(L, index, "network_bytes_per_us"),
                      .chunk_tokens = check_field_integer(L, index, "chunk_tokens"),
                      .batch_blocks = check_field_integer(L, index, "batch_blocks"),
                      .saves_output = opt_field_boolean(L, index, "save_output", false),
                      .rule = (blis_load_rule)check_field_choice(L, index, "load", rules),
                      .load_choice = load_choice,
                      .score = score,
                      .ud = scripts};
}
