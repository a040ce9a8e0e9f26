#include "workload/generate/draw.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "base/time.h"
#include "workload/generate/generator.h"
#include "workload/generate/windows.h"
#include "workload/workload.h"

enum { VOCABULARY = BLIS_GENERATOR_VOCABULARY };

typedef struct lengths {
  const blis_distribution *input;
  const blis_distribution *output;
} lengths;

void blis__drawing_init(blis__drawing *drawing, blis__plan *plan, uint32_t process, int64_t seed) {
  drawing->plan = plan;
  drawing->process = process;
  drawing->client = process;
  drawing->kind = blis__plan_kind_of(plan, process);
  drawing->rounds = 0;
  if (plan->shares != NULL) {
    blis_random_init_named(&drawing->choices, seed, "clients");
  }
  if (plan->is_lazy) {
    blis_random_init_named(&drawing->arrivals, seed, "arrivals");
    blis_random_init_named(&drawing->own_lengths, seed, "lengths");
    drawing->lengths = &drawing->own_lengths;
  } else {
    blis_random_init(&drawing->arrivals, seed);
    drawing->lengths = &drawing->arrivals;
  }
  blis__plan_begin_arrivals(plan, process, &drawing->arrivals);
}

/* Single requests. */

static blis_status draw_length(blis__drawing *d, const blis_distribution *distribution,
                               const char *what, uint32_t *tokens, blis_error *error) {
  return blis__plan_draw_length(d->plan, d->client, distribution, what, d->lengths, tokens, error);
}

static blis_status draw_tokens(blis__drawing *d, uint32_t count, blis_error *error) {
  blis__plan *plan = d->plan;
  if (!plan->keeps_tokens) {
    if (!plan->is_lazy) {
      blis_random_skip_intn(d->lengths, VOCABULARY, count);
    }
    return BLIS_OK;
  }
  blis__token_array *tokens = &plan->layout.tokens;
  BLIS_TRY_MEM(blis_array_reserve(&plan->alloc, tokens, tokens->count + count), error);
  blis_random_fill_intn(d->lengths, VOCABULARY, tokens->items + tokens->count, count);
  tokens->count += count;
  return BLIS_OK;
}

/* Starts a request; its tokens are drawn next. */
static blis_status begin_request(blis__drawing *d, blis__drawn *request, blis_error *error) {
  blis__layout *layout = &d->plan->layout;
  request->client = d->client;
  request->sequence = layout->drawn_count++;
  BLIS_ASSERT(!d->plan->keeps_tokens || layout->token_starts.count == request->sequence);
  if (d->plan->keeps_tokens &&
      blis_array_push(&d->plan->alloc, &layout->token_starts, layout->tokens.count) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status keep_request(blis__drawing *d, const blis__drawn *request, blis_error *error) {
  BLIS_TRY_MEM(blis_array_push(&d->plan->alloc, &d->plan->layout.requests, *request), error);
  return BLIS_OK;
}

static blis_status draw_modalities(blis__drawing *d, blis__drawn *request, blis_error *error) {
  char label[BLIS_CLIENT_LABEL_SIZE];
  blis__plan_label(d->plan, d->client, label);
  return blis__modalities_draw(&d->kind->modalities, label, d->lengths, request->modal_tokens,
                               &request->input_tokens, error);
}

blis_status blis__draw_request(blis__drawing *drawing, const blis_distribution *input,
                               const blis_distribution *output, int64_t arrival_us,
                               blis_error *error) {
  blis__drawn request = {.arrival_us = arrival_us};
  BLIS_TRY(begin_request(drawing, &request, error));
  if (drawing->kind->is_multimodal) {
    BLIS_TRY(draw_modalities(drawing, &request, error));
    BLIS_TRY(draw_tokens(drawing, request.input_tokens, error));
    BLIS_TRY(draw_length(drawing, output, "output", &request.output_tokens, error));
  } else {
    BLIS_TRY(draw_length(drawing, input, "input", &request.input_tokens, error));
    BLIS_TRY(draw_length(drawing, output, "output", &request.output_tokens, error));
    BLIS_TRY(draw_tokens(drawing, request.input_tokens, error));
  }
  BLIS_TRY(draw_tokens(drawing, request.output_tokens, error));
  drawing->rounds++;
  return keep_request(drawing, &request, error);
}

/* Sessions. */

static uint8_t draw_reason_percent(blis__drawing *d) {
  const blis__kind *kind = d->kind;
  if (!kind->has_reason_ratio) {
    return 0;
  }
  int64_t percent = blis_distribution_draw(&kind->reason_ratio, d->lengths);
  if (kind->has_zero_reason_ratio) {
    return 0;
  }
  return (uint8_t)(percent < 100 ? percent : 100);
}

/* Draws the lengths and tokens of a round; earlier rounds of the session precede them in the
   prompt. */
static blis_status draw_round(blis__drawing *d, const lengths *from, blis__drawn *request,
                              blis_error *error) {
  BLIS_TRY(draw_length(d, from->input, "input", &request->input_tokens, error));
  BLIS_TRY(draw_length(d, from->output, "output", &request->output_tokens, error));
  uint64_t prompt = (uint64_t)request->context_tokens + request->input_tokens;
  if (prompt + request->output_tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "client %" PRIu32 ": round %" PRId32 " of a session has %" PRIu64
                     " tokens; at most %d are possible",
                     d->client + 1, request->round, prompt + request->output_tokens,
                     BLIS_WORKLOAD_MAX_TOKENS);
  }
  BLIS_TRY(begin_request(d, request, error));
  BLIS_TRY(draw_tokens(d, request->input_tokens, error));
  BLIS_TRY(draw_tokens(d, request->output_tokens, error));
  request->reason_percent = draw_reason_percent(d);
  return BLIS_OK;
}

/*
 * Draws a session with all its rounds. Rounds are kept if they arrive before end_us and, for a
 * client with windows and a constant rate, in a window.
 */
static blis_status draw_session(blis__drawing *d, const lengths *from, int64_t start_us,
                                int64_t end_us, blis_error *error) {
  const blis__kind *kind = d->kind;
  int64_t session_id = blis_random_int63(d->lengths);
  int64_t arrival_us = start_us;
  uint32_t context_tokens = 0;
  for (int32_t round = 0; round < kind->max_rounds; round++) {
    blis__drawn request = {.arrival_us = arrival_us,
                           .session_id = session_id,
                           .context_tokens = context_tokens,
                           .round = round};
    BLIS_TRY(draw_round(d, from, &request, error));
    if (arrival_us < end_us && (d->plan->is_varying || blis__kind_is_active(kind, arrival_us))) {
      BLIS_TRY(keep_request(d, &request, error));
    }
    if (kind->accumulates) {
      context_tokens += request.input_tokens + request.output_tokens;
    }
    arrival_us = blis_time_after_us(arrival_us, kind->think_us);
    arrival_us = blis_time_after_us(arrival_us, request.output_tokens);
  }
  d->rounds += kind->max_rounds;
  return BLIS_OK;
}

/* Constant rates. */

/* Gaps between requests. */
typedef struct gaps {
  int64_t *listed; /* NULL = drawn one at a time */
  size_t count;
  size_t next;
} gaps;

/*
 * Draws exponential gaps, stretched to fill an interval, like the sampler of inference-perf. They
 * come from a separate stream.
 */
static blis_status spread_gaps(blis__drawing *d, gaps *g, blis_error *error) {
  const blis__kind *kind = d->kind;
  size_t count = (size_t)kind->spread_count;
  double duration_us = (double)kind->spread_us;
  blis_random random;
  blis_random_init(&random, blis_random_int63(&d->arrivals));
  double *drawn = blis_alloc_zeroed(&d->plan->alloc, count, sizeof *drawn);
  g->listed = blis_alloc_zeroed(&d->plan->alloc, count, sizeof *g->listed);
  g->count = count;
  if (drawn != NULL && g->listed != NULL) {
    double rate = (double)count / duration_us;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
      drawn[i] = blis_random_exp(&random) / rate;
      sum += drawn[i];
    }
    double scale = duration_us / sum;
    for (size_t i = 0; i < count; i++) {
      int64_t gap_us = (int64_t)(drawn[i] * scale);
      g->listed[i] = gap_us < 1 ? 1 : gap_us;
    }
  }
  bool is_made = drawn != NULL && g->listed != NULL;
  blis_alloc_free(&d->plan->alloc, drawn, count * sizeof *drawn);
  return is_made ? BLIS_OK : blis_fail_nomem(error);
}

/* Returns false if there are no more requests. */
static bool next_gap(blis__drawing *d, gaps *g, int64_t *gap_us) {
  if (g->listed == NULL) {
    *gap_us = blis_arrival_draw(&d->kind->arrival, &d->arrivals);
    return true;
  }
  if (g->next == g->count) {
    return false;
  }
  *gap_us = g->listed[g->next++];
  return true;
}

static blis_status draw_single_session(blis__drawing *d, const lengths *from, gaps *g,
                                       blis_error *error) {
  const blis__kind *kind = d->kind;
  int64_t horizon_us = d->plan->horizon_us;
  int64_t start_us = 0;
  if (!next_gap(d, g, &start_us)) {
    return BLIS_OK;
  }
  if (kind->window_count > 0) {
    start_us = blis_time_after_us(kind->windows[0].start_us, start_us);
  }
  return start_us < horizon_us && blis__kind_is_active(kind, start_us)
             ? draw_session(d, from, start_us, horizon_us, error)
             : BLIS_OK;
}

static blis_status draw_all(blis__drawing *d, gaps *g, int64_t limit_us, blis_error *error) {
  const blis__kind *kind = d->kind;
  const lengths from = {&kind->input, &kind->output};
  if (kind->is_single_session) {
    return draw_single_session(d, &from, g, error);
  }
  int64_t wanted = d->plan->num_requests;
  int64_t at_most = wanted < INT64_MAX / 2 ? 2 * wanted : INT64_MAX;
  int64_t time_us = 0;
  while (d->rounds < at_most && time_us < limit_us) {
    int64_t gap_us;
    if (!next_gap(d, g, &gap_us)) {
      break;
    }
    time_us = blis_time_after_us(time_us, gap_us);
    if (time_us >= d->plan->horizon_us ||
        (kind->window_count > 0 && time_us >= kind->last_end_us)) {
      break;
    }
    if (!blis__kind_is_active(kind, time_us)) {
      continue;
    }
    d->client = blis__plan_draw_client(d->plan, d->process, &d->choices);
    BLIS_TRY(kind->is_multi_turn ? draw_session(d, &from, time_us, d->plan->horizon_us, error)
                                 : blis__draw_request(d, from.input, from.output, time_us, error));
  }
  return BLIS_OK;
}

blis_status blis__draw_client(blis__drawing *drawing, int64_t limit_us, blis_error *error) {
  gaps g = {.listed = NULL};
  blis_status status = BLIS_OK;
  if (drawing->kind->spread_count > 0) {
    status = spread_gaps(drawing, &g, error);
  }
  if (status == BLIS_OK) {
    status = draw_all(drawing, &g, limit_us, error);
  }
  blis_alloc_free(&drawing->plan->alloc, g.listed, g.count * sizeof *g.listed);
  return status;
}

/* Rates that vary. */

/*
 * Converts gaps to arrival times that fill a window exactly: the end of the last gap is the end of
 * the window.
 */
static void place_arrivals(blis__drawing *d, const blis__window *window, int64_t end_us,
                           int64_t *times) {
  size_t count = (size_t)window->requests;
  int64_t sum_us = 0;
  for (size_t i = 0; i < count; i++) {
    times[i] = blis_arrival_draw(&window->arrival, &d->arrivals);
    sum_us = blis_time_after_us(sum_us, times[i]);
  }
  double scale = (double)(end_us - window->start_us) / (double)sum_us;
  int64_t time_us = window->start_us;
  for (size_t i = 0; i < count; i++) {
    int64_t gap_us = (int64_t)((double)times[i] * scale);
    time_us = blis_time_after_us(time_us, gap_us);
    times[i] = i + 1 < count && time_us < end_us ? time_us : end_us;
    BLIS_ASSERT(times[i] >= (i == 0 ? window->start_us : times[i - 1]));
  }
}

static blis_status draw_at(blis__drawing *d, const blis__window *window, int64_t end_us,
                           const int64_t *times, blis_error *error) {
  const blis__kind *kind = d->kind;
  const lengths from = {window->has_input ? &window->input : &kind->input,
                        window->has_output ? &window->output : &kind->output};
  size_t count = kind->is_single_session ? 1 : (size_t)window->requests;
  for (size_t i = 0; i < count; i++) {
    int64_t time_us = times[i];
    if (time_us == end_us) {
      if (d->plan->rules.drops_at_window_end) {
        break;
      }
      time_us--;
    }
    BLIS_TRY(kind->is_multi_turn ? draw_session(d, &from, time_us, end_us, error)
                                 : blis__draw_request(d, from.input, from.output, time_us, error));
  }
  return BLIS_OK;
}

blis_status blis__draw_windows(blis__drawing *drawing, blis_error *error) {
  const blis__plan *plan = drawing->plan;
  for (size_t i = 0; i < drawing->kind->window_count; i++) {
    const blis__window *window = &drawing->kind->windows[i];
    if (window->requests == 0) {
      continue;
    }
    int64_t end_us = window->end_us < plan->horizon_us ? window->end_us : plan->horizon_us;
    size_t count = (size_t)window->requests;
    int64_t *times = blis_alloc_zeroed(&plan->alloc, count, sizeof *times);
    BLIS_TRY_NEW(times, error);
    place_arrivals(drawing, window, end_us, times);
    blis_status status = draw_at(drawing, window, end_us, times, error);
    blis_alloc_free(&plan->alloc, times, count * sizeof *times);
    BLIS_TRY(status);
  }
  return BLIS_OK;
}
