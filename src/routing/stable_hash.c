#include "routing/stable_hash.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

enum { WORD_SIZE = 8 };

static void put_little_endian(unsigned char *bytes, uint64_t value) {
  for (int i = 0; i < WORD_SIZE; i++) {
    bytes[i] = (unsigned char)(value >> 8 * i);
  }
}

uint64_t blis_stable_hash_start(const char *model) {
  const blis_hash_part name = {model, strlen(model)};
  return blis_xxh64(&name, 1);
}

uint64_t blis_stable_hash_next(uint64_t hash, const void *block, size_t size) {
  unsigned char before[WORD_SIZE];
  put_little_endian(before, hash);
  const blis_hash_part parts[] = {{before, WORD_SIZE}, {block, size}};
  return blis_xxh64(parts, 2);
}

uint64_t blis_stable_hash_weight(const char *instance_id,
                                 uint64_t prefix_hash) {
  unsigned char hash[WORD_SIZE];
  put_little_endian(hash, prefix_hash);
  const blis_hash_part parts[] = {{instance_id, strlen(instance_id) + 1},
                                  {hash, WORD_SIZE}};
  return blis_xxh64(parts, 2);
}

blis_status blis_stable_hash_of(const blis_routing_request *request,
                                uint32_t block_size_tokens,
                                int64_t window_tokens, uint64_t *prefix_hash) {
  const blis_block_chain *chain =
      request->chain(request->chain_ud, block_size_tokens);
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  const char *model = request->strings == NULL
                          ? ""
                          : blis_intern_text(request->strings, request->model);
  uint64_t hash = blis_stable_hash_start(model);
  int64_t blocks = chain->prompt_blocks;
  if (window_tokens > 0 && window_tokens / block_size_tokens < blocks) {
    blocks = window_tokens / block_size_tokens;
  }
  for (uint32_t k = 0; k < blocks; k++) {
    unsigned char id[WORD_SIZE];
    put_little_endian(id, blis_block_chain_at(chain, k));
    hash = blis_stable_hash_next(hash, id, WORD_SIZE);
  }
  *prefix_hash = hash;
  return BLIS_OK;
}

uint64_t blis_stable_hash_of_text(const blis_routing_request *request,
                                  uint32_t text) {
  const blis_hash_part part = {blis_intern_text(request->strings, text),
                               blis_intern_length(request->strings, text)};
  return blis_xxh64(&part, 1);
}

static double best_of(const double *scores, size_t count) {
  double best = scores[0];
  for (size_t i = 1; i < count; i++) {
    best = scores[i] > best ? scores[i] : best;
  }
  return best;
}

blis_status blis_stable_hash_pick(const blis_stable_hash *rule,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view,
                                  const double *scores, size_t *chosen) {
  double best = best_of(scores, view->count);
  size_t tied = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (best - scores[i] <= rule->epsilon) {
      tied++;
      *chosen = i;
    }
  }
  if (tied == 1) {
    return BLIS_OK;
  }
  uint64_t prefix_hash;
  BLIS_TRY(blis_stable_hash_of(request, rule->block_size_tokens,
                               rule->window_tokens, &prefix_hash));
  uint64_t highest = 0;
  size_t winner = view->count;
  for (size_t i = 0; i < view->count; i++) {
    if (best - scores[i] > rule->epsilon) {
      continue;
    }
    uint64_t weight = blis_stable_hash_weight(view->ids[i], prefix_hash);
    bool wins =
        winner == view->count || weight > highest ||
        (weight == highest && view->id_ranks[i] < view->id_ranks[winner]);
    if (wins) {
      winner = i;
      highest = weight;
    }
  }
  *chosen = winner;
  return BLIS_OK;
}
