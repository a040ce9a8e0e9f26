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
  CANDIDATE = 1 /* index of the argument that is a candidate */
};

/* Content of a register at an instruction. */
typedef enum symbol_kind {
  SYMBOL_NONE,
  SYMBOL_ARGUMENT, /* not read yet */
  SYMBOL_READ,
  SYMBOL_NODE
} symbol_kind;

typedef struct symbol {
  symbol_kind kind;
  int at; /* index of the argument, read, or node */
} symbol;

/* Purpose of a program. */
typedef struct purpose {
  bool is_for_candidate;
  size_t count; /* length of vectors; 0 = no vectors */
  size_t capacity;
} purpose;

typedef struct translator {
  lua_State *L;
  int function, keeper, base; /* stack indices; reads are above base */
  int argument_count;
  purpose purpose;
  int text_count;
  int argument_end; /* end of the values of a call with a variable number of them */
  bind_translation outcome;
  bind_column_program program;
  symbol registers[REGISTERS];
  int texts[BYTECODE_CONSTANTS]; /* indices in the keeper; 0 = none yet */
  bind_bytecode code;
} translator;

/* Ends the translation. The first outcome is kept. Returns an empty symbol. */
symbol bind__give_up(translator *t, bind_translation outcome);

/* Returns whether a node is a vector. */
bool bind__is_vector(const translator *t, int at);

/* Adds a node to the program; gives up if the program has too many. */
symbol bind__add_node(translator *t, step made);

symbol bind__add_constant(translator *t, value constant);

/* Adds the value of a read. Equal reads are added only once. */
symbol bind__add_read(translator *t, value_read read);

/* Returns the symbol itself, or for an argument the value read from it. */
symbol bind__looked_at(translator *t, symbol s);

/* Returns the field of a table or of the candidate. The name of the field is a constant of the
   function. */
symbol bind__field_of(translator *t, symbol owner, int constant);

/* Returns a constant of the function, which must be a number. */
symbol bind__number_constant(translator *t, int constant);

/* Returns the node of a register or an operand, which must be a number or vector. */
int bind__node_of(translator *t, symbol operand);

#endif
