/*
 * jsonl.h - shared parts of the readers of JSON-lines traces; for trace files
 * only.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_JSONL_H
#define BLIS_WORKLOAD_TRACE_ROWS_JSONL_H

#include <stdint.h>

#include "base/format/json.h"
#include "workload/trace/rows/rows.h"
#include "workload/trace/rows/segments.h"

/* Up to this number of milliseconds (285 years), a double can represent every whole microsecond. */
#define BLIS__TRACE_MAX_MS 9e12

/* The row that is being read. */
typedef struct blis__trace_line {
  blis_json_value row; /* an object */
  int64_t number;      /* row number, from 0 */
  int64_t line;        /* line number in the file, from 1 */
} blis__trace_line;

/*
 * Reads the next row, up to the limit of the job; *has_row is false at the end. The row is valid
 * until the next call. Blank lines and lines that start with '#' are skipped.
 */
BLIS_MUSTUSE blis_status blis__trace_next_json(blis__trace_rows *rows, blis__trace_line *line,
                                               bool *has_row, blis_error *error);

/* Returns the first line of head that is not blank and does not start with '#'. */
blis_slice blis__trace_first_row(blis_slice head);

/* Reads a member that is a time >= 0 in units of unit_us, rounded to the nearest us. */
BLIS_MUSTUSE blis_status blis__trace_time(blis_json_value row, const char *key, double unit_us,
                                          int64_t *time_us, blis_error *error);

/* Reads a member that is a number of tokens. */
BLIS_MUSTUSE blis_status blis__trace_tokens(blis_json_value row, const char *key, uint32_t *tokens,
                                            blis_error *error);

/*
 * Reads a name: a string or an integer. Returns its number in the workload's string table; 0 if the
 * member is missing or null.
 */
BLIS_MUSTUSE blis_status blis__trace_name(const blis__trace_job *job, blis_json_value row,
                                          const char *key, uint32_t *id, blis_error *error);

/* Turn numbers in the rows of a file. Initially zeroed. */
typedef struct blis__trace_turns {
  int64_t missing; /* rows of sessions without a turn */
  bool from_zero;  /* turns count from 0, because some row is turn 0; otherwise from 1 */
} blis__trace_turns;

/* Reads the turn of a row: its member turn or turn_id. */
BLIS_MUSTUSE blis_status blis__trace_read_turn(blis__trace_turns *turns, blis_json_value row,
                                               int32_t *turn, blis_error *error);

/* Adds a note about rows without a turn. Used in finish. */
BLIS_MUSTUSE blis_status blis__trace_note_turns(blis__trace_rows *rows,
                                                const blis__trace_turns *turns, blis_error *error);

/* Returns the round of a turn, from 0, after all rows have been read. Used in settle. */
int32_t blis__trace_round_of(const blis__trace_turns *turns, int32_t turn);

/* Fails because a row has more hash ids than blocks. */
blis_status blis__trace_fail_ids(const blis__trace_rows *rows, const blis__trace_line *line,
                                 size_t ids, uint32_t tokens, uint32_t block_tokens,
                                 blis_error *error);

/* The hash ids of a row, as segments. Must be zeroed before use. */
typedef struct blis__trace_ids {
  blis__segment_list segments; /* without lengths */
} blis__trace_ids;

/* Reads a list of ids (workload/hash_id.h); the list is empty if it is missing or null. */
BLIS_MUSTUSE blis_status blis__trace_read_ids(const blis_alloc *alloc, blis_json_value list,
                                              blis__trace_ids *ids, blis_error *error);

void blis__trace_ids_deinit(const blis_alloc *alloc, blis__trace_ids *ids);

#endif
