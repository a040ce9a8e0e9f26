/* kv_layouts.h - random KV layouts, for tests that compare. */
#ifndef BLIS_KV_LAYOUTS_H
#define BLIS_KV_LAYOUTS_H

#include "base/random.h"
#include "kv/layout.h"

static inline blis_kv_group draw_kv_group(blis_random *random, int64_t identity_tokens) {
  static const int64_t ratios[] = {1, 1, 1, 1, 2, 3};
  blis_kv_group group = {.kind =
                             (blis_kv_group_kind)blis_random_intn(random, BLIS_KV_GROUP_KIND_COUNT),
                         .block_tokens = identity_tokens * ratios[blis_random_intn(random, 6)],
                         .count = blis_random_intn(random, 3) == 0 ? 2 : 1};
  if (group.kind == BLIS_KV_WINDOW || group.kind == BLIS_KV_CHUNK) {
    int32_t most = blis_random_intn(random, 2) == 0 ? 8 : 40;
    group.span_tokens = 1 + blis_random_intn(random, most);
  }
  if (group.kind == BLIS_KV_STATE) {
    group.states = (blis_kv_state_cache)(1 + blis_random_intn(random, 2));
  }
  return group;
}

/*
 * One to four kinds of groups; a layout in eight caches no states. With
 * may_align = false, none that makes steps end at borders.
 */
static inline blis_kv_layout draw_kv_layout(blis_random *random, int64_t identity_tokens,
                                            bool may_align) {
  blis_kv_layout layout = {.count = (size_t)(1 + blis_random_intn(random, 4)),
                           .keeps_all_tokens = blis_random_intn(random, 10) == 0};
  for (size_t i = 0; i < layout.count; i++) {
    layout.groups[i] = draw_kv_group(random, identity_tokens);
    if (!may_align && layout.groups[i].states == BLIS_KV_STATES_AT_STEPS) {
      layout.groups[i].states = BLIS_KV_STATES_AT_BLOCKS;
    }
  }
  if (blis_random_intn(random, 8) == 0) {
    layout.groups[0] =
        (blis_kv_group){.kind = BLIS_KV_STATE, .count = 1, .states = BLIS_KV_STATES_NONE};
  }
  return layout;
}

#endif
