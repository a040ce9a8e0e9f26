#include "policy/memory/prefix_memory.h"

blis_status blis__prefix_memory_init(blis__prefix_memory *memory,
                                     const blis_alloc *alloc,
                                     uint32_t block_size_tokens,
                                     uint64_t capacity_blocks) {
  *memory = (blis__prefix_memory){
      .alloc = *alloc,
      .index = blis_prefix_index_new(alloc, capacity_blocks),
      .block_size_tokens = block_size_tokens};
  return memory->index == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

blis_status blis__prefix_memory_setup(blis__prefix_memory *memory,
                                      const blis_policy_setup *setup) {
  return blis__prefix_memory_init(
      memory, setup->alloc, (uint32_t)blis_setup_number(setup, "block_size"),
      (uint64_t)blis_setup_number(setup, "capacity"));
}

void blis__prefix_memory_deinit(blis__prefix_memory *memory) {
  blis_prefix_index_free(memory->index);
  blis_array_deinit(&memory->alloc, &memory->blocks);
  blis_array_deinit(&memory->alloc, &memory->few);
}

static const blis_block_chain *chain_of(const blis__prefix_memory *memory,
                                        const blis_routing_request *request) {
  return request->chain(request->chain_ud, memory->block_size_tokens);
}

/* Room for so many instances, and nothing matched. */
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
  const blis_block_chain *chain = chain_of(memory, request);
  uint32_t instances = view->instances[view->count - 1] + 1;
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(begin(memory, instances));
  memory->prompt_blocks = chain->prompt_blocks;
  memory->few.count = blis_prefix_index_match_few(
      memory->index, chain, memory->blocks.items, instances, memory->few.items);
  return BLIS_OK;
}

blis_status blis__prefix_memory_observe(blis__prefix_memory *memory,
                                        const blis_routing_request *request,
                                        uint32_t instance) {
  const blis_block_chain *chain = chain_of(memory, request);
  return chain == NULL
             ? BLIS_ERR_NOMEM
             : blis_prefix_index_observe(memory->index, chain, instance);
}
