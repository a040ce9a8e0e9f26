/*
 * record_add.h - a record that a script adds to a list of its own: what
 * list[i] shows, what an instance by itself returns, a line of a file of
 * results.
 */
#ifndef BLIS_LUA_RESULTS_RECORD_ADD_H
#define BLIS_LUA_RESULTS_RECORD_ADD_H

#include <lua.h>

/*
 * add(record): one more request, with the fields that list[i] has. Those that
 * follow from others (id, decode_instance, steps ...) and those that only
 * requests have (client, content ...) may be there and are not kept; another
 * name is an error, and so is a completed request without its times. Raises,
 * and then the list has no more requests than before. Cost: a lookup per field
 * among some 40 names.
 */
int bind_records_add(lua_State *L);

#endif
