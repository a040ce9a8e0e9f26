#include "base/format/csv.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Writes a column as shown in messages: its name, or its number, from 1, if it has no name. */
static void describe(const blis_csv *csv, size_t column, char text[192]) {
  if (column < blis_csv_column_count(csv)) {
    blis_slice name = blis_slice_of(blis_csv_column_name(csv, column));
    snprintf(text, 192, "column %s", blis_show(name).text);
  } else {
    snprintf(text, 192, "column %zu", column + 1);
  }
}

blis_status blis_csv_fail(const blis_csv *csv, size_t column, const char *what, blis_error *error) {
  char place[192];
  describe(csv, column, place);
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: %s: %s %s", blis_csv_name(csv),
                   (long long)blis_csv_line(csv), place,
                   blis_show(blis_csv_field(csv, column)).text, what);
}

blis_status blis_csv_invalid(const blis_csv *csv, size_t column, const char *expected,
                             blis_error *error) {
  char place[192];
  describe(csv, column, place);
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: %s: invalid value %s: expected %s",
                   blis_csv_name(csv), (long long)blis_csv_line(csv), place,
                   blis_show(blis_csv_field(csv, column)).text, expected);
}

/* If the file is not a table, its first line can contain any bytes. */
static void hide_control_characters(char *text) {
  for (; *text != '\0'; text++) {
    bool is_control = (unsigned char)*text < 0x20 || *text == 0x7f;
    *text = is_control ? '?' : *text;
  }
}

blis_status blis_csv_need(const blis_csv *csv, const char *name, size_t *column,
                          blis_error *error) {
  *column = blis_csv_column(csv, name);
  if (*column != BLIS_CSV_NONE) {
    return BLIS_OK;
  }
  char names[256] = "";
  size_t length = 0;
  for (size_t i = 0; i < blis_csv_column_count(csv); i++) {
    const char *other = blis_csv_column_name(csv, i);
    int written =
        snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ", other);
    length += (size_t)written;
    if (length >= sizeof names) {
      memcpy(names + sizeof names - 4, "...", 4);
      break;
    }
  }
  hide_control_characters(names);
  return blis_fail(error, BLIS_ERR_PARSE, "%s: no column '%s'; the columns are %s",
                   blis_csv_name(csv), name, names);
}

blis_status blis_csv_text(const blis_csv *csv, size_t column, blis_slice *text, blis_error *error) {
  if (column < blis_csv_count(csv)) {
    *text = blis_csv_field(csv, column);
    return BLIS_OK;
  }
  char place[192];
  describe(csv, column, place);
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: %s: missing; the row has only %zu fields",
                   blis_csv_name(csv), (long long)blis_csv_line(csv), place, blis_csv_count(csv));
}

blis_status blis_csv_int64(const blis_csv *csv, size_t column, int64_t min, int64_t max,
                           int64_t *value, blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_csv_text(csv, column, &text, error));
  int64_t parsed = text.length == 1 ? text.data[0] - '0' : -1;
  bool is_digit = parsed >= 0 && parsed <= 9; /* half of all fields are "0" */
  blis_number_fault fault = is_digit ? BLIS_NUMBER_OK : blis_parse_int64(text, &parsed);
  if (fault != BLIS_NUMBER_OK) {
    fault = blis_parse_int64(blis_slice_trim(text), &parsed);
  }
  if (fault != BLIS_NUMBER_OK) {
    return blis_csv_fail(csv, column, blis_number_fault_text(fault), error);
  }
  if (parsed < min || parsed > max) {
    return blis_csv_invalid(csv, column, blis_range_of_int64(min, max).text, error);
  }
  *value = parsed;
  return BLIS_OK;
}

blis_status blis_csv_double(const blis_csv *csv, size_t column, double min, double max,
                            double *value, blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_csv_text(csv, column, &text, error));
  double parsed;
  blis_number_fault fault = blis_parse_double(blis_slice_trim(text), &parsed);
  if (fault != BLIS_NUMBER_OK) {
    return blis_csv_fail(csv, column, blis_number_fault_text(fault), error);
  }
  if (parsed < min || parsed > max) {
    return blis_csv_invalid(csv, column, blis_range_of_double(min, max).text, error);
  }
  *value = parsed;
  return BLIS_OK;
}

static bool is_one_of(blis_slice text, const char *const words[6]) {
  for (int i = 0; i < 6; i++) {
    if (blis_slice_equals(text, words[i])) {
      return true;
    }
  }
  return false;
}

blis_status blis_csv_bool(const blis_csv *csv, size_t column, bool *value, blis_error *error) {
  static const char *const yes[6] = {"true", "1", "t", "T", "True", "TRUE"};
  static const char *const no[6] = {"false", "0", "f", "F", "False", "FALSE"};
  blis_slice text;
  BLIS_TRY(blis_csv_text(csv, column, &text, error));
  bool is_true = is_one_of(text, yes);
  if (!is_true && !is_one_of(text, no)) {
    return blis_csv_fail(csv, column, "is neither true nor false", error);
  }
  *value = is_true;
  return BLIS_OK;
}

static bool needs_quotes(blis_slice field) {
  if (field.length == 0) {
    return false;
  }
  if (field.data[0] == ' ' || blis_slice_equals(field, "\\.")) {
    return true;
  }
  for (size_t i = 0; i < field.length; i++) {
    char c = field.data[i];
    if (c == ',' || c == '"' || c == '\r' || c == '\n') {
      return true;
    }
  }
  return false;
}

void blis_csv_write(blis_buffer *buffer, blis_slice field) {
  if (!needs_quotes(field)) {
    blis_buffer_bytes(buffer, field.data, field.length);
    return;
  }
  blis_buffer_char(buffer, '"');
  for (size_t i = 0; i < field.length; i++) {
    if (field.data[i] == '"') {
      blis_buffer_char(buffer, '"');
    }
    blis_buffer_char(buffer, field.data[i]);
  }
  blis_buffer_char(buffer, '"');
}
