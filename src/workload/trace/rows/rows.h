/*
 * rows.h - shared parts of trace readers: input, position in it, notes; for
 * trace files only.
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
 * The first member of every reader. The caller that opens the trace fills it in,
 * and closes its open inputs after all rows were read; a reader opens one of the
 * inputs.
 */
typedef struct blis__trace_rows {
  blis__trace_job *job;
  /*
   * The reader that has finished the same file, for a reader that reads it again;
   * otherwise this reader. The second reader repeats no notes and makes only the
   * necessary checks.
   */
  const void *known;
  const void *rule;          /* of the format */
  const char *const *fields; /* of the format, which may have none */
  blis__unread unread;       /* fields that are not among them */
  blis_csv *csv;
  blis_text *text;
  blis_json json;    /* of the row, or of the whole file */
  int64_t taken;     /* rows of the file, at most job->limit */
  int64_t failed;    /* failed rows among taken; skipped, with a note */
  int64_t start;     /* the earliest arrival noted; INT64_MAX = none */
  blis__clock clock; /* of timestamps that are numbers; unit_us 0 = the format fixes the unit */
  char separator;    /* of a table; 0 = comma */
} blis__trace_rows;

/* Opens the input of the job, and takes it from the job. */

BLIS_MUSTUSE blis_status blis__trace_open_csv(blis__trace_rows *rows, bool has_even_rows,
                                              blis_error *error);

/* May stand as open of a format, and so takes the reader. */
BLIS_MUSTUSE blis_status blis__trace_open_text(void *reader, blis_error *error);

/* The start of the input, without byte order mark and blank lines; before it is opened. */
BLIS_MUSTUSE blis_status blis__trace_head(const blis__trace_job *job, blis_slice *head,
                                          blis_error *error);

/*
 * Find the unit of timestamps from the start of the input, before it is opened: of
 * a member of JSON lines, or of a column. usual_us and stated_us are as in
 * blis__clock_choose.
 */
BLIS_MUSTUSE blis_status blis__trace_json_clock(blis__trace_rows *rows, const char *key,
                                                double usual_us, double stated_us,
                                                blis_error *error);
BLIS_MUSTUSE blis_status blis__trace_csv_clock(blis__trace_rows *rows, const char *column,
                                               double usual_us, double stated_us,
                                               blis_error *error);

/* Notes the assumption about the clock, unless it is the usual one of the format. */
BLIS_MUSTUSE blis_status blis__trace_note_clock(const blis__trace_rows *rows, blis_error *error);

/* The whole input as one JSON text. */
BLIS_MUSTUSE blis_status blis__trace_open_json(blis__trace_rows *rows, blis_error *error);

/* Opens another file as the input of a job, in place of the one it has. */
BLIS_MUSTUSE blis_status blis__trace_change_input(blis__trace_job *job, const char *path,
                                                  blis_error *error);

/* Notes the members of an object that the format does not define. */
void blis__trace_see_members(blis__trace_rows *rows, blis_json_value object,
                             const char *const *fields);

/* Closes the input of a job if no reader has taken it. */
void blis__trace_drop_input(blis__trace_job *job);

/* Idempotent. */
void blis__trace_close_rows(blis__trace_rows *rows);

/* Rows. */

/* The next row of the table up to the limit; *has_row is false at the end. */
BLIS_MUSTUSE blis_status blis__trace_next_csv(blis__trace_rows *rows, bool *has_row,
                                              blis_error *error);

/* The next line that is not blank, with no limit. */
BLIS_MUSTUSE blis_status blis__trace_next_line(blis__trace_rows *rows, blis_text_line *line,
                                               bool *has_line, blis_error *error);

/* Notes when a row arrives, in us or ns. */
static inline void blis__trace_note_start(blis__trace_rows *rows, int64_t arrival) {
  rows->start = arrival < rows->start ? arrival : rows->start;
}

/*
 * Ways to settle: arrivals become relative to the earliest noted one, if any.
 * Before, they are in us, or in ns.
 */
void blis__trace_settle_us(const void *reader, blis_request *row, blis_segment *segments);
void blis__trace_settle_ns(const void *reader, blis_request *row, blis_segment *segments);

/* Strings. */

/* Returns the number of a string among the workload's; 0 if it is empty. */
BLIS_MUSTUSE blis_status blis__trace_text(const blis__trace_job *job, blis_slice text, uint32_t *id,
                                          blis_error *error);

/* The note "file: what: count" and what follows from it, unless it is none. */
BLIS_MUSTUSE blis_status blis__trace_note(const blis__trace_rows *rows, const char *what,
                                          int64_t count, const char *consequence,
                                          blis_error *error);

/* Whether head has the text somewhere in its first line, or anywhere. */
bool blis__trace_first_line_has(blis_slice head, const char *text);
bool blis__trace_head_has(blis_slice head, const char *text);

/* The name of a file without its folders. */
const char *blis__trace_file_name(const char *path);

#endif
