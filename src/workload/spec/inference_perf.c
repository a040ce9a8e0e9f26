#include "workload/spec/inference_perf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "workload/spec/sections.h"

enum { MAX_STAGES = 10000, MAX_SECONDS = 1000000000 };

/* The spread sampler of BLIS (Go) has the same limit. */
#define MAX_SPREAD 10000000

typedef struct expansion {
  const blis_inference_perf_spec *from;
  const blis_inference_perf_prefixes *prefixes;
  blis_arena *arena;
  blis_spec_fault *fault; /* NULL = not requested */
  blis_client_spec *clients;
  int64_t users;
  blis_distribution_spec question;
  blis_distribution_spec output;
  blis_distribution_spec zero;
  bool has_default_prefix; /* see blis_workload_rules */
} expansion;

/* Records the invalid member; NULL = something is missing. */
static void note(const expansion *e, const void *member, const void *whole) {
  if (e->fault != NULL) {
    *e->fault = (blis_spec_fault){.member = member, .whole = whole};
  }
}

static blis_status check(const expansion *e, blis_error *error) {
  const blis_inference_perf_prefixes *p = e->prefixes;
  if (e->from->stage_count == 0 || e->from->stage_count > MAX_STAGES) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "inference_perf: there are %zu stages; there must be from "
                     "1 to %d",
                     e->from->stage_count, MAX_STAGES);
  }
  if (p == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "inference_perf: shared_prefix is missing");
  }
  const blis__section_check values = {.where = "inference_perf: ", .fault = e->fault};
  BLIS_TRY(blis__check_section(&values, &blis__inference_perf_section, e->from, error));
  if (p->users_per_prompt > BLIS_INFERENCE_PERF_MAX_USERS / p->prompts) {
    note(e, &p->users_per_prompt, p);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "inference_perf: num_users_per_system_prompt is %" PRId64
                     "; expected at most %" PRId64 " for %" PRId64 " prompts",
                     p->users_per_prompt, BLIS_INFERENCE_PERF_MAX_USERS / p->prompts, p->prompts);
  }
  return BLIS_OK;
}

static blis_status make_constant(const expansion *e, int64_t value, blis_distribution_spec *spec,
                                 blis_error *error) {
  blis_distribution_param *param = blis_arena_new(e->arena, sizeof *param);
  BLIS_TRY_NEW(param, error);
  *param = (blis_distribution_param){"value", (double)value};
  *spec = (blis_distribution_spec){"constant", param, 1};
  return BLIS_OK;
}

static blis_status copy_text(const expansion *e, const char *text, const char **copy,
                             blis_error *error) {
  *copy = blis_arena_text(e->arena, text, strlen(text));
  return *copy != NULL ? BLIS_OK : blis_fail_nomem(error);
}

/* Sets the properties of a user that are the same in every stage. */
static blis_status make_user(const expansion *e, int64_t index, const char *prefix,
                             blis_client_spec *client, blis_error *error) {
  int64_t prompt = index / e->prefixes->users_per_prompt;
  int64_t user = index % e->prefixes->users_per_prompt;
  char name[96];
  snprintf(name, sizeof name, "prompt-%" PRId64, prompt);
  const char *group;
  BLIS_TRY(copy_text(e, name, &group, error));
  snprintf(name, sizeof name, "%sprompt-%" PRId64 "-user-%" PRId64, prefix, prompt, user);
  bool has_prefix = e->prefixes->prompt_tokens > 0 || e->has_default_prefix;
  *client = (blis_client_spec){.tenant = group,
                               .slo_class = "standard",
                               .rate_fraction = 1,
                               .arrival = {.process = "poisson"},
                               .input = e->question,
                               .output = e->output,
                               .prefix_group = has_prefix ? group : NULL,
                               .prefix_tokens = e->prefixes->prompt_tokens};
  return copy_text(e, name, &client->id, error);
}

/* Computes the number of a stage's requests that a user sends. */
static blis_status share_of(const expansion *e, const blis_inference_perf_stage *stage,
                            int64_t index, int64_t *share, blis_error *error) {
  double total = trunc(stage->rate * (double)stage->duration);
  if (!(total >= (double)e->users && total <= 1e15)) {
    note(e, &stage->rate, stage);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "inference_perf: a stage of %g requests/s for %" PRId64
                     " s has %g requests for %" PRId64 " users; each needs at least one",
                     stage->rate, stage->duration, total, e->users);
  }
  int64_t whole = (int64_t)total;
  *share = whole / e->users + (index < whole % e->users ? 1 : 0);
  return BLIS_OK;
}

/* Sets one session for the whole stage. */
static blis_status set_session(const expansion *e, const blis_inference_perf_stage *stage,
                               int64_t index, blis_client_spec *client, blis_error *error) {
  blis_multi_turn_spec *turns = blis_arena_new(e->arena, sizeof *turns);
  BLIS_TRY_NEW(turns, error);
  double think_us = trunc((double)e->users / stage->rate * 1e6);
  *turns = (blis_multi_turn_spec){.single_session = true,
                                  .think_time_us = think_us < (double)BLIS_TIME_SPAN_MAX_US
                                                       ? (int64_t)think_us
                                                       : BLIS_TIME_SPAN_MAX_US};
  client->multi_turn = turns;
  client->reason_ratio = e->zero;
  return share_of(e, stage, index, &turns->max_rounds, error);
}

static blis_status expand_one_stage(expansion *e, blis_workload_spec *spec, blis_error *error) {
  const blis_inference_perf_stage *stage = &e->from->stages[0];
  for (int64_t i = 0; i < e->users; i++) {
    blis_client_spec *client = &e->clients[i];
    BLIS_TRY(make_user(e, i, "", client, error));
    client->rate_fraction = 1 / (double)e->users;
    if (e->prefixes->is_multi_turn) {
      BLIS_TRY(set_session(e, stage, i, client, error));
      continue;
    }
    BLIS_TRY(share_of(e, stage, i, &client->spread_count, error));
    client->spread_us = stage->duration * 1000000;
    if (client->spread_count > MAX_SPREAD || client->spread_count > client->spread_us) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "inference_perf: %g requests/s for %" PRId64 " s are %" PRId64
                       " per user; at most %d and one per microsecond are "
                       "possible",
                       stage->rate, stage->duration, client->spread_count, MAX_SPREAD);
    }
  }
  spec->aggregate_rate = stage->rate;
  return BLIS_OK;
}

static blis_status expand_stage(expansion *e, size_t index, int64_t start_us, blis_error *error) {
  const blis_inference_perf_stage *stage = &e->from->stages[index];
  blis_window_spec *window = blis_arena_new(e->arena, sizeof *window);
  BLIS_TRY_NEW(window, error);
  *window =
      (blis_window_spec){.start_us = start_us, .end_us = start_us + stage->duration * 1000000};
  char prefix[32];
  snprintf(prefix, sizeof prefix, "stage-%zu-", index);
  for (int64_t i = 0; i < e->users; i++) {
    blis_client_spec *client = &e->clients[(int64_t)index * e->users + i];
    BLIS_TRY(make_user(e, i, prefix, client, error));
    client->windows = window;
    client->window_count = 1;
    client->fixed_rate = stage->rate / (double)e->users;
    if (e->prefixes->is_multi_turn) {
      BLIS_TRY(set_session(e, stage, i, client, error));
    }
  }
  return BLIS_OK;
}

static blis_status expand_stages(expansion *e, blis_workload_spec *spec, blis_error *error) {
  int64_t start_us = 0;
  spec->aggregate_rate = 0;
  for (size_t i = 0; i < e->from->stage_count; i++) {
    BLIS_TRY(expand_stage(e, i, start_us, error));
    start_us += e->from->stages[i].duration * 1000000;
    if (start_us > INT64_C(1000000) * MAX_SECONDS) {
      return blis_fail(error, BLIS_ERR_INVALID, "inference_perf: the stages last longer than %d s",
                       MAX_SECONDS);
    }
    spec->aggregate_rate += e->from->stages[i].rate;
  }
  return BLIS_OK;
}

blis_status blis_inference_perf_expand(const blis_inference_perf_spec *from, blis_arena *arena,
                                       blis_workload_spec *spec, blis_spec_fault *fault,
                                       blis_error *error) {
  expansion e = {.from = from,
                 .prefixes = from->shared_prefix,
                 .arena = arena,
                 .fault = fault,
                 .has_default_prefix = blis_workload_rules_of(spec->rules).has_default_prefix};
  note(&e, NULL, from);
  BLIS_TRY(check(&e, error));
  e.users = e.prefixes->prompts * e.prefixes->users_per_prompt;
  size_t count = (size_t)e.users * from->stage_count;
  if (count > BLIS_INFERENCE_PERF_MAX_USERS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "inference_perf: %" PRId64 " users in %zu stages are too "
                     "many; at most %d are possible together",
                     e.users, from->stage_count, BLIS_INFERENCE_PERF_MAX_USERS);
  }
  e.clients = blis_arena_new(arena, count * sizeof *e.clients);
  BLIS_TRY_NEW(e.clients, error);
  BLIS_TRY(make_constant(&e, e.prefixes->question_tokens, &e.question, error));
  BLIS_TRY(make_constant(&e, e.prefixes->output_tokens, &e.output, error));
  BLIS_TRY(make_constant(&e, 0, &e.zero, error));
  spec->clients = e.clients;
  spec->client_count = count;
  spec->category = e.prefixes->is_multi_turn ? "reasoning" : "language";
  return from->stage_count == 1 ? expand_one_stage(&e, spec, error)
                                : expand_stages(&e, spec, error);
}
