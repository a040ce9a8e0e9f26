#include "base/format/text.h"

#include "base/random.h"
#include "check.h"
#include "packed.h"

static blis_text *open_memory(const blis_alloc *alloc, blis_slice bytes) {
  blis_text *text;
  blis_error error;
  CHECK_OK(blis_text_open_memory(alloc, "trace.csv", bytes, &text, &error), &error);
  return text;
}

static void check_lines(blis_slice bytes, const char *const *expected, size_t count,
                        bool ends_in_newline) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_text *text = open_memory(&alloc, bytes);
  blis_error error;
  blis_text_line line;
  bool has_line;
  for (size_t i = 0; i < count; i++) {
    CHECK_OK(blis_text_next(text, &line, &has_line, &error), &error);
    CHECK(has_line);
    CHECK(blis_slice_equals(line.content, expected[i]));
    CHECK_EQ_I64(line.number, i + 1);
    CHECK(line.has_newline == (i + 1 < count || ends_in_newline));
  }
  for (int again = 0; again < 2; again++) {
    CHECK_OK(blis_text_next(text, &line, &has_line, &error), &error);
    CHECK(!has_line);
  }
  blis_text_close(text);
  CHECK(memory.live_bytes == 0);
}

static void lines_end_in_every_way(void) {
  static const struct {
    const char *bytes;
    const char *lines[4];
    bool ends_in_newline;
  } cases[] = {
      {"", {0}, false},
      {"\n", {""}, true},
      {"a", {"a"}, false},
      {"a\n", {"a"}, true},
      {"a\r\n\r\nb\r\n", {"a", "", "b"}, true},
      {"a\n\nb", {"a", "", "b"}, false},
      {"a\rb\r\r\n", {"a\rb\r"}, true},
      {"\r", {""}, false},
      {"\xef\xbb\xbfid\n\xef\xbb\xbf\n", {"id", "\xef\xbb\xbf"}, true},
      {"\xef\xbb\xbf", {""}, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t count = 0;
    while (cases[i].lines[count] != NULL) {
      count++;
    }
    check_lines(blis_slice_of(cases[i].bytes), cases[i].lines, count, cases[i].ends_in_newline);
  }
}

/* Lines of random lengths come back, through every packing. */
static void long_texts_come_back(void) {
  enum { SIZE = 3000000 };
  static char bytes[SIZE];
  static char packed[SIZE + SIZE / 8];
  blis_random random;
  blis_random_init(&random, 53);
  for (size_t start = 0; start < SIZE;) {
    int32_t most = blis_random_intn(&random, 200) == 0 ? 900000 : 200;
    size_t length = (size_t)blis_random_intn(&random, most);
    length = length < SIZE - start - 1 ? length : SIZE - start - 1;
    memset(bytes + start, 'a' + blis_random_intn(&random, 26), length);
    bytes[start + length] = '\n';
    start += length + 1;
  }
  blis_alloc alloc = blis_alloc_heap();
  for (packing how = PACKED_PLAIN; how <= PACKED_ZSTD; how++) {
    size_t size = pack(how, (blis_slice){bytes, SIZE}, packed, sizeof packed);
    blis_text *text = open_memory(&alloc, (blis_slice){packed, size});
    blis_error error;
    blis_text_line line;
    bool has_line = true;
    size_t start = 0;
    while (start < SIZE) {
      CHECK_OK(blis_text_next(text, &line, &has_line, &error), &error);
      CHECK(has_line && line.has_newline);
      CHECK(memcmp(bytes + start, line.content.data, line.content.length) == 0);
      start += line.content.length;
      CHECK(bytes[start++] == '\n');
    }
    CHECK_OK(blis_text_next(text, &line, &has_line, &error), &error);
    CHECK(!has_line);
    blis_text_close(text);
  }
}

static void check_error(blis_slice bytes, const char *message) {
  blis_alloc alloc = blis_alloc_heap();
  blis_text *text = open_memory(&alloc, bytes);
  blis_error error;
  blis_text_line line;
  bool has_line = true;
  blis_status status = BLIS_OK;
  while (has_line && status == BLIS_OK) {
    status = blis_text_next(text, &line, &has_line, &error);
  }
  CHECK_STATUS(status, BLIS_ERR_PARSE);
  CHECK_STR(error.message, message);
  blis_text_close(text);
}

static void binary_files_and_endless_lines_are_errors(void) {
  check_error((blis_slice){"ab\ncd\0e\n", 8},
              "trace.csv:2: the line contains a zero byte; this is not a text file");
  size_t size = (size_t)BLIS_TEXT_LINE_MAX + 3;
  char *bytes = malloc(size);
  CHECK(bytes != NULL);
  memset(bytes, 'x', size);
  bytes[0] = '\n';
  const char *message = "trace.csv:2: the line is longer than 64 MiB";
  check_error((blis_slice){bytes, size}, message);
  bytes[size - 1] = '\n';
  check_error((blis_slice){bytes, size}, message);
  free(bytes);
  char packed[100];
  size = pack(PACKED_GZIP, blis_slice_of("a\nb\n"), packed, sizeof packed);
  check_error((blis_slice){packed, size - 3},
              "trace.csv: truncated: the compressed data is incomplete");
}

static bool read_with_failure_at(long request) {
  static char bytes[2000000];
  memset(bytes, 'y', sizeof bytes);
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_text *text;
  blis_error error;
  blis_text_line line;
  bool has_line;
  blis_status status =
      blis_text_open_memory(&alloc, "memory", (blis_slice){bytes, sizeof bytes}, &text, &error);
  if (status == BLIS_OK) {
    status = blis_text_next(text, &line, &has_line, &error);
    blis_text_close(text);
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
  CHECK(request > 6);
  blis_text_close(NULL);
}

int main(void) {
  RUN(lines_end_in_every_way);
  RUN(long_texts_come_back);
  RUN(binary_files_and_endless_lines_are_errors);
  RUN(no_memory_is_reported);
  return check_done();
}
