/* Packed and plain bytes, and lines of text. */
#include "base/format/input.h"

#include "base/format/text.h"
#include "fuzz.h"

/* Small packed files may unpack to very much. */
enum { MAX_UNPACKED = 1 << 22 };

static void read_bytes(const blis_alloc *alloc, blis_slice bytes) {
  blis_error error = {0};
  blis_input *input;
  blis_status status = blis_input_open_memory(alloc, "fuzz", bytes, &input, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    return;
  }
  char piece[1000];
  size_t got = 1;
  for (size_t all = 0; status == BLIS_OK && got > 0 && all < MAX_UNPACKED; all += got) {
    status = blis_input_read(input, piece, sizeof piece, &got, &error);
    fuzz_check(status, &error);
    FUZZ_NEED(status != BLIS_OK || got <= sizeof piece);
  }
  blis_input_close(input);
}

static void read_lines(const blis_alloc *alloc, blis_slice bytes) {
  blis_error error = {0};
  blis_text *text;
  blis_status status = blis_text_open_memory(alloc, "fuzz", bytes, &text, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    return;
  }
  bool has_line = true;
  size_t all = 0;
  for (int64_t number = 1; all < MAX_UNPACKED; number++) {
    blis_text_line line;
    status = blis_text_next(text, &line, &has_line, &error);
    fuzz_check(status, &error);
    if (status != BLIS_OK || !has_line) {
      break;
    }
    FUZZ_NEED(line.number == number);
    FUZZ_NEED(line.content.length == 0 ||
              memchr(line.content.data, '\n', line.content.length) == NULL);
    all += line.content.length + 1;
  }
  blis_text_close(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  read_bytes(&alloc, fuzz_slice(data, size));
  read_lines(&alloc, fuzz_slice(data, size));
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
