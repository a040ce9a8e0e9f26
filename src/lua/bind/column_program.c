#include "lua/bind/column_program.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "base/invariant.h"
#include "lua/bind/bind.h"
#include "lua/bind/column_program_priv.h"
#include "lua/bind/vector.h"
#include "lua/bind/vector_math.h"

static vector_operand operand_of(const value *v) {
  return (vector_operand){.items = v->items, .number = v->number};
}

/* Computes an operation whose result is a vector. Returns false if Lua would raise an error. */
static bool compute_vector(const step *node, const value *const in[3], double *out, size_t count) {
  switch (node->kind) {
  case NODE_BINARY:
    node->binary(out, operand_of(in[0]), operand_of(in[1]), count);
    return true;
  case NODE_NEGATE:
    vector_math_negate(out, in[0]->items, count);
    return true;
  case NODE_CLAMP: {
    const double low = in[1]->number;
    const double high = in[2]->number;
    vector_math_clamp(out, in[0]->items, low, high, count);
    return low <= high;
  }
  case NODE_NORM:
    vector_math_norm(out, in[0]->items, in[1]->number, count);
    return true;
  case NODE_WHERE:
    vector_math_where(out, in[0]->items, operand_of(in[1]), operand_of(in[2]), count);
    return true;
  case NODE_GIVEN:
  case NODE_ADD:
  case NODE_SUB:
  case NODE_MUL:
  case NODE_DIV:
  case NODE_MIN:
  case NODE_MAX:
  case NODE_SUM:
    break;
  }
  BLIS_ASSERT(false);
  return false;
}

static void set_number(value *out, double number) {
  out->is_integer = false;
  out->number = number;
}

static void set_integer(value *out, lua_Unsigned result) {
  out->is_integer = true;
  out->integer = (lua_Integer)result; /* Lua integers wrap around */
  out->number = (double)out->integer;
}

/* Computes + - * of two numbers, which may both be integers. */
static void compute_sum_or_product(node_kind kind, const value *a, const value *b, value *out) {
  const double x = a->number;
  const double y = b->number;
  if (a->is_integer && b->is_integer) {
    const lua_Unsigned i = (lua_Unsigned)a->integer;
    const lua_Unsigned j = (lua_Unsigned)b->integer;
    set_integer(out, kind == NODE_ADD ? i + j : kind == NODE_SUB ? i - j : i * j);
  } else {
    set_number(out, kind == NODE_ADD ? x + y : kind == NODE_SUB ? x - y : x * y);
  }
}

/* Computes operations that return a number and are not Lua arithmetic. */
static bool compute_function(const step *node, const value *const in[3], value *out, size_t count) {
  double result = 0;
  if (node->kind == NODE_BINARY) {
    node->binary(&result, operand_of(in[0]), operand_of(in[1]), 1);
  } else if (node->kind == NODE_MIN) {
    result = vector_math_min(in[0]->items, count);
  } else if (node->kind == NODE_MAX) {
    result = vector_math_max(in[0]->items, count);
  } else if (node->kind == NODE_SUM) {
    result = vector_math_sum(in[0]->items, count);
  } else {
    BLIS_ASSERT(node->kind == NODE_CLAMP);
    const double low = in[1]->number;
    const double high = in[2]->number;
    if (!(low <= high)) {
      return false;
    }
    vector_math_clamp(&result, &in[0]->number, low, high, 1);
  }
  set_number(out, result);
  return true;
}

/* Computes an operation whose result is a number. */
static bool compute_number(const bind_column_program *program, const step *node, value *out,
                           size_t count) {
  const value *values = program->values;
  const value *a = &values[node->operands[0]];
  const value *b = &values[node->operands[1]];
  switch (node->kind) {
  case NODE_ADD:
  case NODE_SUB:
  case NODE_MUL:
    compute_sum_or_product(node->kind, a, b, out);
    return true;
  case NODE_DIV:
    set_number(out, a->number / b->number);
    return true;
  case NODE_NEGATE:
    if (a->is_integer) {
      set_integer(out, 0 - (lua_Unsigned)a->integer);
    } else {
      set_number(out, -a->number);
    }
    return true;
  case NODE_GIVEN:
  case NODE_BINARY:
  case NODE_MIN:
  case NODE_MAX:
  case NODE_SUM:
  case NODE_CLAMP:
  case NODE_NORM:
  case NODE_WHERE:
    break;
  }
  const value *const in[3] = {a, b, &values[node->operands[2]]};
  return compute_function(node, in, out, count);
}

void bind__push_read(lua_State *L, const value_read *read, int base, int function, int keeper) {
  switch (read->from) {
  case FROM_ARGUMENT:
    lua_pushvalue(L, function + 1 + read->number);
    return;
  case FROM_UPVALUE:
    if (lua_getupvalue(L, function, read->number + 1) == NULL) {
      lua_pushnil(L);
    }
    return;
  case FROM_FIELD:
    lua_rawgeti(L, keeper, read->text);
    lua_rawget(L, base + 1 + read->number);
    return;
  case FROM_CANDIDATE:
    lua_pushnil(L);
    return;
  }
}

bool bind__take_value(lua_State *L, read_kind kind, size_t count, value *out) {
  if (kind == READ_NUMBER) {
    int is_integer = lua_isinteger(L, -1);
    *out = is_integer ? bind__integer_value(lua_tointegerx(L, -1, NULL))
                      : bind__number_value(lua_tonumberx(L, -1, NULL));
    return lua_type(L, -1) == LUA_TNUMBER;
  }
  const bind_vector *vector = bind_vector_test(L, -1);
  if (vector == NULL || vector->count != count) {
    return false;
  }
  *out = (value){.items = vector->items};
  return true;
}

static bool read_values(lua_State *L, bind_column_program *program, int function, int keeper,
                        size_t count) {
  const int base = lua_gettop(L);
  for (int i = 0; i < program->read_count; i++) {
    const value_read *read = &program->reads[i];
    bind__push_read(L, read, base, function, keeper);
    bool is_same = read->from == FROM_CANDIDATE;
    switch (read->kind) {
    case READ_TABLE:
      is_same = lua_type(L, -1) == LUA_TTABLE;
      break;
    case READ_FUNCTION:
      is_same = lua_tocfunction(L, -1) == read->function;
      break;
    case READ_NUMBER:
    case READ_VECTOR:
      is_same |= bind__take_value(L, read->kind, count, &program->values[read->node]);
      break;
    }
    if (!is_same) {
      return false;
    }
  }
  return true;
}

static bool compute(bind_column_program *program, int at, double *out, size_t count) {
  const step *node = &program->nodes[at];
  value *values = program->values;
  if (!node->is_vector) {
    return compute_number(program, node, &values[at], count);
  }
  const value *const in[3] = {&values[node->operands[0]], &values[node->operands[1]],
                              &values[node->operands[2]]};
  values[at].items = out;
  return compute_vector(node, in, out, count);
}

/* Sets the values of candidate i, converted as push_signal does. */
static void take_candidate(bind_column_program *program, const double *const *fields, size_t i) {
  for (int f = 0; f < program->field_count; f++) {
    value *out = &program->values[program->field_nodes[f]];
    out->number = fields[f][i];
    out->is_integer = bind_signal_is_integer(out->number, &out->integer);
  }
}

/* Written in a form that compilers vectorize. */
static bool has_nan(const double *scores, size_t count) {
  uint64_t found = 0;
  for (size_t i = 0; i < count; i++) {
    found |= (uint64_t)(scores[i] != scores[i]);
  }
  return found != 0;
}

bool bind_column_program_reads(const bind_column_program *program, int argument) {
  for (int i = 0; i < program->read_count; i++) {
    const value_read *read = &program->reads[i];
    if (read->from == FROM_ARGUMENT && read->number == argument) {
      return true;
    }
  }
  return false;
}

bool bind_column_program_run(lua_State *L, bind_column_program *program, int function, int keeper,
                             size_t count, double *scores) {
  const int top = lua_gettop(L);
  if (count > program->capacity || lua_gethook(L) != NULL ||
      !lua_checkstack(L, READS_MAX + LUA_MINSTACK)) {
    return false;
  }
  bool is_done = read_values(L, program, function, keeper, count);
  lua_settop(L, top);
  for (int s = 0; is_done && s < program->step_count; s++) {
    const int at = program->steps[s];
    double *out = at == program->result ? scores : program->nodes[at].own;
    is_done = compute(program, at, out, count);
  }
  if (!is_done) {
    return false;
  }
  const value *result = &program->values[program->result];
  if (result->items == NULL) {
    const double single = result->number;
    for (size_t i = 0; i < count; i++) {
      scores[i] = single;
    }
  } else if (result->items != scores) {
    memcpy(scores, result->items, count * sizeof *scores);
  }
  return !has_nan(scores, count);
}

int bind_candidate_program_fields(const bind_column_program *program,
                                  int texts[CANDIDATE_FIELDS_MAX]) {
  int count = 0;
  for (int r = 0; r < program->read_count; r++) {
    if (program->reads[r].from == FROM_CANDIDATE) {
      texts[count++] = program->reads[r].text;
    }
  }
  return count;
}

bool bind_candidate_program_run(lua_State *L, bind_column_program *program, int function,
                                int keeper, const double *const *fields, size_t count,
                                double *scores) {
  const int top = lua_gettop(L);
  if (lua_gethook(L) != NULL || !lua_checkstack(L, READS_MAX + LUA_MINSTACK)) {
    return false;
  }
  bool is_done = read_values(L, program, function, keeper, 0);
  lua_settop(L, top);
  for (size_t i = 0; is_done && i < count; i++) {
    take_candidate(program, fields, i);
    for (int n = 0; is_done && n < program->node_count; n++) {
      is_done = program->nodes[n].kind == NODE_GIVEN || compute(program, n, NULL, 1);
    }
    scores[i] = program->values[program->result].number;
  }
  return is_done && !has_nan(scores, count);
}
