#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua/lua_core.h"

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs("blis: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  luaL_openlibs(L);
  luaL_requiref(L, "blis.core", luaopen_blis_core, 0);
  lua_settop(L, 0);
  int failed = argc > 1 && luaL_dofile(L, argv[1]);
  if (failed) {
    fprintf(stderr, "blis: %s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
