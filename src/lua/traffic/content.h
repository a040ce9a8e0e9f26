/*
 * content.h - the content of a prompt in scripts: a number of unique tokens, or a list that starts
 * with named content, such as { { "system", 64 }, { "chat 7", 300 }, 20 }. Two tokens are equal if
 * and only if they have the same name and position.
 */
#ifndef BLIS_LUA_TRAFFIC_CONTENT_H
#define BLIS_LUA_TRAFFIC_CONTENT_H

#include <lua.h>
#include <stddef.h>

#include "workload/request.h"

/* Maps names to the numbers of streams. */
typedef struct bind_content_names {
  blis_status (*add)(void *ud, const char *name, size_t length, uint32_t *stream);
  void *ud;
} bind_content_names;

/*
 * Reads the content at index: returns a request with prompt_tokens, shared_tokens, and segments;
 * all other members are zero. Pushes a buffer with the segments, or nil. May raise.
 */
blis_request push_content(lua_State *L, int index, const bind_content_names *names);

#endif
