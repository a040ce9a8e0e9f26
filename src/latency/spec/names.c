#include "latency/spec/names.h"

#include <string.h>

bool blis__equal_names(const char *a, const char *b) {
  if (a == NULL || b == NULL) {
    return a == b;
  }
  while (*a != '\0' && blis__lower(*a) == blis__lower(*b)) {
    a++;
    b++;
  }
  return blis__lower(*a) == blis__lower(*b);
}

bool blis__starts_with(const char *text, const char *prefix) {
  while (*prefix != '\0' && blis__lower(*text) == blis__lower(*prefix)) {
    text++;
    prefix++;
  }
  return *prefix == '\0';
}

bool blis__contains(const char *text, const char *part) {
  for (; *text != '\0'; text++) {
    if (blis__starts_with(text, part)) {
      return true;
    }
  }
  return *part == '\0';
}

const char *blis__last_part(const char *id) {
  const char *slash = strrchr(id, '/');
  return slash == NULL ? id : slash + 1;
}
