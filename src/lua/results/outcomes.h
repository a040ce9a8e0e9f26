/*
 * outcomes.h - latencies over all requests that were to come, for evaluations:
 * one that was never served has waited.
 */
#ifndef BLIS_LUA_RESULTS_OUTCOMES_H
#define BLIS_LUA_RESULTS_OUTCOMES_H

#include <lua.h>

/*
 * outcomes(patience_us, end_us, planned): ttft and e2e in ms, mean and 99th
 * percentile (rank p (n - 1), interpolated), over the requests and as many
 * more, that never came, as make planned. One that was not completed counts
 * with the time from its arrival to end_us, or patience_us if that is more.
 * {ttft_mean_ms=, ttft_p99_ms=, e2e_mean_ms=, e2e_p99_ms=, itl_mean_ms=,
 * offered=, completed=, rejected=, worst=}, the last one the place of the
 * request with the longest TTFT, nil without any.
 */
int bind_records_outcomes(lua_State *L);

#endif
