/* The ring of hashes, and consistent hashing with bounded load on top of it. */
#include "policy/memory/hash_ring.h"

#include "base/hash.h"
#include "routing_fixture.h"

static uint64_t key_of(uint64_t number) {
  return blis_hash64(&number, sizeof number, 0);
}

/* The owner of a key by a look at every point. */
static uint32_t naive_owner(const blis__hash_ring *ring, uint64_t key) {
  const blis__ring_point *points = ring->points.items;
  const blis__ring_point *next = NULL;
  const blis__ring_point *lowest = &points[0];
  for (size_t i = 0; i < ring->points.count; i++) {
    const blis__ring_point *p = &points[i];
    if (p->hash >= key && (next == NULL || p->hash < next->hash)) {
      next = p;
    }
    lowest = p->hash < lowest->hash ? p : lowest;
  }
  return next != NULL ? next->candidate : lowest->candidate;
}

static void keys_belong_to_the_next_point(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis__hash_ring ring;
  blis__hash_ring_init(&ring, &alloc, 7);
  fixture f;
  fixture_init(&f, 5);
  CHECK(blis__hash_ring_of(&ring, &f.view) == BLIS_OK);
  CHECK_EQ_I64(ring.points.count, 35);
  for (uint64_t k = 0; k < 2000; k++) {
    uint64_t key = key_of(k);
    size_t found = blis__hash_ring_find(&ring, key);
    CHECK_EQ_I64(ring.points.items[found].candidate, naive_owner(&ring, key));
  }
  CHECK_EQ_I64(blis__hash_ring_find(&ring, 0), 0);
  CHECK_EQ_I64(blis__hash_ring_find(&ring, UINT64_MAX), 0);
  CHECK_EQ_I64(blis__hash_ring_find(&ring, ring.points.items[9].hash), 9);
  blis__hash_ring_deinit(&ring);
}

static void only_keys_of_those_that_leave_move(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis__hash_ring five, four;
  blis__hash_ring_init(&five, &alloc, 150);
  blis__hash_ring_init(&four, &alloc, 150);
  fixture f;
  fixture_init(&f, 5);
  CHECK(blis__hash_ring_of(&five, &f.view) == BLIS_OK);
  blis_routing_view view = fixture_only(&f, 1);
  view.count = 4; /* without instance 0 */
  CHECK(blis__hash_ring_of(&four, &f.view) == BLIS_OK);
  CHECK(blis__hash_ring_of(&four, &view) == BLIS_OK);
  int counts[5] = {0};
  for (uint64_t k = 0; k < 5000; k++) {
    size_t a = blis__hash_ring_find(&five, key_of(k));
    size_t b = blis__hash_ring_find(&four, key_of(k));
    uint32_t before = five.points.items[a].candidate;
    uint32_t after = view.instances[four.points.items[b].candidate];
    CHECK(before == 0 || before == after);
    counts[before]++;
  }
  for (int i = 0; i < 5; i++) {
    CHECK(counts[i] > 700 && counts[i] < 1300);
  }
  blis__hash_ring_deinit(&five);
  blis__hash_ring_deinit(&four);
}

static size_t route_prefix(const blis_router *router, const fixture *f, uint64_t stream,
                           uint32_t session, const blis_intern *strings) {
  blis_block_chain chain = {0};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 16, &chain, &ticket);
  const blis_segment prefix = {.stream = stream, .length_tokens = 16};
  request.segments = &prefix;
  request.segment_count = 1;
  request.session = session;
  request.strings = strings;
  return fixture_route(router, &request, &f->view).chosen;
}

/* SMG's example: 12 in flight at 4 instances, bound 1.25 x 13 / 4 = 4.0625. */
static void the_load_is_bounded(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = fixture_router(&alloc, "consistent-hash", NULL, &context);
  fixture f;
  fixture_init(&f, 4);
  int moved = 0;
  for (uint64_t prefix = 1; prefix <= 40; prefix++) {
    for (size_t i = 0; i < 4; i++) {
      f.columns[BLIS_SIGNAL_IN_FLIGHT][i] = 0;
    }
    size_t home = route_prefix(&router, &f, prefix, 0, NULL);
    for (size_t i = 0; i < 4; i++) {
      f.columns[BLIS_SIGNAL_IN_FLIGHT][i] = i == home ? 4 : 8.0 / 3;
    }
    CHECK_EQ_I64(route_prefix(&router, &f, prefix, 0, NULL), home);
    for (size_t i = 0; i < 4; i++) {
      f.columns[BLIS_SIGNAL_IN_FLIGHT][i] = i == home ? 5 : 7.0 / 3;
    }
    size_t next = route_prefix(&router, &f, prefix, 0, NULL);
    CHECK(next != home);
    moved |= 1 << next;
  }
  CHECK_EQ_I64(moved, 15); /* not all to the same one */
  blis_router_free(&router);
}

static void without_a_factor_nobody_moves(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_param param = {.name = "load_factor", .number = 0};
  blis_params params = {&param, 1};
  blis_router router = fixture_router(&alloc, "consistent-hash", &params, &context);
  fixture f;
  fixture_init(&f, 4);
  size_t home = route_prefix(&router, &f, 9, 0, NULL);
  f.columns[BLIS_SIGNAL_IN_FLIGHT][home] = 1000;
  CHECK_EQ_I64(route_prefix(&router, &f, 9, 0, NULL), home);
  blis_router_free(&router);
}

static void sessions_may_be_the_key(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_param param = {.name = "key", .text = "session"};
  blis_params params = {&param, 1};
  blis_router router = fixture_router(&alloc, "consistent-hash", &params, &context);
  blis_intern *strings = blis_intern_new(&alloc);
  fixture f;
  fixture_init(&f, 4);
  int used = 0;
  for (int s = 0; s < 30; s++) {
    char name[16];
    int length = snprintf(name, sizeof name, "session-%d", s);
    uint32_t session;
    CHECK(blis_intern_add(strings, name, (size_t)length, &session) == BLIS_OK);
    size_t home = route_prefix(&router, &f, 1, session, strings);
    CHECK_EQ_I64(route_prefix(&router, &f, (blis_block_id)(s + 2), session, strings), home);
    used |= 1 << home;
  }
  CHECK_EQ_I64(used, 15);
  blis_intern_free(strings);
  blis_router_free(&router);
}

int main(void) {
  RUN(keys_belong_to_the_next_point);
  RUN(only_keys_of_those_that_leave_move);
  RUN(the_load_is_bounded);
  RUN(without_a_factor_nobody_moves);
  RUN(sessions_may_be_the_key);
  return check_done();
}
