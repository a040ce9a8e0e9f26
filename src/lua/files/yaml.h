/*
 * yaml.h - YAML files as Lua tables, with line numbers.
 */
#ifndef BLIS_LUA_FILES_YAML_H
#define BLIS_LUA_FILES_YAML_H

#include <lua.h>

/*
 * yaml_read(path): returns the root as a table, and a table where[table][key] = { line, text } for
 * every member and item; text is the spelling of a scalar. In mappings, null values are omitted; in
 * sequences, null becomes false.
 */
int bind_yaml_read(lua_State *L);

/* yaml_parse(text, name): like yaml_read, for a string. `name` identifies the string in
   messages. */
int bind_yaml_parse(lua_State *L);

#endif
