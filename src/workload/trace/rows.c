#include "workload/trace/rows.h"

blis_status blis__trace_text(const blis__trace_job *job, blis_slice text,
                             uint32_t *id, blis_error *error) {
  *id = 0;
  if (text.length > 0 && blis_workload_text(job->workload, text.data,
                                            text.length, id) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

blis_status blis__trace_note_failed(const blis__trace_job *job, int64_t failed,
                                    blis_error *error) {
  if (failed > 0 &&
      blis_workload_note(job->workload,
                         "%s: left out are requests that failed, since it is "
                         "not known what they would have produced: %lld",
                         job->name, (long long)failed) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}
