/*
 * yaml.h - YAML files as Lua tables, with the lines they come from.
 */
#ifndef BLIS_LUA_FILES_YAML_H
#define BLIS_LUA_FILES_YAML_H

#include <lua.h>

/*
 * yaml_read(path): the root as a table, and where[table][key] = { line, text }
 * for every member and item; text is how a scalar is spelled. Null is left out
 * of mappings and false in sequences.
 */
int bind_yaml_read(lua_State *L);

/* yaml_parse(text, name): the same from a text; messages call it `name`. */
int bind_yaml_parse(lua_State *L);

#endif
