/*
 * columns.h - assigns meanings to the columns of arbitrary tables of requests; for trace files
 * only.
 *
 * A column, or a member of a JSON object, has a role: the time, the length of the prompt, and so
 * on. The user assigns columns to roles ("timestamp=start,prompt=tokens_in"), and each remaining
 * role gets the first column whose name is a synonym of the role. Names are compared without case
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

/* One column of a file, sampled from the start of the file. */
typedef struct blis__column {
  char name[BLIS__COLUMN_NAME_MAX]; /* name; for members of nested objects, "usage.prompt_tokens" */
  size_t values;                    /* number of sampled values */
  size_t numbers;                   /* ... numbers */
  size_t times;                     /* values that are numbers, or timestamps such as 2026-05-10
                                       00:00:00 */
} blis__column;

typedef struct blis__mapping {
  size_t column[BLIS__ROLES]; /* SIZE_MAX = none */
  bool is_stated[BLIS__ROLES];
} blis__mapping;

/* Returns whether at least half of the sampled values are numbers. */
bool blis__column_has_numbers(const blis__column *column);

/* Returns the name of a role: "timestamp", "prompt", ... */
const char *blis__role_name(blis__role role);

/*
 * Assigns columns to roles. stated is the assignment by the user, or NULL. Returns BLIS_ERR_INVALID
 * if a role or column does not exist; the message lists the existing columns.
 */
BLIS_MUSTUSE blis_status blis__columns_map(const blis__column *columns, size_t count,
                                           const char *stated, const char *file,
                                           blis__mapping *mapping, blis_error *error);

/* Returns the column whose name fits a role, whatever its values are; NULL if there is none. */
const blis__column *blis__columns_named(const blis__column *columns, size_t count, blis__role role);

/* Returns the first of the roles timestamp, prompt, and output that has no column; BLIS__ROLES
   if each has a column. */
blis__role blis__columns_missing(const blis__mapping *mapping);

/* Describes the mapping for a note: "timestamp=start, prompt=tokens_in". */
void blis__columns_describe(const blis__mapping *mapping, const blis__column *columns, char *text,
                            size_t size);

/* Lists the columns as "a, b, c", truncated to the size. */
void blis__columns_list(const blis__column *columns, size_t count, char *text, size_t size);

/* Returns the unit in the name of a time ("arrival_ms"), in microseconds; 0 = none. */
double blis__columns_unit(const char *name);

#endif
