/*
 * Prints what a generated request costs, what naming its blocks costs, and how
 * fast traces are read: the public Mooncake trace when it is there, and written
 * ones of TraceV2 and Azure.
 */
#include <inttypes.h>
#include <time.h>

#include "check.h"
#include "temp_file.h"
#include "workload/block_namer.h"
#include "workload/generate/generator.h"
#include "workload/spec/short_form.h"
#include "workload/spec/written_spec.h"
#include "workload/statistics.h"
#include "workload/trace/read/trace.h"

#ifndef BLIS_SHARED_DIR
#define BLIS_SHARED_DIR "../shared"
#endif

enum { REQUESTS = 300000, TRACE_ROWS = 200000, ROUNDS = 3 };

static blis_alloc heap;
static blis_error error;

/* Of the processor: other work on the machine does not count. */
static double now_ns(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static blis_generator *new_generator(const blis_short_form *form) {
  blis_arena arena;
  blis_arena_init(&arena, &heap);
  blis_workload_spec spec;
  blis_generator *generator;
  CHECK_OK(blis_short_form_expand(form, &arena, &spec, &error), &error);
  CHECK_OK(blis_generator_new(&heap, &spec, &generator, &error), &error);
  blis_arena_deinit(&arena);
  return generator;
}

/* ns per request of a form; with a block size, the naming is part of it. */
static double measure_form(const blis_short_form *form, uint32_t block_size) {
  double best = 0;
  for (int round = 0; round < ROUNDS; round++) {
    blis_generator *generator = new_generator(form);
    blis_block_namer *namer = blis_block_namer_new(&heap);
    blis_request_source source = blis_generator_source(generator);
    blis_block_chain chain = {0};
    double start = now_ns();
    for (;;) {
      blis_request request;
      bool done;
      CHECK_OK(source.next(source.state, &request, &done, &error), &error);
      if (done) {
        break;
      }
      if (block_size > 0) {
        blis_block_namer_release(namer, &chain);
        CHECK_OK(blis_block_namer_chain(namer, &request, block_size, &chain, &error), &error);
      }
    }
    double spent = (now_ns() - start) / (double)form->num_requests;
    best = round == 0 || spent < best ? spent : best;
    blis_block_namer_free(namer);
    blis_generator_free(generator);
  }
  return best;
}

static double report_generation(const char *name, const blis_short_form *form) {
  double plain = measure_form(form, 0);
  double named = measure_form(form, 16);
  printf("generate %-24s %7.1f ns/request  %7.2f M requests/s  "
         "%6.1f ns more to name blocks of 16\n",
         name, plain, 1e3 / plain, named - plain);
  return plain;
}

static void report_generators(void) {
  blis_short_form form = blis_short_form_default();
  form.seed = 1;
  form.rate = 1000;
  form.num_requests = REQUESTS;
  form.lazy_tokens = true;
  double lazy_ns = report_generation("lazy", &form);
  form.prefix_groups = 8;
  form.prefix_tokens = 1024;
  report_generation("lazy, 8 prefixes", &form);
  form.prefix_groups = 1000;
  report_generation("lazy, 1000 prefixes", &form);
  form.lazy_tokens = false;
  form.prefix_groups = 0;
  double full_ns = report_generation("512 + 512 ids", &form);
  form.prefix_groups = 8;
  report_generation("512 + 512 ids, 8 prefixes", &form);
  printf("  wanted: lazy at least 3 M requests/s: %.2f; ids at most 2 ns each: "
         "%.2f\n",
         1e3 / lazy_ns, (full_ns - lazy_ns) / 1024);
}

/* Generators that make all requests beforehand, and sessions on the way. */
static const char sessions_yaml[] =
    "seed: 1\naggregate_rate: 100\nnum_requests: 100000\ntokens: lazy\n"
    "clients:\n"
    "  - rate_fraction: 1\n"
    "    arrival: {process: poisson}\n"
    "    input_distribution: &lengths {type: exponential, params: {mean: "
    "100}}\n"
    "    output_distribution: *lengths\n"
    "    reasoning: {multi_turn: {max_rounds: 5, context_growth: accumulate}}\n"
    "    closed_loop: ";

/* Every request is answered at once. */
static int64_t drain(blis_generator *generator) {
  blis_request_source source = blis_generator_source(generator);
  int64_t count = 0;
  for (;;) {
    blis_request request;
    bool done;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    if (done) {
      return count;
    }
    bool has_more = true;
    for (count++; source.ended != NULL && has_more; count += has_more) {
      const blis_request_outcome outcome = {.end_us = request.arrival_us + 1000,
                                            .produced_tokens = (int64_t)request.output_tokens - 1,
                                            .is_completed = true};
      const blis_request before = request;
      CHECK_OK(source.ended(source.state, &before, &outcome, &request, &has_more, &error), &error);
    }
  }
}

static void report_sessions(const char *loop, const char *name) {
  char text[600];
  snprintf(text, sizeof text, "%s%s\n", sessions_yaml, loop);
  const char *path = temp_file("sessions.yaml", text);
  double best = 0;
  int64_t count = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double start = now_ns();
    blis_written_spec *written;
    blis_generator *generator;
    CHECK_OK(blis_written_spec_read(&heap, path, NULL, &written, &error), &error);
    CHECK_OK(blis_generator_new(&heap, blis_written_spec_get(written), &generator, &error), &error);
    blis_written_spec_free(written);
    count = drain(generator);
    blis_generator_free(generator);
    double spent = (now_ns() - start) / (double)count;
    best = round == 0 || spent < best ? spent : best;
  }
  printf("generate %-26s %7.1f ns/round, %" PRId64 " rounds\n", name, best, count);
}

static double file_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  double size = (double)ftell(file);
  fclose(file);
  return size;
}

/* wanted may be NULL. */
static void report_trace(const char *name, const char *path, const char *wanted) {
  double best = 0;
  blis_workload *workload = NULL;
  for (int round = 0; round < ROUNDS; round++) {
    blis_workload_free(workload);
    double start = now_ns();
    CHECK_OK(blis_trace_read(&heap, path, NULL, &workload, &error), &error);
    double spent = now_ns() - start;
    best = round == 0 || spent < best ? spent : best;
  }
  double rows = (double)blis_workload_count(workload);
  printf("read %-12s %8.0f rows  %7.1f ms  %7.2f M rows/s  %6.0f MB/s\n", name, rows, best / 1e6,
         rows / best * 1e3, file_bytes(path) / best * 1e3);
  if (wanted != NULL) {
    printf("  wanted: %s\n", wanted);
  }
  static const uint32_t block_sizes[] = {16, 512};
  for (size_t i = 0; i < 2; i++) {
    blis_workload_statistics statistics;
    double start = now_ns();
    CHECK_OK(blis_workload_measure(&heap, workload, block_sizes[i], &statistics, &error), &error);
    printf("  statistics, blocks of %-4u %7.1f ms  %4.1f %% reused\n", block_sizes[i],
           (now_ns() - start) / 1e6, 100 * statistics.reused_share);
  }
  blis_workload_free(workload);
}

static const char *write_trace_v2(void) {
  temp_file("bench.yaml", "trace_version: 3\ntime_unit: microseconds\n"
                          "mode: generated\n");
  const char *path = temp_file("bench.csv", "");
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  fputs("request_id,client_id,tenant_id,slo_class,session_id,round_index,"
        "prefix_group,prefix_length,streaming,input_tokens,output_tokens,"
        "text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,"
        "deadline_us,server_input_tokens,arrival_time_us,send_time_us,"
        "first_chunk_time_us,last_chunk_time_us,num_chunks,status,"
        "error_message,finish_reason\n",
        file);
  for (int i = 0; i < TRACE_ROWS; i++) {
    fprintf(file,
            "%d,chat,ten,critical,sess_%d,0,g%d,40,false,%d,%d,0,0,0,0,0.5,,"
            "%d,0,%d,%d,%d,%d,0,ok,,\n",
            i, i / 4, i % 8, 100 + i % 900, 1 + i % 300, 300000000 + i * 100, i * 100, i * 100,
            i * 100 + 28000, i * 100 + 130000);
  }
  CHECK(fclose(file) == 0);
  return path;
}

static const char *write_azure(void) {
  const char *path = temp_file("azure.csv", "");
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  fputs("TIMESTAMP,ContextTokens,GeneratedTokens\r\n", file);
  for (int i = 0; i < TRACE_ROWS; i++) {
    fprintf(file, "2023-11-16 %02d:%02d:%02d.%07d,%d,%d\r\n", i / 3600 % 24, i / 60 % 60, i % 60,
            i % 1000 * 10, 100 + i % 900, 1 + i % 300);
  }
  CHECK(fclose(file) == 0);
  return path;
}

int main(void) {
  heap = blis_alloc_heap();
  report_generators();
  report_sessions("false", "rounds at planned times");
  report_sessions("true", "rounds after answers");
  const char *shared = getenv("BLIS_SHARED_DIR");
  char path[512];
  snprintf(path, sizeof path, "%s/traces/mooncake_conversation.jsonl",
           shared != NULL ? shared : BLIS_SHARED_DIR);
  FILE *file = fopen(path, "rb");
  if (file != NULL) {
    fclose(file);
    report_trace("mooncake", path, "under 50 ms");
  }
  report_trace("tracev2", write_trace_v2(), "at least 150 MB/s");
  report_trace("azure", write_azure(), NULL);
  return 0;
}
