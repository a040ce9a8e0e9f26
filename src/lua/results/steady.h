/*
 * steady.h - methods of a list of requests for what they say of the steady
 * state, see results/arrivals.h.
 */
#ifndef BLIS_LUA_RESULTS_STEADY_H
#define BLIS_LUA_RESULTS_STEADY_H

#include <lua.h>

/* requests:warm_up() -> from_us, is_settled */
int bind_records_warm_up(lua_State *L);

/*
 * requests:batches(from_us, { { latency =, share =, limit_ms = }, ... }), where
 * share is missing for a mean, returns
 * { arrived =, completed =, span_us =, e2e_us =, missed = { by batch },
 *   ttft = { mean by batch }, e2e = ..., targets = { { value_ms =, batches = {
 *   share beyond the limit, or mean in ms }, tail = { share beyond value_ms }
 * },
 *   ... } }.
 * Lists are nil when there are too few requests for them.
 */
int bind_records_batches(lua_State *L);

/* mser5(series) -> values to drop, is_settled */
int bind_mser5(lua_State *L);

#endif
