/* Files that are written whole or not at all. */
#include "base/format/output.h"

#include <sys/stat.h>

#include "base/format/input.h"
#include "base/format/packer.h"
#include "check.h"
#include "temp_file.h"

static blis_error error;
static blis_alloc heap;

static blis_output *open_output(const char *path) {
  blis_output *output = NULL;
  CHECK_OK(blis_output_open(&heap, path, &output, &error), &error);
  return output;
}

static void write_text(blis_output *output, const char *text) {
  CHECK_OK(blis_output_write(output, blis_slice_of(text), &error), &error);
}

static bool exists(const char *path) {
  struct stat about;
  return stat(path, &about) == 0;
}

static void check_content(const char *path, const char *expected) {
  char text[64] = {0};
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t got = fread(text, 1, sizeof text - 1, file);
  CHECK(got == strlen(expected));
  CHECK_STR(text, expected);
  fclose(file);
}

static const char *part_of(const char *path, const char *ending) {
  static char part[TEMP_PATH_SIZE + 8];
  snprintf(part, sizeof part, "%s.part%s", path, ending);
  return part;
}

static void a_commit_replaces_the_target(void) {
  const char *path = temp_file("target", "old");
  blis_output *output = open_output(path);
  write_text(output, "new ");
  write_text(output, "");
  write_text(output, "text\n");
  check_content(path, "old");
  CHECK(exists(part_of(path, "")));
  CHECK_OK(blis_output_commit(output, &error), &error);
  check_content(path, "new text\n");
  CHECK(!exists(part_of(path, "")));
}

static void a_discarded_file_leaves_nothing(void) {
  const char *path = temp_file("target", "old");
  blis_output *output = open_output(path);
  write_text(output, "new");
  blis_output_discard(output);
  check_content(path, "old");
  CHECK(!exists(part_of(path, "")));
  blis_output_discard(NULL);
}

static void two_writers_do_not_meet(void) {
  const char *path = temp_file("target", "old");
  blis_output *first = open_output(path);
  blis_output *second = open_output(path);
  write_text(first, "first");
  write_text(second, "second");
  CHECK(exists(part_of(path, "1")));
  CHECK_OK(blis_output_commit(second, &error), &error);
  check_content(path, "second");
  CHECK_OK(blis_output_commit(first, &error), &error);
  check_content(path, "first");
}

static void what_cannot_be_replaced_is_written_to(void) {
  blis_output *output = open_output("/dev/null");
  write_text(output, "text");
  CHECK_OK(blis_output_commit(output, &error), &error);
  CHECK(!exists("/dev/null.part"));
  output = open_output("/dev/null");
  blis_output_discard(output);
  CHECK(exists("/dev/null"));
}

/* Much that packs well, then something that does not. */
static void write_much(blis_output *output) {
  for (int i = 0; i < 100000; i++) {
    char line[32];
    snprintf(line, sizeof line, "line %d\n", i % 1000 * (i % 7));
    write_text(output, line);
  }
}

static void check_packed(const char *ending, size_t least_size) {
  char name[64];
  snprintf(name, sizeof name, "packed%s", ending);
  const char *path = temp_file(name, "old");
  blis_output *output = open_output(path);
  write_much(output);
  CHECK_OK(blis_output_commit(output, &error), &error);
  struct stat about;
  CHECK(stat(path, &about) == 0 && (size_t)about.st_size < least_size);
  const char *plain = temp_file("plain", "");
  output = open_output(plain);
  write_much(output);
  CHECK_OK(blis_output_commit(output, &error), &error);
  blis_buffer got;
  blis_buffer expected;
  blis_buffer_init(&got, &heap);
  blis_buffer_init(&expected, &heap);
  CHECK_OK(blis_input_read_file(path, 1 << 24, &got, &error), &error);
  CHECK_OK(blis_input_read_file(plain, 1 << 24, &expected, &error), &error);
  CHECK_STR(blis_buffer_text(&got), blis_buffer_text(&expected));
  blis_buffer_deinit(&got);
  blis_buffer_deinit(&expected);
}

static void the_end_of_a_path_asks_for_packing(void) {
  check_packed(".gz", 300000);
  check_packed(".zst", 300000);
  size_t length;
  CHECK(blis_packing_of("a.csv.gz", &length) == BLIS_PACKING_GZIP);
  CHECK_EQ_I64(length, 5);
  CHECK(blis_packing_of("a.zst", NULL) == BLIS_PACKING_ZSTD);
  CHECK(blis_packing_of(".gz", &length) == BLIS_PACKING_NONE);
  CHECK_EQ_I64(length, 3);
}

static void an_empty_packed_file_is_one(void) {
  const char *path = temp_file("empty.gz", "old");
  CHECK_OK(blis_output_commit(open_output(path), &error), &error);
  blis_buffer got;
  blis_buffer_init(&got, &heap);
  CHECK_OK(blis_input_read_file(path, 99, &got, &error), &error);
  CHECK_EQ_I64(got.length, 0);
  blis_buffer_deinit(&got);
}

static void faults_name_the_file(void) {
  blis_output *output = NULL;
  CHECK_STATUS(blis_output_open(&heap, "/nowhere/at/all", &output, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "/nowhere/at/all: cannot be written: ");
  CHECK(output == NULL);
  /* A folder is no regular file either. */
  CHECK_STATUS(blis_output_open(&heap, "tests", &output, &error), BLIS_ERR_IO);
}

static void no_file_pretends_to_be_of_another_kind(void) {
  static const char *const paths[] = {"x.parquet", "/tmp/x.PARQUET", "x.arrow",
                                      "no/such/folder/x.feather", "x.orc"};
  blis_alloc alloc = blis_alloc_heap();
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    blis_output *output;
    CHECK(blis_output_open(&alloc, paths[i], &output, &error) == BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "unsupported file type");
    CHECK(blis_output_probe(&alloc, paths[i], &error) == BLIS_ERR_INVALID);
  }
}

static void a_probe_leaves_nothing(void) {
  const char *path = temp_file("target", "old");
  CHECK_OK(blis_output_probe(&heap, path, &error), &error);
  check_content(path, "old");
  CHECK(!exists(part_of(path, "")));
  CHECK_OK(blis_output_probe(&heap, "-", &error), &error);
  CHECK_OK(blis_output_probe(&heap, "/dev/full", &error), &error);
  CHECK_STATUS(blis_output_probe(&heap, "/nosuch/file", &error), BLIS_ERR_IO);
}

static void a_full_disk_is_an_error(void) {
  if (!exists("/dev/full")) {
    return;
  }
  blis_output *output = open_output("/dev/full");
  write_text(output, "text");
  CHECK_STATUS(blis_output_commit(output, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "/dev/full: cannot be written: ");
}

static void check_out_of_memory(const char *path) {
  for (long request = 1;; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_output *output = NULL;
    blis_status status = blis_output_open(&alloc, path, &output, &error);
    if (status == BLIS_OK) {
      blis_output_discard(output);
      CHECK_EQ_I64(memory.live_bytes, 0);
      CHECK(request > 2);
      break;
    }
    CHECK_STATUS(status, BLIS_ERR_NOMEM);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(!exists(part_of(path, "")));
}

static void out_of_memory_is_an_error(void) {
  check_out_of_memory(temp_file("target", "old"));
  check_out_of_memory(temp_file("target.gz", "old"));
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(a_commit_replaces_the_target);
  RUN(a_discarded_file_leaves_nothing);
  RUN(two_writers_do_not_meet);
  RUN(what_cannot_be_replaced_is_written_to);
  RUN(the_end_of_a_path_asks_for_packing);
  RUN(an_empty_packed_file_is_one);
  RUN(faults_name_the_file);
  RUN(no_file_pretends_to_be_of_another_kind);
  RUN(a_probe_leaves_nothing);
  RUN(a_full_disk_is_an_error);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
