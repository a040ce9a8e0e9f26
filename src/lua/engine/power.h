/*
 * power.h - the power draw of steps, computed by a Lua function.
 *
 * The function is called for every step. Both engines call it for the same steps of an instance in
 * the same order.
 */
#ifndef BLIS_LUA_ENGINE_POWER_H
#define BLIS_LUA_ENGINE_POWER_H

#include <lua.h>

#include "instance/instance.h"
#include "lua/bind/hook.h"

typedef struct bind_power {
  bind_hooks *hooks;
  int draw; /* indices in the anchor: the function, and the table that is passed to it */
  int table;
} bind_power;

/*
 * Makes *power call the function in the options of an engine at index, if they contain one. *power
 * must not move; the anchor of hooks must be open. May raise.
 */
void check_power_function(lua_State *L, int index, bind_hooks *hooks, bind_power *power,
                          blis_power_config *config);

/*
 * Returns the list carbon_steps of the cluster options at index; its items are { from_us =,
 * g_per_kwh = }. Returns NULL if it is not set. Pushes a value that owns the list. May raise.
 */
const blis_carbon_step *push_carbon(lua_State *L, int index, size_t *count);

#endif
