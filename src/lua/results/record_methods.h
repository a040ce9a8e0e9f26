/*
 * record_methods.h - methods of a list of requests that compute something from all records. Each
 * function is implemented in the file that its section names.
 */
#ifndef BLIS_LUA_RESULTS_RECORD_METHODS_H
#define BLIS_LUA_RESULTS_RECORD_METHODS_H

#include <lua.h>

#include "lua/results/records.h"

/* course.c */

/*
 * Method of a list of requests: course() returns a table with the members of blis_course
 * (results/analysis/course.h); ttft_ms is a list of mean TTFT in ms, false for a part without a
 * first token. O(requests).
 */
int bind_records_course(lua_State *L);

/* load.c */

/*
 * Method of a list of requests: load(instances, to_us, intervals) returns the load over time
 * (results/analysis/load.h): the lists arrived and completed, and instances, a list of { waiting =
 * list, running = list }.
 */
int bind_records_load(lua_State *L);

/* Method of a list of requests: slowest(count) lists the indexes of the slowest requests. */
int bind_records_slowest(lua_State *L);

/* outcomes.c */

/*
 * outcomes(patience_us, end_us, planned) returns {ttft_mean_ms=, ttft_p99_ms=, e2e_mean_ms=,
 * e2e_p99_ms=, itl_mean_ms=, offered=, completed=, rejected=, worst=}. TTFT and E2E are means and
 * 99th percentiles (rank p (n - 1), interpolated) in ms. They cover all requests, plus as many
 * requests that never arrived as are needed to reach `planned`. A request that was not completed
 * counts with the larger of patience_us and the time from its arrival to end_us. `worst` is the
 * index of the request with the longest TTFT; nil if there are no requests.
 */
int bind_records_outcomes(lua_State *L);

/* spread.c */

/*
 * Method of a list of requests: spread(name, from_us, to_us, intervals) counts the requests by a
 * time in `intervals` equal intervals. The time is "ttft_us", "itl_us" (the mean of the request),
 * "e2e_us", or "scheduling_delay_us". Times outside of the range count in the nearest interval.
 * Requests without that time are omitted. O(requests).
 */
int bind_records_spread(lua_State *L);

/*
 * Method of a list of requests: over_time(name, to_us, intervals, quantiles) returns, for each
 * quantile (0 to 1), a list of the quantile of a time in us over `intervals` equal intervals of the
 * arrivals from 0 to to_us; false in an interval without such requests. O(requests).
 */
int bind_records_over_time(lua_State *L);

/*
 * Method of a list of requests: within(name, limits_us) returns, for each of the ascending limits,
 * the number of requests with a time within the limit, as a list. The second result is the number
 * of requests that have this time. O(requests * log limits).
 */
int bind_records_within(lua_State *L);

/* steady.c */

/* requests:warm_up() -> from_us, is_settled */
int bind_records_warm_up(lua_State *L);

/*
 * requests:batches(from_us, { { latency =, share =, limit_ms = }, ... }) returns the table below.
 * An entry without `share` uses the mean.
 * { arrived =, completed =, span_us =, e2e_us =, missed = { by batch },
 *   ttft = { mean by batch }, e2e = ..., targets = { { value_ms =, batches = {
 *   share beyond the limit, or mean in ms }, tail = { share beyond value_ms } }, ... } }
 * Lists are nil if there are too few requests.
 */
int bind_records_batches(lua_State *L);

/* mser5(series) -> values to drop, is_settled */
int bind_mser5(lua_State *L);

/* tasks.c */

/* Pushes the metrics of the tasks. Returns false, and pushes nothing, without graphs. */
bool push_tasks(lua_State *L, const bind_records *records, int64_t duration_us);

/* records:tasks(): returns a list of { program =, state =, ... }; empty if there are no tasks.
   Raises for requests of graphs that were loaded from a result file, which does not contain
   tasks. */
int bind_records_tasks(lua_State *L);

/* records:measured() -> from_us, to_us; or nil */
int bind_records_measured(lua_State *L);

/* unserved.c */

/*
 * Method of a list of requests: unserved() lists the outcomes of requests that were rejected,
 * failed, unservable, or timed out, each with its reason. An item is { state =, reason =, requests
 * = count, first = index of the first }. Items are in the order of their first requests.
 * O(requests).
 */
int bind_records_unserved(lua_State *L);

/* Deprecated name of unserved(): prints a note, and returns the same list. */
int bind_records_turned_away(lua_State *L);

#endif
