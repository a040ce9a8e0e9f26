#include "lua/policies/view/token_ids.h"

#include "base/hash.h"
#include "lua/bind/bind.h"
#include "lua/policies/view/view.h"

/* Returns the id of a request's own tokens, which differs from all streams. */
static uint64_t own_stream(const blis_routing_request *request) {
  const uint64_t name[] = {UINT64_C(0x6f776e), (uint64_t)request->number, request->session};
  return blis_hash64(name, sizeof name, 0);
}

static uint32_t token_of(uint64_t stream, uint64_t position) {
  const uint64_t place[] = {stream, position};
  return (uint32_t)blis_hash64(place, sizeof place, 1);
}

/* Sets tokens [first, last) of the prompt, counted from 0, in the table on top of the stack. */
static void set_tokens(lua_State *L, const blis_routing_request *request, uint64_t first,
                       uint64_t last) {
  uint64_t start = 0; /* start of the segment in the prompt */
  for (uint32_t s = 0; s <= request->segment_count; s++) {
    bool is_own = s == request->segment_count;
    const blis_segment *segment = is_own ? NULL : &request->segments[s];
    uint64_t end = is_own ? last : start + segment->length_tokens;
    uint64_t stream = is_own ? own_stream(request) : segment->stream;
    uint64_t offset = is_own ? 0 : segment->offset_tokens;
    uint64_t from = first > start ? first : start;
    for (uint64_t i = from; i < end && i < last; i++) {
      lua_pushinteger(L, token_of(stream, offset + (i - start)));
      lua_rawseti(L, -2, (lua_Integer)(i - first) + 1);
    }
    start = end;
  }
}

int bind_token_ids(lua_State *L) {
  const bind_view *view = bind_vector_pool_of(L)->view;
  if (view == NULL || view->view == NULL) {
    return luaL_error(L, "the tokens of a prompt can be had only during a "
                         "decision about the request");
  }
  luaL_argcheck(L, lua_topointer(L, 1) == view->request_table, 1,
                "expected the request that the policy was called with");
  const blis_routing_request *request = view->request;
  if (request->chain == NULL) {
    return luaL_error(L, "the prompt can be read only while a request is being "
                         "admitted or routed");
  }
  lua_Integer first = luaL_optinteger(L, 2, 1);
  lua_Integer last = luaL_optinteger(L, 3, request->prompt_tokens);
  luaL_argcheck(L, first >= 1, 2, "the first token is 1");
  last = last < request->prompt_tokens ? last : request->prompt_tokens;
  lua_settop(L, 3);
  lua_createtable(L, last >= first ? (int)(last - first + 1) : 0, 0);
  if (last >= first) {
    set_tokens(L, request, (uint64_t)first - 1, (uint64_t)last);
  }
  return 1;
}
