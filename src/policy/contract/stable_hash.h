/*
 * stable_hash.h - a tie break that depends only on the prefix: rendezvous hashing
 * of instance and prefix.
 *
 * A prefix keeps its instance from one request to the next, and the loss of an
 * instance moves only its own prefixes. The rule follows Cognitora's "Routing -
 * KV-aware scoring deep dive", which names no hash function. This module uses XXH64
 * (seed 0).
 *
 * Formulas:
 *
 *   prefix hash   h(-1) = XXH64(model name)
 *                 h(i) = XXH64(h(i-1) as 8 bytes, little-endian; block i)
 *   weight        XXH64(instance id; one zero byte; prefix hash as 8 bytes)
 *
 * The chain covers the full blocks at the beginning of the prompt; a block is hashed as its tokens
 * in 32-bit words. A simulation has no tokens, so a block is hashed as its stretches of content.
 * Each stretch is three 64-bit words (stream, offset, length) and a separate step of the chain. The
 * hash therefore depends only on the content of the prompt. It does not depend on block ids, which
 * depend on the order of requests. Cost: one hash per stretch, and one per tied candidate.
 */
#ifndef BLIS_POLICY_CONTRACT_STABLE_HASH_H
#define BLIS_POLICY_CONTRACT_STABLE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "policy/contract/view.h"

/* Returns h(-1) of a model. */
uint64_t blis_stable_hash_start(const char *model);

/* Returns h(i), computed from h(i-1) and the bytes of block i. */
uint64_t blis_stable_hash_next(uint64_t hash, const void *block, size_t size);

uint64_t blis_stable_hash_weight(const char *instance_id, uint64_t prefix_hash);

/* Returns the prefix hash of a request, computed over the full blocks in its first window_tokens
   tokens (0 = all tokens). */
uint64_t blis_stable_hash_of(const blis_routing_request *request, uint32_t block_size_tokens,
                             int64_t window_tokens);

/* Returns XXH64 of a string of the request, identified by its number in request->strings. */
uint64_t blis_stable_hash_of_text(const blis_routing_request *request, uint32_t text);

typedef struct blis_stable_hash {
  double epsilon; /* maximum distance from the best that counts as a tie */
  uint32_t block_size_tokens;
  int64_t window_tokens;
} blis_stable_hash;

/* Default values of the document. */
#define BLIS_STABLE_HASH_DEFAULT                                                                   \
  ((blis_stable_hash){.epsilon = 0.01, .block_size_tokens = 16, .window_tokens = 64})

/* Returns the candidate with the highest weight among those with best - score <= epsilon. Equal
   weights are resolved to the lowest id. A single candidate needs no hash. */
size_t blis_stable_hash_pick(const blis_stable_hash *rule, const blis_routing_request *request,
                             const blis_routing_view *view, const double *scores);

#endif
