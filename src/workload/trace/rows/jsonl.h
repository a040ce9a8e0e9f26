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

/* Milliseconds up to here are whole microseconds in a double: 285 years. */
#define BLIS__TRACE_MAX_MS 9e12

/* One row, while it is read. */
typedef struct blis__trace_line {
  blis_json_value row; /* an object */
  int64_t number;      /* of the row, from 0 */
  int64_t line;        /* in the file, from 1 */
} blis__trace_line;

/*
 * Reads the next row, up to the limit of the job; *has_row is false at the end. It
 * is valid until the next call. Blank lines and lines that start with '#' are
 * skipped.
 */
BLIS_MUSTUSE blis_status blis__trace_next_json(blis__trace_rows *rows, blis__trace_line *line,
                                               bool *has_row, blis_error *error);

/* The first line of head that is neither blank nor starts with '#'. */
blis_slice blis__trace_first_row(blis_slice head);

/* A member that is a time: from 0 in units of unit_us, to the nearest us. */
BLIS_MUSTUSE blis_status blis__trace_time(blis_json_value row, const char *key, double unit_us,
                                          int64_t *time_us, blis_error *error);

/* A member that is a number of tokens. */
BLIS_MUSTUSE blis_status blis__trace_tokens(blis_json_value row, const char *key, uint32_t *tokens,
                                            blis_error *error);

/*
 * Reads a name: a string, or a whole number, which is also a name. Returns its
 * number among the workload's strings; 0 if it is absent or null.
 */
BLIS_MUSTUSE blis_status blis__trace_name(const blis__trace_job *job, blis_json_value row,
                                          const char *key, uint32_t *id, blis_error *error);

/* Turns of sessions in the rows of a file; initially all zero. */
typedef struct blis__trace_turns {
  int64_t missing; /* rows of sessions without one */
  bool from_zero;  /* some row is turn 0; else they count from 1 */
} blis__trace_turns;

/* The turn of a row: its member turn or turn_id. */
BLIS_MUSTUSE blis_status blis__trace_read_turn(blis__trace_turns *turns, blis_json_value row,
                                               int32_t *turn, blis_error *error);

/* Adds a note about rows without a turn; for finish. */
BLIS_MUSTUSE blis_status blis__trace_note_turns(blis__trace_rows *rows,
                                                const blis__trace_turns *turns, blis_error *error);

/* The round of a turn, from 0, when all rows were read; for settle. */
int32_t blis__trace_round_of(const blis__trace_turns *turns, int32_t turn);

/* Fails: a row has more hash ids than blocks. */
blis_status blis__trace_fail_ids(const blis__trace_rows *rows, const blis__trace_line *line,
                                 size_t ids, uint32_t tokens, uint32_t block_tokens,
                                 blis_error *error);

/* Hash ids of a row, as its segments; zero it first. */
typedef struct blis__trace_ids {
  blis__segment_list segments; /* without lengths */
} blis__trace_ids;

/* The ids of a list (workload/hash_id.h); none when it is absent or null. */
BLIS_MUSTUSE blis_status blis__trace_read_ids(const blis_alloc *alloc, blis_json_value list,
                                              blis__trace_ids *ids, blis_error *error);

void blis__trace_ids_deinit(const blis_alloc *alloc, blis__trace_ids *ids);

#endif
