#include "lua/results/record_methods.h"

#include <lauxlib.h>
#include <stdlib.h>

#include "lua/bind/bind.h"
#include "lua/results/records.h"

typedef struct outcomes {
  double *ttft_ms; /* TTFT of all requests; requests that never arrived come last */
  double *e2e_ms;
  size_t count;
  double itl_ms; /* sum of the mean ITL over the requests that have one */
  size_t itl_count;
  size_t completed;
  size_t rejected;
  size_t worst;
  double worst_ms;
} outcomes;

static double ms_of(int64_t us) {
  return (double)us / 1000;
}

static void add(outcomes *all, size_t place, const blis_record *record, int64_t patience_us,
                int64_t end_us) {
  bool is_completed = blis_record_is_completed(record);
  int64_t waited_us = end_us - record->arrival_us;
  double waited_ms = ms_of(waited_us > patience_us ? waited_us : patience_us);
  double ttft_ms = is_completed ? ms_of(record->ttft_us) : waited_ms;
  all->ttft_ms[all->count] = ttft_ms;
  all->e2e_ms[all->count] = is_completed ? ms_of(record->e2e_us) : waited_ms;
  all->count++;
  all->completed += is_completed;
  all->rejected += record->state == BLIS_REQUEST_REJECTED;
  if (is_completed && record->itl_count > 0) {
    all->itl_ms += (double)record->itl_sum_us / record->itl_count / 1000;
    all->itl_count++;
  }
  if (ttft_ms > all->worst_ms) {
    all->worst_ms = ttft_ms;
    all->worst = place;
  }
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Adds the values in the order of the list. */
static double mean_of(const double *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += values[i];
  }
  return count > 0 ? sum / (double)count : 0;
}

/* Returns the 99th percentile. Sorts the values. */
static double percentile99(double *values, size_t count) {
  if (count == 0) {
    return 0;
  }
  qsort(values, count, sizeof *values, compare);
  double rank = 0.99 * (double)(count - 1);
  size_t below = (size_t)rank;
  size_t above = below + 1 < count ? below + 1 : below;
  return values[below] + (rank - (double)below) * (values[above] - values[below]);
}

static void set_latencies(lua_State *L, outcomes *all) {
  set_field_number(L, "ttft_mean_ms", mean_of(all->ttft_ms, all->count));
  set_field_number(L, "e2e_mean_ms", mean_of(all->e2e_ms, all->count));
  set_field_number(L, "ttft_p99_ms", percentile99(all->ttft_ms, all->count));
  set_field_number(L, "e2e_p99_ms", percentile99(all->e2e_ms, all->count));
  set_field_number(L, "itl_mean_ms", all->itl_count > 0 ? all->itl_ms / (double)all->itl_count : 0);
}

int bind_records_outcomes(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  int64_t patience_us = luaL_checkinteger(L, 2);
  int64_t end_us = luaL_checkinteger(L, 3);
  lua_Integer planned = luaL_checkinteger(L, 4);
  luaL_argcheck(L, planned >= 0 && planned <= INT32_MAX, 4, "out of range");
  check_status(L, blis_recorder_sort(records->recorder), NULL);
  size_t arrived = blis_recorder_count(records->recorder);
  size_t room = arrived > (size_t)planned ? arrived : (size_t)planned;
  outcomes all = {.ttft_ms = push_buffer(L, room, sizeof(double)),
                  .e2e_ms = push_buffer(L, room, sizeof(double)),
                  .worst_ms = -1};
  for (size_t i = 0; i < arrived; i++) {
    const blis_record record = blis_recorder_record(records->recorder, i);
    add(&all, i, &record, patience_us, end_us);
  }
  while (all.count < room) {
    all.ttft_ms[all.count] = ms_of(patience_us);
    all.e2e_ms[all.count++] = ms_of(patience_us);
  }
  lua_createtable(L, 0, 9);
  set_latencies(L, &all);
  set_field_integer(L, "offered", (lua_Integer)all.count);
  set_field_integer(L, "completed", (lua_Integer)all.completed);
  set_field_integer(L, "rejected", (lua_Integer)all.rejected);
  if (arrived > 0) {
    set_field_integer(L, "worst", (lua_Integer)all.worst + 1);
  }
  return 1;
}
