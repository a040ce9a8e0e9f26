#include "lua/bind/bind.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/slice.h"
#include "instance/request/instance_id.h"
#include "workload/request.h"

#define ERROR_TYPE "blis.error"

enum { SHOWN_TEXT = 60 }; /* longer strings are not shown in messages */

blis_alloc bind_alloc(lua_State *L) {
  blis_alloc alloc;
  alloc.fn = lua_getallocf(L, &alloc.ud);
  return alloc;
}

void push_new_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods) {
  luaL_newmetatable(L, name); // [meta]
  luaL_setfuncs(L, meta, 0);
  lua_pushboolean(L, 0); /* hides the metatable: its functions rely on it */
  lua_setfield(L, -2, "__metatable");
  if (methods != NULL) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
  }
}

static const char *status_code(blis_status status) {
  switch (status) {
  case BLIS_OK:
    return "ok";
  case BLIS_ERR_NOMEM:
    return "nomem";
  case BLIS_ERR_INVALID:
    return "invalid";
  case BLIS_ERR_PARSE:
    return "parse";
  case BLIS_ERR_IO:
    return "io";
  case BLIS_ERR_STUCK:
    return "stuck";
  case BLIS_ERR_POLICY:
    return "policy";
  case BLIS_ERR_INTERRUPTED:
    return "interrupted";
  }
  return "unknown";
}

/* Returns the message and, for errors inside policies, the traceback. */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushliteral(L, "message");
  lua_rawget(L, 1);
  lua_pushliteral(L, "traceback");
  lua_rawget(L, 1); // [error, message, traceback]
  if (lua_type(L, 2) != LUA_TSTRING) {
    lua_pushliteral(L, "error without a message");
    return 1;
  }
  if (lua_type(L, 3) != LUA_TSTRING) {
    lua_pushvalue(L, 2);
    return 1;
  }
  lua_pushliteral(L, "\n");
  lua_insert(L, 3);
  lua_concat(L, 3);
  return 1;
}

void bind_open_errors(lua_State *L) {
  luaL_newmetatable(L, ERROR_TYPE);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

void bind_open_figures_type(lua_State *L) {
  luaL_newmetatable(L, FIGURES_TYPE);
  lua_pop(L, 1);
}

void set_printable(lua_State *L) {
  luaL_setmetatable(L, FIGURES_TYPE);
}

bool push_error_text(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  int top = lua_gettop(L);
  bool is_object = lua_type(L, index) == LUA_TTABLE && lua_getmetatable(L, index) != 0 &&
                   luaL_getmetatable(L, ERROR_TYPE) == LUA_TTABLE && lua_rawequal(L, -1, -2) != 0;
  lua_settop(L, top);
  if (!is_object) {
    return false;
  }
  lua_pushstring(L, name);
  if (lua_rawget(L, index) != LUA_TSTRING) {
    lua_settop(L, top);
    return false;
  }
  return true;
}

void push_error_object(lua_State *L, const char *code) {
  lua_createtable(L, 0, 4);
  luaL_setmetatable(L, ERROR_TYPE);
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
}

void push_core_error(lua_State *L, const blis_error *error) {
  push_error_object(L, status_code(error->status));
  lua_pushstring(L, error->message);
  lua_setfield(L, -2, "message");
}

int bind_raise(lua_State *L, const blis_error *error) {
  push_core_error(L, error);
  return lua_error(L);
}

void check_status(lua_State *L, blis_status status, const blis_error *error) {
  if (status == BLIS_OK) {
    return;
  }
  blis_error known = {.status = status};
  if (error != NULL && error->status == status) {
    known = *error;
  } else {
    blis_fail(&known, status, "%s", blis_status_text(status));
  }
  bind_raise(L, &known);
}

bool bind_signal_is_integer(double value, lua_Integer *integer) {
  bool is_small = value >= -0x1p62 && value <= 0x1p62;
  *integer = is_small ? (lua_Integer)value : 0;
  return is_small && (double)*integer == value;
}

void push_signal(lua_State *L, double value) {
  lua_Integer integer;
  if (bind_signal_is_integer(value, &integer)) {
    lua_pushinteger(L, integer);
  } else {
    lua_pushnumber(L, value);
  }
}

void push_instance_id(lua_State *L, int64_t number, int digits) {
  char id[BLIS_INSTANCE_ID_SIZE];
  lua_pushstring(L, blis_instance_id(number, digits, id));
}

void push_request_id(lua_State *L, const bind_request_name *name) {
  char id[BLIS_REQUEST_ID_SIZE];
  lua_pushstring(L, blis_request_id_of(name->number, name->session, name->round_index, id));
}

static const char *push_shown_text(lua_State *L, int index) {
  blis_slice text = {0};
  text.data = lua_tolstring(L, index, &text.length);
  return lua_pushfstring(L, "the string %s", blis_show(text).text);
}

const char *push_what(lua_State *L, int index) {
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    if (isnan(lua_tonumber(L, index))) { // the sign of NaN depends on the machine
      return lua_pushliteral(L, "nan");
    }
    return luaL_tolstring(L, index, NULL);
  case LUA_TNIL:
  case LUA_TBOOLEAN:
    return luaL_tolstring(L, index, NULL);
  case LUA_TSTRING:
    return lua_rawlen(L, index) > SHOWN_TEXT ? lua_pushliteral(L, "a long string")
                                             : push_shown_text(L, index);
  case LUA_TNONE:
    return lua_pushliteral(L, "nothing");
  default:
    return lua_pushfstring(L, "a %s", luaL_typename(L, index));
  }
}

void check_names(lua_State *L, int index, const char *what, const char *const *names,
                 size_t count) {
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      luaL_error(L,
                 "%s has named fields, such as %s and %s; this one has the "
                 "key %s",
                 what, names[0], names[1], push_what(L, -2));
    }
    const char *name = lua_tostring(L, -2);
    blis_nearest nearest = {.wanted = name};
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
      blis_nearest_offer(&nearest, names[i]);
      i++;
    }
    if (i == count) {
      blis_suggestion suggestion =
          blis_nearest_suggest_or(&nearest, "it has those that list[i] shows");
      luaL_error(L, "%s has no field '%s'%s", what, name, suggestion.text);
    }
    lua_pop(L, 1);
  }
}

static int wrong_field(lua_State *L, const char *name, const char *wanted) {
  return luaL_error(L, "blis.core: %s: expected %s, got %s", name, wanted, luaL_typename(L, -1));
}

int64_t check_field_integer(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int is_integer = 0;
  lua_Integer value = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer) {
    wrong_field(L, name, "an integer");
  }
  lua_pop(L, 1);
  return value;
}

int64_t opt_field_integer(lua_State *L, int index, const char *name, int64_t fallback) {
  bool is_absent = lua_getfield(L, index, name) == LUA_TNIL;
  lua_pop(L, 1);
  return is_absent ? fallback : check_field_integer(L, index, name);
}

double check_field_number(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int is_number = 0;
  lua_Number value = lua_tonumberx(L, -1, &is_number);
  if (!is_number) {
    wrong_field(L, name, "a number");
  }
  lua_pop(L, 1);
  return value;
}

double opt_field_number(lua_State *L, int index, const char *name, double fallback) {
  bool is_absent = lua_getfield(L, index, name) == LUA_TNIL;
  lua_pop(L, 1);
  return is_absent ? fallback : check_field_number(L, index, name);
}

bool opt_field_boolean(lua_State *L, int index, const char *name, bool fallback) {
  bool value = lua_getfield(L, index, name) == LUA_TNIL ? fallback : lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return value;
}

const char *opt_field_string(lua_State *L, int index, const char *name) {
  if (lua_getfield(L, index, name) != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING) {
    wrong_field(L, name, "a string");
  }
  const char *value = lua_tostring(L, -1);
  lua_pop(L, 1); /* the table keeps it alive */
  return value;
}

const char *check_field_string(lua_State *L, int index, const char *name) {
  const char *value = opt_field_string(L, index, name);
  if (value == NULL) {
    luaL_error(L, "blis.core: %s: expected a string, got nil", name);
  }
  return value;
}

int check_field_choice(lua_State *L, int index, const char *name, const char *const *choices) {
  const char *word = check_field_string(L, index, name);
  for (int i = 0; choices[i] != NULL; i++) {
    if (strcmp(choices[i], word) == 0) {
      return i;
    }
  }
  return luaL_error(L, "blis.core: %s: unknown word '%s'", name, word);
}

static int index_of(const char *word, const char *const *words) {
  int i = 0;
  while (words[i] != NULL && strcmp(words[i], word) != 0) {
    i++;
  }
  return words[i] != NULL ? i : -1;
}

static const char *push_list(lua_State *L, const char *const *words) {
  lua_pushliteral(L, "");
  for (int i = 0; words[i] != NULL; i++) {
    lua_pushfstring(L, "%s%s%s", lua_tostring(L, -1), i == 0 ? "" : ", ", words[i]);
    lua_remove(L, -2);
  }
  return lua_tostring(L, -1);
}

int check_word(lua_State *L, int argument, const char *fallback, const char *const *words) {
  const char *word = luaL_optstring(L, argument, fallback);
  int index = index_of(word, words);
  return index >= 0 ? index
                    : luaL_argerror(L, argument,
                                    lua_pushfstring(L, "invalid value '%s': expected one of %s",
                                                    word, push_list(L, words)));
}

int check_word_of(lua_State *L, int argument, const char *function, const char *const *words) {
  int index =
      lua_type(L, argument) == LUA_TSTRING ? index_of(lua_tostring(L, argument), words) : -1;
  if (index < 0) {
    const char *what = push_what(L, argument);
    return luaL_error(L, "%s: expected one of %s, got %s", function, push_list(L, words), what);
  }
  return index;
}

void push_hash(lua_State *L, uint64_t hash) {
  char text[20];
  snprintf(text, sizeof text, "%016" PRIx64, hash);
  lua_pushstring(L, text);
}

void set_field_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

void set_field_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

void set_field_string(lua_State *L, const char *name, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

void set_field_text(lua_State *L, const char *name, const blis_intern *strings, uint32_t id) {
  lua_pushlstring(L, blis_intern_text(strings, id), blis_intern_length(strings, id));
  lua_setfield(L, -2, name);
}

void push_words(lua_State *L, const char *words) {
  lua_newtable(L);
  for (lua_Integer i = 1; *words != '\0'; i++) {
    size_t length = strcspn(words, "|");
    lua_pushlstring(L, words, length);
    lua_rawseti(L, -2, i);
    words += length + (words[length] == '|');
  }
}

void *push_buffer(lua_State *L, size_t count, size_t item_size) {
  if (count > SIZE_MAX / 2 / item_size) {
    luaL_error(L, "not enough memory");
    return NULL; /* not reached */
  }
  void *buffer = lua_newuserdatauv(L, count * item_size, 0);
  memset(buffer, 0, count * item_size);
  return buffer;
}

void *push_guarded(lua_State *L, size_t count, size_t item_size, lua_CFunction gc) {
  void *buffer = push_buffer(L, count, item_size);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return buffer;
}
