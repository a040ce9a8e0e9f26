/*
 * bytecode.h - the instructions of a Lua function, as lua_dump writes them.
 *
 * Reads only what is needed to follow a short function from its first instruction to its return.
 * Functions that are too long, and formats other than Lua 5.4 with the default sizes, are not read.
 */
#ifndef BLIS_LUA_BIND_BYTECODE_H
#define BLIS_LUA_BIND_BYTECODE_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTECODE_BYTES = 4096, BYTECODE_CONSTANTS = 64 };

/* A number or a string; LUA_TNIL stands for everything else. */
typedef struct bind_constant {
  int type;
  bool is_integer;
  lua_Integer integer;
  lua_Number number;
  const char *text; /* points into bytes */
  size_t length;
} bind_constant;

typedef struct bind_bytecode {
  unsigned char bytes[BYTECODE_BYTES];
  size_t size;
  int parameter_count;
  bool is_vararg;
  const unsigned char *code;
  size_t instruction_count;
  bind_constant constants[BYTECODE_CONSTANTS];
  size_t constant_count;
} bind_bytecode;

/* Instructions that callers interpret; all others have no name here. */
typedef enum bind_opcode {
  OPCODE_MOVE = 0,
  OPCODE_LOADI = 1,
  OPCODE_LOADF = 2,
  OPCODE_LOADK = 3,
  OPCODE_GETUPVAL = 9,
  OPCODE_GETTABUP = 11,
  OPCODE_GETFIELD = 14,
  OPCODE_ADDI = 21,
  OPCODE_ADDK = 22,
  OPCODE_SUBK = 23,
  OPCODE_MULK = 24,
  OPCODE_POWK = 26,
  OPCODE_DIVK = 27,
  OPCODE_ADD = 34,
  OPCODE_SUB = 35,
  OPCODE_MUL = 36,
  OPCODE_POW = 38,
  OPCODE_DIV = 39,
  OPCODE_MMBIN = 46,
  OPCODE_MMBINI = 47,
  OPCODE_MMBINK = 48,
  OPCODE_UNM = 49,
  OPCODE_CALL = 68,
  OPCODE_TAILCALL = 69,
  OPCODE_RETURN = 70,
  OPCODE_RETURN1 = 72
} bind_opcode;

/* Operations encoded in field C of the metamethod instructions (MMBIN...). */
typedef enum bind_event {
  EVENT_ADD = 6,
  EVENT_SUB = 7,
  EVENT_MUL = 8,
  EVENT_POW = 10,
  EVENT_DIV = 11
} bind_event;

/* The fields of an instruction of any format. */
typedef struct bind_instruction {
  int opcode;
  int a, b, c;
  int sb, sc; /* b and c as signed numbers */
  int bx, sbx;
  bool k;
} bind_instruction;

/* Reads the Lua function on top of the stack, which remains there. Does not raise. */
bool bind_bytecode_read(lua_State *L, bind_bytecode *function);

bind_instruction bind_bytecode_at(const bind_bytecode *function, size_t index);

#endif
