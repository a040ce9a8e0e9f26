#include "base/format/input.h"

#include "base/random.h"
#include "check.h"
#include "packed.h"

enum { SIZE = 400000 };

static char original[SIZE];
static char packed[2 * SIZE];
static char unpacked[SIZE + 1];

/* Half noise, half a repeated word, in stretches. */
static void make_original(void) {
  blis_random random;
  blis_random_init(&random, 47);
  for (size_t i = 0; i < SIZE; i++) {
    original[i] = i / 1000 % 2 == 0 ? (char)blis_random_intn(&random, 256) : "prefill "[i % 8];
  }
}

/* Reads all in pieces of a size; returns how much came before a failure. */
static size_t read_in_pieces(blis_slice bytes, size_t piece, blis_status *status,
                             blis_error *error) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_input *input;
  size_t done = 0;
  size_t got = 1;
  *status = blis_input_open_memory(&alloc, "memory", bytes, &input, error);
  CHECK(*status == BLIS_OK);
  while (*status == BLIS_OK && got > 0) {
    size_t room = sizeof unpacked - done;
    CHECK(room > 0);
    *status = blis_input_read(input, unpacked + done, piece < room ? piece : room, &got, error);
    done += *status == BLIS_OK ? got : 0;
  }
  blis_input_close(input);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void every_format_is_unpacked(void) {
  make_original();
  for (packing how = PACKED_PLAIN; how <= PACKED_ZSTD; how++) {
    for (size_t size = 0; size <= SIZE; size += 1 + 5 * size) {
      size_t length = pack(how, (blis_slice){original, size}, packed, sizeof packed);
      for (size_t piece = size < 1000 ? 1 : 777; piece < 200000; piece *= 9) {
        blis_status status;
        blis_error error;
        size_t done = read_in_pieces((blis_slice){packed, length}, piece, &status, &error);
        CHECK_OK(status, &error);
        CHECK_EQ_I64(done, size);
        CHECK(memcmp(unpacked, original, size) == 0);
      }
    }
  }
}

static void pieces_behind_each_other_are_one(void) {
  for (packing how = PACKED_GZIP; how <= PACKED_ZSTD; how++) {
    size_t length = 0;
    for (size_t part = 0; part < 4; part++) {
      length += pack(how, (blis_slice){original + part * 70000, 70000}, packed + length,
                     sizeof packed - length);
    }
    blis_status status;
    blis_error error;
    CHECK_EQ_I64(read_in_pieces((blis_slice){packed, length}, 5000, &status, &error), 280000);
    CHECK_OK(status, &error);
    CHECK(memcmp(unpacked, original, 280000) == 0);
  }
}

static void cut_and_broken_data_are_errors(void) {
  for (packing how = PACKED_GZIP; how <= PACKED_ZSTD; how++) {
    size_t length = pack(how, (blis_slice){original, 5000}, packed, sizeof packed);
    blis_status status;
    blis_error error;
    for (size_t cut = 4; cut < length; cut += 1 + cut / 8) {
      read_in_pieces((blis_slice){packed, cut}, 700, &status, &error);
      CHECK_STATUS(status, BLIS_ERR_PARSE);
      CHECK_STR(error.message, "memory: truncated: the compressed data is incomplete");
    }
    memset(packed + 10, 255, 200);
    read_in_pieces((blis_slice){packed, length}, 700, &status, &error);
    CHECK_STATUS(status, BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, "memory: broken ");
    length = pack(how, (blis_slice){original, 5000}, packed, sizeof packed);
    memcpy(packed + length, "rubbish", 7);
    read_in_pieces((blis_slice){packed, length + 7}, 700, &status, &error);
    CHECK_STATUS(status, BLIS_ERR_PARSE);
  }
}

static void files_are_read_whole(void) {
  char path[] = "/tmp/blis-test-XXXXXX";
  int descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  size_t length = pack(PACKED_GZIP, (blis_slice){original, SIZE}, packed, sizeof packed);
  FILE *file = fdopen(descriptor, "wb");
  CHECK(file != NULL);
  CHECK(fwrite(packed, 1, length, file) == length);
  CHECK(fclose(file) == 0);
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  blis_buffer_string(&buffer, "before");
  blis_error error;
  CHECK_OK(blis_input_read_file(path, SIZE, &buffer, &error), &error);
  CHECK_EQ_I64(buffer.length, 6 + SIZE);
  CHECK(memcmp(buffer.data + 6, original, SIZE) == 0);
  blis_buffer_clear(&buffer);
  CHECK_STATUS(blis_input_read_file(path, SIZE - 1, &buffer, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, path);
  CHECK_CONTAINS(error.message, ": is larger than 399999 bytes");
  CHECK_EQ_I64(buffer.length, 0);
  blis_buffer_deinit(&buffer);
  CHECK(memory.live_bytes == 0);
  CHECK(remove(path) == 0);
}

static void buffers_fit_short_inputs(void) {
  make_original();
  for (size_t size = 0; size <= SIZE; size = 3 * size + 999) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_input *input;
    blis_slice head;
    blis_error error;
    const blis_slice bytes = {original, size};
    CHECK_OK(blis_input_open_memory(&alloc, "memory", bytes, &input, &error), &error);
    size_t expected = size < 4096 ? 4096 : size + 1;
    CHECK_EQ_I64(blis_input_buffer_size(input, 65536), expected < 65536 ? expected : 65536);
    CHECK_EQ_I64(blis_input_buffer_size(input, 4), 4);
    CHECK_OK(blis_input_peek(input, &head, &error), &error);
    CHECK_EQ_I64(head.length, size < 65536 ? size : 65536);
    CHECK(memcmp(head.data, original, head.length) == 0);
    CHECK(memory.live_bytes < 2 * 65536 + 1000 && (size > 3000 || memory.live_bytes < 10000));
    blis_input_close(input);
    CHECK(memory.live_bytes == 0);
  }
}

/* Files of /proc report the size 0. */
static void files_of_unknown_size_are_read(void) {
  static const char path[] = "/proc/kallsyms";
  FILE *file = fopen(path, "rb");
  size_t length = file != NULL ? fread(unpacked, 1, BLIS_INPUT_PEEK_MAX, file) : 0;
  if (file != NULL) {
    fclose(file);
  }
  if (length < BLIS_INPUT_PEEK_MAX) {
    return; /* there is no such file here */
  }
  blis_alloc alloc = blis_alloc_heap();
  blis_input *input;
  blis_slice head;
  blis_error error;
  CHECK_OK(blis_input_open(&alloc, path, &input, &error), &error);
  CHECK_OK(blis_input_peek(input, &head, &error), &error);
  CHECK_EQ_I64(head.length, BLIS_INPUT_PEEK_MAX);
  CHECK(memcmp(head.data, unpacked, head.length) == 0);
  blis_input_close(input);
}

static void missing_files_and_folders_are_errors(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_input *input;
  blis_error error;
  CHECK_STATUS(blis_input_open(&alloc, "no/such/file", &input, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "no/such/file: cannot be opened: ");
  CHECK_STATUS(blis_input_open(&alloc, ".", &input, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, ".: cannot be opened: Is a directory");
  blis_input_close(NULL);
}

static void no_memory_is_reported(void) {
  for (long request = 1; request <= 3; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_input *input;
    blis_error error;
    CHECK_STATUS(blis_input_open_memory(&alloc, "memory", (blis_slice){0}, &input, &error),
                 BLIS_ERR_NOMEM);
    CHECK(memory.live_bytes == 0);
  }
}

int main(void) {
  RUN(every_format_is_unpacked);
  RUN(pieces_behind_each_other_are_one);
  RUN(cut_and_broken_data_are_errors);
  RUN(files_are_read_whole);
  RUN(buffers_fit_short_inputs);
  RUN(files_of_unknown_size_are_read);
  RUN(missing_files_and_folders_are_errors);
  RUN(no_memory_is_reported);
  return check_done();
}
