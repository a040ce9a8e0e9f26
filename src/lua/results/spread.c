#include "lua/results/spread.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/results/records.h"

enum { MAX_INTERVALS = 1000 };

static int64_t ttft_us(const blis_record *record) {
  return record->ttft_us;
}

static int64_t e2e_us(const blis_record *record) {
  return blis_record_is_completed(record) ? record->e2e_us : -1;
}

static int64_t scheduling_delay_us(const blis_record *record) {
  return record->scheduling_delay_us;
}

static size_t interval_of(int64_t time_us, int64_t from_us, int64_t to_us,
                          size_t count) {
  if (time_us <= from_us) {
    return 0;
  }
  double share = (double)(time_us - from_us) / (double)(to_us - from_us);
  size_t interval = share < 1 ? (size_t)(share * (double)count) : count - 1;
  return interval < count ? interval : count - 1;
}

int bind_records_spread(lua_State *L) {
  static const char *const names[] = {"ttft_us", "e2e_us",
                                      "scheduling_delay_us", NULL};
  static int64_t (*const time_of[])(const blis_record *) = {
      ttft_us, e2e_us, scheduling_delay_us};
  const bind_records *records = check_records(L, 1);
  int kind = luaL_checkoption(L, 2, NULL, names);
  lua_Integer from_us = luaL_checkinteger(L, 3);
  lua_Integer to_us = luaL_checkinteger(L, 4);
  lua_Integer count = luaL_checkinteger(L, 5);
  luaL_argcheck(L, from_us >= 0 && to_us > from_us, 4,
                "the range ends before it starts");
  luaL_argcheck(L, count >= 1 && count <= MAX_INTERVALS, 5, "from 1 to 1000");
  int64_t counts[MAX_INTERVALS] = {0};
  for (size_t i = 0; i < blis_recorder_count(records->recorder); i++) {
    const blis_record record = blis_recorder_record(records->recorder, i);
    int64_t time_us = time_of[kind](&record);
    if (time_us >= 0) {
      counts[interval_of(time_us, from_us, to_us, (size_t)count)]++;
    }
  }
  lua_createtable(L, (int)count, 0);
  for (lua_Integer i = 0; i < count; i++) {
    lua_pushinteger(L, counts[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}
