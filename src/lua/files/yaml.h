/*
 * yaml.h - YAML files as Lua tables, with the lines they come from.
 */
#ifndef BLIS_LUA_FILES_YAML_H
#define BLIS_LUA_FILES_YAML_H

#include <lua.h>

/*
 * yaml_read(path): returns the root as a table, and where[table][key] = { line, text } for every
 * member and item; text is the spelling of a scalar. Null is omitted in mappings and false in
 * sequences.
 */
int bind_yaml_read(lua_State *L);

/* yaml_parse(text, name): like yaml_read, for a string; messages call it `name`. */
int bind_yaml_parse(lua_State *L);

#endif
