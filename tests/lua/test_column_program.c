/*
 * test_column_program.c - functions over columns with and without their
 * program: the same scores to the last bit, or no program, or one that
 * declines. The functions are in column_programs.lua.
 */
#include "lua/bind/column_program.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "lua/bind/vector.h"

enum { ITEMS_MAX = 40, FUNCTION = 1, ARGUMENTS = 3, KEEPER = 5 };

static uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Holds scores against the result of the function, on top of the stack. */
static void check_same(lua_State *L, const double *scores, size_t count) {
  const bind_vector *vector = bind_vector_test(L, -1);
  CHECK(vector != NULL || lua_type(L, -1) == LUA_TNUMBER);
  for (size_t i = 0; i < count; i++) {
    double expected = vector != NULL ? vector->items[i] : lua_tonumber(L, -1);
    CHECK(bits_of(expected) == bits_of(scores[i]));
  }
}

/* The count of scores is that of the column b. */
static size_t count_of(lua_State *L) {
  lua_getfield(L, FUNCTION + 2, "b");
  const bind_vector *column = bind_vector_test(L, -1);
  lua_pop(L, 1);
  CHECK(column != NULL && column->count <= ITEMS_MAX);
  return column->count;
}

/*
 * try(request, columns, base): runs the program and calls the function; gives
 * whether the program has run and whether the function has returned.
 */
static int try(lua_State *L) {
  double scores[ITEMS_MAX];
  lua_settop(L, ARGUMENTS);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, FUNCTION);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_rawgeti(L, KEEPER, 0);
  bind_column_program *program = lua_touserdata(L, -1);
  lua_pop(L, 1);
  const size_t count = count_of(L);
  bool has_run = bind_column_program_run(L, program, FUNCTION, KEEPER, count, scores);
  CHECK(lua_gettop(L) == KEEPER);
  lua_settop(L, FUNCTION + ARGUMENTS);
  bool has_returned = lua_pcall(L, ARGUMENTS, 1, 0) == LUA_OK;
  CHECK(!has_run || has_returned);
  if (has_run) {
    check_same(L, scores, count);
  }
  lua_pushboolean(L, has_run);
  lua_pushboolean(L, has_returned);
  return 2;
}

/* translate(function, request, columns, base): try, "not now" or "never". */
static int translate(lua_State *L) {
  bind_column_program *program = NULL;
  lua_settop(L, FUNCTION + ARGUMENTS);
  switch (push_column_program(L, FUNCTION, count_of(L), ITEMS_MAX, &program)) {
  case TRANSLATION_MADE:
    CHECK(lua_gettop(L) == KEEPER && program != NULL);
    lua_pushvalue(L, FUNCTION);
    lua_insert(L, -2);
    lua_pushcclosure(L, try, 2);
    return 1;
  case TRANSLATION_NOT_NOW:
    lua_pushliteral(L, "not now");
    break;
  case TRANSLATION_NEVER:
    lua_pushliteral(L, "never");
  }
  CHECK(lua_gettop(L) == KEEPER);
  return 1;
}

/* As policies see signals: whole numbers are integers. */
static void push_as_signal(lua_State *L, double value) {
  if (fabs(value) <= 0x1p62 && floor(value) == value) {
    lua_pushinteger(L, (lua_Integer)value);
  } else {
    lua_pushnumber(L, value);
  }
}

/*
 * try(request, instances, values): gives the tables of instances the values of
 * the fields a, b and c as signals, and then does what try does.
 */
static int try_each(lua_State *L) {
  enum { REQUEST = 1, INSTANCES, VALUES, PROGRAM_KEEPER };
  double scores[ITEMS_MAX];
  double columns[CANDIDATE_FIELDS_MAX][ITEMS_MAX];
  const double *fields[CANDIDATE_FIELDS_MAX];
  int texts[CANDIDATE_FIELDS_MAX];
  lua_settop(L, VALUES);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_rawgeti(L, PROGRAM_KEEPER, 0);
  bind_column_program *program = lua_touserdata(L, -1);
  lua_pop(L, 1);
  const size_t count = (size_t)lua_rawlen(L, INSTANCES);
  const int field_count = bind_candidate_program_fields(program, texts);
  CHECK(count <= ITEMS_MAX);
  for (int f = 0; f < field_count; f++) {
    lua_rawgeti(L, PROGRAM_KEEPER, texts[f]);
    lua_rawget(L, VALUES);
    fields[f] = columns[f];
    for (size_t i = 0; i < count; i++) {
      lua_rawgeti(L, -1, (lua_Integer)i + 1);
      columns[f][i] = lua_tonumber(L, -1);
      lua_rawgeti(L, INSTANCES, (lua_Integer)i + 1);
      lua_rawgeti(L, PROGRAM_KEEPER, texts[f]);
      push_as_signal(L, columns[f][i]);
      lua_rawset(L, -3);
      lua_pop(L, 2);
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  const int function = lua_gettop(L);
  lua_pushvalue(L, REQUEST);
  bool has_run =
      bind_candidate_program_run(L, program, function, PROGRAM_KEEPER, fields, count, scores);
  CHECK(lua_gettop(L) == function + 1);
  bool has_returned = true;
  for (size_t i = 0; i < count; i++) {
    lua_pushvalue(L, function);
    lua_pushvalue(L, REQUEST);
    lua_rawgeti(L, INSTANCES, (lua_Integer)i + 1);
    has_returned &= lua_pcall(L, 2, 1, 0) == LUA_OK;
    CHECK(!has_run || lua_type(L, -1) == LUA_TNUMBER);
    CHECK(!has_run || bits_of(lua_tonumber(L, -1)) == bits_of(scores[i]));
    lua_pop(L, 1);
  }
  lua_pushboolean(L, has_run);
  lua_pushboolean(L, has_returned);
  return 2;
}

/* translate_each(function, request, instance) */
static int translate_each(lua_State *L) {
  bind_column_program *program = NULL;
  lua_settop(L, FUNCTION + 2);
  bind_translation outcome = push_candidate_program(L, FUNCTION, &program);
  if (outcome == TRANSLATION_MADE) {
    CHECK(lua_gettop(L) == FUNCTION + 3 && program != NULL);
    lua_pushvalue(L, FUNCTION);
    lua_insert(L, -2);
    lua_pushcclosure(L, try_each, 2);
  } else {
    lua_pushstring(L, outcome == TRANSLATION_NEVER ? "never" : "not now");
  }
  return 1;
}

int main(void) {
  lua_State *L = luaL_newstate();
  CHECK(L != NULL);
  luaL_openlibs(L);
  push_vector_library(L);
  lua_setglobal(L, "vec");
  lua_pushcfunction(L, translate);
  lua_setglobal(L, "translate");
  lua_pushcfunction(L, translate_each);
  lua_setglobal(L, "translate_each");
  int status = luaL_dofile(L, "tests/lua/column_programs.lua");
  if (status != LUA_OK) {
    printf("%s\n", lua_tostring(L, -1));
  }
  CHECK(status == LUA_OK);
  lua_close(L);
  return 0;
}
