/* report.h - error messages of the program.
 *
 * Everything runs inside one lua_pcall with host_handle_error as its handler; errors are passed
 * to host_print_error. */
#ifndef BLIS_HOST_REPORT_H
#define BLIS_HOST_REPORT_H

#include <lua.h>
#include <stdbool.h>

/* Exit statuses in addition to EXIT_SUCCESS and EXIT_FAILURE. */
enum { HOST_EXIT_USAGE = 2, HOST_EXIT_INTERRUPTED = 130 };

/*
 * A message handler. Error values become their text followed by a traceback. Three kinds are not
 * changed and are shown without traceback: tables with code = "usage", tables with traceback =
 * false, and any table that has a message while host_expect_errors is on.
 */
int host_handle_error(lua_State *L);

/* Makes a table with a message a message to the user instead of a defect in a script, for the rest
   of the process. Commands report bad input by raising such a table. */
void host_expect_errors(lua_State *L);

/*
 * Prints the error value on top of the stack to stderr, after "blis: ", and returns its exit
 * status. Pops nothing.
 */
int host_print_error(lua_State *L);

/* State of host_warn. {0} is off, like at the start of Lua's own program. */
typedef struct host_warnings {
  bool are_on;
  bool go_on; /* the last piece of a message was not its end */
} host_warnings;

/*
 * A lua_WarnFunction as luaL_newstate sets: "@on" and "@off" switch it,
 * messages go to stderr. ud is a host_warnings.
 */
void host_warn(void *ud, const char *message, int to_be_continued);

/* Raises an error that is printed without traceback; code is "usage" or another word. */
int host_raise(lua_State *L, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
