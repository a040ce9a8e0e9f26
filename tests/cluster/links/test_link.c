/* Links: closed forms of shared bandwidth, and what holds for any transfers. */
#include "cluster/links/link.h"

#include <math.h>

#include "base/random.h"
#include "check.h"

static blis_alloc heap;

enum { MANY = 40 };

typedef struct net {
  blis__links links;
  uint32_t ids[8];
  blis__transfer transfers[MANY];
  double parts[2]; /* of the next one, on its links */
} net;

static void begin(net *n, int count, double bytes_per_us) {
  *n = (net){.parts = {1, 1}};
  blis__links_init(&n->links, &heap);
  for (int i = 0; i < count; i++) {
    CHECK(blis__links_add(&n->links, bytes_per_us, &n->ids[i]) == BLIS_OK);
  }
}

static void draw_parts(net *n, blis_random *random) {
  bool is_equal = blis_random_intn(random, 3) == 0;
  double part = is_equal ? 1 : 1.0 / (1 + blis_random_intn(random, 7));
  bool is_first = blis_random_intn(random, 2) == 0;
  n->parts[0] = is_first ? part : 1;
  n->parts[1] = is_first ? 1 : part;
}

/* Of its bytes, what it brings to its links. */
static double parts_of(const blis__transfer *t) {
  return t->parts[0] + (t->link_count > 1 ? t->parts[1] : 0);
}

static void begin_transfer(net *n, int k, double from_us, double bytes, uint32_t a, uint32_t b) {
  blis__transfer *t = &n->transfers[k];
  t->from_us = from_us;
  t->links[0] = a;
  t->links[1] = b;
  t->parts[0] = n->parts[0];
  t->parts[1] = n->parts[1];
  t->link_count = a == b ? 1 : 2;
  CHECK(blis__links_start(&n->links, t, bytes) == BLIS_OK);
}

static void finish(net *n) {
  blis__links_advance(&n->links, 1e9);
  CHECK(n->links.active.count == 0);
  for (size_t k = 0; k < n->links.all.count; k++) {
    CHECK(n->links.all.items[k].users == 0);
  }
}

static void close_net(net *n) {
  blis__links_deinit(&n->links);
}

static void check_end(const net *n, int k, double us) {
  double got = n->transfers[k].end_us;
  if (fabs(got - us) > 1e-6) {
    check_fail(__FILE__, __LINE__, "transfer %d ends at %.9g, expected %.9g", k, got, us);
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
  static const double ends[2][3] = {{3195.728, 3195.728, 3195.728}, {2695.728, 3095.728, 3195.728}};
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

/* From one of the first seven links, and to the last one. */
static void begin_parts(net *n, int k, double bytes, double out, double in) {
  n->parts[0] = out;
  n->parts[1] = in;
  begin_transfer(n, k, n->links.now_us, bytes, n->ids[k], n->ids[7]);
}

/* k sources with one GPU each, and one destination with as many as `gpus`. */
static void many_to_one_with_more_gpus(void) {
  static const struct {
    int sources, gpus;
    double end_us;
  } cases[] = {{1, 1, 100}, {2, 1, 200}, {2, 2, 100}, {4, 4, 100},
               {1, 4, 100}, {4, 2, 200}, {6, 4, 150}, {5, 3, 500.0 / 3}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    net n;
    begin(&n, 8, 1000);
    for (int k = 0; k < cases[c].sources; k++) {
      begin_parts(&n, k, 1e5, 1, 1.0 / cases[c].gpus);
    }
    finish(&n);
    for (int k = 0; k < cases[c].sources; k++) {
      check_end(&n, k, cases[c].end_us);
      CHECK(fabs(n.links.all.items[k].bytes - 1e5) < 1e-6);
    }
    const blis__link *in = &n.links.all.items[7];
    CHECK(fabs(in->bytes - 1e5 * cases[c].sources / cases[c].gpus) < 1e-6);
    CHECK(fabs(in->busy_us - cases[c].end_us) < 1e-6);
    CHECK(fabs(blis__links_moved(&n.links, 1e9) - 1e5 * cases[c].sources) < 1e-6);
    close_net(&n);
  }
}

/*
 * Rates of whole transfers are equal on the link that limits them: there, one
 * of which a quarter goes over it uses a quarter of what another one does.
 */
static void parts_beside_the_whole(void) {
  net n;
  begin(&n, 8, 1000);
  begin_parts(&n, 0, 1e5, 1, 0.25);
  begin_parts(&n, 1, 1e5, 0.5, 1);
  CHECK(fabs(n.transfers[0].rate - 800) < 1e-9);
  CHECK(fabs(n.transfers[1].rate - 800) < 1e-9);
  begin_parts(&n, 2, 1e5, 1, 0.75);
  CHECK(fabs(n.transfers[2].rate - 500) < 1e-9);
  finish(&n);
  close_net(&n);

  /* The first source has little: what it leaves is for the other ones. */
  begin(&n, 8, 1000);
  n.links.all.items[0].bytes_per_us = 200;
  begin_parts(&n, 0, 1e5, 1, 0.5);
  begin_parts(&n, 1, 1e5, 1, 1);
  CHECK(n.transfers[0].rate == 200);
  CHECK(fabs(n.transfers[1].rate - 900) < 1e-9);
  finish(&n);
  close_net(&n);
}

/* So small a part that it is lost in a sum limits nothing. */
static void parts_of_next_to_nothing(void) {
  net n;
  begin(&n, 8, 1000);
  begin_parts(&n, 0, 1e5, 1, 1);
  begin_parts(&n, 1, 1e5, 1, 1e-30);
  finish(&n);
  check_end(&n, 0, 100);
  check_end(&n, 1, 100);
  close_net(&n);
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

/* One that is fed as it goes, over one link. */
static void open_transfer(net *n, int k, double from_us, uint32_t link) {
  blis__transfer *t = &n->transfers[k];
  t->from_us = from_us;
  t->links[0] = link;
  t->parts[0] = 1;
  t->link_count = 1;
  CHECK(blis__links_open(&n->links, t) == BLIS_OK);
}

/*
 * Layers in groups: e(k) = max(e(k - 1), ready(k)) + what group k takes, the
 * last group being what is left.
 */
static void layer_by_layer(void) {
  static const struct {
    double layers, group, compute_us, alone_us;
    int count;
    double ends_us[8];
  } cases[] = {
      {80, 10, 800, 400, 8, {150, 250, 350, 450, 550, 650, 750, 850}},
      {80, 10, 800, 1600, 8, {300, 500, 700, 900, 1100, 1300, 1500, 1700}},
      {80, 16, 800, 400, 5, {240, 400, 560, 720, 880}},
      {32, 5, 320, 160, 7, {75, 125, 175, 225, 275, 325, 335}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    net n;
    begin(&n, 1, 10000);
    double bytes = cases[c].alone_us * 10000;
    double share = cases[c].group / cases[c].layers;
    open_transfer(&n, 0, 0, 0);
    blis__links_feed(
        &n.links, &n.transfers[0],
        &(blis__feed){
            .bytes = bytes, .to_us = cases[c].compute_us, .portion = share, .is_last = true});
    for (int k = 0; k < cases[c].count; k++) {
      blis__links_advance(&n.links, cases[c].ends_us[k]);
      double moved = fmin((k + 1) * share, 1) * bytes;
      CHECK(fabs(n.links.all.items[0].bytes - moved) < 1e-3);
    }
    finish(&n);
    check_end(&n, 0, cases[c].ends_us[cases[c].count - 1]);
    const blis__link *link = &n.links.all.items[0];
    CHECK(fabs(link->busy_us - cases[c].alone_us) < 1e-6);
    CHECK(!n.transfers[0].was_shared && link->transfers == 1);
    close_net(&n);
  }
}

/* Of chunks only the last one is seen, unless they wait for each other. */
static void chunk_by_chunk(void) {
  static const struct { double bytes, end_us; } cases[] = {{1e6, 1800 + 100}, {8e6, 600 + 3 * 800}};
  for (int c = 0; c < 2; c++) {
    net n;
    begin(&n, 1, 10000);
    open_transfer(&n, 0, 0, 0);
    for (int k = 0; k < 3; k++) {
      blis__links_advance(&n.links, k * 600.0);
      CHECK(blis__links_take_ended(&n.links) == NULL);
      blis__links_feed(&n.links, &n.transfers[0],
                       &(blis__feed){.bytes = cases[c].bytes,
                                     .from_us = k * 600.0,
                                     .to_us = (k + 1) * 600.0,
                                     .portion = 1,
                                     .is_last = k == 2});
    }
    finish(&n);
    check_end(&n, 0, cases[c].end_us);
    close_net(&n);
  }
}

/* What a transfer does not use while it waits for bytes is another's. */
static void lacks_bytes_beside_another(void) {
  net n;
  begin(&n, 1, 1000);
  open_transfer(&n, 0, 0, 0);
  blis__links_feed(&n.links, &n.transfers[0],
                   &(blis__feed){.bytes = 2e5, .to_us = 1000, .portion = 0.5, .is_last = true});
  begin_transfer(&n, 1, 0, 1e6, 0, 0);
  finish(&n);
  /* Alone until 500, shared until 700, alone until 1,000, shared from there. */
  check_end(&n, 0, 1200);
  check_end(&n, 1, 1200);
  CHECK(n.transfers[0].was_shared && n.transfers[1].was_shared);
  close_net(&n);
}

/* Bytes that were ready before they are announced start to move at once. */
static void fed_late(void) {
  net n;
  begin(&n, 1, 1000);
  open_transfer(&n, 0, 0, 0);
  begin_transfer(&n, 1, 0, 6e5, 0, 0);
  blis__links_advance(&n.links, 500);
  blis__links_feed(&n.links, &n.transfers[0],
                   &(blis__feed){.bytes = 3e5, .to_us = 400, .portion = 0.5, .is_last = true});
  finish(&n);
  /* Transfer 1 is alone until 500, both share the link until 700, then transfer 0 is alone. */
  check_end(&n, 1, 700);
  check_end(&n, 0, 900);
  close_net(&n);
}

static void fed_with_nothing(void) {
  net n;
  begin(&n, 1, INFINITY);
  open_transfer(&n, 0, 30, 0);
  open_transfer(&n, 1, 0, 0);
  blis__links_feed(&n.links, &n.transfers[0],
                   &(blis__feed){.to_us = 20, .portion = 1, .is_last = true});
  blis__links_feed(&n.links, &n.transfers[1],
                   &(blis__feed){.bytes = 5, .to_us = 20, .portion = 1, .is_last = true});
  finish(&n);
  check_end(&n, 0, 30);
  check_end(&n, 1, 20);
  CHECK(n.links.all.items[0].bytes == 5);
  close_net(&n);
}

/* Until it is taken, what has ended is the next thing to do. */
static void ended_and_not_taken(void) {
  net n;
  begin(&n, 1, 1000);
  begin_transfer(&n, 0, 0, 1e5, 0, 0);
  blis__links_advance(&n.links, 101);
  begin_transfer(&n, 1, 101, 1e6, 0, 0);
  CHECK(blis__links_next_us(&n.links) == 101);
  CHECK(blis__links_take_ended(&n.links) == &n.transfers[0]);
  CHECK(blis__links_take_ended(&n.links) == NULL);
  CHECK(blis__links_next_us(&n.links) == 1101);
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
    double sent = 0, total = 0;
    int count = 1 + blis_random_intn(&random, MANY);
    for (int i = 0; i < count; i++) {
      double now_us = n.links.now_us + blis_random_intn(&random, 300);
      blis__links_advance(&n.links, now_us);
      uint32_t a = (uint32_t)blis_random_intn(&random, links);
      uint32_t b = (uint32_t)blis_random_intn(&random, links);
      double bytes = blis_random_intn(&random, 1000000);
      double from_us = now_us + blis_random_intn(&random, 100);
      if (blis_random_intn(&random, 2) == 0) {
        open_transfer(&n, i, from_us, a);
        blis__links_feed(&n.links, &n.transfers[i],
                         &(blis__feed){.bytes = bytes,
                                       .from_us = now_us,
                                       .to_us = now_us + blis_random_intn(&random, 2000),
                                       .portion = 1.0 / (1 + blis_random_intn(&random, 60)),
                                       .is_last = true});
      } else {
        draw_parts(&n, &random);
        begin_transfer(&n, i, from_us, bytes, a, b);
      }
      total += bytes;
      sent += bytes * parts_of(&n.transfers[i]);
      double used[8] = {0};
      for (size_t k = 0; k < n.links.active.count; k++) {
        const blis__transfer *t = n.links.active.items[k];
        for (uint32_t j = 0; j < t->link_count; j++) {
          used[t->links[j]] += t->rate * t->parts[j];
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
      CHECK(links > 1 || fabs(link->busy_us * capacity - link->bytes) <= sent * 1e-9);
    }
    CHECK(fabs(moved - sent) <= sent * 1e-9);
    CHECK(fabs(blis__links_moved(&n.links, 1e9) - total) <= total * 1e-9);
    close_net(&n);
  }
}

static bool is_close(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-6;
}

/* Links say the same of themselves at any time. */
static void check_looks(const net *a, const net *b, int links, double now_us) {
  for (int k = 0; k < links; k++) {
    blis__link one = blis__links_look(&a->links, a->ids[k], now_us);
    blis__link other = blis__links_look(&b->links, b->ids[k], now_us);
    CHECK(one.active == other.active && one.peak == other.peak);
    CHECK(one.transfers == other.transfers);
    CHECK(is_close(one.bytes, other.bytes));
    CHECK(is_close(one.busy_us, other.busy_us));
    CHECK(is_close(one.transfer_us, other.transfer_us));
    CHECK(is_close(one.parts, other.parts));
  }
  CHECK(is_close(blis__links_moved(&a->links, now_us), blis__links_moved(&b->links, now_us)));
}

/*
 * Transfers that are alone are worked out in another way; where somebody who
 * sends nothing is on every link, nobody is alone, and all is as it was.
 */
static void alone_or_not(void) {
  for (int64_t seed = 1; seed <= 500; seed++) {
    blis_random random;
    blis_random_init(&random, seed);
    net nets[2];
    blis__transfer idle[8] = {0};
    int links = 1 + blis_random_intn(&random, 8);
    for (int i = 0; i < 2; i++) {
      begin(&nets[i], links, 128);
    }
    for (int k = 0; k < links; k++) {
      idle[k].parts[0] = 1;
      idle[k].links[idle[k].link_count++] = nets[1].ids[k];
      CHECK(blis__links_open(&nets[1].links, &idle[k]) == BLIS_OK);
    }
    int count = 1 + blis_random_intn(&random, MANY);
    int gap_us = 1 + blis_random_intn(&random, 8000);
    for (int i = 0; i < count; i++) {
      double now_us = nets[0].links.now_us + blis_random_intn(&random, gap_us);
      double from_us = now_us + blis_random_intn(&random, 500);
      double bytes = blis_random_intn(&random, 500000);
      uint32_t a = (uint32_t)blis_random_intn(&random, links);
      uint32_t b = (uint32_t)blis_random_intn(&random, links);
      int stopped = blis_random_intn(&random, 4) == 0 ? blis_random_intn(&random, i + 1) : i;
      draw_parts(&nets[0], &random);
      nets[1].parts[0] = nets[0].parts[0];
      nets[1].parts[1] = nets[0].parts[1];
      for (int j = 0; j < 2; j++) {
        blis__links_advance(&nets[j].links, now_us);
        begin_transfer(&nets[j], i, from_us, bytes, a, b);
        blis__links_stop(&nets[j].links, &nets[j].transfers[stopped]);
      }
      double until_us = fmin(nets[1].links.next_us, now_us + 1000);
      check_looks(&nets[0], &nets[1], links, now_us);
      check_looks(&nets[0], &nets[1], links, (now_us + until_us) / 2);
    }
    for (int j = 0; j < 2; j++) {
      blis__links_advance(&nets[j].links, 1e9);
    }
    CHECK(nets[0].links.active.count == 0);
    check_looks(&nets[0], &nets[1], links, 1e9);
    for (;;) {
      const blis__transfer *one = blis__links_take_ended(&nets[0].links);
      const blis__transfer *other = blis__links_take_ended(&nets[1].links);
      if (one == NULL || other == NULL) {
        CHECK(one == NULL && other == NULL);
        break;
      }
      CHECK(one - nets[0].transfers == other - nets[1].transfers);
      CHECK(is_close(one->end_us, other->end_us));
      CHECK(one->was_shared == other->was_shared);
    }
    close_net(&nets[0]);
    close_net(&nets[1]);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(equal_transfers);
  RUN(nested_arrivals);
  RUN(max_min_rates);
  RUN(later_starts);
  RUN(many_to_one_with_more_gpus);
  RUN(parts_beside_the_whole);
  RUN(parts_of_next_to_nothing);
  RUN(given_up);
  RUN(endless_bandwidth);
  RUN(layer_by_layer);
  RUN(chunk_by_chunk);
  RUN(lacks_bytes_beside_another);
  RUN(fed_late);
  RUN(fed_with_nothing);
  RUN(ended_and_not_taken);
  RUN(any_transfers);
  RUN(alone_or_not);
  return check_done();
}
