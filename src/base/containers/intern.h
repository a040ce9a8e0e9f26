/* intern.h - strings as small integers.
 *
 * IDs count up from 0 in the order in which strings are first added. 0 is the empty string, which
 * always exists. Equal strings have equal IDs. Strings never move, so pointers to them remain valid
 * as long as the table. Adding or finding a string that is already in the table costs about 20 ns.
 */
#ifndef BLIS_BASE_CONTAINERS_INTERN_H
#define BLIS_BASE_CONTAINERS_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

#define BLIS_INTERN_NONE UINT32_MAX

typedef struct blis_intern blis_intern;

/* Creates a table that contains only the empty string. Copies *alloc. NULL = out of memory. */
blis_intern *blis_intern_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_intern_free(blis_intern *table);

/* Returns the ID of a string, which is copied if it is new. Any bytes are allowed.
 * BLIS_ERR_NOMEM leaves the table unchanged. */
BLIS_MUSTUSE blis_status blis_intern_add(blis_intern *table, const char *text, size_t length,
                                         uint32_t *id);

/* Returns the ID of a string, or BLIS_INTERN_NONE. */
uint32_t blis_intern_find(const blis_intern *table, const char *text, size_t length);

/* Returns the zero-terminated string of an ID of this table. */
const char *blis_intern_text(const blis_intern *table, uint32_t id);

size_t blis_intern_length(const blis_intern *table, uint32_t id);

/* The IDs are 0 to count - 1. */
uint32_t blis_intern_count(const blis_intern *table);

#endif
