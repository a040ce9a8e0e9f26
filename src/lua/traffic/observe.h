/* observe.h - a client for real endpoints (observe/observe.h), if the program was built with
   libcurl. */
#ifndef BLIS_LUA_TRAFFIC_OBSERVE_H
#define BLIS_LUA_TRAFFIC_OBSERVE_H

#include <lua.h>

/*
 * observe(workload, {url =, model =, key =, is_chat =, ignores_eos =, keeps_events =, vocabulary =,
 * speed =, most_outstanding =, stall_seconds =}): sends the requests and returns a table with lists
 * by index in the workload: due_us, sent_us, first_us, last_us (-1 = never), events, prompt_tokens,
 * output_tokens, cached_tokens, status, finish, problem (false = none), event_us (lists, with
 * keeps_events). The table also contains sent, started_unix_us, ended_us, and was_interrupted.
 */
int bind_observe(lua_State *L);

/*
 * observed_write(workload, observed, path): writes the requests, with the result of observe, as
 * TraceV2 (path.csv and path.yaml). Requests that were not sent have the status "incomplete".
 */
int bind_observed_write(lua_State *L);

/* Returns the version of libcurl, or NULL if it is not installed or blis was built without it.
   Static. */
const char *bind_observe_version(void);

/* observe_library(): returns the version of libcurl, or nil. */
int bind_observe_library(lua_State *L);

#endif
