/*
 * unread.h - collects fields of a file that its reader does not support. They are reported at the
 * end instead of being silently ignored.
 *
 * Only the names of the first few are kept. Costs one name comparison per member of
 * a row, if the row has the known fields in order.
 */
#ifndef BLIS_WORKLOAD_UNREAD_H
#define BLIS_WORKLOAD_UNREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/format/csv.h"
#include "base/format/json.h"
#include "base/slice.h"

enum { BLIS__UNREAD_MAX = 6 };

/* Must be zeroed before use. */
typedef struct blis__unread {
  blis_shown names[BLIS__UNREAD_MAX];
  size_t count;
  bool has_more;
} blis__unread;

/* Records a field, once. */
void blis__unread_add(blis__unread *unread, const char *name);

/* Record the columns of a table, or the members of an object, that are not in the list known,
   which ends with NULL. */
void blis__unread_see_columns(blis__unread *unread, const blis_csv *csv, const char *const *known);
void blis__unread_see_members(blis__unread *unread, blis_json_value object,
                              const char *const *known);

enum { BLIS__UNREAD_TEXT_SIZE = BLIS__UNREAD_MAX * (sizeof(blis_shown) + 2) + 16 };

/* Writes the list of names: 'a', 'b' and others. */
void blis__unread_list(const blis__unread *unread, char text[BLIS__UNREAD_TEXT_SIZE]);

#endif
