/*
 * about.h - the output of --version and --help.
 */
#ifndef BLIS_HOST_ABOUT_H
#define BLIS_HOST_ABOUT_H

#include <lua.h>

/* Prints one line: the versions of the program and of its libraries. */
void host_print_name(void);

/* Prints the version, the id of the sources, and the dates of the profiles. */
void host_print_version(void);

/*
 * Prints usage, options, and the commands with their summaries. folder is the folder of
 * host_modules_open. Raises the errors of broken command modules.
 */
void host_print_help(lua_State *L, const char *folder);

#endif
