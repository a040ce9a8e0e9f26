/*
 * column_translate_priv.h - a translation in progress, for its two files: column_symbols.c tracks
 * the values of a function, column_translate.c follows its instructions.
 */
#ifndef BLIS_LUA_BIND_COLUMN_TRANSLATE_PRIV_H
#define BLIS_LUA_BIND_COLUMN_TRANSLATE_PRIV_H

#include "lua/bind/bytecode.h"
#include "lua/bind/column_program_priv.h"

enum {
  REGISTERS = 256,
  CANDIDATE = 1 /* the argument that is one */
};

/* Content of a register at an instruction. */
typedef enum symbol_kind {
  SYMBOL_NONE,
  SYMBOL_ARGUMENT, /* not looked at so far */
  SYMBOL_READ,
  SYMBOL_NODE
} symbol_kind;

typedef struct symbol {
  symbol_kind kind;
  int at; /* of the argument, read or node */
} symbol;

/* Purpose of a program. */
typedef struct purpose {
  bool is_for_candidate;
  size_t count; /* 0 = none: no vector is a number of a candidate */
  size_t capacity;
} purpose;

typedef struct translator {
  lua_State *L;
  int function, keeper, base; /* places on the stack; reads are above base */
  int argument_count;
  purpose purpose;
  int text_count;
  int argument_end; /* end of the values of a call with any number of them */
  bind_translation outcome;
  bind_column_program program;
  symbol registers[REGISTERS];
  int texts[BYTECODE_CONSTANTS]; /* places in the keeper; 0 = none yet */
  bind_bytecode code;
} translator;

/* Ends the translation; the first outcome stays. Returns no symbol. */
symbol bind__give_up(translator *t, bind_translation outcome);

/* Whether a node is a vector. */
bool bind__is_vector(const translator *t, int at);

/* Adds a node to the program; gives up if the program has too many. */
symbol bind__add_node(translator *t, step made);

symbol bind__add_constant(translator *t, value constant);

/* Adds the value of a read, once for any number of reads. */
symbol bind__add_read(translator *t, value_read read);

/* Returns the same symbol; for an argument, the value read from it. */
symbol bind__looked_at(translator *t, symbol s);

/* A field, whose name is a constant of the function, of a table that is read,
   or of the candidate. */
symbol bind__field_of(translator *t, symbol owner, int constant);

/* A constant of the function that must be a number. */
symbol bind__number_constant(translator *t, int constant);

/* The node of a register or an operand, which must be a number or vector. */
int bind__node_of(translator *t, symbol operand);

#endif
