#include "lua/policies/view/decision.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "lua/bind/bind.h"

bind_decider check_decider(lua_State *L, int index, bind_view *view, const char *kind,
                           const char *field) {
  bind_decider decider = {.view = view, .kind = kind};
  snprintf(decider.name, sizeof decider.name, "%s", check_field_string(L, index, "name"));
  decider.function = push_hook_field(L, index, field, view->hooks);
  return decider;
}

void *check_copy(lua_State *L, const void *made, size_t size) {
  blis_alloc alloc = bind_alloc(L);
  void *copy = blis_alloc_new(&alloc, size);
  if (copy == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return memcpy(copy, made, size);
}

void check_reason_text(lua_State *L, int index, char *reason, size_t size) {
  if (lua_type(L, index) != LUA_TSTRING) {
    luaL_error(L, "the reason is a %s, expected a string", luaL_typename(L, index));
  }
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (strlen(text) != length) {
    luaL_error(L, "the reason has a zero byte in it");
  }
  if (length >= size) {
    length = size - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
      length--; /* not at the start of a character */
    }
  }
  memcpy(reason, text, length);
  reason[length] = '\0';
}

typedef struct entry {
  const bind_decider *decider;
  bind_body body;
  void *call;
} entry;

static int enter(lua_State *L) {
  const entry *entered = lua_touserdata(L, 1);
  const bind_decider *decider = entered->decider;
  bind_hooks_anchor(L, decider->view->hooks);
  BLIS_ASSERT(lua_gettop(L) == AT_ANCHOR);
  if (decider->function != 0) {
    lua_rawgeti(L, AT_ANCHOR, decider->function);
    push_view_request(L, decider->view, AT_ANCHOR);
  }
  entered->body(L, entered->call);
  return 0;
}

blis_status bind_decide(const bind_decider *decider, const blis_routing_request *request,
                        const blis_routing_view *candidates, bind_body body, void *call,
                        blis_error *error) {
  bind_view *view = decider->view;
  const bool follows = request->number < 0;
  const bind_request_name name = {
      .number = request->number,
      .session = follows ? blis_intern_text(request->strings, request->session) : NULL,
      .round_index = request->round_index};
  const bind_hook_place place = {
      .kind = decider->kind, .name = decider->name, .request = &name, .now_us = candidates->now_us};
  entry entered = {.decider = decider, .body = body, .call = call};
  BLIS_ASSERT(view->request == NULL && view->view == NULL);
  view->request = request;
  view->view = candidates;
  view->peers = NULL;
  view->peer = request->stage != 0 ? request->peer : -1;
  view->scorings = 0;
  bind_vector_scope scope = bind_vector_enter(view->pool, view);
  blis_status status = bind_pcall(view->hooks, &place, enter, &entered, error);
  BLIS_ASSERT(view->view == candidates && view->pool->view == view);
  bind_vector_leave(view->pool, scope);
  view->request = NULL;
  view->view = NULL;
  return status;
}
