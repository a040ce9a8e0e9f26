/*
 * engine_case.h - one recorded case of the engine vectors: settings, latency
 * model, requests, and what was recorded.
 */
#ifndef BLIS_ENGINE_CASE_H
#define BLIS_ENGINE_CASE_H

#include "base/format/csv.h"
#include "engine_driver.h"
#include "instance/request/slo_priority.h"
#include "latency/step/trained_physics.h"
#include "vector_file.h"

enum { ENGINE_CASE_NAME_MAX = 100 };

/* qwen/qwen3-14b on an H100. */
static const blis_model_spec engine_case_model = {
    .name = "qwen3-14b",
    .layers = 40,
    .hidden_size = 5120,
    .attention_heads = 40,
    .kv_heads = 8,
    .vocab_size = 151936,
    .intermediate_size = 17408,
    .head_dim = 128,
    .bytes_per_param = 2,
};
static const blis_hardware_spec engine_case_hardware = {
    .name = "H100",
    .peak_tflops = 989.5,
    .fp8_tflops = 1979.0,
    .bandwidth_tb_s = 3.35,
    .mfu_prefill = 0.45,
    .mfu_decode = 0.30,
    .memory_gib = 80,
};

/* One recorded case. */
typedef struct engine_case {
  char name[ENGINE_CASE_NAME_MAX];
  char path[1200]; /* outlives the file's tree */
  blis_alloc alloc;
  blis_json file;
  blis_latency_model latency;
  blis_instance_config config;
  size_t instance_count;
  BLIS_ARRAY(driver_request) requests;
} engine_case;

static inline void engine_case_new_latency(engine_case *c) {
  double alpha[16];
  double beta[16];
  blis_json_value root = blis_json_root(&c->file);
  blis_parallelism parallelism = {.tp = 1, .dp = 1};
  blis_coefficients fit = {.alpha = alpha, .beta = beta};
  blis_error error;
  fit.alpha_count = vector_doubles(root, "alpha", alpha, 16);
  fit.beta_count = vector_doubles(root, "beta", beta, 16);
  CHECK_OK(blis_trained_physics_new(&c->alloc, &engine_case_model, &engine_case_hardware,
                                    &parallelism, &fit, &c->latency, &error),
           &error);
}

static inline blis_scheduler_kind engine_case_scheduler_of(const char *name) {
  static const char *const names[] = {
      [BLIS_SCHEDULER_FCFS] = "fcfs",
      [BLIS_SCHEDULER_PRIORITY_FCFS] = "priority-fcfs",
      [BLIS_SCHEDULER_SJF] = "sjf",
      [BLIS_SCHEDULER_REVERSE_PRIORITY] = "reverse-priority",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) {
      return (blis_scheduler_kind)i;
    }
  }
  check_fail(__FILE__, __LINE__, "unknown scheduler %s", name);
  return BLIS_SCHEDULER_FCFS;
}

static inline void engine_case_read_config(engine_case *c) {
  blis_json_value v = vector_member(blis_json_root(&c->file), "config");
  bool by_priority = strcmp(vector_text(v, "preempt"), "priority") == 0;
  c->instance_count = (size_t)vector_int(v, "n", 1);
  c->config = (blis_instance_config){
      .latency = &c->latency,
      .kv_blocks = vector_int(v, "blocks", 0),
      .block_size_tokens = vector_int(v, "bs", 0),
      .max_num_seqs = vector_int(v, "mns", 0),
      .max_batched_tokens = vector_int(v, "mbt", 0),
      .long_prefill_threshold_tokens = vector_int(v, "thr", 0),
      .max_model_len_tokens = vector_int(v, "mml", 0),
      .horizon_us = vector_int(v, "horizon", 0),
      .scheduler = engine_case_scheduler_of(vector_text(v, "sched")),
      .preemption = by_priority ? BLIS_PREEMPTION_PRIORITY : BLIS_PREEMPTION_FCFS,
      .cpu_blocks = vector_int(v, "cpu", 0),
      .cpu_bandwidth_tokens_per_us = vector_double(v, "bw", 0),
      .cpu_base_latency_us = vector_int(v, "base", 0),
  };
}

static inline int64_t engine_case_number(blis_csv *csv, const char *name) {
  int64_t value;
  blis_error error;
  CHECK_OK(blis_csv_int64(csv, blis_csv_column(csv, name), 0, INT64_MAX, &value, &error), &error);
  return value;
}

static inline blis_slice engine_case_text(blis_csv *csv, const char *name) {
  blis_slice text;
  blis_error error;
  CHECK_OK(blis_csv_text(csv, blis_csv_column(csv, name), &text, &error), &error);
  return text;
}

static inline void engine_case_read_row(engine_case *c, blis_csv *csv,
                                        const blis_slo_priority *priorities) {
  blis_slice group = engine_case_text(csv, "prefix_group");
  blis_slice slo = engine_case_text(csv, "slo_class");
  char slo_class[40];
  snprintf(slo_class, sizeof slo_class, "%.*s", (int)slo.length, slo.data);
  driver_request r = {
      .number = engine_case_number(csv, "request_id"),
      .arrival_us = engine_case_number(csv, "arrival_time_us"),
      .deadline_us = engine_case_number(csv, "deadline_us"),
      .output = engine_case_number(csv, "output_tokens"),
      .group = group.length == 0 ? 0 : group.data[0],
      .prefix = group.length == 0 ? 0 : engine_case_number(csv, "prefix_length"),
      .priority = -blis_slo_priority_of(priorities, slo_class),
  };
  r.prompt = r.prefix + engine_case_number(csv, "input_tokens");
  r.budget = r.output;
  CHECK(blis_array_push(&c->alloc, &c->requests, r) == BLIS_OK);
}

static inline void engine_case_read_trace(engine_case *c, const char *folder) {
  char path[1200];
  blis_csv *csv;
  blis_csv_options options = {.has_header = true};
  blis_slo_priority *priorities;
  blis_error error;
  bool has_row = true;
  snprintf(path, sizeof path, "%s/%s.csv", folder, c->name);
  CHECK_OK(blis_csv_open(&c->alloc, path, &options, &csv, &error), &error);
  CHECK_OK(blis_slo_priority_new(&c->alloc, NULL, 0, &priorities, &error), &error);
  CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  while (has_row) {
    engine_case_read_row(c, csv, priorities);
    CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  }
  blis_slo_priority_free(priorities);
  blis_csv_close(csv);
}

static inline void engine_case_load(engine_case *c, const blis_alloc *alloc, const char *folder,
                                    const char *name) {
  *c = (engine_case){.alloc = *alloc};
  snprintf(c->name, sizeof c->name, "%s", name);
  snprintf(c->path, sizeof c->path, "%s/%s.json", folder, name);
  vector_open(&c->file, alloc, c->path);
  engine_case_new_latency(c);
  engine_case_read_config(c);
  engine_case_read_trace(c, folder);
}

static inline void engine_case_unload(engine_case *c) {
  blis_json_deinit(&c->file);
  blis_latency_free(&c->latency);
  blis_array_deinit(&c->alloc, &c->requests);
}

#endif
