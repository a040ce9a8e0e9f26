/*
 * tree.h - tables of a script as YAML trees, so that file readers also accept tables
 * (base/yaml_build.h).
 */
#ifndef BLIS_LUA_FILES_TREE_H
#define BLIS_LUA_FILES_TREE_H

#include <lua.h>

#include "base/format/yaml.h"

/*
 * Converts the value at index to a tree. Pushes a userdata that owns the tree, and returns the
 * tree. place is the name of the value in messages ("workload"). A table with only the keys 1 to n
 * is a list, unless its first item is a string: { "gaussian", mean = 9 } is a mapping with a key
 * "[1]". Keys of mappings are in byte order. Raises for functions and similar values, and for
 * tables that contain themselves.
 */
blis_yaml *push_tree(lua_State *L, int index, const char *place);

#endif
