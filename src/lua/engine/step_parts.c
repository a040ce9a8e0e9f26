#include "lua/engine/step_parts.h"

#include "lua/bind/bind.h"
#include "lua/engine/engine_model.h"

static blis_batch_sums check_step(lua_State *L, int index) {
  int64_t decodes = opt_field_integer(L, index, "decodes", 0);
  int64_t prompt = opt_field_integer(L, index, "prompt", 0);
  blis_batch_sums sums = {
      .requests = decodes,
      .decode_requests = decodes,
      .decode_context_tokens = decodes * opt_field_integer(L, index, "context", 0),
  };
  if (prompt > 0) {
    const blis_batch_item item = {.new_tokens = prompt, .prompt_tokens = prompt};
    blis_batch_sums_add(&sums, &item);
  }
  return sums;
}

static void push_parts(lua_State *L, const blis_step_parts *parts) {
  lua_createtable(L, 0, 7);
  set_field_number(L, "products_us", parts->products_us);
  set_field_number(L, "experts_us", parts->experts_us);
  set_field_number(L, "attention_us", parts->attention_us);
  set_field_number(L, "links_us", parts->links_us);
  set_field_number(L, "other_us", parts->other_us);
  set_field_number(L, "host_us", parts->host_us);
  set_field_number(L, "total_us", parts->total_us);
}

int bind_step_parts(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_newtable(L); /* 3 */
  bind_engine_model m;
  check_engine_model(L, 1, true, &m);
  const blis_latency_config config = check_latency_config(L, 1, &m);
  blis_alloc alloc = bind_alloc(L);
  lua_Integer count = luaL_len(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    const blis_batch_sums sums = check_step(L, lua_gettop(L));
    lua_pop(L, 1);
    blis_step_parts parts = {0};
    blis_error error = {0};
    check_status(L, blis_latency_step_parts(&alloc, &config, &sums, &parts, &error), &error);
    push_parts(L, &parts);
    lua_rawseti(L, 3, i);
  }
  lua_pushvalue(L, 3);
  return 1;
}
