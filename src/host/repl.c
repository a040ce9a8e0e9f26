#include "host/repl.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/line.h"
#include "host/report.h"
#include "host/signals.h"

/* Indices at the bottom of the stack. The last three values come from blis.prompt, and are nil
   if that module is missing. */
enum { HANDLER = 1, WORDS, SHOW, SHORT_ERROR, BOTTOM = SHORT_ERROR };

/* Returns whether the statement only lacks more lines, and pops the message if so. */
static bool is_incomplete(lua_State *L, int status) {
  static const char mark[] = "<eof>";
  if (status != LUA_ERRSYNTAX) {
    return false;
  }
  size_t length;
  const char *message = lua_tolstring(L, -1, &length);
  size_t mark_length = sizeof mark - 1;
  if (length < mark_length || strcmp(message + length - mark_length, mark) != 0) {
    return false;
  }
  lua_pop(L, 1);
  return true;
}

/*
 * Handles text that is not a statement; the error message is on top of the stack. The text may be
 * an expression over several lines. Returns true if the expression is incomplete, and pops the
 * message. If it is complete, its function replaces the message.
 */
static bool is_begun_expression(lua_State *L, int *status) {
  if (*status != LUA_ERRSYNTAX) {
    return false;
  }
  const char *text = lua_tostring(L, BOTTOM + 1);
  const char *expression = lua_pushfstring(L, "return %s", text + (text[0] == '='));
  int found = luaL_loadbuffer(L, expression, strlen(expression), "=stdin");
  lua_remove(L, -2);
  if (is_incomplete(L, found)) {
    lua_pop(L, 1);
    return true;
  }
  if (found == LUA_OK) {
    lua_remove(L, -2);
    *status = LUA_OK;
  } else {
    lua_pop(L, 1);
  }
  return false;
}

typedef enum statement_news {
  STATEMENT_LOADED, /* a function has replaced the line on top of the stack */
  STATEMENT_WRONG,  /* an error message has replaced the line */
  STATEMENT_CLEARED /* the line was removed */
} statement_news;

/* Converts the first line, on top of the stack, to a function. Reads more lines as needed. */
static statement_news load_statement(lua_State *L) {
  const char *line = lua_tostring(L, -1);
  line += line[0] == '='; /* a leading '=' was required by the prompts of older Lua versions */
  const char *expression = lua_pushfstring(L, "return %s", line);
  int status = luaL_loadbuffer(L, expression, strlen(expression), "=stdin");
  if (status == LUA_OK) {
    lua_replace(L, BOTTOM + 1);
    lua_settop(L, BOTTOM + 1);
    return STATEMENT_LOADED;
  }
  lua_settop(L, BOTTOM + 1);
  for (;;) {
    size_t length;
    const char *text = lua_tolstring(L, BOTTOM + 1, &length);
    status = luaL_loadbuffer(L, text, length, "=stdin");
    if (!is_incomplete(L, status) && !is_begun_expression(L, &status)) {
      lua_replace(L, BOTTOM + 1);
      return status == LUA_OK ? STATEMENT_LOADED : STATEMENT_WRONG;
    }
    lua_pushliteral(L, "\n");
    lua_concat(L, 2);
    text = lua_tostring(L, BOTTOM + 1);
    switch (host_line_read(L, ">> ", WORDS, text)) {
    case HOST_LINE_READ:
      lua_concat(L, 2);
      break;
    case HOST_LINE_CLEARED:
      return STATEMENT_CLEARED;
    case HOST_LINE_END:
      lua_pushliteral(L, "stdin: the statement is not complete");
      lua_replace(L, BOTTOM + 1);
      return STATEMENT_WRONG;
    }
  }
}

/* Prints all values above the bottom of the stack. */
static int print_results(lua_State *L) {
  int count = lua_gettop(L) - BOTTOM;
  if (count == 0) {
    return LUA_OK;
  }
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  if (lua_isnil(L, SHOW)) {
    lua_getglobal(L, "print");
  } else {
    lua_pushvalue(L, SHOW);
  }
  lua_insert(L, BOTTOM + 1);
  return lua_pcall(L, count, 0, HANDLER);
}

/* Runs the function on top of the stack. On failure, an error value replaces it. */
static int run_statement(lua_State *L) {
  host_signals_watch(L);
  int status = lua_pcall(L, 0, LUA_MULTRET, HANDLER);
  if (status == LUA_OK) {
    status = print_results(L);
  }
  fflush(stdout);
  return status;
}

/* Prints the error value on top of the stack, in its shortest form. */
static void print_error(lua_State *L) {
  if (lua_isstring(L, -1) && !lua_isnil(L, SHORT_ERROR)) {
    lua_pushvalue(L, SHORT_ERROR);
    lua_pushvalue(L, -2);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
      lua_pop(L, 1);
    }
  }
  host_print_error(L);
}

/* Pushes the functions of blis.prompt, after it has set up the globals. */
static void push_prompt(lua_State *L) {
  static const char *const names[] = {"words", "show", "short_error"};
  lua_getglobal(L, "require");
  lua_pushliteral(L, "blis.prompt");
  bool is_there = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_istable(L, -1);
  int module = lua_gettop(L);
  if (is_there && lua_getfield(L, module, "open") == LUA_TFUNCTION) {
    is_there = lua_pcall(L, 0, 0, 0) == LUA_OK;
    lua_settop(L, module);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (is_there) {
      lua_getfield(L, module, names[i]);
    } else {
      lua_pushnil(L);
    }
  }
  lua_remove(L, module);
}

void host_repl_run(lua_State *L, bool keeps_history) {
  lua_settop(L, 0);
  lua_pushcfunction(L, host_handle_error);
  push_prompt(L);
  host_line_open(keeps_history);
  if (isatty(STDIN_FILENO) && !lua_isnil(L, SHOW)) {
    puts("help() lists the commands, Ctrl-D exits");
  }
  host_line_news news;
  while ((news = host_line_read(L, "> ", WORDS, "")) != HOST_LINE_END) {
    if (news == HOST_LINE_READ) {
      statement_news loaded = load_statement(L);
      if (loaded == STATEMENT_WRONG || (loaded == STATEMENT_LOADED && run_statement(L) != LUA_OK)) {
        print_error(L);
      }
    }
    host_signals_ignore(); /* until Ctrl-C is a key again */
    lua_settop(L, BOTTOM);
  }
  putchar('\n');
}
