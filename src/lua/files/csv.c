#include "lua/files/csv.h"

#include <lauxlib.h>

#include "base/format/csv.h"
#include "lua/bind/bind.h"

typedef struct wanted_column {
  const char *name; /* the Lua table keeps it alive */
  size_t index;     /* BLIS_CSV_NONE = missing */
  bool is_text;
} wanted_column;

static int close_csv(lua_State *L) {
  blis_csv **csv = lua_touserdata(L, 1);
  blis_csv_close(*csv);
  *csv = NULL;
  return 0;
}

/* Pushes the requested columns, in the order of the list at index. */
static wanted_column *push_columns(lua_State *L, int index, const blis_csv *csv) {
  size_t count = lua_rawlen(L, index);
  wanted_column *columns = push_buffer(L, count, sizeof *columns);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    columns[i].name = check_field_string(L, -1, "name");
    columns[i].is_text = opt_field_boolean(L, -1, "is_text", false);
    columns[i].index = blis_csv_column(csv, columns[i].name);
    if (columns[i].index == BLIS_CSV_NONE && !opt_field_boolean(L, -1, "is_optional", false)) {
      blis_error error = {0};
      check_status(L, blis_csv_need(csv, columns[i].name, &columns[i].index, &error), &error);
    }
    lua_pop(L, 1);
  }
  return columns;
}

static void push_field(lua_State *L, blis_csv *csv, const wanted_column *column) {
  blis_error error = {0};
  if (column->is_text) {
    blis_slice text = blis_csv_field(csv, column->index);
    lua_pushlstring(L, text.data, text.length);
    return;
  }
  int64_t value = 0;
  check_status(L, blis_csv_int64(csv, column->index, 0, INT64_MAX, &value, &error), &error);
  lua_pushinteger(L, value);
}

static void push_row(lua_State *L, blis_csv *csv, const wanted_column *columns, size_t count) {
  lua_createtable(L, 0, (int)count + 1);
  set_field_integer(L, "line", blis_csv_line(csv));
  for (size_t i = 0; i < count; i++) {
    if (columns[i].index < blis_csv_count(csv)) {
      push_field(L, csv, &columns[i]);
      lua_setfield(L, -2, columns[i].name);
    }
  }
}

int bind_csv_read(lua_State *L) {
  enum { PATH = 1, COLUMNS, CSV };
  const char *path = luaL_checkstring(L, PATH);
  luaL_checktype(L, COLUMNS, LUA_TTABLE);
  lua_settop(L, COLUMNS);
  blis_csv **csv = push_guarded(L, 1, sizeof *csv, close_csv);
  const blis_csv_options options = {.has_header = true, .has_even_rows = true};
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_csv_open(&alloc, path, &options, csv, &error), &error);
  const wanted_column *columns = push_columns(L, COLUMNS, *csv);
  lua_newtable(L);
  lua_Integer rows = 0;
  bool has_row = true;
  while (true) {
    check_status(L, blis_csv_next(*csv, &has_row, &error), &error);
    if (!has_row) {
      return 1;
    }
    push_row(L, *csv, columns, lua_rawlen(L, COLUMNS));
    lua_rawseti(L, -2, ++rows);
  }
}
