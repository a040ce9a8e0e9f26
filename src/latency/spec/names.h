/*
 * names.h - comparison of the names of models, GPUs, and precisions: the case of
 * ASCII letters does not matter, whatever the locale.
 */
#ifndef BLIS_LATENCY_SPEC_NAMES_H
#define BLIS_LATENCY_SPEC_NAMES_H

#include <stdbool.h>

/* The lower case of an ASCII letter; any other character unchanged. */
static inline int blis__lower(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Returns true if a and b differ at most in case; NULL equals only NULL. */
bool blis__equal_names(const char *a, const char *b);

/* Returns true if text begins with prefix, in any case. */
bool blis__starts_with(const char *text, const char *prefix);

/* Returns true if text contains part, in any case. */
bool blis__contains(const char *text, const char *part);

/* Returns what follows the last '/' of id. */
const char *blis__last_part(const char *id);

#endif
