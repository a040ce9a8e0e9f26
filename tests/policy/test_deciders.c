/*
 * Deciders of whether prefill and decode are apart, by the tables of their
 * sources.
 */
#include "policy/contract/stages.h"
#include "routing_fixture.h"

enum { UNKNOWN = -1 };

/* Two instances that decode, of which the second one is chosen, and one that
   prefills. */
typedef struct scene {
  fixture decode, prefill;
  blis_stages stages;
  int64_t source; /* that the router of the prefill stage says */
  int asked;      /* how often */
} scene;

static const blis_routing_view *peers(void *ud, const blis_routing_request *request) {
  (void)request;
  return &((scene *)ud)->prefill.view;
}

static blis_status preview(void *ud, int64_t *source, blis_error *error) {
  (void)error;
  scene *s = ud;
  s->asked++;
  *source = s->source;
  return BLIS_OK;
}

static void scene_init(scene *s) {
  *s = (scene){.source = 0};
  fixture_init(&s->decode, 2);
  fixture_init(&s->prefill, 1);
  s->stages = (blis_stages){.ud = s, .peers = peers, .preview = preview};
  s->prefill.columns[BLIS_SIGNAL_MAX_NUM_BATCHED_TOKENS][0] = 1000;
  for (int i = 0; i < 2; i++) {
    s->decode.columns[BLIS_SIGNAL_KV_BLOCKS][i] = 1000;
    s->decode.columns[BLIS_SIGNAL_FREE_KV_BLOCKS][i] = 1000;
  }
}

static bool splits(scene *s, const char *name, const blis_param *items, size_t count,
                   int64_t prompt, double cached) {
  blis_alloc heap = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  const blis_params params = {items, count};
  blis_decider decider;
  blis_error error;
  CHECK_OK(blis_decider_create(&heap, name, &params, &context, &decider, &error), &error);
  blis_ticket ticket;
  blis_block_chain chain = {0};
  blis_routing_request request = fixture_request(1, prompt, &chain, &ticket);
  request.stages = &s->stages;
  s->decode.columns[BLIS_SIGNAL_CACHED_TOKENS][0] = 1e9; /* not the chosen */
  s->decode.columns[BLIS_SIGNAL_CACHED_TOKENS][1] = cached;
  blis_split split = {.prefill = -1, .decode = -1};
  CHECK_OK(decider.ops->decide(&(blis_question){decider.state, &request, &s->decode.view, &error},
                               1, &split),
           &error);
  CHECK(split.prefill == -1 && split.decode == -1);
  blis_decider_free(&decider);
  return split.splits;
}

static void llmd_table(void) {
  static const struct {
    double n, p;
    int64_t prompt;
    double cached;
    bool splits;
  } rows[] = {{0, 0, 9000, 0, false},       {512, 1024, 1000, 0, false},
              {512, 1024, 1024, 512, true}, {512, 1024, 1024, 528, false},
              {16, 0, 172, 160, false},     {16, 0, 176, 160, true},
              {600, 0, 500, 0, false}};
  scene s;
  scene_init(&s);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const blis_param items[] = {{.name = "non_cached_tokens", .number = rows[i].n},
                                {.name = "prompt_tokens", .number = rows[i].p}};
    CHECK(splits(&s, "llmd.prefix-based-pd-decider", items, 2, rows[i].prompt, rows[i].cached) ==
          rows[i].splits);
  }
  CHECK(splits(&s, "llmd.always-disagg-pd-decider", NULL, 0, 2, 2));
  CHECK(!splits(&s, "prefix-threshold", NULL, 0, 176, 160));
  CHECK(splits(&s, "prefix-threshold", NULL, 0, 177, 160));
}

static void llmd_asks_the_instance_itself(void) {
  scene s;
  scene_init(&s);
  double *hit = s.decode.columns[BLIS_SIGNAL_LIVE_PREFIX_HIT];
  hit[0] = 1;
  hit[1] = 0.99;
  CHECK(splits(&s, "llmd.if-available", NULL, 0, 500, 500));
  hit[1] = 1;
  CHECK(!splits(&s, "llmd.if-available", NULL, 0, 500, 0));
}

/* busy: whether the instance that prefills has 17 steps waiting, or none. */
static void dynamo_table(void) {
  static const struct {
    int64_t prompt;
    double cached, ratio;
    const char *policy;
    int busy;
    bool stays;
  } rows[] = {{1000, 896, 0.7, "isl_bounding", 0, true},
              {100000, 64000, 0.99, "isl_bounding", 0, false},
              {200, 0, 0.7, "isl_bounding", 0, false},
              {2048, 0, 0.99, "isl_bounding", 0, false},
              {2100, 48, 0.99, "isl_bounding", 0, false},
              {0, 0, 0.7, "isl_bounding", 0, true},
              {500, 640, 0.7, "isl_bounding", 0, true},
              {100000, 0, 0.7, "isl_bounding", 1, false},
              {100000, 0, 0.7, "prefill_load", 1, true},
              {100000, 0, 0.7, "prefill_load", 0, false},
              {100000, 0, 0.7, "prefill_load", UNKNOWN, false},
              {1000, 896, 0.7, "prefill_load", 0, false},
              {1000, 896, 0.7, "isl_or_load", 0, true},
              {100000, 0, 0.7, "isl_or_load", 1, true},
              {100000, 0, 0.7, "isl_or_load", 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    scene s;
    scene_init(&s);
    s.source = rows[i].busy == UNKNOWN ? -1 : 0;
    s.prefill.columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS][0] = rows[i].busy > 0 ? 16001 : 16000;
    const blis_param items[] = {{.name = "policy", .text = rows[i].policy},
                                {.name = "eff_isl_ratio_threshold", .number = rows[i].ratio}};
    bool split = splits(&s, "dynamo.conditional-disagg", items, 2, rows[i].prompt, rows[i].cached);
    CHECK(split == !rows[i].stays);
    CHECK(s.asked == (strcmp(rows[i].policy, "prefill_load") == 0 ||
                      (strcmp(rows[i].policy, "isl_or_load") == 0 && rows[i].prompt == 100000)));
  }
}

/* 160 tokens are 10 blocks of 16. */
static void dynamo_gate(void) {
  scene s;
  scene_init(&s);
  s.decode.columns[BLIS_SIGNAL_FREE_KV_BLOCKS][1] = 210; /* 790 in use */
  const blis_param gate = {.name = "decode_busy_threshold", .number = 0.8};
  const char *name = "dynamo.conditional-disagg";
  CHECK(!splits(&s, name, &gate, 1, 160, 150)); /* 800 is not above */
  CHECK(splits(&s, name, &gate, 1, 161, 150));
  CHECK(!splits(&s, name, NULL, 0, 161, 150));
  const blis_param shut = {.name = "decode_busy_threshold", .number = 0};
  CHECK(splits(&s, name, &shut, 1, 160, 150));
  const blis_param cap = {.name = "bypass_below_tokens", .number = 160};
  CHECK(!splits(&s, "dynamo.token-cap", &cap, 1, 240, 80));
  CHECK(splits(&s, "dynamo.token-cap", &cap, 1, 256, 80));
}

static void cognitora_limit(void) {
  scene s;
  scene_init(&s);
  const blis_param code = {.name = "at_least", .number = 1};
  CHECK(!splits(&s, "cognitora.plan", NULL, 0, 255, 0));
  CHECK(!splits(&s, "cognitora.plan", NULL, 0, 256, 0));
  CHECK(splits(&s, "cognitora.plan", NULL, 0, 257, 256));
  CHECK(!splits(&s, "cognitora.plan", &code, 1, 255, 0));
  CHECK(splits(&s, "cognitora.plan", &code, 1, 256, 0));
}

int main(void) {
  RUN(llmd_table);
  RUN(llmd_asks_the_instance_itself);
  RUN(dynamo_table);
  RUN(dynamo_gate);
  RUN(cognitora_limit);
  return check_done();
}
