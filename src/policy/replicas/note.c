#include "policy/replicas/note.h"

#include <string.h>

#include "base/alloc.h"

static const blis_block_chain *ask(void *ud, uint32_t block_size) {
  blis__chain_spy *spy = ud;
  const blis_routing_request *request = spy->request;
  const blis_block_chain *chain = request->chain(request->chain_ud, block_size);
  for (uint32_t i = 0; i < spy->count; i++) {
    if (spy->sizes[i] == block_size) {
      return chain;
    }
  }
  if (chain != NULL && spy->count < BLIS__NOTE_CHAINS) {
    spy->sizes[spy->count] = block_size;
    spy->chains[spy->count++] = chain;
  }
  return chain;
}

void blis__chain_spy_init(blis__chain_spy *spy, const blis_routing_request *request,
                          blis_routing_request *shown) {
  *spy = (blis__chain_spy){.request = request};
  *shown = *request;
  shown->chain = ask;
  shown->chain_ud = spy;
}

struct blis__note {
  uint32_t references;
  uint32_t instance;
  uint32_t chain_count;
  uint32_t sizes[BLIS__NOTE_CHAINS];
  blis_block_chain chains[BLIS__NOTE_CHAINS];
  blis_routing_request request;
  blis_ticket ticket; /* ignored */
  size_t size;        /* including the segments and the ids after them */
  blis_segment segments[];
};

/* Stands for chains that the deciding policy did not request. */
static const blis_block_chain no_chain;

static const blis_block_chain *tell(void *ud, uint32_t block_size) {
  const blis__note *note = ud;
  for (uint32_t i = 0; i < note->chain_count; i++) {
    if (note->sizes[i] == block_size) {
      return &note->chains[i];
    }
  }
  return &no_chain;
}

static size_t size_of(const blis__chain_spy *spy) {
  size_t size = sizeof(blis__note) + spy->request->segment_count * sizeof(blis_segment);
  for (uint32_t i = 0; i < spy->count; i++) {
    size += spy->chains[i]->shared_count * sizeof(blis_block_id);
  }
  return size;
}

static void copy_chains(blis__note *note, const blis__chain_spy *spy) {
  blis_block_id *ids = (blis_block_id *)(void *)(note->segments + note->request.segment_count);
  note->chain_count = spy->count;
  for (uint32_t i = 0; i < spy->count; i++) {
    const blis_block_chain *chain = spy->chains[i];
    note->sizes[i] = spy->sizes[i];
    note->chains[i] = *chain;
    note->chains[i].shared = ids;
    if (chain->shared_count > 0) {
      memcpy(ids, chain->shared, chain->shared_count * sizeof *ids);
    }
    ids += chain->shared_count;
  }
}

blis__note *blis__note_new(const blis_alloc *alloc, const blis__chain_spy *spy, uint32_t instance) {
  size_t size = size_of(spy);
  blis__note *note = blis_alloc_new(alloc, size);
  if (note == NULL) {
    return NULL;
  }
  *note =
      (blis__note){.references = 1, .instance = instance, .request = *spy->request, .size = size};
  blis_routing_request *request = &note->request;
  if (request->segment_count > 0) {
    memcpy(note->segments, request->segments, request->segment_count * sizeof *note->segments);
  }
  copy_chains(note, spy);
  request->segments = note->segments;
  request->call = NULL;
  request->stages = NULL;
  request->ticket = &note->ticket;
  request->chain = tell;
  request->chain_ud = note;
  request->traffic = NULL;
  request->pool = NULL;
  request->wants_parts = false;
  return note;
}

void blis__note_keep(blis__note *note) {
  note->references++;
}

void blis__note_release(const blis_alloc *alloc, blis__note *note) {
  if (note != NULL && --note->references == 0) {
    blis_alloc_free(alloc, note, note->size);
  }
}

const blis_routing_request *blis__note_request(const blis__note *note) {
  return &note->request;
}

uint32_t blis__note_instance(const blis__note *note) {
  return note->instance;
}

int64_t blis__note_entries(const blis__note *note) {
  uint32_t blocks = note->chain_count > 0 ? note->chains[0].prompt_blocks : 0;
  return blocks > 0 ? blocks : 1;
}
