/*
 * Reusable output. In a session with growing context, the next prompt contains the output of this
 * request. The blocks that decoding fills are therefore also named. The namer marks such a request
 * by identities beyond the prompt (shared_count > prompt_blocks).
 *
 * Decodes are listed by the residue of their stored_base, so a step visits only decodes that fill a
 * block in this step.
 */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"

static blis_status need_lists(fast_engine *engine) {
  if (engine->naming != NULL) {
    return BLIS_OK;
  }
  size_t count = (size_t)engine->config->block_size_tokens;
  engine->naming = blis_alloc_zeroed(&engine->alloc, count, sizeof *engine->naming);
  if (engine->naming == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    engine->naming[i].kind = FAST_LINK_NAMING;
  }
  return BLIS_OK;
}

static fast_list *list_of(const fast_engine *engine, const fast_request *request) {
  return &engine->naming[blis__fast_residue(engine, request->stored_base)];
}

/* As in BLIS (Go), blocks of one token are not named when decoding fills them. If a rule names
   them, the stepwise engine computes every step. */
static bool can_name(const fast_engine *engine, const fast_request *request) {
  const blis_block_chain *chain = &request->live->chain;
  return request->owns_prompt && engine->groups == NULL &&
         chain->shared_count > chain->prompt_blocks && engine->config->block_size_tokens > 1;
}

blis_status blis__fast_naming_add(fast_engine *engine, fast_request *request) {
  request->names_output = can_name(engine, request);
  if (!request->names_output) {
    return BLIS_OK;
  }
  BLIS_TRY(need_lists(engine));
  fast_list *list = list_of(engine, request);
  fast_request *before = list->tail;
  while (before != NULL && before->finish.order > request->finish.order) {
    before = before->links[FAST_LINK_NAMING].previous;
  }
  blis__fast_list_insert(list, request, before);
  return BLIS_OK;
}

void blis__fast_naming_remove(fast_engine *engine, fast_request *request) {
  if (request->names_output) {
    blis__fast_list_remove(list_of(engine, request), request);
    request->names_output = false;
  }
}

fast_request *blis__fast_naming_first(const fast_engine *engine, int64_t step_index) {
  return engine->naming == NULL ? NULL
                                : engine->naming[blis__fast_residue(engine, step_index + 1)].head;
}

bool blis__fast_names_avoid(const fast_engine *engine, size_t steps, int64_t taken_blocks) {
  int64_t size = engine->config->block_size_tokens;
  for (size_t i = 0; i < steps; i++) {
    int64_t step = engine->step_index + (int64_t)i;
    for (const fast_request *r = blis__fast_naming_first(engine, step); r != NULL;
         r = r->links[FAST_LINK_NAMING].next) {
      const blis_block_chain *chain = &r->live->chain;
      uint32_t k = (uint32_t)((step + 1 - r->stored_base) / size - 1);
      blis_block_id id = blis_block_chain_at(chain, k);
      if (k < chain->shared_count &&
          !blis_run_pool_next_avoid(engine->pool, taken_blocks, id, id)) {
        return false;
      }
    }
  }
  return true;
}

blis_status blis__fast_name_outputs(fast_engine *engine, size_t steps) {
  for (size_t i = 0; engine->naming != NULL && i < steps; i++) {
    int64_t step = engine->step_index + (int64_t)i;
    for (fast_request *r = blis__fast_naming_first(engine, step); r != NULL;
         r = r->links[FAST_LINK_NAMING].next) {
      BLIS_TRY(blis__fast_name_output(engine, r, step + 1 - r->stored_base));
    }
  }
  return BLIS_OK;
}

blis_status blis__fast_name_output(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens) {
  const blis_block_chain *chain = &request->live->chain;
  blis_run_holder *holder = &request->holder;
  if (!request->names_output || stored_tokens % engine->config->block_size_tokens != 0 ||
      holder->named_blocks >= chain->shared_count) {
    return BLIS_OK;
  }
  BLIS_ASSERT(holder->named_blocks + 1 == stored_tokens / engine->config->block_size_tokens);
  /* The number of anonymous blocks is not counted during decoding. */
  holder->anonymous = 1;
  engine->namings++;
  return blis_run_pool_name(engine->pool, holder, chain);
}
