#include "workload/generate/sessions.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/random.h"
#include "base/time.h"
#include "workload/generate/generator.h"
#include "workload/workload.h"

enum {
  VOCABULARY = BLIS_GENERATOR_VOCABULARY,
  RETURN_US = 1000000 /* delay before users return after an abandoned request */
};

#define NO_SESSION UINT32_MAX

typedef BLIS_ARRAY(int32_t) token_array;

typedef struct session {
  blis_random *random;      /* exists from the first follow-up to the end */
  blis_segment segments[2]; /* prefix and context of the last follow-up */
  token_array conversation; /* tokens without the prefix, if tokens are stored */
  bool is_over;
} session;

struct blis__sessions {
  blis_alloc alloc;
  blis__sessions_config config;
  uint32_t *by_name; /* name number -> session + 1 */
  session *sessions;
  blis_session_counts counts;
  uint32_t last;              /* session of the latest follow-up; NO_SESSION = none */
  uint32_t last_input_tokens; /* prompt tokens of the latest follow-up, without the prefix */
  uint32_t last_output_tokens;
};

static void end_stream(blis__sessions *sessions, session *s) {
  blis_alloc_free(&sessions->alloc, s->random, sizeof *s->random);
  s->random = NULL;
}

void blis__sessions_free(blis__sessions *sessions) {
  if (sessions == NULL) {
    return;
  }
  blis_alloc alloc = sessions->alloc;
  size_t count = sessions->config.count;
  for (size_t i = 0; sessions->sessions != NULL && i < count; i++) {
    end_stream(sessions, &sessions->sessions[i]);
    blis_array_deinit(&alloc, &sessions->sessions[i].conversation);
  }
  blis_alloc_free(&alloc, sessions->sessions, count * sizeof *sessions->sessions);
  blis_alloc_free(&alloc, sessions->by_name,
                  sessions->config.string_count * sizeof *sessions->by_name);
  blis_alloc_free(&alloc, sessions, sizeof *sessions);
}

blis__sessions *blis__sessions_new(const blis_alloc *alloc, const blis__sessions_config *config) {
  BLIS_ASSERT(config->count < NO_SESSION);
  blis__sessions *sessions = blis_alloc_new(alloc, sizeof *sessions);
  if (sessions == NULL) {
    return NULL;
  }
  *sessions = (blis__sessions){.alloc = *alloc, .config = *config, .last = NO_SESSION};
  sessions->counts.sessions = (int64_t)config->count;
  sessions->by_name = blis_alloc_zeroed(alloc, config->string_count, sizeof *sessions->by_name);
  sessions->sessions = blis_alloc_zeroed(alloc, config->count, sizeof *sessions->sessions);
  if (sessions->by_name == NULL || sessions->sessions == NULL) {
    blis__sessions_free(sessions);
    return NULL;
  }
  for (size_t i = 0; i < config->count; i++) {
    sessions->by_name[config->starts[i].name] = (uint32_t)i + 1;
  }
  return sessions;
}

/* Rounds. */

/* The state of the next round. */
typedef struct round {
  const blis__session_start *start;
  session *session;
  const blis_request *before;
  const blis__recorded_round *recorded; /* NULL = to be drawn */
  int64_t arrival_us;
  uint32_t context_tokens; /* tokens of the conversation so far, if prompts grow */
  uint32_t input_tokens;
  uint32_t output_tokens;
  uint32_t modal_tokens[BLIS__MODALITIES];
} round;

/* Returns whether the round uses the session's random stream. */
static bool needs_stream(const blis__sessions *sessions, const round *r) {
  const blis__session_rule *rule = r->start->rule;
  if (!sessions->config.is_lazy) { /* token ids always use the stream */
    return r->recorded == NULL || rule->think != NULL || sessions->config.keeps_tokens;
  }
  bool draws_lengths = r->recorded == NULL &&
                       (rule->modalities != NULL || blis_distribution_needs_random(rule->input) ||
                        blis_distribution_needs_random(rule->output));
  return draws_lengths || sessions->config.keeps_tokens ||
         (rule->think != NULL && blis_distribution_needs_random(rule->think));
}

/*
 * Starts the stream of a session if it is needed. Streams start late because many sessions may be
 * waiting for their first round, and only on demand because initialization draws 600 numbers.
 */
static blis_status need_stream(blis__sessions *sessions, round *r) {
  if (!needs_stream(sessions, r) || r->session->random != NULL) {
    return BLIS_OK;
  }
  blis_random *random = blis_alloc_new(&sessions->alloc, sizeof *random);
  if (random == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis_random_init(random, r->start->seed);
  if (!sessions->config.is_lazy) {
    blis_random_skip_intn(random, VOCABULARY, r->start->skipped_draws);
  }
  r->session->random = random;
  return BLIS_OK;
}

static void draw_arrival(round *r, const blis_request_outcome *outcome) {
  const blis__session_rule *rule = r->start->rule;
  int64_t think_us = rule->think_us;
  if (rule->think != NULL) {
    think_us = blis_distribution_draw(rule->think, r->session->random);
    if (think_us > BLIS_TIME_SPAN_MAX_US) { /* the tail of a distribution is unbounded */
      think_us = BLIS_TIME_SPAN_MAX_US;
    }
  } else if (r->recorded != NULL && r->recorded->think_us >= 0) {
    think_us = r->recorded->think_us;
  }
  if (!outcome->is_completed && think_us < RETURN_US) {
    think_us = RETURN_US;
  }
  r->arrival_us = blis_time_after_us(outcome->end_us, think_us);
}

static blis_status fail_length(const round *r, const char *what, uint64_t tokens,
                               blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "the %s of round %" PRId32 " behind request %" PRId64 " has %" PRIu64
                   " tokens; at most %d are possible",
                   what, r->before->round_index + 1, r->before->number, tokens,
                   BLIS_WORKLOAD_MAX_TOKENS);
}

static blis_status draw_input(round *r, int64_t *input, blis_error *error) {
  const blis__session_rule *rule = r->start->rule;
  if (rule->modalities == NULL) {
    *input = blis_distribution_draw(rule->input, r->session->random);
    return BLIS_OK;
  }
  uint32_t sum;
  BLIS_TRY(blis__modalities_draw(rule->modalities, r->start->text, r->session->random,
                                 r->modal_tokens, &sum, error));
  *input = sum;
  return BLIS_OK;
}

static blis_status draw_lengths(round *r, blis_error *error) {
  const blis__session_rule *rule = r->start->rule;
  int64_t input;
  int64_t output;
  if (r->recorded != NULL) {
    input = r->recorded->input_tokens;
    output = r->recorded->output_tokens;
  } else {
    BLIS_TRY(draw_input(r, &input, error));
    output = blis_distribution_draw(rule->output, r->session->random);
  }
  uint64_t prompt = (uint64_t)r->start->prefix.length_tokens + r->context_tokens + (uint64_t)input;
  if (input > BLIS_WORKLOAD_MAX_TOKENS || prompt > BLIS_WORKLOAD_MAX_TOKENS) {
    return fail_length(r, "prompt", prompt, error);
  }
  if (output > BLIS_WORKLOAD_MAX_TOKENS) {
    return fail_length(r, "output", (uint64_t)output, error);
  }
  r->input_tokens = (uint32_t)input;
  r->output_tokens = (uint32_t)output;
  return BLIS_OK;
}

static blis_status append_tokens(const blis_alloc *alloc, token_array *array, const int32_t *tokens,
                                 size_t count) {
  BLIS_TRY(blis_array_reserve(alloc, array, array->count + count));
  if (count > 0) {
    memcpy(array->items + array->count, tokens, count * sizeof *tokens);
    array->count += count;
  }
  return BLIS_OK;
}

/* Stores the conversation so far, and draws the next turn. */
static blis_status keep_tokens(blis__sessions *sessions, round *r) {
  const blis_alloc *alloc = &sessions->alloc;
  token_array *said = &r->session->conversation;
  if (r->start->rule->accumulates && r->before->round_index == 0) {
    size_t first = (size_t)r->before->prompt_tokens - r->start->prefix.length_tokens +
                   r->before->output_tokens;
    BLIS_TRY(append_tokens(alloc, said, r->start->first_tokens, first));
  }
  size_t added = (size_t)r->input_tokens + r->output_tokens;
  BLIS_ASSERT(said->count >= r->context_tokens);
  BLIS_TRY(blis_array_reserve(alloc, said, r->context_tokens + added));
  blis_random_fill_intn(r->session->random, VOCABULARY, said->items + r->context_tokens, added);
  said->count = r->context_tokens + added;
  return BLIS_OK;
}

static blis_status draw_tokens(blis__sessions *sessions, round *r) {
  if (sessions->config.keeps_tokens) {
    return keep_tokens(sessions, r);
  }
  if (!sessions->config.is_lazy && r->session->random != NULL) {
    blis_random_skip_intn(r->session->random, VOCABULARY,
                          (uint64_t)r->input_tokens + r->output_tokens);
  }
  return BLIS_OK;
}

/* Sets recorded values, except time and number. */
static void set_recorded(const round *r, blis_request *request) {
  const blis_request made = *request;
  *request = *r->recorded->content;
  request->arrival_us = made.arrival_us;
  request->deadline_us = made.deadline_us;
  request->number = made.number;
}

/* Sets prefix, conversation, and new input, or only the new input. */
static void set_content(round *r, blis_request *request) {
  const blis__session_rule *rule = r->start->rule;
  uint32_t prefix_tokens = r->start->prefix.length_tokens;
  blis_segment *segments = r->session->segments;
  request->prompt_tokens = prefix_tokens + r->context_tokens + r->input_tokens;
  segments[0] = r->start->prefix;
  segments[1] = (blis_segment){.stream = r->start->stream,
                               .length_tokens = r->context_tokens + r->input_tokens};
  bool has_prefix = prefix_tokens > 0;
  request->segments = has_prefix ? segments : segments + 1;
  request->segment_count = (has_prefix ? 1U : 0U) + (rule->accumulates ? 1U : 0U);
  request->shared_tokens = rule->accumulates ? request->prompt_tokens : prefix_tokens;
  request->shares_output = rule->accumulates && request->round_index + 1 < rule->max_rounds;
}

static void fill_request(const blis__sessions *sessions, round *r, blis_request *request) {
  const blis__session_rule *rule = r->start->rule;
  *request = *r->before;
  request->arrival_us = r->arrival_us;
  request->deadline_us =
      rule->timeout_us > 0 ? blis_time_after_us(r->arrival_us, rule->timeout_us) : 0;
  request->number = -sessions->counts.follow_ups;
  request->round_index++;
  request->output_tokens = r->output_tokens;
  request->max_output_tokens = r->output_tokens;
  request->reason_ratio = 0;
  request->has_think_time = false;
  request->text_tokens = r->modal_tokens[BLIS__TEXT];
  request->image_tokens = r->modal_tokens[BLIS__IMAGE];
  request->audio_tokens = r->modal_tokens[BLIS__AUDIO];
  request->video_tokens = r->modal_tokens[BLIS__VIDEO];
  if (!rule->keeps_labels) {
    request->prefix_group = 0;
    request->prefix_tokens = 0;
    request->is_streaming = false;
  }
  if (r->recorded != NULL) {
    request->cascade = r->recorded->cascade;
    request->mean_logprob = r->recorded->mean_logprob;
  }
  if (r->recorded != NULL && r->recorded->content != NULL) {
    set_recorded(r, request);
  } else {
    set_content(r, request);
  }
}

static void end_session(blis__sessions *sessions, session *s, int64_t *count) {
  const blis_session_counts *counts = &sessions->counts;
  s->is_over = true;
  end_stream(sessions, s);
  ++*count;
  BLIS_ASSERT(counts->completed + counts->cancelled + counts->ended_early <= counts->sessions);
}

/* Returns whether there is a next round, whose time is not set yet; otherwise the session ends. */
static bool goes_on(blis__sessions *sessions, const round *r, const blis_request_outcome *outcome) {
  blis_session_counts *counts = &sessions->counts;
  int64_t *reason = NULL;
  if ((!outcome->is_completed && !r->start->rule->persists) ||
      outcome->produced_tokens > (int64_t)r->before->output_tokens) {
    reason = &counts->cancelled;
  } else if (r->before->round_index + 1 >= r->start->rule->max_rounds) {
    reason = &counts->completed;
  } else if (counts->follow_ups >= sessions->config.follow_ups) {
    reason = &counts->ended_early;
  }
  if (reason != NULL) {
    end_session(sessions, r->session, reason);
  }
  return reason == NULL;
}

/* Returns the round that follows a request. */
static round next_round(blis__sessions *sessions, uint32_t index, const blis_request *before,
                        const blis_request_outcome *outcome) {
  round r = {.start = &sessions->config.starts[index],
             .session = &sessions->sessions[index],
             .before = before};
  size_t recorded = (size_t)before->round_index;
  if (r.start->rounds != NULL && recorded < r.start->round_count) {
    r.recorded = &r.start->rounds[recorded];
  }
  BLIS_ASSERT(r.start->name == before->session);
  if (r.start->rule->accumulates) {
    int64_t produced = outcome->produced_tokens;
    r.context_tokens = before->prompt_tokens - r.start->prefix.length_tokens +
                       (uint32_t)(produced > 0 ? produced : 0);
  }
  return r;
}

blis_status blis__sessions_ended(blis__sessions *sessions, const blis_request *request,
                                 const blis_request_outcome *outcome, blis_request *follow_up,
                                 bool *has_follow_up, blis_error *error) {
  *has_follow_up = false;
  if (request->session >= sessions->config.string_count ||
      sessions->by_name[request->session] == 0) {
    return BLIS_OK;
  }
  uint32_t index = sessions->by_name[request->session] - 1;
  if (sessions->sessions[index].is_over) {
    return BLIS_OK;
  }
  round r = next_round(sessions, index, request, outcome);
  if (!goes_on(sessions, &r, outcome)) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(need_stream(sessions, &r), error);
  draw_arrival(&r, outcome);
  if (r.arrival_us > r.start->rule->horizon_us || r.arrival_us == BLIS_TIME_NEVER_US) {
    end_session(sessions, r.session, &sessions->counts.ended_early);
    return BLIS_OK;
  }
  BLIS_TRY(draw_lengths(&r, error));
  BLIS_TRY_MEM(draw_tokens(sessions, &r), error);
  sessions->counts.follow_ups++;
  BLIS_ASSERT(sessions->counts.follow_ups <= sessions->config.follow_ups);
  fill_request(sessions, &r, follow_up);
  BLIS_ASSERT(follow_up->session == request->session &&
              follow_up->round_index == request->round_index + 1);
  sessions->last = index;
  sessions->last_input_tokens = r.context_tokens + r.input_tokens;
  sessions->last_output_tokens = r.output_tokens;
  *has_follow_up = true;
  return BLIS_OK;
}

void blis__sessions_get_counts(const blis__sessions *sessions, blis_session_counts *counts) {
  *counts = sessions->counts;
}

bool blis__sessions_tokens(const blis__sessions *sessions, int32_t *prompt, int32_t *output) {
  if (sessions->last == NO_SESSION || !sessions->config.keeps_tokens) {
    return false;
  }
  const blis__session_start *start = &sessions->config.starts[sessions->last];
  const int32_t *said = sessions->sessions[sessions->last].conversation.items;
  size_t prefix_tokens = start->prefix.length_tokens;
  if (prefix_tokens > 0) {
    memcpy(prompt, start->prefix_tokens, prefix_tokens * sizeof *prompt);
  }
  memcpy(prompt + prefix_tokens, said, sessions->last_input_tokens * sizeof *prompt);
  memcpy(output, said + sessions->last_input_tokens, sessions->last_output_tokens * sizeof *output);
  return true;
}
