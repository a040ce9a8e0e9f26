/* The table of intern.h against a list searched from its start. */
#include "base/containers/intern.h"

#include <stdbool.h>

#include "base/random.h"
#include "check.h"

enum { TEXTS = 400, ROUNDS = 20000 };

static int text_of(int number, char *text, size_t size) {
  return snprintf(text, size, "%s%d", number % 3 == 0 ? "client-" : "", number);
}

static void ids_follow_the_first_appearance(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_intern *table = blis_intern_new(&alloc);
  uint32_t ids[TEXTS] = {0}; /* 0 = not yet there */
  const char *texts[TEXTS] = {0};
  uint32_t count = 1;
  blis_random random;
  blis_random_init(&random, 9);
  for (int round = 0; round < ROUNDS; round++) {
    int i = blis_random_intn(&random, TEXTS);
    char text[32];
    size_t length = (size_t)text_of(i, text, sizeof text);
    uint32_t id = blis_intern_find(table, text, length);
    CHECK(id == (ids[i] != 0 ? ids[i] : BLIS_INTERN_NONE));
    CHECK(blis_intern_add(table, text, length, &id) == BLIS_OK);
    if (ids[i] == 0) {
      ids[i] = count++;
      texts[i] = blis_intern_text(table, id);
    }
    CHECK_EQ_I64(id, ids[i]);
    CHECK(blis_intern_text(table, id) == texts[i]);
    CHECK_STR(texts[i], text);
    CHECK_EQ_I64(blis_intern_length(table, id), length);
    CHECK_EQ_I64(blis_intern_count(table), count);
  }
  blis_intern_free(table);
  CHECK(memory.live_bytes == 0);
}

static void any_bytes_are_a_text(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_intern *table = blis_intern_new(&alloc);
  uint32_t id = 99;
  CHECK(blis_intern_add(table, NULL, 0, &id) == BLIS_OK && id == 0);
  CHECK(blis_intern_find(table, "x", 0) == 0);
  CHECK_STR(blis_intern_text(table, 0), "");
  CHECK(blis_intern_add(table, "a\0b", 3, &id) == BLIS_OK && id == 1);
  CHECK(blis_intern_add(table, "a", 1, &id) == BLIS_OK && id == 2);
  CHECK(blis_intern_add(table, "\0", 1, &id) == BLIS_OK && id == 3);
  CHECK(blis_intern_find(table, "a\0b", 3) == 1);
  blis_intern_free(table);
  blis_intern_free(NULL);
}

static bool fill_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_intern *table = blis_intern_new(&alloc);
  bool done = table != NULL;
  for (int i = 0; done && i < TEXTS; i++) {
    char text[32];
    size_t length = (size_t)text_of(i, text, sizeof text);
    uint32_t id;
    uint32_t count = blis_intern_count(table);
    done = blis_intern_add(table, text, length, &id) == BLIS_OK;
    CHECK(blis_intern_count(table) == count + done);
    CHECK(done || blis_intern_find(table, text, length) == BLIS_INTERN_NONE);
  }
  blis_intern_free(table);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void no_memory_leaves_the_table_unchanged(void) {
  long request = 1;
  while (!fill_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 8);
}

int main(void) {
  RUN(ids_follow_the_first_appearance);
  RUN(any_bytes_are_a_text);
  RUN(no_memory_leaves_the_table_unchanged);
  return check_done();
}
