#include "lua/files/folder.h"

#include <dirent.h>
#include <sys/stat.h>

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

int bind_is_pipe(lua_State *L) {
  struct stat found;
  bool is_there = stat(luaL_checkstring(L, 1), &found) == 0;
  lua_pushboolean(L, is_there && S_ISFIFO(found.st_mode));
  return 1;
}
