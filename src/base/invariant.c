#include "base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

void blis_assert_failed(const char *file, int line, const char *expression) {
  fprintf(stderr, "%s:%d: broken: %s\n", file, line, expression);
  abort();
}
