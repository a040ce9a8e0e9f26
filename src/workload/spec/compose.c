#include "workload/spec/compose.h"

#include <string.h>

typedef struct composition {
  const blis_spec_part *parts;
  size_t count;
  blis_workload_spec *whole;
  blis_client_spec *clients;
  blis_cohort_spec *cohorts;
  blis_goodput_target *targets;
  blis_status (*note)(void *ud, const char *text);
  void *ud;
} composition;

static size_t all_clients(const blis_workload_spec *spec) {
  return spec->client_count + spec->cohort_count;
}

static bool has_rate_clients(const blis_workload_spec *spec) {
  for (size_t i = 0; i < all_clients(spec); i++) {
    if (blis_workload_spec_client(spec, i)->concurrency == 0) {
      return true;
    }
  }
  return false;
}

static blis_status check_part(const blis_spec_part *part, double total, blis_error *error) {
  const blis_workload_spec *spec = part->spec;
  for (size_t i = 0; i < spec->client_count; i++) {
    if (spec->clients[i].fixed_rate > 0 || spec->clients[i].spread_count > 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: an inference_perf load cannot be composed; convert it first",
                       part->name);
    }
  }
  if (total > 0 && spec->aggregate_rate == 0 && has_rate_clients(spec)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s has no aggregate_rate but others have; either all or none need one",
                     part->name);
  }
  return BLIS_OK;
}

static double sum_of_fractions(const blis_workload_spec *spec) {
  double sum = 0;
  for (size_t i = 0; i < all_clients(spec); i++) {
    sum += blis_workload_spec_client(spec, i)->rate_fraction;
  }
  return sum;
}

static void add_clients(composition *c, const blis_workload_spec *spec, double factor) {
  blis_workload_spec *whole = c->whole;
  for (size_t i = 0; i < spec->client_count; i++) {
    blis_client_spec *client = &c->clients[whole->client_count++];
    *client = spec->clients[i];
    client->rate_fraction *= factor;
  }
  for (size_t i = 0; i < spec->cohort_count; i++) {
    blis_cohort_spec *cohort = &c->cohorts[whole->cohort_count++];
    *cohort = spec->cohorts[i];
    cohort->client.rate_fraction *= factor;
  }
}

static bool has_target(const blis_workload_spec *whole, const char *class) {
  for (size_t i = 0; i < whole->goodput_target_count; i++) {
    if (strcmp(whole->goodput_targets[i].slo_class, class) == 0) {
      return true;
    }
  }
  return false;
}

static blis_status add_targets(composition *c, const blis_workload_spec *spec) {
  for (size_t i = 0; i < spec->goodput_target_count; i++) {
    const blis_goodput_target *target = &spec->goodput_targets[i];
    if (has_target(c->whole, target->slo_class)) {
      BLIS_TRY(c->note(c->ud, "an SLO class has several goodput targets; the first one is used"));
    } else {
      c->targets[c->whole->goodput_target_count++] = *target;
    }
  }
  return BLIS_OK;
}

/* Returns a total that is the same in all parts; otherwise 0, with a note. */
static blis_status common(const composition *c, const int64_t *(*get)(const blis_workload_spec *),
                          const char *text, int64_t *value) {
  *value = *get(c->parts[0].spec);
  for (size_t i = 1; i < c->count; i++) {
    if (*get(c->parts[i].spec) != *value) {
      *value = 0;
      return c->note(c->ud, text);
    }
  }
  return BLIS_OK;
}

static const int64_t *seed_of(const blis_workload_spec *spec) {
  return &spec->seed;
}

static const int64_t *requests_of(const blis_workload_spec *spec) {
  return &spec->num_requests;
}

static const int64_t *horizon_of(const blis_workload_spec *spec) {
  return &spec->horizon_us;
}

static blis_status set_tokens(composition *c) {
  size_t lazy = 0;
  for (size_t i = 0; i < c->count; i++) {
    lazy += c->parts[i].spec->lazy_tokens ? 1 : 0;
  }
  c->whole->lazy_tokens = lazy == c->count;
  return lazy == 0 || lazy == c->count ? BLIS_OK : c->note(c->ud, "tokens differ; using drawn");
}

static blis_status set_totals(composition *c) {
  BLIS_TRY(set_tokens(c));
  BLIS_TRY(common(c, seed_of, "the seeds differ and are dropped", &c->whole->seed));
  BLIS_TRY(common(c, requests_of, "num_requests differ and are dropped", &c->whole->num_requests));
  return common(c, horizon_of, "the horizons differ and are dropped", &c->whole->horizon_us);
}

static blis_status make_room(composition *c, blis_arena *arena) {
  size_t clients = 0;
  size_t cohorts = 0;
  size_t targets = 0;
  for (size_t i = 0; i < c->count; i++) {
    clients += c->parts[i].spec->client_count;
    cohorts += c->parts[i].spec->cohort_count;
    targets += c->parts[i].spec->goodput_target_count;
  }
  c->clients = blis_arena_new(arena, (clients + 1) * sizeof *c->clients);
  c->cohorts = blis_arena_new(arena, (cohorts + 1) * sizeof *c->cohorts);
  c->targets = blis_arena_new(arena, (targets + 1) * sizeof *c->targets);
  bool has_room = c->clients != NULL && c->cohorts != NULL && c->targets != NULL;
  return has_room ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* Checks the result, except for its end, which may be set later. */
static blis_status check_whole(const blis_workload_spec *whole, blis_error *error) {
  blis_workload_spec bounded = *whole;
  bounded.num_requests = bounded.num_requests > 0 ? bounded.num_requests : 1;
  return blis_workload_spec_check(&bounded, NULL, error);
}

blis_status blis_workload_spec_compose(const blis_spec_part *parts, size_t count, blis_arena *arena,
                                       blis_workload_spec *whole,
                                       blis_status (*note)(void *ud, const char *text), void *ud,
                                       blis_error *error) {
  double total = 0;
  for (size_t i = 0; i < count; i++) {
    total += parts[i].spec->aggregate_rate;
  }
  composition c = {.parts = parts, .count = count, .whole = whole, .note = note, .ud = ud};
  *whole = (blis_workload_spec){.category = parts[0].spec->category, .aggregate_rate = total};
  BLIS_TRY_MEM(make_room(&c, arena), error);
  whole->clients = c.clients;
  whole->cohorts = c.cohorts;
  whole->goodput_targets = c.targets;
  for (size_t i = 0; i < count; i++) {
    const blis_workload_spec *spec = parts[i].spec;
    BLIS_TRY(check_part(&parts[i], total, error));
    double sum = sum_of_fractions(spec);
    bool scales = total > 0 && sum > 0;
    add_clients(&c, spec, scales ? spec->aggregate_rate / total / sum : 1);
    BLIS_TRY_MEM(add_targets(&c, spec), error);
  }
  BLIS_TRY_MEM(set_totals(&c), error);
  return check_whole(whole, error);
}
