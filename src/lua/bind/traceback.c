#include "lua/bind/traceback.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

static bool is_noise(const char *line) {
  static const char *const starts[] = {"\t[C]: in ?", "\t(...tail calls...)", "\t(blis):"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    if (strncmp(line, starts[i], strlen(starts[i])) == 0) {
      return true;
    }
  }
  return false;
}

void push_traceback(lua_State *L, const char *message) {
  luaL_Buffer kept;
  if (message != NULL) {
    lua_pushfstring(L, "%s\n", message);
  }
  luaL_traceback(L, L, NULL, 1);
  const char *line = lua_tostring(L, -1);
  luaL_buffinit(L, &kept);
  luaL_addstring(&kept, "stack traceback:");
  while ((line = strchr(line, '\n')) != NULL) {
    line++;
    if (!is_noise(line)) {
      luaL_addchar(&kept, '\n');
      luaL_addlstring(&kept, line, strcspn(line, "\n"));
    }
  }
  luaL_pushresult(&kept);
  lua_remove(L, -2);
  if (message != NULL) {
    lua_concat(L, 2);
  }
}
