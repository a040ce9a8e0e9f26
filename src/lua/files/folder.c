#include "lua/files/folder.h"

#include <dirent.h>
#include <lauxlib.h>

#include "base/format/open_input.h"
#include "lua/bind/bind.h"

static int close_folder(lua_State *L) {
  DIR **folder = lua_touserdata(L, 1);
  if (*folder != NULL) {
    (void)closedir(*folder);
    *folder = NULL;
  }
  return 0;
}

/* Sorts the list on top of the stack. */
static void sort_list(lua_State *L) {
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "sort");
  lua_pushvalue(L, -3);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

int bind_folder(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  DIR **folder = push_guarded(L, 1, sizeof(DIR *), close_folder);
  lua_newtable(L);
  *folder = opendir(path);
  if (*folder == NULL) {
    return 1;
  }
  lua_Integer count = 0;
  for (struct dirent *entry; (entry = readdir(*folder)) != NULL;) {
    if (entry->d_name[0] != '.') {
      lua_pushstring(L, entry->d_name);
      lua_rawseti(L, -2, ++count);
    }
  }
  (void)closedir(*folder);
  *folder = NULL;
  sort_list(L);
  return 1;
}

static int close_file(lua_State *L) {
  luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  return luaL_fileresult(L, fclose(stream->f) == 0, NULL);
}

int bind_open_input(lua_State *L) {
  static const char *const kinds[] = {"text", "data", NULL};
  const char *path = luaL_checkstring(L, 1);
  blis_input_kind kind =
      luaL_checkoption(L, 2, "text", kinds) == 0 ? BLIS_INPUT_TEXT : BLIS_INPUT_DATA;
  luaL_Stream *stream = lua_newuserdatauv(L, sizeof *stream, 0);
  *stream = (luaL_Stream){0};
  luaL_setmetatable(L, LUA_FILEHANDLE);
  const char *problem = NULL;
  stream->f = blis__open_input(path, kind, &problem);
  if (stream->f == NULL) {
    luaL_pushfail(L);
    lua_pushfstring(L, "%s: %s", path, problem);
    return 2;
  }
  stream->closef = close_file;
  return 1;
}
