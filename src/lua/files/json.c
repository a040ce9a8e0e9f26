#include "lua/files/json.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/format/json.h"
#include "base/format/json_writer.h"
#include "lua/bind/bind.h"

#define WRITER_TYPE "blis.json_writer"

typedef struct writer {
  blis_buffer buffer;
  blis_json_writer json;
  uint64_t is_object; /* one bit per depth; 0 is the outermost value */
  int depth;
  bool has_value; /* the outermost value has begun */
} writer;

static writer *check_writer(lua_State *L) {
  return luaL_checkudata(L, 1, WRITER_TYPE);
}

static bool is_in_object(const writer *self) {
  return self->depth > 0 && (self->is_object >> self->depth & 1) != 0;
}

static void check_buffer(lua_State *L, const writer *self) {
  check_status(L, blis_buffer_status(&self->buffer), NULL);
}

/* Writes the key at index if a key is expected, and raises otherwise. */
static void check_place(lua_State *L, writer *self, int key) {
  if (is_in_object(self)) {
    blis_json_writer_key(&self->json, luaL_checkstring(L, key));
    return;
  }
  luaL_argcheck(L, lua_isnoneornil(L, key), key, "only members of an object have keys");
  if (self->depth == 0 && self->has_value) {
    luaL_error(L, "the JSON text is complete");
  }
  self->has_value = true;
}

static int begin(lua_State *L, bool is_object) {
  writer *self = check_writer(L);
  if (self->depth + 1 >= BLIS_JSON_WRITER_DEPTH_MAX) {
    return luaL_error(L, "JSON nested too deeply");
  }
  check_place(L, self, 2);
  self->depth++;
  uint64_t bit = (uint64_t)1 << self->depth;
  if (is_object) {
    self->is_object |= bit;
    blis_json_writer_begin_object(&self->json);
  } else {
    self->is_object &= ~bit;
    blis_json_writer_begin_array(&self->json);
  }
  lua_settop(L, 1);
  return 1;
}

static int writer_object(lua_State *L) {
  return begin(L, true);
}

static int writer_array(lua_State *L) {
  return begin(L, false);
}

static int writer_done(lua_State *L) {
  writer *self = check_writer(L);
  if (self->depth == 0) {
    return luaL_error(L, "no JSON object or array is open");
  }
  if (is_in_object(self)) {
    blis_json_writer_end_object(&self->json);
  } else {
    blis_json_writer_end_array(&self->json);
  }
  self->depth--;
  lua_settop(L, 1);
  return 1;
}

static void check_scalar(lua_State *L, writer *self, int index) {
  switch (lua_type(L, index)) {
  case LUA_TBOOLEAN:
    blis_json_writer_bool(&self->json, lua_toboolean(L, index) != 0);
    break;
  case LUA_TNUMBER:
    if (lua_isinteger(L, index)) {
      blis_json_writer_int64(&self->json, lua_tointeger(L, index));
    } else {
      blis_json_writer_double(&self->json, lua_tonumber(L, index));
    }
    break;
  case LUA_TSTRING: {
    blis_slice text;
    text.data = lua_tolstring(L, index, &text.length);
    blis_json_writer_text(&self->json, text);
    break;
  }
  default:
    blis_json_writer_null(&self->json);
  }
}

/* Raises if JSON cannot represent the value. */
static void check_is_scalar(lua_State *L, int index) {
  int type = lua_type(L, index);
  luaL_argexpected(L,
                   type == LUA_TNIL || type == LUA_TBOOLEAN || type == LUA_TNUMBER ||
                       type == LUA_TSTRING ||
                       (type == LUA_TLIGHTUSERDATA && lua_touserdata(L, index) == NULL),
                   index, "a number, string, boolean or nil");
}

static int writer_field(lua_State *L) {
  writer *self = check_writer(L);
  lua_settop(L, 3);
  check_is_scalar(L, 3);
  if (!is_in_object(self)) {
    return luaL_error(L, "only members of an object have keys");
  }
  check_place(L, self, 2);
  check_scalar(L, self, 3);
  lua_settop(L, 1);
  return 1;
}

static int writer_item(lua_State *L) {
  writer *self = check_writer(L);
  lua_settop(L, 2);
  check_is_scalar(L, 2);
  if (is_in_object(self)) {
    return luaL_error(L, "a member of an object needs a key");
  }
  check_place(L, self, 3);
  check_scalar(L, self, 2);
  lua_settop(L, 1);
  return 1;
}

/* take(): returns and removes the output since the last call. */
static int writer_take(lua_State *L) {
  writer *self = check_writer(L);
  check_buffer(L, self);
  lua_pushlstring(L, blis_buffer_text(&self->buffer), self->buffer.length);
  blis_buffer_clear(&self->buffer);
  return 1;
}

static int writer_len(lua_State *L) {
  writer *self = check_writer(L);
  check_buffer(L, self);
  lua_pushinteger(L, (lua_Integer)self->buffer.length);
  return 1;
}

static int writer_gc(lua_State *L) {
  writer *self = check_writer(L);
  blis_buffer_deinit(&self->buffer);
  return 0;
}

static int writer_tostring(lua_State *L) {
  check_writer(L);
  lua_pushliteral(L, "JSON writer");
  return 1;
}

int bind_json_writer_new(lua_State *L) {
  lua_Integer indent = luaL_optinteger(L, 1, 0);
  luaL_argcheck(L, indent >= 0 && indent <= 16, 1, "expected 0 to 16 spaces");
  writer *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  blis_alloc alloc = bind_alloc(L);
  blis_buffer_init(&self->buffer, &alloc);
  blis_json_writer_init(&self->json, &self->buffer, (int)indent);
  luaL_setmetatable(L, WRITER_TYPE);
  return 1;
}

void bind_open_json(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", writer_gc}, {"__len", writer_len}, {"__tostring", writer_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"array", writer_array},
                                     {"done", writer_done},
                                     {"field", writer_field},
                                     {"item", writer_item},
                                     {"object", writer_object},
                                     {"take", writer_take},
                                     {NULL, NULL}};
  push_new_type(L, WRITER_TYPE, meta, methods);
  lua_pop(L, 1);
}

/*
 * Pushes a real number. Only a lenient parser accepts a number that is not finite, and an integer
 * of 2^63 or more, such as a hash. Such an integer keeps its low 62 bits, so that different hashes
 * remain different, and is at least 2^62, so that it is not a plausible count.
 */
static void push_real(lua_State *L, blis_json_value value) {
  double number = 0;
  uint64_t bits = 0;
  if (blis_json_double(value, -DBL_MAX, DBL_MAX, &number, NULL) != BLIS_OK) {
    lua_pushnumber(L, (lua_Number)NAN);
  } else if (number >= 0x1p63 && blis_json_id64(value, &bits, NULL) == BLIS_OK) {
    lua_pushinteger(L, (lua_Integer)((bits & (INT64_MAX / 2)) | (INT64_MAX / 2 + 1)));
  } else {
    lua_pushnumber(L, number);
  }
}

/* Pushes a value. The parser limits the nesting, so this recursion is bounded. */
void push_json_value(lua_State *L, blis_json_value value) {
  bool flag = false;
  int64_t integer = 0;
  blis_slice text = {0};
  blis_error error = {0};
  luaL_checkstack(L, 4, "JSON nested too deeply");
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_BOOL:
    check_status(L, blis_json_bool(value, &flag, &error), &error);
    lua_pushboolean(L, flag);
    return;
  case BLIS_JSON_INTEGER:
    check_status(L, blis_json_int64(value, INT64_MIN, INT64_MAX, &integer, &error), &error);
    lua_pushinteger(L, integer);
    return;
  case BLIS_JSON_REAL:
    push_real(L, value);
    return;
  case BLIS_JSON_TEXT:
    check_status(L, blis_json_text(value, &text, &error), &error);
    lua_pushlstring(L, text.data, text.length);
    return;
  case BLIS_JSON_ARRAY: {
    size_t count = blis_json_count(value);
    lua_createtable(L, count < INT_MAX ? (int)count : 0, 0);
    for (size_t i = 0; i < count; i++) {
      push_json_value(L, blis_json_item(value, i));
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return;
  }
  case BLIS_JSON_OBJECT: {
    const char *key = NULL;
    blis_json_value member;
    size_t count = blis_json_count(value);
    lua_createtable(L, 0, count < INT_MAX ? (int)count : 0);
    while (blis_json_next(value, &key, &member)) {
      push_json_value(L, member);
      lua_setfield(L, -2, key);
    }
    return;
  }
  default:
    lua_pushlightuserdata(L, NULL);
  }
}

static int tree_gc(lua_State *L) {
  blis_json_deinit(lua_touserdata(L, 1));
  return 0;
}

int bind_json_read(lua_State *L) {
  blis_slice text;
  text.data = luaL_checklstring(L, 1, &text.length);
  const char *file = luaL_optstring(L, 2, "JSON text");
  blis_json *json = push_guarded(L, 1, sizeof *json, tree_gc);
  const blis_alloc alloc = bind_alloc(L);
  blis_json_init(json, &alloc);
  blis_error error = {0};
  check_status(L, blis_json_parse(json, file, 1, text, &error), &error);
  push_json_value(L, blis_json_root(json));
  return 1;
}
