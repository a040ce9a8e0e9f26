#include "workload/generator.h"

#include <inttypes.h>
#include <string.h>

#include "base/invariant.h"
#include "base/random.h"
#include "base/time.h"
#include "base/winner_tree.h"
#include "workload/generator_plan.h"
#include "workload/workload.h"

enum { VOCABULARY = BLIS_GENERATOR_VOCABULARY };

#define NO_CLIENT UINT32_MAX

/* The request of a client that waits; its time is in the tree. */
typedef struct client_state {
  int64_t arrival_us;
  uint32_t input_tokens; /* without the prefix */
  uint32_t output_tokens;
} client_state;

/*
 * The stream of a client stands right before the tokens of its waiting request,
 * and before those of the last one taken until the next is asked for.
 */
struct blis_generator {
  blis__plan *plan;
  client_state *clients;
  blis_random *randoms; /* one per client; lazy: arrivals, then lengths */
  blis_winner_tree *pending;
  int64_t taken;
  uint32_t last_client; /* NO_CLIENT before the first request */
};

static size_t random_count(const blis__plan *plan) {
  return (size_t)plan->client_count * (plan->is_lazy ? 2 : 1);
}

static blis_random *arrivals_of(const blis_generator *generator,
                                uint32_t client) {
  return &generator
              ->randoms[generator->plan->is_lazy ? 2 * (size_t)client : client];
}

/* The stream behind that of the arrivals, or the same one. */
static blis_random *lengths_of(const blis_generator *generator,
                               uint32_t client) {
  return arrivals_of(generator, client) + (generator->plan->is_lazy ? 1 : 0);
}

void blis_generator_free(blis_generator *generator) {
  if (generator == NULL) {
    return;
  }
  blis__plan *plan = generator->plan;
  blis_alloc alloc = plan->alloc;
  blis_alloc_free(&alloc, generator->clients,
                  plan->client_count * sizeof *generator->clients);
  blis_alloc_free(&alloc, generator->randoms,
                  random_count(plan) * sizeof *generator->randoms);
  blis_winner_tree_free(generator->pending);
  blis_alloc_free(&alloc, generator, sizeof *generator);
  blis__plan_unref(plan);
}

/* A generator without content that uses the plan; NULL = out of memory. */
static blis_generator *generator_new(blis__plan *plan) {
  const blis_alloc *alloc = &plan->alloc;
  blis_generator *generator = blis_alloc_new(alloc, sizeof *generator);
  if (generator == NULL) {
    return NULL;
  }
  blis__plan_ref(plan);
  *generator = (blis_generator){.plan = plan, .last_client = NO_CLIENT};
  generator->clients =
      blis_alloc_zeroed(alloc, plan->client_count, sizeof *generator->clients);
  generator->randoms =
      blis_alloc_zeroed(alloc, random_count(plan), sizeof *generator->randoms);
  generator->pending = blis_winner_tree_new(alloc, plan->client_count);
  if (generator->clients == NULL || generator->randoms == NULL ||
      generator->pending == NULL) {
    blis_generator_free(generator);
    return NULL;
  }
  return generator;
}

/* The clients' seeds come behind the prefix tokens in the one stream. */
static void seed_clients(blis_generator *generator) {
  const blis__plan *plan = generator->plan;
  blis_random workload;
  blis_random_init_named(&workload, plan->seed, "workload-gen");
  if (!plan->is_lazy) {
    blis_random_skip_intn(&workload, VOCABULARY, plan->prefix_draws);
  }
  for (uint32_t i = 0; i < plan->client_count; i++) {
    int64_t seed = blis_random_int63(&workload);
    if (plan->is_lazy) {
      blis_random_init_named(arrivals_of(generator, i), seed, "arrivals");
      blis_random_init_named(lengths_of(generator, i), seed, "lengths");
    } else {
      blis_random_init(arrivals_of(generator, i), seed);
    }
  }
}

static blis_status draw_length(const blis_generator *generator, uint32_t client,
                               const blis_distribution *distribution,
                               const char *what, uint32_t *tokens,
                               blis_error *error) {
  int64_t length =
      blis_distribution_draw(distribution, lengths_of(generator, client));
  if (length > BLIS_WORKLOAD_MAX_TOKENS) {
    const blis__plan *plan = generator->plan;
    return blis_fail(
        error, BLIS_ERR_INVALID,
        "client %" PRIu32 " (\"%s\"): %s_distribution gave a length of %" PRId64
        " tokens; at most %d are possible",
        client + 1, blis_intern_text(plan->strings, plan->clients[client].id),
        what, length, BLIS_WORKLOAD_MAX_TOKENS);
  }
  *tokens = (uint32_t)length;
  return BLIS_OK;
}

/* Draws the next request of a client, or leaves it without one for good. */
static blis_status draw_request(blis_generator *generator, uint32_t client,
                                blis_error *error) {
  const blis__client_plan *plan = &generator->plan->clients[client];
  client_state *state = &generator->clients[client];
  int64_t gap_us =
      blis_arrival_draw(&plan->arrival, arrivals_of(generator, client));
  state->arrival_us = blis_time_after_us(state->arrival_us, gap_us);
  if (state->arrival_us >= generator->plan->horizon_us) {
    blis_winner_tree_clear(generator->pending, client);
    return BLIS_OK;
  }
  BLIS_TRY(draw_length(generator, client, &plan->input, "input",
                       &state->input_tokens, error));
  BLIS_TRY(draw_length(generator, client, &plan->output, "output",
                       &state->output_tokens, error));
  blis_winner_tree_set(generator->pending, client, state->arrival_us);
  return BLIS_OK;
}

/* Replaces the request that was taken last by the next of its client. */
static blis_status refill(blis_generator *generator, blis_error *error) {
  uint32_t client = generator->last_client;
  if (client == NO_CLIENT) {
    return BLIS_OK;
  }
  generator->last_client = NO_CLIENT;
  if (!generator->plan->is_lazy) {
    const client_state *state = &generator->clients[client];
    blis_random_skip_intn(arrivals_of(generator, client), VOCABULARY,
                          (uint64_t)state->input_tokens + state->output_tokens);
  }
  return draw_request(generator, client, error);
}

static void fill_request(const blis_generator *generator, uint32_t client,
                         blis_request *request) {
  const blis__client_plan *plan = &generator->plan->clients[client];
  const client_state *state = &generator->clients[client];
  uint32_t prefix_tokens = plan->prefix.length_tokens;
  *request =
      (blis_request){.arrival_us = state->arrival_us,
                     .deadline_us = plan->timeout_us > 0
                                        ? blis_time_after_us(state->arrival_us,
                                                             plan->timeout_us)
                                        : 0,
                     .number = generator->taken,
                     .prompt_tokens = prefix_tokens + state->input_tokens,
                     .output_tokens = state->output_tokens,
                     .max_output_tokens = state->output_tokens,
                     .segments = prefix_tokens > 0 ? &plan->prefix : NULL,
                     .segment_count = prefix_tokens > 0 ? 1 : 0,
                     .shared_tokens = prefix_tokens,
                     .tenant = plan->tenant,
                     .slo_class = plan->slo_class,
                     .model = plan->model,
                     .client = plan->id,
                     .prefix_group = plan->prefix_group,
                     .prefix_tokens = prefix_tokens};
}

static blis_status next_request(void *state, blis_request *request, bool *done,
                                blis_error *error) {
  blis_generator *generator = state;
  *done = generator->taken == generator->plan->num_requests;
  if (*done) {
    return BLIS_OK;
  }
  BLIS_TRY(refill(generator, error));
  uint32_t client;
  int64_t arrival_us;
  *done = !blis_winner_tree_min(generator->pending, &client, &arrival_us);
  if (*done) {
    return BLIS_OK;
  }
  fill_request(generator, client, request);
  generator->last_client = client;
  generator->taken++;
  return BLIS_OK;
}

blis_request_source blis_generator_source(blis_generator *generator) {
  const blis__plan *plan = generator->plan;
  return (blis_request_source){
      .next = next_request,
      .state = generator,
      .strings = plan->strings,
      .count = plan->has_horizon ? -1 : plan->num_requests - generator->taken};
}

blis_status blis_generator_new(const blis_alloc *alloc,
                               const blis_workload_spec *spec,
                               blis_generator **generator, blis_error *error) {
  blis__plan *plan;
  BLIS_TRY(blis__plan_new(alloc, spec, &plan, error));
  blis_generator *made = generator_new(plan);
  blis__plan_unref(plan); /* the generator has its own hold on it */
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  seed_clients(made);
  for (uint32_t i = 0; i < made->plan->client_count; i++) {
    blis_status status = draw_request(made, i, error);
    if (status != BLIS_OK) {
      blis_generator_free(made);
      return status;
    }
  }
  *generator = made;
  return BLIS_OK;
}

blis_status blis_generator_clone(const blis_generator *generator,
                                 blis_generator **clone, blis_error *error) {
  blis__plan *plan = generator->plan;
  blis_generator *made = generator_new(plan);
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  memcpy(made->clients, generator->clients,
         plan->client_count * sizeof *made->clients);
  memcpy(made->randoms, generator->randoms,
         random_count(plan) * sizeof *made->randoms);
  for (uint32_t i = 0; i < plan->client_count; i++) {
    blis_winner_tree_set(made->pending, i,
                         blis_winner_tree_time_us(generator->pending, i));
  }
  made->taken = generator->taken;
  made->last_client = generator->last_client;
  *clone = made;
  return BLIS_OK;
}

blis_status blis_generator_tokens(const blis_generator *generator,
                                  int32_t *prompt, int32_t *output,
                                  blis_error *error) {
  const blis__plan *plan = generator->plan;
  uint32_t client = generator->last_client;
  if (plan->is_lazy) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a workload with lazy tokens has no token ids");
  }
  if (client == NO_CLIENT) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "token ids are those of the last request, and none was "
                     "taken yet");
  }
  const blis__client_plan *of = &plan->clients[client];
  const client_state *state = &generator->clients[client];
  blis_random random;
  if (of->prefix.length_tokens > 0) {
    blis_random_init_named(&random, plan->seed, "workload-gen");
    blis_random_skip_intn(&random, VOCABULARY, of->prefix_draw);
    blis_random_fill_intn(&random, VOCABULARY, prompt,
                          of->prefix.length_tokens);
  }
  random = *arrivals_of(generator, client);
  blis_random_fill_intn(&random, VOCABULARY, prompt + of->prefix.length_tokens,
                        state->input_tokens);
  blis_random_fill_intn(&random, VOCABULARY, output, state->output_tokens);
  return BLIS_OK;
}
