#include "workload/prefix_mix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "workload/workload.h"

enum { MAX_GROUPS = 1000000 };

/* One group; its segment is lent to requests. */
typedef struct group {
  blis_segment prefix;
  uint32_t name;
  double cumulative; /* weight of this group and all before it */
} group;

struct blis_prefix_mix {
  blis_alloc alloc;
  blis_request_source below;
  blis_intern *strings; /* those below, then the groups' names */
  group *groups;
  size_t group_count;
  uint32_t tokens;
  blis_random random;
};

static blis_status check_spec(const blis_prefix_mix_spec *spec,
                              blis_error *error) {
  if (spec->groups < 1 || spec->groups > MAX_GROUPS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "prefixes: groups is %lld, expected 1 to %d",
                     (long long)spec->groups, MAX_GROUPS);
  }
  if (spec->tokens < 1 || spec->tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "prefixes: tokens is %lld, expected 1 to %d",
                     (long long)spec->tokens, BLIS_WORKLOAD_MAX_TOKENS);
  }
  if (!isfinite(spec->zipf) || spec->zipf < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "prefixes: zipf is %g, expected 0 or more", spec->zipf);
  }
  return BLIS_OK;
}

/* Equal texts keep their numbers, because both tables count up from 0. */
static blis_status copy_strings(blis_prefix_mix *mix) {
  mix->strings = blis_intern_new(&mix->alloc);
  if (mix->strings == NULL) {
    return BLIS_ERR_NOMEM;
  }
  const blis_intern *from = mix->below.strings;
  for (uint32_t i = 0; i < blis_intern_count(from); i++) {
    uint32_t id = 0;
    BLIS_TRY(blis_intern_add(mix->strings, blis_intern_text(from, i),
                             blis_intern_length(from, i), &id));
  }
  return BLIS_OK;
}

static blis_status make_groups(blis_prefix_mix *mix,
                               const blis_prefix_mix_spec *spec) {
  mix->groups =
      blis_alloc_zeroed(&mix->alloc, mix->group_count, sizeof *mix->groups);
  if (mix->groups == NULL) {
    return BLIS_ERR_NOMEM;
  }
  double total = 0;
  for (size_t i = 0; i < mix->group_count; i++) {
    char name[32];
    int length = snprintf(name, sizeof name, "prefix_%zu", i);
    group *made = &mix->groups[i];
    BLIS_TRY(blis_intern_add(mix->strings, name, (size_t)length, &made->name));
    total += 1 / pow((double)(i + 1), spec->zipf);
    made->cumulative = total;
    made->prefix = (blis_segment){.stream = i + 1,
                                  .length_tokens = mix->tokens};
  }
  return BLIS_OK;
}

blis_status blis_prefix_mix_new(const blis_alloc *alloc,
                                const blis_request_source *source,
                                const blis_prefix_mix_spec *spec,
                                blis_prefix_mix **mix, blis_error *error) {
  BLIS_TRY(check_spec(spec, error));
  blis_prefix_mix *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  made->alloc = *alloc;
  made->below = *source;
  made->group_count = (size_t)spec->groups;
  made->tokens = (uint32_t)spec->tokens;
  blis_random_init_named(&made->random, spec->seed, "prefixes");
  if (copy_strings(made) != BLIS_OK || make_groups(made, spec) != BLIS_OK) {
    blis_prefix_mix_free(made);
    return blis_fail_nomem(error);
  }
  *mix = made;
  return BLIS_OK;
}

void blis_prefix_mix_free(blis_prefix_mix *mix) {
  if (mix == NULL) {
    return;
  }
  blis_alloc alloc = mix->alloc;
  blis_intern_free(mix->strings);
  blis_alloc_free(&alloc, mix->groups,
                  mix->group_count * sizeof *mix->groups);
  blis_alloc_free(&alloc, mix, sizeof *mix);
}

static const group *draw_group(blis_prefix_mix *mix) {
  double total = mix->groups[mix->group_count - 1].cumulative;
  double drawn = blis_random_float64(&mix->random) * total;
  size_t low = 0;
  size_t high = mix->group_count - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (drawn < mix->groups[middle].cumulative) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return &mix->groups[low];
}

static blis_status mix_next(void *state, blis_request *request, bool *done,
                            blis_error *error) {
  blis_prefix_mix *mix = state;
  BLIS_TRY(mix->below.next(mix->below.state, request, done, error));
  if (*done) {
    return BLIS_OK;
  }
  if (request->segment_count != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "prefixes: request_%lld has a shared prefix already",
                     (long long)request->number);
  }
  if (request->prompt_tokens > BLIS_WORKLOAD_MAX_TOKENS - mix->tokens) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "prefixes: request_%lld has %u + %u prompt tokens, "
                     "expected at most %d",
                     (long long)request->number, mix->tokens,
                     request->prompt_tokens, BLIS_WORKLOAD_MAX_TOKENS);
  }
  const group *drawn = draw_group(mix);
  request->segments = &drawn->prefix;
  request->segment_count = 1;
  request->shared_tokens = mix->tokens;
  request->prompt_tokens += mix->tokens;
  request->prefix_group = drawn->name;
  request->prefix_tokens = mix->tokens;
  return BLIS_OK;
}

blis_request_source blis_prefix_mix_source(blis_prefix_mix *mix) {
  return (blis_request_source){.next = mix_next,
                               .state = mix,
                               .strings = mix->strings,
                               .count = mix->below.count};
}
