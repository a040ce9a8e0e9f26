#include "lua/files/yaml.h"

#include <float.h>

#include "base/format/yaml.h"
#include "lua/bind/bind.h"

enum { MAX_SIZE = 1 << 26 };

static int tree_gc(lua_State *L) {
  blis_yaml **tree = lua_touserdata(L, 1);
  blis_yaml_free(*tree);
  *tree = NULL;
  return 0;
}

static void push_node(lua_State *L, int where, const blis_yaml_node *node);

static void push_scalar(lua_State *L, const blis_yaml_node *node) {
  blis_error error = {0};
  int64_t integer = 0;
  double number = 0;
  bool flag = false;
  switch (blis_yaml_kind_of(node)) {
  case BLIS_YAML_IS_NULL:
    lua_pushnil(L);
    break;
  case BLIS_YAML_IS_BOOL:
    check_status(L, blis_yaml_bool(node, &flag, &error), &error);
    lua_pushboolean(L, flag);
    break;
  case BLIS_YAML_IS_INTEGER:
    check_status(L, blis_yaml_int64(node, INT64_MIN, INT64_MAX, &integer, &error), &error);
    lua_pushinteger(L, integer);
    break;
  case BLIS_YAML_IS_REAL:
    check_status(L, blis_yaml_double(node, -DBL_MAX, DBL_MAX, &number, &error), &error);
    lua_pushnumber(L, number);
    break;
  case BLIS_YAML_IS_TEXT: {
    blis_slice text = blis_yaml_scalar(node);
    lua_pushlstring(L, text.data, text.length);
    break;
  }
  }
}

/* Pops the key and sets places[key] = {line, text}: [.., places, key] becomes [.., places]. */
static void set_place(lua_State *L, const blis_yaml_node *node) {
  lua_createtable(L, 2, 0);
  lua_pushinteger(L, blis_yaml_line(node));
  lua_rawseti(L, -2, 1);
  if (blis_yaml_type_of(node) == BLIS_YAML_SCALAR) {
    blis_slice text = blis_yaml_scalar(node);
    lua_pushlstring(L, text.data, text.length);
    lua_rawseti(L, -2, 2);
  }
  lua_rawset(L, -3);
}

/* Pushes a new table and its places; where[table] = places. */
static void push_tables(lua_State *L, int where) {
  lua_newtable(L);
  lua_newtable(L);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_rawset(L, where); // [table, places]
}

static void push_sequence(lua_State *L, int where, const blis_yaml_node *node) {
  push_tables(L, where);
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis_yaml_node *item = blis_yaml_item(node, i);
    lua_pushinteger(L, (lua_Integer)i + 1);
    set_place(L, item);
    push_node(L, where, item);
    if (lua_isnil(L, -1)) { /* nil would end the list */
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  lua_pop(L, 1);
}

static void push_key(lua_State *L, const blis_yaml_node *node, size_t index) {
  blis_slice key = blis_yaml_scalar(blis_yaml_key(node, index));
  lua_pushlstring(L, key.data, key.length);
}

static void push_mapping(lua_State *L, int where, const blis_yaml_node *node) {
  push_tables(L, where);
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis_yaml_node *value = blis_yaml_item(node, i);
    push_key(L, node, i);
    set_place(L, value);
    push_key(L, node, i);
    push_node(L, where, value);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
}

/* Pushes a node. The reader limits the nesting depth, so this recursion is bounded. */
static void push_node(lua_State *L, int where, const blis_yaml_node *node) {
  luaL_checkstack(L, 8, "YAML nested too deeply");
  switch (blis_yaml_type_of(node)) {
  case BLIS_YAML_SCALAR:
    push_scalar(L, node);
    break;
  case BLIS_YAML_SEQUENCE:
    push_sequence(L, where, node);
    break;
  case BLIS_YAML_MAPPING:
    push_mapping(L, where, node);
    break;
  }
}

/* Pushes the values of a document and the table of their lines. */
static int push_document(lua_State *L, const blis_yaml *tree) {
  lua_newtable(L);
  int where = lua_gettop(L);
  push_node(L, where, blis_yaml_root(tree));
  lua_pushvalue(L, where);
  return 2;
}

int bind_yaml_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_yaml **tree = push_guarded(L, 1, sizeof *tree, tree_gc);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_yaml_read_file(&alloc, path, MAX_SIZE, tree, &error), &error);
  return push_document(L, *tree);
}

int bind_yaml_parse(lua_State *L) {
  size_t size = 0;
  const char *text = luaL_checklstring(L, 1, &size);
  const char *name = luaL_checkstring(L, 2);
  blis_yaml **tree = push_guarded(L, 1, sizeof *tree, tree_gc);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_yaml_parse(&alloc, name, (blis_slice){text, size}, tree, &error), &error);
  return push_document(L, *tree);
}
