/*
 * Traces of every format: a sealed workload that keeps its promises, or an
 * error. Some of what was read is written in both formats and read again.
 */
#include "workload/trace/read/trace.h"

#include "fuzz_files.h"
#include "workload/trace/write/write.h"

#define HEADER "trace_version: 3\ntime_unit: us\nmode: real\n"
#define ROWS "request_id,input_tokens,output_tokens,arrival_time_us\n0,1,2,3\n"

static const char *const names[] = {"input",     "header.yaml", "data.csv",
                                    "out.jsonl", "out.csv",     "out.yaml"};

static const char *path_of(size_t index) {
  return fuzz_path(index, names[index]);
}

static void make_folder(void) {
  if (fuzz_make_folder()) {
    fuzz_write_file(path_of(1), HEADER, strlen(HEADER));
    fuzz_write_file(path_of(2), ROWS, strlen(ROWS));
    (void)path_of(5); /* is written beside out.csv */
  }
}

static void check_workload(const blis_workload *workload) {
  size_t count = blis_workload_count(workload);
  uint32_t texts = blis_intern_count(blis_workload_strings(workload));
  int64_t last_us = INT64_MIN;
  FUZZ_NEED(count > 0);
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    uint64_t shared = 0;
    FUZZ_NEED(request->arrival_us >= last_us && request->arrival_us >= 0);
    for (uint32_t k = 0; k < request->segment_count; k++) {
      FUZZ_NEED(request->segments[k].length_tokens > 0);
      shared += request->segments[k].length_tokens;
    }
    FUZZ_NEED(shared == request->shared_tokens);
    FUZZ_NEED(shared <= request->prompt_tokens);
    FUZZ_NEED(request->session < texts && request->client < texts &&
              request->prefix_group < texts && request->model < texts);
    last_us = request->arrival_us;
  }
}

static void write_again(const blis_alloc *alloc, const blis_workload *workload, const char *path) {
  blis_trace_write_options options = {.renumber = true};
  blis_error error = {0};
  blis_workload *again;
  unlink(path);
  blis_status status = blis_trace_write(alloc, path, workload, &options, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    status = blis_trace_read(alloc, path, NULL, &again, &error);
    if (status != BLIS_OK) {
      fprintf(stderr, "%s\n", error.message);
    }
    FUZZ_NEED(status == BLIS_OK);
    FUZZ_NEED(blis_workload_count(again) == blis_workload_count(workload));
    blis_workload_free(again);
  }
}

static blis_status read_as(const blis_alloc *alloc, const char *path,
                           const blis_trace_options *options) {
  blis_error error = {0};
  blis_workload *workload;
  blis_status status = blis_trace_read(alloc, path, options, &workload, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    check_workload(workload);
    /* Files are slow; some are enough. */
    if (blis_workload_request(workload, 0)->prompt_tokens % 4 == 0) {
      write_again(alloc, workload, path_of(3));
      write_again(alloc, workload, path_of(4));
    }
    blis_workload_free(workload);
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  make_folder();
  const char *input = path_of(0);
  fuzz_write_file(input, data, size);
  blis_trace_options options = {.header_path = path_of(1)};
  if (read_as(&alloc, input, &options) != BLIS_OK) {
    options.format = blis_trace_format_name(size % blis_trace_format_count());
    (void)read_as(&alloc, input, &options);
    /* Or it is a header. */
    options = (blis_trace_options){.header_path = input};
    (void)read_as(&alloc, path_of(2), &options);
  }
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
