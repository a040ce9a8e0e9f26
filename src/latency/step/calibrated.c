#include "latency/step/calibrated.h"

#include <inttypes.h>

#include "base/minmax.h"
#include "latency/model/transformer.h"
#include "latency/spec/numbers.h"
#include "latency/step/sizes_check.h"

/* Products are computed in tiles of 128 tokens. On average, half a tile is wasted. */
#define WASTED_TOKENS 64.0

/* Sampling uses 32-bit logits. */
#define LOGIT_BYTES 4.0

/* Maximum size of the expert table. Larger steps use every expert. */
enum { EXPERT_TABLE_MAX = 4096 };

/* Times in microseconds, per unit in the comment. */
typedef struct calibrated {
  blis__alpha alpha; /* first, for the blis__alpha functions */
  blis_first_token first_token;
  bool has_coverage;
  blis_coverage coverage;

  double weights_us;     /* to read the weights that every token needs */
  double experts_us;     /* to read all routed experts */
  double token_us;       /* compute, per token */
  double head_us;        /* compute, per request */
  double tile_us;        /* wasted compute of tiles, for any batch */
  double expert_tile_us; /* like tile_us, for all routed experts */
  double fixed_us;       /* per step */
  double each_token_us;  /* KV, attention of a token to itself, and links, per token */
  double request_us;     /* overhead and sampling, per request */
  double context_us;     /* per context token of a request */
  double pairs_us;       /* per unit of prefill_pairs */

  /* Fraction of the routed experts used by a number of tokens; 1 beyond the table. */
  double *expert_share;
  int64_t expert_table_size;
} calibrated;

static double expert_share(const calibrated *m, int64_t tokens) {
  return tokens < m->expert_table_size ? m->expert_share[tokens] : 1.0;
}

/* Returns the time of a step without the part that depends on contexts. */
static inline double base_us(const calibrated *m, int64_t tokens, int64_t requests) {
  const double n = (double)tokens;
  const double b = (double)requests;
  const double share = expert_share(m, tokens);
  double memory = m->weights_us + m->experts_us * share;
  double compute = m->token_us * n + m->head_us * b + m->tile_us + m->expert_tile_us * share;
  double gemm = sqrt(memory * memory + compute * compute);
  return gemm + m->fixed_us + m->each_token_us * n + m->request_us * b;
}

static inline double context_us(const calibrated *m, double base, double context) {
  return base + m->context_us * context;
}

static inline int64_t evaluate(const calibrated *m, const blis_batch_sums *sums) {
  if (sums->requests == 0) {
    return 1;
  }
  double context = (double)sums->decode_context_tokens + (double)sums->prefill_context_tokens;
  int64_t tokens = sums->prefill_tokens < INT64_MAX - sums->decode_requests
                       ? sums->prefill_tokens + sums->decode_requests
                       : INT64_MAX;
  double us = context_us(m, base_us(m, tokens, sums->requests), context);
  return blis__step_us(us + m->pairs_us * (double)sums->prefill_pairs);
}

static blis_status calibrated_step_time(void *state, const blis_batch_item *items, size_t count,
                                        int64_t *step_us, blis_error *error) {
  (void)error;
  const blis_batch_sums sums = blis_batch_sums_of(items, count);
  *step_us = evaluate(state, &sums);
  return BLIS_OK;
}

static bool calibrated_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  if (sums->prefill_pairs == INT64_MAX || sums->prefill_context_tokens == INT64_MAX ||
      sums->decode_context_tokens == INT64_MAX) {
    return false;
  }
  *step_us = evaluate(state, sums);
  return true;
}

static size_t calibrated_decode_times(const void *state, int64_t decodes, int64_t context,
                                      size_t count, int64_t *step_us) {
  enum { AT_ONCE = 64 };
  const calibrated *m = state;
  count = count < AT_ONCE ? count : AT_ONCE;
  const double each = (double)decodes;
  const double first = (double)context;
  if (first + each * (double)count > BLIS__EXACT_MAX) {
    return 0;
  }
  const double base = base_us(m, decodes, decodes);
  /* The work is split into two loops, so that compilers can vectorize the first one. */
  double us[AT_ONCE];
  for (int i = 0; i < (int)count; i++) {
    us[i] = context_us(m, base, first + each * (double)i);
  }
  for (size_t i = 0; i < count; i++) {
    step_us[i] = blis__step_us(us[i]);
  }
  return count;
}

static blis_first_token calibrated_first_token(const void *state) {
  const calibrated *m = state;
  return m->first_token;
}

static const blis_coverage *calibrated_coverage(const void *state) {
  const calibrated *m = state;
  return m->has_coverage ? &m->coverage : NULL;
}

static void calibrated_free(const blis_alloc *alloc, void *state) {
  calibrated *m = state;
  blis_alloc_free(alloc, m->expert_share, (size_t)m->expert_table_size * sizeof(double));
  blis_alloc_free(alloc, m, sizeof *m);
}

static const blis_latency_ops OPS = {
    .name = "calibrated",
    .step_time = calibrated_step_time,
    .step_time_from_sums = calibrated_from_sums,
    .may_look_ahead = true,
    .decode_times = calibrated_decode_times,
    .queueing_time = blis__alpha_constant_queueing,
    .output_token_time = blis__alpha_token_time,
    .fixed_overhead = blis__alpha_overhead,
    .first_token = calibrated_first_token,
    .coverage = calibrated_coverage,
    .free = calibrated_free,
};

/* All inputs that determine the times of a model on its GPUs. */
typedef struct machine {
  blis_transformer parts;
  const blis_model_spec *model;
  const blis_hardware_spec *hardware;
  const double *beta;
  double tp;
  double dp;
  double gpus;
  double doublings;    /* log2 of tp, rounded up */
  double dp_doublings; /* log2 of tp * dp, rounded up */
  bool is_fp8;         /* computes products in FP8 */
  blis_moe_comm comm;
} machine;

/* Returns how often 1 must be doubled to reach n. */
static double doublings(int64_t n) {
  int count = 0;
  while ((INT64_C(1) << count) < n) {
    count++;
  }
  return count;
}

static double bandwidth(const machine *x, blis_calibrated_beta share) {
  return x->hardware->bandwidth_tb_s * 1e6 * x->beta[share];
}

static double peak(const machine *x, blis_calibrated_beta share) {
  return x->hardware->peak_tflops * 1e6 * x->beta[share];
}

static double product_peak(const machine *x) {
  return x->is_fp8 ? x->hardware->fp8_tflops * 1e6 * x->beta[BLIS_CALIBRATED_FP8]
                   : peak(x, BLIS_CALIBRATED_COMPUTE);
}

/* Returns the weights that every replica has, without the head. */
static double common_weights(const blis_transformer *p) {
  return p->layers * p->attention + p->dense_layers * p->dense_mlp +
         p->moe_layers * (p->shared_expert + p->router);
}

static void set_products(calibrated *m, const machine *x) {
  const blis_transformer *p = &x->parts;
  double width = blis_model_spec_weight_bytes(x->model);
  bool is_narrow = width < x->model->bytes_per_param;
  double read = bandwidth(x, is_narrow ? BLIS_CALIBRATED_NARROW : BLIS_CALIBRATED_WEIGHTS);
  double head_read = bandwidth(x, BLIS_CALIBRATED_WEIGHTS);
  double experts = (double)x->model->experts * p->expert * p->moe_layers;
  double active = (double)x->model->experts_per_token * p->expert * p->moe_layers;
  double common = common_weights(p);
  double flops_us = 2.0 / product_peak(x);
  double head_flops_us = 2.0 / peak(x, BLIS_CALIBRATED_COMPUTE);

  m->weights_us =
      common * width / x->tp / read + p->head * x->model->bytes_per_param / x->tp / head_read;
  m->experts_us = experts * width / x->gpus / read;
  m->token_us = (common / x->tp / x->dp + active / x->gpus) * flops_us;
  m->head_us = p->head / x->tp / x->dp * head_flops_us;
  m->tile_us = WASTED_TOKENS * (common * flops_us + p->head * head_flops_us) / x->tp;
  m->expert_tile_us = WASTED_TOKENS * experts / x->gpus * flops_us;
}

/*
 * Returns the KV width per GPU. Latent KV is on every GPU. Otherwise, each GPU has at least one
 * head.
 */
static double kv_width_per_gpu(const machine *x) {
  if (x->model->kv_lora_rank > 0) {
    return x->parts.kv_width;
  }
  double heads = (double)blis_model_spec_kv_heads(x->model);
  return fmax(ceil(heads / x->tp), 1.0) * 2.0 * x->parts.head_dim;
}

/* Returns the FLOPs in all layers for one token that attends to one other token. */
static double pair_flops(const machine *x) {
  const blis_transformer *p = &x->parts;
  return 4.0 * (double)x->model->attention_heads * p->head_dim * p->layers / x->tp;
}

/* Like pair_flops, for a decode, which computes latent attention in the latent space. */
static double context_flops(const machine *x) {
  if (x->model->kv_lora_rank == 0) {
    return pair_flops(x);
  }
  double latent = 2.0 * (double)x->model->kv_lora_rank;
  return 2.0 * (double)x->model->attention_heads * x->parts.layers / x->tp *
         (latent + (double)x->model->qk_rope_head_dim);
}

static void set_attention(calibrated *m, const machine *x) {
  double flops_us = 1.0 / peak(x, BLIS_CALIBRATED_ATTENTION) / x->dp;
  double bytes = kv_width_per_gpu(x) * x->parts.layers * x->model->bytes_per_param;
  double read_us = bytes / bandwidth(x, BLIS_CALIBRATED_KV) / x->dp;
  m->context_us = fmax(read_us, context_flops(x) * flops_us);
  m->each_token_us = read_us + pair_flops(x) * flops_us;
  m->pairs_us = 0.5 * pair_flops(x) * flops_us;
}

static void add_communication(calibrated *m, const machine *x) {
  const blis_transformer *p = &x->parts;
  double bytes = (double)x->model->hidden_size * x->model->bytes_per_param;
  double link = x->beta[BLIS_CALIBRATED_LINK] * 1e3; /* bytes per us */
  double reduced = 2.0 * p->layers * bytes * 2.0 * (x->tp - 1.0) / x->tp;
  m->each_token_us += reduced / link / x->dp;
  m->fixed_us += p->layers * x->beta[BLIS_CALIBRATED_TP_LAYER] * x->doublings;
  if (x->dp > 1.0) {
    double copies = x->comm == BLIS_MOE_COMM_ALL_TO_ALL ? (double)x->model->experts_per_token : 1.0;
    double sent = 2.0 * bytes * copies * (x->gpus - 1.0) / x->gpus / x->dp;
    m->each_token_us += p->moe_layers * sent / link;
    m->fixed_us += p->moe_layers * x->beta[BLIS_CALIBRATED_TP_LAYER] * x->dp_doublings;
  }
}

static void set_overheads(calibrated *m, const machine *x) {
  const blis_transformer *p = &x->parts;
  const double *beta = x->beta;
  double logits = (double)x->model->vocab_size * LOGIT_BYTES;
  /* Experts quantize their tokens an additional time. */
  double quantised = x->is_fp8 ? p->layers + p->moe_layers : 0.0;
  m->fixed_us = beta[BLIS_CALIBRATED_STEP] + p->layers * beta[BLIS_CALIBRATED_LAYER] +
                p->moe_layers * beta[BLIS_CALIBRATED_MOE_LAYER] +
                quantised * beta[BLIS_CALIBRATED_FP8_LAYER];
  m->request_us = (beta[BLIS_CALIBRATED_REQUEST] +
                   beta[BLIS_CALIBRATED_SAMPLING] * logits / (x->hardware->bandwidth_tb_s * 1e6)) /
                  x->dp;
}

/* Tabulates the fractions 1 - (1 - k / N)^tokens while they are below 1. */
static blis_status fill_expert_table(calibrated *m, const machine *x, const blis_alloc *alloc,
                                     blis_error *error) {
  if (x->parts.moe_layers == 0.0) {
    return BLIS_OK;
  }
  double left_out = 1.0 - (double)x->model->experts_per_token / (double)x->model->experts;
  int64_t size = 1;
  while (size < EXPERT_TABLE_MAX && blis__power(left_out, size) > 1e-6) {
    size++;
  }
  m->expert_share = blis_alloc_zeroed(alloc, (size_t)size, sizeof(double));
  if (m->expert_share == NULL) {
    return blis_fail_nomem(error);
  }
  m->expert_table_size = size;
  double unused = 1.0;
  for (int64_t i = 0; i < size; i++) {
    m->expert_share[i] = 1.0 - unused;
    unused *= left_out;
  }
  return BLIS_OK;
}

static blis_status check_betas(const blis_coefficients *coefficients, blis_error *error) {
  static const char *const SHARES[] = {"share of the bandwidth for weights",
                                       "share of the peak for matrix products",
                                       "share of the bandwidth for KV",
                                       "share of the peak for attention",
                                       "share of the bandwidth for quantised weights",
                                       "share of the FP8 peak for matrix products"};
  const double *beta = coefficients->beta;
  if (coefficients->beta_count != BLIS_CALIBRATED_BETA_COUNT ||
      coefficients->alpha_count > BLIS_CALIBRATED_ALPHA_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "calibrated takes %d to %d alpha and %d beta "
                     "coefficients, got %zu and %zu",
                     BLIS_ALPHA_COUNT, BLIS_CALIBRATED_ALPHA_MAX, BLIS_CALIBRATED_BETA_COUNT,
                     coefficients->alpha_count, coefficients->beta_count);
  }
  for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
    if (!(beta[i] > 0.0 && beta[i] <= 1.0)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "calibrated: beta[%zu], %s, must be above 0 and at most "
                       "1, got %g",
                       i, SHARES[i], beta[i]);
    }
  }
  if (beta[BLIS_CALIBRATED_LINK] <= 0.0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "calibrated: beta[%d], the bandwidth of an all-reduce, "
                     "must be above 0, got %g",
                     BLIS_CALIBRATED_LINK, beta[BLIS_CALIBRATED_LINK]);
  }
  return BLIS_OK;
}

static blis_first_token first_token_of(const blis_coefficients *coefficients) {
  const double *alpha = coefficients->alpha;
  size_t count = coefficients->alpha_count;
  return (blis_first_token){
      .delay_us = count > 3 ? blis__truncate(alpha[3]) : 0,
      .depth = count > 4 ? alpha[4] : 0.0,
  };
}

static void set_times(calibrated *m, const machine *x) {
  set_products(m, x);
  set_attention(m, x);
  set_overheads(m, x);
  add_communication(m, x);
}

blis_status blis_calibrated_new(const blis_alloc *alloc, const blis_model_spec *model,
                                const blis_hardware_spec *hardware,
                                const blis_parallelism *parallelism,
                                const blis_coefficients *coefficients,
                                const blis_coverage *coverage, blis_latency_model *out,
                                blis_error *error) {
  BLIS_TRY(blis_coefficients_validate(coefficients, 1, OPS.name, error));
  BLIS_TRY(check_betas(coefficients, error));
  BLIS_TRY(blis__check_sizes(model, hardware, parallelism, false, "", error));
  machine x = {
      .parts = blis_transformer_of(model),
      .model = model,
      .hardware = hardware,
      .beta = coefficients->beta,
      .tp = (double)parallelism->tp,
      .dp = (double)parallelism->dp,
      .gpus = (double)(parallelism->tp * parallelism->dp),
      .doublings = doublings(parallelism->tp),
      .dp_doublings = doublings(parallelism->tp * parallelism->dp),
      .is_fp8 = blis_model_spec_weight_bytes(model) == 1.0 && hardware->fp8_tflops > 0.0,
  };
  BLIS_TRY(blis_moe_comm_parse(parallelism->moe_comm_backend, &x.comm, error));
  calibrated *m = blis_alloc_zeroed(alloc, 1, sizeof *m);
  if (m == NULL) {
    return blis_fail_nomem(error);
  }
  m->alpha = blis__alpha_from(coefficients);
  m->first_token = first_token_of(coefficients);
  m->has_coverage = coverage != NULL;
  if (coverage != NULL) {
    m->coverage = *coverage;
  }
  set_times(m, &x);
  blis_status status = fill_expert_table(m, &x, alloc, error);
  if (status != BLIS_OK) {
    calibrated_free(alloc, m);
    return status;
  }
  *out = (blis_latency_model){.ops = &OPS, .state = m, .alloc = *alloc};
  return BLIS_OK;
}
