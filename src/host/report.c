#include "host/report.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "host/signals.h"
#include "lua/bind/traceback.h"

/* Registry key of the switch (the address of this variable). */
static const char expect_errors_key;

/* Pushes error[name] of the table at index; never calls a metamethod. */
static int push_raw_field(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  lua_pushstring(L, name);
  return lua_rawget(L, index);
}

static bool has_code(lua_State *L, int index, const char *code) {
  push_raw_field(L, index, "code");
  bool found = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), code) == 0;
  lua_pop(L, 1);
  return found;
}

static bool are_errors_expected(lua_State *L) {
  bool is_on = lua_rawgetp(L, LUA_REGISTRYINDEX, &expect_errors_key) != LUA_TNIL;
  lua_pop(L, 1);
  return is_on;
}

void host_expect_errors(lua_State *L) {
  lua_pushboolean(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &expect_errors_key);
}

/* Returns whether an error value is printed without a traceback. */
static bool is_plain(lua_State *L, int index) {
  if (!lua_istable(L, index)) {
    return false;
  }
  bool is_silenced = push_raw_field(L, index, "traceback") == LUA_TBOOLEAN && !lua_toboolean(L, -1);
  bool has_message = push_raw_field(L, index, "message") == LUA_TSTRING;
  lua_pop(L, 2);
  return is_silenced || has_code(L, index, "usage") || (has_message && are_errors_expected(L));
}

/* Pushes the text of any error value. */
static const char *push_error_text(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (lua_isstring(L, index)) {
    lua_pushvalue(L, index);
  } else if (luaL_callmeta(L, index, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
    return lua_tostring(L, -1);
  } else if (!lua_istable(L, index) || push_raw_field(L, index, "message") != LUA_TSTRING) {
    lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, index));
  }
  return lua_tostring(L, -1);
}

/*
 * Returns whether the text of an error already ends with the relevant traceback, for example that
 * of a policy.
 */
static bool has_own_traceback(lua_State *L, int index) {
  bool found = lua_istable(L, index) && push_raw_field(L, index, "traceback") == LUA_TSTRING;
  lua_settop(L, index);
  return found;
}

int host_handle_error(lua_State *L) {
  if (is_plain(L, 1)) {
    return 1;
  }
  bool is_complete = has_own_traceback(L, 1);
  const char *text = push_error_text(L, 1);
  if (!is_complete && host_signals_last() == 0) {
    push_traceback(L, text);
  }
  return 1;
}

/* Writes text without characters that would control the terminal: errors contain values from any
   source. Line breaks and tabs are kept, because tracebacks contain them. */
static void write_shown(FILE *stream, const char *text, size_t length) {
  size_t i = 0;
  while (i < length) {
    blis_slice rest = {text + i, length - i};
    size_t control = blis_slice_control_length(rest);
    bool is_layout = text[i] == '\n' || text[i] == '\t';
    if (control == 0 || is_layout) {
      fputc(text[i++], stream);
      continue;
    }
    for (size_t k = 0; k < control; k++) {
      fprintf(stream, "\\x%02x", (unsigned char)text[i++]);
    }
  }
}

int host_print_error(lua_State *L) {
  int index = lua_gettop(L);
  bool is_table = lua_istable(L, index);
  bool is_usage = is_table && has_code(L, index, "usage");
  /*
   * The handler has converted all values to strings, except plain tables with a string message, so
   * no metamethod runs here.
   */
  if (is_table) {
    push_raw_field(L, index, "message");
  }
  if (lua_type(L, -1) != LUA_TSTRING) {
    lua_pushliteral(L, "(error object without a message)");
  }
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  fflush(stdout);
  fputs("blis: ", stderr);
  write_shown(stderr, text, length);
  fputc('\n', stderr);
  lua_settop(L, index);
  return is_usage ? HOST_EXIT_USAGE : EXIT_FAILURE;
}

int host_raise(lua_State *L, const char *code, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  lua_createtable(L, 0, 3);
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  lua_pushstring(L, text);
  lua_setfield(L, -2, "message");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "traceback");
  return lua_error(L);
}

void host_warn(void *ud, const char *message, int to_be_continued) {
  host_warnings *warnings = ud;
  bool is_control = !warnings->go_on && !to_be_continued && message[0] == '@';
  if (is_control) {
    if (strcmp(message, "@on") == 0) {
      warnings->are_on = true;
    } else if (strcmp(message, "@off") == 0) {
      warnings->are_on = false;
    }
    return;
  }
  if (warnings->are_on) {
    fprintf(stderr, "%s%s%s", warnings->go_on ? "" : "Lua warning: ", message,
            to_be_continued ? "" : "\n");
  }
  warnings->go_on = to_be_continued != 0;
}
