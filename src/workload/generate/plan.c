#include "workload/generate/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "workload/generate/generator.h"
#include "workload/generate/windows.h"
#include "workload/workload.h"

enum { WHERE_SIZE = BLIS_CLIENT_LABEL_SIZE + 64 };

static void kind_deinit(const blis_alloc *alloc, blis__kind *kind) {
  blis_distribution_deinit(&kind->input, alloc);
  blis_distribution_deinit(&kind->output, alloc);
  blis_distribution_deinit(&kind->reason_ratio, alloc);
  blis__modalities_deinit(&kind->modalities, alloc);
  for (size_t i = 0; i < kind->window_count; i++) {
    blis_distribution_deinit(&kind->windows[i].input, alloc);
    blis_distribution_deinit(&kind->windows[i].output, alloc);
  }
  blis_alloc_free(alloc, kind->windows, kind->window_capacity * sizeof *kind->windows);
}

static void layout_deinit(blis__plan *plan) {
  const blis_alloc *alloc = &plan->alloc;
  blis__layout *layout = &plan->layout;
  blis_alloc_free(alloc, layout->segments, layout->requests.count * sizeof *layout->segments);
  blis_array_deinit(alloc, &layout->requests);
  blis_array_deinit(alloc, &layout->sessions);
  blis_alloc_free(alloc, layout->rules, plan->kind_count * sizeof *layout->rules);
  blis_array_deinit(alloc, &layout->token_starts);
  blis_array_deinit(alloc, &layout->tokens);
  blis_alloc_free(alloc, layout->prefix_tokens, plan->prefix_draws * sizeof *layout->prefix_tokens);
}

void blis__plan_free(blis__plan *plan) {
  blis_alloc alloc = plan->alloc;
  layout_deinit(plan);
  for (uint32_t i = 0; plan->kinds != NULL && i < plan->kind_count; i++) {
    kind_deinit(&alloc, &plan->kinds[i]);
  }
  blis_alloc_free(&alloc, plan->kinds, plan->kind_count * sizeof *plan->kinds);
  blis_alloc_free(&alloc, plan->clients, plan->client_count * sizeof *plan->clients);
  blis_alloc_free(&alloc, plan->shares, plan->client_count * sizeof *plan->shares);
  blis_intern_free(plan->strings);
  blis_alloc_free(&alloc, plan, sizeof *plan);
}

/* Strings. */

static blis_status intern(blis__plan *plan, const char *text, uint32_t *id, blis_error *error) {
  if (text == NULL) {
    *id = 0;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_intern_add(plan->strings, text, strlen(text), id), error);
  return BLIS_OK;
}

/* Interns "<text>-<member>", or only the text if member is -1. */
static blis_status intern_member(blis__plan *plan, const char *text, int64_t member, uint32_t *id,
                                 blis_error *error) {
  if (member < 0) {
    return intern(plan, text, id, error);
  }
  char end[24];
  int end_length = snprintf(end, sizeof end, "-%" PRId64, member);
  size_t length = text != NULL ? strlen(text) : 0;
  size_t size = length + (size_t)end_length;
  char *name = blis_alloc_new(&plan->alloc, size);
  BLIS_TRY_NEW(name, error);
  if (length > 0) {
    memcpy(name, text, length);
  }
  memcpy(name + length, end, (size_t)end_length);
  blis_status status = blis_intern_add(plan->strings, name, size, id);
  blis_alloc_free(&plan->alloc, name, size);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Distributions. */

typedef struct part {
  blis__plan *plan;
  const char *label; /* label of the client */
} part;

/* Leaves *distribution unchanged if spec has none. */
static blis_status take_distribution(const part *p, const blis_distribution_spec *spec,
                                     const char *key, blis_distribution *distribution,
                                     bool *is_there, blis_error *error) {
  *is_there = spec->type != NULL && *spec->type != '\0';
  if (!*is_there) {
    return BLIS_OK;
  }
  char where[WHERE_SIZE];
  snprintf(where, sizeof where, "%s: %s", p->label, key);
  return blis_distribution_init(distribution, &p->plan->alloc, spec, where, error);
}

static blis_status take_windows(const part *p, const blis_client_spec *spec, blis__kind *kind,
                                blis_error *error) {
  for (size_t i = 0; i < spec->window_count; i++) {
    blis__window *window = &kind->windows[i];
    char key[64];
    snprintf(key, sizeof key, "lifecycle window %zu: input_distribution", i + 1);
    BLIS_TRY(take_distribution(p, &spec->windows[i].input, key, &window->input, &window->has_input,
                               error));
    snprintf(key, sizeof key, "lifecycle window %zu: output_distribution", i + 1);
    BLIS_TRY(take_distribution(p, &spec->windows[i].output, key, &window->output,
                               &window->has_output, error));
  }
  return BLIS_OK;
}

static blis_status take_distributions(const part *p, const blis_client_spec *spec, blis__kind *kind,
                                      blis_error *error) {
  bool is_there; /* guaranteed by the check */
  BLIS_TRY(
      take_distribution(p, &spec->input, "input_distribution", &kind->input, &is_there, error));
  BLIS_TRY(
      take_distribution(p, &spec->output, "output_distribution", &kind->output, &is_there, error));
  BLIS_TRY(take_windows(p, spec, kind, error));
  if (spec->multimodal != NULL) {
    BLIS_TRY(blis__modalities_init(&kind->modalities, &p->plan->alloc, spec->multimodal, p->label,
                                   error));
    kind->is_multimodal = true;
  }
  return take_distribution(p, &spec->reason_ratio, "reason_ratio_distribution", &kind->reason_ratio,
                           &kind->has_reason_ratio, error);
}

/* Kinds. */

static void take_turns(const blis__plan *plan, const blis_client_spec *spec, blis__kind *kind) {
  const blis_multi_turn_spec *turns = spec->multi_turn;
  kind->is_closed_loop = blis_client_is_closed_loop(spec);
  kind->max_rounds = INT64_MAX;
  kind->think_us = spec->think_time_us;
  if (turns == NULL) {
    return;
  }
  kind->is_multi_turn = true;
  kind->is_single_session = turns->single_session;
  kind->max_rounds = turns->max_rounds;
  kind->think_us = turns->think_time_us;
  kind->accumulates =
      turns->context_growth != NULL && strcmp(turns->context_growth, "accumulate") == 0;
  kind->has_zero_reason_ratio = !plan->rules.draws_zero_ratios && spec->reason_ratio.type != NULL &&
                                kind->reason_ratio.type == BLIS_DISTRIBUTION_CONSTANT &&
                                kind->reason_ratio.first < 1;
}

/* Returns the timeout of a client. Rounds that wait for responses also have a deadline. */
static int64_t timeout_of(const blis__plan *plan, const blis_client_spec *spec) {
  if (spec->timeout_us > 0 || spec->has_no_timeout) {
    return spec->timeout_us;
  }
  bool has_deadline = blis_client_is_closed_loop(spec) ||
                      (plan->rules.limits_open_rounds && spec->multi_turn != NULL);
  return has_deadline ? BLIS_WORKLOAD_SESSION_TIMEOUT_US : 0;
}

static blis_status plan_kind(blis__plan *plan, const blis_workload_spec *spec, uint32_t index,
                             blis_error *error) {
  const blis_client_spec *from = blis_workload_spec_client(spec, index);
  blis__kind *kind = &plan->kinds[index];
  char label[BLIS_CLIENT_LABEL_SIZE];
  const part p = {plan, blis_client_label(spec, index, label)};
  BLIS_TRY(blis__plan_windows(plan, spec, index, error));
  BLIS_TRY(take_distributions(&p, from, kind, error));
  take_turns(plan, from, kind);
  kind->timeout_us = timeout_of(plan, from);
  kind->slo_target_us = from->slo_target_us;
  kind->spread_count = from->spread_count;
  kind->spread_us = from->spread_us;
  kind->concurrency = (uint32_t)from->concurrency;
  kind->has_fixed_rate = from->fixed_rate > 0;
  kind->is_streaming = from->is_streaming;
  kind->own_prefix_tokens = from->prefix_tokens;
  BLIS_TRY(intern(plan, from->tenant, &kind->tenant, error));
  BLIS_TRY(intern(plan, from->slo_class, &kind->slo_class, error));
  BLIS_TRY(intern(plan, from->model, &kind->model, error));
  return intern(plan, from->adapter, &kind->adapter, error);
}

static void count_clients(blis__plan *plan, const blis_workload_spec *spec) {
  uint32_t clients = 0;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    blis__kind *kind = &plan->kinds[i];
    const blis_client_spec *from = blis_workload_spec_client(spec, i);
    kind->first_client = clients;
    kind->client_count = 1;
    kind->fraction = from->rate_fraction;
    if (i >= spec->client_count) {
      int64_t population = spec->cohorts[i - spec->client_count].population;
      kind->client_count = (uint32_t)population;
      kind->fraction = from->rate_fraction / (double)population;
    }
    clients += kind->client_count;
  }
  plan->client_count = clients;
}

static blis_status name_clients(blis__plan *plan, const blis_workload_spec *spec, uint32_t index,
                                blis_error *error) {
  const blis_client_spec *from = blis_workload_spec_client(spec, index);
  bool is_cohort = index >= spec->client_count;
  bool has_own_prefix = false;
  if (is_cohort) {
    const char *sharing = spec->cohorts[index - spec->client_count].prefix_sharing;
    has_own_prefix = sharing != NULL && strcmp(sharing, "per_member") == 0;
  }
  const char *group = from->prefix_group;
  bool has_group = group != NULL && *group != '\0';
  const blis__kind *kind = &plan->kinds[index];
  for (uint32_t i = 0; i < kind->client_count; i++) {
    blis__client_plan *client = &plan->clients[kind->first_client + i];
    client->kind = index;
    BLIS_TRY(intern_member(plan, from->id, is_cohort ? (int64_t)i : -1, &client->id, error));
    if (has_group) {
      BLIS_TRY(intern_member(plan, group, has_own_prefix ? (int64_t)i : -1, &client->prefix_group,
                             error));
    }
  }
  return BLIS_OK;
}

/*
 * Plans the prefixes. The first client of a group defines the length of the group's prefix. Tokens
 * are drawn group by group; the number of the group's name is its stream.
 */
static blis_status plan_prefixes(blis__plan *plan, const blis_workload_spec *spec,
                                 blis_error *error) {
  uint32_t texts = blis_intern_count(plan->strings);
  uint32_t *firsts = blis_alloc_zeroed(&plan->alloc, texts, sizeof *firsts);
  BLIS_TRY_NEW(firsts, error);
  for (uint32_t i = 0; i < plan->client_count; i++) {
    blis__client_plan *client = &plan->clients[i];
    uint32_t group = client->prefix_group;
    if (group == 0) {
      continue;
    }
    if (firsts[group] == 0) {
      int64_t tokens = blis_workload_spec_client(spec, client->kind)->prefix_tokens;
      client->prefix = (blis_segment){
          .stream = group,
          .length_tokens = tokens > 0 ? (uint32_t)tokens : BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS};
      client->prefix_draw = plan->prefix_draws;
      plan->prefix_draws += client->prefix.length_tokens;
      firsts[group] = i + 1;
    } else {
      const blis__client_plan *first = &plan->clients[firsts[group] - 1];
      client->prefix = first->prefix;
      client->prefix_draw = first->prefix_draw;
    }
  }
  blis_alloc_free(&plan->alloc, firsts, texts * sizeof *firsts);
  return BLIS_OK;
}

static blis_status plan_shares(blis__plan *plan, const blis_workload_spec *spec,
                               blis_error *error) {
  plan->process_count = plan->client_count;
  if (!spec->shares_arrivals) {
    return BLIS_OK;
  }
  plan->process_count = 1;
  plan->shares = blis_alloc_zeroed(&plan->alloc, plan->client_count, sizeof *plan->shares);
  BLIS_TRY_NEW(plan->shares, error);
  double sum = 0;
  for (uint32_t i = 0; i < plan->client_count; i++) {
    sum += blis__plan_kind_of(plan, i)->fraction;
    plan->shares[i] = sum;
  }
  return BLIS_OK;
}

/* Removes modalities, for rules.loses_modalities. */
static void lose_modalities(blis__plan *plan) {
  for (uint32_t i = 0; plan->rules.loses_modalities && i < plan->kind_count; i++) {
    blis__kind *kind = &plan->kinds[i];
    kind->is_multimodal =
        kind->is_multimodal && !plan->is_varying && kind->concurrency == 0 && !kind->is_multi_turn;
  }
}

/* Returns whether requests cannot be drawn one at a time in order of arrival. */
static bool needs_layout(const blis__plan *plan) {
  bool needs = plan->is_varying || plan->keeps_tokens;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    const blis__kind *kind = &plan->kinds[i];
    needs = needs || kind->is_multi_turn || kind->is_multimodal || kind->concurrency > 0 ||
            kind->spread_count > 0;
  }
  return needs;
}

static blis_status plan_fill(blis__plan *plan, const blis_workload_spec *spec, blis_error *error) {
  plan->strings = blis_intern_new(&plan->alloc);
  plan->kinds = blis_alloc_zeroed(&plan->alloc, plan->kind_count, sizeof *plan->kinds);
  BLIS_TRY_NEW(plan->strings, error);
  BLIS_TRY_NEW(plan->kinds, error);
  count_clients(plan, spec);
  plan->clients = blis_alloc_zeroed(&plan->alloc, plan->client_count, sizeof *plan->clients);
  BLIS_TRY_NEW(plan->clients, error);
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    BLIS_TRY(plan_kind(plan, spec, i, error));
    BLIS_TRY(name_clients(plan, spec, i, error));
    plan->has_end = plan->has_end || plan->kinds[i].window_count > 0;
  }
  BLIS_TRY(plan_shares(plan, spec, error));
  BLIS_TRY(blis__plan_rates(plan, spec, error));
  lose_modalities(plan);
  BLIS_TRY(plan_prefixes(plan, spec, error));
  plan->has_layout = needs_layout(plan);
  return BLIS_OK;
}

blis_status blis__plan_new(const blis_alloc *alloc, const blis_workload_spec *spec,
                           blis__plan **plan, blis_error *error) {
  BLIS_TRY(blis_workload_spec_check(spec, NULL, error));
  blis__plan *made = blis_alloc_new(alloc, sizeof *made);
  BLIS_TRY_NEW(made, error);
  const blis_workload_rules rules = blis_workload_rules_of(spec->rules);
  *made = (blis__plan){.alloc = *alloc,
                       .kind_count = (uint32_t)(spec->client_count + spec->cohort_count),
                       .seed = spec->seed,
                       .num_requests = spec->num_requests > 0 ? spec->num_requests : INT64_MAX,
                       .horizon_us = spec->horizon_us > 0 ? spec->horizon_us : INT64_MAX,
                       .is_lazy = spec->lazy_tokens,
                       .keeps_tokens = spec->keep_tokens && !spec->lazy_tokens,
                       .rules = rules,
                       .cuts_prefixes =
                           rules.cuts_prefixes && !spec->keeps_group_prefixes && !spec->lazy_tokens,
                       .has_run_timeout = spec->has_run_timeout,
                       .has_end = spec->horizon_us > 0 || spec->num_requests == 0};
  blis_status status = plan_fill(made, spec, error);
  if (status != BLIS_OK) {
    blis__plan_free(made);
    return status;
  }
  *plan = made;
  return BLIS_OK;
}

void blis__plan_seed_stream(const blis__plan *plan, blis_random *random) {
  blis_random_init_named(random, plan->seed, "workload-gen");
  if (!plan->is_lazy) {
    blis_random_skip_intn(random, BLIS_GENERATOR_VOCABULARY, plan->prefix_draws);
  }
}

uint32_t blis__plan_draw_client(const blis__plan *plan, uint32_t process, blis_random *random) {
  if (plan->shares == NULL) {
    return process;
  }
  uint32_t low = 0;
  uint32_t high = plan->client_count - 1;
  double place = blis_random_float64(random) * plan->shares[high];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (place < plan->shares[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void blis__plan_begin_arrivals(const blis__plan *plan, uint32_t process, blis_random *random) {
  if (blis__plan_kind_of(plan, process)->has_fixed_rate) {
    (void)blis_random_int63(random);
  }
}

void blis__plan_label(const blis__plan *plan, uint32_t client, char label[BLIS_CLIENT_LABEL_SIZE]) {
  snprintf(label, BLIS_CLIENT_LABEL_SIZE, "client %" PRIu32 " ('%.60s')", client + 1,
           blis_intern_text(plan->strings, plan->clients[client].id));
}

blis_status blis__plan_draw_length(const blis__plan *plan, uint32_t client,
                                   const blis_distribution *distribution, const char *what,
                                   blis_random *random, uint32_t *tokens, blis_error *error) {
  int64_t length = blis_distribution_draw(distribution, random);
  if (length > BLIS_WORKLOAD_MAX_TOKENS) {
    char label[BLIS_CLIENT_LABEL_SIZE];
    blis__plan_label(plan, client, label);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: %s_distribution gave a length of %" PRId64
                     " tokens; at most %d are possible",
                     label, what, length, BLIS_WORKLOAD_MAX_TOKENS);
  }
  *tokens = (uint32_t)length;
  return BLIS_OK;
}
