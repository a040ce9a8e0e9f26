#include "host/repl.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/report.h"
#include "host/signals.h"

#ifdef BLIS_HAVE_EDITLINE
#include <editline/readline.h>
#include <unistd.h>
#endif

/* Pushes a line from the terminal, without its end. False at end of input. */
static int push_plain_line(lua_State *L, const char *prompt) {
  fputs(prompt, stdout);
  fflush(stdout);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  int c;
  int is_empty = 1;
  while ((c = getchar()) != EOF && c != '\n') {
    luaL_addchar(&line, (char)c);
    is_empty = 0;
  }
  luaL_pushresult(&line);
  if (c == EOF && is_empty) {
    lua_pop(L, 1);
    return 0;
  }
  return 1;
}

#ifdef BLIS_HAVE_EDITLINE
static int push_line(lua_State *L, const char *prompt) {
  if (!isatty(STDIN_FILENO)) {
    return push_plain_line(L, prompt);
  }
  char *line = readline(prompt);
  if (line == NULL) {
    return 0;
  }
  if (line[0] != '\0') {
    add_history(line);
  }
  lua_pushstring(L, line);
  free(line);
  return 1;
}
#else
#define push_line push_plain_line
#endif

/* True when the statement only lacks more lines; then the message is popped. */
static int is_incomplete(lua_State *L, int status) {
  static const char mark[] = "<eof>";
  if (status != LUA_ERRSYNTAX) {
    return 0;
  }
  size_t length;
  const char *message = lua_tolstring(L, -1, &length);
  size_t mark_length = sizeof mark - 1;
  if (length < mark_length ||
      strcmp(message + length - mark_length, mark) != 0) {
    return 0;
  }
  lua_pop(L, 1);
  return 1;
}

/*
 * Turns the first line, on top of the stack, into a function, reading more
 * lines as needed. Leaves the function, or an error message, in its place.
 */
static int load_statement(lua_State *L) {
  const char *line = lua_tostring(L, -1);
  line += line[0] == '='; /* as older prompts of Lua demanded */
  const char *expression = lua_pushfstring(L, "return %s", line);
  int status = luaL_loadbuffer(L, expression, strlen(expression), "=stdin");
  if (status == LUA_OK) {
    lua_insert(L, -3);
    lua_pop(L, 2);
    return status;
  }
  lua_pop(L, 2);
  for (;;) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    status = luaL_loadbuffer(L, text, length, "=stdin");
    if (!is_incomplete(L, status)) {
      break;
    }
    if (!push_line(L, ">> ")) {
      lua_pushliteral(L, "stdin: the statement is not complete");
      status = LUA_ERRSYNTAX;
      break;
    }
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
  lua_remove(L, -2);
  return status;
}

/* Calls print on everything above index base. */
static int print_results(lua_State *L, int base) {
  int count = lua_gettop(L) - base;
  if (count == 0) {
    return LUA_OK;
  }
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, base + 1);
  return lua_pcall(L, count, 0, base);
}

void host_repl_run(lua_State *L) {
  lua_settop(L, 0);
  lua_pushcfunction(L, host_handle_error);
  host_signals_reset();
  while (push_line(L, "> ")) {
    int status = load_statement(L);
    if (status == LUA_OK) {
      host_signals_watch(L);
      status = lua_pcall(L, 0, LUA_MULTRET, 1);
      if (status == LUA_OK) {
        status = print_results(L, 1);
      }
    }
    if (status != LUA_OK) {
      host_print_error(L);
    }
    host_signals_reset();
    lua_settop(L, 1);
  }
  putchar('\n');
}
