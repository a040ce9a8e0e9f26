/* SGLang's scheduler, batch by batch (serving_scene.h). */
#include <math.h>

#include "instance/sglang/sglang.h"
#include "serving_scene.h"

/* The defaults of SGLang, without overlap. */
#define DEFAULTS                                                                                   \
  .chunk_tokens = 8192, .max_prefill_tokens = 16384, .init_ratio = 0.7, .min_ratio = 0.098,        \
  .decay_steps = 600, .has_cache = true

static const scene scenes[] = {
    {.name = "2: prompts go before decodes",
     .sglang = {DEFAULTS},
     .requests = {AT(0, 0, 10, 9), AT(1, 0, 10, 9), AT(2, 2, 100, 5)},
     .trace = "{0:10,1:10} {0,1} {2:100} {0,1,2}"},
    {.name = "3: chunks do not yield",
     .sglang = {DEFAULTS},
     .requests = {AT(0, 0, 10, 9), AT(1, 2, 20000, 5)},
     .trace = "{0:10} {0} {1:8192} {1:8192} {1:3616} {0,1}"},
    {.name = "3: an interval of 1",
     .sglang = {DEFAULTS, .prefill_decode_interval = 1},
     .requests = {AT(0, 0, 10, 9), AT(1, 2, 20000, 5)},
     .trace = "{0:10} {0} {1:8192} {0} {1:8192} {0} {1:3616} {0,1}"},
    {.name = "3: mixed chunks",
     .sglang = {DEFAULTS, .mixes = true},
     .requests = {AT(0, 0, 10, 9), AT(1, 2, 20000, 5)},
     .trace = "{0:10} {0} {0,1:8191} {0,1:8191} {0,1:3618} {0,1}"},
    {.name = "3: vLLM",
     .backend = VLLM,
     .requests = {AT(0, 0, 10, 9), AT(1, 2, 20000, 5)},
     .trace = "{0:10} {0} {0,1:8191} {0,1:8191} {0,1:3618} {0,1}"},
    {.name = "4: the last chunk shares its batch",
     .sglang = {DEFAULTS},
     .requests = {AT(0, 0, 10000, 5), AT(1, 0, 500, 5), AT(2, 0, 7000, 5)},
     .trace = "{0:8192} {0:1808,1:500,2:5884} {2:1116} {0,1,2}"},
    {.name = "5: admission by an estimate, and a batch that is full until a request leaves",
     .sglang = {.chunk_tokens = 8192,
                .max_prefill_tokens = 16384,
                .init_ratio = 0.5,
                .min_ratio = 0.5,
                .decay_steps = 1,
                .has_cache = true},
     .kv_blocks = 10000,
     .requests = {WITH_LIMIT(0, 0, 500, 101, 1000), WITH_LIMIT(1, 0, 500, 1000, 1000),
                  WITH_LIMIT(2, 0, 500, 1000, 1000), WITH_LIMIT(3, 0, 500, 1000, 1000),
                  WITH_LIMIT(4, 100, 1500, 2000, 2000), WITH_LIMIT(5, 100, 1500, 2000, 2000)},
     .from_step = 99,
     .trace = "{0,1,2,3} {4:1500} {0,1,2,3,4} {1,2,3,4} {5:1500} {1,2,3,4,5}"},
    {.name = "6: vLLM admits both",
     .backend = VLLM,
     .kv_blocks = 10000,
     .requests = {WITH_LIMIT(0, 0, 500, 101, 1000), WITH_LIMIT(1, 0, 500, 1000, 1000),
                  WITH_LIMIT(2, 0, 500, 1000, 1000), WITH_LIMIT(3, 0, 500, 1000, 1000),
                  WITH_LIMIT(4, 100, 1500, 2000, 2000), WITH_LIMIT(5, 100, 1500, 2000, 2000)},
     .from_step = 99,
     .trace = "{0,1,2,3} {0,1,2,3,4:1500,5:1500} {1,2,3,4,5}"},
    {.name = "7 and 8: retraction of the longest prompt among the fewest outputs, to the tail",
     .sglang = {DEFAULTS},
     .kv_blocks = 1000,
     .requests = {WITH_LIMIT(0, 0, 300, 70, 1), WITH_LIMIT(1, 41, 300, 40, 1),
                  WITH_LIMIT(2, 41, 299, 40, 1), WITH_LIMIT(3, 61, 300, 10, 10),
                  WITH_LIMIT(4, 61, 600, 3, 10)},
     .from_step = 60,
     .widens_at = 50,
     .widened = 200,
     .trace = "{0,1,2} {0,1,2} {0,2} {0,2} {0,2} {0,2} {0,2} {0,2} {0,2} {0,2} {0,2} {2} "
              "{3:300} {2,3} {2,3} {2,3} {2,3} {2,3} {2,3} {2,3} {2,3} {2,3} {4:600} {4} {4} "
              "{1:321} {1}"},
    {.name = "9: equal beginnings, lpm",
     .sglang = {DEFAULTS, .policy = BLIS_SGLANG_LPM},
     .requests = {SHARING(1, 0, 4096, 5, 1, 1000), SHARING(2, 0, 4096, 5, 1, 1000),
                  AT(3, 0, 4096, 5)},
     .trace = "{1:4096,3:4096} {2:3096} {1,2,3}"},
    {.name = "9: equal beginnings, fcfs",
     .sglang = {DEFAULTS},
     .requests = {SHARING(1, 0, 4096, 5, 1, 1000), SHARING(2, 0, 4096, 5, 1, 1000),
                  AT(3, 0, 4096, 5)},
     .trace = "{1:4096,2:4096} {3:4096} {1,2,3}"},
    {.name = "9: equal beginnings, lpm, alone",
     .sglang = {DEFAULTS, .policy = BLIS_SGLANG_LPM},
     .requests = {SHARING(1, 0, 4096, 5, 1, 1000), SHARING(2, 0, 4096, 5, 1, 1000)},
     .trace = "{1:4096,2:4096} {1,2}"},
    {.name = "10: pages",
     .sglang = {.chunk_tokens = 1024,
                .max_prefill_tokens = 16384,
                .init_ratio = 0.7,
                .min_ratio = 0.098,
                .decay_steps = 600,
                .has_cache = true},
     .page = 64,
     .requests = {SHARING(0, 0, 1000, 2, 1, 990), SHARING(1, 2, 1000, 3, 1, 990),
                  SHARING(2, 2, 1000, 3, 1, 990), SHARING(3, 2, 1000, 3, 1, 990), AT(4, 2, 832, 3),
                  AT(5, 2, 64, 3)},
     .trace = "{0:1000} {0} {1:40,2:40,3:40,4:832} {5:64} {1,2,3,4,5}"},
    {.name = "10: a whole prompt in the cache",
     .sglang = {DEFAULTS},
     .page = 64,
     .requests = {SHARING(0, 0, 1024, 2, 1, 1024), SHARING(1, 2, 1024, 3, 1, 1024)},
     .trace = "{0:1024} {0} {1:64} {1}"},
    {.name = "12: overlap computes a row in vain",
     .sglang = {DEFAULTS, .overlaps = true},
     .max_num_seqs = 1,
     .requests = {AT(0, 0, 10, 3), AT(1, 0, 10, 3)},
     .trace = "{0:10} {0} {0} {+1} {1:10} {1} {1}"},
    {.name = "12: without overlap",
     .sglang = {DEFAULTS},
     .max_num_seqs = 1,
     .requests = {AT(0, 0, 10, 3), AT(1, 0, 10, 3)},
     .trace = "{0:10} {0} {0} {1:10} {1} {1}"},
    {.name = "13: slots",
     .sglang = {DEFAULTS},
     .max_num_seqs = 2,
     .requests = {AT(0, 0, 10, 3), AT(1, 0, 10, 9), AT(2, 0, 10, 3)},
     .trace = "{0:10,1:10} {0,1} {0,1} {1} {2:10} {1,2}"},
    {.name = "a prompt in chunks needs no slot",
     .sglang = {DEFAULTS},
     .max_num_seqs = 2,
     .requests = {AT(0, 0, 8000, 9), AT(1, 0, 9000, 3)},
     .trace = "{0:8000,1:192} {1:8192} {1:616} {0,1}"},
    {.name = "what is needed must be less than what is left",
     .sglang = {DEFAULTS},
     .kv_blocks = 1000,
     .requests = {WITH_LIMIT(0, 0, 100, 5, 100), WITH_LIMIT(1, 0, 600, 5, 198)},
     .trace = "{0:100} {1:600} {0,1}"},
    {.name = "and here it is",
     .sglang = {DEFAULTS},
     .kv_blocks = 1000,
     .requests = {WITH_LIMIT(0, 0, 100, 5, 100), WITH_LIMIT(1, 0, 600, 5, 197)},
     .trace = "{0:100,1:600} {0,1}"},
    {.name = "longest output first",
     .sglang = {DEFAULTS, .policy = BLIS_SGLANG_LOF},
     .max_num_seqs = 1,
     .requests = {AT(0, 0, 10, 2), AT(1, 0, 20, 5), AT(2, 0, 30, 3)},
     .trace = "{1:20} {1} {1} {1} {1} {2:30} {2} {2} {0:10} {0}"},
    {.name = "dfs-weight: the subtree with more waiting requests first",
     .sglang = {DEFAULTS, .policy = BLIS_SGLANG_DFS_WEIGHT},
     .max_num_seqs = 2,
     .requests = {SHARING(0, 0, 100, 1, 1, 80), SHARING(1, 0, 100, 1, 2, 80),
                  SHARING(2, 1, 101, 2, 1, 80), SHARING(3, 1, 102, 2, 2, 80),
                  SHARING(4, 1, 103, 2, 2, 80)},
     .trace = "{0:100,1:100} {3:22,4:23} {3,4} {2:21} {2}"},
    {.name = "without a cache nothing is found",
     .sglang = {.chunk_tokens = 8192,
                .max_prefill_tokens = 16384,
                .init_ratio = 0.7,
                .min_ratio = 0.098,
                .decay_steps = 600,
                .policy = BLIS_SGLANG_LPM},
     .requests = {SHARING(0, 0, 100, 2, 1, 80), SHARING(1, 3, 100, 2, 1, 80)},
     .trace = "{0:100} {0} {1:100} {1}"},
    {.name = "prompts that are not split",
     .sglang = {.max_prefill_tokens = 16384,
                .init_ratio = 0.7,
                .min_ratio = 0.098,
                .decay_steps = 600,
                .has_cache = true},
     .requests = {AT(0, 0, 20000, 2), AT(1, 0, 10, 2)},
     .trace = "{0:20000} {1:10} {0,1}"},
};

static void test_scenes(void) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    run_scene(&scenes[i]);
  }
}

/* 1: after 100 decodes, and after 600. */
static void check_ratio(double init, double after_100, double least) {
  blis_alloc alloc = blis_alloc_heap();
  trace t = {0};
  blis_latency_model latency = {.ops = &constant_ops, .state = &t};
  scene s = {.sglang = {DEFAULTS}};
  s.sglang.init_ratio = init;
  s.sglang.min_ratio = 0.14 * init;
  blis_instance_config config = config_of(&s, &latency);
  blis_instance_events events = {.ended = driver_on_ended};
  blis_live_request request = {.number = 1,
                               .prompt_tokens = 10,
                               .output_tokens = 2000,
                               .chain = {.prompt_blocks = 10, .private_base = BLIS_BLOCK_PRIVATE}};
  blis__engine engine;
  blis_error error;
  config.max_model_len_tokens = blis__sglang_longest(&config);
  CHECK_OK(blis__stepwise_new(&alloc, &config, &events, NULL, NULL, &blis__serving_sglang, &engine,
                              &error),
           &error);
  CHECK_OK(engine.ops->inject(engine.state, &request, 0, &error), &error);
  const blis__sglang *state = blis__sglang_of(engine.state);
  CHECK_EQ_DOUBLE(state->ratio, init);
  for (int64_t step = 0; step <= 700; step++) { /* the first one computes the prompt */
    bool clock_moved;
    CHECK_OK(engine.ops->run_next(engine.state, BLIS_TIME_NEVER_US, &clock_moved, &error), &error);
    if (step == 100) {
      CHECK(fabs(state->ratio - after_100) < 1e-6);
    }
    CHECK(step < 600 || fabs(state->ratio - least) < 1e-9);
  }
  engine.ops->free(engine.state);
}

static void test_ratio(void) {
  check_ratio(0.7, 0.599667, 0.098);
  check_ratio(0.21, 0.1799, 0.0294);
  check_ratio(1.0, 0.856667, 0.14);
}

typedef struct sglang_case {
  scene scene;
  driver_request requests[60];
  size_t count;
} sglang_case;

static void draw_case(blis_random *r, sglang_case *c) {
  static const int64_t pages[] = {1, 1, 3, 16};
  int64_t page = pages[draw(r, 0, 3)];
  *c = (sglang_case){
      .scene = {.sglang = {.chunk_tokens = draw(r, 0, 4) == 0 ? 0 : draw(r, page, 80),
                           .max_prefill_tokens = draw(r, 1, 200),
                           .init_ratio = (double)draw(r, 0, 10) / 10,
                           .decay_steps = draw(r, 1, 20),
                           .prefill_decode_interval = draw(r, 0, 3) == 0 ? draw(r, 1, 3) : 0,
                           .policy = (blis_sglang_policy)draw(r, 0, 4),
                           .mixes = draw(r, 0, 2) == 0,
                           .has_cache = draw(r, 0, 5) > 0,
                           .overlaps = draw(r, 0, 1) == 0},
                .page = page,
                .kv_blocks = draw(r, 3, 400 / page),
                .max_num_seqs = draw(r, 1, 12)},
      .count = (size_t)draw(r, 1, 60)};
  c->scene.sglang.min_ratio = c->scene.sglang.init_ratio * (double)draw(r, 0, 10) / 10;
  int64_t arrival_us = 0;
  for (size_t i = 0; i < c->count; i++) {
    int64_t output = draw(r, 0, 60);
    arrival_us += draw(r, 0, 3) * draw(r, 0, 1500);
    c->requests[i] =
        (driver_request){.number = (int64_t)i,
                         .arrival_us = arrival_us,
                         .deadline_us = draw(r, 0, 9) == 0 ? arrival_us + draw(r, 1, 30000) : 0,
                         .prompt = draw(r, 0, 120),
                         .output = output,
                         .budget = draw(r, 0, 3) == 0 ? 0 : output + draw(r, 0, 20),
                         .group = (int)draw(r, 0, 3),
                         .prefix = draw(r, 0, 100)};
  }
}

/* Every request ends in one state, no KV is lost, all invariants hold after every event, and both
   kinds of engine agree. */
static void test_random_cases(void) {
  static sglang_case c;
  static driver_request twins[60];
  blis_random random;
  int64_t retractions = 0;
  blis_random_init(&random, 40);
  for (int k = 0; k < CASES(1500); k++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_error error;
    trace t = {.scene = &c.scene};
    blis_latency_model latency = {.ops = &constant_ops, .state = &t};
    draw_case(&random, &c);
    memcpy(twins, c.requests, sizeof twins);
    driver both[2];
    for (int i = 0; i < 2; i++) {
      blis_instance_config config = config_of(&c.scene, &latency);
      config.engine = i == 0 ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
      driver_set_up(&both[i], &alloc, &config, i == 0 ? c.requests : twins, c.count);
      CHECK_OK(driver_run(&both[i], &error), &error);
      CHECK_OK(blis_instance_close(both[i].instances[0], &error), &error);
      blis_instance_stats stats = driver_stats(&both[i]);
      CHECK_EQ_I64(both[i].ended, (int64_t)c.count);
      CHECK_EQ_I64(stats.used_kv_blocks, 0);
      CHECK_EQ_I64(stats.queue_depth + stats.batch_size, 0);
      retractions += stats.preemptions;
    }
    for (size_t i = 0; i < c.count; i++) {
      const driver_request *a = &c.requests[i];
      CHECK_EQ_I64(a->end_us, twins[i].end_us);
      CHECK_EQ_I64(a->live.ttft_us, twins[i].live.ttft_us);
      if (a->live.state == BLIS_REQUEST_COMPLETED && a->output > 0) {
        CHECK_EQ_I64(a->live.itl_count, a->output - 1);
        CHECK_EQ_I64(a->live.e2e_us, a->live.ttft_us + a->live.itl_sum_us);
      }
    }
    driver_deinit(&both[0]);
    driver_deinit(&both[1]);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(retractions > 100);
}

/* Out of memory at any allocation is an error, and everything can be freed. */
static void test_exhausted_memory(void) {
  bool is_through = false;
  for (int64_t limit = 0; !is_through; limit++) {
    blis_alloc_probe memory = {.fail_at = (long)limit + 1};
    blis_alloc alloc = blis_alloc_probed(&memory);
    trace t = {.scene = &scenes[0]};
    blis_latency_model latency = {.ops = &constant_ops, .state = &t};
    scene s = {.sglang = {DEFAULTS, .policy = BLIS_SGLANG_DFS_WEIGHT, .overlaps = true}};
    blis_instance_config config = config_of(&s, &latency);
    driver_request requests[] = {SHARING(0, 0, 100, 3, 1, 80), SHARING(1, 0, 100, 4, 2, 80),
                                 SHARING(2, 3, 101, 2, 1, 70), SHARING(3, 3, 102, 2, 2, 90)};
    driver d = {.alloc = alloc, .config = config, .requests = requests, .request_count = 4};
    blis_error error;
    blis_status status = driver_init(&d, 1, &error);
    if (status == BLIS_OK) {
      status = driver_run(&d, &error);
    }
    is_through = status == BLIS_OK;
    CHECK(is_through || status == BLIS_ERR_NOMEM);
    driver_deinit(&d);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void test_conflicts(void) {
  blis_error error;
  trace t = {0};
  blis_latency_model latency = {.ops = &constant_ops, .state = &t};
  scene s = {.sglang = {DEFAULTS}};
  blis_instance_config config = config_of(&s, &latency);
  CHECK_OK(blis__sglang_check(&config, &error), &error);
  config.preemption = BLIS_PREEMPTION_PRIORITY;
  CHECK_STATUS(blis__sglang_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "cannot be combined with another preemption policy");
  config.preemption = BLIS_PREEMPTION_FCFS;
  config.rules.drops_last_kv = false;
  CHECK_STATUS(blis__sglang_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "profile go-blis");
  config.rules.drops_last_kv = true;
  config.block_size_tokens = 10000;
  CHECK_STATUS(blis__sglang_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "chunked_prefill_size is 8192; expected at least 10000");
  config.block_size_tokens = 1;
  config.kv_blocks = 2;
  CHECK_STATUS(blis__sglang_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "kv_blocks is 2; expected at least 3 pages");
}

int main(void) {
  RUN(test_scenes);
  RUN(test_ratio);
  RUN(test_random_cases);
  RUN(test_exhausted_memory);
  RUN(test_conflicts);
  return check_done();
}
