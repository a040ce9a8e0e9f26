/* engine_rules.h - rules of an engine at random, for tests that compare. */
#ifndef BLIS_ENGINE_RULES_H
#define BLIS_ENGINE_RULES_H

#include "base/random.h"
#include "instance/instance.h"

/* None, all, each alone, or any of them. */
static inline blis_engine_rules draw_engine_rules(blis_random *random) {
  enum { RULES = 9 };
  int32_t all = (1 << RULES) - 1;
  int32_t one = 1 << blis_random_intn(random, RULES);
  int32_t any = blis_random_intn(random, all + 1);
  const int32_t sets[] = {0, all, all, one, any};
  int32_t set = sets[blis_random_intn(random, 5)];
  return (blis_engine_rules){.leaves_at_step_end = set & 1,
                             .resumes_preempted = set & 2,
                             .counts_prompt_blocks = set & 4,
                             .recomputes_last_token = set & 8,
                             .drops_last_kv = set & 16,
                             .knows_cached_context = set & 32,
                             .schedules_ahead = set & 64,
                             .pays_transfer_once = set & 128,
                             .names_whole_blocks = set & 256,
                             .looks_ahead = any % 3 == 1};
}

#endif
