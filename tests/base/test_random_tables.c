/*
 * Computes the tables of the random generator from their definitions and
 * compares them with src/base/random_tables.inc; "--print" writes that file.
 */
#include "base/random_tables.h"

#include "check.h"
#include "sha256.h"
#include <math.h>

enum { WORDS = 607, LAG = 273 };

typedef struct ziggurat {
  int strips;
  double (*density)(double x);
  double (*edge)(double density);
  double tail;  /* the last edge */
  double area;  /* of every strip */
  double range; /* number of values of the draw's magnitude */
} ziggurat;

typedef struct tables {
  uint64_t cooked[WORDS];
  uint32_t normal_k[BLIS__NORMAL_STRIPS];
  float normal_w[BLIS__NORMAL_STRIPS];
  float normal_f[BLIS__NORMAL_STRIPS];
  uint32_t exp_k[BLIS__EXP_STRIPS];
  float exp_w[BLIS__EXP_STRIPS];
  float exp_f[BLIS__EXP_STRIPS];
} tables;

/* p becomes p * q modulo z^607 = z^334 + 1, coefficients modulo 2^64. */
static void multiply(uint64_t *p, const uint64_t *q) {
  uint64_t product[2 * WORDS] = {0};
  for (int i = 0; i < WORDS; i++) {
    for (int j = 0; j < WORDS; j++) {
      product[i + j] += p[i] * q[j];
    }
  }
  for (int m = 2 * WORDS - 1; m >= WORDS; m--) {
    product[m - WORDS] += product[m];
    product[m - LAG] += product[m];
  }
  memcpy(p, product, WORDS * sizeof *p);
}

/* The plain generator's words s[0 .. 1213], seeded with 1. */
static void start_sequence(uint64_t *s) {
  const uint64_t modulus = 2147483647;
  uint64_t x = 1;
  for (int i = 0; i < 20; i++) {
    x = x * 48271 % modulus;
  }
  for (int slot = 0; slot < WORDS; slot++) {
    uint64_t x1 = x * 48271 % modulus;
    uint64_t x2 = x1 * 48271 % modulus;
    x = x2 * 48271 % modulus;
    s[(333 - slot + WORDS) % WORDS] = x1 << 20 ^ x2 << 10 ^ x;
  }
  for (int n = WORDS; n < 2 * WORDS; n++) {
    s[n] = s[n - WORDS] + s[n - LAG];
  }
}

/* The state after 7.8e12 outputs, by jumping ahead with a polynomial. */
static void compute_cooked(uint64_t *cooked) {
  const uint64_t outputs = UINT64_C(7800000000000);
  uint64_t s[2 * WORDS];
  start_sequence(s);
  CHECK(s[333] == UINT64_C(669248216578436));
  CHECK(s[332] == UINT64_C(1469611300446292));
  uint64_t power[WORDS] = {0, 1};
  uint64_t jump[WORDS] = {1};
  for (uint64_t rest = outputs; rest > 0; rest >>= 1) {
    if (rest & 1) {
      multiply(jump, power);
    }
    multiply(power, power);
  }
  for (uint64_t k = 0; k < WORDS; k++) {
    uint64_t word = 0;
    for (uint64_t j = 0; j < WORDS; j++) {
      word += jump[j] * s[j + k];
    }
    uint64_t n = (outputs + k) % WORDS;
    cooked[(333 + WORDS - n) % WORDS] = word;
  }
}

static double normal_density(double x) {
  return exp(-0.5 * x * x);
}

static double normal_edge(double density) {
  return sqrt(-2.0 * log(density));
}

static double exp_density(double x) {
  return exp(-x);
}

static double exp_edge(double density) {
  return -log(density);
}

static void compute_ziggurat(const ziggurat *z, uint32_t *k, float *w, float *f) {
  double x[BLIS__EXP_STRIPS];
  int last = z->strips - 1;
  x[last] = z->tail;
  for (int i = last - 1; i >= 1; i--) {
    x[i] = z->edge(z->area / x[i + 1] + z->density(x[i + 1]));
  }
  double base = z->area / z->density(z->tail);
  k[0] = (uint32_t)(z->tail / base * z->range);
  k[1] = 0;
  w[0] = (float)(base / z->range);
  f[0] = 1.0F;
  for (int i = 1; i <= last; i++) {
    w[i] = (float)(x[i] / z->range);
    f[i] = (float)z->density(x[i]);
    if (i < last) {
      k[i + 1] = (uint32_t)(x[i] / x[i + 1] * z->range);
    }
  }
}

static void compute_tables(tables *t) {
  const ziggurat normal = {.strips = BLIS__NORMAL_STRIPS,
                           .density = normal_density,
                           .edge = normal_edge,
                           .tail = 3.442619855899,
                           .area = 9.91256303526217e-3,
                           .range = 2147483648.0};
  const ziggurat exponential = {.strips = BLIS__EXP_STRIPS,
                                .density = exp_density,
                                .edge = exp_edge,
                                .tail = 7.69711747013104972,
                                .area = 3.949659822581572e-3,
                                .range = 4294967296.0};
  compute_cooked(t->cooked);
  compute_ziggurat(&normal, t->normal_k, t->normal_w, t->normal_f);
  compute_ziggurat(&exponential, t->exp_k, t->exp_w, t->exp_f);
}

static void print_words(const uint64_t *words) {
  puts("const uint64_t blis__random_cooked[607] = {");
  for (int i = 0; i < WORDS; i++) {
    printf("%s0x%016llx%s", i % 3 == 0 ? "    " : " ", (unsigned long long)words[i],
           i % 3 == 2 ? ",\n" : ",");
  }
  puts("\n};");
}

static void print_integers(const char *name, const uint32_t *k, int count) {
  printf("\nconst uint32_t blis__%s[%d] = {\n", name, count);
  for (int i = 0; i < count; i++) {
    printf("%s0x%08x%s", i % 4 == 0 ? "    " : " ", (unsigned)k[i], i % 4 == 3 ? ",\n" : ",");
  }
  puts("};");
}

static void print_floats(const char *name, const float *values, int count) {
  printf("\nconst float blis__%s[%d] = {\n", name, count);
  for (int i = 0; i < count; i++) {
    printf("%s%aF%s", i % 4 == 0 ? "    " : " ", (double)values[i], i % 4 == 3 ? ",\n" : ",");
  }
  puts("};");
}

static void print_computed_tables(void) {
  tables t;
  compute_tables(&t);
  puts("/* Written by \"test_random_tables --print\"; do not edit. */\n");
  print_words(t.cooked);
  print_integers("normal_k", t.normal_k, BLIS__NORMAL_STRIPS);
  print_floats("normal_w", t.normal_w, BLIS__NORMAL_STRIPS);
  print_floats("normal_f", t.normal_f, BLIS__NORMAL_STRIPS);
  print_integers("exp_k", t.exp_k, BLIS__EXP_STRIPS);
  print_floats("exp_w", t.exp_w, BLIS__EXP_STRIPS);
  print_floats("exp_f", t.exp_f, BLIS__EXP_STRIPS);
}

static void check_sum(const void *computed, const void *stored, size_t size, const char *sum) {
  char text[65];
  sha256_hex(computed, size, text);
  CHECK_STR(text, sum);
  CHECK(memcmp(computed, stored, size) == 0);
}

static void sums_are_those_of_the_standard(void) {
  char text[65];
  sha256_hex("", 0, text);
  CHECK_STR(text, "e3b0c44298fc1c149afbf4c8996fb924"
                  "27ae41e4649b934ca495991b7852b855");
}

static void tables_follow_from_their_definitions(void) {
  tables t;
  compute_tables(&t);
  check_sum(t.cooked, blis__random_cooked, sizeof t.cooked,
            "1928503b93a563e491119a5889baba73"
            "d1605b90b63634c14a408805797a7c7b");
  check_sum(t.normal_k, blis__normal_k, sizeof t.normal_k,
            "3d2d71878b1adeda69fe4a5f1a320d65"
            "4940a6e707948890ec94bfb165b96ec4");
  check_sum(t.normal_w, blis__normal_w, sizeof t.normal_w,
            "ad7d9370fef99dc77b47694a776d9fcc"
            "b45aaf1326c09445e3cb14ba09600048");
  check_sum(t.normal_f, blis__normal_f, sizeof t.normal_f,
            "b48fe81bd18a78dc0efbb5189baf0e24"
            "325c51d1e9aa8cb5cac1939ef900111b");
  check_sum(t.exp_k, blis__exp_k, sizeof t.exp_k,
            "4fec981f2c1ec2da27f22d5a6c4f8d3b"
            "4d7c5eb6904228fed57bc6773bdde572");
  check_sum(t.exp_w, blis__exp_w, sizeof t.exp_w,
            "4b52bdf8a87d68efb5f2807a8a3ac51d"
            "433e903baa57226521f76bf8893c4076");
  check_sum(t.exp_f, blis__exp_f, sizeof t.exp_f,
            "493996e24da833f41559e2421036da46"
            "943c48e9cc501bcf04042da3f969c823");
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--print") == 0) {
    print_computed_tables();
    return 0;
  }
  RUN(sums_are_those_of_the_standard);
  RUN(tables_follow_from_their_definitions);
  return check_done();
}
