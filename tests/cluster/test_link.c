/* Links: closed forms of shared bandwidth, and what holds for any transfers. */
#include "cluster/link.h"

#include <math.h>

#include "base/random.h"
#include "check.h"

static blis_alloc heap;

enum { MANY = 40 };

typedef struct net {
  blis__links links;
  uint32_t ids[8];
  blis__transfer transfers[MANY];
} net;

static void begin(net *n, int count, double bytes_per_us) {
  *n = (net){0};
  blis__links_init(&n->links, &heap);
  for (int i = 0; i < count; i++) {
    CHECK(blis__links_add(&n->links, bytes_per_us, &n->ids[i]) == BLIS_OK);
  }
}

static void begin_transfer(net *n, int k, double from_us, double bytes,
                           uint32_t a, uint32_t b) {
  blis__transfer *t = &n->transfers[k];
  t->from_us = from_us;
  t->links[0] = a;
  t->links[1] = b;
  t->link_count = a == b ? 1 : 2;
  CHECK(blis__links_start(&n->links, t, bytes) == BLIS_OK);
}

static void finish(net *n) {
  blis__links_advance(&n->links, 1e9);
  CHECK(isinf(blis__links_next_us(&n->links)));
  CHECK(n->links.active.count == 0);
}

static void close_net(net *n) {
  blis__links_deinit(&n->links);
}

static void check_end(const net *n, int k, double us) {
  double got = n->transfers[k].end_us;
  if (fabs(got - us) > 1e-6) {
    check_fail(__FILE__, __LINE__, "transfer %d ends at %.9g, expected %.9g", k,
               got, us);
  }
}

/* k equal transfers at once take k times as long as one. */
static void equal_transfers(void) {
  for (int k = 1; k <= 20; k++) {
    net n;
    begin(&n, 1, 10000);
    for (int i = 0; i < k; i++) {
      begin_transfer(&n, i, 0, 1e6, 0, 0);
    }
    finish(&n);
    for (int i = 0; i < k; i++) {
      check_end(&n, i, k * 100.0);
      CHECK(blis__links_take_ended(&n.links) == &n.transfers[i]);
    }
    CHECK(blis__links_take_ended(&n.links) == NULL);
    const blis__link *link = &n.links.all.items[0];
    CHECK(link->peak == (uint32_t)k && link->transfers == k);
    CHECK(fabs(link->busy_us - k * 100.0) < 1e-6);
    CHECK(fabs(link->transfer_us - k * k * 100.0) < 1e-6);
    CHECK(fabs(link->bytes - k * 1e6) < 1e-3);
    close_net(&n);
  }
}

/* The second one comes and goes while the first one is under way. */
static void nested_arrivals(void) {
  net n;
  begin(&n, 1, 10000);
  begin_transfer(&n, 0, 0, 100e6, 0, 0);
  blis__links_advance(&n.links, 2000);
  begin_transfer(&n, 1, 2000, 50e6, 0, 0);
  finish(&n);
  check_end(&n, 0, 15000);
  check_end(&n, 1, 12000);
  CHECK(blis__links_take_ended(&n.links) == &n.transfers[1]);
  CHECK(blis__links_take_ended(&n.links) == &n.transfers[0]);
  close_net(&n);
}

/* Source and destination: links 0, 1 are P1, P2; 2, 3 are D1, D2. */
static void max_min_rates(void) {
  net n;
  begin(&n, 4, 10);
  begin_transfer(&n, 0, 0, 1e6, 0, 2);
  begin_transfer(&n, 1, 0, 1e6, 0, 2);
  begin_transfer(&n, 2, 0, 1e6, 0, 3);
  begin_transfer(&n, 3, 0, 1e6, 1, 3);
  for (int i = 0; i < 3; i++) {
    CHECK(fabs(n.transfers[i].rate - 10.0 / 3) < 1e-9);
  }
  CHECK(fabs(n.transfers[3].rate - 20.0 / 3) < 1e-9);
  close_net(&n);

  begin(&n, 4, 10000);
  begin_transfer(&n, 0, 0, 100e6, 0, 2);
  begin_transfer(&n, 1, 0, 100e6, 0, 3);
  begin_transfer(&n, 2, 0, 50e6, 1, 2);
  finish(&n);
  check_end(&n, 0, 20000);
  check_end(&n, 1, 20000);
  check_end(&n, 2, 10000);
  close_net(&n);
}

/* A base latency uses no bandwidth: transfers that begin later. */
static void later_starts(void) {
  net n;
  begin(&n, 3, 25000);
  begin_transfer(&n, 0, 50, 100e6, 0, 2);
  blis__links_advance(&n.links, 3000);
  begin_transfer(&n, 1, 3050, 60e6, 1, 2);
  finish(&n);
  check_end(&n, 0, 5050);
  check_end(&n, 1, 6450);
  close_net(&n);

  static const double starts[2][3] = {{0, 0, 0}, {0, 200, 400}};
  static const double ends[2][3] = {{3195.728, 3195.728, 3195.728},
                                    {2695.728, 3095.728, 3195.728}};
  for (int c = 0; c < 2; c++) {
    begin(&n, 1, 25000);
    for (int i = 0; i < 3; i++) {
      blis__links_advance(&n.links, starts[c][i]);
      begin_transfer(&n, i, starts[c][i] + 50, 26214400, 0, 0);
    }
    finish(&n);
    for (int i = 0; i < 3; i++) {
      check_end(&n, i, ends[c][i]);
    }
    close_net(&n);
  }
}

static void given_up(void) {
  net n;
  begin(&n, 1, 1000);
  begin_transfer(&n, 0, 0, 1e6, 0, 0);
  begin_transfer(&n, 1, 0, 1e6, 0, 0);
  begin_transfer(&n, 2, 500, 1e6, 0, 0);
  blis__links_advance(&n.links, 400);
  blis__links_stop(&n.links, &n.transfers[1]);
  blis__links_stop(&n.links, &n.transfers[2]);
  finish(&n);
  check_end(&n, 0, 1200);
  CHECK(blis__links_take_ended(&n.links) == &n.transfers[0]);
  CHECK(blis__links_take_ended(&n.links) == NULL);
  close_net(&n);
}

static void endless_bandwidth(void) {
  net n;
  begin(&n, 1, INFINITY);
  begin_transfer(&n, 0, 70, 1e12, 0, 0);
  begin_transfer(&n, 1, 80, 0, 0, 0);
  finish(&n);
  check_end(&n, 0, 70);
  check_end(&n, 1, 80);
  close_net(&n);
}

/*
 * Whatever comes: no link is used beyond what it has, a link that never idles
 * ends when all its bytes have gone through, and bytes are neither lost nor
 * made.
 */
static void any_transfers(void) {
  for (int64_t seed = 1; seed <= 500; seed++) {
    blis_random random;
    blis_random_init(&random, seed);
    net n;
    int links = 1 + blis_random_intn(&random, 6);
    begin(&n, links, 100 + blis_random_intn(&random, 1000));
    double capacity = n.links.all.items[0].bytes_per_us;
    double sent = 0;
    int count = 1 + blis_random_intn(&random, MANY);
    for (int i = 0; i < count; i++) {
      double now_us = n.links.now_us + blis_random_intn(&random, 300);
      blis__links_advance(&n.links, now_us);
      uint32_t a = (uint32_t)blis_random_intn(&random, links);
      uint32_t b = (uint32_t)blis_random_intn(&random, links);
      double bytes = blis_random_intn(&random, 1000000);
      sent += bytes * (a == b ? 1 : 2);
      begin_transfer(&n, i, now_us + blis_random_intn(&random, 100), bytes, a,
                     b);
      double used[8] = {0};
      for (size_t k = 0; k < n.links.active.count; k++) {
        const blis__transfer *t = n.links.active.items[k];
        for (uint32_t j = 0; j < t->link_count; j++) {
          used[t->links[j]] += t->rate;
        }
      }
      for (int k = 0; k < links; k++) {
        CHECK(used[k] <= capacity * (1 + 1e-9));
      }
    }
    finish(&n);
    double moved = 0;
    for (int k = 0; k < links; k++) {
      const blis__link *link = &n.links.all.items[k];
      moved += link->bytes;
      CHECK(link->busy_us * capacity >= link->bytes * (1 - 1e-9));
      CHECK(links > 1 ||
            fabs(link->busy_us * capacity - link->bytes) <= sent * 1e-9);
    }
    CHECK(fabs(moved - sent) <= sent * 1e-9);
    close_net(&n);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(equal_transfers);
  RUN(nested_arrivals);
  RUN(max_min_rates);
  RUN(later_starts);
  RUN(given_up);
  RUN(endless_bandwidth);
  RUN(any_transfers);
  return check_done();
}
