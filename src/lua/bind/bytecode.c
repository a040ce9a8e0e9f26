#include "lua/bind/bytecode.h"

#include <string.h>

/* Tags that lua_dump writes before each constant. */
enum {
  CONSTANT_NIL = 0x00,
  CONSTANT_FALSE = 0x01,
  CONSTANT_TRUE = 0x11,
  CONSTANT_INTEGER = 0x03,
  CONSTANT_NUMBER = 0x13,
  CONSTANT_SHORT_TEXT = 0x04,
  CONSTANT_LONG_TEXT = 0x14
};

static int keep(lua_State *L, const void *piece, size_t size, void *ud) {
  (void)L;
  bind_bytecode *function = ud;
  if (size > sizeof function->bytes - function->size) {
    return 1;
  }
  if (size > 0) {
    memcpy(function->bytes + function->size, piece, size);
  }
  function->size += size;
  return 0;
}

/* Unread input; ok becomes false at the first invalid byte. */
typedef struct reader {
  const unsigned char *at;
  const unsigned char *end;
  bool ok;
} reader;

/* Returns the next bytes; never NULL, so callers need no check. */
static const unsigned char *take(reader *in, size_t size) {
  static const unsigned char nothing[16];
  if (!in->ok || size > (size_t)(in->end - in->at)) {
    in->ok = false;
    return nothing;
  }
  const unsigned char *taken = in->at;
  in->at += size;
  return taken;
}

static int take_byte(reader *in) {
  return *take(in, 1);
}

/* Reads a number with seven bits per byte, the highest first. The eighth bit marks the last
   byte. */
static size_t take_size(reader *in) {
  enum { MORE = 0x80, BITS = 7 };
  size_t size = 0;
  for (int byte = 0; in->ok && (byte & MORE) == 0;) {
    byte = take_byte(in);
    in->ok = in->ok && size < SIZE_MAX >> BITS;
    size = size << BITS | (size_t)(byte & (MORE - 1));
  }
  return in->ok ? size : 0;
}

/* Checks the header, which differs for other releases of Lua and other number sizes. */
static void skip_header(reader *in) {
  static const char begin[] = LUA_SIGNATURE "\x54\x00\x19\x93\r\n\x1a\n";
  const lua_Integer integer = 0x5678;
  const lua_Number number = 370.5;
  const unsigned char sizes[] = {sizeof(uint32_t), sizeof integer, sizeof number};
  const struct {
    const void *bytes;
    size_t size;
  } parts[] = {{begin, sizeof begin - 1},
               {sizes, sizeof sizes},
               {&integer, sizeof integer},
               {&number, sizeof number}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const unsigned char *found = take(in, parts[i].size);
    in->ok = in->ok && memcmp(found, parts[i].bytes, parts[i].size) == 0;
  }
  take_byte(in); /* number of upvalues */
}

static void take_text(reader *in, bind_constant *constant) {
  size_t size = take_size(in);
  in->ok = in->ok && size > 0;
  constant->type = LUA_TSTRING;
  constant->length = in->ok ? size - 1 : 0;
  constant->text = (const char *)take(in, constant->length);
}

static void take_constant(reader *in, bind_constant *constant) {
  *constant = (bind_constant){.type = LUA_TNIL};
  switch (take_byte(in)) {
  case CONSTANT_NIL:
  case CONSTANT_FALSE:
  case CONSTANT_TRUE:
    return;
  case CONSTANT_INTEGER:
    constant->type = LUA_TNUMBER;
    constant->is_integer = true;
    memcpy(&constant->integer, take(in, sizeof constant->integer), sizeof constant->integer);
    return;
  case CONSTANT_NUMBER:
    constant->type = LUA_TNUMBER;
    memcpy(&constant->number, take(in, sizeof constant->number), sizeof constant->number);
    return;
  case CONSTANT_SHORT_TEXT:
  case CONSTANT_LONG_TEXT:
    take_text(in, constant);
    return;
  default:
    in->ok = false;
  }
}

bool bind_bytecode_read(lua_State *L, bind_bytecode *function) {
  function->size = 0;
  if (lua_iscfunction(L, -1) || lua_dump(L, keep, function, 1) != 0) {
    return false;
  }
  reader in = {.at = function->bytes, .end = function->bytes + function->size, .ok = true};
  skip_header(&in);
  in.ok = in.ok && take_size(&in) == 0; /* no source name */
  take_size(&in);                       /* its first line */
  take_size(&in);                       /* its last line */
  function->parameter_count = take_byte(&in);
  function->is_vararg = take_byte(&in) != 0;
  take_byte(&in); /* registers */
  function->instruction_count = take_size(&in);
  in.ok = in.ok && function->instruction_count < BYTECODE_BYTES;
  function->code = take(&in, function->instruction_count * sizeof(uint32_t));
  function->constant_count = take_size(&in);
  in.ok = in.ok && function->constant_count <= BYTECODE_CONSTANTS;
  for (size_t i = 0; in.ok && i < function->constant_count; i++) {
    take_constant(&in, &function->constants[i]);
  }
  return in.ok;
}

bind_instruction bind_bytecode_at(const bind_bytecode *function, size_t index) {
  enum { BYTE = 0xff, BYTE_ZERO = 0x7f, BX_ZERO = 0xffff };
  uint32_t word;
  memcpy(&word, function->code + index * sizeof word, sizeof word);
  const int b = (int)(word >> 16 & BYTE);
  const int c = (int)(word >> 24 & BYTE);
  const int bx = (int)(word >> 15);
  return (bind_instruction){.opcode = (int)(word & BYTE_ZERO),
                            .a = (int)(word >> 7 & BYTE),
                            .b = b,
                            .c = c,
                            .sb = b - BYTE_ZERO,
                            .sc = c - BYTE_ZERO,
                            .bx = bx,
                            .sbx = bx - BX_ZERO,
                            .k = (word >> 15 & 1) != 0};
}
