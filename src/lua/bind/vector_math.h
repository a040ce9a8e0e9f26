/*
 * vector_math.h - loops of Lua vectors; independent of Lua.
 *
 * Results are bit-identical to the same formula on single Lua numbers. O(count).
 */
#ifndef BLIS_LUA_BIND_VECTOR_MATH_H
#define BLIS_LUA_BIND_VECTOR_MATH_H

#include <stddef.h>

/* An array, or one number for all items if items is NULL. */
typedef struct vector_operand {
  const double *items;
  double number;
} vector_operand;

/* out may be one of the operands. */
typedef void vector_binary(double *out, vector_operand a, vector_operand b, size_t count);

/* Comparisons return 1 or 0. */
#define VECTOR_BINARY_MAP(XX)                                                                      \
  XX(add)                                                                                          \
  XX(sub)                                                                                          \
  XX(mul)                                                                                          \
  XX(div)                                                                                          \
  XX(pow)                                                                                          \
  XX(lt)                                                                                           \
  XX(le)                                                                                           \
  XX(gt)                                                                                           \
  XX(ge)                                                                                           \
  XX(eq)

#define XX(name) vector_binary vector_math_##name;
VECTOR_BINARY_MAP(XX)
#undef XX
vector_binary vector_math_smaller;
vector_binary vector_math_larger;

/* Return NaN if the array is empty or any item is NaN. */
double vector_math_min(const double *items, size_t count);
double vector_math_max(const double *items, size_t count);

/* Adds the items in order. Returns 0 if the array is empty. */
double vector_math_sum(const double *items, size_t count);

void vector_math_negate(double *out, const double *items, size_t count);

/* Selects the item of a if the condition's item is not 0, otherwise the item of b. */
void vector_math_where(double *out, const double *condition, vector_operand a, vector_operand b,
                       size_t count);

void vector_math_clamp(double *out, const double *items, double low, double high, size_t count);

/* (x - min) / (max - min); if all items are equal, every result is when_equal. */
void vector_math_norm(double *out, const double *items, double when_equal, size_t count);

#endif
