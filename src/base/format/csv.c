#include "base/format/csv.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "base/format/text.h"
#include "base/invariant.h"

typedef BLIS_ARRAY(blis_slice) slices;

struct blis_csv {
  blis_alloc alloc;
  blis_csv_options options;
  blis_text *text;
  blis_buffer header;         /* the column names, zero-terminated */
  BLIS_ARRAY(size_t) columns; /* where each name starts in header */
  slices fields;              /* of the current row */
  blis_buffer unquoted;       /* strings of a row with quotes */
  size_t even_count;          /* fields of the first row; 0: not yet read */
  int64_t line_number;
};

/* State while reading a row with quotes: the current line and the position in it. */
typedef struct quoted_row {
  blis_csv *csv;
  blis_text_line line;
  size_t at;
} quoted_row;

static blis_status fail_row(const blis_csv *csv, int64_t line, const char *what,
                            blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: %s", blis_csv_name(csv), (long long)line, what);
}

static blis_status add_field(blis_csv *csv, const char *data, size_t length, blis_error *error) {
  const blis_slice field = {.data = data, .length = length};
  BLIS_TRY_MEM(blis_array_push(&csv->alloc, &csv->fields, field), error);
  return BLIS_OK;
}

/* Splits a line without quotes; sets *has_quote if it contains quotes. */
static blis_status split_plain(blis_csv *csv, blis_slice line, bool *has_quote, blis_error *error) {
  const char separator = csv->options.separator;
  const char *start = line.data;
  const char *end = line.data + line.length;
  *has_quote = false;
  for (const char *at = start; at < end; at++) {
    if (*at == separator) {
      BLIS_TRY(add_field(csv, start, (size_t)(at - start), error));
      start = at + 1;
    } else if (*at == '"') {
      *has_quote = true;
      return BLIS_OK;
    }
  }
  return add_field(csv, start, (size_t)(end - start), error);
}

/* Reads the next line, in which a quoted field continues. */
static blis_status continue_line(quoted_row *row, blis_error *error) {
  blis_csv *csv = row->csv;
  bool has_line;
  BLIS_TRY(blis_text_next(csv->text, &row->line, &has_line, error));
  if (!has_line) {
    return fail_row(csv, csv->line_number, "a quoted field has no closing quote", error);
  }
  if (csv->unquoted.length > BLIS_TEXT_LINE_MAX) {
    return fail_row(csv, csv->line_number, "a row with a quoted field is longer than 64 MiB",
                    error);
  }
  row->at = 0;
  blis_buffer_char(&csv->unquoted, '\n');
  return BLIS_OK;
}

/* Takes the text of a field from after its first quote to after its last quote. */
static blis_status take_quoted(quoted_row *row, blis_error *error) {
  for (;;) {
    const char *data = row->line.content.data + row->at;
    size_t rest = row->line.content.length - row->at;
    const char *quote = rest > 0 ? memchr(data, '"', rest) : NULL;
    size_t length = quote != NULL ? (size_t)(quote - data) : rest;
    blis_buffer_bytes(&row->csv->unquoted, data, length);
    row->at += length;
    if (quote == NULL) {
      BLIS_TRY(continue_line(row, error));
      continue;
    }
    row->at++;
    bool is_doubled = row->at < row->line.content.length && data[length + 1] == '"';
    if (!is_doubled) {
      return BLIS_OK;
    }
    blis_buffer_char(&row->csv->unquoted, '"');
    row->at++;
  }
}

/* Takes one field to its separator or the end of the line. */
static blis_status take_field(quoted_row *row, blis_error *error) {
  blis_csv *csv = row->csv;
  blis_slice line = row->line.content;
  if (row->at < line.length && line.data[row->at] == '"') {
    row->at++;
    BLIS_TRY(take_quoted(row, error));
    line = row->line.content;
    if (row->at < line.length && line.data[row->at] != csv->options.separator) {
      return fail_row(csv, row->line.number, "text after the closing quote of a field", error);
    }
    return BLIS_OK;
  }
  size_t start = row->at;
  for (; row->at < line.length && line.data[row->at] != csv->options.separator; row->at++) {
    if (line.data[row->at] == '"') {
      return fail_row(csv, row->line.number, "a quote inside an unquoted field", error);
    }
  }
  blis_buffer_bytes(&csv->unquoted, line.data + start, row->at - start);
  return BLIS_OK;
}

/* Splits a row with quotes. Its fields are consecutive in unquoted, which can move while it
 * grows, so pointers are set at the end. */
static blis_status split_quoted(blis_csv *csv, const blis_text_line *line, blis_error *error) {
  quoted_row row = {.csv = csv, .line = *line};
  csv->fields.count = 0;
  blis_buffer_clear(&csv->unquoted);
  bool has_more;
  do {
    size_t start = csv->unquoted.length;
    BLIS_TRY(take_field(&row, error));
    BLIS_TRY(add_field(csv, NULL, csv->unquoted.length - start, error));
    has_more = row.at < row.line.content.length;
    row.at++;
  } while (has_more);
  BLIS_TRY_MEM(blis_buffer_status(&csv->unquoted), error);
  const char *data = blis_buffer_text(&csv->unquoted);
  for (size_t i = 0; i < csv->fields.count; i++) {
    csv->fields.items[i].data = data;
    data += csv->fields.items[i].length;
  }
  return BLIS_OK;
}

static blis_status check_even(blis_csv *csv, blis_error *error) {
  if (csv->even_count == 0) {
    csv->even_count = csv->fields.count;
  }
  if (!csv->options.has_even_rows || csv->fields.count == csv->even_count) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: the row has %zu fields; the first row has %zu",
                   blis_csv_name(csv), (long long)csv->line_number, csv->fields.count,
                   csv->even_count);
}

static bool is_skipped(const blis_csv *csv, blis_slice line) {
  return line.length == 0 || (csv->options.comment != '\0' && line.data[0] == csv->options.comment);
}

blis_status blis_csv_next(blis_csv *csv, bool *has_row, blis_error *error) {
  blis_text_line line;
  csv->fields.count = 0;
  do {
    BLIS_TRY(blis_text_next(csv->text, &line, has_row, error));
    if (!*has_row) {
      return BLIS_OK;
    }
  } while (is_skipped(csv, line.content));
  csv->line_number = line.number;
  bool has_quote;
  BLIS_TRY(split_plain(csv, line.content, &has_quote, error));
  if (has_quote) {
    BLIS_TRY(split_quoted(csv, &line, error));
  }
  return check_even(csv, error);
}

/* Stores the strings of the header row. */
static blis_status keep_header(blis_csv *csv, blis_error *error) {
  for (size_t i = 0; i < csv->fields.count; i++) {
    blis_slice name = blis_slice_trim(csv->fields.items[i]);
    BLIS_TRY_MEM(blis_array_push(&csv->alloc, &csv->columns, csv->header.length), error);
    blis_buffer_bytes(&csv->header, name.data, name.length);
    blis_buffer_char(&csv->header, '\0');
  }
  return blis_buffer_status(&csv->header) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status check_header(const blis_csv *csv, blis_error *error) {
  blis_intern *names = blis_intern_new(&csv->alloc);
  BLIS_TRY_NEW(names, error);
  blis_status status = BLIS_OK;
  for (size_t i = 0; status == BLIS_OK && i < csv->columns.count; i++) {
    blis_slice name = blis_slice_of(blis_csv_column_name(csv, i));
    uint32_t id;
    uint32_t known = blis_intern_find(names, name.data, name.length);
    if (known != BLIS_INTERN_NONE && known != 0) {
      status = blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: two columns are named %s",
                         blis_csv_name(csv), (long long)csv->line_number, blis_show(name).text);
    } else if (blis_intern_add(names, name.data, name.length, &id) != BLIS_OK) {
      status = blis_fail_nomem(error);
    }
  }
  blis_intern_free(names);
  return status;
}

static blis_status read_header(blis_csv *csv, blis_error *error) {
  bool has_row;
  BLIS_TRY(blis_csv_next(csv, &has_row, error));
  if (!has_row) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: is empty; expected a header row with column names",
                     blis_csv_name(csv));
  }
  BLIS_TRY(keep_header(csv, error));
  BLIS_TRY(check_header(csv, error));
  csv->fields.count = 0;
  return BLIS_OK;
}

/* Takes ownership of text, even on failure. */
static blis_status open_on(const blis_alloc *alloc, blis_text *text,
                           const blis_csv_options *options, blis_csv **csv, blis_error *error) {
  blis_csv *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  if (made == NULL) {
    blis_text_close(text);
    return blis_fail_nomem(error);
  }
  made->alloc = *alloc;
  made->options = *options;
  if (options->separator == '\0') {
    made->options.separator = ',';
  }
  made->text = text;
  blis_buffer_init(&made->header, alloc);
  blis_buffer_init(&made->unquoted, alloc);
  blis_status status = options->has_header ? read_header(made, error) : BLIS_OK;
  if (status != BLIS_OK) {
    blis_csv_close(made);
    return status;
  }
  *csv = made;
  return BLIS_OK;
}

blis_status blis_csv_open(const blis_alloc *alloc, const char *path,
                          const blis_csv_options *options, blis_csv **csv, blis_error *error) {
  blis_text *text;
  BLIS_TRY(blis_text_open(alloc, path, &text, error));
  return open_on(alloc, text, options, csv, error);
}

blis_status blis_csv_open_memory(const blis_alloc *alloc, const char *name, blis_slice bytes,
                                 const blis_csv_options *options, blis_csv **csv,
                                 blis_error *error) {
  blis_text *text;
  BLIS_TRY(blis_text_open_memory(alloc, name, bytes, &text, error));
  return open_on(alloc, text, options, csv, error);
}

blis_status blis_csv_open_input(const blis_alloc *alloc, blis_input *input,
                                const blis_csv_options *options, blis_csv **csv,
                                blis_error *error) {
  blis_text *text;
  BLIS_TRY(blis_text_open_input(alloc, input, &text, error));
  return open_on(alloc, text, options, csv, error);
}

void blis_csv_close(blis_csv *csv) {
  if (csv == NULL) {
    return;
  }
  blis_alloc alloc = csv->alloc;
  blis_text_close(csv->text);
  blis_buffer_deinit(&csv->header);
  blis_buffer_deinit(&csv->unquoted);
  blis_array_deinit(&alloc, &csv->columns);
  blis_array_deinit(&alloc, &csv->fields);
  blis_alloc_free(&alloc, csv, sizeof *csv);
}

const char *blis_csv_name(const blis_csv *csv) {
  return blis_text_name(csv->text);
}

size_t blis_csv_column_count(const blis_csv *csv) {
  return csv->columns.count;
}

const char *blis_csv_column_name(const blis_csv *csv, size_t column) {
  BLIS_ASSERT(column < csv->columns.count);
  return csv->header.data + csv->columns.items[column];
}

size_t blis_csv_column(const blis_csv *csv, const char *name) {
  for (size_t i = 0; i < csv->columns.count; i++) {
    if (strcmp(blis_csv_column_name(csv, i), name) == 0) {
      return i;
    }
  }
  return BLIS_CSV_NONE;
}

int64_t blis_csv_line(const blis_csv *csv) {
  return csv->line_number;
}

size_t blis_csv_count(const blis_csv *csv) {
  return csv->fields.count;
}

blis_slice blis_csv_field(const blis_csv *csv, size_t column) {
  BLIS_ASSERT(column < csv->fields.count);
  return csv->fields.items[column];
}
