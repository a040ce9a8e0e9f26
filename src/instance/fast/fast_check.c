#include "instance/fast/fast_engine.h"

/* Counts of a walk over the batch, for comparison with the maintained counts. */
typedef struct census {
  int64_t batch;
  int64_t prefills;
  int64_t decodes;
  int64_t decode_context;
  int64_t decode_prompts;
  int64_t gaps;
  int64_t anonymous_blocks; /* anonymous blocks of the batch */
  bool is_sound;
} census;

/* Returns whether the ranges are in order and the history contains all their steps. */
static bool has_its_steps(const fast_engine *engine, const fast_request *r) {
  int64_t end = engine->history.first_step;
  for (size_t i = 0; i < r->kept_steps.count; i++) {
    step_range range = r->kept_steps.items[i];
    if (range.first < end || range.end <= range.first) {
      return false;
    }
    end = range.end;
  }
  return end <= engine->history.next_step && end <= r->first_decode_step;
}

static bool check_latencies(const fast_engine *engine) {
  int64_t count = 0;
  for (const fast_request *r = engine->keepers.head; r != NULL;
       r = r->links[FAST_LINK_KEEPER].next) {
    count++;
    if (r->kept_steps.count == 0 || !has_its_steps(engine, r)) {
      return false;
    }
  }
  return count == engine->keepers.count && blis__step_history_check(&engine->history);
}

static census count_batch(const fast_engine *engine) {
  census found = {.is_sound = true};
  /* Requests whose last step is still running remain in the batch. */
  int leaves_later = engine->config->rules.leaves_at_step_end;
  uint64_t last_order = 0;
  for (const fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    found.is_sound &= r->live->state == BLIS_REQUEST_RUNNING &&
                      (found.batch == 0 || r->finish.order > last_order);
    last_order = r->finish.order;
    found.batch++;
    if (r->is_decoding) {
      found.decodes++;
      found.decode_context += blis__fast_progress(engine, r);
      found.decode_prompts += r->live->prompt_tokens;
      found.is_sound &= r->finish.step > engine->step_index - leaves_later;
      found.gaps += r->gap_us > 0;
    } else {
      found.prefills++;
    }
    found.anonymous_blocks +=
        engine->groups != NULL
            ? 0
            : blis__fast_blocks_of(engine, blis__fast_stored(engine, r)) - r->holder.named_blocks;
  }
  return found;
}

static bool check_blocks(const fast_engine *engine, const census *found) {
  if (engine->groups != NULL) {
    return blis__fast_groups_check(engine);
  }
  int64_t used = engine->config->kv_blocks - blis_run_pool_free_blocks(engine->pool);
  /* A named block may have several holders; an anonymous block has one. */
  return found->anonymous_blocks + engine->parked_blocks + blis_run_pool_held_named(engine->pool) ==
             used &&
         blis_run_pool_check(engine->pool);
}

bool blis__fast_check(const fast_engine *engine) {
  census found = count_batch(engine);
  int64_t boundary_sum = 0;
  for (int64_t i = 0; i < engine->config->block_size_tokens; i++) {
    boundary_sum += engine->boundaries[i];
  }
  return found.is_sound && found.batch == engine->batch.count &&
         found.prefills == engine->prefills.count && found.decodes == engine->decodes &&
         found.decode_context == engine->decode_context &&
         found.decode_prompts == engine->decode_prompts && found.gaps == engine->gaps &&
         boundary_sum == engine->decodes &&
         engine->finishes.slots.count == (size_t)engine->decodes &&
         blis__finish_heap_check(&engine->finishes) && check_latencies(engine) &&
         blis__wait_queue_check(&engine->queue) && check_blocks(engine, &found);
}
