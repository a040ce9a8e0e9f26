/*
 * embedded.h - files that the build compiles into the program.
 *
 * The files below data/ (the catalogs of models and hardware, and the parts of pages for browsers)
 * are part of the binding, so the program and the module for stock Lua both contain them. Names are
 * paths relative to data/ with '/' between the parts, in sorted order.
 */
#ifndef BLIS_LUA_BIND_EMBEDDED_H
#define BLIS_LUA_BIND_EMBEDDED_H

#include <stddef.h>

typedef struct blis_embedded_file {
  const char *name;
  const char *bytes; /* followed by a zero that size does not count */
  size_t size;
  const char *sha256; /* hexadecimal; NULL of compiled Lua */
} blis_embedded_file;

/* What the build generates; rows are sorted by name. */
typedef struct blis_embedded_table {
  const blis_embedded_file *files;
  size_t count;
} blis_embedded_table;

/* The files below data/. */
extern const blis_embedded_table blis_embedded_data;

/* The file of exactly this name in table, or NULL. O(log count). */
const blis_embedded_file *blis_embedded_lookup(const blis_embedded_table *table, const char *name);

/* blis_embedded_lookup in blis_embedded_data: "models/x.yaml". */
const blis_embedded_file *blis_embedded_find(const char *name);

#endif
