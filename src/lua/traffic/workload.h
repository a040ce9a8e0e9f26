/*
 * lua_workload.h - requests as Lua sees them: lists in memory (traces,
 * generated workloads) and the sources that simulations read.
 */
#ifndef BLIS_LUA_TRAFFIC_WORKLOAD_H
#define BLIS_LUA_TRAFFIC_WORKLOAD_H

#include <lua.h>

#include "workload/statistics.h"
#include "workload/workload.h"

#define WORKLOAD_TYPE "blis.workload"

void bind_open_workloads(lua_State *L);

/*
 * workload(spec, notes): a list of everything that a specification generates,
 * with notes, a list of texts.
 */
int bind_workload_new(lua_State *L);

/* workload_methods(): the table of the methods, for the Lua half to add to. */
int bind_workload_methods(lua_State *L);

/*
 * check_distribution(spec, where), check_arrival(spec, where): raise what is
 * wrong with a part of a specification. The latter returns what a user should
 * hear of it, if there is something.
 */
int bind_check_distribution(lua_State *L);
int bind_check_arrival(lua_State *L);

/* Pushes a userdata without requests; set *workload to give it some. */
blis_workload **push_workload(lua_State *L);

/* Pushes request index as a table. */
void push_workload_request(lua_State *L, const blis_workload *workload,
                           size_t index);

/* The same with any request. */
void push_recorded_request(lua_State *L, const blis_request *request,
                           const blis_intern *strings);

/* Pushes what was measured, with the block size that was asked for. */
void push_statistics(lua_State *L, const blis_workload_statistics *measured,
                     lua_Integer block_size);

/* The block size that is argument 2 of statistics([block_size]). */
uint32_t check_block_size(lua_State *L);

/* Pushes the notes as a list. */
void push_notes(lua_State *L, const blis_workload *workload);

/* Raises when the value is no workload. */
const blis_workload *check_workload(lua_State *L, int index);

/* The requests of one run and what they come from. Zero it first. */
typedef struct bind_source {
  struct blis_generator *generator;
  struct blis_replay *replay;
  struct blis_trace_cursor *stream;
  struct blis_source_copy *copy; /* NULL unless requests are kept */
  blis_workload_cursor cursor;
  blis_request_source source; /* valid while the bind_source does not move */
} bind_source;

/*
 * Starts *source from the value at index: a workload userdata, which must then
 * outlive it (the table of a replay, too), a stream, or a specification. May
 * raise, and leaves *source so that bind_source_close can be called in any
 * case.
 */
void check_source(lua_State *L, int index, bind_source *source);

/* From here on the requests are kept. */
void check_source_copy(lua_State *L, bind_source *source);

/* Idempotent. Never raises. */
void bind_source_close(bind_source *source);

#endif
