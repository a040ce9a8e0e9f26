/* TensorRT-LLM's scheduler, batch by batch (serving_scene.h). */
#include "instance/trtllm/trtllm.h"
#include "serving_scene.h"

/* The defaults of TensorRT-LLM, without overlap. */
#define DEFAULTS .has_reuse = true, .skips_equal = true, .look_ahead = 1

static const scene scenes[] = {
    {.name = "1: slots and tokens of a step",
     .trtllm = {DEFAULTS},
     .page = 4,
     .max_num_seqs = 4,
     .max_tokens = 12,
     .requests = {AT(1, 0, 5, 2), AT(2, 0, 5, 9), AT(3, 0, 5, 9), AT(4, 0, 5, 9), AT(5, 0, 5, 9)},
     .trace = "{1:5,2:5} {1,2,3:5,4:5} {2,3,4,5:5} {2,3,4,5}"},
    {.name = "2: chunks in order",
     .trtllm = {DEFAULTS, .chunks = true},
     .page = 4,
     .max_tokens = 12,
     .requests = {AT(1, 0, 4, 9), AT(2, 0, 4, 9), AT(3, 1, 5, 9), AT(4, 1, 9, 9)},
     .trace = "{1:4,2:4} {1,2,3:5,4:4} {1,2,3,4:5} {1,2,3,4}"},
    {.name = "3: equal progress",
     .trtllm = {DEFAULTS, .chunks = true, .chunking = BLIS_TRTLLM_EQUAL_PROGRESS},
     .page = 4,
     .max_tokens = 12,
     .requests = {AT(1, 0, 4, 9), AT(2, 0, 4, 9), AT(3, 1, 9, 9), AT(4, 1, 9, 9)},
     .trace = "{1:4,2:4} {1,2,3:4,4:4} {1,2,3:5,4:5} {1,2,3,4}"},
    {.name = "3: the same in order",
     .trtllm = {DEFAULTS, .chunks = true},
     .page = 4,
     .max_tokens = 12,
     .requests = {AT(1, 0, 4, 9), AT(2, 0, 4, 9), AT(3, 1, 9, 9), AT(4, 1, 9, 9)},
     .trace = "{1:4,2:4} {1,2,3:9} {1,2,3,4:9} {1,2,3,4}"},
    {.name = "4: blocks are reserved until the end, and the first that does not fit blocks others",
     .trtllm = {DEFAULTS},
     .kv_blocks = 112,
     .page = 32,
     .requests = {AT(0, 0, 320, 640), AT(1, 40, 1000, 1000), AT(2, 40, 320, 320),
                  AT(3, 40, 10, 10)},
     .from_step = 40,
     .trace = "{0,1:1000} {0,1} {0,1}"},
    {.name = "5: without a limit of the client, the longest sequence is reserved",
     .trtllm = {DEFAULTS},
     .kv_blocks = 10000,
     .page = 32,
     .max_model_len = 131072,
     .requests = {WITH_LIMIT(0, 0, 100, 3, 0), WITH_LIMIT(1, 0, 100, 4, 0),
                  WITH_LIMIT(2, 0, 100, 2, 0)},
     .trace = "{0:100,1:100} {0,1} {0,1} {1,2:100} {2}"},
    {.name = "6: a prompt that is longer than a step",
     .trtllm = {DEFAULTS},
     .page = 4,
     .max_tokens = 20,
     .requests = {AT(0, 0, 25, 2), AT(1, 0, 5, 2)},
     .trace = "{1:5} {1}"},
    {.name = "6: a prompt waits until decodes have ended, and so do those behind it",
     .trtllm = {DEFAULTS},
     .page = 4,
     .max_tokens = 20,
     .requests = {AT(0, 0, 3, 3), AT(1, 0, 3, 4), AT(2, 0, 3, 9), AT(3, 0, 3, 9), AT(4, 0, 3, 9),
                  AT(5, 0, 3, 9), AT(6, 1, 16, 9), AT(7, 1, 1, 9)},
     .trace = "{0:3,1:3,2:3,3:3,4:3,5:3} {0,1,2,3,4,5} {0,1,2,3,4,5} {1,2,3,4,5} "
              "{2,3,4,5,6:16} {2,3,4,5,6,7:1}"},
    {.name = "7: the last one pauses, and keeps its place",
     .trtllm = {DEFAULTS, .capacity = BLIS_TRTLLM_MAX_UTILIZATION},
     .kv_blocks = 16,
     .page = 4,
     .requests = {AT(0, 0, 20, 3), AT(1, 0, 20, 3), AT(2, 0, 20, 5), AT(3, 1, 4, 5)},
     .trace = "{0:20,1:20,2:20} {0,1} {0,1} {2:5,3:4} {2,3}"},
    {.name = "8: a prompt waits for the blocks of an equal one",
     .trtllm = {DEFAULTS},
     .page = 32,
     .requests = {SHARING(1, 0, 2048, 5, 1, 2048), SHARING(2, 0, 2048, 5, 1, 2048),
                  AT(3, 0, 100, 5)},
     .trace = "{1:2048,3:100} {1,2:32,3} {1,2,3}"},
    {.name = "8: vLLM finds them in the same step",
     .backend = VLLM,
     .page = 32,
     .requests = {SHARING(1, 0, 2048, 5, 1, 2048), SHARING(2, 0, 2048, 5, 1, 2048),
                  AT(3, 0, 100, 5)},
     .trace = "{1:2048,2:32,3:100} {1,2,3}"},
    {.name = "11: two steps ahead",
     .trtllm = {.capacity = BLIS_TRTLLM_MAX_UTILIZATION, .look_ahead = 2},
     .kv_blocks = 2,
     .page = 32,
     .requests = {AT(0, 0, 31, 2), AT(1, 0, 31, 2)},
     .trace = "{0:31,1:31} {0} {1:32}"},
    {.name = "11: one step ahead",
     .trtllm = {.capacity = BLIS_TRTLLM_MAX_UTILIZATION, .look_ahead = 1},
     .kv_blocks = 2,
     .page = 32,
     .requests = {AT(0, 0, 31, 2), AT(1, 0, 31, 2)},
     .trace = "{0:31,1:31} {0,1}"},
    {.name = "a static batch",
     .trtllm = {DEFAULTS, .capacity = BLIS_TRTLLM_STATIC_BATCH},
     .page = 4,
     .requests = {AT(0, 0, 5, 3), AT(1, 1, 5, 3), AT(2, 2, 5, 3)},
     .trace = "{0:5} {0} {0} {1:5,2:5} {1,2}"},
};

static void test_scenes(void) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    scene s = scenes[i];
    s.backend = s.backend == VLLM ? VLLM : TRTLLM;
    run_scene(&s);
  }
}

static void draw_scene(blis_random *r, scene *s, driver_request *requests, size_t count) {
  int64_t page = draw(r, 1, 16);
  *s = (scene){.trtllm = {.capacity = (blis_trtllm_capacity)draw(r, 0, 2),
                          .chunking = (blis_trtllm_chunking)draw(r, 0, 1),
                          .chunks = draw(r, 0, 1) == 0,
                          .has_reuse = draw(r, 0, 3) > 0,
                          .skips_equal = draw(r, 0, 1) == 0,
                          .look_ahead = draw(r, 1, 2)},
               .backend = TRTLLM,
               .page = page,
               .kv_blocks = draw(r, 2, 2 + 400 / page),
               .max_num_seqs = draw(r, 1, 12),
               .max_tokens = draw(r, page, 150)};
  int64_t arrival_us = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t output = draw(r, 0, 60);
    arrival_us += draw(r, 0, 3) * draw(r, 0, 1500);
    requests[i] =
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

/* Every request ends in one state, no KV is lost, and all invariants hold after every event. Only
   MAX_UTILIZATION preempts. */
static void test_random_cases(void) {
  enum { MOST = 60 };
  static driver_request requests[MOST];
  blis_random random;
  int64_t pauses = 0;
  blis_random_init(&random, 41);
  for (int k = 0; k < CASES(2000); k++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_error error;
    scene s;
    trace t = {.scene = &s};
    blis_latency_model latency = {.ops = &constant_ops, .state = &t};
    size_t count = (size_t)draw(&random, 1, MOST);
    driver d;
    draw_scene(&random, &s, requests, count);
    blis_instance_config config = config_of(&s, &latency);
    driver_set_up(&d, &alloc, &config, requests, count);
    CHECK_OK(driver_run(&d, &error), &error);
    CHECK_OK(blis_instance_close(d.instances[0], &error), &error);
    blis_instance_stats stats = driver_stats(&d);
    CHECK_EQ_I64(d.ended, (int64_t)count);
    CHECK_EQ_I64(stats.used_kv_blocks, 0);
    CHECK(stats.preemptions == 0 || s.trtllm.capacity == BLIS_TRTLLM_MAX_UTILIZATION);
    pauses += stats.preemptions;
    for (size_t i = 0; i < count; i++) {
      const driver_request *a = &requests[i];
      if (a->live.state == BLIS_REQUEST_COMPLETED && a->output > 0) {
        CHECK_EQ_I64(a->live.itl_count, a->output - 1);
      }
    }
    driver_deinit(&d);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(pauses > 100);
}

/* Out of memory at any allocation is an error, and everything can be freed. */
static void test_exhausted_memory(void) {
  bool is_through = false;
  for (long limit = 1; !is_through; limit++) {
    blis_alloc_probe memory = {.fail_at = limit};
    scene s = {.trtllm = {DEFAULTS, .chunks = true}, .backend = TRTLLM, .max_tokens = 50};
    trace t = {.scene = &s};
    blis_latency_model latency = {.ops = &constant_ops, .state = &t};
    driver_request requests[] = {SHARING(0, 0, 100, 3, 1, 80), SHARING(1, 0, 100, 4, 2, 80),
                                 SHARING(2, 3, 101, 2, 1, 70)};
    driver d = {.alloc = blis_alloc_probed(&memory),
                .config = config_of(&s, &latency),
                .requests = requests,
                .request_count = 3};
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
  scene s = {.trtllm = {DEFAULTS, .chunks = true}, .backend = TRTLLM, .page = 64, .max_tokens = 32};
  blis_instance_config config = config_of(&s, &latency);
  CHECK_STATUS(blis__trtllm_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "max_num_tokens is 32; expected at least 64");
  config.max_batched_tokens = 64;
  CHECK_OK(blis__trtllm_check(&config, &error), &error);
  config.cpu_blocks = 5;
  CHECK_STATUS(blis__trtllm_check(&config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "backend \"trtllm\" cannot be combined with a CPU tier");
}

int main(void) {
  RUN(test_scenes);
  RUN(test_random_cases);
  RUN(test_exhausted_memory);
  RUN(test_conflicts);
  return check_done();
}
