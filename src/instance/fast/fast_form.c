/*
 * Forms the running part of a batch without visiting the decodes. This is possible
 * if each of them gets its token in any order; a shortage of blocks does not always
 * prevent this.
 */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/rules.h"

int64_t blis__fast_wanted_chunk(const fast_engine *engine, const fast_request *request) {
  int64_t left = request->live->prefill_tokens - request->live->progress_tokens;
  int64_t threshold = engine->config->long_prefill_threshold_tokens;
  return threshold > 0 ? blis_min_i64(left, threshold) : left;
}

/* How many of the request's blocks have to be named once they are full. */
static int64_t nameable_blocks(const fast_request *request) {
  return request->is_tracked ? INT64_MAX : request->live->chain.shared_count;
}

/*
 * Block by block while blocks are named, since taking one may remove the very
 * entry that naming the one before has made; the rest at once.
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
  int64_t budget_tokens; /* left, if all get their tokens; < 0: too few */
  int64_t blocks;
  bool prefills_name; /* blocks that a prefill takes may get a name */
  bool is_met;        /* by the budget, except the last of the batch */
} demand;

/* Sets the chunks of the prefills; changes nothing else. */
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
 * Whether the names of this chunk differ from the names of the next taken_blocks
 * blocks to be taken.
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
 * True if decodes may take their blocks, then name the blocks they have filled, and
 * prefills may be served afterwards: either this is their order, or no change of
 * the prefix table depends on it, for example if no named block is taken.
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
 * Under FCFS, victims are the last requests of the batch. They have not received
 * anything in this step yet, and all other requests are served. The victims
 * therefore do not depend on when the first request finds too few blocks: they are
 * the shortest tail of the batch whose blocks, with the free ones, suffice for the
 * rest. Preempting the tail before serving the rest changes nothing. Blocks are
 * taken at the head of the free list and returned at its end, and no other request
 * uses the names of a victim's blocks (blis__fast_preempt).
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

/* For KV layouts, whose groups also return blocks: without a walk if there are enough blocks in
   any order. */
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
    /* Each of them is looked at when it gets its token. */
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
