#include "workload/generator_plan.h"

#include <stdio.h>
#include <string.h>

static void plan_free(blis__plan *plan) {
  blis_alloc alloc = plan->alloc;
  for (uint32_t i = 0; plan->clients != NULL && i < plan->client_count; i++) {
    blis_distribution_deinit(&plan->clients[i].input, &alloc);
    blis_distribution_deinit(&plan->clients[i].output, &alloc);
  }
  blis_alloc_free(&alloc, plan->clients,
                  plan->client_count * sizeof *plan->clients);
  blis_intern_free(plan->strings);
  blis_alloc_free(&alloc, plan, sizeof *plan);
}

static blis_status intern(blis__plan *plan, const char *text, uint32_t *id,
                          blis_error *error) {
  if (text == NULL) {
    *id = 0;
    return BLIS_OK;
  }
  if (blis_intern_add(plan->strings, text, strlen(text), id) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status intern_texts(blis__plan *plan, const blis_client_spec *spec,
                                blis__client_plan *client, blis_error *error) {
  BLIS_TRY(intern(plan, spec->id, &client->id, error));
  BLIS_TRY(intern(plan, spec->tenant, &client->tenant, error));
  BLIS_TRY(intern(plan, spec->slo_class, &client->slo_class, error));
  BLIS_TRY(intern(plan, spec->model, &client->model, error));
  return intern(plan, spec->prefix_group, &client->prefix_group, error);
}

static blis_status plan_client(blis__plan *plan, const blis_workload_spec *spec,
                               uint32_t index, double total_fraction,
                               blis_error *error) {
  const blis_client_spec *from = &spec->clients[index];
  blis__client_plan *client = &plan->clients[index];
  char label[BLIS_CLIENT_LABEL_SIZE];
  char where[BLIS_CLIENT_LABEL_SIZE + 32];
  blis_client_label(spec, index, label);
  snprintf(where, sizeof where, "%s: input_distribution", label);
  BLIS_TRY(blis_distribution_init(&client->input, &plan->alloc, &from->input,
                                  where, error));
  snprintf(where, sizeof where, "%s: output_distribution", label);
  BLIS_TRY(blis_distribution_init(&client->output, &plan->alloc, &from->output,
                                  where, error));
  double rate = spec->aggregate_rate * from->rate_fraction / total_fraction;
  blis_arrival_init(&client->arrival, &from->arrival, rate / 1e6);
  client->timeout_us = from->timeout_us;
  return intern_texts(plan, from, client, error);
}

/*
 * The first client of a group fixes the length of its prefix. The tokens are
 * drawn group after group; the number of the group's name is its stream.
 */
static blis_status plan_prefixes(blis__plan *plan,
                                 const blis_workload_spec *spec,
                                 blis_error *error) {
  uint32_t texts = blis_intern_count(plan->strings);
  uint32_t *firsts = blis_alloc_zeroed(&plan->alloc, texts, sizeof *firsts);
  if (firsts == NULL) {
    return blis_fail_nomem(error);
  }
  for (uint32_t i = 0; i < plan->client_count; i++) {
    blis__client_plan *client = &plan->clients[i];
    uint32_t group = client->prefix_group;
    if (group == 0) {
      continue;
    }
    if (firsts[group] == 0) {
      int64_t tokens = spec->clients[i].prefix_tokens;
      client->prefix = (blis_segment){
          .stream = group,
          .length_tokens = tokens > 0 ? (uint32_t)tokens
                                      : BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS};
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

static blis_status plan_fill(blis__plan *plan, const blis_workload_spec *spec,
                             blis_error *error) {
  plan->strings = blis_intern_new(&plan->alloc);
  plan->clients = blis_alloc_zeroed(&plan->alloc, spec->client_count,
                                    sizeof *plan->clients);
  if (plan->strings == NULL || plan->clients == NULL) {
    return blis_fail_nomem(error);
  }
  double total_fraction = blis_workload_spec_total_fraction(spec);
  for (uint32_t i = 0; i < plan->client_count; i++) {
    BLIS_TRY(plan_client(plan, spec, i, total_fraction, error));
  }
  return plan_prefixes(plan, spec, error);
}

blis_status blis__plan_new(const blis_alloc *alloc,
                           const blis_workload_spec *spec, blis__plan **plan,
                           blis_error *error) {
  BLIS_TRY(blis_workload_spec_check(spec, error));
  blis__plan *made = blis_alloc_new(alloc, sizeof *made);
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  *made = (blis__plan){
      .alloc = *alloc,
      .users = 1,
      .client_count = (uint32_t)spec->client_count,
      .seed = spec->seed,
      .num_requests = spec->num_requests > 0 ? spec->num_requests : INT64_MAX,
      .horizon_us = spec->horizon_us > 0 ? spec->horizon_us : INT64_MAX,
      .is_lazy = spec->lazy_tokens,
      .has_horizon = spec->horizon_us > 0};
  blis_status status = plan_fill(made, spec, error);
  if (status != BLIS_OK) {
    blis__plan_unref(made);
    return status;
  }
  *plan = made;
  return BLIS_OK;
}

void blis__plan_ref(blis__plan *plan) {
  plan->users++;
}

void blis__plan_unref(blis__plan *plan) {
  plan->users--;
  if (plan->users == 0) {
    plan_free(plan);
  }
}
