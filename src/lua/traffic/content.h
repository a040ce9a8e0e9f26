/*
 * content.h - the content of a prompt as scripts write it: a number of private
 * tokens, or { { "system", 64 }, { "chat 7", 300 }, 20 }, named content first.
 * Tokens are equal exactly when name and position are.
 */
#ifndef BLIS_LUA_TRAFFIC_CONTENT_H
#define BLIS_LUA_TRAFFIC_CONTENT_H

#include <lua.h>
#include <stddef.h>

#include "workload/request.h"

/* How a name becomes the number of a stream. */
typedef struct bind_content_names {
  blis_status (*add)(void *ud, const char *name, size_t length, uint32_t *stream);
  void *ud;
} bind_content_names;

/*
 * Reads the content at index: sets prompt_tokens, shared_tokens and segments of
 * a request that is zero otherwise. A buffer with the segments is pushed, or
 * nil. Raises.
 */
blis_request push_content(lua_State *L, int index, const bind_content_names *names);

#endif
