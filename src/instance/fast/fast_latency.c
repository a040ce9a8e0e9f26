/*
 * The inter-token latencies of decodes. They are added to the histogram as their steps are
 * computed, without visiting the decodes. If the latencies of a request must not be counted at its
 * end, the history removes them: those since it started to decode, and those of its earlier ranges
 * of steps.
 */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/timing.h"

/* Maximum age, in steps, of the ranges that requests keep; see own_older. */
enum { KEPT_STEPS_MAX = 1 << 13 };

/* Keeps the latencies from first_decode_step to now as a range of the request. */
static blis_status close_range(fast_engine *engine, fast_request *request) {
  step_range range = {request->first_decode_step, engine->step_index};
  request->first_decode_step = INT64_MAX;
  if (engine->events.itl_us == NULL || range.first >= range.end) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_push(&engine->alloc, &request->kept_steps, range));
  if (request->kept_steps.count == 1) {
    blis__fast_list_append(&engine->keepers, request);
  }
  return BLIS_OK;
}

void blis__fast_forget_itl(fast_engine *engine, fast_request *request) {
  if (request->kept_steps.count > 0) {
    request->kept_steps.count = 0;
    blis__fast_list_remove(&engine->keepers, request);
  }
  request->own_itl_us.count = 0;
  request->first_decode_step = INT64_MAX;
}

void blis__fast_withdraw_itl(fast_engine *engine, fast_request *request) {
  for (size_t i = 0; i < request->own_itl_us.count; i++) {
    blis_histogram_remove(engine->events.itl_us, request->own_itl_us.items[i], 1);
  }
  for (size_t i = 0; i < request->kept_steps.count; i++) {
    blis__step_history_withdraw(&engine->history, request->kept_steps.items[i]);
  }
  step_range since = {request->first_decode_step, engine->step_index};
  if (engine->events.itl_us != NULL && since.first < since.end) {
    blis__step_history_withdraw(&engine->history, since);
  }
  blis__fast_forget_itl(engine, request);
}

/* Stores a latency, which is already in the histogram, with the request. */
static blis_status own(fast_engine *engine, fast_request *request, int64_t itl_us) {
  return engine->events.itl_us == NULL
             ? BLIS_OK
             : blis_array_push(&engine->alloc, &request->own_itl_us, itl_us);
}

blis_status blis__fast_add_own_itl(fast_engine *engine, fast_request *request, int64_t itl_us,
                                   blis_error *error) {
  request->own_itl_sum_us = blis_time_after_us(request->own_itl_sum_us, itl_us);
  BLIS_TRY_MEM(own(engine, request, itl_us), error);
  return blis__count_itl(engine->events.itl_us, &itl_us, 1, 1, error);
}

blis_status blis__fast_skip_itl(fast_engine *engine, fast_request *request, int64_t itl_us) {
  request->itl_total_before += (uint64_t)itl_us;
  BLIS_TRY(close_range(engine, request));
  request->first_decode_step = engine->step_index + 1;
  return BLIS_OK;
}

blis_status blis__fast_keep_itl(fast_engine *engine, fast_request *request) {
  if (!request->is_decoding) {
    return BLIS_OK;
  }
  BLIS_TRY(close_range(engine, request));
  blis__fast_note_progress(engine, request);
  request->own_itl_sum_us = request->live->itl_sum_us;
  request->token_end_us = engine->clock_us - request->gap_us;
  return BLIS_OK;
}

void blis__fast_note_first_itl(const fast_engine *engine, const fast_request *request) {
  if (!request->was_reserved || engine->config->rules.resumes_preempted) {
    return;
  }
  int64_t step = request->kept_steps.count > 0 ? request->kept_steps.items[0].first
                                               : request->first_decode_step;
  if (request->own_itl_us.count > 0) {
    request->live->first_itl_us = request->own_itl_us.items[0];
  } else if (step < engine->step_index) {
    request->live->first_itl_us = blis__step_history_at(&engine->history, step);
  }
}

/* Moves the latencies of its ranges to the request's own latencies, one by one. */
static blis_status own_ranges(fast_engine *engine, fast_request *request) {
  for (size_t i = 0; i < request->kept_steps.count; i++) {
    step_range range = request->kept_steps.items[i];
    for (int64_t step = range.first; step < range.end; step++) {
      BLIS_TRY(own(engine, request, blis__step_history_at(&engine->history, step)));
    }
  }
  request->kept_steps.count = 0;
  blis__fast_list_remove(&engine->keepers, request);
  return BLIS_OK;
}

/*
 * Finds the oldest step that is still needed. A request that waits long after a preemption must not
 * make the history grow, so its ranges are converted.
 */
static blis_status find_oldest(fast_engine *engine, int64_t *oldest) {
  *oldest = engine->step_index;
  for (const fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    if (r->is_decoding) {
      *oldest = blis_min_i64(*oldest, r->first_decode_step);
    }
  }
  int64_t limit = blis_min_i64(*oldest, engine->step_index - KEPT_STEPS_MAX);
  fast_request *next = NULL;
  for (fast_request *r = engine->keepers.head; r != NULL; r = next) {
    next = r->links[FAST_LINK_KEEPER].next;
    int64_t first = r->kept_steps.items[0].first;
    if (first < limit) {
      BLIS_TRY(own_ranges(engine, r));
    } else {
      *oldest = blis_min_i64(*oldest, first);
    }
  }
  return BLIS_OK;
}

/* Makes space for n more steps by dropping steps that are no longer needed. */
static blis_status make_history_room(fast_engine *engine, size_t n) {
  step_history *history = &engine->history;
  int64_t oldest;
  BLIS_TRY(find_oldest(engine, &oldest));
  blis__step_history_forget(history, oldest, engine->events.itl_us);
  /* Half of the capacity stays free, so that this is not needed again soon. */
  while (blis__step_history_room(history) * 2 < history->capacity ||
         blis__step_history_room(history) < n) {
    BLIS_TRY(blis__step_history_grow(&engine->alloc, history));
  }
  return BLIS_OK;
}

blis_status blis__fast_record_itl(fast_engine *engine, const int64_t *itl_us, size_t n,
                                  uint64_t sum_us, int64_t decodes, blis_error *error) {
  if (blis__step_history_room(&engine->history) < n) {
    BLIS_TRY_MEM(make_history_room(engine, n), error);
  }
  blis__step_history_add(&engine->history, itl_us, n);
  engine->itl_total_us += sum_us;
  return blis__count_itl(engine->events.itl_us, itl_us, n, decodes, error);
}

void blis__fast_settle_itl(fast_engine *engine) {
  if (engine->events.itl_us != NULL) {
    blis__step_history_settle(&engine->history, engine->history.next_step, engine->events.itl_us);
  }
}
