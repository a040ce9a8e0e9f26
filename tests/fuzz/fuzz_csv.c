/* CSV: rows and fields in both modes; what is written reads back. */
#include "base/format/csv.h"

#include "fuzz.h"

/* Opening a reader is slow beside the rest. */
enum { WRITTEN_MAX = 4 };

static void ask(const blis_csv *csv, size_t column) {
  int64_t whole;
  double real;
  bool flag;
  blis_slice text;
  blis_error error = {0};
  fuzz_check(blis_csv_int64(csv, column, 0, 9, &whole, &error), &error);
  fuzz_check(blis_csv_double(csv, column, 0, 9, &real, &error), &error);
  fuzz_check(blis_csv_bool(csv, column, &flag, &error), &error);
  fuzz_check(blis_csv_text(csv, column, &text, &error), &error);
}

static void check_written(const blis_alloc *alloc, blis_slice field) {
  blis_csv_options options = {0};
  blis_error error = {0};
  blis_csv *csv;
  blis_buffer buffer;
  bool has_row;
  blis_buffer_init(&buffer, alloc);
  blis_buffer_string(&buffer, "first,");
  blis_csv_write(&buffer, field);
  blis_buffer_char(&buffer, '\n');
  FUZZ_NEED(blis_csv_open_memory(alloc, "written", blis_buffer_slice(&buffer), &options, &csv,
                                 &error) == BLIS_OK);
  FUZZ_NEED(blis_csv_next(csv, &has_row, &error) == BLIS_OK && has_row);
  blis_slice again = blis_csv_field(csv, 1);
  FUZZ_NEED(blis_csv_count(csv) == 2);
  /* Readers take CR LF for LF, also inside of quotes. */
  bool has_cr = field.length > 0 && memchr(field.data, '\r', field.length);
  FUZZ_NEED(has_cr || (again.length == field.length &&
                       (field.length == 0 || memcmp(again.data, field.data, field.length) == 0)));
  blis_csv_close(csv);
  blis_buffer_deinit(&buffer);
}

static void read_all(const blis_alloc *alloc, blis_slice bytes, const blis_csv_options *options) {
  blis_error error = {0};
  blis_csv *csv;
  blis_status status = blis_csv_open_memory(alloc, "fuzz.csv", bytes, options, &csv, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    return;
  }
  bool has_row = true;
  int written = 0;
  while (has_row) {
    status = blis_csv_next(csv, &has_row, &error);
    fuzz_check(status, &error);
    if (status != BLIS_OK || !has_row) {
      break;
    }
    FUZZ_NEED(blis_csv_line(csv) >= 1);
    for (size_t i = 0; i <= blis_csv_count(csv) && i < 8; i++) {
      ask(csv, i);
      if (i < blis_csv_count(csv) && written++ < WRITTEN_MAX) {
        check_written(alloc, blis_csv_field(csv, i));
      }
    }
  }
  blis_csv_close(csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const blis_csv_options options[] = {
      {.has_header = true},
      {.has_header = true, .has_even_rows = true, .comment = '#'},
      {.separator = ';'}};
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    read_all(&alloc, fuzz_slice(data, size), &options[i]);
  }
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
