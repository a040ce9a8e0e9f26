#include "lua/bind/fields.h"

#include <string.h>

#include "base/nearest.h"

enum { LIST_SIZE = 1600 };

static const bind_fields *fields_upvalue(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* Adds every name to the list and to the search for the nearest name; returns the number of
   names. */
static size_t offer_all(const bind_fields *fields, bool methods, char *list,
                        blis_nearest *nearest) {
  size_t count = 0;
  for (;; count++) {
    const char *name = NULL;
    if (!methods) {
      name = fields->names[count];
    } else if (fields->methods != NULL) {
      name = fields->methods[count].name;
    }
    if (name == NULL) {
      return count;
    }
    blis_word_list_add(list, LIST_SIZE, name);
    blis_nearest_offer(nearest, name);
  }
}

static int raise_no_field(lua_State *L, const bind_fields *fields, const char *name) {
  char known[LIST_SIZE] = "";
  char methods[LIST_SIZE] = "";
  blis_nearest nearest = {.wanted = name};
  offer_all(fields, false, known, &nearest);
  size_t count = offer_all(fields, true, methods, &nearest);
  if (nearest.word != NULL) {
    blis_suggestion suggestion = blis_nearest_suggest(&nearest);
    return luaL_error(L, "%s has no field '%s'%s", fields->owner, name, suggestion.text);
  }
  return luaL_error(L, "%s has no field '%s'; it has %s%s%s", fields->owner, name, known,
                    count == 0 ? "" : ", and the methods ", methods);
}

static int fields_index(lua_State *L) {
  const bind_fields *fields = fields_upvalue(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return raise_no_field(L, fields, luaL_tolstring(L, 2, NULL));
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) {
    return 1; /* a method */
  }
  const char *name = lua_tostring(L, 2);
  return fields->push(L, name) ? 1 : raise_no_field(L, fields, name);
}

/* (object, name) -> the next name and its value. */
static int fields_next(lua_State *L) {
  const bind_fields *fields = fields_upvalue(L);
  const char *const *name = fields->names;
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    const char *last = luaL_checkstring(L, 2);
    while (*name != NULL && strcmp(*name, last) != 0) {
      name++;
    }
    luaL_argcheck(L, *name != NULL, 2, "unknown field");
    name++;
  }
  while (*name != NULL && fields->has != NULL && !fields->has(L, *name)) {
    name++;
  }
  lua_pushstring(L, *name); /* nil at the end */
  if (*name == NULL) {
    return 1;
  }
  lua_pushvalue(L, -1);
  lua_gettable(L, 1);
  return 2;
}

/* The iterator is the upvalue. */
static int give_iterator(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static void set_pairs(lua_State *L) {
  lua_pushcclosure(L, give_iterator, 1); // [meta, pairs]
  lua_setfield(L, -2, "__pairs");
}

void set_fields(lua_State *L, const bind_fields *fields) {
  void *borrowed = (void *)fields; /* only ever read */
  lua_pushlightuserdata(L, borrowed);
  lua_newtable(L);
  if (fields->methods != NULL) {
    luaL_setfuncs(L, fields->methods, 0);
  }
  lua_pushcclosure(L, fields_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushlightuserdata(L, borrowed);
  lua_pushcclosure(L, fields_next, 1);
  set_pairs(L);
}

int64_t check_list_item(lua_State *L, const char *what, size_t count) {
  int is_integer = 0;
  lua_Integer index = lua_tointegerx(L, 2, &is_integer);
  if (is_integer && index >= 1 && (size_t)index <= count) {
    return index - 1;
  }
  lua_pushvalue(L, 2);
  if (is_integer) {
    lua_pushnil(L);
  } else if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
    luaL_error(L, "%s has no field '%s'", what, luaL_tolstring(L, 2, NULL));
  }
  return -1;
}

/* (object, i) -> i + 1 and the item there. */
static int list_next(lua_State *L) {
  lua_Integer i = luaL_optinteger(L, 2, 0);
  if (i < 0 || i >= luaL_len(L, 1)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, i + 1);
  lua_geti(L, 1, i + 1);
  return 2;
}

void set_list_pairs(lua_State *L) {
  lua_pushcfunction(L, list_next);
  set_pairs(L);
}
