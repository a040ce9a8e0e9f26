#include "kv/layout.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "base/minmax.h"

#define TOKENS_MAX ((int64_t)1 << 40)

static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

const char *blis_kv_group_kind_name(blis_kv_group_kind kind) {
  static const char *const names[] = {"full", "window", "chunk", "state"};
  BLIS_ASSERT(kind < BLIS_KV_GROUP_KIND_COUNT);
  return names[kind];
}

static bool has_span(const blis_kv_group *group) {
  return group->kind == BLIS_KV_WINDOW || group->kind == BLIS_KV_CHUNK;
}

static bool has_one_state(const blis_kv_group *group) {
  return group->kind == BLIS_KV_STATE && group->states == BLIS_KV_STATES_NONE;
}

static blis_status check_range(size_t index, const char *field, int64_t value, int64_t max,
                               blis_error *error) {
  if (value >= 1 && value <= max) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s of KV group %zu is %" PRId64 "; expected 1 to %" PRId64, field, index + 1,
                   value, max);
}

static blis_status check_group(const blis_kv_layout *layout, size_t index, int64_t identity_tokens,
                               blis_error *error) {
  const blis_kv_group *group = &layout->groups[index];
  BLIS_ASSERT(group->kind < BLIS_KV_GROUP_KIND_COUNT && group->states < BLIS_KV_STATE_CACHE_COUNT);
  BLIS_TRY(check_range(index, "number", group->count, BLIS_KV_LAYOUT_GROUPS, error));
  if (has_span(group)) {
    BLIS_TRY(check_range(index, blis_kv_group_kind_name(group->kind), group->span_tokens,
                         TOKENS_MAX, error));
  }
  if (has_one_state(group)) {
    return BLIS_OK;
  }
  BLIS_TRY(check_range(index, "block size", group->block_tokens, UINT32_MAX - 1, error));
  if (group->block_tokens % identity_tokens != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "block size of KV group %zu is %" PRId64
                     " tokens; expected a multiple of the engine's block size (%" PRId64 ")",
                     index + 1, group->block_tokens, identity_tokens);
  }
  return BLIS_OK;
}

blis_status blis_kv_layout_check(const blis_kv_layout *layout, int64_t identity_tokens,
                                 blis_error *error) {
  if (layout->count < 1 || layout->count > BLIS_KV_LAYOUT_KINDS) {
    return blis_fail(error, BLIS_ERR_INVALID, "KV layout has %zu kinds of groups; expected 1 to %d",
                     layout->count, BLIS_KV_LAYOUT_KINDS);
  }
  for (size_t i = 0; i < layout->count; i++) {
    BLIS_TRY(check_group(layout, i, identity_tokens, error));
  }
  int64_t groups = blis_kv_layout_groups(layout);
  if (groups > BLIS_KV_LAYOUT_GROUPS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV layout has %" PRId64 " groups; expected at most %d", groups,
                     BLIS_KV_LAYOUT_GROUPS);
  }
  int64_t step = blis_kv_layout_hit_tokens(layout);
  if (step > TOKENS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the block sizes of the KV groups have no common multiple below %" PRId64
                     " tokens; expected sizes that divide each other",
                     TOKENS_MAX);
  }
  return BLIS_OK;
}

bool blis_kv_layout_is_plain(const blis_kv_layout *layout, int64_t block_tokens) {
  const blis_kv_group *group = &layout->groups[0];
  return layout->count == 1 && group->count == 1 && group->block_tokens == block_tokens &&
         (group->kind == BLIS_KV_FULL || (has_span(group) && layout->keeps_all_tokens));
}

bool blis_kv_layout_has_no_hits(const blis_kv_layout *layout) {
  bool has_none = false;
  for (size_t i = 0; i < layout->count; i++) {
    has_none |= has_one_state(&layout->groups[i]);
  }
  return has_none;
}

bool blis_kv_layout_aligns_steps(const blis_kv_layout *layout) {
  bool aligns = false;
  for (size_t i = 0; i < layout->count; i++) {
    const blis_kv_group *group = &layout->groups[i];
    aligns |= group->kind == BLIS_KV_STATE && group->states == BLIS_KV_STATES_AT_STEPS;
  }
  return aligns && !blis_kv_layout_has_no_hits(layout);
}

int64_t blis_kv_layout_groups(const blis_kv_layout *layout) {
  int64_t count = 0;
  for (size_t i = 0; i < layout->count; i++) {
    count += layout->groups[i].count;
  }
  return count;
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t blis_kv_layout_hit_tokens(const blis_kv_layout *layout) {
  int64_t step = 1;
  for (size_t i = 0; i < layout->count && step <= TOKENS_MAX; i++) {
    const blis_kv_group *group = &layout->groups[i];
    if (!has_one_state(group)) {
      step *= group->block_tokens / gcd(step, group->block_tokens);
    }
  }
  return step;
}

/* Returns the number of leading tokens that no later token of the sequence reads in this group. */
static int64_t skipped_tokens(const blis_kv_layout *layout, const blis_kv_group *group,
                              int64_t computed) {
  if (has_span(group) && layout->keeps_all_tokens) {
    return 0;
  }
  switch (group->kind) {
  case BLIS_KV_WINDOW:
    return blis_max_i64(computed - group->span_tokens + 1, 0);
  case BLIS_KV_CHUNK:
    return computed / group->span_tokens * group->span_tokens;
  case BLIS_KV_STATE: /* later tokens read only the last state */
    return blis_max_i64(computed - 1, 0);
  default:
    return 0;
  }
}

int64_t blis_kv_group_first(const blis_kv_layout *layout, const blis_kv_group *group,
                            int64_t computed_tokens) {
  return has_one_state(group)
             ? 0
             : skipped_tokens(layout, group, computed_tokens) / group->block_tokens;
}

int64_t blis_kv_group_end(const blis_kv_group *group, int64_t stored_tokens) {
  return has_one_state(group) ? stored_tokens > 0 : ceil_div(stored_tokens, group->block_tokens);
}

/* Returns the maximum number of blocks in one of these identical groups. */
static int64_t peak_of_group(const blis_kv_layout *layout, const blis_kv_group *group,
                             int64_t tokens, int64_t step_tokens) {
  int64_t all = blis_kv_group_end(group, tokens);
  if (has_one_state(group) || group->kind == BLIS_KV_FULL ||
      (has_span(group) && layout->keeps_all_tokens)) {
    return all;
  }
  if (group->kind == BLIS_KV_STATE && group->states == BLIS_KV_STATES_AT_STEPS) {
    return blis_min_i64(all, 2);
  }
  /* A state needs the same blocks as a window of two tokens. */
  int64_t span = group->kind == BLIS_KV_STATE ? 2 : group->span_tokens;
  int64_t kept = blis_min_i64(tokens, span - 1) + blis_min_i64(tokens, step_tokens);
  return blis_min_i64(all, ceil_div(kept, group->block_tokens) + 1);
}

int64_t blis_kv_layout_peak_blocks(const blis_kv_layout *layout, int64_t tokens,
                                   int64_t step_tokens, int64_t drafts) {
  int64_t blocks = 0;
  for (size_t i = 0; i < layout->count && tokens > 0; i++) {
    const blis_kv_group *group = &layout->groups[i];
    int64_t peak = peak_of_group(layout, group, tokens, step_tokens);
    blocks += group->count * (peak + (group->kind == BLIS_KV_STATE ? drafts : 0));
  }
  return blocks;
}
