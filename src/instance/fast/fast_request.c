#include <string.h>

#include "base/invariant.h"
#include "instance/fast/fast_engine.h"

void blis__fast_list_insert(fast_list *list, fast_request *request, fast_request *before) {
  fast_request *after = before == NULL ? list->head : before->links[list->kind].next;
  request->links[list->kind].previous = before;
  request->links[list->kind].next = after;
  if (before == NULL) {
    list->head = request;
  } else {
    before->links[list->kind].next = request;
  }
  if (after == NULL) {
    list->tail = request;
  } else {
    after->links[list->kind].previous = request;
  }
  list->count++;
}

void blis__fast_list_append(fast_list *list, fast_request *request) {
  blis__fast_list_insert(list, request, list->tail);
}

void blis__fast_list_remove(fast_list *list, fast_request *request) {
  fast_request *previous = request->links[list->kind].previous;
  fast_request *next = request->links[list->kind].next;
  BLIS_ASSERT(previous == NULL ? list->head == request
                               : previous->links[list->kind].next == request);
  BLIS_ASSERT(next == NULL ? list->tail == request : next->links[list->kind].previous == request);
  BLIS_ASSERT(list->count > 0);
  if (previous == NULL) {
    list->head = next;
  } else {
    previous->links[list->kind].next = next;
  }
  if (next == NULL) {
    list->tail = previous;
  } else {
    next->links[list->kind].previous = previous;
  }
  list->count--;
}

/* Moves pending arrivals to the front once half of the array is consumed. */
static void compact(fast_arrivals *arrivals) {
  size_t spent = arrivals->first;
  if (spent < 16 || spent < arrivals->pending.count / 2) {
    return;
  }
  size_t count = arrivals->pending.count - spent;
  for (size_t i = 0; i < count; i++) {
    arrivals->pending.items[i] = arrivals->pending.items[spent + i];
  }
  arrivals->pending.count = count;
  arrivals->first = 0;
}

/*
 * Queueing times are nearly always equal, so an arrival is nearly always appended. An arrival that
 * overtakes others is moved in front of them.
 */
blis_status blis__fast_arrivals_add(fast_engine *engine, fast_arrival arrival) {
  fast_arrivals *arrivals = &engine->arrivals;
  compact(arrivals);
  BLIS_TRY(blis_array_push(&engine->alloc, &arrivals->pending, arrival));
  fast_arrival *items = arrivals->pending.items;
  size_t i = arrivals->pending.count - 1;
  for (; i > arrivals->first && items[i - 1].queued_us > arrival.queued_us; i--) {
    items[i] = items[i - 1];
  }
  items[i] = arrival;
  return BLIS_OK;
}

void blis__fast_arrivals_remove(fast_engine *engine, const fast_request *request) {
  fast_arrivals *arrivals = &engine->arrivals;
  fast_arrival *items = arrivals->pending.items;
  size_t i = arrivals->first;
  while (items[i].request != request) {
    i++;
  }
  arrivals->pending.count--;
  for (; i < arrivals->pending.count; i++) {
    items[i] = items[i + 1];
  }
}

/* Clears the record, except the memory that it keeps for its next request. */
static void reset(fast_request *request, blis_live_request *live) {
  const size_t kept = offsetof(fast_request, live);
  memset((char *)request + kept, 0, sizeof *request - kept);
  request->kept_steps.count = 0;
  request->own_itl_us.count = 0;
  request->live = live;
  request->owns_prompt = true;
  request->first_decode_step = INT64_MAX;
}

static blis_status new_record(fast_engine *engine, fast_request **request) {
  BLIS_TRY(blis_array_reserve(&engine->alloc, &engine->records, engine->records.count + 1));
  *request = blis_alloc_zeroed(&engine->alloc, 1, sizeof **request);
  if (*request == NULL) {
    return BLIS_ERR_NOMEM;
  }
  engine->records.items[engine->records.count++] = *request;
  return BLIS_OK;
}

blis_status blis__fast_request_new(fast_engine *engine, blis_live_request *live,
                                   fast_request **request) {
  *request = engine->spares;
  if (*request == NULL) {
    BLIS_TRY(new_record(engine, request));
  } else {
    engine->spares = (*request)->links[FAST_LINK_BATCH].next;
  }
  reset(*request, live);
  (*request)->waiting.request = live;
  live->engine = *request;
  return BLIS_OK;
}

void blis__fast_request_spare(fast_engine *engine, fast_request *request) {
  if (request->has_deadline) {
    blis__fast_list_remove(&engine->deadlines, request);
  }
  blis__fast_forget_itl(engine, request);
  BLIS_ASSERT(request->live->engine == request);
  BLIS_ASSERT(request->holder.named_blocks == 0 && request->holder.anonymous == 0);
  request->live->engine = NULL;
  request->live = NULL;
  request->links[FAST_LINK_BATCH].next = engine->spares;
  engine->spares = request;
}

/* A deadline is nearly always the arrival time plus a constant, so it is nearly always appended. */
void blis__fast_deadline_add(fast_engine *engine, fast_request *request) {
  fast_list *list = &engine->deadlines;
  fast_request *before = list->tail;
  while (before != NULL && before->live->deadline_us > request->live->deadline_us) {
    before = before->links[FAST_LINK_DEADLINE].previous;
  }
  request->has_deadline = true;
  blis__fast_list_insert(list, request, before);
}

int64_t blis__fast_itl_sum_us(const fast_engine *engine, const fast_request *request) {
  BLIS_ASSERT(engine->itl_total_us >= request->itl_total_before);
  uint64_t sum_us = engine->itl_total_us - request->itl_total_before;
  return sum_us < BLIS_TIME_NEVER_US ? blis_time_after_us((int64_t)sum_us, request->own_itl_sum_us)
                                     : BLIS_TIME_NEVER_US;
}

void blis__fast_note_energy(const fast_engine *engine, fast_request *request) {
  if (engine->power == NULL || !request->is_decoding) {
    return;
  }
  const blis_drawn *until = &engine->power->token;
  const blis_drawn *before = &request->token_before;
  const blis_drawn since = {until->nj - before->nj, until->carbon_pg - before->carbon_pg};
  blis_drawn_add(&request->live->drawn, &since, 1);
  request->token_before = *until;
}

void blis__fast_note_progress(const fast_engine *engine, fast_request *request) {
  if (!request->is_decoding) {
    return;
  }
  blis_live_request *live = request->live;
  live->progress_tokens = blis__fast_progress(engine, request);
  BLIS_ASSERT(live->progress_tokens >= live->prefill_tokens);
  live->itl_sum_us = blis__fast_itl_sum_us(engine, request);
  live->itl_count = live->progress_tokens - live->prompt_tokens;
  blis__fast_note_energy(engine, request);
}
