/* http_peer.h - a service that responds to queries over HTTP (observe/post.h), as a userdata. */
#ifndef BLIS_LUA_WORKERS_HTTP_PEER_H
#define BLIS_LUA_WORKERS_HTTP_PEER_H

#include <lua.h>

void bind_open_http_peers(lua_State *L);

/*
 * http_peer(url): returns a service. peer:ask(question, timeout_ms) returns the body of the
 * response, or nil and an error message. Raises in a sandbox, and if libcurl is missing.
 */
int bind_http_peer_new(lua_State *L);

#endif
