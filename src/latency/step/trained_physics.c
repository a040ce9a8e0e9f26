#include "latency/step/trained_physics.h"

#include <inttypes.h>

#include "latency/spec/numbers.h"
#include "latency/step/sizes_check.h"

enum {
  PREFILL_COMPUTE,
  DECODE_COMPUTE,
  WEIGHTS,
  COMMUNICATION,
  LAYER,
  REQUEST,
  STEP,
  INTERLEAVED_LAYER,
  PREFILL_KV,
  DECODE_KV,
  DISPATCH,
  BETA_COUNT = BLIS_TRAINED_PHYSICS_BETA_MAX
};

/*
 * For each term, the product of all factors except the sums over the batch. If TP and DP are powers
 * of two, a term is an integer multiple of 1 / (TP * DP) up to its first division. Regrouping the
 * factors therefore changes no bit while the term is below its limit.
 */
typedef struct merged {
  double flops_per_token;   /* projections and FFN */
  double flops_per_prefill; /* per unit of prefill_attention */
  double flops_per_context; /* per context token of decodes */
  double flops_limit;       /* 0 = never use merged products */
  double reduced_bytes;     /* bytes of an all-reduce per token and layer */
  double reduced_tokens_limit;
} merged;

/*
 * All values that do not depend on the batch. A member is either a symbol of the formulas or the
 * left part of a product in them. It is never a regrouped product, which could change the last bit
 * of a step time.
 */
typedef struct trained_physics {
  blis__alpha alpha; /* first, for the blis__alpha functions */
  double beta[BETA_COUNT];
  bool is_prefill_split; /* uses a weighted sum instead of the maximum */
  bool is_decode_split;
  bool is_positive;        /* no coefficient is negative */
  bool has_all_reduce;     /* TP > 1 */
  bool has_moe_all_reduce; /* TP > 1 and DP = 1 in an MoE model */
  bool has_dispatch;       /* DP > 1 in an MoE model */
  blis_moe_comm comm;

  double layers;
  double moe_layers;
  double dense_layers;
  double hidden;
  double qkvo_width; /* 2 * hidden + 2 * KV width */
  double experts_per_token;
  double expert_ffn;
  double shared_ffn; /* 0 = none */
  double dense_ffn;
  double head_dim;
  double heads_per_gpu;
  double bytes_per_param;
  blis__divisor dp;
  blis__divisor tp_dp;
  blis__divisor expert_gpus;
  double ring_share;   /* (TP - 1) / TP */
  double flops_per_us; /* F */
  double bytes_per_us; /* BW */

  double twice_layers;
  double kv_share;       /* layers * 2 * (KV width / (TP * DP)) */
  double weight_us;      /* beta times the time to read the weights once */
  double layer_us;       /* beta times layers */
  double interleaved_us; /* beta times MoE layers, 0 unless interleaved */
  double attention_max;  /* attention FLOPs are exact for sums up to this */
  merged merged;
} trained_physics;

/* The sums of a step, all exact. */
typedef struct load {
  double requests;
  double prefill_tokens;
  double decodes;
  double decode_context;
  double attention_flops; /* FLOPs of the prefills, per layer and GPU */
} load;

static double ffn_flops(const trained_physics *m, double tokens) {
  double flops = 0.0;
  if (m->moe_layers > 0.0) {
    flops += m->moe_layers * blis__divide(tokens * m->experts_per_token, &m->expert_gpus) * 6.0 *
             m->hidden * m->expert_ffn;
    flops += blis__divide(m->moe_layers * tokens * 6.0 * m->hidden * m->shared_ffn, &m->tp_dp);
  }
  if (m->dense_layers > 0.0) {
    flops += blis__divide(m->dense_layers * tokens * 6.0 * m->hidden * m->dense_ffn, &m->tp_dp);
  }
  return flops;
}

static double projection_flops(const trained_physics *m, double tokens) {
  return blis__divide(m->twice_layers * tokens * m->hidden * m->qkvo_width, &m->tp_dp);
}

static double prefill_flops(const trained_physics *m, const load *l) {
  double attention = blis__divide(m->layers * l->attention_flops, &m->dp);
  return projection_flops(m, l->prefill_tokens) + attention + ffn_flops(m, l->prefill_tokens);
}

static double decode_flops(const trained_physics *m, const load *l) {
  double attention =
      blis__divide(m->layers * 4.0 * m->heads_per_gpu * l->decode_context * m->head_dim, &m->dp);
  return projection_flops(m, l->decodes) + attention + ffn_flops(m, l->decodes);
}

static double all_reduce_us(const trained_physics *m, double layers, double tokens) {
  return layers * tokens * m->hidden * m->bytes_per_param * 2.0 * m->ring_share / m->bytes_per_us;
}

static double communication_us(const trained_physics *m, double tokens) {
  if (!m->has_all_reduce) {
    return 0.0;
  }
  double attention = blis__divide(all_reduce_us(m, m->layers, tokens), &m->dp);
  double dense = blis__divide(all_reduce_us(m, m->dense_layers, tokens), &m->dp);
  double moe = m->has_moe_all_reduce ? all_reduce_us(m, m->moe_layers, tokens) : 0.0;
  return attention + dense + moe;
}

/* The work of one GPU in a step. */
typedef struct work {
  double prefill_flops;
  double decode_flops;
  double communication_us;
} work;

/* Returns whether a term counts. Terms with a coefficient of 0 are always skipped. */
static bool counts(const trained_physics *m, int term) {
  return m->beta[term] != 0.0;
}

/* Evaluates the formulas directly. */
static work plain_work(const trained_physics *m, const load *l) {
  work w = {0};
  if (counts(m, PREFILL_COMPUTE) && l->prefill_tokens > 0.0) {
    w.prefill_flops = prefill_flops(m, l);
  }
  if (counts(m, DECODE_COMPUTE) && l->decodes > 0.0) {
    w.decode_flops = decode_flops(m, l);
  }
  if (counts(m, COMMUNICATION)) {
    w.communication_us = communication_us(m, l->prefill_tokens + l->decodes);
  }
  return w;
}

static inline double merged_communication_us(const trained_physics *m, double tokens) {
  if (!m->has_all_reduce) {
    return 0.0;
  }
  double bytes = m->merged.reduced_bytes * tokens;
  double attention = bytes * m->layers / m->bytes_per_us * m->dp.inverse;
  double dense = bytes * m->dense_layers / m->bytes_per_us * m->dp.inverse;
  double moe = m->has_moe_all_reduce ? bytes * m->moe_layers / m->bytes_per_us : 0.0;
  return attention + dense + moe;
}

/* Computes bit-identical results with fewer operations. Returns false if this is not certain. */
static inline bool merged_work(const trained_physics *m, const load *l, double prefill_attention,
                               work *w) {
  const merged *c = &m->merged;
  w->prefill_flops =
      c->flops_per_token * l->prefill_tokens + c->flops_per_prefill * prefill_attention;
  w->decode_flops = c->flops_per_token * l->decodes + c->flops_per_context * l->decode_context;
  double tokens = l->prefill_tokens + l->decodes;
  if (w->prefill_flops >= c->flops_limit || w->decode_flops >= c->flops_limit ||
      tokens >= c->reduced_tokens_limit) {
    return false;
  }
  w->communication_us = merged_communication_us(m, tokens);
  return true;
}

static inline double prefill_us(const trained_physics *m, const load *l, double flops) {
  if (l->prefill_tokens <= 0.0) {
    return 0.0;
  }
  double compute = flops / m->flops_per_us;
  double kv = m->kv_share * l->prefill_tokens * 2.0 / m->bytes_per_us;
  if (m->is_prefill_split) {
    return m->beta[PREFILL_COMPUTE] * compute + m->beta[PREFILL_KV] * kv;
  }
  return m->beta[PREFILL_COMPUTE] * (compute > kv ? compute : kv);
}

static inline double decode_kv_us(const trained_physics *m, double decodes, double context) {
  return m->kv_share * 2.0 * (context + decodes) / m->bytes_per_us;
}

static inline double decode_us(const trained_physics *m, double decodes, double context,
                               double flops) {
  if (decodes <= 0.0) {
    return 0.0;
  }
  double compute = flops / m->flops_per_us;
  double kv = decode_kv_us(m, decodes, context);
  if (m->is_decode_split) {
    return m->beta[DECODE_COMPUTE] * compute + m->beta[DECODE_KV] * kv;
  }
  return m->beta[DECODE_COMPUTE] * (compute > kv ? compute : kv);
}

static inline double dispatch_us(const trained_physics *m, double tokens) {
  if (!m->has_dispatch) {
    return 0.0;
  }
  double routed = blis__divide(tokens, &m->dp);
  if (m->comm == BLIS_MOE_COMM_ALL_TO_ALL) {
    routed *= m->experts_per_token;
  }
  double peers = m->expert_gpus.value - 1.0;
  double bytes =
      blis__divide(routed * peers, &m->expert_gpus) * 2.0 * m->hidden * m->bytes_per_param;
  return bytes / m->bytes_per_us * m->moe_layers;
}

/* Times that are added to those of prefills and decodes. */
typedef struct extra {
  double communication_us;
  double dispatch_us;
  double requests_us;
} extra;

static inline extra extra_of(const trained_physics *m, const load *l, const work *w) {
  double tokens = l->prefill_tokens + l->decodes;
  return (extra){.communication_us = m->beta[COMMUNICATION] * w->communication_us,
                 .dispatch_us = m->beta[DISPATCH] * dispatch_us(m, tokens),
                 .requests_us = m->beta[REQUEST] * l->requests};
}

static inline double total_us(const trained_physics *m, double work_us, const extra *e) {
  return work_us + m->weight_us + e->communication_us + e->dispatch_us + m->layer_us +
         e->requests_us + m->beta[STEP] + m->interleaved_us;
}

static inline int64_t evaluate(const trained_physics *m, const load *l, const work *w) {
  if (l->requests == 0.0) {
    return 1;
  }
  double work_us = prefill_us(m, l, w->prefill_flops) +
                   decode_us(m, l->decodes, l->decode_context, w->decode_flops);
  extra e = extra_of(m, l, w);
  return blis__step_us(total_us(m, work_us, &e));
}

static blis_status trained_physics_step_time(void *state, const blis_batch_item *items,
                                             size_t count, int64_t *step_us, blis_error *error) {
  (void)error;
  const trained_physics *m = state;
  load l = {0};
  for (size_t i = 0; i < count; i++) {
    const blis_batch_item *item = &items[i];
    if (item->new_tokens <= 0) {
      continue;
    }
    l.requests += 1.0;
    if (item->progress_tokens < item->prompt_tokens) {
      double t = (double)item->new_tokens;
      l.prefill_tokens += t;
      l.attention_flops +=
          4.0 * m->heads_per_gpu * t * ((double)item->prompt_tokens + t / 2.0) * m->head_dim;
    } else if (item->output_tokens > 0) {
      l.decodes += 1.0;
      l.decode_context += (double)item->progress_tokens;
    }
  }
  work w = plain_work(m, &l);
  *step_us = evaluate(m, &l, &w);
  return BLIS_OK;
}

static bool trained_physics_from_sums(const void *state, const blis_batch_sums *sums,
                                      int64_t *step_us) {
  const trained_physics *m = state;
  load l = {
      .requests = (double)sums->requests,
      .prefill_tokens = (double)sums->prefill_tokens,
      .decodes = (double)sums->decode_requests,
      .decode_context = (double)sums->decode_context_tokens,
  };
  double attention = (double)sums->prefill_attention;
  if (attention > m->attention_max || l.prefill_tokens > BLIS__EXACT_MAX ||
      l.decode_context > BLIS__EXACT_MAX) {
    return false;
  }
  work w;
  if (!merged_work(m, &l, attention, &w)) {
    l.attention_flops = 2.0 * m->heads_per_gpu * m->head_dim * attention;
    w = plain_work(m, &l);
  }
  *step_us = evaluate(m, &l, &w);
  return true;
}

/* Consecutive steps in which the same requests decode. */
typedef struct decode_run {
  double decodes;
  double flops; /* FLOPs except those that depend on the context */
  extra extra;
} decode_run;

static inline double run_flops(const trained_physics *m, const decode_run *run, double context) {
  return run->flops + m->merged.flops_per_context * context;
}

static inline double run_us(const trained_physics *m, const decode_run *run, double context) {
  double flops = run_flops(m, run, context);
  return total_us(m, decode_us(m, run->decodes, context, flops), &run->extra);
}

/* Returns which of two lines determines the time, which is the maximum of both. */
static bool is_compute_bound(const trained_physics *m, const decode_run *run, double context) {
  return !m->is_decode_split &&
         run_flops(m, run, context) / m->flops_per_us > decode_kv_us(m, run->decodes, context);
}

/*
 * Interpolates between the first and the last time if both are on the same line and no term is
 * negative. The rounding errors are then below those of the sum.
 */
static bool interpolate(const trained_physics *m, const decode_run *run, double context,
                        size_t count, int64_t *step_us) {
  enum { WORTH_IT = 8 };
  double last = context + run->decodes * (double)(count - 1);
  return count >= WORTH_IT && m->is_positive &&
         is_compute_bound(m, run, context) == is_compute_bound(m, run, last) &&
         blis__step_times_between(run_us(m, run, context), run_us(m, run, last), count, step_us);
}

/* Handles loads with merged work. Other times are computed one by one. */
static size_t trained_physics_decode_times(const void *state, int64_t decodes, int64_t context,
                                           size_t count, int64_t *step_us) {
  enum { AT_ONCE = 64 };
  const trained_physics *m = state;
  count = count < AT_ONCE ? count : AT_ONCE;
  const double each = (double)decodes;
  const double first = (double)context;
  load last = {.requests = each, .decodes = each, .decode_context = first + each * (double)count};
  work w;
  if (last.decode_context > BLIS__EXACT_MAX || !merged_work(m, &last, 0.0, &w)) {
    return 0;
  }
  const decode_run run = {
      .decodes = each, .flops = m->merged.flops_per_token * each, .extra = extra_of(m, &last, &w)};
  if (interpolate(m, &run, first, count, step_us)) {
    return count;
  }
  /* The work is split into two loops, so that compilers can vectorize the first one. */
  double us[AT_ONCE];
  for (int i = 0; i < (int)count; i++) {
    us[i] = run_us(m, &run, first + each * (double)i);
  }
  for (size_t i = 0; i < count; i++) {
    step_us[i] = blis__step_us(us[i]);
  }
  return count;
}

static void trained_physics_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(trained_physics));
}

static const blis_latency_ops OPS = {
    .name = "trained-physics",
    .step_time = trained_physics_step_time,
    .step_time_from_sums = trained_physics_from_sums,
    .may_look_ahead = true,
    .decode_times = trained_physics_decode_times,
    .queueing_time = blis__alpha_constant_queueing,
    .output_token_time = blis__alpha_token_time,
    .fixed_overhead = blis__alpha_overhead,
    .free = trained_physics_free,
};

static double width_or(int64_t width, int64_t fallback) {
  return (double)(width > 0 ? width : fallback);
}

static void set_symbols(trained_physics *m, const blis_model_spec *model,
                        const blis_hardware_spec *hardware, const blis_parallelism *parallelism) {
  int64_t tp = parallelism->tp;
  int64_t dp = parallelism->dp;
  bool is_moe = blis_model_spec_is_moe(model);
  int64_t moe_layers;
  int64_t dense_layers;
  blis_model_spec_split_layers(model, &moe_layers, &dense_layers);
  int64_t head_dim = model->hidden_size / model->attention_heads;
  int64_t heads_per_gpu = model->attention_heads / tp;

  m->has_all_reduce = tp > 1;
  m->has_moe_all_reduce = tp > 1 && dp == 1 && is_moe;
  m->has_dispatch = dp > 1 && is_moe;
  m->layers = (double)model->layers;
  m->moe_layers = (double)moe_layers;
  m->dense_layers = (double)dense_layers;
  m->hidden = (double)model->hidden_size;
  m->head_dim = (double)head_dim;
  m->heads_per_gpu = (double)heads_per_gpu;
  m->qkvo_width = 2.0 * m->hidden + 2.0 * ((double)blis_model_spec_kv_heads(model) * m->head_dim);
  m->experts_per_token = model->experts_per_token > 1 ? (double)model->experts_per_token : 1.0;
  m->expert_ffn = width_or(model->expert_intermediate_size, model->intermediate_size);
  m->shared_ffn = (double)model->shared_expert_intermediate_size;
  m->dense_ffn = width_or(model->dense_intermediate_size, model->intermediate_size);
  m->bytes_per_param = model->bytes_per_param;
  m->dp = blis__divisor_of((double)dp);
  m->tp_dp = blis__divisor_of((double)(tp * dp));
  m->expert_gpus = is_moe ? m->tp_dp : blis__divisor_of((double)tp);
  m->ring_share = ((double)tp - 1.0) / (double)tp;
  m->flops_per_us = blis_hardware_spec_peak_tflops(hardware, model) * 1e6;
  m->bytes_per_us = hardware->bandwidth_tb_s * 1e6;
}

static double weight_bytes(const trained_physics *m, const blis_model_spec *model, double tp) {
  double width = blis_model_spec_weight_bytes(model);
  double attention = m->layers * m->hidden * m->qkvo_width * width / tp;
  double ffn = 0.0;
  if (m->moe_layers > 0.0) {
    ffn += m->moe_layers * ((double)model->experts / m->expert_gpus.value) * 3.0 * m->hidden *
           m->expert_ffn * width;
    ffn += m->moe_layers * 3.0 * m->hidden * m->shared_ffn * width / tp;
  }
  if (m->dense_layers > 0.0) {
    ffn += m->dense_layers * 3.0 * m->hidden * m->dense_ffn * width / tp;
  }
  return attention + ffn;
}

static void set_betas(trained_physics *m, const blis_coefficients *coefficients) {
  size_t count = coefficients->beta_count;
  for (size_t i = 0; i < BETA_COUNT; i++) {
    m->beta[i] = i < count ? coefficients->beta[i] : 0.0;
  }
  if (count <= DISPATCH) {
    m->beta[DISPATCH] = m->beta[COMMUNICATION];
  }
  m->is_positive = true;
  for (int i = 0; i < BETA_COUNT; i++) {
    m->is_positive = m->is_positive && m->beta[i] >= 0.0;
  }
  m->is_prefill_split = count > PREFILL_KV;
  m->is_decode_split = count > DECODE_KV;
}

static void set_constants(trained_physics *m, const blis_model_spec *model, double tp) {
  double kv_width = (double)blis_model_spec_kv_heads(model) * m->head_dim;
  bool is_interleaved = model->interleave_moe_layer_step > 0 && blis_model_spec_is_moe(model);
  m->twice_layers = m->layers * 2.0;
  m->kv_share = m->twice_layers * (kv_width / m->tp_dp.value);
  m->weight_us = m->beta[WEIGHTS] * (weight_bytes(m, model, tp) / m->bytes_per_us);
  m->layer_us = m->beta[LAYER] * m->layers;
  m->interleaved_us = m->beta[INTERLEAVED_LAYER] * (is_interleaved ? 1.0 : 0.0) * m->moe_layers;
  double flops_per_sum = 2.0 * m->heads_per_gpu * m->head_dim;
  m->attention_max = BLIS__EXACT_MAX / fmax(flops_per_sum, 1.0);
}

static void set_merged(trained_physics *m, double tp) {
  if (m->tp_dp.inverse == 0.0) {
    return; /* the limits are 0 */
  }
  double expert_flops = m->moe_layers * m->experts_per_token * 6.0 * m->hidden * m->expert_ffn;
  double shared_flops = m->moe_layers * 6.0 * m->hidden * m->shared_ffn;
  double dense_flops = m->dense_layers * 6.0 * m->hidden * m->dense_ffn;
  double flops =
      m->twice_layers * m->hidden * m->qkvo_width + expert_flops + shared_flops + dense_flops;
  double pair_flops = m->twice_layers * m->heads_per_gpu * m->head_dim;
  double reduced_bytes = m->hidden * m->bytes_per_param * 2.0 * m->ring_share;
  m->merged = (merged){
      .flops_per_token = flops * m->tp_dp.inverse,
      .flops_per_prefill = pair_flops * m->dp.inverse,
      .flops_per_context = pair_flops * 2.0 * m->dp.inverse,
      .flops_limit = fmax(flops, pair_flops * 2.0) < BLIS__EXACT_MAX
                         ? BLIS__EXACT_MAX / 2.0 * m->tp_dp.inverse
                         : 0.0,
      .reduced_bytes = reduced_bytes,
      .reduced_tokens_limit =
          blis__is_eighths(m->bytes_per_param)
              ? BLIS__EXACT_MAX / (m->layers * fmax(reduced_bytes, 1.0) * tp * 16.0)
              : 0.0,
  };
}

blis_status blis_trained_physics_new(const blis_alloc *alloc, const blis_model_spec *model,
                                     const blis_hardware_spec *hardware,
                                     const blis_parallelism *parallelism,
                                     const blis_coefficients *coefficients, blis_latency_model *out,
                                     blis_error *error) {
  BLIS_TRY(
      blis_coefficients_validate(coefficients, BLIS_TRAINED_PHYSICS_BETA_MIN, OPS.name, error));
  BLIS_TRY(blis__check_sizes(model, hardware, parallelism, true, " for trained-physics", error));
  blis_moe_comm comm;
  BLIS_TRY(blis_moe_comm_parse(parallelism->moe_comm_backend, &comm, error));
  trained_physics *m = blis_alloc_zeroed(alloc, 1, sizeof *m);
  BLIS_TRY_NEW(m, error);
  m->alpha = blis__alpha_from(coefficients);
  m->comm = comm;
  set_betas(m, coefficients);
  set_symbols(m, model, hardware, parallelism);
  set_constants(m, model, (double)parallelism->tp);
  set_merged(m, (double)parallelism->tp);
  *out = (blis_latency_model){.ops = &OPS, .state = m, .alloc = *alloc};
  return BLIS_OK;
}
