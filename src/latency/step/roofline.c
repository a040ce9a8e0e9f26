#include "latency/step/roofline.h"

#include "latency/hardware/parallelism.h"
#include "latency/spec/numbers.h"

/*
 * A step with few tokens reads only some of the experts. Their fraction is a power with the token
 * count as the exponent, so weight bytes are tabulated by the number of tokens. The table ends at
 * this size, or where all experts are read.
 */
enum { WEIGHT_TABLE_MAX = 4096 };

typedef struct roofline {
  blis__alpha alpha; /* first, for the blis__alpha functions */

  /* Symbols of the evaluation in step_time. */
  double hidden;
  double q_width; /* hidden, or the total width of the heads */
  double mlp_matrices;
  double heads;
  double layers;
  double moe_layers;
  double dense_layers;
  double head_dim; /* q_width / heads; may be fractional */
  double kv_width;
  double expert_ffn;
  double dense_ffn;
  double experts;
  double experts_per_token;
  double weight_bytes_per_param;
  double kv_bytes;    /* per token */
  double token_bytes; /* activations per token */
  blis__divisor tp;
  double prefill_flops_per_s; /* peak times utilization */
  double decode_flops_per_s;
  double bytes_per_s;

  /* For the evaluation from sums. */
  double flops_per_token;
  double flops_per_pair; /* for a new token and a token of its context */
  double prefill_s_per_flop;
  double decode_s_per_flop;
  double exact_bytes_max; /* below it, memory time has no rounding errors */

  /* weights[t] is the number of bytes that a step of t tokens reads. If is_weights_saturated, the
     last entry applies to all larger t. */
  double *weights;
  size_t weight_count;
  bool is_weights_saturated;
} roofline;

static double flops(const roofline *r, double s, double t) {
  double qkv = 2.0 * t * (r->hidden * r->q_width + 2.0 * r->hidden * r->kv_width);
  double projection = 2.0 * t * r->hidden * r->q_width;
  double matrix = (qkv + projection) * r->layers;
  double context = t > 1.0 ? s + (t - 1.0) / 2.0 : s;
  double attention = 4.0 * r->heads * t * context * r->head_dim;
  double rope = 2.0 * t * r->hidden;
  double vector = (5.0 * r->heads * t * context) + rope;
  matrix += attention * r->layers;
  double scalar = vector * r->layers;
  if (r->moe_layers > 0.0) {
    matrix += (2.0 * t * (r->mlp_matrices * r->hidden * r->expert_ffn) * r->experts_per_token) *
              r->moe_layers;
  }
  if (r->dense_layers > 0.0) {
    matrix += (2.0 * t * (r->mlp_matrices * r->hidden * r->dense_ffn)) * r->dense_layers;
  }
  return matrix + scalar;
}

static double compute_weights(const roofline *r, int64_t tokens) {
  double attention = r->hidden * (r->q_width + 2.0 * r->kv_width) + (r->hidden * r->q_width);
  double moe = 0.0;
  if (r->moe_layers > 0.0) {
    double idle = (r->experts - r->experts_per_token) / r->experts;
    double used = r->experts * (1.0 - blis__power(idle, tokens));
    moe = ((r->mlp_matrices * r->hidden * r->expert_ffn) * used) * r->moe_layers;
  }
  double dense =
      r->dense_layers > 0.0 ? (r->mlp_matrices * r->hidden * r->dense_ffn) * r->dense_layers : 0.0;
  return ((attention * r->layers) + (moe + dense)) * r->weight_bytes_per_param;
}

static double weights(const roofline *r, int64_t tokens) {
  if ((uint64_t)tokens < r->weight_count) {
    return r->weights[tokens];
  }
  if (r->is_weights_saturated) {
    return r->weights[r->weight_count - 1];
  }
  return compute_weights(r, tokens);
}

/* Returns the memory traffic of one request without the weights, before division by TP. */
static double own_bytes(const roofline *r, double s, int64_t tokens) {
  double t = (double)tokens;
  double weight = weights(r, tokens);
  double growth = r->kv_bytes * t;
  double access = r->kv_bytes * s;
  double activations = r->token_bytes * t;
  /* Adding and subtracting `weight` causes a rounding error if the weights are not a whole number.
     This error is part of the model. */
  double total = weight + growth + access + activations;
  return total - weight;
}

typedef struct cost {
  double compute_s;
  double bytes;
  double tokens;
} cost;

static void add_prefills(const roofline *r, const blis_batch_item *items, size_t count, cost *c) {
  for (size_t i = 0; i < count; i++) {
    const blis_batch_item *item = &items[i];
    if (item->new_tokens <= 0 || item->progress_tokens >= item->prompt_tokens) {
      continue;
    }
    double s = (double)item->progress_tokens;
    c->compute_s +=
        blis__divide(flops(r, s, (double)item->new_tokens), &r->tp) / r->prefill_flops_per_s;
    c->bytes += blis__divide(own_bytes(r, s, item->new_tokens), &r->tp);
    c->tokens += (double)item->new_tokens;
  }
}

static void add_decodes(const roofline *r, const blis_batch_item *items, size_t count, cost *c) {
  for (size_t i = 0; i < count; i++) {
    const blis_batch_item *item = &items[i];
    if (item->new_tokens <= 0 || item->output_tokens <= 0 ||
        item->progress_tokens < item->prompt_tokens) {
      continue;
    }
    double s = (double)item->progress_tokens;
    c->compute_s += blis__divide(flops(r, s, 1.0), &r->tp) / r->decode_flops_per_s;
    c->bytes += blis__divide(own_bytes(r, s, 1), &r->tp);
    c->tokens += 1.0;
  }
}

static blis_status roofline_step_time(void *state, const blis_batch_item *items, size_t count,
                                      int64_t *step_us, blis_error *error) {
  (void)error;
  const roofline *r = state;
  cost c = {0};
  add_prefills(r, items, count, &c);
  add_decodes(r, items, count, &c);
  if (c.tokens == 0.0) {
    *step_us = 1;
    return BLIS_OK;
  }
  int64_t tokens = (int64_t)fmin(c.tokens, BLIS__EXACT_MAX);
  double memory_s = (blis__divide(weights(r, tokens), &r->tp) + c.bytes) / r->bytes_per_s;
  double longer_s = c.compute_s > memory_s ? c.compute_s : memory_s;
  *step_us = blis__step_us(longer_s * 1e6);
  return BLIS_OK;
}

/*
 * Returns whether the sums are small enough to be exact. Larger sums are rejected without further
 * analysis.
 */
static bool are_exact(const blis_batch_sums *sums) {
  const int64_t most = INT64_C(1) << 50;
  return sums->prefill_tokens < most && sums->prefill_pairs < most &&
         sums->prefill_context_tokens < most && sums->decode_context_tokens < most;
}

/*
 * step_time rounds at most 4 more times per request than this function, and a few more times per
 * step. margin is twice this error. The integer result is certain if the time is further than
 * margin from the next integer. It is also certain if the memory time is larger and has no rounding
 * errors before the last two operations, which are the same in both functions.
 */
static bool roofline_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const roofline *r = state;
  if (!are_exact(sums)) {
    return false;
  }
  int64_t tokens = sums->prefill_tokens + sums->decode_requests;
  if (tokens == 0) {
    *step_us = 1;
    return true;
  }
  double prefill_flops = r->flops_per_token * (double)sums->prefill_tokens +
                         r->flops_per_pair * (double)sums->prefill_pairs * 0.5;
  double decode_flops = r->flops_per_token * (double)sums->decode_requests +
                        r->flops_per_pair * (double)sums->decode_context_tokens;
  double compute_s = prefill_flops * r->prefill_s_per_flop + decode_flops * r->decode_s_per_flop;
  int64_t kv_tokens = tokens + sums->prefill_context_tokens + sums->decode_context_tokens;
  double bytes =
      weights(r, tokens) + r->kv_bytes * (double)kv_tokens + r->token_bytes * (double)tokens;
  double memory_s = blis__divide(bytes, &r->tp) / r->bytes_per_s;
  double margin = 8.0 * ((double)sums->requests + 16.0) * 0x1p-53;
  if (memory_s > compute_s * (1.0 + margin) && bytes < r->exact_bytes_max) {
    *step_us = blis__step_us(memory_s * 1e6);
    return true;
  }
  double us = (compute_s > memory_s ? compute_s : memory_s) * 1e6;
  if (us >= BLIS__EXACT_MAX || fabs(us - (double)(int64_t)(us + 0.5)) < margin * us + 1e-9) {
    return false;
  }
  *step_us = blis__step_us(us);
  return true;
}

static void roofline_free(const blis_alloc *alloc, void *state) {
  roofline *r = state;
  blis_alloc_free(alloc, r->weights, r->weight_count * sizeof *r->weights);
  blis_alloc_free(alloc, r, sizeof *r);
}

static const blis_latency_ops OPS = {
    .name = "roofline",
    .step_time = roofline_step_time,
    .step_time_from_sums = roofline_from_sums,
    .may_look_ahead = true,
    .queueing_time = blis__alpha_linear_queueing,
    .output_token_time = blis__alpha_token_time,
    .free = roofline_free,
};

static blis_status check(const blis_model_spec *model, const blis_hardware_spec *hardware,
                         int64_t tp, blis_error *error) {
  blis_parallelism parallelism = {.tp = tp, .dp = 1};
  BLIS_TRY(blis_parallelism_validate(&parallelism, error));
  BLIS_TRY(blis_model_spec_validate(model, error));
  BLIS_TRY(blis_hardware_spec_validate(hardware, error));
  const struct {
    const char *name;
    double value;
  } needed[] = {{"peak_tflops", hardware->peak_tflops},
                {"bandwidth_tb_s", hardware->bandwidth_tb_s},
                {"mfu_prefill", hardware->mfu_prefill},
                {"mfu_decode", hardware->mfu_decode}};
  blis__problems problems = {0};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (needed[i].value <= 0.0) {
      blis__problems_add(&problems, "%s is missing", needed[i].name);
    }
  }
  return blis__problems_status(&problems, "hardware", hardware->name, error);
}

static void set_model(roofline *r, const blis_model_spec *model) {
  int64_t moe_layers;
  int64_t dense_layers;
  blis_model_spec_split_layers(model, &moe_layers, &dense_layers);
  double kv_heads = (double)blis_model_spec_kv_heads(model);
  double ffn = model->intermediate_size > 0 ? (double)model->intermediate_size
                                            : 4.0 * (double)model->hidden_size;
  r->hidden = (double)model->hidden_size;
  r->heads = (double)model->attention_heads;
  r->layers = (double)model->layers;
  r->moe_layers = (double)moe_layers;
  r->dense_layers = (double)dense_layers;
  r->q_width = (double)blis_model_spec_q_width(model);
  r->mlp_matrices = model->counts_as_built && blis_model_spec_is_gated(model) ? 3.0 : 2.0;
  r->head_dim = r->q_width / r->heads;
  r->kv_width = kv_heads * r->head_dim;
  r->expert_ffn =
      model->expert_intermediate_size > 0 ? (double)model->expert_intermediate_size : ffn;
  r->dense_ffn = model->dense_intermediate_size > 0 ? (double)model->dense_intermediate_size : ffn;
  r->experts = (double)model->experts;
  r->experts_per_token = (double)model->experts_per_token;
  r->weight_bytes_per_param = blis_model_spec_weight_bytes(model);
  r->kv_bytes = 2.0 * r->layers * kv_heads * r->head_dim * model->bytes_per_param;
  r->token_bytes = r->layers * r->hidden * model->bytes_per_param;
}

static void set_rates(roofline *r, const blis_model_spec *model, const blis_hardware_spec *hardware,
                      int64_t tp) {
  double peak = blis_hardware_spec_peak_tflops(hardware, model) * 1e12;
  r->tp = blis__divisor_of((double)tp);
  r->prefill_flops_per_s = peak * hardware->mfu_prefill;
  r->decode_flops_per_s = peak * hardware->mfu_decode;
  r->bytes_per_s = hardware->bandwidth_tb_s * 1e12;
  r->prefill_s_per_flop = 1.0 / (r->tp.value * r->prefill_flops_per_s);
  r->decode_s_per_flop = 1.0 / (r->tp.value * r->decode_flops_per_s);
}

static void set_sum_constants(roofline *r, const blis_model_spec *model) {
  double h = r->hidden;
  double ffn =
      r->expert_ffn * r->experts_per_token * r->moe_layers + r->dense_ffn * r->dense_layers;
  r->flops_per_token = r->layers * (2.0 * (h * r->q_width + 2.0 * h * r->kv_width) +
                                    2.0 * h * r->q_width + 2.0 * h) +
                       2.0 * r->mlp_matrices * h * ffn;
  r->flops_per_pair = r->layers * r->heads * (4.0 * r->head_dim + 5.0);
  bool is_exact = r->moe_layers == 0.0 && r->tp.inverse != 0.0 &&
                  blis_model_spec_q_width(model) % model->attention_heads == 0 &&
                  blis__is_eighths(model->bytes_per_param) &&
                  blis__is_eighths(r->weight_bytes_per_param);
  r->exact_bytes_max = is_exact ? 0x1p49 : 0.0;
}

static blis_status tabulate_weights(const blis_alloc *alloc, roofline *r) {
  size_t count = 1;
  r->is_weights_saturated = r->moe_layers == 0.0;
  if (!r->is_weights_saturated) {
    double idle = (r->experts - r->experts_per_token) / r->experts;
    /* 1 - x is 1 for every x up to 2^-54, regardless of the rounding of x. */
    while (count < WEIGHT_TABLE_MAX && blis__power(idle, (int64_t)count - 1) > 0x1p-56) {
      count++;
    }
    r->is_weights_saturated = count < WEIGHT_TABLE_MAX;
  }
  double *table = blis_alloc_new(alloc, count * sizeof *table);
  if (table == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t t = 0; t < count; t++) {
    table[t] = compute_weights(r, (int64_t)t);
  }
  r->weights = table;
  r->weight_count = count;
  return BLIS_OK;
}

blis_status blis_roofline_new(const blis_alloc *alloc, const blis_model_spec *model,
                              const blis_hardware_spec *hardware, int64_t tp,
                              const blis_coefficients *coefficients, blis_latency_model *out,
                              blis_error *error) {
  BLIS_TRY(blis_coefficients_validate(coefficients, 0, OPS.name, error));
  BLIS_TRY(check(model, hardware, tp, error));
  roofline *r = blis_alloc_zeroed(alloc, 1, sizeof *r);
  BLIS_TRY_NEW(r, error);
  r->alpha = blis__alpha_from(coefficients);
  set_model(r, model);
  set_rates(r, model, hardware, tp);
  set_sum_constants(r, model);
  if (tabulate_weights(alloc, r) != BLIS_OK) {
    blis_alloc_free(alloc, r, sizeof *r);
    return blis_fail_nomem(error);
  }
  *out = (blis_latency_model){.ops = &OPS, .state = r, .alloc = *alloc};
  return BLIS_OK;
}
