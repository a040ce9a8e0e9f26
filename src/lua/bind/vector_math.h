/* vector_math.h - loops of Lua vectors; independent of Lua.
 *
 * Results equal the same formula on single Lua numbers, bit for bit. O(count). */
#ifndef BLIS_LUA_BIND_VECTOR_MATH_H
#define BLIS_LUA_BIND_VECTOR_MATH_H

#include <stddef.h>

/* An array, or one number for all items when items is NULL. */
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

/* NaN if empty, or if any item is NaN. */
double vector_math_min(const double *items, size_t count);
double vector_math_max(const double *items, size_t count);

/* Adds items in order; 0 if empty. */
double vector_math_sum(const double *items, size_t count);

void vector_math_negate(double *out, const double *items, size_t count);

/* An item of a where the condition's is not 0, else of b. */
void vector_math_where(double *out, const double *condition, vector_operand a, vector_operand b,
                       size_t count);

void vector_math_clamp(double *out, const double *items, double low, double high, size_t count);

/* (x - min) / (max - min); when_equal for all when they are all the same. */
void vector_math_norm(double *out, const double *items, double when_equal, size_t count);

#endif
