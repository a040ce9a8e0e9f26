#include "workload/spec/short_form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format/key.h"
#include "workload/workload.h"

static const blis_distribution_param default_params[] = {
    {"mean", 512}, {"std_dev", 256}, {"min", 2}, {"max", 7000}};

static const blis_distribution_spec default_length = {
    "gaussian", default_params, sizeof default_params / sizeof *default_params};

blis_short_form blis_short_form_default(void) {
  return (blis_short_form){.rate = 1,
                           .num_requests = 100,
                           .arrival = {.process = "poisson"},
                           .prompt = default_length,
                           .output = default_length,
                           .timeout_us = 300 * INT64_C(1000000)};
}

static blis_status check_prefixes(const blis_short_form *form, blis_error *error) {
  static const blis_key groups = {
      .name = "groups", .maximum = BLIS_SHORT_FORM_MAX_GROUPS, .is_whole = true};
  static const blis_key tokens = {
      .name = "tokens", .minimum = 1, .maximum = BLIS_WORKLOAD_MAX_TOKENS, .is_whole = true};
  static const blis_key zipf = {.name = "zipf", .maximum = 100};
  const char *where = "prefixes.";
  BLIS_TRY(blis_key_check_integer(&groups, where, form->prefix_groups, error));
  if (form->prefix_groups > 0) {
    BLIS_TRY(blis_key_check_integer(&tokens, where, form->prefix_tokens, error));
  }
  return blis_key_check_number(&zipf, where, form->prefix_zipf, error);
}

static blis_client_spec common_client(const blis_short_form *form) {
  const blis_short_form defaults = blis_short_form_default();
  blis_client_spec client = {.id = "distribution",
                             .tenant = form->tenant,
                             .slo_class = form->slo_class,
                             .model = form->model,
                             .rate_fraction = 1,
                             .arrival = form->arrival,
                             .input = form->prompt.type != NULL ? form->prompt : default_length,
                             .output = form->output.type != NULL ? form->output : default_length,
                             .timeout_us = form->timeout_us};
  if (client.arrival.process == NULL) {
    client.arrival.process = defaults.arrival.process;
  }
  return client;
}

/* Returns a weight > 0; the rarest groups get the smallest positive number. */
static double zipf_weight(int64_t rank, double exponent) {
  return fmax(1 / pow((double)(rank + 1), exponent), 1e-300);
}

/* Creates the turns of sessions; NULL without sessions. */
static blis_status make_turns(const blis_short_form *form, blis_arena *arena,
                              const blis_multi_turn_spec **made, blis_error *error) {
  *made = NULL;
  if (form->max_rounds == 0) {
    return BLIS_OK;
  }
  blis_multi_turn_spec *turns = blis_arena_new(arena, sizeof *turns);
  BLIS_TRY_NEW(turns, error);
  *turns = (blis_multi_turn_spec){.max_rounds = form->max_rounds,
                                  .think_time_us = form->think_time_us,
                                  .context_growth = form->rounds_grow ? "accumulate" : NULL};
  *made = turns;
  return BLIS_OK;
}

/* Sets the prefix of client k. If there are several groups, each has a client with its name. */
static blis_status set_prefix(const blis_short_form *form, size_t k, blis_arena *arena,
                              blis_client_spec *client, blis_error *error) {
  client->prefix_tokens = form->prefix_tokens;
  client->prefix_group = "shared";
  if (form->prefix_groups == 1) {
    return BLIS_OK;
  }
  char name[32];
  snprintf(name, sizeof name, "prefix_%zu", k);
  client->prefix_group = blis_arena_text(arena, name, strlen(name));
  BLIS_TRY_NEW(client->prefix_group, error);
  client->id = client->prefix_group;
  client->rate_fraction = zipf_weight((int64_t)k, form->prefix_zipf);
  return BLIS_OK;
}

blis_status blis_short_form_expand(const blis_short_form *form, blis_arena *arena,
                                   blis_workload_spec *spec, blis_error *error) {
  BLIS_TRY(check_prefixes(form, error));
  size_t count = form->prefix_groups > 0 ? (size_t)form->prefix_groups : 1;
  blis_client_spec *clients = blis_arena_new(arena, count * sizeof *clients);
  BLIS_TRY_NEW(clients, error);
  const blis_multi_turn_spec *turns;
  BLIS_TRY(make_turns(form, arena, &turns, error));
  for (size_t k = 0; k < count; k++) {
    clients[k] = common_client(form);
    clients[k].multi_turn = turns;
    clients[k].loop = form->is_open_loop ? BLIS_LOOP_OPEN : BLIS_LOOP_DEFAULT;
    if (form->prefix_groups > 0) {
      BLIS_TRY(set_prefix(form, k, arena, &clients[k], error));
    }
  }
  *spec = (blis_workload_spec){
      .seed = form->seed,
      .aggregate_rate = form->rate,
      .num_requests = form->num_requests,
      .horizon_us = form->horizon_us,
      .lazy_tokens = form->lazy_tokens,
      .shares_arrivals = count > 1 && !blis_workload_rules_of(form->rules).separates_prefix_groups,
      .rules = form->rules,
      .clients = clients,
      .client_count = count};
  return BLIS_OK;
}
