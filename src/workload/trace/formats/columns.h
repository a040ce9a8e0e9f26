/*
 * columns.h - the meaning of the columns of any table of requests; for trace files only.
 *
 * A column, or a member of a JSON object, has a role: the time, the length of the prompt, and so
 * on. The user assigns columns to roles ("timestamp=start,prompt=tokens_in"), and roles that are
 * left get the first column whose name is one of their synonyms. Names are compared without case
 * and punctuation.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMATS_COLUMNS_H
#define BLIS_WORKLOAD_TRACE_FORMATS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"

typedef enum blis__role {
  BLIS__ROLE_TIMESTAMP,
  BLIS__ROLE_PROMPT,
  BLIS__ROLE_OUTPUT,
  BLIS__ROLE_MAX_OUTPUT,
  BLIS__ROLE_SESSION,
  BLIS__ROLE_TURN,
  BLIS__ROLE_PREFIX,
  BLIS__ROLE_PREFIX_TOKENS,
  BLIS__ROLE_TENANT,
  BLIS__ROLE_SLO_CLASS,
  BLIS__ROLE_MODEL,
  BLIS__ROLE_CLIENT,
  BLIS__ROLE_ADAPTER,
  BLIS__ROLES
} blis__role;

enum { BLIS__COLUMN_NAME_MAX = 96, BLIS__COLUMNS_MAX = 64 };

/* One column of a file, as the start of the file shows it. */
typedef struct blis__column {
  char name[BLIS__COLUMN_NAME_MAX]; /* of a member of an object: "usage.prompt_tokens" */
  size_t values;                    /* that were sampled, and how many of them are ... */
  size_t numbers;                   /* ... numbers */
  size_t times;                     /* ... numbers, or timestamps such as 2026-05-10 00:00:00 */
} blis__column;

typedef struct blis__mapping {
  size_t column[BLIS__ROLES]; /* SIZE_MAX = none */
  bool is_stated[BLIS__ROLES];
} blis__mapping;

/* Whether half or more of the sampled values are numbers. */
bool blis__column_has_numbers(const blis__column *column);

/* "timestamp", "prompt", ... */
const char *blis__role_name(blis__role role);

/*
 * Assigns columns to roles. stated is the text of the user, or NULL. BLIS_ERR_INVALID names a role
 * or a column that does not exist, with the columns that exist.
 */
BLIS_MUSTUSE blis_status blis__columns_map(const blis__column *columns, size_t count,
                                           const char *stated, const char *file,
                                           blis__mapping *mapping, blis_error *error);

/* The first role of timestamp, prompt, and output without a column; BLIS__ROLES if each has one. */
blis__role blis__columns_missing(const blis__mapping *mapping);

/* "timestamp=start, prompt=tokens_in", for a note. */
void blis__columns_describe(const blis__mapping *mapping, const blis__column *columns, char *text,
                            size_t size);

/* "a, b, c", shortened to the size. */
void blis__columns_list(const blis__column *columns, size_t count, char *text, size_t size);

/* The unit that the name of a time states ("arrival_ms"), in microseconds; 0 = none. */
double blis__columns_unit(const char *name);

#endif
