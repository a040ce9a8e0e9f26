#include "latency/kv/page_groups.h"

#include <inttypes.h>
#include <math.h>

#include "base/minmax.h"

/* Alignment, in tokens, of a block that is enlarged for a state. */
static const int64_t ALIGNMENT_TOKENS = 16;

static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static int64_t gcd(int64_t a, int64_t b) {
  return b == 0 ? a : gcd(b, a % b);
}

/* Returns the group of the same type, or a new group; NULL if there are too many types. */
static blis_page_group *type_of(blis_page_groups *groups, blis_cache_kind kind, int64_t span,
                                double bytes) {
  for (size_t i = 0; i < groups->count; i++) {
    blis_page_group *known = &groups->groups[i];
    if (known->kind == kind && known->span_tokens == span && known->bytes == bytes) {
      return known;
    }
  }
  if (groups->count == BLIS_PAGE_GROUPS_MAX) {
    return NULL;
  }
  blis_page_group *added = &groups->groups[groups->count++];
  *added = (blis_page_group){.kind = kind, .span_tokens = span, .bytes = bytes};
  return added;
}

/*
 * Adds layers of a type. Returns false if there are too many types. Layers with 0 bytes are
 * ignored.
 */
static bool add_layers(blis_page_groups *groups, blis_cache_kind kind, int64_t span, double bytes,
                       int64_t layers) {
  if (!(bytes > 0.0)) {
    return true;
  }
  blis_page_group *type = type_of(groups, kind, span, bytes);
  if (type == NULL) {
    return false;
  }
  type->layers += layers;
  return true;
}

static bool add_run(const blis_page_groups_config *config, const blis_layer_run *run,
                    blis_page_groups *groups) {
  const blis_layer_cache cache =
      blis_layer_cache_of(&run->layer, config->hidden_size, &config->widths, config->tp);
  blis_cache_kind kind =
      run->layer.attention.kind == BLIS_ATTENTION_CHUNK ? BLIS_CACHE_CHUNK : BLIS_CACHE_WINDOW;
  int64_t span = cache.span_tokens;
  if (config->keeps_all_tokens) {
    kind = BLIS_CACHE_FULL;
    span = 0;
  }
  double span_bytes = cache.span_tokens > 0 ? cache.span_bytes : 0.0;
  return add_layers(groups, BLIS_CACHE_FULL, 0, cache.token_bytes, run->count) &&
         add_layers(groups, kind, span, span_bytes, run->count) &&
         add_layers(groups, BLIS_CACHE_STATE, 0, cache.state_bytes, run->count);
}

/* Puts full attention first, and keeps the order of the layers otherwise. */
static void order_types(blis_page_groups *groups) {
  blis_page_groups sorted = *groups;
  size_t next = 0;
  for (int is_other = 0; is_other < 2; is_other++) {
    for (size_t i = 0; i < groups->count; i++) {
      if ((groups->groups[i].kind != BLIS_CACHE_FULL) == (is_other != 0)) {
        sorted.groups[next++] = groups->groups[i];
      }
    }
  }
  *groups = sorted;
}

static blis_status collect_types(const blis_page_groups_config *config, blis_page_groups *groups,
                                 blis_error *error) {
  *groups = (blis_page_groups){0};
  for (size_t i = 0; i < config->run_count; i++) {
    if (!add_run(config, &config->runs[i], groups)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "the model has layers with more than %d kinds of KV cache",
                       BLIS_PAGE_GROUPS_MAX);
    }
  }
  order_types(groups);
  return BLIS_OK;
}

static bool is_one_type(const blis_page_groups *groups) {
  for (size_t i = 1; i < groups->count; i++) {
    if (groups->groups[i].kind != groups->groups[0].kind ||
        groups->groups[i].span_tokens != groups->groups[0].span_tokens) {
      return false;
    }
  }
  return true;
}

static bool has_compressed_layers(const blis_page_groups_config *config) {
  for (size_t i = 0; i < config->run_count; i++) {
    if (config->runs[i].layer.attention.kind == BLIS_ATTENTION_COMPRESSED) {
      return true;
    }
  }
  return false;
}

/* Returns the bytes of the page of one layer, with blocks of `tokens` tokens. */
static double page_bytes(const blis_page_group *group, int64_t tokens) {
  return group->kind == BLIS_CACHE_STATE ? group->bytes : group->bytes * (double)tokens;
}

/* Rule 1. Pages may differ in size, and a block contains a page of every layer. */
static double join_types(const blis_page_groups_config *config, blis_page_groups *groups) {
  blis_page_group *whole = &groups->groups[0];
  double bytes = 0.0;
  int64_t layers = 0;
  for (size_t i = 0; i < groups->count; i++) {
    bytes += groups->groups[i].bytes * (double)groups->groups[i].layers;
    layers += groups->groups[i].layers;
  }
  whole->bytes = bytes / (double)layers;
  whole->layers = layers;
  whole->block_tokens = config->block_tokens;
  whole->count = 1;
  groups->count = 1;
  groups->layers_per_group = layers;
  return whole->kind == BLIS_CACHE_STATE ? bytes : bytes * (double)config->block_tokens;
}

/* Rule 3. Returns the tokens per block of the attention layers with the largest page. */
static int64_t tokens_for_states(const blis_page_groups_config *config,
                                 const blis_page_groups *groups) {
  double state = 0.0;
  double token = 0.0;
  for (size_t i = 0; i < groups->count; i++) {
    double *largest = groups->groups[i].kind == BLIS_CACHE_STATE ? &state : &token;
    *largest = fmax(*largest, groups->groups[i].bytes);
  }
  if (state == 0.0 || token == 0.0) {
    return config->block_tokens;
  }
  int64_t step =
      ALIGNMENT_TOKENS / gcd(ALIGNMENT_TOKENS, config->block_tokens) * config->block_tokens;
  double steps = fmin(ceil(state / (token * (double)step)), 0x1p30);
  return blis_max_i64(config->block_tokens, (int64_t)steps * step);
}

/* Sets the tokens per block of every type so that they fill a page. Returns the bytes of a page. */
static double unify_pages(const blis_page_groups_config *config, blis_page_groups *groups) {
  int64_t tokens = tokens_for_states(config, groups);
  double page = 0.0;
  for (size_t i = 0; i < groups->count; i++) {
    page = fmax(page, page_bytes(&groups->groups[i], tokens));
  }
  for (size_t i = 0; i < groups->count; i++) {
    blis_page_group *group = &groups->groups[i];
    double ratio = page / page_bytes(group, tokens);
    bool is_state = group->kind == BLIS_CACHE_STATE;
    group->block_tokens = is_state ? tokens : (int64_t)fmin(floor(ratio), 0x1p20) * tokens;
    groups->is_padded |= !is_state && ratio != floor(ratio);
  }
  return page;
}

/* Rule 2. */
static double divide_types(const blis_page_groups_config *config, blis_page_groups *groups) {
  double page = unify_pages(config, groups);
  int64_t fewest = INT64_MAX;
  int64_t most = 0;
  for (size_t i = 0; i < groups->count; i++) {
    fewest = blis_min_i64(fewest, groups->groups[i].layers);
    most = blis_max_i64(most, groups->groups[i].layers);
  }
  groups->layers_per_group = (double)most < 1.5 * (double)fewest ? most : fewest;
  for (size_t i = 0; i < groups->count; i++) {
    groups->groups[i].count = ceil_div(groups->groups[i].layers, groups->layers_per_group);
  }
  return page * (double)groups->layers_per_group;
}

/* Creates one group per type. A block has as many tokens as fit in the largest block. */
static double group_each_type(const blis_page_groups_config *config, blis_page_groups *groups) {
  double block = 0.0;
  for (size_t i = 0; i < groups->count; i++) {
    const blis_page_group *group = &groups->groups[i];
    block = fmax(block, page_bytes(group, config->block_tokens) * (double)group->layers);
    groups->layers_per_group = blis_max_i64(groups->layers_per_group, group->layers);
  }
  for (size_t i = 0; i < groups->count; i++) {
    blis_page_group *group = &groups->groups[i];
    double one = page_bytes(group, config->block_tokens) * (double)group->layers;
    bool is_state = group->kind == BLIS_CACHE_STATE;
    double ratio = is_state ? 1.0 : fmin(floor(block / one), 0x1p20);
    group->block_tokens = (int64_t)ratio * config->block_tokens;
    group->count = 1;
    groups->is_padded |= !is_state && ratio * one < block;
  }
  return block;
}

blis_status blis_page_groups_make(const blis_page_groups_config *config, blis_page_groups *groups,
                                  blis_error *error) {
  BLIS_TRY(collect_types(config, groups, error));
  if (groups->count == 0) {
    return BLIS_OK;
  }
  double bytes;
  if (is_one_type(groups)) {
    bytes = join_types(config, groups);
  } else if (has_compressed_layers(config)) {
    bytes = group_each_type(config, groups);
  } else {
    bytes = divide_types(config, groups);
  }
  if (!(bytes >= 1.0 && bytes < 0x1p62)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a KV block of %" PRId64 " tokens has %g bytes; expected 1 to 2^62",
                     config->block_tokens, bytes);
  }
  groups->block_bytes = (int64_t)bytes;
  return BLIS_OK;
}

int64_t blis_page_groups_total(const blis_page_groups *groups) {
  int64_t total = 0;
  for (size_t i = 0; i < groups->count; i++) {
    total += groups->groups[i].count;
  }
  return total;
}

bool blis_page_groups_is_plain(const blis_page_groups *groups) {
  return groups->count == 1 && groups->groups[0].kind == BLIS_CACHE_FULL;
}

int64_t blis_page_groups_logged_tokens(const blis_page_groups *groups, int64_t blocks) {
  int64_t tokens = 0; /* tokens of the smallest attention block, or of the only type */
  for (size_t i = 0; i < groups->count; i++) {
    const blis_page_group *group = &groups->groups[i];
    if (group->kind != BLIS_CACHE_STATE || groups->count == 1) {
      tokens = tokens == 0 ? group->block_tokens : blis_min_i64(tokens, group->block_tokens);
    }
  }
  return groups->count == 0 ? 0 : blocks / blis_page_groups_total(groups) * tokens;
}
