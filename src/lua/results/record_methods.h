/*
 * record_methods.h - methods of a list of requests that compute something from all records. Each
 * function is in the file of its section.
 */
#ifndef BLIS_LUA_RESULTS_RECORD_METHODS_H
#define BLIS_LUA_RESULTS_RECORD_METHODS_H

#include <lua.h>

#include "lua/results/records.h"

/* course.c */

/*
 * Method of a list of requests: course() returns a table with the members of blis_course
 * (results/analysis/course.h); ttft_ms is a list of mean TTFT in ms, false in a part without a
 * first token. O(requests).
 */
int bind_records_course(lua_State *L);

/* load.c */

/*
 * Method of a list of requests: load(instances, to_us, intervals) returns a
 * table of results/load.h: lists arrived and completed, and instances, a list
 * of { waiting = list, running = list }.
 */
int bind_records_load(lua_State *L);

/* Method of a list of requests: slowest(count) lists the indexes of the slowest requests. */
int bind_records_slowest(lua_State *L);

/* outcomes.c */

/*
 * outcomes(patience_us, end_us, planned) returns {ttft_mean_ms=, ttft_p99_ms=, e2e_mean_ms=,
 * e2e_p99_ms=, itl_mean_ms=, offered=, completed=, rejected=, worst=}. TTFT and E2E are in ms, as
 * mean and 99th percentile (rank p (n - 1), interpolated). They cover the requests, plus enough
 * requests that never arrived to reach `planned`. A request that was not completed counts with the
 * time from its arrival to end_us, or patience_us if that is more. `worst` is the position of the
 * request with the longest TTFT; nil without requests.
 */
int bind_records_outcomes(lua_State *L);

/* spread.c */

/*
 * Method of a list of requests: spread(name, from_us, to_us, intervals) counts the requests by a
 * time in `intervals` equal intervals. The time is "ttft_us", "itl_us" (the request's mean),
 * "e2e_us", or "scheduling_delay_us". Times outside count in the nearest interval; requests without
 * that time are omitted. O(requests).
 */
int bind_records_spread(lua_State *L);

/*
 * Method of a list of requests: over_time(name, to_us, intervals, quantiles) returns, for each
 * quantile (0 to 1), a list of the quantile of a time in us over `intervals` equal intervals of the
 * arrivals from 0 to to_us; false in an interval without such requests. O(requests).
 */
int bind_records_over_time(lua_State *L);

/*
 * Method of a list of requests: within(name, limits_us) counts the requests
 * with such a time within each of the ascending limits, as a list, and returns
 * how many have that time at all. O(requests * log limits).
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
 * Lists are nil if they have too few requests.
 */
int bind_records_batches(lua_State *L);

/* mser5(series) -> values to drop, is_settled */
int bind_mser5(lua_State *L);

/* tasks.c */

/* Pushes the metrics of the tasks. Returns false, and pushes nothing, without graphs. */
bool push_tasks(lua_State *L, const bind_records *records, int64_t duration_us);

/* records:tasks(): a list of { program =, state =, ... }, empty without. Raises
   for the requests of graphs in a file of a result, which has no tasks. */
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
