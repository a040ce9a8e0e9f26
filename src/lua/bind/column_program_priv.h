/*
 * column_program_priv.h - the parts of a column program, for the files of its module.
 * column_program.c runs it; column_translate.c and column_symbols.c create it from a function.
 */
#ifndef BLIS_LUA_BIND_COLUMN_PROGRAM_PRIV_H
#define BLIS_LUA_BIND_COLUMN_PROGRAM_PRIV_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lua/bind/column_program.h"
#include "lua/bind/vector_math.h"

enum {
  READS_MAX = 24,
  NODES_MAX = 64,
  KEEPER_PROGRAM = 0 /* index in the keeper; strings start at 1 */
};

/* Sources of Lua values that a program reads; each read leaves its value on the stack. */
typedef enum read_from {
  FROM_ARGUMENT,
  FROM_UPVALUE,
  FROM_FIELD,
  FROM_CANDIDATE /* the caller supplies the value */
} read_from;

typedef enum read_kind { READ_TABLE, READ_FUNCTION, READ_NUMBER, READ_VECTOR } read_kind;

typedef struct value_read {
  read_from from;
  int number; /* number of the argument or upvalue, or of the read that returns the table */
  int text;   /* name of the field, as an index in the keeper */
  read_kind kind;
  lua_CFunction function;
  int node; /* node that receives the number or vector */
} value_read;

/* A Lua number, or a vector if items is not NULL. */
typedef struct value {
  const double *items;
  double number; /* also set for an integer */
  lua_Integer integer;
  bool is_integer;
} value;

typedef enum node_kind {
  NODE_GIVEN, /* a constant or the value of a read */
  NODE_ADD,   /* on numbers, like the next three */
  NODE_SUB,
  NODE_MUL,
  NODE_DIV,
  NODE_BINARY,
  NODE_NEGATE,
  NODE_MIN,
  NODE_MAX,
  NODE_SUM,
  NODE_CLAMP,
  NODE_NORM,
  NODE_WHERE
} node_kind;

typedef struct step {
  node_kind kind;
  vector_binary *binary;
  bool is_vector;
  int operands[3];
  double *own; /* memory for a computed vector */
} step;

struct bind_column_program {
  int read_count;
  int field_count; /* number of reads from the candidate */
  int node_count;
  int step_count; /* number of nodes that a run computes */
  int result;
  size_t capacity;
  value_read reads[READS_MAX];
  step nodes[NODES_MAX];
  value values[NODES_MAX];
  uint8_t steps[NODES_MAX];
  uint8_t field_nodes[CANDIDATE_FIELDS_MAX];
};

static inline value bind__number_value(double number) {
  return (value){.number = number};
}

static inline value bind__integer_value(lua_Integer integer) {
  return (value){.is_integer = true, .integer = integer, .number = (double)integer};
}

/*
 * Pushes the value that the read finds; nil if its parent is not a table. The values of earlier
 * reads are above base on the stack.
 */
void bind__push_read(lua_State *L, const value_read *read, int base, int function, int keeper);

/* Takes the value on top of the stack. Returns false if programs do not support its type. */
bool bind__take_value(lua_State *L, read_kind kind, size_t count, value *out);

#endif
