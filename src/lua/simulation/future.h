/*
 * future.h - the arrivals of a workload, read in advance for an oracle.
 *
 * Requests that follow responses, such as the next rounds of closed loops, are not included.
 */
#ifndef BLIS_LUA_SIMULATION_FUTURE_H
#define BLIS_LUA_SIMULATION_FUTURE_H

#include <lua.h>

#include "base/array.h"
#include "lua/traffic/source.h"
#include "policy/autoscale/autoscaler.h"

/* Must be zeroed before use. */
typedef struct bind_future {
  blis_alloc alloc;
  bind_source source; /* source while it is read */
  BLIS_ARRAY(blis_scale_arrival) arrivals;
  blis_scale_future future; /* borrows these */
} bind_future;

/*
 * Reads the workload at index from its beginning to its end. May raise;
 * bind_future_close can be called in any case.
 */
void check_future(lua_State *L, int index, bind_future *future);

/* Idempotent. Never raises. */
void bind_future_close(bind_future *future);

#endif
