/* Corrections by measured kernel times: worked values, the rules between sizes and shapes. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "latency/composed/overlay.h"
#include "latency_fixture.h"

#define H100_B 3.35e6
#define H200_B 4.8e6
#define HOPPER_P 989.5e6

static blis_alloc heap;
static blis__kernel_tables shipped;

static const blis__kernel HOPPER_16 = {4.59, 0.8815, 0.8068, 5.152};
static const blis__kernel HOPPER_FP8 = {5.82, 0.9012, 0.6310, 1.707};
static const blis__kernel EXPERTS_16 = {26.6, 0.926, 0.5035, 1.455};
static const blis__kernel_rates H100_16 = {H100_B, HOPPER_P, 2, 2};
static const blis__kernel_rates H200_8 = {H200_B, 2 * HOPPER_P, 1, 1};

static void check_near(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance * expected)) {
    check_fail(__FILE__, __LINE__, "got %.6g, expected %.6g", got, expected);
  }
}

static blis__overlay *hopper_overlay(const blis__kernel_tables *tables) {
  const blis__measured_place place = {tables, {"H100", H100_B, HOPPER_P}};
  blis__overlay *overlay = blis__overlay_new(&heap, &place, 1);
  CHECK(overlay != NULL);
  return overlay;
}

/* The time of a product by the tables, on a GPU with these rates. */
static double product(const blis__kernel_tables *tables, blis_weight_kind format,
                      const blis__kernel *kernel, const blis__kernel_rates *rates, double m,
                      double n, double k) {
  blis__overlay *overlay = hopper_overlay(tables);
  CHECK(blis__overlay_add_product(overlay, format, kernel, rates, HOPPER_P, n, k) == BLIS_OK);
  double us =
      blis__product_us(kernel, rates, m, n, k) * blis__overlay_product(overlay, format, n, k, m);
  blis__overlay_free(overlay);
  return us;
}

/* The files have three digits; the worked values were computed from more. */
static void test_worked_products(void) {
  check_near(product(&shipped, BLIS_KIND_MODEL, &HOPPER_16, &H100_16, 16, 6144, 4096), 21.03,
             0.005);
  check_near(product(&shipped, BLIS_KIND_MODEL, &HOPPER_16, &H100_16, 24, 6144, 4096), 21.02,
             0.005);
  /* Without a row of their own. */
  check_near(product(&shipped, BLIS_KIND_MODEL, &HOPPER_16, &H100_16, 16, 28672, 4096), 84.17,
             0.005);
  check_near(product(&shipped, BLIS_KIND_FP8, &HOPPER_FP8, &H200_8, 16, 10240, 8192), 26.02, 0.005);
}

static void test_measured_experts(void) {
  const blis__expert_shape mixtral = {8, 2, 4096, 7168, 8};
  blis__overlay *overlay = hopper_overlay(&shipped);
  CHECK(blis__overlay_add_experts(overlay, BLIS_KIND_MODEL, &EXPERTS_16, &H100_16, HOPPER_P,
                                  &mixtral, 0.24) == BLIS_OK);
  double us = blis__experts_us(&EXPERTS_16, &H100_16, &mixtral, 16, 0.24) *
              blis__overlay_experts(overlay, BLIS_KIND_MODEL, &mixtral, 16);
  check_near(us, 488, 1e-9); /* the cell of the table */
  const blis__overlay_entry *entry = blis__overlay_at(overlay, 0);
  CHECK(blis__overlay_count(overlay) == 1 && entry->is_experts);
  CHECK(entry->source == BLIS__SOURCE_MEASURED && entry->weight == 1);
  CHECK_STR(entry->gpu, "H100");
  blis__overlay_free(overlay);
}

static void test_sources(void) {
  static const struct {
    blis_weight_kind format;
    double n;
    double k;
    blis__kernel_source source;
  } cases[] = {
      {BLIS_KIND_MODEL, 6144, 4096, BLIS__SOURCE_MEASURED},
      {BLIS_KIND_MODEL, 6000, 4096, BLIS__SOURCE_NEAR},
      {BLIS_KIND_MODEL, 64, 64, BLIS__SOURCE_CLOSED_FORM},
      {BLIS_KIND_INT8, 6144, 4096, BLIS__SOURCE_CLOSED_FORM},
  };
  blis__overlay *overlay = hopper_overlay(&shipped);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int again = 0; again < 2; again++) { /* a second look-up changes nothing */
      CHECK(blis__overlay_add_product(overlay, cases[i].format, &HOPPER_16, &H100_16, HOPPER_P,
                                      cases[i].n, cases[i].k) == BLIS_OK);
    }
    CHECK_EQ_I64(blis__overlay_count(overlay), i + 1);
    CHECK_EQ_I64(blis__overlay_at(overlay, i)->source, cases[i].source);
  }
  /* Formats without rows, and shapes that were not added, keep the closed form. */
  CHECK(blis__overlay_product(overlay, BLIS_KIND_INT8, 6144, 4096, 7) == 1);
  CHECK(blis__overlay_product(overlay, BLIS_KIND_MODEL, 1, 1, 7) == 1);
  CHECK(blis__overlay_product(NULL, BLIS_KIND_MODEL, 6144, 4096, 7) == 1);
  check_near(blis__overlay_product(overlay, BLIS_KIND_MODEL, 64, 64, 7), 1, 0.001);
  CHECK_EQ_I64(blis__overlay_count(NULL), 0);
  blis__overlay_free(overlay);
}

static void test_own_rows_go_first(void) {
  static const char OWN[] = "gpu,dtype,n,k,m1,m16\nH100,bf16,6144,4096,30,30\n";
  const blis__kernel_tables own = {.texts = {{OWN, sizeof OWN - 1}}};
  const blis__measured_gpu h100 = {"H100", H100_B, HOPPER_P};
  const blis__measured_place places[] = {{&own, h100}, {&shipped, h100}};
  blis__overlay *overlay = blis__overlay_new(&heap, places, 2);
  CHECK(blis__overlay_add_product(overlay, BLIS_KIND_MODEL, &HOPPER_16, &H100_16, HOPPER_P, 6144,
                                  4096) == BLIS_OK);
  check_near(blis__product_us(&HOPPER_16, &H100_16, 16, 6144, 4096) *
                 blis__overlay_product(overlay, BLIS_KIND_MODEL, 6144, 4096, 16),
             30, 1e-9);
  CHECK(blis__overlay_add_product(overlay, BLIS_KIND_FP8, &HOPPER_FP8, &H200_8, HOPPER_P, 10240,
                                  8192) == BLIS_OK);
  CHECK_EQ_I64(blis__overlay_at(overlay, 1)->source, BLIS__SOURCE_NEAR);
  blis__overlay_free(overlay);
}

static blis_random random_stream;

/* Any shape, also beyond every table: finite and above 0; outside the sizes the ends hold. */
static void test_random_shapes(void) {
  for (int i = 0; i < CASES(300); i++) {
    double n = ldexp(1 + blis_random_float64(&random_stream), blis_random_intn(&random_stream, 30));
    double k = ldexp(1 + blis_random_float64(&random_stream), blis_random_intn(&random_stream, 30));
    blis__overlay *overlay = hopper_overlay(&shipped);
    CHECK(blis__overlay_add_product(overlay, BLIS_KIND_MODEL, &HOPPER_16, &H100_16, HOPPER_P, n,
                                    k) == BLIS_OK);
    for (double m = 0.25; m < 1e6; m *= 3) {
      double ratio = blis__overlay_product(overlay, BLIS_KIND_MODEL, n, k, m);
      CHECK(ratio > 0.3 && ratio < 3);
    }
    CHECK(blis__overlay_product(overlay, BLIS_KIND_MODEL, n, k, 0.5) ==
          blis__overlay_product(overlay, BLIS_KIND_MODEL, n, k, 1));
    CHECK(blis__overlay_product(overlay, BLIS_KIND_MODEL, n, k, 16384) ==
          blis__overlay_product(overlay, BLIS_KIND_MODEL, n, k, 1e6));
    blis__overlay_free(overlay);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  blis_random_init(&random_stream, 36);
  char *texts[BLIS__TABLE_COUNT];
  for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
    char path[64];
    snprintf(path, sizeof path, "data/kernels/%s", blis__table_file((blis__table_kind)kind));
    size_t size;
    texts[kind] = fixture_read(path, &size);
    shipped.texts[kind] = (blis_slice){texts[kind], size};
  }
  RUN(test_worked_products);
  RUN(test_measured_experts);
  RUN(test_sources);
  RUN(test_own_rows_go_first);
  RUN(test_random_shapes);
  for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
    free(texts[kind]);
  }
  return check_done();
}
