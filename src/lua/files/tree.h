/*
 * tree.h - tables of a script as YAML trees, so that the readers of files
 * accept them, too (base/yaml_build.h).
 */
#ifndef BLIS_LUA_FILES_TREE_H
#define BLIS_LUA_FILES_TREE_H

#include <lua.h>

#include "base/format/yaml.h"

/*
 * Pushes a userdata that owns the tree of the value at index, which messages call place
 * ("workload"), and returns the tree. A table with only values 1 to n is a list, unless the first
 * is a string: { "gaussian", mean = 9 } is a mapping with a key "[1]". Keys of mappings are in the
 * order of their bytes. Raises for functions and similar values, and for tables that contain
 * themselves.
 */
blis_yaml *push_tree(lua_State *L, int index, const char *place);

#endif
