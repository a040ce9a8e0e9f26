#include "lua/files/sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format/output.h"
#include "lua/bind/bind.h"

/* Stored in a guarded userdata, so that an error leaves no open connection and no partial file. */
typedef struct database {
  sqlite3 *connection;
  sqlite3_stmt *statement;
  char part[4096]; /* unfinished file; empty = nothing to remove */
} database;

static int database_gc(lua_State *L) {
  database *self = lua_touserdata(L, 1);
  sqlite3_finalize(self->statement);
  self->statement = NULL;
  sqlite3_close(self->connection);
  self->connection = NULL;
  if (self->part[0] != '\0') {
    unlink(self->part);
    self->part[0] = '\0';
  }
  return 0;
}

static int raise_io(lua_State *L, const char *path, const char *reason) {
  blis_error error;
  check_status(L, blis_fail(&error, BLIS_ERR_IO, "%s: cannot be written: %s", path, reason),
               &error);
  return 0;
}

static void check_sqlite(lua_State *L, const database *self, int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE) {
    raise_io(L, self->part, sqlite3_errmsg(self->connection));
  }
}

static void execute(lua_State *L, database *self, const char *text) {
  check_sqlite(L, self, sqlite3_exec(self->connection, text, NULL, NULL, NULL));
}

/* Adds a name in double quotes; quotes inside the name are doubled. */
static void add_name(luaL_Buffer *text, const char *name) {
  luaL_addchar(text, '"');
  for (; *name != '\0'; name++) {
    if (*name == '"') {
      luaL_addchar(text, '"');
    }
    luaL_addchar(text, *name);
  }
  luaL_addchar(text, '"');
}

/* Pushes the statement `verb "name" (columns...) tail`. */
static const char *push_statement(lua_State *L, const char *verb, const char *name, int columns,
                                  const char *value, const char *tail) {
  lua_Integer count = luaL_len(L, columns);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, verb);
  add_name(&text, name);
  luaL_addstring(&text, tail);
  luaL_addchar(&text, '(');
  for (lua_Integer i = 1; i <= count; i++) {
    if (i > 1) {
      luaL_addchar(&text, ',');
    }
    if (value != NULL) {
      luaL_addstring(&text, value);
      continue;
    }
    lua_rawgeti(L, columns, i);
    const char *column = lua_tostring(L, -1);
    lua_pop(L, 1); /* the table keeps it alive */
    add_name(&text, column != NULL ? column : "");
  }
  luaL_addchar(&text, ')');
  luaL_pushresult(&text);
  return lua_tostring(L, -1);
}

static int bind_value(lua_State *L, sqlite3_stmt *statement, int column) {
  size_t length = 0;
  switch (lua_type(L, -1)) {
  case LUA_TNUMBER:
    return lua_isinteger(L, -1) ? sqlite3_bind_int64(statement, column, lua_tointeger(L, -1))
                                : sqlite3_bind_double(statement, column, lua_tonumber(L, -1));
  case LUA_TBOOLEAN:
    return sqlite3_bind_int(statement, column, lua_toboolean(L, -1));
  case LUA_TSTRING: {
    const char *text = lua_tolstring(L, -1, &length);
    return sqlite3_bind_text(statement, column, text, (int)length, SQLITE_TRANSIENT);
  }
  default:
    return sqlite3_bind_null(statement, column);
  }
}

static void insert_rows(lua_State *L, database *self, int rows, lua_Integer columns) {
  lua_Integer count = luaL_len(L, rows);
  for (lua_Integer r = 1; r <= count; r++) {
    lua_rawgeti(L, rows, r);
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_Integer c = 1; c <= columns; c++) {
      lua_rawgeti(L, -1, c);
      check_sqlite(L, self, bind_value(L, self->statement, (int)c));
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
    check_sqlite(L, self, sqlite3_step(self->statement));
    check_sqlite(L, self, sqlite3_reset(self->statement));
  }
}

/* Writes the table description on top of the stack. */
static void write_table(lua_State *L, database *self) {
  int table = lua_gettop(L);
  const char *name = check_field_string(L, table, "name");
  lua_getfield(L, table, "columns");
  lua_getfield(L, table, "rows"); // [table, columns, rows]
  luaL_checktype(L, table + 1, LUA_TTABLE);
  luaL_checktype(L, table + 2, LUA_TTABLE);
  execute(L, self, push_statement(L, "CREATE TABLE ", name, table + 1, NULL, ""));
  const char *insert = push_statement(L, "INSERT INTO ", name, table + 1, "?", " VALUES ");
  check_sqlite(L, self, sqlite3_prepare_v2(self->connection, insert, -1, &self->statement, NULL));
  insert_rows(L, self, table + 2, luaL_len(L, table + 1));
  sqlite3_finalize(self->statement);
  self->statement = NULL;
  lua_settop(L, table);
}

int bind_sqlite_write(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  database *self = push_guarded(L, 1, sizeof *self, database_gc);
  if (!blis_output_is_replaceable(path)) {
    return raise_io(L, path, "a database can only be a file");
  }
  luaL_argcheck(L, strlen(path) + 6 < sizeof self->part, 1, "path too long");
  snprintf(self->part, sizeof self->part, "%s.part", path);
  unlink(self->part); /* left by a killed process */
  check_sqlite(L, self, sqlite3_open(self->part, &self->connection));
  execute(L, self, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  lua_Integer count = luaL_len(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    luaL_checktype(L, -1, LUA_TTABLE);
    write_table(L, self);
    lua_pop(L, 1);
  }
  execute(L, self, "COMMIT");
  check_sqlite(L, self, sqlite3_close(self->connection));
  self->connection = NULL;
  if (rename(self->part, path) != 0) {
    return raise_io(L, path, strerror(errno));
  }
  self->part[0] = '\0';
  return 0;
}
