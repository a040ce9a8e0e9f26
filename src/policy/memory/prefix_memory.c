#include "policy/memory/prefix_memory.h"

blis_status blis__prefix_memory_init(blis__prefix_memory *memory, const blis_alloc *alloc,
                                     uint32_t block_size_tokens, uint64_t capacity_blocks) {
  *memory = (blis__prefix_memory){.alloc = *alloc,
                                  .index = blis_prefix_index_new(alloc, capacity_blocks),
                                  .block_size_tokens = block_size_tokens};
  return memory->index == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

blis_status blis__prefix_memory_setup(blis__prefix_memory *memory, const blis_policy_setup *setup) {
  return blis__prefix_memory_init(memory, setup->alloc,
                                  (uint32_t)blis_setup_number(setup, "block_size"),
                                  (uint64_t)blis_setup_number(setup, "capacity"));
}

void blis__prefix_memory_deinit(blis__prefix_memory *memory) {
  blis_prefix_index_free(memory->index);
  blis_array_deinit(&memory->alloc, &memory->blocks);
  blis_array_deinit(&memory->alloc, &memory->few);
}

/* Gets the blocks of a prompt that are compared. Returns false if out of memory. */
static bool take_chain(const blis__prefix_memory *memory, const blis_routing_request *request,
                       blis_block_chain *chain) {
  const blis_block_chain *whole = request->chain(request->chain_ud, memory->block_size_tokens);
  if (whole == NULL) {
    return false;
  }
  *chain = *whole;
  uint32_t most = memory->max_blocks;
  if (most > 0 && chain->prompt_blocks > most) {
    chain->prompt_blocks = most;
    chain->shared_count = chain->shared_count < most ? chain->shared_count : most;
  }
  return true;
}

/* Allocates entries for this number of instances, without matches. */
static blis_status begin(blis__prefix_memory *memory, uint32_t instances) {
  uint32_t *few = memory->few.items;
  for (size_t k = 0; k < memory->few.count; k++) {
    memory->blocks.items[few[k]] = 0;
  }
  memory->few.count = 0;
  if (instances <= memory->blocks.count) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&memory->alloc, &memory->few, instances));
  BLIS_TRY(blis_array_reserve(&memory->alloc, &memory->blocks, instances));
  while (memory->blocks.count < instances) {
    memory->blocks.items[memory->blocks.count++] = 0;
  }
  return BLIS_OK;
}

blis_status blis__prefix_memory_look_up(blis__prefix_memory *memory,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view) {
  blis_block_chain chain;
  uint32_t instances = view->instances[view->count - 1] + 1;
  if (!take_chain(memory, request, &chain)) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(begin(memory, instances));
  memory->prompt_blocks = chain.prompt_blocks;
  memory->few.count = blis_prefix_index_match_few(memory->index, &chain, memory->blocks.items,
                                                  instances, memory->few.items);
  return BLIS_OK;
}

blis_status blis__prefix_memory_observe(blis__prefix_memory *memory,
                                        const blis_routing_request *request, uint32_t instance) {
  blis_block_chain chain;
  return take_chain(memory, request, &chain)
             ? blis_prefix_index_observe(memory->index, &chain, instance)
             : BLIS_ERR_NOMEM;
}
