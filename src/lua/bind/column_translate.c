/* column_translate.c - translates functions into column programs. */
#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "base/invariant.h"
#include "lua/bind/bind.h"
#include "lua/bind/column_translate_priv.h"
#include "lua/bind/vector.h"
#include "lua/bind/vector_math.h"

enum { ARGUMENTS_MAX = 3 };

static symbol add_binary(translator *t, vector_binary *binary, symbol a, symbol b) {
  const int x = bind__node_of(t, a);
  const int y = bind__node_of(t, b);
  bool has_vector = bind__is_vector(t, x) || bind__is_vector(t, y);
  return bind__add_node(t, (step){.kind = NODE_BINARY,
                                  .binary = binary,
                                  .is_vector = has_vector,
                                  .operands = {x, y, y}});
}

/* Translates an operator on two numbers; other operands use a metamethod. */
static symbol add_numbers(translator *t, vector_binary *binary, symbol a, symbol b) {
  symbol made = add_binary(t, binary, a, b);
  if (made.kind == SYMBOL_NODE) {
    node_kind *kind = &t->program.nodes[made.at].kind;
    *kind = binary == vector_math_add   ? NODE_ADD
            : binary == vector_math_sub ? NODE_SUB
            : binary == vector_math_mul ? NODE_MUL
            : binary == vector_math_div ? NODE_DIV
                                        : NODE_BINARY;
  }
  return made;
}

static vector_binary *operator_of(int event) {
  switch (event) {
  case EVENT_ADD:
    return vector_math_add;
  case EVENT_SUB:
    return vector_math_sub;
  case EVENT_MUL:
    return vector_math_mul;
  case EVENT_DIV:
    return vector_math_div;
  case EVENT_POW:
    return vector_math_pow;
  default:
    return NULL;
  }
}

/*
 * Translates an arithmetic instruction and the next instruction, which handles operands that are
 * not numbers. The two may express the same formula differently: x - 1 is x + -1, or else the
 * metamethod of x - 1.
 */
static symbol translate_arithmetic(translator *t, vector_binary *binary, symbol a, symbol b,
                                   size_t next) {
  const int x = bind__node_of(t, a);
  const int y = bind__node_of(t, b);
  if (t->outcome != TRANSLATION_MADE || next >= t->code.instruction_count) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  if (!bind__is_vector(t, x) && !bind__is_vector(t, y)) {
    return add_numbers(t, binary, a, b);
  }
  const bind_instruction i = bind_bytecode_at(&t->code, next);
  symbol left = t->registers[i.a];
  symbol right;
  if (i.opcode == OPCODE_MMBIN) {
    right = t->registers[i.b];
  } else if (i.opcode == OPCODE_MMBINI) {
    right = bind__add_constant(t, bind__integer_value(i.sb));
  } else if (i.opcode == OPCODE_MMBINK) {
    right = bind__number_constant(t, i.b);
  } else {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  vector_binary *named = operator_of(i.c);
  if (named == NULL) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  bool is_flipped = i.k && i.opcode != OPCODE_MMBIN;
  return is_flipped ? add_binary(t, named, right, left) : add_binary(t, named, left, right);
}

static symbol translate_negation(translator *t, symbol operand) {
  const int x = bind__node_of(t, operand);
  return bind__add_node(
      t, (step){.kind = NODE_NEGATE, .is_vector = bind__is_vector(t, x), .operands = {x, x, x}});
}

/* Translates min(v), max(v), and sum(v), which return a number. Like norm, they take one
   argument. */
static symbol translate_reduction(translator *t, node_kind kind, int v) {
  return bind__is_vector(t, v) ? bind__add_node(t, (step){.kind = kind, .operands = {v, v, v}})
                               : bind__give_up(t, TRANSLATION_NEVER);
}

static vector_binary *binary_function(bind_vector_function function) {
  switch (function) {
  case VECTOR_min:
    return vector_math_smaller;
  case VECTOR_max:
    return vector_math_larger;
  case VECTOR_lt:
    return vector_math_lt;
  case VECTOR_le:
    return vector_math_le;
  case VECTOR_gt:
    return vector_math_gt;
  case VECTOR_ge:
    return vector_math_ge;
  case VECTOR_eq:
    return vector_math_eq;
  case VECTOR_sum:
  case VECTOR_clamp:
  case VECTOR_norm:
  case VECTOR_where:
  case VECTOR_totable:
  case VECTOR_new:
  case VECTOR_FUNCTIONS:
    break;
  }
  return NULL;
}

/* Returns the argument at an index, or a number if the argument is missing. */
static int argument_or(translator *t, const symbol *arguments, int count, int at, double missing) {
  int found = bind__node_of(t, at < count ? arguments[at]
                                          : bind__add_constant(t, bind__number_value(missing)));
  if (bind__is_vector(t, found)) {
    bind__give_up(t, TRANSLATION_NEVER);
  }
  return found;
}

static symbol translate_function(translator *t, bind_vector_function function,
                                 const symbol *arguments, int count) {
  if (count < 1) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  vector_binary *binary = binary_function(function);
  if (binary != NULL && count >= 2) {
    return add_binary(t, binary, arguments[0], arguments[1]);
  }
  const int v = bind__node_of(t, arguments[0]);
  step made = {.is_vector = true, .operands = {v, v, v}};
  switch (function) {
  case VECTOR_min:
    return translate_reduction(t, NODE_MIN, v);
  case VECTOR_max:
    return translate_reduction(t, NODE_MAX, v);
  case VECTOR_sum:
    return translate_reduction(t, NODE_SUM, v);
  case VECTOR_clamp:
    made.kind = NODE_CLAMP;
    made.is_vector = bind__is_vector(t, v);
    made.operands[1] = argument_or(t, arguments, count, 1, 0);
    made.operands[2] = argument_or(t, arguments, count, 2, 1);
    return bind__add_node(t, made);
  case VECTOR_norm:
    made.kind = NODE_NORM;
    made.operands[1] = argument_or(t, arguments, count, 1, 0);
    return bind__is_vector(t, v) ? bind__add_node(t, made) : bind__give_up(t, TRANSLATION_NEVER);
  case VECTOR_where:
    if (count < 3 || !bind__is_vector(t, v)) {
      return bind__give_up(t, TRANSLATION_NEVER);
    }
    made.kind = NODE_WHERE;
    made.operands[1] = bind__node_of(t, arguments[1]);
    made.operands[2] = bind__node_of(t, arguments[2]);
    return bind__add_node(t, made);
  case VECTOR_lt:
  case VECTOR_le:
  case VECTOR_gt:
  case VECTOR_ge:
  case VECTOR_eq:
  case VECTOR_totable:
  case VECTOR_new:
  case VECTOR_FUNCTIONS:
    break;
  }
  return bind__give_up(t, TRANSLATION_NEVER);
}

/* R[A](R[A+1], ...): b - 1 is the number of arguments and c - 1 the number of results; 0 =
   variable. */
static void translate_call(translator *t, const bind_instruction *i, int results) {
  symbol *called = &t->registers[i->a];
  const int end = i->b == 0 ? t->argument_end : i->a + i->b;
  if (called->kind != SYMBOL_READ || end > REGISTERS ||
      t->program.reads[called->at].kind != READ_FUNCTION) {
    bind__give_up(t, TRANSLATION_NEVER);
    return;
  }
  *called = translate_function(t, bind_vector_function_of(t->program.reads[called->at].function),
                               called + 1, end - i->a - 1);
  t->argument_end = i->a + 1;
  for (int r = i->a + 1; r < i->a + results - 1 && r < REGISTERS; r++) {
    t->registers[r].kind = SYMBOL_NONE; /* nil */
  }
}

/* Translates arithmetic with the operands of an instruction. */
static symbol translate_operator(translator *t, const bind_instruction *i, size_t next) {
  const symbol *r = t->registers;
  switch (i->opcode) {
  case OPCODE_ADDI:
    return translate_arithmetic(t, vector_math_add, r[i->b],
                                bind__add_constant(t, bind__integer_value(i->sc)), next);
  case OPCODE_ADDK:
    return translate_arithmetic(t, vector_math_add, r[i->b], bind__number_constant(t, i->c), next);
  case OPCODE_SUBK:
    return translate_arithmetic(t, vector_math_sub, r[i->b], bind__number_constant(t, i->c), next);
  case OPCODE_MULK:
    return translate_arithmetic(t, vector_math_mul, r[i->b], bind__number_constant(t, i->c), next);
  case OPCODE_POWK:
    return translate_arithmetic(t, vector_math_pow, r[i->b], bind__number_constant(t, i->c), next);
  case OPCODE_DIVK:
    return translate_arithmetic(t, vector_math_div, r[i->b], bind__number_constant(t, i->c), next);
  case OPCODE_ADD:
    return translate_arithmetic(t, vector_math_add, r[i->b], r[i->c], next);
  case OPCODE_SUB:
    return translate_arithmetic(t, vector_math_sub, r[i->b], r[i->c], next);
  case OPCODE_MUL:
    return translate_arithmetic(t, vector_math_mul, r[i->b], r[i->c], next);
  case OPCODE_POW:
    return translate_arithmetic(t, vector_math_pow, r[i->b], r[i->c], next);
  case OPCODE_DIV:
    return translate_arithmetic(t, vector_math_div, r[i->b], r[i->c], next);
  default:
    return bind__give_up(t, TRANSLATION_NEVER);
  }
}

/* Translates instructions that store a value in register A. */
static symbol translate_value(translator *t, const bind_instruction *i) {
  switch (i->opcode) {
  case OPCODE_MOVE:
    return t->registers[i->b];
  case OPCODE_LOADI:
    return bind__add_constant(t, bind__integer_value(i->sbx));
  case OPCODE_LOADF:
    return bind__add_constant(t, bind__number_value(i->sbx));
  case OPCODE_LOADK:
    return bind__number_constant(t, i->bx);
  case OPCODE_GETUPVAL:
    return bind__add_read(t, (value_read){.from = FROM_UPVALUE, .number = i->b});
  case OPCODE_GETTABUP: {
    symbol table = bind__add_read(t, (value_read){.from = FROM_UPVALUE, .number = i->b});
    return t->outcome == TRANSLATION_MADE ? bind__field_of(t, table, i->c) : table;
  }
  case OPCODE_GETFIELD:
    return bind__field_of(t, t->registers[i->b], i->c);
  case OPCODE_UNM:
    return translate_negation(t, t->registers[i->b]);
  default:
    return bind__give_up(t, TRANSLATION_NEVER);
  }
}

/* Follows the function to its return. The result is the first returned value. */
static void translate(translator *t) {
  for (size_t at = 0; t->outcome == TRANSLATION_MADE; at++) {
    if (at >= t->code.instruction_count) {
      bind__give_up(t, TRANSLATION_NEVER);
      return;
    }
    const bind_instruction i = bind_bytecode_at(&t->code, at);
    switch (i.opcode) {
    case OPCODE_ADDI:
    case OPCODE_ADDK:
    case OPCODE_SUBK:
    case OPCODE_MULK:
    case OPCODE_POWK:
    case OPCODE_DIVK:
    case OPCODE_ADD:
    case OPCODE_SUB:
    case OPCODE_MUL:
    case OPCODE_POW:
    case OPCODE_DIV:
      t->registers[i.a] = translate_operator(t, &i, ++at);
      break;
    case OPCODE_CALL:
      translate_call(t, &i, i.c);
      break;
    case OPCODE_TAILCALL:
      translate_call(t, &i, 0);
      break;
    case OPCODE_RETURN:
      if (i.b == 1 || (i.b == 0 && t->argument_end <= i.a)) {
        bind__give_up(t, TRANSLATION_NEVER);
      }
      t->program.result = bind__node_of(t, t->registers[i.a]);
      return;
    case OPCODE_RETURN1:
      t->program.result = bind__node_of(t, t->registers[i.a]);
      return;
    default:
      t->registers[i.a] = translate_value(t, &i);
    }
  }
}

/* Sets the initial values of parameters; missing parameters are nil. */
static void set_parameters(translator *t) {
  const int wanted = t->code.parameter_count;
  for (int i = 0; i < wanted && i < t->argument_count; i++) {
    t->registers[i] = (symbol){SYMBOL_ARGUMENT, i};
  }
}

/* Lists the steps of a run. */
static void list_steps(bind_column_program *program) {
  int fields = 0;
  for (int i = 0; i < program->node_count; i++) {
    if (program->nodes[i].kind != NODE_GIVEN) {
      program->steps[program->step_count++] = (uint8_t)i;
    }
  }
  for (int i = 0; i < program->read_count; i++) {
    if (program->reads[i].from == FROM_CANDIDATE) {
      program->field_nodes[fields++] = (uint8_t)program->reads[i].node;
    }
  }
  BLIS_ASSERT(fields == program->field_count);
}

/* Pushes a copy of the program, followed by the memory of its vectors. */
static bind_column_program *push_copy(lua_State *L, const bind_column_program *made) {
  const size_t room = (size_t)made->step_count * made->capacity;
  bind_column_program *program = lua_newuserdatauv(L, sizeof *program + room * sizeof(double), 0);
  *program = *made;
  double *next = (double *)(void *)(program + 1);
  for (int s = 0; s < program->step_count; s++) {
    program->nodes[program->steps[s]].own = next;
    next += program->capacity;
  }
  return program;
}

static bind_translation push_program(lua_State *L, int function, purpose wanted,
                                     bind_column_program **program) {
  const int top = lua_gettop(L);
  luaL_checkstack(L, READS_MAX + LUA_MINSTACK, "a scorer");
  lua_newtable(L); /* the keeper */
  translator *t = lua_newuserdatauv(L, sizeof *t, 0);
  memset(t, 0, sizeof *t);
  t->L = L;
  t->purpose = wanted;
  t->program.capacity = wanted.capacity;
  t->function = function;
  t->keeper = top + 1;
  t->argument_count = top - function;
  lua_pushvalue(L, function);
  bool is_followed =
      bind_vector_has_own_operators(L) && bind_bytecode_read(L, &t->code) && !t->code.is_vararg;
  if (!is_followed) {
    lua_settop(L, top);
    return TRANSLATION_NEVER;
  }
  t->base = lua_gettop(L);
  set_parameters(t);
  translate(t);
  const bind_translation outcome = t->outcome;
  if (outcome == TRANSLATION_MADE) {
    list_steps(&t->program);
    *program = push_copy(L, &t->program);
    lua_rawseti(L, t->keeper, KEEPER_PROGRAM);
  }
  lua_settop(L, outcome == TRANSLATION_MADE ? top + 1 : top);
  return outcome;
}

bind_translation push_column_program(lua_State *L, int function, size_t count, size_t capacity,
                                     bind_column_program **program) {
  const purpose columns = {.count = count, .capacity = capacity};
  return push_program(L, function, columns, program);
}

bind_translation push_candidate_program(lua_State *L, int function, bind_column_program **program) {
  const purpose candidate = {.is_for_candidate = true};
  return push_program(L, function, candidate, program);
}
