#include "lua/workers/http_peer.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/bind/sandbox.h"

#define HTTP_PEER_TYPE "blis.http_peer"

#ifdef BLIS_HAVE_LIBCURL

#include "observe/post.h"

typedef struct http_peer {
  blis_post *post;
} http_peer;

static int peer_gc(lua_State *L) {
  http_peer *self = luaL_checkudata(L, 1, HTTP_PEER_TYPE);
  blis_post_free(self->post);
  self->post = NULL;
  return 0;
}

static int peer_ask(lua_State *L) {
  const http_peer *self = luaL_checkudata(L, 1, HTTP_PEER_TYPE);
  luaL_argcheck(L, self->post != NULL, 1, "the connection is closed");
  blis_slice question;
  question.data = luaL_checklstring(L, 2, &question.length);
  lua_Integer timeout_ms = luaL_checkinteger(L, 3);
  blis_slice answer;
  blis_error error = {0};
  blis_status status = blis_post_ask(self->post, question, timeout_ms, &answer, &error);
  if (status == BLIS_ERR_IO) {
    lua_pushnil(L);
    lua_pushstring(L, error.message);
    return 2;
  }
  check_status(L, status, &error);
  lua_pushlstring(L, answer.data, answer.length);
  return 1;
}

int bind_http_peer_new(lua_State *L) {
  const char *url = luaL_checkstring(L, 1);
  if (bind_sandbox_of(L) != NULL) {
    return luaL_error(L, "the sandbox has no network");
  }
  http_peer *self = lua_newuserdatauv(L, sizeof *self, 0);
  self->post = NULL;
  luaL_setmetatable(L, HTTP_PEER_TYPE);
  const blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_post_new(&alloc, url, &self->post, &error), &error);
  return 1;
}

#else

static int peer_gc(lua_State *L) {
  (void)L;
  return 0;
}

static int peer_ask(lua_State *L) {
  return luaL_error(L, "this build has no libcurl");
}

int bind_http_peer_new(lua_State *L) {
  return luaL_error(L, bind_sandbox_of(L) != NULL ? "the sandbox has no network"
                                                  : "this build has no libcurl");
}

#endif

static int peer_tostring(lua_State *L) {
  luaL_checkudata(L, 1, HTTP_PEER_TYPE);
  lua_pushliteral(L, "HTTP service");
  return 1;
}

void bind_open_http_peers(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", peer_gc}, {"__tostring", peer_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"ask", peer_ask}, {NULL, NULL}};
  push_new_type(L, HTTP_PEER_TYPE, meta, methods);
  lua_pop(L, 1);
}
