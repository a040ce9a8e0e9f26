/*
 * drive_log.h - a log of the calls that drove a simulation, which its clones
 * repeat.
 */
#ifndef BLIS_LUA_SIMULATION_DRIVE_LOG_H
#define BLIS_LUA_SIMULATION_DRIVE_LOG_H

#include <lua.h>

/*
 * Layout of the notes in the log, which the anchor stores. A note is a list of the method and its
 * arguments; for steps, the number of steps.
 */
enum { NOTE_METHOD = 1, NOTE_FIRST };

/*
 * Logs a call of a method of the simulation at index 1 with the whole stack as arguments, so clones
 * can repeat it. Every method that changes a simulation calls this before the change. Calls inside
 * hooks are not logged: clones run the same hooks.
 */
void log_drive(lua_State *L, const char *method);

#endif
