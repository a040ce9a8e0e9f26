#include "workload/trace/read/trace.h"

#include "workload/trace/read/open.h"
#include "workload/trace/read/stream_state.h"
#include "workload/trace/rows/rows.h"
#include "workload/workload_edit.h"

/* Files that are larger are streamed if possible. */
enum {
  LARGE_BYTES = 64 << 20,
  LARGE_PACKED_BYTES = 8 << 20,
};

/* Lists. */

static blis_status add_rows(blis__trace_file *file, blis_error *error) {
  blis_workload *workload = file->job.workload;
  const blis__trace_format *format = file->format;
  for (;;) {
    blis_request row;
    bool has_row;
    BLIS_TRY(format->next(file->reader, &row, &has_row, error));
    if (!has_row) {
      break;
    }
    BLIS_TRY_MEM(blis_workload_add(workload, &row), error);
  }
  BLIS_TRY(blis__trace_finish(file, error));
  BLIS_TRY_MEM(blis_workload_describe(workload, "%s trace %s", format->name,
                                      blis__trace_file_name(file->job.name)),
               error);
  if (format->settle != NULL) {
    blis__workload_edit(workload, format->settle, file->reader);
  }
  BLIS_TRY_MEM(blis_workload_seal(workload), error);
  bool is_numbered = format->numbers_rounds != NULL && format->numbers_rounds(file->reader);
  if (is_numbered && blis__workload_number_rounds(workload) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return blis_workload_count(workload) > 0 ? BLIS_OK : blis__trace_fail_empty(file, error);
}

static bool is_large(const blis__trace_job *job) {
  return !job->is_whole && job->size_bytes > (job->is_packed ? LARGE_PACKED_BYTES : LARGE_BYTES);
}

/* Reads a list, or determines that the file should be streamed. */
static blis_status read_list(const blis_alloc *alloc, const char *path,
                             const blis_trace_options *options, bool only_if_small,
                             blis_workload **workload, bool *is_left, blis_error *error) {
  blis_workload *made = blis_workload_new(alloc);
  BLIS_TRY_NEW(made, error);
  blis__trace_file file;
  blis_status status = blis__trace_open(alloc, path, options, made, &file, error);
  *is_left = status == BLIS_OK && only_if_small && is_large(&file.job);
  if (status == BLIS_OK && !*is_left) {
    status = add_rows(&file, error);
  }
  blis__trace_close(&file);
  if (status != BLIS_OK || *is_left) {
    blis_workload_free(made);
    return status;
  }
  *workload = made;
  return BLIS_OK;
}

blis_status blis_trace_read(const blis_alloc *alloc, const char *path,
                            const blis_trace_options *options, blis_workload **workload,
                            blis_error *error) {
  const blis_trace_options defaults = {0};
  bool is_left;
  return read_list(alloc, path, options != NULL ? options : &defaults, false, workload, &is_left,
                   error);
}

/* List or stream. */

blis_status blis_trace_open(const blis_alloc *alloc, const char *path,
                            const blis_trace_options *options, blis_workload **workload,
                            blis_trace_stream **stream, blis_error *error) {
  const blis_trace_options defaults = {0};
  options = options != NULL ? options : &defaults;
  *workload = NULL;
  *stream = NULL;
  bool is_left = true;
  BLIS_TRY(read_list(alloc, path, options, true, workload, &is_left, error));
  if (!is_left) {
    return BLIS_OK;
  }
  bool is_ordered = true;
  BLIS_TRY(blis__trace_stream_try(alloc, path, options, stream, &is_ordered, error));
  return is_ordered ? BLIS_OK : blis_trace_read(alloc, path, options, workload, error);
}
