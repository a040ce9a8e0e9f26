#include "lua/lua_catalogue.h"

#include <string.h>

#include "lua/bind.h"
#include "lua/embedded.h"

#define CATALOGUE_TYPE "blis.catalogue"

static int catalogue_gc(lua_State *L) {
  blis_catalogue **self = luaL_checkudata(L, 1, CATALOGUE_TYPE);
  blis_catalogue_free(*self);
  *self = NULL;
  return 0;
}

static void push_catalogue_type(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", catalogue_gc}, {NULL, NULL}};
  push_new_type(L, CATALOGUE_TYPE, meta, NULL);
}

/* Reads every embedded YAML file into the catalogue, which Lua owns. */
static void check_embedded(lua_State *L, blis_catalogue *catalogue) {
  for (size_t i = 0; i < blis_embedded_data.count; i++) {
    const blis_embedded_file *file = &blis_embedded_data.files[i];
    const char *ending = strrchr(file->name, '.');
    if (ending != NULL && strcmp(ending, ".yaml") == 0) {
      blis_error error = {0};
      check_status(L,
                   blis_catalogue_add_yaml(catalogue, file->name, file->bytes,
                                           file->size, &error),
                   &error);
    }
  }
}

const blis_catalogue *check_catalogue(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "blis.the_catalogue");
  blis_catalogue **self = lua_touserdata(L, -1);
  if (self == NULL) {
    lua_pop(L, 1);
    self = lua_newuserdatauv(L, sizeof *self, 0);
    *self = NULL;
    push_catalogue_type(L);
    lua_setmetatable(L, -2);
    blis_alloc alloc = bind_alloc(L);
    *self = blis_catalogue_new(&alloc);
    if (*self == NULL) {
      check_status(L, BLIS_ERR_NOMEM, NULL);
    }
    check_embedded(L, *self);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "blis.the_catalogue");
  }
  lua_pop(L, 1);
  return *self;
}

int bind_catalogue_models(lua_State *L) {
  const blis_catalogue *catalogue = check_catalogue(L);
  lua_newtable(L);
  for (size_t i = 0; i < blis_catalogue_model_count(catalogue); i++) {
    lua_pushstring(L, blis_catalogue_model_at(catalogue, i)->id);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
