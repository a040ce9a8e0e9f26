#include "lua/results/record_methods.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/results/records.h"
#include "results/analysis/time_course.h"

enum { MAX_INTERVALS = 1000 };

enum { MAX_LIMITS = 1000 };

static int64_t ttft_us(const blis_record *record) {
  return record->ttft_us;
}

static int64_t e2e_us(const blis_record *record) {
  return blis_record_is_completed(record) ? record->e2e_us : -1;
}

static int64_t scheduling_delay_us(const blis_record *record) {
  return record->scheduling_delay_us;
}

/* Returns the mean ITL of the request, rounded up, which does not move a value below a limit. */
static int64_t itl_us(const blis_record *record) {
  if (!blis_record_is_completed(record) || record->itl_count == 0) {
    return -1;
  }
  int64_t count = (int64_t)record->itl_count;
  return (record->itl_sum_us + count - 1) / count;
}

/* Returns the reader of the time that argument 2 names. */
static blis_record_time check_time(lua_State *L, const char *function) {
  static const char *const names[] = {"ttft_us", "itl_us", "e2e_us", "scheduling_delay_us", NULL};
  static const blis_record_time readers[] = {ttft_us, itl_us, e2e_us, scheduling_delay_us};
  return readers[check_word_of(L, 2, function, names)];
}

static size_t interval_of(int64_t time_us, int64_t from_us, int64_t to_us, size_t count) {
  if (time_us <= from_us) {
    return 0;
  }
  double share = (double)(time_us - from_us) / (double)(to_us - from_us);
  size_t interval = share < 1 ? (size_t)(share * (double)count) : count - 1;
  return interval < count ? interval : count - 1;
}

int bind_records_spread(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  blis_record_time time_of = check_time(L, "requests:spread");
  lua_Integer from_us = luaL_checkinteger(L, 3);
  lua_Integer to_us = luaL_checkinteger(L, 4);
  lua_Integer count = luaL_checkinteger(L, 5);
  luaL_argcheck(L, from_us >= 0 && to_us > from_us, 4, "the range ends before it starts");
  luaL_argcheck(L, count >= 1 && count <= MAX_INTERVALS, 5, "from 1 to 1000");
  int64_t counts[MAX_INTERVALS] = {0};
  for (size_t i = 0; i < blis_recorder_count(records->recorder); i++) {
    const blis_record record = blis_recorder_record(records->recorder, i);
    int64_t time_us = time_of(&record);
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

/* Returns the index of the first of the ascending limits that is not exceeded by a time; count =
   none. */
static size_t first_limit(const int64_t *limits_us, size_t count, int64_t time_us) {
  size_t low = 0;
  while (low < count) {
    size_t middle = (low + count) / 2;
    if (limits_us[middle] < time_us) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

static size_t check_limits(lua_State *L, int64_t limits_us[MAX_LIMITS]) {
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 3);
  luaL_argcheck(L, count >= 1 && count <= MAX_LIMITS, 3, "expected 1 to 1000 limits");
  for (lua_Integer i = 0; i < count; i++) {
    lua_geti(L, 3, i + 1);
    limits_us[i] = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    luaL_argcheck(L, i == 0 || limits_us[i] >= limits_us[i - 1], 3,
                  "expected limits in ascending order");
  }
  return (size_t)count;
}

int bind_records_within(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  blis_record_time time_of = check_time(L, "requests:within");
  int64_t limits_us[MAX_LIMITS];
  size_t count = check_limits(L, limits_us);
  int64_t counts[MAX_LIMITS + 1] = {0};
  for (size_t i = 0; i < blis_recorder_count(records->recorder); i++) {
    const blis_record record = blis_recorder_record(records->recorder, i);
    int64_t time_us = time_of(&record);
    if (time_us >= 0) {
      counts[first_limit(limits_us, count, time_us)]++;
    }
  }
  lua_createtable(L, (int)count, 0);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += counts[i];
    lua_pushinteger(L, sum);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, sum + counts[count]);
  return 2;
}

enum { MAX_QUANTILES = 10 };

static size_t check_quantiles(lua_State *L, int index, double quantiles[MAX_QUANTILES]) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer count = luaL_len(L, index);
  luaL_argcheck(L, count >= 1 && count <= MAX_QUANTILES, index, "expected 1 to 10 quantiles");
  for (lua_Integer i = 0; i < count; i++) {
    lua_geti(L, index, i + 1);
    quantiles[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
    luaL_argcheck(L, quantiles[i] >= 0 && quantiles[i] <= 1, index,
                  "expected quantiles from 0 to 1");
  }
  return (size_t)count;
}

static int time_course_gc(lua_State *L) {
  blis_time_course_deinit(lua_touserdata(L, 1));
  return 0;
}

/* Pushes the list of a quantile. An interval without requests is false, so that the list has no
   holes. */
static void push_quantile(lua_State *L, const blis_time_course *course, size_t quantile) {
  lua_createtable(L, (int)course->interval_count, 0);
  for (size_t k = 0; k < course->interval_count; k++) {
    if (course->counts[k] > 0) {
      lua_pushnumber(L, course->quantiles[k * course->quantile_count + quantile]);
    } else {
      lua_pushboolean(L, false);
    }
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
}

int bind_records_over_time(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  blis_record_time time_of = check_time(L, "requests:over_time");
  lua_Integer to_us = luaL_checkinteger(L, 3);
  lua_Integer intervals = luaL_checkinteger(L, 4);
  luaL_argcheck(L, to_us >= 1, 3, "expected at least 1");
  luaL_argcheck(L, intervals >= 1 && intervals <= MAX_INTERVALS, 4, "expected 1 to 1000");
  double quantiles[MAX_QUANTILES];
  size_t count = check_quantiles(L, 5, quantiles);
  blis_alloc alloc = bind_alloc(L);
  blis_time_course *course = push_guarded(L, 1, sizeof *course, time_course_gc);
  check_status(L,
               blis_time_course_init(course, &alloc, records->recorder, time_of, to_us,
                                     (size_t)intervals, quantiles, count),
               NULL);
  lua_createtable(L, (int)count, 0);
  for (size_t q = 0; q < count; q++) {
    push_quantile(L, course, q);
    lua_rawseti(L, -2, (lua_Integer)q + 1);
  }
  blis_time_course_deinit(course);
  return 1;
}
