/*
 * unread.h - fields of a file that its reader does not know, which are told at
 * the end rather than dropped in silence; for readers of requests.
 *
 * Only the names of the first few are kept. Costs a comparison of names for
 * each member of a row whose order is that of the known fields.
 */
#ifndef BLIS_WORKLOAD_UNREAD_H
#define BLIS_WORKLOAD_UNREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/format/csv.h"
#include "base/format/json.h"
#include "base/slice.h"

enum { BLIS__UNREAD_MAX = 6 };

/* Zero it first. */
typedef struct blis__unread {
  blis_shown names[BLIS__UNREAD_MAX];
  size_t count;
  bool has_more;
} blis__unread;

/* Notes a field, once. */
void blis__unread_add(blis__unread *unread, const char *name);

/* Notes the columns of a table, or the members of an object, that are not among
 * the known ones, a list that ends with NULL. */
void blis__unread_see_columns(blis__unread *unread, const blis_csv *csv, const char *const *known);
void blis__unread_see_members(blis__unread *unread, blis_json_value object,
                              const char *const *known);

enum { BLIS__UNREAD_TEXT_SIZE = BLIS__UNREAD_MAX * (sizeof(blis_shown) + 2) + 16 };

/* The names: 'a', 'b' and others. */
void blis__unread_list(const blis__unread *unread, char text[BLIS__UNREAD_TEXT_SIZE]);

#endif
