/*
 * attained.c - least attained service first: a call is more urgent if its program
 * has received less service.
 *
 * Least attained service is effective for programs of unknown length. For agents, Autellix (Luo et
 * al. 2025) has two variants. PLAS counts the service of all calls of a program. ATLAS counts the
 * service of the longest path of calls that leads to this call. Service is the work that is
 * complete when the call arrives: work in progress does not count, and a priority does not change
 * while its call waits. A request without a program counts as a program without service.
 */
#include "policy/contract/entry.h"
#include "policy/priority/priority.h"

enum { TOKENS, TIME, PATH };

typedef struct state {
  uint32_t measure; /* one of the measures above */
  double prompt_weight;
  double output_weight;
} state;

static blis_status decide(void *ud, const blis_routing_request *request, int64_t now_us,
                          double *priority, blis_error *error) {
  (void)now_us, (void)error;
  const state *self = ud;
  const blis_call *call = request->call;
  if (call == NULL) {
    *priority = 0;
    return BLIS_OK;
  }
  const blis_program *program = call->program;
  double service = 0;
  switch (self->measure) {
  case TOKENS:
    service = self->prompt_weight * (double)program->prompt_tokens +
              self->output_weight * (double)program->output_tokens;
    break;
  case TIME:
    service = (double)program->service_us / 1e6;
    break;
  default:
    service = (double)call->path_service_us / 1e6;
  }
  *priority = 0 - service;
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__CHOICE("measure", "tokens|time|path",
                 "of service: the weighted tokens of completed calls; their "
                 "seconds from admission to the end; or these on the longest "
                 "way of calls to this one",
                 BLIS__INTO(state, measure)),
    BLIS__NUMBER("prompt_weight", 0, 1e9, 1, "", "of a prompt token, cached ones included",
                 BLIS__INTO(state, prompt_weight)),
    BLIS__NUMBER("output_weight", 0, 1e9, 2, "", "of an output token",
                 BLIS__INTO(state, output_weight)),
};

const blis_policy_entry blis__priority_least_attained_service = {
    .kind = BLIS_POLICY_PRIORITY,
    .ops = &(const blis_priority_ops){.decide = decide},
    .state_size = sizeof(state),
    .name = "least-attained-service",
    .summary = "calls of the program that has been served least; for session "
               "graphs",
    .source = "least attained service, per program: tokens as llm-d's "
              "program-aware fairness weighs them, time and path as in "
              "Autellix (Luo et al. 2025)",
    BLIS__PARAMS(params),
};
