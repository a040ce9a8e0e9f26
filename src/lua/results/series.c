#include "lua/results/series.h"

#include "lua/bind/bind.h"

static void set_times(lua_State *L, const blis_series *series) {
  lua_createtable(L, (int)series->rows, 0);
  for (size_t row = 0; row < series->rows; row++) {
    lua_pushinteger(L, (lua_Integer)row * series->interval_us);
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  lua_setfield(L, -2, "t_us");
}

static void set_count(lua_State *L, const blis_series *series, blis_series_count count) {
  lua_createtable(L, (int)series->rows, 0);
  for (size_t row = 0; row < series->rows; row++) {
    lua_pushinteger(L, blis_series_at(series, row, count));
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  lua_setfield(L, -2, blis_series_count_name(count));
}

static void push_instance(lua_State *L, const blis_series *series, uint32_t instance) {
  enum { QUEUE = 1, BATCH, KV };
  int top = lua_gettop(L);
  for (int column = QUEUE; column <= KV; column++) {
    lua_createtable(L, (int)series->rows, 0);
  }
  for (size_t row = 0; row < series->rows; row++) {
    const blis_series_instance *seen = blis_series_instance_at(series, row, instance);
    lua_Integer place = (lua_Integer)row + 1;
    lua_pushinteger(L, seen->queue_depth);
    lua_rawseti(L, top + QUEUE, place);
    lua_pushinteger(L, seen->batch_size);
    lua_rawseti(L, top + BATCH, place);
    lua_pushnumber(L, seen->kv_utilization);
    lua_rawseti(L, top + KV, place);
  }
  lua_createtable(L, 0, 3);
  lua_insert(L, top + QUEUE); // [.., table, queue, batch, kv]
  lua_setfield(L, top + 1, "kv_utilization");
  lua_setfield(L, top + 1, "batch_size");
  lua_setfield(L, top + 1, "queue_depth");
}

static void push_band(lua_State *L, const blis_series *series, int64_t priority) {
  lua_createtable(L, 0, 2);
  set_field_integer(L, "priority", priority);
  lua_createtable(L, (int)series->rows, 0);
  for (size_t row = 0; row < series->rows; row++) {
    lua_pushinteger(L, blis_series_waiting(series, row, priority));
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  lua_setfield(L, -2, "waiting");
}

/* Sets the columns of the gateway queue. The number of bands never decreases from row to row. */
static void set_queue(lua_State *L, const blis_series *series) {
  if (series->saturations.count < series->rows || series->rows == 0) {
    return;
  }
  lua_createtable(L, (int)series->rows, 0);
  for (size_t row = 0; row < series->rows; row++) {
    lua_pushnumber(L, series->saturations.items[row]);
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  lua_setfield(L, -2, "saturation");
  size_t start = series->rows == 1 ? 0 : series->band_ends.items[series->rows - 2];
  size_t end = series->band_ends.items[series->rows - 1];
  lua_createtable(L, (int)(end - start), 0);
  for (size_t i = start; i < end; i++) {
    push_band(L, series, series->bands.items[i].priority);
    lua_rawseti(L, -2, (lua_Integer)(i - start) + 1);
  }
  lua_setfield(L, -2, "bands");
}

/* Sets the columns of hand-offs; sets nothing without pools. */
static void set_handoffs(lua_State *L, const blis_series *series) {
  enum { MOVING = 1, WAITING, ON_ONE_LINK, MOVED };
  static const char *const names[] = {"transfers", "waiting_for_room", "transfers_on_one_link",
                                      "moved_gb"};
  int top = lua_gettop(L);
  if (series->handoffs.count == 0) {
    return;
  }
  for (int column = MOVING; column <= MOVED; column++) {
    lua_createtable(L, (int)series->rows, 0);
  }
  for (size_t row = 0; row < series->handoffs.count; row++) {
    const blis_series_handoffs *seen = &series->handoffs.items[row];
    lua_Integer place = (lua_Integer)row + 1;
    lua_pushinteger(L, seen->moving);
    lua_rawseti(L, top + MOVING, place);
    lua_pushinteger(L, seen->waiting);
    lua_rawseti(L, top + WAITING, place);
    lua_pushinteger(L, seen->on_one_link);
    lua_rawseti(L, top + ON_ONE_LINK, place);
    lua_pushnumber(L, seen->moved_bytes / 1e9);
    lua_rawseti(L, top + MOVED, place);
  }
  for (int column = MOVED; column >= MOVING; column--) {
    lua_setfield(L, top, names[column - 1]);
  }
}

/* Pushes the name of a link. Each instance has two links, out and in. The fabric is the last
   link. */
static void push_link_name(lua_State *L, size_t link, bool is_fabric, int id_digits) {
  if (is_fabric) {
    lua_pushliteral(L, "fabric");
  } else {
    push_instance_id(L, (int64_t)(link / 2), id_digits);
    lua_pushstring(L, link % 2 == 0 ? " out" : " in");
    lua_concat(L, 2);
  }
}

static void push_link(lua_State *L, const blis_series *series, size_t link, int id_digits) {
  const size_t count = series->link_count;
  lua_createtable(L, 0, 3);
  push_link_name(L, link, count % 2 == 1 && link == count - 1, id_digits);
  lua_setfield(L, -2, "name");
  lua_createtable(L, (int)series->rows, 0);
  lua_createtable(L, (int)series->rows, 0);
  for (size_t row = 0; row < series->rows; row++) {
    const blis_series_link_use use = blis_series_link_at(series, row, link);
    lua_pushnumber(L, use.utilization);
    lua_rawseti(L, -3, (lua_Integer)row + 1);
    lua_pushnumber(L, use.mean_depth);
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  lua_setfield(L, -3, "mean_depth");
  lua_setfield(L, -2, "utilization");
}

/* Sets the columns of links that were used by the last row. */
static void set_links(lua_State *L, const blis_series *series, int id_digits) {
  size_t count = series->link_count;
  if (count == 0 || series->rows == 0) {
    return;
  }
  const blis_series_link *last = &series->links.items[(series->rows - 1) * count];
  lua_newtable(L);
  for (size_t link = 0; link < count; link++) {
    if (last[link].busy_us > 0) {
      push_link(L, series, link, id_digits);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  }
  lua_setfield(L, -2, "links");
}

static void push_tier(lua_State *L, const blis_series *series, size_t tier) {
  enum { USED = 1, LOADED, SAVED };
  static const char *const names[] = {"used_blocks", "loaded_blocks", "saved_blocks"};
  lua_createtable(L, 0, 4);
  int top = lua_gettop(L);
  lua_pushstring(L, series->tiers.items[tier].name);
  lua_setfield(L, top, "name");
  for (int column = USED; column <= SAVED; column++) {
    lua_createtable(L, (int)series->rows, 0);
  }
  for (size_t row = 0; row < series->rows; row++) {
    const blis_series_tier *seen = &series->tiers.items[row * series->tier_count + tier];
    lua_Integer place = (lua_Integer)row + 1;
    lua_pushinteger(L, seen->used_blocks);
    lua_rawseti(L, top + USED, place);
    lua_pushinteger(L, seen->loaded_blocks);
    lua_rawseti(L, top + LOADED, place);
    lua_pushinteger(L, seen->saved_blocks);
    lua_rawseti(L, top + SAVED, place);
  }
  for (int column = SAVED; column >= USED; column--) {
    lua_setfield(L, top, names[column - 1]);
  }
}

static void set_tiers(lua_State *L, const blis_series *series) {
  if (series->tier_count == 0 || series->rows == 0) {
    return;
  }
  lua_createtable(L, (int)series->tier_count, 0);
  for (size_t t = 0; t < series->tier_count; t++) {
    push_tier(L, series, t);
    lua_rawseti(L, -2, (lua_Integer)t + 1);
  }
  lua_setfield(L, -2, "kv_tiers");
}

/* Sets the columns of adapters; sets nothing without adapters. */
static void set_adapters(lua_State *L, const blis_series *series) {
  static const struct {
    const char *name;
    size_t offset;
  } columns[] = {
#define COLUMN(name) {#name, offsetof(blis_series_adapters, name)}
      COLUMN(loaded),  COLUMN(loading),    COLUMN(running),
      COLUMN(waiting), COLUMN(free_slots), COLUMN(loads),
#undef COLUMN
  };
  const size_t count = sizeof columns / sizeof *columns;
  if (series->adapters.count == 0) {
    return;
  }
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, (int)series->rows, 0);
    for (size_t row = 0; row < series->rows; row++) {
      const char *seen = (const char *)&series->adapters.items[row];
      lua_pushinteger(L, *(const int64_t *)(seen + columns[i].offset));
      lua_rawseti(L, -2, (lua_Integer)row + 1);
    }
    lua_setfield(L, -2, columns[i].name);
  }
  lua_setfield(L, -2, "lora");
}

void push_series(lua_State *L, const blis_series *series, int id_digits) {
  lua_createtable(L, 0, BLIS_SERIES_COUNT_COUNT + 5);
  set_field_integer(L, "interval_us", series->interval_us);
  set_field_integer(L, "rows", (int64_t)series->rows);
  set_times(L, series);
  for (int count = 0; count < BLIS_SERIES_COUNT_COUNT; count++) {
    set_count(L, series, (blis_series_count)count);
  }
  set_queue(L, series);
  set_handoffs(L, series);
  set_links(L, series, id_digits);
  set_tiers(L, series);
  set_adapters(L, series);
  lua_createtable(L, (int)series->instance_count, 0);
  for (uint32_t i = 0; i < series->instance_count; i++) {
    push_instance(L, series, i);
    push_instance_id(L, i, id_digits);
    lua_setfield(L, -2, "id");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}
