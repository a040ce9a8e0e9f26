#include "workload/generate/generator.h"

#include <inttypes.h>
#include <string.h>

#include "base/containers/winner_tree.h"
#include "base/invariant.h"
#include "base/random.h"
#include "base/time.h"
#include "workload/generate/layout.h"
#include "workload/generate/windows.h"
#include "workload/workload.h"

enum { VOCABULARY = BLIS_GENERATOR_VOCABULARY };

#define NO_PROCESS UINT32_MAX

/* The pending request of an arrival process; its time is in the tree. */
typedef struct process_state {
  int64_t arrival_us;
  uint32_t client;
  uint32_t input_tokens; /* input tokens without the prefix */
  uint32_t output_tokens;
} process_state;

/* Kind of the last returned request, for callers that need its tokens. */
typedef enum last_request { NOTHING, FROM_STREAM, FROM_LAYOUT, FOLLOW_UP } last_request;

/*
 * The stream of a process is positioned directly before the tokens of its pending request, or,
 * until the next call, before those of the request that was taken last. With a layout there are no
 * streams.
 */
struct blis_generator {
  blis__plan *plan;
  process_state *processes;
  blis_random *randoms; /* one per process; lazy: arrivals, then lengths */
  blis_random choices;  /* stream that chooses the client in a shared process */
  blis_winner_tree *pending;
  blis__sessions *sessions; /* NULL = no sessions that wait for responses */
  int64_t taken;
  uint32_t last_process; /* next process to draw from; NO_PROCESS = none */
  last_request last;
};

static size_t random_count(const blis__plan *plan) {
  return (size_t)plan->process_count * (plan->is_lazy ? 2 : 1);
}

static blis_random *arrivals_of(const blis_generator *generator, uint32_t process) {
  size_t streams = generator->plan->is_lazy ? 2 : 1;
  return &generator->randoms[streams * process];
}

/* Returns the stream for lengths, which follows the stream of the arrivals or is the same. */
static blis_random *lengths_of(const blis_generator *generator, uint32_t process) {
  return arrivals_of(generator, process) + (generator->plan->is_lazy ? 1 : 0);
}

void blis_generator_free(blis_generator *generator) {
  if (generator == NULL) {
    return;
  }
  blis__plan *plan = generator->plan;
  blis_alloc alloc = plan->alloc;
  if (!plan->has_layout) {
    blis_alloc_free(&alloc, generator->processes,
                    plan->process_count * sizeof *generator->processes);
    blis_alloc_free(&alloc, generator->randoms, random_count(plan) * sizeof *generator->randoms);
  }
  blis_winner_tree_free(generator->pending);
  blis__sessions_free(generator->sessions);
  blis_alloc_free(&alloc, generator, sizeof *generator);
  blis__plan_free(plan);
}

static bool make_streams(blis_generator *generator) {
  const blis__plan *plan = generator->plan;
  const blis_alloc *alloc = &plan->alloc;
  generator->processes =
      blis_alloc_zeroed(alloc, plan->process_count, sizeof *generator->processes);
  generator->randoms = blis_alloc_zeroed(alloc, random_count(plan), sizeof *generator->randoms);
  generator->pending = blis_winner_tree_new(alloc, plan->process_count);
  return generator->processes != NULL && generator->randoms != NULL && generator->pending != NULL;
}

/* Creates a generator without content; takes ownership of the plan. NULL = out of memory. */
static blis_generator *generator_new(blis__plan *plan) {
  blis_generator *generator = blis_alloc_new(&plan->alloc, sizeof *generator);
  if (generator == NULL) {
    blis__plan_free(plan);
    return NULL;
  }
  *generator = (blis_generator){.plan = plan, .last_process = NO_PROCESS};
  if (!plan->has_layout && !make_streams(generator)) {
    blis_generator_free(generator);
    return NULL;
  }
  return generator;
}

/* Requests one at a time. */

/* Draws the seeds of the processes after the prefix tokens, from the same stream. */
static void seed_processes(blis_generator *generator) {
  const blis__plan *plan = generator->plan;
  blis_random workload;
  blis__plan_seed_stream(plan, &workload);
  for (uint32_t i = 0; i < plan->process_count; i++) {
    int64_t seed = blis_random_int63(&workload);
    if (plan->shares != NULL) {
      blis_random_init_named(&generator->choices, seed, "clients");
    }
    if (plan->is_lazy) {
      blis_random_init_named(arrivals_of(generator, i), seed, "arrivals");
      blis_random_init_named(lengths_of(generator, i), seed, "lengths");
    } else {
      blis_random_init(arrivals_of(generator, i), seed);
    }
    blis__plan_begin_arrivals(plan, i, arrivals_of(generator, i));
  }
}

/* Returns the next time of a process. Outside of its windows, no request arrives. */
static int64_t draw_arrival(blis_generator *generator, uint32_t process) {
  const blis__plan *plan = generator->plan;
  const blis__kind *kind = blis__plan_kind_of(plan, process);
  int64_t time_us = generator->processes[process].arrival_us;
  do {
    time_us = blis_time_after_us(
        time_us, blis_arrival_draw(&kind->arrival, arrivals_of(generator, process)));
    if (time_us >= plan->horizon_us || (kind->window_count > 0 && time_us >= kind->last_end_us)) {
      return BLIS_TIME_NEVER_US;
    }
  } while (kind->window_count > 0 && !blis__kind_is_active(kind, time_us));
  BLIS_ASSERT(time_us >= generator->processes[process].arrival_us);
  return time_us;
}

/* Draws the next request of a process, or leaves the process permanently without a request. */
static blis_status draw_request(blis_generator *generator, uint32_t process, blis_error *error) {
  const blis__plan *plan = generator->plan;
  const blis__kind *kind = blis__plan_kind_of(plan, process);
  process_state *state = &generator->processes[process];
  state->arrival_us = draw_arrival(generator, process);
  if (state->arrival_us == BLIS_TIME_NEVER_US) {
    blis_winner_tree_clear(generator->pending, process);
    return BLIS_OK;
  }
  blis_random *lengths = lengths_of(generator, process);
  state->client = blis__plan_draw_client(plan, process, &generator->choices);
  BLIS_TRY(blis__plan_draw_length(plan, state->client, &kind->input, "input", lengths,
                                  &state->input_tokens, error));
  BLIS_TRY(blis__plan_draw_length(plan, state->client, &kind->output, "output", lengths,
                                  &state->output_tokens, error));
  blis_winner_tree_set(generator->pending, process, state->arrival_us);
  return BLIS_OK;
}

/* Replaces the request that was taken last with the next request of its process. */
static blis_status refill(blis_generator *generator, blis_error *error) {
  uint32_t process = generator->last_process;
  if (process == NO_PROCESS) {
    return BLIS_OK;
  }
  generator->last_process = NO_PROCESS;
  if (!generator->plan->is_lazy) {
    const process_state *state = &generator->processes[process];
    blis_random_skip_intn(arrivals_of(generator, process), VOCABULARY,
                          (uint64_t)state->input_tokens + state->output_tokens);
  }
  return draw_request(generator, process, error);
}

/* Sets the members that all requests of a client share. */
static void fill_labels(const blis__plan *plan, uint32_t client, blis_request *request) {
  const blis__client_plan *labels = &plan->clients[client];
  const blis__kind *kind = &plan->kinds[labels->kind];
  uint32_t prefix_tokens = labels->prefix.length_tokens;
  *request = (blis_request){.segments = prefix_tokens > 0 ? &labels->prefix : NULL,
                            .segment_count = prefix_tokens > 0 ? 1 : 0,
                            .shared_tokens = prefix_tokens,
                            .tenant = kind->tenant,
                            .slo_class = kind->slo_class,
                            .model = kind->model,
                            .adapter = kind->adapter,
                            .client = labels->id,
                            .prefix_group = labels->prefix_group,
                            .prefix_tokens = prefix_tokens,
                            .slo_target_us = kind->slo_target_us,
                            .is_streaming = kind->is_streaming};
}

static void fill_values(const blis_generator *generator, int64_t arrival_us, int64_t timeout_us,
                        uint32_t input_tokens, uint32_t output_tokens, blis_request *request) {
  request->number = generator->taken;
  request->arrival_us = arrival_us;
  request->deadline_us = timeout_us > 0 ? blis_time_after_us(arrival_us, timeout_us) : 0;
  request->prompt_tokens = request->shared_tokens + input_tokens;
  request->output_tokens = output_tokens;
  request->max_output_tokens = output_tokens;
}

static blis_status next_drawn(blis_generator *generator, blis_request *request, bool *done,
                              blis_error *error) {
  *done = generator->taken == generator->plan->num_requests;
  if (*done) {
    return BLIS_OK;
  }
  BLIS_TRY(refill(generator, error));
  uint32_t process;
  int64_t arrival_us;
  *done = !blis_winner_tree_min(generator->pending, &process, &arrival_us);
  if (*done) {
    return BLIS_OK;
  }
  const process_state *state = &generator->processes[process];
  BLIS_ASSERT(state->arrival_us == arrival_us);
  fill_labels(generator->plan, state->client, request);
  fill_values(generator, state->arrival_us,
              blis__plan_kind_of(generator->plan, state->client)->timeout_us, state->input_tokens,
              state->output_tokens, request);
  generator->last_process = process;
  generator->last = FROM_STREAM;
  return BLIS_OK;
}

/* Requests from a layout. */

static void fill_modalities(const blis__drawn *drawn, blis_request *request) {
  request->text_tokens = drawn->modal_tokens[BLIS__TEXT];
  request->image_tokens = drawn->modal_tokens[BLIS__IMAGE];
  request->audio_tokens = drawn->modal_tokens[BLIS__AUDIO];
  request->video_tokens = drawn->modal_tokens[BLIS__VIDEO];
}

/* Sets the content of a round. In growing conversations, the content of the whole prompt is
   known. */
static void fill_round(const blis__plan *plan, size_t index, blis_request *request) {
  const blis__drawn *drawn = &plan->layout.requests.items[index];
  const blis__kind *kind = blis__plan_kind_of(plan, drawn->client);
  BLIS_ASSERT(drawn->round < kind->max_rounds);
  request->round_index = drawn->round;
  request->reason_ratio = (double)drawn->reason_percent / 100;
  if (plan->rules.loses_labels) {
    request->prefix_group = 0;
    request->is_streaming = false;
    request->slo_target_us = plan->is_varying ? 0 : request->slo_target_us;
  }
  if (!kind->accumulates) {
    return;
  }
  const blis_segment *segments = plan->layout.segments[index];
  bool has_prefix = segments[0].length_tokens > 0;
  request->segments = has_prefix ? segments : segments + 1;
  request->segment_count = has_prefix ? 2 : 1;
  request->prompt_tokens += drawn->context_tokens;
  request->shared_tokens = request->prompt_tokens;
  request->shares_output = drawn->round + 1 < kind->max_rounds;
  request->shares_last_output = request->shares_output && !kind->is_closed_loop;
}

/* Returns whether requests lose prefix and deadline because rates vary. */
static bool loses_labels(const blis__plan *plan, const blis__kind *kind) {
  return plan->rules.loses_labels && plan->is_varying && !kind->is_multi_turn &&
         kind->concurrency == 0;
}

static void next_laid_out(blis_generator *generator, blis_request *request, bool *done) {
  const blis__plan *plan = generator->plan;
  size_t index = (size_t)generator->taken;
  *done = index == plan->layout.requests.count;
  if (*done) {
    return;
  }
  const blis__drawn *drawn = &plan->layout.requests.items[index];
  BLIS_ASSERT(index == 0 || drawn[-1].arrival_us <= drawn->arrival_us);
  const blis__kind *kind = blis__plan_kind_of(plan, drawn->client);
  bool loses = loses_labels(plan, kind);
  fill_labels(plan, drawn->client, request);
  if (loses) {
    request->segment_count = 0;
    request->shared_tokens = 0;
    request->prefix_group = 0;
    request->prefix_tokens = 0;
  }
  bool has_deadline = !loses || plan->has_run_timeout;
  fill_values(generator, drawn->arrival_us, has_deadline ? kind->timeout_us : 0,
              drawn->input_tokens, drawn->output_tokens, request);
  request->session = drawn->session;
  if (kind->is_multi_turn) {
    fill_round(plan, index, request);
  } else {
    fill_modalities(drawn, request);
  }
  generator->last = FROM_LAYOUT;
}

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  blis_generator *generator = state;
  if (generator->plan->has_layout) {
    next_laid_out(generator, request, done);
  } else {
    BLIS_TRY(next_drawn(generator, request, done, error));
  }
  generator->taken += *done ? 0 : 1;
  return BLIS_OK;
}

static blis_status request_ended(void *state, const blis_request *request,
                                 const blis_request_outcome *outcome, blis_request *follow_up,
                                 bool *has_follow_up, blis_error *error) {
  blis_generator *generator = state;
  BLIS_TRY(
      blis__sessions_ended(generator->sessions, request, outcome, follow_up, has_follow_up, error));
  if (*has_follow_up) {
    generator->last = FOLLOW_UP;
  }
  return BLIS_OK;
}

blis_request_source blis_generator_source(blis_generator *generator) {
  const blis__plan *plan = generator->plan;
  int64_t count = -1;
  if (plan->has_layout) {
    count = (int64_t)plan->layout.requests.count - generator->taken;
  } else if (!plan->has_end) {
    count = plan->num_requests - generator->taken;
  }
  return (blis_request_source){.next = next_request,
                               .ended = generator->sessions != NULL ? request_ended : NULL,
                               .state = generator,
                               .strings = plan->strings,
                               .count = count};
}

/* Construction. */

static blis_status start_sessions(blis_generator *generator, blis_error *error) {
  const blis__plan *plan = generator->plan;
  const blis__layout *layout = &plan->layout;
  if (layout->sessions.count == 0) {
    return BLIS_OK;
  }
  const blis__sessions_config config = {.starts = layout->sessions.items,
                                        .count = layout->sessions.count,
                                        .string_count = blis_intern_count(plan->strings),
                                        .follow_ups = layout->follow_ups,
                                        .is_lazy = plan->is_lazy,
                                        .keeps_tokens = plan->keeps_tokens};
  generator->sessions = blis__sessions_new(&plan->alloc, &config);
  return generator->sessions != NULL ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status start(blis_generator *generator, blis_error *error) {
  if (generator->plan->has_layout) {
    BLIS_TRY(blis__plan_lay_out(generator->plan, error));
    return start_sessions(generator, error);
  }
  seed_processes(generator);
  for (uint32_t i = 0; i < generator->plan->process_count; i++) {
    BLIS_TRY(draw_request(generator, i, error));
  }
  return BLIS_OK;
}

blis_status blis_generator_new(const blis_alloc *alloc, const blis_workload_spec *spec,
                               blis_generator **generator, blis_error *error) {
  blis__plan *plan;
  BLIS_TRY(blis__plan_new(alloc, spec, &plan, error));
  blis_generator *made = generator_new(plan);
  BLIS_TRY_NEW(made, error);
  blis_status status = start(made, error);
  if (status != BLIS_OK) {
    blis_generator_free(made);
    return status;
  }
  *generator = made;
  return BLIS_OK;
}

/* Token ids. */

static void drawn_tokens(const blis_generator *generator, int32_t *prompt, int32_t *output) {
  const blis__plan *plan = generator->plan;
  uint32_t process = generator->last_process;
  const process_state *state = &generator->processes[process];
  const blis__client_plan *of = &plan->clients[state->client];
  blis_random random;
  if (of->prefix.length_tokens > 0) {
    blis_random_init_named(&random, plan->seed, "workload-gen");
    blis_random_skip_intn(&random, VOCABULARY, of->prefix_draw);
    blis_random_fill_intn(&random, VOCABULARY, prompt, of->prefix.length_tokens);
  }
  random = *arrivals_of(generator, process);
  blis_random_fill_intn(&random, VOCABULARY, prompt + of->prefix.length_tokens,
                        state->input_tokens);
  blis_random_fill_intn(&random, VOCABULARY, output, state->output_tokens);
}

static void copy_tokens(int32_t *to, const int32_t *from, size_t count) {
  if (count > 0) {
    memcpy(to, from, count * sizeof *to);
  }
}

/* Writes the tokens of a request from a layout. The tokens of a conversation are consecutive,
   round after round. */
static void laid_out_tokens(const blis_generator *generator, int32_t *prompt, int32_t *output) {
  const blis__plan *plan = generator->plan;
  const blis__layout *layout = &plan->layout;
  const blis__drawn *drawn = &layout->requests.items[generator->taken - 1];
  const blis__client_plan *client = &plan->clients[drawn->client];
  const blis__kind *kind = &plan->kinds[client->kind];
  uint32_t context_tokens = kind->is_multi_turn ? drawn->context_tokens : 0;
  if (!loses_labels(plan, kind) && client->prefix.length_tokens > 0) {
    copy_tokens(prompt, layout->prefix_tokens + client->prefix_draw, client->prefix.length_tokens);
    prompt += client->prefix.length_tokens;
  }
  const int32_t *own =
      layout->tokens.items + layout->token_starts.items[drawn->sequence] - context_tokens;
  size_t input_tokens = (size_t)context_tokens + drawn->input_tokens;
  copy_tokens(prompt, own, input_tokens);
  copy_tokens(output, own + input_tokens, drawn->output_tokens);
}

blis_status blis_generator_tokens(const blis_generator *generator, int32_t *prompt, int32_t *output,
                                  blis_error *error) {
  const blis__plan *plan = generator->plan;
  if (plan->is_lazy) {
    return blis_fail(error, BLIS_ERR_INVALID, "a workload with lazy tokens has no token ids");
  }
  if (plan->has_layout && !plan->keeps_tokens) {
    return blis_fail(error, BLIS_ERR_INVALID, "this workload has no token ids (set keep_tokens)");
  }
  switch (generator->last) {
  case FROM_STREAM:
    drawn_tokens(generator, prompt, output);
    return BLIS_OK;
  case FROM_LAYOUT:
    laid_out_tokens(generator, prompt, output);
    return BLIS_OK;
  case FOLLOW_UP:
    blis__sessions_tokens(generator->sessions, prompt, output);
    return BLIS_OK;
  case NOTHING:
    break;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "token ids belong to the last request, and there is none yet");
}
