/*
 * test_journal.c - lines are there at once, files are new ones, and lack of
 * memory or of a folder is an error.
 */
#include "lua/workers/journal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/blis_journal_XXXXXX";

static void check_text(const char *name, const char *expected) {
  char path[256];
  char text[256] = "";
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  CHECK_STR(text, expected);
}

static blis_journal *create(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_journal *journal = NULL;
  blis_error error = {0};
  CHECK_OK(blis_journal_create(&alloc, folder, "host-1", &journal, &error), &error);
  return journal;
}

static void append(blis_journal *journal, const char *line) {
  blis_slice slice = {.data = line, .length = strlen(line)};
  blis_error error = {0};
  CHECK_OK(blis_journal_append(journal, slice, &error), &error);
}

static void test_lines_are_there_before_the_end(void) {
  blis_journal *first = create();
  blis_journal *second = create();
  append(first, "one");
  append(second, "three");
  append(first, "two");
  check_text("host-1.jsonl", "one\ntwo\n");
  check_text("host-1-2.jsonl", "three\n");
  blis_journal_close(first);
  blis_journal_close(second);
}

static void test_a_missing_folder_is_an_error(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_journal *journal = NULL;
  blis_error error = {0};
  CHECK_STATUS(blis_journal_create(&alloc, "/no/such", "a", &journal, &error), BLIS_ERR_IO);
  CHECK_STR(error.message, "/no/such/a.jsonl: cannot be created: No such file or directory");
  CHECK_STATUS(blis_folder_make("/no/such/folder", &error), BLIS_ERR_IO);
  CHECK_OK(blis_folder_make(folder, &error), &error);
}

static bool claim(const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  blis_error error = {0};
  bool claimed = false;
  CHECK_OK(blis_file_claim(path, (blis_slice){.data = "me", .length = 2}, &claimed, &error),
           &error);
  return claimed;
}

static void test_a_file_is_claimed_once(void) {
  CHECK(claim("a.1"));
  CHECK(!claim("a.1"));
  CHECK(claim("a.2"));
  check_text("a.1", "me\n");
  blis_error error = {0};
  bool claimed = true;
  CHECK_STATUS(blis_file_claim("/no/such/claim", (blis_slice){0}, &claimed, &error), BLIS_ERR_IO);
  CHECK(!claimed);
  CHECK_STR(error.message, "/no/such/claim: cannot be written: No such file or directory");
}

static void test_lack_of_memory_is_an_error(void) {
  for (long n = 1; n < 5; n++) {
    blis_alloc_probe probe = {.fail_at = n};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_journal *journal = NULL;
    blis_status status = blis_journal_create(&alloc, folder, "memory", &journal, NULL);
    if (status == BLIS_OK) {
      status = blis_journal_append(journal, (blis_slice){.data = "x", .length = 1}, NULL);
    }
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    blis_journal_close(journal);
    CHECK_EQ_I64(probe.live_bytes, 0);
  }
}

static void remove_folder(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  RUN(test_lines_are_there_before_the_end);
  RUN(test_a_missing_folder_is_an_error);
  RUN(test_a_file_is_claimed_once);
  RUN(test_lack_of_memory_is_an_error);
  remove_folder();
  return check_done();
}
