#include "policy/contract/facts.h"

#include <string.h>

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_same_text(const char *a, const char *b) {
  while (*a != '\0' && lower(*a) == lower(*b)) {
    a++;
    b++;
  }
  return lower(*a) == lower(*b);
}

bool blis__is_same_model(const char *a, const char *b) {
  const char *a_owned = strrchr(a, '/');
  const char *b_owned = strrchr(b, '/');
  if ((a_owned == NULL) == (b_owned == NULL)) {
    return is_same_text(a, b);
  }
  return is_same_text(a_owned != NULL ? a_owned + 1 : a,
                      b_owned != NULL ? b_owned + 1 : b);
}
