#include "latency/composed/composed.h"

#include <math.h>

#include "base/invariant.h"
#include "latency/composed/knots.h"
#include "latency/spec/numbers.h"

enum { WINDOWS_MAX = 4, TOKENS_LIMIT = 1 << 25 };

/* The layers with the same window. */
typedef struct window {
  double tokens;
  double context_us; /* per token of context that a decode reads */
} window;

typedef struct composed {
  blis__knots layers;
  blis__knots head;
  blis__decode_attention decode;
  blis__prefill_attention prefill;
  window windows[WINDOWS_MAX];
  size_t window_count;
  double sampling_us;
  double step_us;
  blis__host host;
  blis_first_token first_token;
} composed;

/* Returns the time without the part that grows with the contexts of decodes. */
static double base_us(const composed *m, int64_t tokens, int64_t requests, int64_t decodes) {
  double us = blis__knots_read(&m->layers, tokens) + blis__knots_read(&m->head, requests) +
              m->sampling_us * (double)requests + m->step_us;
  return decodes > 0 ? us + m->decode.fixed_us + m->decode.each_us * (double)decodes : us;
}

/* Returns the time that decodes need to read their contexts. */
static double context_us(const composed *m, double decodes, double context) {
  double us = m->decode.context_us * context;
  for (size_t i = 0; i < m->window_count; i++) {
    us += m->windows[i].context_us * fmin(context, decodes * m->windows[i].tokens);
  }
  return us;
}

static double prefill_us(const composed *m, const blis_batch_sums *sums) {
  if (sums->prefill_tokens == 0) {
    return 0;
  }
  double tokens = (double)sums->prefill_tokens;
  double pairs = ((double)sums->prefill_pairs + tokens) / 2;
  return m->prefill.fixed_us + m->prefill.token_us * tokens + m->prefill.pair_us * pairs;
}

static double host_us(const composed *m, double requests) {
  return m->host.fixed_us + m->host.request_us * requests;
}

static double with_host(const composed *m, double gpu_us, double host) {
  return m->host.is_async ? fmax(gpu_us, host) : gpu_us + host;
}

static int64_t tokens_of(const blis_batch_sums *sums) {
  return sums->prefill_tokens < INT64_MAX - sums->decode_requests
             ? sums->prefill_tokens + sums->decode_requests
             : INT64_MAX;
}

static int64_t evaluate(const composed *m, const blis_batch_sums *sums) {
  if (sums->requests == 0) {
    return 1;
  }
  double base = base_us(m, tokens_of(sums), sums->requests, sums->decode_requests);
  double gpu =
      base + context_us(m, (double)sums->decode_requests, (double)sums->decode_context_tokens);
  gpu += prefill_us(m, sums);
  return blis__step_us(with_host(m, gpu, host_us(m, (double)sums->requests)));
}

static blis_status composed_step_time(void *state, const blis_batch_item *items, size_t count,
                                      int64_t *step_us, blis_error *error) {
  (void)error;
  const blis_batch_sums sums = blis_batch_sums_of(items, count);
  *step_us = evaluate(state, &sums);
  return BLIS_OK;
}

static bool composed_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  if (sums->prefill_pairs == INT64_MAX || sums->decode_context_tokens == INT64_MAX) {
    return false;
  }
  *step_us = evaluate(state, sums);
  return true;
}

static size_t composed_decode_times(const void *state, int64_t decodes, int64_t context,
                                    size_t count, int64_t *step_us) {
  enum { AT_ONCE = 64 };
  const composed *m = state;
  count = count < AT_ONCE ? count : AT_ONCE;
  const double each = (double)decodes;
  const double first = (double)context;
  if (first + each * (double)count > BLIS__EXACT_MAX) {
    return 0;
  }
  const double base = base_us(m, decodes, decodes, decodes);
  const double host = host_us(m, each);
  for (size_t i = 0; i < count; i++) {
    double gpu = base + context_us(m, each, first + each * (double)i);
    step_us[i] = blis__step_us(with_host(m, gpu, host));
  }
  return count;
}

static blis_first_token composed_first_token(const void *state) {
  const composed *m = state;
  return m->first_token;
}

/* The client receives an answer after its step has ended. A request that the client sends in
   response therefore arrives after that step, both in a run and in the replay of the run. */
static int64_t composed_fixed_overhead(const void *state) {
  (void)state;
  return 1;
}

static void composed_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(composed));
}

static const blis_latency_ops OPS = {
    .name = "composed",
    .step_time = composed_step_time,
    .step_time_from_sums = composed_from_sums,
    .may_look_ahead = true,
    .decode_times = composed_decode_times,
    .first_token = composed_first_token,
    .fixed_overhead = composed_fixed_overhead,
    .free = composed_free,
};

static double layers_at(void *ud, double tokens) {
  const blis__composed_setup *setup = ud;
  return blis__layers_us(&setup->work, &setup->constants, tokens);
}

static double head_at(void *ud, double requests) {
  const blis__composed_setup *setup = ud;
  return blis__head_us(&setup->work, &setup->constants, requests);
}

static bool has_window(const composed *m, double tokens) {
  for (size_t i = 0; i < m->window_count; i++) {
    if (m->windows[i].tokens == tokens) {
      return true;
    }
  }
  return false;
}

static blis_status add_windows(composed *m, const blis__composed_setup *setup, blis_error *error) {
  for (size_t i = 0; i < setup->work.run_count; i++) {
    double tokens = setup->work.runs[i].window;
    if (tokens <= 0 || has_window(m, tokens)) {
      continue;
    }
    if (m->window_count == WINDOWS_MAX) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "composed: the model has more than %d different attention windows",
                       WINDOWS_MAX);
    }
    m->windows[m->window_count++] =
        (window){tokens, blis__window_context_us(&setup->work, &setup->constants, tokens)};
  }
  return BLIS_OK;
}

static int64_t within_knots(int64_t most) {
  return most < 1 ? 1 : most < TOKENS_LIMIT ? most : TOKENS_LIMIT;
}

blis_status blis__composed_new(const blis_alloc *alloc, const blis__composed_setup *setup,
                               blis_latency_model *out, blis_error *error) {
  composed *m = blis_alloc_zeroed(alloc, 1, sizeof *m);
  if (m == NULL) {
    return blis_fail_nomem(error);
  }
  blis_status status = add_windows(m, setup, error);
  if (status != BLIS_OK) {
    composed_free(alloc, m);
    return status;
  }
  blis__composed_setup copy = *setup;
  blis__knots_fill(&m->layers, within_knots(setup->tokens_max), layers_at, &copy);
  blis__knots_fill(&m->head, within_knots(setup->requests_max), head_at, &copy);
  m->decode = blis__decode_attention_of(&setup->work, &setup->constants);
  m->prefill = blis__prefill_attention_of(&setup->work, &setup->constants);
  m->sampling_us = blis__sampling_us(&setup->work, &setup->constants);
  m->step_us = setup->constants.step_us;
  m->host = setup->host;
  m->first_token = setup->front.first_token;
  *out = (blis_latency_model){&OPS, m, *alloc};
  return BLIS_OK;
}

size_t blis__composed_state_size(void) {
  return sizeof(composed);
}

blis_status blis__composed_copy(const blis_alloc *alloc, const void *state, blis_latency_model *out,
                                blis_error *error) {
  composed *m = blis_alloc_zeroed(alloc, 1, sizeof *m);
  if (m == NULL) {
    return blis_fail_nomem(error);
  }
  *m = *(const composed *)state;
  *out = (blis_latency_model){&OPS, m, *alloc};
  return BLIS_OK;
}

/*
 * Synchronous scheduling: fitted to 30 runs of Qwen3-32B under vLLM 0.12. As a check, a run of
 * gpt-oss-20b with 256 requests took 5.3 ms longer per step without asynchronous scheduling; the
 * fit predicts 5.9 ms. Asynchronous scheduling: an upper bound that no measured run reaches.
 */
blis__host blis__host_of(bool is_async, int64_t tp) {
  if (is_async) {
    return (blis__host){.is_async = true, .fixed_us = 1500, .request_us = 10};
  }
  return (blis__host){.is_async = false, .fixed_us = tp > 1 ? 1540 : 500, .request_us = 20.76};
}

blis__step_breakdown blis__composed_parts(const blis_latency_model *model,
                                          const blis_batch_sums *sums) {
  BLIS_ASSERT(model->ops == &OPS);
  const composed *m = model->state;
  double decodes = (double)sums->decode_requests;
  blis__step_breakdown parts = {
      .layers_us = blis__knots_read(&m->layers, tokens_of(sums)),
      .head_us = blis__knots_read(&m->head, sums->requests),
      .prefill_attention_us = prefill_us(m, sums),
      .sampling_us = m->sampling_us * (double)sums->requests,
      .step_us = m->step_us,
      .host_us = host_us(m, (double)sums->requests),
  };
  if (sums->decode_requests > 0) {
    parts.decode_attention_us = m->decode.fixed_us + m->decode.each_us * decodes +
                                context_us(m, decodes, (double)sums->decode_context_tokens);
  }
  double gpu = parts.layers_us + parts.head_us + parts.decode_attention_us +
               parts.prefill_attention_us + parts.sampling_us + parts.step_us;
  parts.total_us = with_host(m, gpu, parts.host_us);
  return parts;
}
