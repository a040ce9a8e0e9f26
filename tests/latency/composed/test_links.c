/* All-reduces by link: measured rows, and the closed form by kind and bandwidth. */
#include <math.h>

#include "check.h"
#include "latency/composed/links.h"
#include "latency_fixture.h"

static blis__kernel_tables shipped;
static const blis__kernel_tables none;

static double reduce_us(blis__links links, int64_t gpus, double bytes) {
  links.own = links.own == NULL ? &none : links.own;
  links.shipped = &shipped;
  links.factor = links.factor > 0 ? links.factor : 1;
  const blis__allreduce reduce = blis__links_allreduce(&links, gpus);
  return blis__allreduce_us(&reduce, bytes);
}

static void check_near(double got, double expected) {
  if (!(fabs(got - expected) <= 1e-9 * expected)) {
    check_fail(__FILE__, __LINE__, "got %.6g, expected %.6g", got, expected);
  }
}

static void test_measured_rows(void) {
  const blis__links h100 = {.gpu = "H100", .link = "NVLink 4", .link_gb_s = 900, .rows_of = "H100"};
  check_near(reduce_us(h100, 2, 131072), 4.75);
  check_near(reduce_us(h100, 3, 256), 4.58); /* as 4 */
  check_near(reduce_us(h100, 8, 134217728), 575);
  check_near(reduce_us(h100, 16, 134217728), 575);
  blis__links a100 = h100;
  a100.factor = 1.5;
  check_near(reduce_us(a100, 2, 131072), 1.5 * 4.75);
}

static void test_own_rows_go_first(void) {
  static const char OWN[] = "gpu,gpus,b256,b512\nH100,2,7,8\n";
  const blis__kernel_tables own = {.texts = {[BLIS__TABLE_ALLREDUCES] = {OWN, sizeof OWN - 1}}};
  const blis__links links = {
      .gpu = "H100", .link = "NVLink 4", .rows_of = "H100", .own = &own, .factor = 1.5};
  check_near(reduce_us(links, 2, 256), 7);          /* without the factor */
  check_near(reduce_us(links, 4, 256), 4.58 * 1.5); /* no own row */
}

static void test_closed_form_by_link(void) {
  static const struct {
    const char *link;
    double gb_s;
    int64_t gpus;
    double us; /* of 1e6 bytes */
  } cases[] = {
      {"NVLink 4", 900, 2, 4.3 + 1e6 / 290e3},
      {"NVLink 3", 600, 4, 4.6 + 1.5e6 / 220e3},
      {"NVLink 5", 1800, 8, 4.7 + 0.5e6 / 234e3},
      {"Infinity Fabric", 900, 8, 4.7 + 1e6 / 234e3},
      {"PCIe 5 x16", 128, 2, 4.3 + 1e6 / 37e3},
      {"PCIe 4 x16", 64, 4, 13 + 2e6 / 19.3e3},
      {"", 0, 8, 25 + 1e6 / 13.5e3},
      {"NVLink 4 bridge", 600, 2, 4.3 + 1.5e6 / 290e3},
      {"NVLink 4 bridge", 600, 4, 13 + 1e6 / 19.3e3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const blis__links links = {
        .gpu = "X", .link = cases[i].link, .link_gb_s = cases[i].gb_s, .rows_of = NULL};
    check_near(reduce_us(links, cases[i].gpus, 1e6), cases[i].us);
  }
}

/* A fused all-reduce has the hull of the rows: no jump, and no time above a row. */
static void test_fused_reduces_have_no_jumps(void) {
  blis__links b200 = {.gpu = "B200", .link = "NVLink 5", .link_gb_s = 1800, .rows_of = "B200"};
  for (int64_t gpus = 2; gpus <= 8; gpus *= 2) {
    double before = 0;
    double growth = 0;
    for (double bytes = 256; bytes <= 134217728; bytes *= 2) {
      b200.is_fused = false;
      double row = reduce_us(b200, gpus, bytes);
      b200.is_fused = true;
      double us = reduce_us(b200, gpus, bytes);
      CHECK(us <= row * (1 + 1e-12) && us > 0.4 * row);
      CHECK(before == 0 || us / before >= growth * (1 - 1e-12));
      growth = before > 0 ? us / before : 0;
      before = us;
    }
    check_near(reduce_us(b200, gpus, 1e9), reduce_us(b200, gpus, 5e8) * 2);
  }
  check_near(reduce_us(b200, 8, 131072), 9.44);
  CHECK(reduce_us(b200, 8, 262144) < 13 && reduce_us(b200, 4, 524288) < 13);
}

/* The closed form stays near the rows that it was fitted to. */
static void test_fits_are_near_the_rows(void) {
  const blis__links fast = {.link = "NVLink 4", .link_gb_s = 900, .gpu = "X"};
  const blis__links fast_rows = {.rows_of = "H100", .link = "", .gpu = "X"};
  const blis__links slow = {.link = "PCIe 5 x16", .link_gb_s = 128, .gpu = "X"};
  const blis__links slow_rows = {.rows_of = "RTX PRO 6000", .link = "", .gpu = "X"};
  for (int64_t gpus = 2; gpus <= 8; gpus *= 2) {
    for (double bytes = 256; bytes <= 134217728; bytes *= 2) {
      double share = reduce_us(fast, gpus, bytes) / reduce_us(fast_rows, gpus, bytes);
      CHECK(share > 0.5 && share < 1.7);
      share = reduce_us(slow, gpus, bytes) / reduce_us(slow_rows, gpus, bytes);
      CHECK(share > 0.4 && share < 1.7);
    }
  }
}

int main(void) {
  size_t size;
  char *text = fixture_read("data/kernels/allreduce.csv", &size);
  shipped.texts[BLIS__TABLE_ALLREDUCES] = (blis_slice){text, size};
  RUN(test_measured_rows);
  RUN(test_own_rows_go_first);
  RUN(test_closed_form_by_link);
  RUN(test_fused_reduces_have_no_jumps);
  RUN(test_fits_are_near_the_rows);
  free(text);
  return check_done();
}
