/*
 * Forms the running part of a batch without visiting the decodes. This is possible if every decode
 * gets its token regardless of the order, which may be the case even if blocks are short.
 */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/rules.h"

int64_t blis__fast_wanted_chunk(const fast_engine *engine, const fast_request *request) {
  int64_t left = request->live->prefill_tokens - request->live->progress_tokens;
  int64_t threshold = engine->config->long_prefill_threshold_tokens;
  return threshold > 0 ? blis_min_i64(left, threshold) : left;
}

/* Returns how many of the request's blocks must be named once they are full. */
static int64_t nameable_blocks(const fast_request *request) {
  return request->is_tracked ? INT64_MAX : request->live->chain.shared_count;
}

/*
 * Named blocks are taken one by one, because taking a block may remove the table entry that was
 * created for the previous block. The rest are taken together.
 */
blis_status blis__fast_extend(fast_engine *engine, fast_request *request, int64_t chunk_tokens) {
  int64_t stored = request->live->progress_tokens + chunk_tokens;
  int64_t fresh = blis__fast_blocks_for(engine, request, chunk_tokens);
  engine->pool_misses += fresh;
  int64_t named_limit =
      blis_min_i64(nameable_blocks(request), stored / engine->config->block_size_tokens);
  int64_t taken;
  engine->namings += named_limit > 0;
  BLIS_TRY(blis_run_pool_name_up_to(engine->pool, &request->holder, &request->live->chain,
                                    named_limit, &taken));
  blis_run_pool_take(engine->pool, &request->holder, fresh - taken);
  return BLIS_OK;
}

/* The needs of the running requests in a step. */
typedef struct demand {
  int64_t budget_tokens; /* remaining budget if all get their tokens; < 0 = too small */
  int64_t blocks;
  bool prefills_name; /* a prefill may take blocks that get a name */
  bool is_met;        /* the budget suffices for all requests except the last of the batch */
} demand;

/* Sets the chunks of the prefills. Changes nothing else. */
static demand find_demand(fast_engine *engine) {
  demand d = {.budget_tokens = engine->config->max_batched_tokens - engine->decodes,
              .blocks = engine->groups == NULL ? *blis__fast_boundary(engine, engine->step_index)
                                               : blis__fast_groups_decode_need(engine),
              .is_met = true};
  for (fast_request *r = engine->prefills.head; r != NULL; r = r->links[FAST_LINK_PREFILL].next) {
    int64_t chunk = blis__fast_wanted_chunk(engine, r);
    if (chunk > d.budget_tokens) {
      d.is_met &= r == engine->batch.tail;
      chunk = blis_max_i64(d.budget_tokens, 0);
    }
    if (engine->groups != NULL) {
      chunk = blis__aligned_chunk(engine->config, r->live, r->live->progress_tokens, chunk);
    }
    d.budget_tokens -= chunk;
    d.blocks += blis__fast_blocks_for(engine, r, chunk);
    d.prefills_name |= r->holder.named_blocks < nameable_blocks(r);
    r->live->new_tokens = chunk;
  }
  d.is_met &= d.budget_tokens >= 0;
  return d;
}

/* Returns true if all prefills follow all decodes in the batch. */
static bool prefills_are_last(const fast_engine *engine) {
  const fast_request *r = engine->batch.tail;
  for (int64_t i = 0; i < engine->prefills.count; i++) {
    if (r->is_decoding) {
      return false;
    }
    r = r->links[FAST_LINK_BATCH].previous;
  }
  return true;
}

/*
 * Returns whether the names of this chunk differ from the names of the next taken_blocks free
 * blocks.
 */
static bool chunk_avoids(const fast_engine *engine, const fast_request *request,
                         int64_t taken_blocks) {
  const blis_live_request *live = request->live;
  int64_t named = request->holder.named_blocks;
  int64_t full = (live->progress_tokens + live->new_tokens) / engine->config->block_size_tokens;
  int64_t limit = blis_min_i64(nameable_blocks(request), full);
  return limit <= named ||
         blis_run_pool_next_avoid(engine->pool, taken_blocks,
                                  blis_block_chain_at(&live->chain, (uint32_t)named),
                                  blis_block_chain_at(&live->chain, (uint32_t)limit - 1));
}

static bool chunks_avoid(const fast_engine *engine, int64_t taken_blocks) {
  for (const fast_request *r = engine->prefills.head; r != NULL;
       r = r->links[FAST_LINK_PREFILL].next) {
    if (!chunk_avoids(engine, r, taken_blocks)) {
      return false;
    }
  }
  return true;
}

/*
 * Returns whether the engine may serve all decodes first (take their blocks, then name the blocks
 * they have filled) and the prefills afterwards. This is allowed if it is the order of the batch,
 * or if the order does not affect the prefix table, for example because no named block is taken.
 */
static bool can_serve_decodes_first(fast_engine *engine, const demand *d) {
  if (prefills_are_last(engine)) {
    return blis__fast_names_avoid(engine, 1, *blis__fast_boundary(engine, engine->step_index));
  }
  if (!d->prefills_name) {
    return blis__fast_names_avoid(engine, 1, d->blocks);
  }
  return blis__fast_naming_first(engine, engine->step_index) == NULL &&
         chunks_avoid(engine, d->blocks);
}

static void add_decodes(const fast_engine *engine, fast_plan *plan) {
  plan->budget_tokens -= engine->decodes;
  plan->sums.requests = engine->decodes;
  plan->sums.decode_requests = engine->decodes;
  plan->sums.decode_context_tokens = engine->decode_context;
}

static blis_status form_quickly(fast_engine *engine, fast_plan *plan) {
  int64_t boundary_blocks = *blis__fast_boundary(engine, engine->step_index);
  blis_run_pool_take_uncounted(engine->pool, boundary_blocks);
  engine->pool_misses += boundary_blocks;
  BLIS_TRY(blis__fast_name_outputs(engine, 1));
  add_decodes(engine, plan);
  for (fast_request *r = engine->prefills.head; r != NULL; r = r->links[FAST_LINK_PREFILL].next) {
    blis_live_request *live = r->live;
    BLIS_TRY(blis__fast_extend(engine, r, live->new_tokens));
    live->computed_tokens = live->progress_tokens + live->new_tokens;
    plan->budget_tokens -= live->new_tokens;
    blis_batch_sums_add(&plan->sums, &(blis_batch_item){.progress_tokens = live->progress_tokens,
                                                        .new_tokens = live->new_tokens,
                                                        .prompt_tokens = live->prefill_tokens,
                                                        .output_tokens = live->output_tokens});
  }
  return BLIS_OK;
}

/*
 * Under FCFS, victims are the last requests of the batch. They have not received blocks in this
 * step yet, and all other requests are served. It therefore does not matter which request first
 * finds too few blocks: the victims are the shortest tail of the batch whose blocks, together with
 * the free blocks, suffice for the rest. Preempting the tail before serving the rest changes
 * nothing. Blocks are taken at the head of the free list and returned at its end, and no other
 * request uses the names of a victim's blocks (blis__fast_preempt).
 */
static blis_status preempt_tail(fast_engine *engine, fast_plan *plan, demand *d,
                                blis_error *error) {
  while (d->blocks > blis_run_pool_free_blocks(engine->pool)) {
    fast_request *victim = engine->batch.tail;
    victim->live->new_tokens = 0;
    BLIS_TRY(blis__fast_preempt(engine, plan, victim, error));
    *d = find_demand(engine);
    BLIS_ASSERT(d->is_met);
  }
  return BLIS_OK;
}

/* Forms a batch with a KV layout, whose groups also return blocks. Requests are not visited if
   there are enough blocks in any order. */
static blis_status form_groups(fast_engine *engine, fast_plan *plan, blis_error *error) {
  demand d = find_demand(engine);
  if (!d.is_met || d.blocks > blis__fast_free_blocks(engine)) {
    return blis__fast_form_carefully(engine, plan, error);
  }
  add_decodes(engine, plan);
  BLIS_TRY_MEM(blis__fast_groups_serve(engine, plan), error);
  return BLIS_OK;
}

blis_status blis__fast_form(fast_engine *engine, fast_plan *plan, blis_error *error) {
  if (engine->gaps > 0) {
    /* Every request is visited when it gets its token. */
    return blis__fast_form_carefully(engine, plan, error);
  }
  if (engine->groups != NULL) {
    return form_groups(engine, plan, error);
  }
  demand d = find_demand(engine);
  if (d.is_met && engine->config->preemption == BLIS_PREEMPTION_FCFS) {
    BLIS_TRY(preempt_tail(engine, plan, &d, error));
  }
  if (!d.is_met || d.blocks > blis_run_pool_free_blocks(engine->pool) ||
      !can_serve_decodes_first(engine, &d)) {
    return blis__fast_form_carefully(engine, plan, error);
  }
  BLIS_TRY_MEM(form_quickly(engine, plan), error);
  return BLIS_OK;
}
