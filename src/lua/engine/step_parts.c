#include "lua/engine/step_parts.h"

#include <stdio.h>
#include <string.h>

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

static void push_shape(lua_State *L, const double *shape, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, shape[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* A kernel that was looked up, stored until code that may raise can run. */
typedef struct kept_use {
  blis_kernel_use use;
  double shape[5];
  double nearest[5];
  char gpu[64];
} kept_use;

enum { KEPT_MAX = 128 };

typedef struct kept_uses {
  size_t count;
  kept_use items[KEPT_MAX];
} kept_uses;

static void keep_use(void *ud, const blis_kernel_use *use) {
  kept_uses *kept = ud;
  if (kept->count < KEPT_MAX) {
    kept_use *one = &kept->items[kept->count++];
    one->use = *use;
    memcpy(one->shape, use->shape, use->shape_count * sizeof *use->shape);
    memcpy(one->nearest, use->nearest, use->shape_count * sizeof *use->nearest);
    snprintf(one->gpu, sizeof one->gpu, "%s", use->gpu);
  }
}

static void push_use(lua_State *L, const kept_use *kept) {
  const blis_kernel_use *use = &kept->use;
  lua_createtable(L, 0, 7);
  lua_pushboolean(L, use->is_experts);
  lua_setfield(L, -2, "is_experts");
  set_field_string(L, "format", use->format);
  push_shape(L, kept->shape, use->shape_count);
  lua_setfield(L, -2, "shape");
  set_field_string(L, "source", use->source);
  if (kept->gpu[0] != '\0') {
    set_field_string(L, "gpu", kept->gpu);
    push_shape(L, kept->nearest, use->shape_count);
    lua_setfield(L, -2, "nearest");
    set_field_number(L, "weight", use->weight);
  }
}

int bind_step_kernels(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_engine_model m;
  check_engine_model(L, 1, true, &m);
  const blis_latency_config config = check_latency_config(L, 1, &m);
  kept_uses *kept = push_buffer(L, 1, sizeof *kept);
  kept->count = 0;
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_latency_kernels(&alloc, &config, keep_use, kept, &error), &error);
  lua_createtable(L, (int)kept->count, 0);
  for (size_t i = 0; i < kept->count; i++) {
    push_use(L, &kept->items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
