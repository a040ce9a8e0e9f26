#include "lua/files/lines.h"

#include <lauxlib.h>
#include <string.h>

#include "base/format/input.h"
#include "base/format/json.h"
#include "base/format/text.h"
#include "lua/bind/bind.h"
#include "lua/files/json.h"

/* A file that is being read. */
typedef struct reading {
  blis_text *text; /* NULL at the end of the file */
  blis_json json;
  const char *path; /* a string of the closure */
  bool is_json;
} reading;

static int close_reading(lua_State *L) {
  reading *self = lua_touserdata(L, 1);
  blis_text_close(self->text);
  blis_json_deinit(&self->json);
  self->text = NULL;
  return 0;
}

static int close_input(lua_State *L) {
  blis_input **input = lua_touserdata(L, 1);
  blis_input_close(*input);
  *input = NULL;
  return 0;
}

int bind_file_head(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_input **input = push_guarded(L, 1, sizeof *input, close_input);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_slice head;
  check_status(L, blis_input_open(&alloc, path, input, &error), &error);
  check_status(L, blis_input_peek(*input, &head, &error), &error);
  if (head.length >= 3 && memcmp(head.data, "\xef\xbb\xbf", 3) == 0) {
    head.data += 3;
    head.length -= 3;
  }
  size_t blank = head.length - blis_slice_trim(head).length;
  while (blank > 0 && head.data[0] != '\0' && strchr(" \t\r\n", head.data[0]) != NULL) {
    head.data++;
    head.length--;
    blank--;
  }
  lua_pushlstring(L, head.data, head.length);
  blis_input_close(*input);
  *input = NULL;
  return 1;
}

static void push_line(lua_State *L, reading *self, blis_text_line line) {
  if (!self->is_json) {
    lua_pushlstring(L, line.content.data, line.content.length);
    return;
  }
  blis_error error = {0};
  check_status(L, blis_json_parse(&self->json, self->path, line.number, line.content, &error),
               &error);
  push_json_value(L, blis_json_root(&self->json));
}

static int next_line(lua_State *L) {
  reading *self = lua_touserdata(L, lua_upvalueindex(1));
  blis_text_line line;
  bool has_line = self->text != NULL;
  while (has_line) {
    blis_error error = {0};
    check_status(L, blis_text_next(self->text, &line, &has_line, &error), &error);
    if (has_line && !(self->is_json && blis_slice_trim(line.content).length == 0)) {
      push_line(L, self, line);
      lua_pushinteger(L, (lua_Integer)line.number);
      return 2;
    }
  }
  blis_text_close(self->text);
  self->text = NULL;
  return 0;
}

int bind_file_lines(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  bool is_json = lua_toboolean(L, 2);
  reading *self = push_guarded(L, 1, sizeof *self, close_reading);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  *self = (reading){.path = path, .is_json = is_json};
  blis_json_init(&self->json, &alloc);
  blis_json_allow_any_number(&self->json);
  check_status(L, blis_text_open(&alloc, path, &self->text, &error), &error);
  lua_pushvalue(L, 1); /* keeps the path alive */
  lua_pushcclosure(L, next_line, 2);
  return 1;
}
