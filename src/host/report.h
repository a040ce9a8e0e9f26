/*
 * report.h - error messages of the program.
 *
 * The whole program runs inside one lua_pcall with host_handle_error as the message handler; errors
 * are passed to host_print_error.
 */
#ifndef BLIS_HOST_REPORT_H
#define BLIS_HOST_REPORT_H

#include <lua.h>
#include <stdbool.h>

/* Exit statuses in addition to EXIT_SUCCESS and EXIT_FAILURE. */
enum { HOST_EXIT_USAGE = 2, HOST_EXIT_INTERRUPTED = 130 };

/*
 * A message handler. Error values become their text followed by a traceback. Three kinds of values
 * are unchanged and printed without a traceback: tables with code = "usage", tables with traceback
 * = false, and any table with a message after host_expect_errors was called.
 */
int host_handle_error(lua_State *L);

/* Treats error tables with a message as messages to the user instead of defects in a script, for
   the rest of the process. Commands report bad input by raising such a table. */
void host_expect_errors(lua_State *L);

/*
 * Prints the error value on top of the stack to stderr, after "blis: ", and returns its exit
 * status. Pops nothing.
 */
int host_print_error(lua_State *L);

/* State of host_warn. {0} means off, which is also the initial state of the standard Lua
   program. */
typedef struct host_warnings {
  bool are_on;
  bool go_on; /* the message continues after the last piece */
} host_warnings;

/*
 * A lua_WarnFunction like the one that luaL_newstate sets: "@on" and "@off" switch warnings on and
 * off, and messages are written to stderr. ud is a host_warnings.
 */
void host_warn(void *ud, const char *message, int to_be_continued);

/* Raises an error that is printed without a traceback; code is "usage" or another word. */
int host_raise(lua_State *L, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
