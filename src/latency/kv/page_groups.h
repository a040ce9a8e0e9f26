/*
 * page_groups.h - determines how an engine divides KV memory among layers that keep different
 * tokens.
 *
 * Layers with equal caches form a type: full attention, windows of one length, chunks of one
 * length, or states of one size. All groups of a model take blocks from one pool, and every block
 * has the same size in bytes. A block of a group contains `block_tokens` tokens, or one state, for
 * each of its layers_per_group layers.
 *
 * Rules, from vLLM (v1/core/kv_cache_utils.py and model_executor/models/config.py,
 * late 2026):
 *   1. With one type, all layers form one group. Layers of one type may have pages of different
 *      sizes.
 *   2. With several types, all pages become as large as the largest page. A layer with a smaller
 *      page gets more tokens per block. Each group has as many layers as the type with the fewest
 *      layers. However, if the type with the most layers has fewer than 1.5 times as many, each
 *      group has as many layers as that type. A type with n layers has ceil(n / layers per group)
 *      groups, and the last group is padded.
 *   3. With states, an attention block is enlarged until its page holds the largest
 *      state.
 * vLLM rejects pages whose size does not divide the largest page. Here, such pages are padded, and
 * is_padded is set. Layers with compressed entries (DeepSeek V4) get one group per type.
 */
#ifndef BLIS_LATENCY_KV_PAGE_GROUPS_H
#define BLIS_LATENCY_KV_PAGE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "latency/layers/layer.h"

typedef enum blis_cache_kind {
  BLIS_CACHE_FULL,
  BLIS_CACHE_WINDOW,
  BLIS_CACHE_CHUNK,
  BLIS_CACHE_STATE
} blis_cache_kind;

/* The groups of one type. */
typedef struct blis_page_group {
  blis_cache_kind kind;
  int64_t span_tokens; /* size of a window or a chunk; otherwise 0 */
  int64_t layers;      /* number of layers of the type */
  /* Bytes of one layer on one GPU, per token or per state; a mean under rule 1. */
  double bytes;
  int64_t block_tokens; /* tokens per block; for a state, the distance between stored states */
  int64_t count;        /* number of groups */
} blis_page_group;

enum { BLIS_PAGE_GROUPS_MAX = 16 };

typedef struct blis_page_groups {
  /* Full attention first, then in the order of the layers. */
  blis_page_group groups[BLIS_PAGE_GROUPS_MAX];
  size_t count; /* number of types; 0 = no layer caches anything */
  int64_t layers_per_group;
  int64_t block_bytes; /* size of a block on one GPU, for all layers of a group */
  bool is_padded;      /* some pages are padded, see above */
} blis_page_groups;

typedef struct blis_page_groups_config {
  const blis_layer_run *runs;
  size_t run_count;
  int64_t hidden_size;
  blis_cache_widths widths;
  int64_t tp;            /* at least 1 */
  int64_t block_tokens;  /* tokens per block of the type with the largest page, at least 1 */
  bool keeps_all_tokens; /* windows and chunks count as full attention: no hybrid KV cache */
} blis_page_groups_config;

/*
 * BLIS_ERR_INVALID for more than BLIS_PAGE_GROUPS_MAX types, and for blocks of more than 2^62
 * bytes or less than one.
 */
BLIS_MUSTUSE blis_status blis_page_groups_make(const blis_page_groups_config *config,
                                               blis_page_groups *groups, blis_error *error);

/* Returns the number of groups of all types. */
int64_t blis_page_groups_total(const blis_page_groups *groups);

/* Returns whether every layer that has a cache caches all tokens. */
bool blis_page_groups_is_plain(const blis_page_groups *groups);

/*
 * Returns the number of tokens that vLLM logs as "GPU KV cache size" for a pool of blocks: blocks
 * per group times the tokens of the smallest block. Long sequences can use more tokens if windows
 * or states take few blocks.
 */
int64_t blis_page_groups_logged_tokens(const blis_page_groups *groups, int64_t blocks);

#endif
