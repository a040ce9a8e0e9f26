/* SQLite is omitted, because a user could not open a database written by a run in a browser. */
#include "lua/files/sqlite.h"

#include "lua/bind/bind.h"

int bind_sqlite_write(lua_State *L) {
  blis_error error;
  check_status(L,
               blis_fail(&error, BLIS_ERR_INVALID, "%s: this blis is built without SQLite",
                         luaL_checkstring(L, 1)),
               &error);
  return 0;
}
