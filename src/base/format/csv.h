/*
 * csv.h - tables of comma-separated values, row by row (RFC 4180).
 *
 * A field in double quotes may contain separators, line ends, and doubled quotes. Blank lines are
 * skipped. The reader handles plain and compressed files (text.h) at several hundred MB/s. Fields
 * point into the row; only quoted fields are copied. Example:
 *
 *   blis_csv *csv;
 *   blis_csv_options options = {.has_header = true};
 *   BLIS_TRY(blis_csv_open(alloc, path, &options, &csv, error));
 *   BLIS_TRY(blis_csv_need(csv, "arrival_us", &arrival, error));
 *   BLIS_TRY(blis_csv_next(csv, &has_row, error));
 *   BLIS_TRY(blis_csv_int64(csv, arrival, 0, INT64_MAX, &time_us, error));
 *
 * Error messages have the form "trace.csv:17: column 'arrival_us': invalid value '-3': expected 0
 * or more". After blis_csv_next has failed, only blis_csv_close is allowed.
 */
#ifndef BLIS_BASE_FORMAT_CSV_H
#define BLIS_BASE_FORMAT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/format/input.h"
#include "base/slice.h"

/* No column. */
#define BLIS_CSV_NONE SIZE_MAX

typedef struct blis_csv_options {
  char separator;     /* 0 = comma */
  char comment;       /* lines that start with it are skipped; 0 = none */
  bool has_header;    /* the first row names the columns */
  bool has_even_rows; /* a row is an error if its number of fields differs from the first row */
} blis_csv_options;

typedef struct blis_csv blis_csv;

/*
 * Opens a file ("-" = standard input) and reads its header; the caller owns *csv. BLIS_ERR_PARSE if
 * an expected header row is missing.
 */
BLIS_MUSTUSE blis_status blis_csv_open(const blis_alloc *alloc, const char *path,
                                       const blis_csv_options *options, blis_csv **csv,
                                       blis_error *error);

/* Like blis_csv_open, for borrowed memory; name (copied) appears in messages. */
BLIS_MUSTUSE blis_status blis_csv_open_memory(const blis_alloc *alloc, const char *name,
                                              blis_slice bytes, const blis_csv_options *options,
                                              blis_csv **csv, blis_error *error);

/* Opens the rest of an input and takes ownership of it, even on failure. */
BLIS_MUSTUSE blis_status blis_csv_open_input(const blis_alloc *alloc, blis_input *input,
                                             const blis_csv_options *options, blis_csv **csv,
                                             blis_error *error);

/* NULL is allowed. */
void blis_csv_close(blis_csv *csv);

/* Returns the name of the file in messages. */
const char *blis_csv_name(const blis_csv *csv);

/* The header: the number of columns, the name of a column, and the column of a name. */
size_t blis_csv_column_count(const blis_csv *csv);
const char *blis_csv_column_name(const blis_csv *csv, size_t column);
size_t blis_csv_column(const blis_csv *csv, const char *name);

/* Finds the column with this name. If it is missing, BLIS_ERR_PARSE lists all column names. */
BLIS_MUSTUSE blis_status blis_csv_need(const blis_csv *csv, const char *name, size_t *column,
                                       blis_error *error);

/* Moves to the next row; *has_row is false at the end. */
BLIS_MUSTUSE blis_status blis_csv_next(blis_csv *csv, bool *has_row, blis_error *error);

/* The current row: the line where it starts, its number of fields, and the text of a field. */
int64_t blis_csv_line(const blis_csv *csv);
size_t blis_csv_count(const blis_csv *csv);
blis_slice blis_csv_field(const blis_csv *csv, size_t column);

/* Stores a field's text. BLIS_ERR_PARSE if the row is too short for the column. */
BLIS_MUSTUSE blis_status blis_csv_text(const blis_csv *csv, size_t column, blis_slice *text,
                                       blis_error *error);

/* Parses a field as an integer from min to max. */
BLIS_MUSTUSE blis_status blis_csv_int64(const blis_csv *csv, size_t column, int64_t min,
                                        int64_t max, int64_t *value, blis_error *error);

/* Parses a field as a number from min to max. */
BLIS_MUSTUSE blis_status blis_csv_double(const blis_csv *csv, size_t column, double min, double max,
                                         double *value, blis_error *error);

/* Parses a field as true (1 t T true True TRUE) or false (0 f F false False FALSE). */
BLIS_MUSTUSE blis_status blis_csv_bool(const blis_csv *csv, size_t column, bool *value,
                                       blis_error *error);

/*
 * Fails with BLIS_ERR_PARSE at a field of the current row, for rules of the caller. The message is
 * "file:line: column 'x': 'value' " followed by what.
 */
blis_status blis_csv_fail(const blis_csv *csv, size_t column, const char *what, blis_error *error);

/* Fails likewise: "file:line: column 'x': invalid value 'value': expected " and what is expected.
 */
blis_status blis_csv_invalid(const blis_csv *csv, size_t column, const char *expected,
                             blis_error *error);

/*
 * Appends a field. The field is quoted if it contains a comma, a quote, or a line end, starts with
 * a space, or is "\." (the rules of Go's encoding/csv).
 */
void blis_csv_write(blis_buffer *buffer, blis_slice field);

#endif
