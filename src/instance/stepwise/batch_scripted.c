/* batch_scripted.c - batches planned by a script. A plan selects the requests, their numbers of
   tokens, and preemptions. Requests that the plan omits wait. */
#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/stepwise/stepwise.h"

static blis_status show(blis__stepwise *engine, blis_error *error) {
  blis__plan_room *room = &engine->plan;
  room->shown.count = 0;
  room->sequences.count = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &room->sequences, engine->batch.items[i]), error);
  }
  for (blis__waiting *place = engine->waiting.head; place != NULL; place = place->after) {
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &room->sequences, blis__sequence_at(place)),
                 error);
  }
  size_t count = room->sequences.count;
  BLIS_TRY_MEM(blis_array_reserve(&engine->alloc, &room->entries, count), error);
  BLIS_TRY_MEM(blis_array_reserve(&engine->alloc, &room->preempted, count), error);
  for (size_t i = 0; i < count; i++) {
    const blis_live_request *request = room->sequences.items[i]->place.request;
    const blis_running_request shown = {request, request->progress_tokens};
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &room->shown, shown), error);
    room->preempted.items[i] = false;
  }
  return BLIS_OK;
}

static blis_status ask(blis__stepwise *engine, blis_batch_plan *plan, blis_error *error) {
  const blis_instance_config *config = engine->config;
  BLIS_TRY(show(engine, error));
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(engine->cache, &stats);
  const blis_batch_context context = {.now_us = engine->clock_us,
                                      .running = engine->plan.shown.items,
                                      .running_count = engine->batch.count,
                                      .waiting = engine->plan.shown.items + engine->batch.count,
                                      .waiting_count =
                                          engine->plan.shown.count - engine->batch.count,
                                      .free_kv_blocks = stats.free_blocks,
                                      .config = config};
  *plan = (blis_batch_plan){.entries = engine->plan.entries.items,
                            .preempted = engine->plan.preempted.items,
                            .wait_us = BLIS_PLAN_WAIT_US};
  return config->make_batch(config->make_batch_ud, &context, plan, error);
}

/* Returns the index of the sequence in the batch, or the batch size if it has left. */
static size_t place_in_batch(const blis__stepwise *engine, const blis__sequence *sequence) {
  size_t i = 0;
  while (i < engine->batch.count && engine->batch.items[i] != sequence) {
    i++;
  }
  return i;
}

/* As in an unplanned batch, a request that preempts itself ends the step, and no request joins
   after a preemption due to missing blocks. */
static blis_status schedule(blis__stepwise *engine, blis__sequence *sequence, bool is_running,
                            bool *admits, bool *goes_on, blis_error *error) {
  if (is_running) {
    size_t place = place_in_batch(engine, sequence);
    return place < engine->batch.count ? blis__batch_run(engine, place, goes_on, error) : BLIS_OK;
  }
  *admits = *admits && !engine->has_preempted;
  return *admits ? blis__batch_admit(engine, sequence, admits, error) : BLIS_OK;
}

blis_status blis__batch_form_planned(blis__stepwise *engine, blis_error *error) {
  blis_batch_plan plan;
  BLIS_TRY(ask(engine, &plan, error));
  size_t running = engine->batch.count;
  blis__sequence *const *sequences = engine->plan.sequences.items;
  engine->wait_us = plan.wait_us;
  for (size_t i = 0; i < running; i++) {
    if (plan.preempted[i]) {
      blis__batch_preempt(engine, place_in_batch(engine, sequences[i]));
    }
  }
  engine->has_preempted = false;
  bool admits = true; /* false after a request does not fit, which ends the admissions */
  bool goes_on = true;
  for (size_t k = 0; k < plan.count && goes_on; k++) {
    const blis_batch_entry *entry = &plan.entries[k];
    BLIS_ASSERT(entry->index < engine->plan.sequences.count);
    engine->chunk_limit_tokens = entry->tokens;
    BLIS_TRY(schedule(engine, sequences[entry->index], entry->index < running, &admits, &goes_on,
                      error));
  }
  engine->chunk_limit_tokens = 0;
  return BLIS_OK;
}
