/* The guard of LMetric against heaps of requests with one prefix. */
#include <math.h>

#include "check.h"
#include "policy/b3/hotspot_guard.h"

enum { CANDIDATES = 4, HOT = 7, COLD = 8 };

typedef struct fixture {
  blis_routing_view view;
  uint32_t instances[CANDIDATES];
  uint32_t blocks[CANDIDATES];
  double scores[CANDIDATES];
  blis__hotspot_guard guard;
} fixture;

static void init(fixture *f, size_t window) {
  blis_alloc heap = blis_alloc_heap();
  *f = (fixture){.view = {.count = CANDIDATES}};
  f->view.instances = f->instances;
  for (uint32_t i = 0; i < CANDIDATES; i++) {
    f->instances[i] = i;
  }
  blis__hotspot_guard_init(&f->guard, &heap, window);
}

/* Whether instance 0, which holds the prefix and scores best, is ruled out. */
static bool is_ruled_out(fixture *f, uint64_t class) {
  const double scores[CANDIDATES] = {-1, -5, -5, -5};
  memcpy(f->scores, scores, sizeof scores);
  CHECK(blis__hotspot_guard_apply(&f->guard, class, &f->view, f->blocks, f->scores) == BLIS_OK);
  for (size_t i = 1; i < CANDIDATES; i++) {
    CHECK_EQ_DOUBLE(f->scores[i],
                    f->blocks[i] > 0 && isinf(f->scores[0]) ? -(double)INFINITY : -5.0);
  }
  return isinf(f->scores[0]);
}

/* Two requests in a row, then the one instance is left out. */
static void test_after_twice_the_holders(void) {
  fixture f;
  init(&f, 100);
  f.blocks[0] = 1;
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(is_ruled_out(&f, HOT));
  /* With two holders, it takes four. */
  f.blocks[1] = 1;
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(is_ruled_out(&f, HOT));
  /* Everybody has it: nothing can be hot, and the row is broken. */
  f.blocks[2] = f.blocks[3] = 1;
  CHECK(!is_ruled_out(&f, HOT));
  f.blocks[1] = f.blocks[2] = f.blocks[3] = 0;
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(is_ruled_out(&f, HOT));
  blis__hotspot_guard_deinit(&f.guard);
}

/* x / x' > 1 / 3 has to hold: a quarter of the requests is not enough. */
static void test_shares(void) {
  fixture f;
  init(&f, 1000);
  for (int i = 0; i < 200; i++) {
    f.blocks[0] = 0;
    for (int k = 0; k < 3; k++) {
      CHECK(!is_ruled_out(&f, COLD));
    }
    f.blocks[0] = 1;
    CHECK(!is_ruled_out(&f, HOT));
  }
  /* Without the others it soon is more. */
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(is_ruled_out(&f, HOT));
  blis__hotspot_guard_deinit(&f.guard);
}

/* What has left the window does not count, and takes no memory. */
static void test_window(void) {
  fixture f;
  init(&f, 4);
  for (uint64_t class = 100; class < 200; class ++) {
    CHECK(!is_ruled_out(&f, class));
    CHECK(blis_map_count(&f.guard.classes) <= 4);
  }
  f.blocks[0] = 1;
  CHECK(!is_ruled_out(&f, HOT)); /* 1 of 4 */
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, HOT));
  CHECK(is_ruled_out(&f, HOT));
  CHECK(!is_ruled_out(&f, 0)); /* no full block: no class */
  for (int i = 0; i < 4; i++) {
    CHECK(!is_ruled_out(&f, 0));
  }
  CHECK_EQ_I64(blis_map_count(&f.guard.classes), 0);
  blis__hotspot_guard_deinit(&f.guard);
}

int main(void) {
  RUN(test_after_twice_the_holders);
  RUN(test_shares);
  RUN(test_window);
  return check_done();
}
