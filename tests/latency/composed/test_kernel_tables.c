/* Tables of kernel times: the shipped files, look-ups, and wrong files of a user. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "latency/composed/kernel_tables.h"
#include "latency_fixture.h"

static blis_slice slice(const char *text) {
  return blis_slice_of(text);
}

static void test_shipped_tables(void) {
  static const size_t lines[BLIS__TABLE_COUNT] = {142, 285, 11};
  for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
    char path[64];
    snprintf(path, sizeof path, "data/kernels/%s", blis__table_file((blis__table_kind)kind));
    size_t size;
    char *text = fixture_read(path, &size);
    blis_error error = {0};
    CHECK_OK(
        blis__kernel_table_check((blis__table_kind)kind, path, (blis_slice){text, size}, &error),
        &error);
    CHECK_CONTAINS(text, "Apache-2.0");
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
      count += text[i] == '\n';
    }
    CHECK_EQ_I64(count, lines[kind]);
    free(text);
  }
}

static const char PRODUCTS[] = "# times\n"
                               "gpu,dtype,n,k,m1,m16,m64\r\n"
                               "\n"
                               "A,bf16,100,100,1,2,3\n"
                               "A,bf16,200,100,4,,6\n"
                               "A,fp8,100,100,7,8,9\n"
                               "a,bf16,400,100,1,1,1\n"
                               "B b,bf16,100,800,5,5,5";

static blis__kernel_match find(blis__table_kind kind, const char *text, const char *gpu,
                               const char *dtype, const double *key) {
  blis__kernel_tables tables = {0};
  tables.texts[kind] = slice(text);
  blis__kernel_match match;
  blis__kernel_tables_find(&tables, kind, gpu, dtype, key, &match);
  return match;
}

static void test_lookups(void) {
  const double exact[] = {100, 100};
  blis__kernel_match match = find(BLIS__TABLE_PRODUCTS, PRODUCTS, "A", "bf16", exact);
  CHECK_EQ_I64(match.count, 1);
  CHECK(match.rows[0].distance == 0 && match.rows[0].points == 3);
  CHECK(match.rows[0].size[1] == 16 && match.rows[0].time_us[2] == 3);

  /* Three rows in order of distance; the case of the name does not matter; no empty cell. */
  const double near[] = {190, 100};
  match = find(BLIS__TABLE_PRODUCTS, PRODUCTS, "a", "bf16", near);
  CHECK_EQ_I64(match.count, 3);
  CHECK(match.rows[0].key[0] == 200 && match.rows[1].key[0] == 100 && match.rows[2].key[0] == 400);
  CHECK(match.rows[0].points == 2 && match.rows[0].size[1] == 64 && match.rows[0].time_us[1] == 6);
  CHECK(fabs(match.rows[1].distance - pow(log(1.9), 2)) < 1e-12);

  match = find(BLIS__TABLE_PRODUCTS, PRODUCTS, "B b", "bf16", exact);
  CHECK(match.count == 1 && match.rows[0].distance > 4);
  CHECK_EQ_I64(find(BLIS__TABLE_PRODUCTS, PRODUCTS, "C", "bf16", exact).count, 0);
  CHECK_EQ_I64(find(BLIS__TABLE_PRODUCTS, PRODUCTS, "A", "nvfp4", exact).count, 0);
  CHECK_EQ_I64(find(BLIS__TABLE_PRODUCTS, "", "A", "bf16", exact).count, 0);

  blis__kernel_tables tables = {.texts = {slice(PRODUCTS)}};
  CHECK(blis__kernel_tables_have(&tables, BLIS__TABLE_PRODUCTS, "A", "fp8"));
  CHECK(!blis__kernel_tables_have(&tables, BLIS__TABLE_PRODUCTS, "B b", "fp8"));
  CHECK(!blis__kernel_tables_have(&tables, BLIS__TABLE_EXPERTS, "A", "bf16"));
}

/* hidden and width count in full, experts on the GPU by half, their share by half. */
static void test_distance_of_experts(void) {
  static const char TEXT[] = "gpu,dtype,experts,chosen,hidden,width,local,n1\n"
                             "A,bf16,8,2,1000,100,8,1\n";
  static const struct {
    double key[BLIS__TABLE_KEYS_MAX];
    double distance;
  } cases[] = {
      {{8, 2, 2000, 100, 8}, 0.480453},  {{8, 2, 1000, 50, 8}, 0.480453},
      {{8, 4, 1000, 100, 8}, 0.480453},  {{16, 2, 1000, 100, 16}, 0.240227},
      {{16, 2, 1000, 100, 8}, 0.240227}, {{8, 2, 1000, 100, 8}, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis__kernel_match match = find(BLIS__TABLE_EXPERTS, TEXT, "A", "bf16", cases[i].key);
    CHECK_EQ_I64(match.count, 1);
    CHECK(fabs(match.rows[0].distance - cases[i].distance) < 1e-6);
  }
}

static void test_only_that_number_of_gpus(void) {
  static const char TEXT[] = "gpu,gpus,b256,b512\nA,2,1,2\nA,4,3,4\n";
  const double four = 4;
  const double eight = 8;
  blis__kernel_match match = find(BLIS__TABLE_ALLREDUCES, TEXT, "A", "", &four);
  CHECK(match.count == 1 && match.rows[0].time_us[0] == 3);
  CHECK_EQ_I64(find(BLIS__TABLE_ALLREDUCES, TEXT, "A", "", &eight).count, 0);
}

static void test_faults(void) {
  static const struct {
    blis__table_kind kind;
    const char *text;
    const char *message;
  } cases[] = {
      {BLIS__TABLE_PRODUCTS, "", "t.csv:1: the first row must be gpu,dtype,n,k,m1,m2,..."},
      {BLIS__TABLE_PRODUCTS, "# a\n\ngpu,dtype,k,n,m1\n", "t.csv:3: the first row"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k\n", "the first row"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m4,m1\n", "ascending sizes"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,b4\n", "the first row"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m\n", "the first row"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1\nA,bf16,1,1\n",
       "t.csv:2: 4 columns, but the first row has 5"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1\nA,bf16,1,1,1,1\n", "more than the 5 columns"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1\nA,bf16,1,x,1\n",
       "t.csv:2: column 4: invalid value 'x'"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1,m2\nA,bf16,1,1,1,-1\n",
       "column 6: invalid value '-1'"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1,m2\nA,bf16,1,1,1,nan\n",
       "column 6: invalid value 'nan'"},
      {BLIS__TABLE_PRODUCTS, "gpu,dtype,n,k,m1\n,bf16,1,1,1\n", "column 'gpu': invalid value ''"},
      {BLIS__TABLE_EXPERTS, "gpu,dtype,n,k,m1\n", "gpu,dtype,experts,chosen,hidden,width,local,n1"},
      {BLIS__TABLE_ALLREDUCES, "gpu,gpus,b256,b500\n", "256 bytes and its doublings"},
      {BLIS__TABLE_ALLREDUCES, "gpu,gpus,b256,b512\nA,2,1,\n", "column 4: invalid value ''"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_error error = {0};
    CHECK_STATUS(blis__kernel_table_check(cases[i].kind, "t.csv", slice(cases[i].text), &error),
                 BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
}

static blis_random random_stream;

/* Texts with random damage are rejected or searched; neither reads beyond them. */
static void test_random_damage(void) {
  for (int i = 0; i < CASES(3000); i++) {
    char *text = malloc(sizeof PRODUCTS - 1); /* no zero behind it */
    CHECK(text != NULL);
    memcpy(text, PRODUCTS, sizeof PRODUCTS - 1);
    for (int j = blis_random_intn(&random_stream, 6); j >= 0; j--) {
      size_t place = (size_t)blis_random_intn(&random_stream, sizeof PRODUCTS - 1);
      text[place] = ",\n#a1.-\0"[blis_random_intn(&random_stream, 8)];
    }
    blis_slice damaged = {text, (size_t)blis_random_intn(&random_stream, sizeof PRODUCTS)};
    blis_error error = {0};
    blis_status status = blis__kernel_table_check(BLIS__TABLE_PRODUCTS, "t.csv", damaged, &error);
    CHECK(status == BLIS_OK || status == BLIS_ERR_PARSE);
    blis__kernel_tables tables = {.texts = {damaged}};
    const double key[] = {150, 120};
    blis__kernel_match match;
    blis__kernel_tables_find(&tables, BLIS__TABLE_PRODUCTS, "A", "bf16", key, &match);
    for (size_t row = 0; row < match.count; row++) {
      CHECK(match.rows[row].points > 0 && match.rows[row].time_us[0] > 0);
    }
    free(text);
  }
}

int main(void) {
  blis_random_init(&random_stream, 36);
  RUN(test_shipped_tables);
  RUN(test_lookups);
  RUN(test_distance_of_experts);
  RUN(test_only_that_number_of_gpus);
  RUN(test_faults);
  RUN(test_random_damage);
  return check_done();
}
