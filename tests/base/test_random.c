/* The streams of random.h against known draws and a plain generator. */
#include "base/random.h"

#include <math.h>

#include "base/random_tables.h"
#include "check.h"

/* The generator in its textbook form: a tap and a feed that count down. */
typedef struct plain {
  uint64_t slots[607];
  int tap;
  int feed;
} plain;

static uint64_t plain_lehmer(uint64_t *x) {
  *x = *x * 48271 % 2147483647;
  return *x;
}

static void plain_init(plain *generator, int64_t seed) {
  int64_t start = seed % 2147483647;
  start += start < 0 ? 2147483647 : 0;
  uint64_t x = start == 0 ? 89482311 : (uint64_t)start;
  for (int i = 0; i < 20; i++) {
    plain_lehmer(&x);
  }
  for (int i = 0; i < 607; i++) {
    uint64_t word = plain_lehmer(&x) << 40;
    word ^= plain_lehmer(&x) << 20;
    word ^= plain_lehmer(&x);
    generator->slots[i] = word ^ blis__random_cooked[i];
  }
  generator->tap = 0;
  generator->feed = 334;
}

static uint64_t plain_draw(plain *generator) {
  generator->tap = (generator->tap + 606) % 607;
  generator->feed = (generator->feed + 606) % 607;
  return generator->slots[generator->feed] += generator->slots[generator->tap];
}

static void streams_equal_the_plain_generator(void) {
  const int64_t seeds[] = {0,  1,         42,        -5,       2147483647,
                           -1, INT64_MIN, INT64_MAX, 89482311, -2147483648};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    blis_random random;
    plain model;
    blis_random_init(&random, seeds[i]);
    plain_init(&model, seeds[i]);
    for (int k = 0; k < 3000; k++) {
      CHECK(blis_random_uint64(&random) == plain_draw(&model));
    }
  }
}

static void seeds_give_the_known_numbers(void) {
  static const struct {
    int64_t seed;
    int64_t draws[3];
  } cases[] = {
      {0, {8717895732742165505, 2259404117704393152, 6050128673802995827}},
      {1, {5577006791947779410, 8674665223082153551, 6129484611666145821}},
      {42, {3440579354231278675, 608747136543856411, 5571782338101878760}},
      {-5, {1811683815564572222, 4427849682616757295, 188166459856594692}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_random random;
    blis_random_init(&random, cases[i].seed);
    for (int k = 0; k < 3; k++) {
      CHECK(blis_random_int63(&random) == cases[i].draws[k]);
    }
  }
}

static void check_intn(blis_random random, int32_t n, const int32_t *expected, size_t count) {
  int32_t filled[16];
  blis_random copy = random;
  blis_random_fill_intn(&copy, n, filled, count);
  for (size_t i = 0; i < count; i++) {
    CHECK(blis_random_intn(&random, n) == expected[i]);
    CHECK(filled[i] == expected[i]);
  }
}

static void bounded_draws_are_the_known_ones(void) {
  blis_random random;
  blis_random_init(&random, 42);
  check_intn(random, 128000,
             (const int32_t[]){48305, 38987, 1668, 50750, 19423, 117345, 104357, 119176}, 8);
  check_intn(random, 3, (const int32_t[]){2, 2, 2, 0, 1, 1}, 6);
  blis_random_init_named(&random, 42, "router");
  check_intn(random, 2, (const int32_t[]){0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0}, 12);
  check_intn(random, 3, (const int32_t[]){0, 1, 2, 0, 2, 2, 0, 2, 2, 0, 1, 1}, 12);
  check_intn(random, 4, (const int32_t[]){2, 0, 3, 2, 3, 3, 0, 3, 3, 2, 1, 0}, 12);
}

static void continuous_draws_are_the_known_ones(void) {
  static const double floats[] = {0.37302836104663262, 0.06600049679351791, 0.60409385155864204};
  static const double exps[] = {0.49573841490239784, 0.13054718375896252, 0.1532334522090758,
                                0.3384463626094486};
  static const double normals[] = {1.5536305584564762, 0.12525608682704692, -0.49437481277048279,
                                   1.2440150150762053};
  blis_random random;
  blis_random_init(&random, 42);
  for (int i = 0; i < 3; i++) {
    CHECK(blis_random_float64(&random) == floats[i]);
  }
  blis_random_init(&random, 42);
  for (int i = 0; i < 4; i++) {
    CHECK(blis_random_exp(&random) == exps[i]);
  }
  blis_random_init(&random, 42);
  for (int i = 0; i < 4; i++) {
    CHECK(blis_random_normal(&random) == normals[i]);
  }
}

static void a_million_rounds_have_the_known_sum(void) {
  blis_random random;
  blis_random_init(&random, 42);
  double total = 0;
  for (int i = 0; i < 1000000; i++) {
    double exponential = blis_random_exp(&random);
    double round = exponential + blis_random_normal(&random);
    total += round;
  }
  /* Tails call exp and log of the C library; hence not to the last bit. */
  CHECK(fabs(total - 997976.60049034911) < 1e-6);
}

static void shuffles_are_the_known_ones(void) {
  static const int expected[] = {2, 5, 7, 9, 6, 8, 1, 4, 0, 3};
  int items[10];
  for (int i = 0; i < 10; i++) {
    items[i] = i;
  }
  blis_random random;
  blis_random_init(&random, 42);
  blis_random_shuffle(&random, items, 10, sizeof *items);
  CHECK(memcmp(items, expected, sizeof items) == 0);
  blis_random copy = random;
  blis_random_shuffle(&random, items, 1, sizeof *items);
  blis_random_shuffle(&random, NULL, 0, sizeof *items);
  CHECK(blis_random_uint64(&copy) == blis_random_uint64(&random));
}

static void names_give_the_known_streams(void) {
  static const struct {
    const char *name;
    uint64_t hash;
    int64_t seed; /* of the stream under master seed 42 */
  } cases[] = {
      {"router", 0xa0dba500590b7544, -6855704586828941970},
      {"prefill-router", 0x772093844d7e2a73, 8584023086213245529},
      {"decode-router", 0x4d3bd9c910bb7c57, 5565281222138756221},
      {"node-provisioning", 0x44d4862e01a37c89, 4959736621795867811},
      {"instance-loading", 0xaaf6a2f49c47890f, -6127531071513327323},
      {"autoscaler", 0xae1c99c15eab5792, -5900672355966167112},
      {"workload-gen", 0x623e21a6896fc55f, 7079132663427089781},
      {"kv-offload", 0x4f31b311fd7d4af4, 5706539092703791838},
      {"instance_0", 0x3b2423d14be44d45, 4261570529227722095},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(blis_fnv1a64(cases[i].name) == cases[i].hash);
    CHECK(blis_random_stream_seed(42, cases[i].name) == cases[i].seed);
  }
  CHECK(blis_random_stream_seed(42, "workload") == 42);
}

static void named_streams_give_the_known_numbers(void) {
  static const int64_t router[] = {2209865534360810960, 8005449091104485856, 4229094246506554210};
  static const double loading[] = {0.62510180096534929, -0.54524979386231731, -0.34608458826383148};
  blis_random random;
  blis_random_init_named(&random, 42, "router");
  for (int i = 0; i < 3; i++) {
    CHECK(blis_random_int63(&random) == router[i]);
  }
  blis_random_init_named(&random, 42, "instance-loading");
  for (int i = 0; i < 3; i++) {
    CHECK(blis_random_normal(&random) == loading[i]);
  }
  blis_random_init_named(&random, 42, "workload-gen");
  CHECK(blis_random_int63(&random) == 8021973113318348621);
}

/* Bounds next to 2^30 reject half of all outputs. */
static void skipping_equals_drawing(void) {
  static const int32_t bounds[] = {1, 2, 3, 128000, 1 << 30, INT32_MAX, 1073741825, 50257};
  blis_random random;
  blis_random_init(&random, 7);
  for (int round = 0; round < 400; round++) {
    int32_t n = bounds[round % 8];
    uint64_t count = (uint64_t)blis_random_intn(&random, 2500);
    blis_random drawn = random;
    for (uint64_t i = 0; i < count; i++) {
      CHECK(blis_random_intn(&drawn, n) < n);
    }
    blis_random_skip_intn(&random, n, count);
    CHECK(memcmp(random.words, drawn.words, sizeof random.words) == 0);
    CHECK(random.next == drawn.next);
  }
}

/*
 * Skips of all lengths with draws between them, mostly below the same bound:
 * what is known of a batch counts for that bound alone.
 */
static void skipping_goes_on_within_a_batch(void) {
  static const int32_t bounds[] = {128000, 128000,  128000,     128000,
                                   128000, 1 << 30, 1073741825, 50257};
  blis_random random;
  blis_random drawn;
  blis_random choice;
  blis_random_init(&random, 11);
  blis_random_init(&drawn, 11);
  blis_random_init(&choice, 12);
  for (int round = 0; round < 4000; round++) {
    int32_t n = bounds[blis_random_intn(&choice, 8)];
    uint64_t count = (uint64_t)blis_random_intn(&choice, 700);
    blis_random_skip_intn(&random, n, count);
    for (uint64_t i = 0; i < count; i++) {
      (void)blis_random_intn(&drawn, n);
    }
    CHECK_EQ_I64(random.next, drawn.next);
    CHECK_EQ_I64(blis_random_uint64(&random), blis_random_uint64(&drawn));
  }
}

int main(void) {
  RUN(streams_equal_the_plain_generator);
  RUN(seeds_give_the_known_numbers);
  RUN(bounded_draws_are_the_known_ones);
  RUN(continuous_draws_are_the_known_ones);
  RUN(a_million_rounds_have_the_known_sum);
  RUN(shuffles_are_the_known_ones);
  RUN(names_give_the_known_streams);
  RUN(named_streams_give_the_known_numbers);
  RUN(skipping_equals_drawing);
  RUN(skipping_goes_on_within_a_batch);
  return check_done();
}
