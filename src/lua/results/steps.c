#include "lua/results/steps.h"

#include "lua/bind/bind.h"

static const struct {
  const char *name;
  size_t offset;
} columns[] = {
#define COLUMN(name)                                                                               \
  { #name, offsetof(blis_step_entry, name) }
    COLUMN(steps),           COLUMN(start_us),         COLUMN(end_us),
    COLUMN(busy_us),         COLUMN(prefill_requests), COLUMN(prefill_tokens),
    COLUMN(decode_requests), COLUMN(in_front_end),     COLUMN(waiting),
    COLUMN(used_kv_blocks),
#undef COLUMN
};

static void push_list(lua_State *L, const blis_step_list *list) {
  const size_t count = sizeof columns / sizeof columns[0];
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, (int)list->entries.count, 0);
    for (size_t k = 0; k < list->entries.count; k++) {
      const char *entry = (const char *)&list->entries.items[k];
      lua_pushinteger(L, *(const int64_t *)(entry + columns[i].offset));
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, columns[i].name);
  }
}

void push_steps(lua_State *L, const blis_step_log *log) {
  lua_createtable(L, 0, 2);
  set_field_integer(L, "merged", log->merged);
  lua_createtable(L, (int)log->lists.count, 0);
  for (size_t i = 0; i < log->lists.count; i++) {
    push_list(L, &log->lists.items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}
