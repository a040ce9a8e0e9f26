/*
 * Clients are processed one at a time and merged. At most three times num_requests are stored at
 * any moment, because requests after the last one that counts are never needed.
 */
#include "workload/generate/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "workload/generate/draw.h"
#include "workload/generate/generator.h"

/* This bit separates session streams from prefix streams. */
#define SESSION_STREAM (UINT64_C(1) << 32)

/* Offsets from the workload's seed, as in BLIS (Go). */
enum { BLUEPRINT_SEED = 7919, USER_SEED = 10007 };

enum { NAME_SIZE = 32 };

static int compare_drawn(const void *a, const void *b) {
  const blis__drawn *left = a;
  const blis__drawn *right = b;
  if (left->arrival_us != right->arrival_us) {
    return left->arrival_us < right->arrival_us ? -1 : 1;
  }
  return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* Keeps only the first num_requests of the requests drawn so far. */
static void cut(blis__plan *plan) {
  blis__drawn_array *requests = &plan->layout.requests;
  if (requests->count > 1) {
    qsort(requests->items, requests->count, sizeof *requests->items, compare_drawn);
  }
  if ((uint64_t)requests->count > (uint64_t)plan->num_requests) {
    requests->count = (size_t)plan->num_requests;
  }
}

static blis_status keep_prefixes(blis__plan *plan, blis_error *error) {
  if (!plan->keeps_tokens || plan->prefix_draws == 0) {
    return BLIS_OK;
  }
  int32_t *tokens =
      blis_alloc_zeroed(&plan->alloc, plan->prefix_draws, sizeof *plan->layout.prefix_tokens);
  BLIS_TRY_NEW(tokens, error);
  plan->layout.prefix_tokens = tokens;
  blis_random random;
  blis_random_init_named(&random, plan->seed, "workload-gen");
  blis_random_fill_intn(&random, BLIS_GENERATOR_VOCABULARY, tokens, plan->prefix_draws);
  return BLIS_OK;
}

/* Clients with a rate. */

static blis_status draw_rate_clients(blis__plan *plan, blis__drawing *drawing, blis_error *error) {
  blis__drawn_array *requests = &plan->layout.requests;
  blis_random seeds;
  blis__plan_seed_stream(plan, &seeds);
  int64_t limit_us = INT64_MAX;
  for (uint32_t i = 0; i < plan->process_count; i++) {
    const blis__kind *kind = blis__plan_kind_of(plan, i);
    if (kind->concurrency > 0 || (plan->is_varying && kind->window_count == 0)) {
      continue;
    }
    blis__drawing_init(drawing, plan, i, blis_random_int63(&seeds));
    BLIS_TRY(plan->is_varying ? blis__draw_windows(drawing, error)
                              : blis__draw_client(drawing, limit_us, error));
    if (requests->count / 2 > (uint64_t)plan->num_requests) {
      cut(plan);
      limit_us = requests->items[requests->count - 1].arrival_us;
    }
  }
  cut(plan);
  return BLIS_OK;
}

/* Removes rounds that wait for responses, because sessions create them. */
static void drop_follow_ups(blis__plan *plan) {
  blis__drawn_array *requests = &plan->layout.requests;
  size_t kept = 0;
  for (size_t i = 0; i < requests->count; i++) {
    const blis__drawn *request = &requests->items[i];
    const blis__kind *kind = blis__plan_kind_of(plan, request->client);
    if (!kind->is_multi_turn || !kind->is_closed_loop || request->round == 0) {
      requests->items[kept++] = *request;
    }
  }
  requests->count = kept;
}

/* Sessions. */

static blis_status name_session(blis__plan *plan, blis__drawn *request, blis_error *error) {
  char name[NAME_SIZE];
  int length = snprintf(name, sizeof name, "sess_%" PRId64, request->session_id);
  BLIS_TRY_MEM(blis_intern_add(plan->strings, name, (size_t)length, &request->session), error);
  return BLIS_OK;
}

/*
 * Returns the prefix of later rounds. A client with cut prefixes uses the length that it sets
 * itself, 0 by default. A growing conversation always contains the whole prefix.
 */
static blis_segment follow_up_prefix(const blis__plan *plan, const blis__client_plan *client) {
  const blis__kind *kind = &plan->kinds[client->kind];
  blis_segment prefix = client->prefix;
  bool is_cut = plan->cuts_prefixes && kind->concurrency == 0 && !kind->accumulates;
  if (is_cut && kind->own_prefix_tokens < prefix.length_tokens) {
    prefix.length_tokens = (uint32_t)kind->own_prefix_tokens;
  }
  return prefix;
}

static blis_status add_session(blis__plan *plan, const blis__drawn *request, blis_error *error) {
  const blis__client_plan *client = &plan->clients[request->client];
  const blis__session_start start = {.name = request->session,
                                     .client = request->client,
                                     .first_sequence = request->sequence,
                                     .rule = &plan->layout.rules[client->kind],
                                     .prefix = follow_up_prefix(plan, client),
                                     .stream = SESSION_STREAM | request->session};
  BLIS_TRY_MEM(blis_array_push(&plan->alloc, &plan->layout.sessions, start), error);
  return BLIS_OK;
}

static blis_status add_sessions(blis__plan *plan, blis_error *error) {
  blis__drawn_array *requests = &plan->layout.requests;
  for (size_t i = 0; i < requests->count; i++) {
    blis__drawn *request = &requests->items[i];
    const blis__kind *kind = blis__plan_kind_of(plan, request->client);
    if (!kind->is_multi_turn) {
      continue;
    }
    BLIS_TRY(name_session(plan, request, error));
    if (kind->is_closed_loop) {
      BLIS_TRY(add_session(plan, request, error));
    }
  }
  return BLIS_OK;
}

/* Orders sessions by client, then in byte order of their names. */
static int compare_sessions(const void *a, const void *b) {
  const blis__session_start *left = a;
  const blis__session_start *right = b;
  if (left->client != right->client) {
    return left->client < right->client ? -1 : 1;
  }
  return strcmp(left->text, right->text);
}

static void seed_sessions(blis__plan *plan) {
  blis__layout *layout = &plan->layout;
  size_t count = layout->sessions.count;
  if (count == 0) {
    return;
  }
  for (size_t i = 0; i < count; i++) {
    blis__session_start *start = &layout->sessions.items[i];
    start->text = blis_intern_text(plan->strings, start->name);
  }
  qsort(layout->sessions.items, count, sizeof *layout->sessions.items, compare_sessions);
  blis_random random;
  blis_random_init(&random, (int64_t)((uint64_t)plan->seed + BLUEPRINT_SEED));
  for (size_t i = 0; i < count; i++) {
    layout->sessions.items[i].seed = blis_random_int63(&random);
  }
}

/* Users with one request at a time. */

static int64_t user_start_us(const blis__kind *kind, uint32_t user) {
  int64_t users = kind->concurrency;
  int64_t think_us = kind->think_us;
  return users > 1 ? think_us / users * user + think_us % users * user / users : 0;
}

static blis_status name_user(blis__plan *plan, uint32_t client, uint32_t user, uint32_t *name,
                             blis_error *error) {
  uint32_t id = plan->clients[client].id;
  size_t size = blis_intern_length(plan->strings, id) + 48;
  char *text = blis_alloc_new(&plan->alloc, size);
  BLIS_TRY_NEW(text, error);
  int length = snprintf(text, size, "concurrency_%s_user_%" PRIu32,
                        blis_intern_text(plan->strings, id), user);
  uint32_t known = blis_intern_count(plan->strings);
  blis_status status = blis_intern_add(plan->strings, text, (size_t)length, name);
  blis_alloc_free(&plan->alloc, text, size);
  BLIS_TRY_MEM(status, error);
  if (*name < known) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "client %" PRIu32 " ('%s'): another client with concurrency has the same "
                     "id; ids must differ",
                     client + 1, blis_intern_text(plan->strings, id));
  }
  return BLIS_OK;
}

static blis_status add_user(blis__plan *plan, blis__drawing *drawing, uint32_t client,
                            uint32_t user, blis_random *seeds, blis_error *error) {
  const blis__kind *kind = blis__plan_kind_of(plan, client);
  blis__drawn_array *requests = &plan->layout.requests;
  blis__drawing_init(drawing, plan, client, blis_random_int63(seeds));
  BLIS_TRY(
      blis__draw_request(drawing, &kind->input, &kind->output, user_start_us(kind, user), error));
  blis__drawn *request = &requests->items[requests->count - 1];
  BLIS_TRY(name_user(plan, client, user, &request->session, error));
  BLIS_TRY(add_session(plan, request, error));
  blis__layout *layout = &plan->layout;
  layout->sessions.items[layout->sessions.count - 1].seed = blis_random_int63(seeds);
  return BLIS_OK;
}

static void limit_follow_ups(blis__plan *plan, bool has_users) {
  blis__layout *layout = &plan->layout;
  bool counts = has_users || !plan->rules.counts_users_only;
  layout->follow_ups = INT64_MAX;
  if (counts && plan->num_requests < INT64_MAX) {
    layout->follow_ups = plan->num_requests - (int64_t)layout->requests.count;
  }
}

static blis_status add_users(blis__plan *plan, blis__drawing *drawing, blis_error *error) {
  blis__layout *layout = &plan->layout;
  blis_random seeds;
  blis_random_init(&seeds, (int64_t)((uint64_t)plan->seed + USER_SEED));
  bool has_users = false;
  for (uint32_t i = 0; i < plan->client_count; i++) {
    uint32_t users = blis__plan_kind_of(plan, i)->concurrency;
    for (uint32_t user = 0; user < users; user++) {
      if (layout->requests.count >= (uint64_t)plan->num_requests) {
        break;
      }
      BLIS_TRY(add_user(plan, drawing, i, user, &seeds, error));
      has_users = true;
    }
  }
  if (has_users) {
    cut(plan);
  }
  limit_follow_ups(plan, has_users);
  return BLIS_OK;
}

/* Remaining preparation. */

static blis_status make_rules(blis__plan *plan, blis_error *error) {
  plan->layout.rules =
      blis_alloc_zeroed(&plan->alloc, plan->kind_count, sizeof *plan->layout.rules);
  BLIS_TRY_NEW(plan->layout.rules, error);
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    const blis__kind *kind = &plan->kinds[i];
    plan->layout.rules[i] =
        (blis__session_rule){.input = &kind->input,
                             .modalities = kind->is_multimodal ? &kind->modalities : NULL,
                             .output = &kind->output,
                             .max_rounds = kind->max_rounds,
                             .think_us = kind->think_us,
                             .timeout_us = kind->timeout_us,
                             .horizon_us = plan->horizon_us,
                             .accumulates = kind->accumulates,
                             .persists = kind->concurrency > 0 && !plan->rules.ends_users,
                             .keeps_labels = !plan->rules.loses_labels};
  }
  return BLIS_OK;
}

static blis_status make_segments(blis__plan *plan, blis_error *error) {
  blis__layout *layout = &plan->layout;
  bool any_grows = false;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    any_grows = any_grows || plan->kinds[i].accumulates;
  }
  if (!any_grows || layout->requests.count == 0) {
    return BLIS_OK;
  }
  layout->segments =
      blis_alloc_zeroed(&plan->alloc, layout->requests.count, sizeof *layout->segments);
  BLIS_TRY_NEW(layout->segments, error);
  for (size_t i = 0; i < layout->requests.count; i++) {
    const blis__drawn *request = &layout->requests.items[i];
    if (blis__plan_kind_of(plan, request->client)->accumulates) {
      layout->segments[i][0] = plan->clients[request->client].prefix;
      layout->segments[i][1] =
          (blis_segment){.stream = SESSION_STREAM | request->session,
                         .length_tokens = request->context_tokens + request->input_tokens};
    }
  }
  return BLIS_OK;
}

/* Connects sessions to their names and tokens, whose addresses are final only now. */
static void connect_sessions(blis__plan *plan) {
  blis__layout *layout = &plan->layout;
  for (size_t i = 0; i < layout->sessions.count; i++) {
    blis__session_start *start = &layout->sessions.items[i];
    const blis__client_plan *client = &plan->clients[start->client];
    start->text = blis_intern_text(plan->strings, start->name);
    if (!plan->keeps_tokens) {
      continue;
    }
    start->first_tokens = layout->tokens.items + layout->token_starts.items[start->first_sequence];
    if (start->prefix.length_tokens > 0) {
      start->prefix_tokens = layout->prefix_tokens + client->prefix_draw;
    }
  }
}

static blis_status lay_out(blis__plan *plan, blis__drawing *drawing, blis_error *error) {
  BLIS_TRY(keep_prefixes(plan, error));
  BLIS_TRY(make_rules(plan, error));
  BLIS_TRY(draw_rate_clients(plan, drawing, error));
  drop_follow_ups(plan);
  BLIS_TRY(add_sessions(plan, error));
  seed_sessions(plan);
  BLIS_TRY(add_users(plan, drawing, error));
  BLIS_TRY(make_segments(plan, error));
  connect_sessions(plan);
  return BLIS_OK;
}

blis_status blis__plan_lay_out(blis__plan *plan, blis_error *error) {
  /* Too large for the stack of a coroutine's host. */
  blis__drawing *drawing = blis_alloc_new(&plan->alloc, sizeof *drawing);
  BLIS_TRY_NEW(drawing, error);
  blis_status status = lay_out(plan, drawing, error);
  blis_alloc_free(&plan->alloc, drawing, sizeof *drawing);
  return status;
}
