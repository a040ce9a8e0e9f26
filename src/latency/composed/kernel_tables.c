#include "latency/composed/kernel_tables.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "latency/composed/portable.h"
#include "latency/spec/names.h"

#define FIRST_BYTES 256.0

/* Upper limit of sizes and times. */
#define NUMBER_MAX 1e12

static const struct {
  const char *file;
  const char *columns[2 + BLIS__TABLE_KEYS_MAX]; /* names of the string columns, then of the keys */
  /* Number of string columns: gpu and dtype, or only gpu. */
  size_t names;
  size_t keys;
  char letter; /* first letter of columns with times */
} FORMATS[BLIS__TABLE_COUNT] = {
    {"gemm.csv", {"gpu", "dtype", "n", "k"}, 2, 2, 'm'},
    {"moe.csv", {"gpu", "dtype", "experts", "chosen", "hidden", "width", "local"}, 2, 5, 'n'},
    {"allreduce.csv", {"gpu", "gpus"}, 1, 1, 'b'},
};

const char *blis__table_file(blis__table_kind kind) {
  return FORMATS[kind].file;
}

/* A position in a string. */
typedef struct reader {
  const char *at;
  const char *end;
  long line;
} reader;

static reader reader_of(blis_slice text) {
  return (reader){text.data, text.data + text.length, 0};
}

/* Reads the next line that is neither empty nor a comment, without its line end. */
static bool next_line(reader *r, blis_slice *line) {
  while (r->at < r->end) {
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *next = end == NULL ? r->end : end + 1;
    *line = (blis_slice){r->at, (size_t)((end == NULL ? r->end : end) - r->at)};
    r->at = next;
    r->line++;
    if (line->length > 0 && line->data[line->length - 1] == '\r') {
      line->length--;
    }
    if (line->length > 0 && line->data[0] != '#') {
      return true;
    }
  }
  return false;
}

/* Removes the first cell from a line. Returns false at the end of the line. */
static bool next_cell(blis_slice *line, blis_slice *cell) {
  if (line->data == NULL) {
    return false;
  }
  const char *comma = memchr(line->data, ',', line->length);
  if (comma == NULL) {
    *cell = *line;
    line->data = NULL;
    return true;
  }
  size_t length = (size_t)(comma - line->data);
  *cell = (blis_slice){line->data, length};
  *line = (blis_slice){comma + 1, line->length - length - 1};
  return true;
}

static bool is_name(blis_slice cell, const char *name) {
  char text[64];
  if (cell.length >= sizeof text) {
    return false;
  }
  memcpy(text, cell.data, cell.length);
  text[cell.length] = '\0';
  return blis__equal_names(text, name);
}

static bool read_number(blis_slice cell, double *value) {
  return blis_parse_double(cell, value) == BLIS_NUMBER_OK && *value > 0 && *value <= NUMBER_MAX;
}

/* Reads the sizes in a header. Returns their number, or 0 if the header is invalid. */
static size_t read_sizes(blis__table_kind kind, blis_slice header, double *sizes) {
  blis_slice cell;
  size_t fixed = FORMATS[kind].names + FORMATS[kind].keys;
  for (size_t i = 0; i < fixed; i++) {
    if (!next_cell(&header, &cell) || !blis_slice_equals(cell, FORMATS[kind].columns[i])) {
      return 0;
    }
  }
  size_t count = 0;
  while (next_cell(&header, &cell)) {
    if (count == BLIS__TABLE_POINTS_MAX || cell.length < 2 ||
        cell.data[0] != FORMATS[kind].letter) {
      return 0;
    }
    cell = (blis_slice){cell.data + 1, cell.length - 1};
    if (!read_number(cell, &sizes[count]) || (count > 0 && sizes[count] <= sizes[count - 1])) {
      return 0;
    }
    count++;
  }
  return count;
}

/*
 * Returns the distance between two shapes. Rows with different numbers of GPUs are not comparable.
 */
static double distance_of(blis__table_kind kind, const double *a, const double *b) {
  if (memcmp(a, b, FORMATS[kind].keys * sizeof *a) == 0) {
    return 0;
  }
  double log[BLIS__TABLE_KEYS_MAX];
  for (size_t i = 0; i < FORMATS[kind].keys; i++) {
    log[i] = blis__portable_log(a[i] / b[i]);
  }
  switch (kind) {
  case BLIS__TABLE_PRODUCTS:
    return log[0] * log[0] + log[1] * log[1];
  case BLIS__TABLE_EXPERTS: {
    double held = log[0] - log[4];
    return log[2] * log[2] + log[3] * log[3] + log[4] * log[4] / 2 + log[1] * log[1] +
           held * held / 2;
  }
  default:
    return HUGE_VAL;
  }
}

/* Returns whether the string cells of the line match, and advances the line past them. */
static bool has_names(blis__table_kind kind, blis_slice *line, const char *gpu, const char *dtype) {
  blis_slice cell;
  if (!next_cell(line, &cell) || !is_name(cell, gpu)) {
    return false;
  }
  return FORMATS[kind].names < 2 || (next_cell(line, &cell) && blis_slice_equals(cell, dtype));
}

static bool read_key(blis__table_kind kind, blis_slice *line, double *key) {
  for (size_t i = 0; i < FORMATS[kind].keys; i++) {
    blis_slice cell;
    if (!next_cell(line, &cell) || !read_number(cell, &key[i])) {
      return false;
    }
  }
  return true;
}

/* A matching row: its key, and its times as text. */
typedef struct found_row {
  double key[BLIS__TABLE_KEYS_MAX];
  blis_slice times;
  double distance;
} found_row;

/* Inserts a row into the sorted list of nearest rows if it is near enough. */
static void offer(found_row *best, size_t *count, const found_row *row) {
  size_t place = *count;
  while (place > 0 && best[place - 1].distance > row->distance) {
    place--;
  }
  if (place == BLIS__TABLE_NEAREST) {
    return;
  }
  *count += *count < BLIS__TABLE_NEAREST;
  for (size_t i = *count - 1; i > place; i--) {
    best[i] = best[i - 1];
  }
  best[place] = *row;
}

static void read_times(const found_row *found, const double *sizes, size_t count,
                       blis__kernel_row *row) {
  *row = (blis__kernel_row){.distance = found->distance};
  memcpy(row->key, found->key, sizeof row->key);
  blis_slice line = found->times;
  blis_slice cell;
  for (size_t i = 0; i < count && next_cell(&line, &cell); i++) {
    double time;
    if (read_number(cell, &time)) {
      row->size[row->points] = sizes[i];
      row->time_us[row->points++] = time;
    }
  }
}

void blis__kernel_tables_find(const blis__kernel_tables *tables, blis__table_kind kind,
                              const char *gpu, const char *dtype, const double *key,
                              blis__kernel_match *match) {
  match->count = 0;
  double sizes[BLIS__TABLE_POINTS_MAX];
  reader r = reader_of(tables->texts[kind]);
  blis_slice line;
  size_t size_count = next_line(&r, &line) ? read_sizes(kind, line, sizes) : 0;
  found_row best[BLIS__TABLE_NEAREST];
  size_t count = 0;
  while (size_count > 0 && next_line(&r, &line)) {
    found_row row;
    if (has_names(kind, &line, gpu, dtype) && read_key(kind, &line, row.key)) {
      row.times = line;
      row.distance = distance_of(kind, row.key, key);
      if (row.distance < HUGE_VAL) {
        offer(best, &count, &row);
      }
    }
  }
  count = count > 0 && best[0].distance == 0 ? 1 : count;
  for (size_t i = 0; i < count; i++) {
    blis__kernel_row *row = &match->rows[match->count];
    read_times(&best[i], sizes, size_count, row);
    match->count += row->points > 0;
  }
}

bool blis__kernel_tables_have(const blis__kernel_tables *tables, blis__table_kind kind,
                              const char *gpu, const char *dtype) {
  reader r = reader_of(tables->texts[kind]);
  blis_slice line;
  while (next_line(&r, &line)) {
    if (has_names(kind, &line, gpu, dtype)) {
      return true;
    }
  }
  return false;
}

static blis_status fail_header(blis__table_kind kind, const char *name, long line,
                               blis_error *error) {
  char columns[128] = "";
  size_t used = 0;
  for (size_t i = 0; i < FORMATS[kind].names + FORMATS[kind].keys; i++) {
    const char *column = FORMATS[kind].columns[i];
    memcpy(columns + used, column, strlen(column));
    used += strlen(column);
    columns[used++] = ',';
  }
  columns[used] = '\0';
  char letter = FORMATS[kind].letter;
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s:%ld: the first row must be %s%c1,%c2,... with 1 to %d ascending sizes%s",
                   name, line, columns, letter, letter, BLIS__TABLE_POINTS_MAX,
                   kind == BLIS__TABLE_ALLREDUCES ? ", 256 bytes and its doublings" : "");
}

static bool are_doublings(const double *sizes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (sizes[i] != ldexp(FIRST_BYTES, (int)i)) {
      return false;
    }
  }
  return count >= 2;
}

static blis_status check_cell(blis__table_kind kind, const char *name, long line, size_t column,
                              size_t columns, blis_slice cell, blis_error *error) {
  double value;
  size_t fixed = FORMATS[kind].names + FORMATS[kind].keys;
  bool may_be_empty = column >= fixed && kind != BLIS__TABLE_ALLREDUCES && columns - fixed > 1;
  if (column < FORMATS[kind].names) {
    return cell.length > 0 && cell.length < 64
               ? BLIS_OK
               : blis_fail(error, BLIS_ERR_PARSE,
                           "%s:%ld: column '%s': invalid value %s: expected 1 to 63 characters",
                           name, line, FORMATS[kind].columns[column], blis_show(cell).text);
  }
  if ((may_be_empty && cell.length == 0) || read_number(cell, &value)) {
    return BLIS_OK;
  }
  return blis_fail(
      error, BLIS_ERR_PARSE,
      "%s:%ld: column %zu: invalid value %s: expected a number above 0 and up to 1e12%s", name,
      line, column + 1, blis_show(cell).text, may_be_empty ? ", or nothing" : "");
}

static blis_status check_row(blis__table_kind kind, const char *name, long line, blis_slice text,
                             size_t columns, blis_error *error) {
  blis_slice cell;
  size_t column = 0;
  while (next_cell(&text, &cell)) {
    if (column == columns) {
      return blis_fail(error, BLIS_ERR_PARSE, "%s:%ld: more than the %zu columns of the first row",
                       name, line, columns);
    }
    BLIS_TRY(check_cell(kind, name, line, column, columns, cell, error));
    column++;
  }
  return column == columns
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_PARSE, "%s:%ld: %zu columns, but the first row has %zu",
                         name, line, column, columns);
}

blis_status blis__kernel_table_check(blis__table_kind kind, const char *name, blis_slice text,
                                     blis_error *error) {
  double sizes[BLIS__TABLE_POINTS_MAX];
  reader r = reader_of(text);
  blis_slice line;
  bool has_header = next_line(&r, &line);
  size_t count = has_header ? read_sizes(kind, line, sizes) : 0;
  if (count == 0 || (kind == BLIS__TABLE_ALLREDUCES && !are_doublings(sizes, count))) {
    return fail_header(kind, name, has_header ? r.line : 1, error);
  }
  size_t columns = FORMATS[kind].names + FORMATS[kind].keys + count;
  while (next_line(&r, &line)) {
    BLIS_TRY(check_row(kind, name, r.line, line, columns, error));
  }
  return BLIS_OK;
}
