/*
 * Workload specifications: what can be read can be generated, but for what asks
 * for more memory than there is here.
 */
#include "fuzz.h"
#include "workload/generate/generator.h"
#include "workload/go_blis.h"
#include "workload/spec/written_spec.h"
#include "workload/workload.h"

enum { MAX_BYTES = 1 << 24, MAX_REQUESTS = 40 };

/* A heap with little room. */
typedef struct small_heap {
  blis_alloc heap;
  size_t used;
} small_heap;

static void *small_alloc(void *ud, void *block, size_t old_size, size_t new_size) {
  small_heap *small = ud;
  old_size = block != NULL ? old_size : 0;
  if (new_size > old_size && new_size - old_size > MAX_BYTES - small->used) {
    return NULL;
  }
  void *made = small->heap.fn(small->heap.ud, block, old_size, new_size);
  if (made != NULL || new_size == 0) {
    small->used += new_size - old_size;
  }
  return made;
}

/* In order of arrival, and of a length that fits everywhere. */
static void take(blis_generator *generator) {
  blis_request_source source = blis_generator_source(generator);
  blis_error error = {0};
  int64_t last_us = 0;
  for (int i = 0; i < MAX_REQUESTS; i++) {
    blis_request request;
    bool done = false;
    blis_status status = source.next(source.state, &request, &done, &error);
    fuzz_check(status, &error);
    if (status != BLIS_OK || done) {
      return;
    }
    FUZZ_NEED(request.arrival_us >= last_us);
    FUZZ_NEED(request.shared_tokens <= request.prompt_tokens);
    FUZZ_NEED(request.prompt_tokens <= 2U * BLIS_WORKLOAD_MAX_TOKENS);
    FUZZ_NEED(request.client < blis_intern_count(source.strings));
    last_us = request.arrival_us;
  }
}

static void read(const blis_alloc *alloc, const blis_yaml_node *root,
                 const blis_spec_settings *settings) {
  blis_error error = {0};
  blis_written_spec *written;
  blis_status status = blis_written_spec_from(alloc, root, settings, &written, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    return;
  }
  blis_generator *generator;
  status = blis_generator_new(alloc, blis_written_spec_get(written), &generator, &error);
  fuzz_check(status, &error);
  blis_written_spec_free(written);
  if (status == BLIS_OK) {
    take(generator);
    blis_generator_free(generator);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const blis_spec_settings settings[] = {{.lazy_tokens = true,
                                                 .replaces_tokens = true,
                                                 .num_requests = 20,
                                                 .replaces_num_requests = true},
                                                {.lazy_tokens = true,
                                                 .replaces_tokens = true,
                                                 .num_requests = 20,
                                                 .replaces_num_requests = true,
                                                 .is_script = true,
                                                 .rules = &blis_workload_go_blis}};
  small_heap small = {.heap = blis_alloc_heap()};
  blis_alloc alloc = {small_alloc, &small};
  blis_error error = {0};
  blis_yaml *yaml;
  blis_status status = blis_yaml_parse(&alloc, "fuzz.yaml", fuzz_slice(data, size), &yaml, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    for (size_t i = 0; i < 2; i++) {
      read(&alloc, blis_yaml_root(yaml), &settings[i]);
    }
    blis_yaml_free(yaml);
  }
  FUZZ_NEED(small.used == 0);
  return 0;
}
