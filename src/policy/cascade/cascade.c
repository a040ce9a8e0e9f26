#include "policy/cascade/cascade.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "policy/contract/entry.h"

BLIS__POLICY_FREE(cascade)

const char *blis_cascade_verdict_name(blis_cascade_verdict verdict) {
  static const char *const names[BLIS_CASCADE_VERDICT_COUNT] = {
      [BLIS_CASCADE_ACCEPT] = "accept",           [BLIS_CASCADE_ESCALATE] = "escalate",
      [BLIS_CASCADE_ACCEPT_LAST] = "accept_last", [BLIS_CASCADE_FAIL] = "fail",
      [BLIS_CASCADE_UNFINISHED] = "unfinished",
  };
  return names[verdict];
}

void blis_cascade_random(blis_random *random, int64_t seed, const blis_routing_request *request) {
  char name[192];
  snprintf(name, sizeof name, "policy/cascade/%" PRId64 "/%.128s", request->number,
           blis_intern_text(request->strings, request->model));
  blis_random_init_named(random, seed, name);
}

double blis_cascade_substitute_logprob(int64_t output_tokens) {
  double tokens = output_tokens < 1 ? 1 : (double)output_tokens;
  return -1 / fmax(log(tokens), 0.5);
}
