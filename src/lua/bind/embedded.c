#include "lua/bind/embedded.h"

#include <string.h>

const blis_embedded_file *blis_embedded_lookup(const blis_embedded_table *table, const char *name) {
  size_t low = 0;
  size_t high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, table->files[middle].name);
    if (order == 0) {
      return &table->files[middle];
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return NULL;
}

const blis_embedded_file *blis_embedded_find(const char *name) {
  return blis_embedded_lookup(&blis_embedded_data, name);
}
