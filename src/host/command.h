/*
 * command.h - `blis COMMAND ...`: commands are Lua modules blis.cmd.NAME.
 *
 * Such a module is a table { summary = "one line", run = function(args) }, or just the function.
 * args is the array of the arguments after the name. The result becomes the exit status: an integer
 * unchanged, false 1, anything else 0. An error that is a table with a message is printed without a
 * traceback, because it is a message to the user. With code = "usage" the status is 2.
 */
#ifndef BLIS_HOST_COMMAND_H
#define BLIS_HOST_COMMAND_H

#include <lua.h>
#include <stdbool.h>

/* Returns whether name is a command of the program or of folder, the folder of
   host_modules_open. */
bool host_command_is_known(lua_State *L, const char *folder, const char *name);

/*
 * Runs the command with count arguments and returns the exit status. folder is the folder of
 * host_modules_open. Raises a usage error that suggests the nearest name if the command is unknown.
 */
int host_command_run(lua_State *L, const char *folder, const char *name, char **arguments,
                     int count);

/* Prints one line per command: its name and summary. */
void host_command_print_list(lua_State *L, const char *folder);

#endif
