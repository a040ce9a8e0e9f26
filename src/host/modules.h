/*
 * modules.h - lets `require` find the Lua half of blis.
 *
 * The files below lua/ are compiled into the program. With --scripts DIR they are read from DIR
 * instead, and never mixed with the compiled-in files.
 */
#ifndef BLIS_HOST_MODULES_H
#define BLIS_HOST_MODULES_H

#include <lua.h>

/*
 * Registers blis.core and the Lua half with `require`, directly after package.preload, and prepends
 * the installed folder to package.path. The module blis.program contains the program's options and
 * commands. folder is NULL for the compiled-in files, and is borrowed while L lives. Raises a usage
 * error if folder does not contain the Lua half.
 */
void host_modules_open(lua_State *L, const char *folder);

/* Pushes a sorted array of the names of the modules blis.cmd.*, without "blis.cmd.". */
void host_modules_push_commands(lua_State *L, const char *folder);

#endif
