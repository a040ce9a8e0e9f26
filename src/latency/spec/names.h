/*
 * names.h - compares names of models, GPUs, and precisions. The comparison ignores the case of
 * ASCII letters and does not depend on the locale.
 */
#ifndef BLIS_LATENCY_SPEC_NAMES_H
#define BLIS_LATENCY_SPEC_NAMES_H

#include <stdbool.h>

/* Returns the lower case of an ASCII letter; other characters are unchanged. */
static inline int blis__lower(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Returns whether a and b are equal, ignoring case. NULL equals only NULL. */
bool blis__equal_names(const char *a, const char *b);

/* Returns whether text begins with prefix, ignoring case. */
bool blis__starts_with(const char *text, const char *prefix);

/* Returns whether text contains part, ignoring case. */
bool blis__contains(const char *text, const char *part);

/* Returns the part of id after the last '/'. */
const char *blis__last_part(const char *id);

#endif
