#include "lua/engine/batch.h"

#include <string.h>

#include "lua/bind/bind.h"

#define BATCH_TYPE "blis.batch"

/* Far below the maximum of the sums over a batch. */
static const lua_Integer TOKENS_MAX = 1000000000;

/* In the order in which error messages list them. */
static const struct {
  const char *name;
  size_t offset;
} sum_fields[] = {
    {"requests", offsetof(blis_batch_sums, requests)},
    {"prefill_tokens", offsetof(blis_batch_sums, prefill_tokens)},
    {"decode_requests", offsetof(blis_batch_sums, decode_requests)},
    {"decode_context_tokens", offsetof(blis_batch_sums, decode_context_tokens)},
    {"prefill_attention", offsetof(blis_batch_sums, prefill_attention)},
    {"prefill_pairs", offsetof(blis_batch_sums, prefill_pairs)},
    {"prefill_context_tokens", offsetof(blis_batch_sums, prefill_context_tokens)},
};

enum { SUM_COUNT = sizeof sum_fields / sizeof *sum_fields };

static int64_t *sum_at(blis_batch_sums *sums, int field) {
  return (int64_t *)((char *)sums + sum_fields[field].offset);
}

static int item_index(lua_State *L) {
  return luaL_error(L,
                    "a request of a batch has no field '%s'; it has "
                    "progress_tokens, new_tokens, prompt_tokens, is_prefill "
                    "and is_decode",
                    luaL_tolstring(L, 2, NULL));
}

/* Pushes the table of item k. Creates it if k is read for the first time. */
static void push_item_table(lua_State *L, int pool, lua_Integer k) {
  if (lua_rawgeti(L, pool, k) == LUA_TTABLE) {
    return;
  }
  lua_pop(L, 1);
  lua_createtable(L, 0, 5);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, item_index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, pool, k);
}

static void set_item(lua_State *L, const blis_batch_item *item) {
  bool is_prefill = item->progress_tokens < item->prompt_tokens;
  set_field_integer(L, "progress_tokens", item->progress_tokens);
  set_field_integer(L, "new_tokens", item->new_tokens);
  set_field_integer(L, "prompt_tokens", item->prompt_tokens);
  lua_pushboolean(L, is_prefill);
  lua_setfield(L, -2, "is_prefill");
  lua_pushboolean(L, !is_prefill && item->output_tokens > 0);
  lua_setfield(L, -2, "is_decode");
}

/* Handles a missing field: an item that was not read yet, or a mistake. */
static int batch_index(lua_State *L) {
  enum { POOL = lua_upvalueindex(2) };
  bind_batch *batch = lua_touserdata(L, lua_upvalueindex(1));
  int is_integer = 0;
  lua_Integer k = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer || lua_type(L, 2) != LUA_TNUMBER) {
    return luaL_error(L,
                      "a batch has no field '%s'; it has requests, "
                      "prefill_tokens, decode_requests, decode_context_tokens, "
                      "prefill_attention, prefill_pairs, "
                      "prefill_context_tokens and its requests from 1 on",
                      luaL_tolstring(L, 2, NULL));
  }
  if (!batch->is_shown) {
    return luaL_error(L, "the requests of a batch can be read only while its "
                         "step time is computed");
  }
  if (batch->items == NULL) {
    return luaL_error(L, "with from_sums = true a batch has only sums, no requests");
  }
  if (k < 1 || (size_t)k > batch->count) {
    lua_pushnil(L);
    return 1;
  }
  push_item_table(L, POOL, k);
  set_item(L, &batch->items[k - 1]);
  lua_pushvalue(L, -1);
  lua_rawseti(L, 1, k);
  if ((size_t)k > batch->shown) {
    batch->shown = (size_t)k;
  }
  return 1;
}

static int batch_len(lua_State *L) {
  const bind_batch *batch = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushinteger(L, batch->held.requests);
  return 1;
}

bind_batch *push_batch(lua_State *L) {
  lua_createtable(L, 0, SUM_COUNT);
  lua_createtable(L, 0, 4); // [batch, meta]
  bind_batch *batch = push_buffer(L, 1, sizeof *batch);
  luaL_newmetatable(L, BATCH_TYPE);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, batch_len, 1);
  lua_setfield(L, -3, "__len");
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "blis.batch");
  lua_newtable(L);
  lua_pushcclosure(L, batch_index, 2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  memset(&batch->held, 0xff, sizeof batch->held); /* differs from all sums, which are never
                                                     negative */
  return batch;
}

void hide_batch(lua_State *L, int index, bind_batch *batch) {
  batch->is_shown = false;
  batch->items = NULL;
  batch->count = 0;
  for (; batch->shown > 0; batch->shown--) {
    lua_pushnil(L);
    lua_rawseti(L, index, (lua_Integer)batch->shown);
  }
}

void set_batch(lua_State *L, int index, bind_batch *batch, const blis_batch_sums *sums,
               const blis_batch_item *items, size_t count) {
  blis_batch_sums now = *sums;
  hide_batch(L, index, batch); /* items remain after an error */
  lua_pushvalue(L, index);
  for (int i = 0; i < SUM_COUNT; i++) {
    int64_t value = *sum_at(&now, i);
    int64_t *held = sum_at(&batch->held, i);
    if (*held != value) {
      set_field_integer(L, sum_fields[i].name, value);
      *held = value;
    }
  }
  lua_pop(L, 1);
  batch->items = items;
  batch->count = count;
  batch->is_shown = true;
}

/* Returns the structure of the table at index if it is the table of a step, otherwise NULL. */
static const bind_batch *to_batch(lua_State *L, int index) {
  if (luaL_getmetafield(L, index, "blis.batch") == LUA_TNIL) {
    return NULL;
  }
  const bind_batch *batch = luaL_testudata(L, -1, BATCH_TYPE);
  lua_pop(L, 1); /* the table keeps it alive */
  return batch;
}

static const struct {
  const char *names[2];
  size_t offset;
} item_fields[] = {
    {{"progress", "progress_tokens"}, offsetof(blis_batch_item, progress_tokens)},
    {{"new", "new_tokens"}, offsetof(blis_batch_item, new_tokens)},
    {{"prompt", "prompt_tokens"}, offsetof(blis_batch_item, prompt_tokens)},
    {{"output", "output_tokens"}, offsetof(blis_batch_item, output_tokens)},
};

enum { ITEM_FIELDS = sizeof item_fields / sizeof *item_fields };

/* Pushes field i of the item at index, found by position or by one of its names. */
static void push_given_field(lua_State *L, int index, int i) {
  for (int k = 0; k < 2; k++) {
    if (lua_getfield(L, index, item_fields[i].names[k]) != LUA_TNIL) {
      return;
    }
    lua_pop(L, 1);
  }
  lua_rawgeti(L, index, i + 1);
}

static void check_item_keys(lua_State *L, int index, lua_Integer number) {
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pop(L, 1);
    bool is_known = lua_type(L, -1) == LUA_TNUMBER;
    const char *key = is_known ? "" : luaL_tolstring(L, -1, NULL);
    for (int i = 0; i < ITEM_FIELDS && !is_known; i++) {
      is_known =
          strcmp(key, item_fields[i].names[0]) == 0 || strcmp(key, item_fields[i].names[1]) == 0;
    }
    if (!is_known) {
      luaL_error(L,
                 "request %I of the batch: unknown field '%s'; a request is "
                 "{ progress =, new =, prompt =, output = }",
                 (LUAI_UACINT)number, key);
    }
    lua_settop(L, index + 1); /* only the key */
  }
}

/* Reads the item at index, which must be absolute. */
static blis_batch_item check_item(lua_State *L, int index, lua_Integer number) {
  static const lua_Integer minima[ITEM_FIELDS] = {0, 1, 0, 0};
  blis_batch_item item = {.output_tokens = 1};
  check_item_keys(L, index, number);
  for (int i = 0; i < ITEM_FIELDS; i++) {
    const char *name = item_fields[i].names[0];
    push_given_field(L, index, i);
    int is_integer = 0;
    lua_Integer value = lua_tointegerx(L, -1, &is_integer);
    bool is_optional = strcmp(name, "progress") == 0 || strcmp(name, "output") == 0;
    if (lua_isnil(L, -1) && is_optional) {
      lua_pop(L, 1);
      continue;
    }
    is_integer = is_integer && lua_type(L, -1) == LUA_TNUMBER;
    if (!is_integer || value < minima[i] || value > TOKENS_MAX) {
      luaL_error(L,
                 "request %I of the batch: %s is %s, expected an integer from "
                 "%I to %I",
                 (LUAI_UACINT)number, name, push_what(L, -1), (LUAI_UACINT)minima[i],
                 (LUAI_UACINT)TOKENS_MAX);
    }
    *(int64_t *)((char *)&item + item_fields[i].offset) = value;
    lua_pop(L, 1);
  }
  return item;
}

bind_given_batch check_batch(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  const bind_batch *shown = to_batch(L, index);
  if (shown != NULL) {
    luaL_argcheck(L, shown->is_shown, index,
                  "this batch is over; keep numbers instead of the batch");
    lua_pushnil(L);
    return (bind_given_batch){.items = shown->items, .count = shown->count, .sums = shown->held};
  }
  size_t count = lua_rawlen(L, index);
  blis_batch_item *items = push_buffer(L, count, sizeof *items);
  for (size_t i = 0; i < count; i++) {
    lua_Integer number = (lua_Integer)i + 1;
    lua_rawgeti(L, index, number);
    if (lua_type(L, -1) != LUA_TTABLE) {
      luaL_error(L,
                 "request %I of the batch is a %s, expected a table "
                 "{ progress =, new =, prompt =, output = }",
                 (LUAI_UACINT)number, luaL_typename(L, -1));
    }
    items[i] = check_item(L, lua_gettop(L), number);
    lua_pop(L, 1);
  }
  return (bind_given_batch){
      .items = items, .count = count, .sums = blis_batch_sums_of(items, count)};
}

blis_batch_sums check_batch_sums(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  blis_batch_sums sums = {0};
  for (int i = 0; i < SUM_COUNT; i++) {
    const char *name = sum_fields[i].name;
    int64_t value = opt_field_integer(L, index, name, 0);
    if (value < 0) {
      luaL_error(L, "%s is %I, expected at least 0", name, (LUAI_UACINT)value);
    }
    *sum_at(&sums, i) = value;
  }
  return sums;
}
