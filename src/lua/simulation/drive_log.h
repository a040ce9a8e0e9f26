/*
 * drive_log.h - a log of the calls that drove a simulation, which its clones
 * repeat.
 */
#ifndef BLIS_LUA_SIMULATION_DRIVE_LOG_H
#define BLIS_LUA_SIMULATION_DRIVE_LOG_H

#include <lua.h>

/*
 * Notes, in the log that the anchor keeps, are lists: the method, and what it
 * was called with; of steps, how many.
 */
enum { NOTE_METHOD = 1, NOTE_FIRST };

/*
 * A method of the simulation at index 1 is about to be called with all that is
 * on the stack, to be repeated for clones. Every method that changes a
 * simulation says so. Calls inside hooks are not noted: the hooks themselves
 * will be there to repeat them.
 */
void log_drive(lua_State *L, const char *method);

#endif
