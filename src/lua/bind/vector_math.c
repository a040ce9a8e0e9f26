#include "lua/bind/vector_math.h"

#include <math.h>
#include <stdbool.h>

/* Each function has three simple loops, which compilers vectorize. */
#define BINARY(name, expression)                                                                   \
  void vector_math_##name(double *out, vector_operand a, vector_operand b, size_t count) {         \
    if (a.items != NULL && b.items != NULL) {                                                      \
      for (size_t i = 0; i < count; i++) {                                                         \
        const double x = a.items[i];                                                               \
        const double y = b.items[i];                                                               \
        out[i] = (expression);                                                                     \
      }                                                                                            \
    } else if (a.items != NULL) {                                                                  \
      const double y = b.number;                                                                   \
      for (size_t i = 0; i < count; i++) {                                                         \
        const double x = a.items[i];                                                               \
        out[i] = (expression);                                                                     \
      }                                                                                            \
    } else {                                                                                       \
      const double x = a.number;                                                                   \
      for (size_t i = 0; i < count; i++) {                                                         \
        const double y = b.items != NULL ? b.items[i] : b.number;                                  \
        out[i] = (expression);                                                                     \
      }                                                                                            \
    }                                                                                              \
  }

/* Same as Lua's ^, which computes squares by multiplication. */
static double power(double x, double y) {
  return y == 2 ? x * x : pow(x, y);
}

BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, (x * y))
BINARY(div, x / y)
BINARY(pow, power(x, y))
BINARY(lt, (double)(x < y))
BINARY(le, (double)(x <= y))
BINARY(gt, (double)(x > y))
BINARY(ge, (double)(x >= y))
BINARY(eq, (double)(x == y))
/* Same as math.min(x, y) and math.max(x, y). */
BINARY(smaller, y < x ? y : x)
BINARY(larger, x < y ? y : x)

double vector_math_min(const double *items, size_t count) {
  double least = count == 0 ? (double)NAN : items[0];
  for (size_t i = 1; i < count; i++) {
    least = items[i] < least || isnan(items[i]) ? items[i] : least;
  }
  return least;
}

double vector_math_max(const double *items, size_t count) {
  double most = count == 0 ? (double)NAN : items[0];
  for (size_t i = 1; i < count; i++) {
    most = items[i] > most || isnan(items[i]) ? items[i] : most;
  }
  return most;
}

double vector_math_sum(const double *items, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += items[i];
  }
  return sum;
}

void vector_math_negate(double *out, const double *items, size_t count) {
  for (size_t i = 0; i < count; i++) {
    out[i] = -items[i];
  }
}

void vector_math_where(double *out, const double *condition, vector_operand a, vector_operand b,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    const vector_operand *from = condition[i] != 0 ? &a : &b;
    out[i] = from->items != NULL ? from->items[i] : from->number;
  }
}

void vector_math_clamp(double *out, const double *items, double low, double high, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double x = items[i];
    out[i] = x < low ? low : x > high ? high : x;
  }
}

void vector_math_norm(double *out, const double *items, double when_equal, size_t count) {
  const double least = vector_math_min(items, count);
  const double most = vector_math_max(items, count);
  const double range = most - least;
  for (size_t i = 0; i < count; i++) {
    out[i] = range == 0 ? when_equal : (items[i] - least) / range;
  }
}
