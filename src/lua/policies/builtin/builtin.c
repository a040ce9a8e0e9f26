#include "lua/policies/builtin/builtin.h"

#include "lua/bind/bind.h"
#include "policy/registry.h"

blis_params push_params(lua_State *L, int index) {
  lua_getfield(L, index, "parameters");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  blis_params params = {.count = lua_rawlen(L, list)};
  blis_param *items = push_buffer(L, params.count, sizeof *items);
  for (size_t i = 0; i < params.count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    items[i].name = check_field_string(L, -1, "name");
    items[i].key = opt_field_string(L, -1, "key"); /* key of a table entry */
    int type = lua_getfield(L, -1, "value");
    if (type == LUA_TSTRING) {
      items[i].text = lua_tostring(L, -1); /* the definition keeps it alive */
    } else if (type == LUA_TBOOLEAN) {
      items[i].number = lua_toboolean(L, -1);
    } else {
      items[i].number = luaL_checknumber(L, -1);
    }
    lua_pop(L, 2);
  }
  params.items = items;
  return params;
}

#define CHECK_BUILTIN(kind)                                                                        \
  void check_builtin_##kind(lua_State *L, int index, const blis_policy_context *context,           \
                            blis_##kind *made) {                                                   \
    int top = lua_gettop(L);                                                                       \
    const char *name = check_field_string(L, index, "name");                                       \
    const blis_params params = push_params(L, index);                                              \
    blis_alloc alloc = bind_alloc(L);                                                              \
    blis_error error = {0};                                                                        \
    check_status(L, blis_##kind##_create(&alloc, name, &params, context, made, &error), &error);   \
    lua_settop(L, top);                                                                            \
  }

CHECK_BUILTIN(scorer)
CHECK_BUILTIN(filter)
CHECK_BUILTIN(picker)
CHECK_BUILTIN(router)
CHECK_BUILTIN(admission)
CHECK_BUILTIN(cascade)
CHECK_BUILTIN(priority)
CHECK_BUILTIN(autoscaler)
CHECK_BUILTIN(decider)
CHECK_BUILTIN(saturation)
CHECK_BUILTIN(usage_limit)
