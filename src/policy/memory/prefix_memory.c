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
}

static const blis_block_chain *chain_of(const blis__prefix_memory *memory,
                                        const blis_routing_request *request) {
  return request->chain(request->chain_ud, memory->block_size_tokens);
}

blis_status blis__prefix_memory_look_up(blis__prefix_memory *memory,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view) {
  const blis_block_chain *chain = chain_of(memory, request);
  uint32_t instances = view->instances[view->count - 1] + 1;
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(&memory->alloc, &memory->blocks, instances));
  memory->prompt_blocks = chain->prompt_blocks;
  blis_prefix_index_match(memory->index, chain, memory->blocks.items,
                          instances);
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
