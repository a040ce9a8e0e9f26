/*
 * event_queue.h - blis.event_queue(): the simulator's event order, for models that users write
 * themselves.
 */
#ifndef BLIS_LUA_SIMULATION_EVENT_QUEUE_H
#define BLIS_LUA_SIMULATION_EVENT_QUEUE_H

#include <lua.h>

void bind_open_event_queues(lua_State *L);

/* event_queue() */
int bind_event_queue_new(lua_State *L);

#endif
