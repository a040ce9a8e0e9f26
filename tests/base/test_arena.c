/* Pieces of an arena keep what was written into them. */
#include "base/arena.h"

#include <stdalign.h>

#include "base/random.h"
#include "check.h"

enum { PIECES = 3000 };

static void pieces_do_not_overlap_or_move(void) {
  static unsigned char *pieces[PIECES];
  static size_t sizes[PIECES];
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  blis_random random;
  blis_random_init(&random, 5);
  for (int i = 0; i < PIECES; i++) {
    int is_large = blis_random_intn(&random, 100) == 0;
    sizes[i] = (size_t)blis_random_intn(&random, is_large ? 100000 : 60);
    char text[60] = {0};
    if (i % 2 == 0 && !is_large) {
      pieces[i] = (void *)blis_arena_text(&arena, text, sizes[i]);
      CHECK(pieces[i] != NULL && pieces[i][sizes[i]] == 0);
    } else {
      pieces[i] = blis_arena_new(&arena, sizes[i]);
      CHECK(pieces[i] != NULL);
      CHECK((uintptr_t)pieces[i] % alignof(max_align_t) == 0);
    }
    memset(pieces[i], i & 255, sizes[i]);
  }
  for (int i = 0; i < PIECES; i++) {
    for (size_t k = 0; k < sizes[i]; k++) {
      CHECK(pieces[i][k] == (i & 255));
    }
  }
  blis_arena_deinit(&arena);
  CHECK(memory.live_bytes == 0);
  CHECK_STR(blis_arena_text(&arena, "again", 5), "again");
  blis_arena_deinit(&arena);
}

static void no_memory_is_reported(void) {
  for (long request = 1; request < 10; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_arena arena;
    blis_arena_init(&arena, &alloc);
    while (blis_arena_new(&arena, 700) != NULL) {
      CHECK(memory.requests < request);
    }
    CHECK(memory.requests == request);
    CHECK(blis_arena_new(&arena, 700) != NULL);
    blis_arena_deinit(&arena);
    CHECK(memory.live_bytes == 0);
  }
  blis_alloc alloc = blis_alloc_heap();
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  CHECK(blis_arena_new(&arena, SIZE_MAX) == NULL);
  blis_arena_deinit(&arena);
}

int main(void) {
  RUN(pieces_do_not_overlap_or_move);
  RUN(no_memory_is_reported);
  return check_done();
}
