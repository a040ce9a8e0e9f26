#include "base/format/csv.h"

#include <float.h>

#include "base/random.h"
#include "check.h"

static blis_csv *open_memory(const blis_alloc *alloc, blis_slice bytes, blis_csv_options options) {
  blis_csv *csv;
  blis_error error;
  CHECK_OK(blis_csv_open_memory(alloc, "t.csv", bytes, &options, &csv, &error), &error);
  return csv;
}

/* All rows as text: fields in brackets, rows end in a semicolon. */
static void show_rows(blis_csv *csv, char *shown, size_t size) {
  blis_error error;
  bool has_row;
  size_t length = 0;
  shown[0] = '\0';
  for (;;) {
    CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
    if (!has_row) {
      return;
    }
    length +=
        (size_t)snprintf(shown + length, size - length, "%lld", (long long)blis_csv_line(csv));
    for (size_t i = 0; i < blis_csv_count(csv); i++) {
      blis_slice field = blis_csv_field(csv, i);
      length +=
          (size_t)snprintf(shown + length, size - length, "[%.*s]", (int)field.length, field.data);
    }
    length += (size_t)snprintf(shown + length, size - length, ";");
    CHECK(length < size);
  }
}

static void rows_are_split(void) {
  static const struct {
    const char *bytes;
    const char *rows;
  } cases[] = {
      {"", ""},
      {"\n\r\n\n", ""},
      {"a", "1[a];"},
      {"a,b\nc\n", "1[a][b];2[c];"},
      {",\n,,", "1[][];2[][][];"},
      {"a,b\r\n\r\nc,d\r\n", "1[a][b];3[c][d];"},
      {" a , b", "1[ a ][ b];"},
      {"\"a\",b", "1[a][b];"},
      {"\"\",\"\"", "1[][];"},
      {"\"a,b\",\"c\"\"d\"\n", "1[a,b][c\"d];"},
      {"\"\"\"\"", "1[\"];"},
      {"x,\"a\nb\r\n\nc\",y\nz", "1[x][a\nb\n\nc][y];5[z];"},
      {"a,\"b\",", "1[a][b][];"},
      {"\xef\xbb\xbf\"a\"", "1[a];"},
  };
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char shown[200];
    blis_csv *csv = open_memory(&alloc, blis_slice_of(cases[i].bytes), (blis_csv_options){0});
    show_rows(csv, shown, sizeof shown);
    CHECK_STR(shown, cases[i].rows);
    blis_csv_close(csv);
  }
  CHECK(memory.live_bytes == 0);
}

static void options_change_the_dialect(void) {
  blis_alloc alloc = blis_alloc_heap();
  char shown[200];
  blis_csv *csv = open_memory(&alloc, blis_slice_of("# note\na;b\n#,\n\"c;\";d,e\n"),
                              (blis_csv_options){.separator = ';', .comment = '#'});
  show_rows(csv, shown, sizeof shown);
  CHECK_STR(shown, "2[a][b];4[c;][d,e];");
  blis_csv_close(csv);
}

static void columns_have_names(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_csv *csv = open_memory(&alloc, blis_slice_of("id,\"a \"\"b\"\"\", tokens \n1,2,3"),
                              (blis_csv_options){.has_header = true});
  CHECK_EQ_I64(blis_csv_column_count(csv), 3);
  CHECK_STR(blis_csv_column_name(csv, 1), "a \"b\"");
  CHECK_EQ_I64(blis_csv_column(csv, "tokens"), 2);
  CHECK(blis_csv_column(csv, "Tokens") == BLIS_CSV_NONE);
  size_t column;
  blis_error error;
  CHECK_OK(blis_csv_need(csv, "id", &column, &error), &error);
  CHECK_EQ_I64(column, 0);
  CHECK_STATUS(blis_csv_need(csv, "time", &column, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv: no column 'time'; the columns are id, a \"b\", tokens");
  char shown[100];
  show_rows(csv, shown, sizeof shown);
  CHECK_STR(shown, "2[1][2][3];");
  blis_csv_close(csv);
}

static void names_of_columns_are_harmless(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_csv *csv = open_memory(&alloc, blis_slice_of("a\x1b[2J\x07,b\x7f\n1,2"),
                              (blis_csv_options){.has_header = true});
  size_t column;
  blis_error error;
  CHECK_STATUS(blis_csv_need(csv, "id", &column, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "the columns are a?[2J?, b?");
  blis_csv_close(csv);
}

static void check_error(const char *bytes, blis_csv_options options, const char *message) {
  blis_alloc alloc = blis_alloc_heap();
  blis_csv *csv;
  blis_error error;
  blis_status status =
      blis_csv_open_memory(&alloc, "t.csv", blis_slice_of(bytes), &options, &csv, &error);
  if (status == BLIS_OK) {
    bool has_row = true;
    while (status == BLIS_OK && has_row) {
      status = blis_csv_next(csv, &has_row, &error);
    }
    blis_csv_close(csv);
  }
  CHECK_STATUS(status, BLIS_ERR_PARSE);
  CHECK_STR(error.message, message);
}

static void broken_tables_are_errors(void) {
  const blis_csv_options plain = {0};
  const blis_csv_options even = {.has_even_rows = true};
  const blis_csv_options header = {.has_header = true};
  check_error("a\nb\"c\n", plain, "t.csv:2: a quote inside an unquoted field");
  check_error("\"a\"b\n", plain, "t.csv:1: text after the closing quote of a field");
  check_error("x\n\"a\n\nb\n", plain, "t.csv:2: a quoted field has no closing quote");
  check_error("a,b\nc,d\ne\n", even, "t.csv:3: the row has 1 fields; the first row has 2");
  check_error("", header, "t.csv: is empty; expected a header row with column names");
  check_error("a,b,a\n", header, "t.csv:1: two columns are named 'a'");
}

static void fields_have_types(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_csv *csv =
      open_memory(&alloc, blis_slice_of("n,x,b,s\n-7,2.5e3,True,hello\n1.5,abc,maybe\n"),
                  (blis_csv_options){.has_header = true});
  blis_error error;
  bool has_row;
  int64_t n = 0;
  double x = 0;
  bool b = false;
  blis_slice s;
  CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  CHECK_OK(blis_csv_int64(csv, 0, -10, 10, &n, &error), &error);
  CHECK_OK(blis_csv_double(csv, 1, 0, DBL_MAX, &x, &error), &error);
  CHECK_OK(blis_csv_bool(csv, 2, &b, &error), &error);
  CHECK_OK(blis_csv_text(csv, 3, &s, &error), &error);
  CHECK(n == -7 && x == 2500 && b && blis_slice_equals(s, "hello"));
  CHECK_STATUS(blis_csv_int64(csv, 0, 0, INT64_MAX, &n, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:2: column 'n': invalid value '-7': expected 0 or more");
  CHECK_STATUS(blis_csv_double(csv, 1, 0, 1, &x, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:2: column 'x': invalid value '2.5e3': expected 0 to 1");
  CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  CHECK_STATUS(blis_csv_int64(csv, 0, 0, 1, &n, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:3: column 'n': '1.5' is not a whole number");
  CHECK_STATUS(blis_csv_double(csv, 1, 0, 1, &x, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:3: column 'x': 'abc' is not a number");
  CHECK_STATUS(blis_csv_bool(csv, 2, &b, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:3: column 'b': 'maybe' is neither true nor false");
  CHECK_STATUS(blis_csv_text(csv, 3, &s, &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.csv:3: column 's': missing; the row has only 3 fields");
  CHECK_STATUS(blis_csv_text(csv, 9, &s, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "t.csv:3: column 10: missing");
  CHECK(n == -7 && x == 2500 && b);
  blis_csv_close(csv);
}

/* Random fields survive being written and read. */
static void written_fields_come_back(void) {
  static const char bytes[] = "a,\"\n b\\.\r\tc";
  enum { ROWS = 300, COLUMNS = 4, LONGEST = 8 };
  static char texts[ROWS][COLUMNS][LONGEST + 1];
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  blis_random random;
  blis_random_init(&random, 59);
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++) {
      char *text = texts[row][column];
      int32_t length = blis_random_intn(&random, LONGEST);
      for (int32_t i = 0; i < length; i++) {
        text[i] = bytes[blis_random_intn(&random, sizeof bytes - 1)];
        /* A CR before an LF would come back as the line end it is. */
        text[i] = text[i] == '\n' && i > 0 && text[i - 1] == '\r' ? 'x' : text[i];
      }
      blis_buffer_string(&buffer, column == 0 ? "" : ",");
      blis_csv_write(&buffer, blis_slice_of(text));
    }
    blis_buffer_char(&buffer, '\n');
  }
  blis_csv *csv = open_memory(&alloc, blis_buffer_slice(&buffer), (blis_csv_options){0});
  blis_error error;
  bool has_row;
  for (int row = 0; row < ROWS; row++) {
    CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
    CHECK(has_row);
    CHECK_EQ_I64(blis_csv_count(csv), COLUMNS);
    for (size_t column = 0; column < COLUMNS; column++) {
      CHECK(blis_slice_equals(blis_csv_field(csv, column), texts[row][column]));
    }
  }
  blis_csv_close(csv);
  blis_buffer_deinit(&buffer);
}

static void fields_are_quoted_only_when_needed(void) {
  static const struct {
    const char *field;
    const char *written;
  } cases[] = {{"", ""},         {"abc", "abc"},           {"a b", "a b"},
               {" a", "\" a\""}, {"a,\"x", "\"a,\"\"x\""}, {"\\.", "\"\\.\""},
               {"\\.x", "\\.x"}, {"a\nb", "\"a\nb\""}};
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_buffer_clear(&buffer);
    blis_csv_write(&buffer, blis_slice_of(cases[i].field));
    CHECK_STR(blis_buffer_text(&buffer), cases[i].written);
  }
  blis_buffer_deinit(&buffer);
}

static bool read_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  const blis_csv_options options = {.has_header = true};
  blis_slice bytes =
      blis_slice_of("a,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,\"0\n"
                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                    "\"\n");
  blis_csv *csv;
  bool has_row = true;
  blis_status status = blis_csv_open_memory(&alloc, "t.csv", bytes, &options, &csv, NULL);
  if (status == BLIS_OK) {
    while (status == BLIS_OK && has_row) {
      status = blis_csv_next(csv, &has_row, NULL);
    }
    blis_csv_close(csv);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  CHECK(memory.live_bytes == 0);
  return status == BLIS_OK;
}

static void no_memory_is_reported(void) {
  long request = 1;
  while (!read_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 12);
  blis_csv_close(NULL);
}

int main(void) {
  RUN(rows_are_split);
  RUN(options_change_the_dialect);
  RUN(columns_have_names);
  RUN(names_of_columns_are_harmless);
  RUN(broken_tables_are_errors);
  RUN(fields_have_types);
  RUN(written_fields_come_back);
  RUN(fields_are_quoted_only_when_needed);
  RUN(no_memory_is_reported);
  return check_done();
}
