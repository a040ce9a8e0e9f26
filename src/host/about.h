/*
 * about.h - the output of --version and --help.
 */
#ifndef BLIS_HOST_ABOUT_H
#define BLIS_HOST_ABOUT_H

#include <lua.h>

/* One line: the versions of the program and of the libraries in it. */
void host_print_name(void);

/* The same, and which sources these are and as of when the profiles are. */
void host_print_version(void);

/*
 * Prints usage, options, and the commands with their summaries. folder is the folder of
 * host_modules_open. Raises the errors of broken command modules.
 */
void host_print_help(lua_State *L, const char *folder);

#endif
