#include "lua/files/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/format/yaml_build.h"
#include "lua/bind/bind.h"

enum { MAX_DEPTH = 64 };

typedef struct building {
  lua_State *L;
  blis_yaml *yaml;
  int depth;
} building;

/* A key of a table: a string, or a number if text is NULL. */
typedef struct key {
  const char *text; /* kept alive by the table */
  size_t length;
  lua_Integer number;
} key;

static int tree_gc(lua_State *L) {
  blis_yaml **tree = lua_touserdata(L, 1);
  blis_yaml_free(*tree);
  *tree = NULL;
  return 0;
}

static blis_yaml_node *check_made(lua_State *L, blis_yaml_node *node) {
  if (node == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return node;
}

static void raise_place(lua_State *L, const char *place, const char *what) {
  blis_error error = {0};
  (void)blis_fail(&error, BLIS_ERR_INVALID, "%s: %s", place, what);
  bind_raise(L, &error);
}

/* Orders numbers before strings, each in ascending order. */
static int compare_keys(const void *a, const void *b) {
  const key *left = a;
  const key *right = b;
  if (left->text == NULL || right->text == NULL) {
    bool both = left->text == NULL && right->text == NULL;
    return both ? (left->number > right->number) - (left->number < right->number)
                : (left->text != NULL) - (right->text != NULL);
  }
  size_t shorter = left->length < right->length ? left->length : right->length;
  int order = memcmp(left->text, right->text, shorter);
  return order != 0 ? order : (left->length > right->length) - (left->length < right->length);
}

/* Pushes a buffer with the keys of the table at index. */
static key *push_keys(const building *b, int index, const char *place, size_t *count) {
  lua_State *L = b->L;
  *count = 0;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    ++*count;
  }
  key *keys = push_buffer(L, *count, sizeof *keys);
  size_t i = 0;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    key *one = &keys[i++];
    if (lua_type(L, -2) == LUA_TSTRING) {
      one->text = lua_tolstring(L, -2, &one->length);
    } else if (lua_isinteger(L, -2)) {
      one->number = lua_tointeger(L, -2);
    } else {
      raise_place(L, place, "a key is neither a string nor a whole number");
    }
  }
  if (*count > 1) {
    qsort(keys, *count, sizeof *keys, compare_keys);
  }
  return keys;
}

static blis_yaml_node *make_node(building *b, int index, const char *place);

/* Creates the node for a value of the table at index. The stack is unchanged. */
static blis_yaml_node *make_value(building *b, int index, const key *of, const char *place) {
  lua_State *L = b->L;
  if (of->text == NULL) {
    lua_rawgeti(L, index, of->number);
  } else {
    lua_pushlstring(L, of->text, of->length);
    lua_rawget(L, index);
  }
  blis_yaml_node *node = make_node(b, lua_gettop(L), place);
  lua_pop(L, 1);
  return node;
}

static blis_yaml_node *make_list(building *b, int index, const char *place, const key *keys,
                                 size_t count) {
  lua_State *L = b->L;
  blis_yaml_node *list =
      check_made(L, blis_yaml_make_collection(b->yaml, place, BLIS_YAML_SEQUENCE, count));
  for (size_t i = 0; i < count; i++) {
    const char *item = lua_pushfstring(L, "%s[%d]", place, (int)i + 1);
    blis_yaml_set_item(list, i, make_value(b, index, &keys[i], item));
    lua_pop(L, 1);
  }
  return list;
}

static blis_yaml_node *make_mapping(building *b, int index, const char *place, const key *keys,
                                    size_t count) {
  lua_State *L = b->L;
  blis_yaml_node *mapping =
      check_made(L, blis_yaml_make_collection(b->yaml, place, BLIS_YAML_MAPPING, count));
  for (size_t i = 0; i < count; i++) {
    const key *of = &keys[i];
    const char *name = of->text != NULL ? lua_pushlstring(L, of->text, of->length)
                                        : lua_pushfstring(L, "[%I]", (LUAI_UACINT)of->number);
    const char *format = of->text != NULL ? "%s.%s" : "%s%s";
    const char *where = lua_pushfstring(L, format, place, name);
    blis_yaml_node *key_node = check_made(
        L, blis_yaml_make_text(b->yaml, place, name, of->text != NULL ? of->length : strlen(name)));
    blis_yaml_set_pair(mapping, i, key_node, make_value(b, index, of, where));
    lua_pop(L, 2);
  }
  return mapping;
}

static bool is_list(lua_State *L, int index, const key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (keys[i].text != NULL || keys[i].number != (lua_Integer)i + 1) {
      return false;
    }
  }
  bool has_text = lua_rawgeti(L, index, 1) == LUA_TSTRING;
  lua_pop(L, 1);
  return !has_text;
}

static blis_yaml_node *make_table(building *b, int index, const char *place) {
  lua_State *L = b->L;
  if (b->depth == MAX_DEPTH) {
    raise_place(L, place, "tables are nested too deeply or contain themselves");
  }
  luaL_checkstack(L, 12, "tables nested too deeply");
  b->depth++;
  size_t count;
  const key *keys = push_keys(b, index, place, &count);
  blis_yaml_node *node = is_list(L, index, keys, count)
                             ? make_list(b, index, place, keys, count)
                             : make_mapping(b, index, place, keys, count);
  lua_pop(L, 1);
  b->depth--;
  return node;
}

static blis_yaml_node *make_number(building *b, int index, const char *place) {
  return lua_isinteger(b->L, index)
             ? blis_yaml_make_int64(b->yaml, place, lua_tointeger(b->L, index))
             : blis_yaml_make_double(b->yaml, place, lua_tonumber(b->L, index));
}

static blis_yaml_node *make_node(building *b, int index, const char *place) {
  lua_State *L = b->L;
  size_t length = 0;
  const char *text;
  switch (lua_type(L, index)) {
  case LUA_TTABLE:
    return make_table(b, index, place);
  case LUA_TBOOLEAN:
    return check_made(L, blis_yaml_make_bool(b->yaml, place, lua_toboolean(L, index)));
  case LUA_TNUMBER:
    return check_made(L, make_number(b, index, place));
  case LUA_TSTRING:
    text = lua_tolstring(L, index, &length);
    return check_made(L, blis_yaml_make_text(b->yaml, place, text, length));
  default:
    raise_place(L, place, lua_pushfstring(L, "invalid value of type %s", luaL_typename(L, index)));
    return NULL;
  }
}

blis_yaml *push_tree(lua_State *L, int index, const char *place) {
  index = lua_absindex(L, index);
  blis_yaml **tree = push_guarded(L, 1, sizeof *tree, tree_gc);
  blis_alloc alloc = bind_alloc(L);
  *tree = blis_yaml_new(&alloc);
  if (*tree == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  building b = {.L = L, .yaml = *tree};
  (void)make_node(&b, index, place);
  return *tree;
}
