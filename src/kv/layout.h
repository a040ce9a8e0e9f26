/*
 * layout.h - the KV groups of a model, and the blocks that a sequence keeps in each group.
 *
 * Layers that keep the same tokens form a group. Every group takes its blocks from one pool, and
 * every block of the pool has the same size in bytes, so a block can serve any group. A sequence
 * with n computed tokens keeps, in each group, the blocks from blis_kv_group_first(group, n).
 * Earlier blocks are returned to the pool. A prefix of n tokens is a hit if every group still has
 * the blocks that a sequence with n computed tokens keeps.
 *
 * Source: the hybrid KV cache manager of vLLM (v1/core, late 2026); facts only, no code.
 *
 * The blis_kv_layout is filled from the description of a model. This module itself is independent
 * of models. All functions are O(groups) and have no side effects.
 */
#ifndef BLIS_KV_LAYOUT_H
#define BLIS_KV_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum blis_kv_group_kind {
  BLIS_KV_FULL,   /* attention over all tokens: keeps every block */
  BLIS_KV_WINDOW, /* attention over the last span_tokens tokens, the new one included */
  BLIS_KV_CHUNK,  /* attention within chunks of span_tokens tokens */
  BLIS_KV_STATE,  /* one state of a fixed size; a block holds one state */
  BLIS_KV_GROUP_KIND_COUNT
} blis_kv_group_kind;

/* The states that stay in the prefix cache. */
typedef enum blis_kv_state_cache {
  /* No states: a sequence has one state, and no prefix is ever a hit. */
  BLIS_KV_STATES_NONE,
  /* The states at the block borders where a step ends. In this mode, prefill steps end at block
     borders. A sequence has at most two states. */
  BLIS_KV_STATES_AT_STEPS,
  /* The states at all block borders. A step stores one state per block that it
     computes. */
  BLIS_KV_STATES_AT_BLOCKS,
  BLIS_KV_STATE_CACHE_COUNT
} blis_kv_state_cache;

/* A set of `count` identical groups. */
typedef struct blis_kv_group {
  blis_kv_group_kind kind;
  int64_t block_tokens;       /* tokens per block; ignored with BLIS_KV_STATES_NONE */
  int64_t span_tokens;        /* size of a window or a chunk, >= 1; otherwise 0 */
  int64_t count;              /* >= 1 */
  blis_kv_state_cache states; /* only for BLIS_KV_STATE */
} blis_kv_group;

enum {
  BLIS_KV_LAYOUT_KINDS = 16,  /* maximum number of entries of a layout */
  BLIS_KV_LAYOUT_GROUPS = 128 /* maximum number of groups of a layout */
};

typedef struct blis_kv_layout {
  blis_kv_group groups[BLIS_KV_LAYOUT_KINDS];
  size_t count;
  /* Windows and chunks keep every block, like vLLM without the hybrid manager. Some KV connectors
     require this. */
  bool keeps_all_tokens;
} blis_kv_layout;

/*
 * identity_tokens is the block size used to assign block identities to prompts
 * (base/containers/block_chain.h). The block size of each group must be a multiple of it.
 * BLIS_ERR_INVALID names the group, the field, its value, and the allowed range.
 */
BLIS_MUSTUSE blis_status blis_kv_layout_check(const blis_kv_layout *layout, int64_t identity_tokens,
                                              blis_error *error);

/* "full", "window", "chunk", "state"; static. */
const char *blis_kv_group_kind_name(blis_kv_group_kind kind);

/* Returns whether the layout is a single group of full attention with blocks of this size. */
bool blis_kv_layout_is_plain(const blis_kv_layout *layout, int64_t block_tokens);

/* Returns true if no prefix can be a hit. */
bool blis_kv_layout_has_no_hits(const blis_kv_layout *layout);

/* Returns whether prefill steps end at block borders; see BLIS_KV_STATES_AT_STEPS. */
bool blis_kv_layout_aligns_steps(const blis_kv_layout *layout);

/* Returns the number of groups, counting identical groups individually. */
int64_t blis_kv_layout_groups(const blis_kv_layout *layout);

/*
 * Returns the granularity of hits, in tokens: the least common multiple of the block sizes. The
 * length of every hit is a multiple of it.
 */
int64_t blis_kv_layout_hit_tokens(const blis_kv_layout *layout);

/*
 * Returns the index of the first block that a sequence with computed_tokens tokens still needs for
 * its next token.
 */
int64_t blis_kv_group_first(const blis_kv_layout *layout, const blis_kv_group *group,
                            int64_t computed_tokens);

/*
 * Returns the number of blocks, counted from block 0, that stored_tokens tokens fill or partly
 * fill.
 */
int64_t blis_kv_group_end(const blis_kv_group *group, int64_t stored_tokens);

/*
 * Returns the maximum number of blocks that a sequence holds at the same time in all groups until
 * it has stored `tokens` tokens, if a step computes at most step_tokens of them. drafts is the
 * number of additional states for speculative decoding, one per drafted token.
 */
int64_t blis_kv_layout_peak_blocks(const blis_kv_layout *layout, int64_t tokens,
                                   int64_t step_tokens, int64_t drafts);

#endif
