/*
 * rows.h - shared parts of trace readers: the input, the position in it, and notes; for trace files
 * only.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_ROWS_H
#define BLIS_WORKLOAD_TRACE_ROWS_ROWS_H

#include "base/format/csv.h"
#include "base/format/json.h"
#include "base/format/text.h"
#include "workload/trace/rows/clock.h"
#include "workload/trace/rows/format.h"
#include "workload/unread.h"

/*
 * The first member of every reader. The caller that opens the trace initializes it, and closes its
 * open inputs after all rows have been read. The reader opens one of the inputs.
 */
typedef struct blis__trace_rows {
  blis__trace_job *job;
  /*
   * In a second reader of a file, the first reader, which has finished; otherwise the reader
   * itself. The second reader does not repeat notes and makes only the necessary checks.
   */
  const void *known;
  const void *rule;          /* rule of the format */
  const char *const *fields; /* fields of the format; may be NULL */
  blis__unread unread;       /* unknown fields */
  blis_csv *csv;
  blis_text *text;
  blis_json json;    /* document of the row or of the whole file */
  int64_t taken;     /* number of rows read, at most job->limit */
  int64_t failed;    /* number of failed requests among these rows; skipped, with a note */
  int64_t start;     /* earliest recorded arrival; INT64_MAX = none */
  blis__clock clock; /* clock for numeric timestamps; unit_us 0 = the format defines the unit */
  char separator;    /* column separator of a table; 0 = comma */
} blis__trace_rows;

/* Open the input of the job, and take ownership of it. */

BLIS_MUSTUSE blis_status blis__trace_open_csv(blis__trace_rows *rows, bool has_even_rows,
                                              blis_error *error);

/* Can be used as `open` of a format; therefore its argument is the reader. */
BLIS_MUSTUSE blis_status blis__trace_open_text(void *reader, blis_error *error);

/* Returns the start of the input, without byte order mark and blank lines. Call it before the
   input is opened. */
BLIS_MUSTUSE blis_status blis__trace_head(const blis__trace_job *job, blis_slice *head,
                                          blis_error *error);

/*
 * Determine the unit of timestamps in a member of JSON lines, or in a column, from the start of the
 * input. Call them before the input is opened. usual_us and stated_us have the same meaning as in
 * blis__clock_choose.
 */
BLIS_MUSTUSE blis_status blis__trace_json_clock(blis__trace_rows *rows, const char *key,
                                                double usual_us, double stated_us,
                                                blis_error *error);
BLIS_MUSTUSE blis_status blis__trace_csv_clock(blis__trace_rows *rows, const char *column,
                                               double usual_us, double stated_us,
                                               blis_error *error);

/* Adds a note about the assumed unit, unless it is the default of the format. */
BLIS_MUSTUSE blis_status blis__trace_note_clock(const blis__trace_rows *rows, blis_error *error);

/* Opens the input and reads it as one JSON text. */
BLIS_MUSTUSE blis_status blis__trace_open_json(blis__trace_rows *rows, blis_error *error);

/* Opens another file as the input of a job, replacing the current input. */
BLIS_MUSTUSE blis_status blis__trace_change_input(blis__trace_job *job, const char *path,
                                                  blis_error *error);

/* Records the members of an object that the format does not define. */
void blis__trace_see_members(blis__trace_rows *rows, blis_json_value object,
                             const char *const *fields);

/* Closes the input of a job if no reader has taken it. */
void blis__trace_drop_input(blis__trace_job *job);

/* Idempotent. */
void blis__trace_close_rows(blis__trace_rows *rows);

/* Rows. */

/* Reads the next row of the table, up to the limit; *has_row is false at the end. */
BLIS_MUSTUSE blis_status blis__trace_next_csv(blis__trace_rows *rows, bool *has_row,
                                              blis_error *error);

/* Reads the next nonblank line, without a limit. */
BLIS_MUSTUSE blis_status blis__trace_next_line(blis__trace_rows *rows, blis_text_line *line,
                                               bool *has_line, blis_error *error);

/* Records the arrival of a row, in us or ns. */
static inline void blis__trace_note_start(blis__trace_rows *rows, int64_t arrival) {
  rows->start = arrival < rows->start ? arrival : rows->start;
}

/*
 * Implementations of settle: arrivals become relative to the earliest recorded arrival, if any.
 * Before settling, arrivals are in us, or in ns.
 */
void blis__trace_settle_us(const void *reader, blis_request *row, blis_segment *segments);
void blis__trace_settle_ns(const void *reader, blis_request *row, blis_segment *segments);

/* Strings. */

/* Returns the number of a string in the workload's string table; 0 if it is empty. */
BLIS_MUSTUSE blis_status blis__trace_text(const blis__trace_job *job, blis_slice text, uint32_t *id,
                                          blis_error *error);

/* Adds the note "file: what: count" and its consequence, unless count is 0. */
BLIS_MUSTUSE blis_status blis__trace_note(const blis__trace_rows *rows, const char *what,
                                          int64_t count, const char *consequence,
                                          blis_error *error);

/* Return whether head contains the text in its first line, or anywhere. */
bool blis__trace_first_line_has(blis_slice head, const char *text);
bool blis__trace_head_has(blis_slice head, const char *text);

/* Returns the name of a file without its folder. */
const char *blis__trace_file_name(const char *path);

#endif
