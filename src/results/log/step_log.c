#include "results/log/step_log.h"

#include "base/invariant.h"
#include "base/minmax.h"

void blis_step_log_init(blis_step_log *log, const blis_alloc *alloc, size_t most, int64_t from_us,
                        int64_t to_us) {
  BLIS_ASSERT(most >= 2);
  *log = (blis_step_log){
      .alloc = *alloc, .most = most, .from_us = from_us, .to_us = to_us, .merged = 1};
}

void blis_step_log_deinit(blis_step_log *log) {
  if (log->alloc.fn != NULL) {
    for (size_t i = 0; i < log->lists.count; i++) {
      blis_array_deinit(&log->alloc, &log->lists.items[i].entries);
    }
    blis_array_deinit(&log->alloc, &log->lists);
  }
  *log = (blis_step_log){0};
}

/* Merges the steps of b, which follow the steps of a, into a. */
static void append(blis_step_entry *a, const blis_step_entry *b) {
  BLIS_ASSERT(a->end_us <= b->start_us);
  a->steps += b->steps;
  a->end_us = b->end_us;
  a->busy_us += b->busy_us;
  a->prefill_requests += b->prefill_requests;
  a->prefill_tokens += b->prefill_tokens;
  a->decode_requests += b->decode_requests;
  a->in_front_end += b->in_front_end;
  a->waiting += b->waiting;
  a->used_kv_blocks += b->used_kv_blocks;
}

/* Merges adjacent entries that fit together. The number of entries is at least halved, except
   for one entry per instance. */
static void merge(blis_step_log *log) {
  log->merged *= 2;
  log->count = 0;
  for (size_t i = 0; i < log->lists.count; i++) {
    blis_step_list *list = &log->lists.items[i];
    size_t kept = 0;
    for (size_t k = 0; k < list->entries.count; k++) {
      const blis_step_entry *entry = &list->entries.items[k];
      blis_step_entry *last = kept > 0 ? &list->entries.items[kept - 1] : NULL;
      if (last != NULL && last->steps + entry->steps <= log->merged) {
        append(last, entry);
      } else {
        list->entries.items[kept++] = *entry;
      }
    }
    list->entries.count = kept;
    log->count += kept;
  }
}

static blis_status list_of(blis_step_log *log, uint32_t instance, blis_step_list **list) {
  while (log->lists.count <= instance) {
    BLIS_TRY(blis_array_push(&log->alloc, &log->lists, ((blis_step_list){0})));
  }
  *list = &log->lists.items[instance];
  return BLIS_OK;
}

/* Ends the step in progress at now_us. */
static void cut(blis_step_entry *last, int64_t now_us) {
  int64_t lost_us = last->end_us - now_us;
  if (lost_us > 0) {
    last->end_us = now_us;
    last->busy_us -= blis_min_i64(lost_us, last->busy_us);
  }
}

blis_status blis_step_log_add(blis_step_log *log, uint32_t instance, const blis_step_report *report,
                              int64_t in_front_end) {
  if (report->end_us < log->from_us || report->start_us > log->to_us) {
    return BLIS_OK;
  }
  blis_step_list *list;
  BLIS_TRY(list_of(log, instance, &list));
  const blis_step_entry entry = {
      .steps = 1,
      .start_us = report->start_us,
      .end_us = report->end_us,
      .busy_us = report->end_us - report->start_us,
      .prefill_requests = report->prefill_requests,
      .prefill_tokens = report->prefill_tokens,
      .decode_requests = report->decode_requests,
      .in_front_end = in_front_end,
      .waiting = report->waiting,
      .used_kv_blocks = report->used_kv_blocks,
  };
  if (list->entries.count > 0) {
    blis_step_entry *last = &list->entries.items[list->entries.count - 1];
    BLIS_ASSERT(last->start_us <= entry.start_us);
    cut(last, entry.start_us);
    if (last->steps < log->merged) {
      append(last, &entry);
      return BLIS_OK;
    }
  }
  BLIS_TRY(blis_array_push(&log->alloc, &list->entries, entry));
  log->count++;
  if (log->count > log->most && log->count > 2 * log->lists.count) {
    merge(log);
  }
  return BLIS_OK;
}
