/* column_symbols.c - the values that a function reads, and the nodes of its program. */
#include "lua/bind/column_translate_priv.h"
#include "lua/bind/vector.h"
#include "lua/bind/vector_math.h"

symbol bind__give_up(translator *t, bind_translation outcome) {
  if (t->outcome == TRANSLATION_MADE) {
    t->outcome = outcome;
  }
  return (symbol){SYMBOL_NONE, 0};
}

bool bind__is_vector(const translator *t, int at) {
  return t->program.nodes[at].is_vector;
}

symbol bind__add_node(translator *t, step made) {
  bind_column_program *program = &t->program;
  if (program->node_count == NODES_MAX) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  program->nodes[program->node_count] = made;
  return (symbol){SYMBOL_NODE, program->node_count++};
}

symbol bind__add_constant(translator *t, value constant) {
  symbol made = bind__add_node(t, (step){.kind = NODE_GIVEN});
  if (made.kind == SYMBOL_NODE) {
    t->program.values[made.at] = constant;
  }
  return made;
}

/* Determines the kind of the value on top of the stack. */
static bool find_kind(translator *t, value_read *read) {
  lua_State *L = t->L;
  value found;
  read->function = lua_tocfunction(L, -1);
  if (read->from == FROM_CANDIDATE || lua_type(L, -1) == LUA_TNUMBER) {
    read->kind = READ_NUMBER;
  } else if (lua_type(L, -1) == LUA_TTABLE) {
    read->kind = READ_TABLE;
  } else if (bind_vector_function_of(read->function) != VECTOR_FUNCTIONS) {
    read->kind = READ_FUNCTION;
  } else if (bind__take_value(L, READ_VECTOR, t->purpose.count, &found)) {
    read->kind = READ_VECTOR;
  } else {
    return false;
  }
  return true;
}

static bool is_same_read(const value_read *a, const value_read *b) {
  return a->from == b->from && a->number == b->number && a->text == b->text;
}

static symbol symbol_of_read(const translator *t, int at) {
  const value_read *read = &t->program.reads[at];
  bool is_value = read->kind == READ_NUMBER || read->kind == READ_VECTOR;
  return is_value ? (symbol){SYMBOL_NODE, read->node} : (symbol){SYMBOL_READ, at};
}

symbol bind__add_read(translator *t, value_read read) {
  bind_column_program *program = &t->program;
  for (int i = 0; i < program->read_count; i++) {
    if (is_same_read(&program->reads[i], &read)) {
      return symbol_of_read(t, i);
    }
  }
  program->field_count += read.from == FROM_CANDIDATE;
  if (program->read_count == READS_MAX || program->field_count > CANDIDATE_FIELDS_MAX) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  bind__push_read(t->L, &read, t->base, t->function, t->keeper);
  if (!find_kind(t, &read)) {
    return bind__give_up(t, TRANSLATION_NOT_NOW);
  }
  if (read.kind == READ_NUMBER || read.kind == READ_VECTOR) {
    const step given = {.kind = NODE_GIVEN, .is_vector = read.kind == READ_VECTOR};
    symbol made = bind__add_node(t, given);
    read.node = made.at;
  }
  program->reads[program->read_count] = read;
  return symbol_of_read(t, program->read_count++);
}

symbol bind__looked_at(translator *t, symbol s) {
  if (s.kind == SYMBOL_ARGUMENT && t->purpose.is_for_candidate && s.at == CANDIDATE) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  return s.kind != SYMBOL_ARGUMENT
             ? s
             : bind__add_read(t, (value_read){.from = FROM_ARGUMENT, .number = s.at});
}

/* Returns the index of a constant string in the keeper. */
static int text_of(translator *t, int constant) {
  const bind_constant *c = &t->code.constants[constant];
  if ((size_t)constant >= t->code.constant_count || c->type != LUA_TSTRING) {
    bind__give_up(t, TRANSLATION_NEVER);
    return 0;
  }
  if (t->texts[constant] == 0) {
    t->texts[constant] = ++t->text_count;
    lua_pushlstring(t->L, c->text, c->length);
    lua_rawseti(t->L, t->keeper, t->text_count);
  }
  return t->texts[constant];
}

/* Translates a field of the candidate; it must be a number in the current table. */
static symbol candidate_field(translator *t, int constant) {
  lua_State *L = t->L;
  const int text = text_of(t, constant);
  if (t->outcome != TRANSLATION_MADE) {
    return (symbol){SYMBOL_NONE, 0};
  }
  lua_rawgeti(L, t->keeper, text);
  bool is_number = lua_type(L, t->function + 1 + CANDIDATE) == LUA_TTABLE &&
                   lua_rawget(L, t->function + 1 + CANDIDATE) == LUA_TNUMBER;
  lua_pop(L, 1);
  return is_number ? bind__add_read(t, (value_read){.from = FROM_CANDIDATE, .text = text})
                   : bind__give_up(t, TRANSLATION_NOT_NOW);
}

symbol bind__field_of(translator *t, symbol owner, int constant) {
  if (owner.kind == SYMBOL_ARGUMENT && t->purpose.is_for_candidate && owner.at == CANDIDATE) {
    return candidate_field(t, constant);
  }
  const symbol table = bind__looked_at(t, owner);
  const int text = text_of(t, constant);
  if (t->outcome != TRANSLATION_MADE) {
    return (symbol){SYMBOL_NONE, 0};
  }
  if (table.kind != SYMBOL_READ || t->program.reads[table.at].kind != READ_TABLE) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  return bind__add_read(t, (value_read){.from = FROM_FIELD, .number = table.at, .text = text});
}

symbol bind__number_constant(translator *t, int constant) {
  const bind_constant *c = &t->code.constants[constant];
  if ((size_t)constant >= t->code.constant_count || c->type != LUA_TNUMBER) {
    return bind__give_up(t, TRANSLATION_NEVER);
  }
  return bind__add_constant(t, c->is_integer ? bind__integer_value(c->integer)
                                             : bind__number_value(c->number));
}

/* Returns the node of a register or an operand, which must be a number or vector. */
int bind__node_of(translator *t, symbol operand) {
  const symbol s = bind__looked_at(t, operand);
  if (s.kind != SYMBOL_NODE) {
    bind__give_up(t, TRANSLATION_NEVER);
    return 0;
  }
  return s.at;
}
