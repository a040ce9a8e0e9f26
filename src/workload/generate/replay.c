#include "workload/generate/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/random.h"
#include "workload/generate/generator.h"

enum { VOCABULARY = BLIS_GENERATOR_VOCABULARY };

/* Streams for content of growing sessions; string numbers are below this value. */
#define SESSION_STREAM (UINT64_C(1) << 63)

#define NO_SESSION UINT32_MAX

/* A request that arrives at its recorded time. */
typedef struct first {
  blis_request request;
  size_t order;  /* order among equal arrivals */
  size_t tokens; /* index of its own tokens, if tokens are stored */
} first;

/* The rows of a session, by round. */
typedef struct row {
  uint32_t session; /* in order of their first rows */
  uint32_t index;   /* index in the workload */
  int32_t round;
} row;

typedef struct plan {
  blis_alloc alloc;
  const blis_workload *workload;
  blis_arena arena; /* rules, starts, rounds, segments */
  blis_distribution think;
  BLIS_ARRAY(first) firsts; /* by arrival */
  blis__session_start *starts;
  size_t session_count;
  bool keeps_tokens;
  bool has_content;      /* the trace contains content instead of token ids */
  size_t *prefix_tokens; /* index of the prefix tokens, by group */
  BLIS_ARRAY(int32_t) tokens;
} plan;

struct blis_replay {
  plan *plan;
  size_t taken;
  blis__sessions *sessions; /* NULL if no session waits */
  bool last_is_follow_up;
};

/* State during construction of a plan. */
typedef struct planning {
  plan *plan;
  const blis_replay_options *options;
  blis_random random;
  row *rows; /* rows with a session, by session and round */
  size_t row_count;
} planning;

static void plan_free(plan *p) {
  blis_alloc alloc = p->alloc;
  blis_distribution_deinit(&p->think, &alloc);
  blis_array_deinit(&alloc, &p->firsts);
  blis_array_deinit(&alloc, &p->tokens);
  blis_arena_deinit(&p->arena);
  blis_alloc_free(&alloc, p, sizeof *p);
}

static const blis_request *request_at(const planning *g, const row *r) {
  return blis_workload_request(g->plan->workload, r->index);
}

static void *new_zeroed(planning *g, size_t count, size_t size) {
  void *made = blis_arena_new(&g->plan->arena, (count + 1) * size);
  if (made != NULL) {
    memset(made, 0, (count + 1) * size);
  }
  return made;
}

/* Returns whether the prompt consists of new tokens, after the prefix of a group or no prefix. */
static bool is_plain(const blis_request *request) {
  return request->segment_count == 0 ||
         (request->segment_count == 1 && request->prefix_group != 0 &&
          request->segments[0].stream == request->prefix_group &&
          request->segments[0].offset_tokens == 0);
}

static blis_segment prefix_of(const blis_request *request) {
  return request->segment_count > 0 ? request->segments[0] : (blis_segment){.length_tokens = 0};
}

/* Tokens. */

/* Draws token ids, and stores them if keep_tokens is set. */
static blis_status draw_tokens(plan *p, blis_random *random, uint64_t count) {
  if (!p->keeps_tokens) {
    blis_random_skip_intn(random, VOCABULARY, count);
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&p->alloc, &p->tokens, p->tokens.count + count));
  if (count > 0) {
    blis_random_fill_intn(random, VOCABULARY, p->tokens.items + p->tokens.count, count);
  }
  p->tokens.count += count;
  return BLIS_OK;
}

/* Returns the index of row number `place` of the file. */
static size_t row_index(const plan *p, size_t place) {
  return blis_workload_added(p->workload, place);
}

static const blis_request *row_request(const plan *p, size_t place) {
  return blis_workload_request(p->workload, row_index(p, place));
}

/* Draws prefixes before everything else, in order of their first rows. */
static blis_status draw_prefixes(planning *g) {
  plan *p = g->plan;
  uint32_t texts = blis_intern_count(blis_workload_strings(p->workload));
  p->prefix_tokens = new_zeroed(g, texts, sizeof *p->prefix_tokens);
  bool *is_drawn = new_zeroed(g, texts, sizeof *is_drawn);
  if (p->prefix_tokens == NULL || is_drawn == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < blis_workload_count(p->workload); i++) {
    const blis_request *request = row_request(p, i);
    uint32_t group = request->prefix_group;
    p->has_content = p->has_content || !is_plain(request);
    if (request->segment_count > 0 && is_plain(request) && !is_drawn[group]) {
      is_drawn[group] = true;
      p->prefix_tokens[group] = p->tokens.count;
      BLIS_TRY(draw_tokens(p, &g->random, request->segments[0].length_tokens));
    }
  }
  return BLIS_OK;
}

static uint64_t own_tokens(const blis_request *request) {
  return (uint64_t)request->prompt_tokens - prefix_of(request).length_tokens;
}

/* Sessions. */

static int compare_rows(const void *a, const void *b) {
  const row *left = a;
  const row *right = b;
  if (left->session != right->session) {
    return left->session < right->session ? -1 : 1;
  }
  if (left->round != right->round) {
    return left->round < right->round ? -1 : 1;
  }
  return (left->index > right->index) - (left->index < right->index);
}

static blis_status list_rows(planning *g) {
  const blis_workload *workload = g->plan->workload;
  size_t count = blis_workload_count(workload);
  uint32_t texts = blis_intern_count(blis_workload_strings(workload));
  uint32_t *sessions = new_zeroed(g, texts, sizeof *sessions);
  g->rows = new_zeroed(g, count, sizeof *g->rows);
  if (sessions == NULL || g->rows == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    size_t index = row_index(g->plan, i);
    const blis_request *request = blis_workload_request(workload, index);
    uint32_t *number = &sessions[request->session];
    if (request->session == 0) {
      continue;
    }
    if (*number == 0) {
      *number = (uint32_t)++g->plan->session_count;
    }
    g->rows[g->row_count++] = (row){*number - 1, (uint32_t)index, request->round_index};
  }
  if (g->row_count > 1) {
    qsort(g->rows, g->row_count, sizeof *g->rows, compare_rows);
  }
  return BLIS_OK;
}

/* Returns the number of rounds of the session whose rows start at rows. */
static blis_status count_rounds(const planning *g, const row *rows, size_t *count,
                                blis_error *error) {
  const row *end = g->rows + g->row_count;
  *count = 0;
  for (const row *r = rows; r < end && r->session == rows->session; r++) {
    if (r->round == (int32_t)*count) {
      ++*count;
      continue;
    }
    const blis_intern *strings = blis_workload_strings(g->plan->workload);
    bool is_repeated = r->round >= 0 && r->round < (int32_t)*count;
    return blis_fail(error, BLIS_ERR_INVALID,
                     "session '%.100s': round %" PRId32 " %s; rounds must be 0, 1, 2, ...",
                     blis_intern_text(strings, request_at(g, r)->session),
                     is_repeated || r->round < 0 ? r->round : (int32_t)*count,
                     is_repeated    ? "is given twice"
                     : r->round < 0 ? "is below 0"
                                    : "is missing");
  }
  return BLIS_OK;
}

static bool has_own_content(const planning *g, const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!is_plain(request_at(g, &rows[i]))) {
      return true;
    }
  }
  return false;
}

static bool has_think_times(const planning *g, const row *rows, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const blis_request *request = request_at(g, &rows[i]);
    if (request->think_us != 0 ||
        (request->has_think_time &&
         !blis_workload_rules_of(g->options->rules).ignores_zero_think_times)) {
      return true;
    }
  }
  return false;
}

/* Creates the rounds after round 0. */
static blis__recorded_round *new_rounds(planning *g, const row *rows, size_t count) {
  blis__recorded_round *rounds = new_zeroed(g, count, sizeof *rounds);
  bool has_content = has_own_content(g, rows, count);
  bool has_think = has_think_times(g, rows, count);
  for (size_t i = 1; rounds != NULL && i < count; i++) {
    const blis_request *request = request_at(g, &rows[i]);
    int64_t gap_us = request->arrival_us - request_at(g, &rows[i - 1])->arrival_us;
    rounds[i - 1] = (blis__recorded_round){.input_tokens = (uint32_t)own_tokens(request),
                                           .output_tokens = request->output_tokens,
                                           .cascade = request->cascade,
                                           .mean_logprob = request->mean_logprob,
                                           .think_us = has_think    ? request->think_us
                                                       : gap_us > 0 ? gap_us
                                                                    : 0,
                                           .content = has_content ? request : NULL};
  }
  return rounds;
}

static blis__session_rule *new_rule(planning *g, const row *rows, size_t count) {
  blis__session_rule *rule = new_zeroed(g, 1, sizeof *rule);
  if (rule == NULL) {
    return NULL;
  }
  *rule = (blis__session_rule){
      .max_rounds = (int64_t)count,
      .think = g->options->think != NULL ? &g->plan->think : NULL,
      .timeout_us = BLIS_WORKLOAD_SESSION_TIMEOUT_US,
      .horizon_us = g->options->horizon_us > 0 ? g->options->horizon_us : INT64_MAX,
      .accumulates =
          blis_workload_sessions_grow(g->plan->workload) && !has_own_content(g, rows, count),
      .keeps_labels = !blis_workload_rules_of(g->options->rules).loses_labels};
  return rule;
}

static blis_status add_first(planning *g, const blis_request *request, size_t tokens) {
  plan *p = g->plan;
  const first one = {.request = *request, .order = p->firsts.count, .tokens = tokens};
  return blis_array_push(&p->alloc, &p->firsts, one);
}

/* In a growing session, the content of the whole first prompt is known. */
static blis_status grow(planning *g, const blis__session_start *start, blis_request *request) {
  if (!start->rule->accumulates) {
    return BLIS_OK;
  }
  blis_segment *segments = new_zeroed(g, 2, sizeof *segments);
  if (segments == NULL) {
    return BLIS_ERR_NOMEM;
  }
  segments[0] = start->prefix;
  segments[1] =
      (blis_segment){.stream = start->stream, .length_tokens = (uint32_t)own_tokens(request)};
  bool has_prefix = start->prefix.length_tokens > 0;
  request->segments = has_prefix ? segments : segments + 1;
  request->segment_count = has_prefix ? 2 : 1;
  request->shared_tokens = request->prompt_tokens;
  request->shares_output = start->rule->max_rounds > 1;
  return BLIS_OK;
}

static blis_status start_session(planning *g, const row *rows, size_t count) {
  plan *p = g->plan;
  const blis_request *recorded = request_at(g, rows);
  blis__session_start *start = &p->starts[rows->session];
  *start = (blis__session_start){.name = recorded->session,
                                 .rule = new_rule(g, rows, count),
                                 .seed = blis_random_int63(&g->random),
                                 .skipped_draws = own_tokens(recorded) + recorded->output_tokens,
                                 .stream = SESSION_STREAM | recorded->session,
                                 .prefix = prefix_of(recorded),
                                 .rounds = new_rounds(g, rows, count),
                                 .round_count = count - 1};
  if (start->rule == NULL || start->rounds == NULL) {
    return BLIS_ERR_NOMEM;
  }
  size_t tokens = p->tokens.count;
  if (p->keeps_tokens) {
    blis_random own;
    blis_random_init(&own, start->seed);
    BLIS_TRY(draw_tokens(p, &own, start->skipped_draws));
  }
  blis_request request = *recorded;
  BLIS_TRY(grow(g, start, &request));
  return add_first(g, &request, tokens);
}

/* Sets the addresses of tokens, which are final only when all tokens have been drawn. */
static void set_tokens(plan *p) {
  for (size_t i = 0; p->keeps_tokens && i < p->session_count; i++) {
    blis__session_start *start = &p->starts[i];
    const first *one = &p->firsts.items[i];
    start->first_tokens = p->tokens.items + one->tokens;
    start->prefix_tokens = p->tokens.items + p->prefix_tokens[one->request.prefix_group];
  }
}

static blis_status start_sessions(planning *g, blis_error *error) {
  plan *p = g->plan;
  BLIS_TRY_MEM(list_rows(g), error);
  p->starts = new_zeroed(g, p->session_count, sizeof *p->starts);
  BLIS_TRY_NEW(p->starts, error);
  size_t count;
  for (size_t i = 0; i < g->row_count; i += count) {
    BLIS_TRY(count_rounds(g, &g->rows[i], &count, error));
    BLIS_TRY_MEM(start_session(g, &g->rows[i], count), error);
  }
  return BLIS_OK;
}

/* Adds the rows without a session, or all rows. */
static blis_status add_others(planning *g) {
  plan *p = g->plan;
  for (size_t i = 0; i < blis_workload_count(p->workload); i++) {
    const blis_request *request = row_request(p, i);
    if (g->options->sessions_wait && request->session != 0) {
      continue;
    }
    BLIS_TRY(add_first(g, request, p->tokens.count));
    if (p->keeps_tokens) {
      BLIS_TRY(draw_tokens(p, &g->random, own_tokens(request) + request->output_tokens));
    }
  }
  return BLIS_OK;
}

static int compare_firsts(const void *a, const void *b) {
  const first *left = a;
  const first *right = b;
  if (left->request.arrival_us != right->request.arrival_us) {
    return left->request.arrival_us < right->request.arrival_us ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

static blis_status fill_plan(planning *g, blis_error *error) {
  plan *p = g->plan;
  if (g->options->think != NULL) {
    BLIS_TRY(blis_distribution_init(&p->think, &p->alloc, g->options->think, "think time", error));
  }
  blis_random_init(&g->random, g->options->seed);
  BLIS_TRY_MEM(draw_prefixes(g), error);
  if (g->options->sessions_wait) {
    BLIS_TRY(start_sessions(g, error));
  }
  BLIS_TRY_MEM(add_others(g), error);
  set_tokens(p);
  if (p->firsts.count > 1) {
    qsort(p->firsts.items, p->firsts.count, sizeof *p->firsts.items, compare_firsts);
  }
  return BLIS_OK;
}

/* The replay. */

static blis_replay *replay_new(plan *p) {
  blis_replay *replay = blis_alloc_zeroed(&p->alloc, 1, sizeof *replay);
  if (replay != NULL) {
    replay->plan = p;
  }
  return replay;
}

void blis_replay_free(blis_replay *replay) {
  if (replay == NULL) {
    return;
  }
  blis_alloc alloc = replay->plan->alloc;
  blis__sessions_free(replay->sessions);
  plan_free(replay->plan);
  blis_alloc_free(&alloc, replay, sizeof *replay);
}

static blis_status start(blis_replay *replay) {
  const plan *p = replay->plan;
  if (p->session_count == 0) {
    return BLIS_OK;
  }
  const blis_intern *strings = blis_workload_strings(p->workload);
  const blis__sessions_config config = {.starts = p->starts,
                                        .count = p->session_count,
                                        .string_count = blis_intern_count(strings),
                                        .follow_ups = INT64_MAX,
                                        .keeps_tokens = p->keeps_tokens};
  replay->sessions = blis__sessions_new(&p->alloc, &config);
  return replay->sessions != NULL ? BLIS_OK : BLIS_ERR_NOMEM;
}

static plan *plan_new(const blis_alloc *alloc, const blis_workload *workload,
                      const blis_replay_options *options) {
  plan *p = blis_alloc_zeroed(alloc, 1, sizeof *p);
  if (p != NULL) {
    p->alloc = *alloc;
    p->workload = workload;
    p->keeps_tokens = options->keep_tokens;
    blis_arena_init(&p->arena, alloc);
  }
  return p;
}

blis_status blis_replay_new(const blis_alloc *alloc, const blis_workload *workload,
                            const blis_replay_options *options, blis_replay **replay,
                            blis_error *error) {
  plan *p = plan_new(alloc, workload, options);
  BLIS_TRY_NEW(p, error);
  planning g = {.plan = p, .options = options};
  blis_status status = fill_plan(&g, error);
  blis_replay *made = status == BLIS_OK ? replay_new(p) : NULL;
  if (made == NULL) {
    plan_free(p);
    return status == BLIS_OK ? blis_fail_nomem(error) : status;
  }
  if (start(made) != BLIS_OK) {
    blis_replay_free(made);
    return blis_fail_nomem(error);
  }
  *replay = made;
  return BLIS_OK;
}

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  (void)error;
  blis_replay *replay = state;
  *done = replay->taken == replay->plan->firsts.count;
  if (!*done) {
    *request = replay->plan->firsts.items[replay->taken++].request;
    replay->last_is_follow_up = false;
  }
  return BLIS_OK;
}

static blis_status request_ended(void *state, const blis_request *request,
                                 const blis_request_outcome *outcome, blis_request *follow_up,
                                 bool *has_follow_up, blis_error *error) {
  blis_replay *replay = state;
  BLIS_TRY(
      blis__sessions_ended(replay->sessions, request, outcome, follow_up, has_follow_up, error));
  replay->last_is_follow_up = replay->last_is_follow_up || *has_follow_up;
  return BLIS_OK;
}

blis_request_source blis_replay_source(blis_replay *replay) {
  const plan *p = replay->plan;
  return (blis_request_source){.next = next_request,
                               .ended = replay->sessions != NULL ? request_ended : NULL,
                               .state = replay,
                               .strings = blis_workload_strings(p->workload),
                               .count = (int64_t)(p->firsts.count - replay->taken)};
}

void blis_replay_get_session_counts(const blis_replay *replay, blis_session_counts *counts) {
  *counts = (blis_session_counts){0};
  if (replay->sessions != NULL) {
    blis__sessions_get_counts(replay->sessions, counts);
  }
}

bool blis_replay_tokens(const blis_replay *replay, int32_t *prompt, int32_t *output) {
  const plan *p = replay->plan;
  if (!p->keeps_tokens || p->has_content) {
    return false;
  }
  if (replay->last_is_follow_up) {
    return blis__sessions_tokens(replay->sessions, prompt, output);
  }
  if (replay->taken == 0) {
    return false;
  }
  const first *last = &p->firsts.items[replay->taken - 1];
  const blis_request *request = &last->request;
  const int32_t *own = p->tokens.items + last->tokens;
  bool has_prefix =
      request->segment_count > 0 && request->segments[0].stream == (uint64_t)request->prefix_group;
  size_t prefix = has_prefix ? request->segments[0].length_tokens : 0;
  size_t input = request->prompt_tokens - prefix;
  if (prefix > 0) {
    memcpy(prompt, p->tokens.items + p->prefix_tokens[request->prefix_group],
           prefix * sizeof *prompt);
  }
  if (input > 0) {
    memcpy(prompt + prefix, own, input * sizeof *prompt);
  }
  if (request->output_tokens > 0) {
    memcpy(output, own + input, request->output_tokens * sizeof *output);
  }
  return true;
}
