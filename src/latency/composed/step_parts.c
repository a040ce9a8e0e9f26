#include "latency/composed/step_parts.h"

#include <math.h>

#include "latency/composed/portable.h"

/* Bytes per weight, including scales, that were used when the kernels were fitted. */
static const double WEIGHT_BYTES[BLIS_KIND_COUNT] = {
    [BLIS_KIND_MODEL] = 2,       [BLIS_KIND_FP8] = 1,        [BLIS_KIND_FP8_BLOCK] = 1,
    [BLIS_KIND_INT8] = 1,        [BLIS_KIND_MXFP8] = 1,      [BLIS_KIND_NVFP4] = 0.5625,
    [BLIS_KIND_MXFP4] = 0.53125, [BLIS_KIND_INT4] = 0.53125,
};

/*
 * Returns the bytes of an activation that a product reads: the size of a weight, except for NVFP4.
 */
static double input_bytes(blis_weight_kind kind) {
  return kind == BLIS_KIND_NVFP4 ? 2 : WEIGHT_BYTES[kind];
}

/* A step of at most DECODE_TOKENS counts as decoding, one of at least PREFILL_TOKENS as prefill. */
#define DECODE_TOKENS 64.0
#define PREFILL_TOKENS 2048.0

/* CUDA graphs cover steps of up to this many tokens. */
#define GRAPH_TOKENS 512.0

#define LOGIT_BYTES 4.0
#define KV_HEADS_MAX 8.0

static blis__kernel_rates rates_of(const blis__composed_constants *c, blis_weight_kind format,
                                   double slowdown) {
  return (blis__kernel_rates){.bandwidth = c->bandwidth / slowdown,
                              .peak = c->peak * c->product_speedup[format] / slowdown,
                              .weight_bytes = WEIGHT_BYTES[format],
                              .activation_bytes = input_bytes(format)};
}

static double matrix_us(const blis__composed_constants *c, const blis__matrix *matrix,
                        double tokens) {
  blis__kernel_rates rates = rates_of(c, matrix->format, 1);
  return blis__product_us(&c->products[matrix->format], &rates, tokens, matrix->n, matrix->k) *
         blis__overlay_product(c->overlay, matrix->format, matrix->n, matrix->k, tokens);
}

static double matrices_us(const blis__composed_constants *c, const blis__matrix *matrices,
                          size_t count, double tokens) {
  double us = 0;
  for (size_t i = 0; i < count; i++) {
    us += matrix_us(c, &matrices[i], tokens);
  }
  return us;
}

static blis__matrix router_of(const blis__step_work *work, const blis__layer_work *run) {
  return (blis__matrix){run->experts.experts, work->hidden, BLIS_KIND_MODEL};
}

static double routed_us(const blis__step_work *work, const blis__composed_constants *c,
                        const blis__layer_work *run, double tokens) {
  blis_weight_kind format = run->expert_format;
  blis__kernel_rates rates = rates_of(c, c->expert_kind[format], c->expert_slowdown[format]);
  const blis__matrix router = router_of(work, run);
  double experts =
      blis__experts_us(&c->experts[format], &rates, &run->experts, tokens, c->expert_balance) *
      blis__overlay_experts(c->overlay, c->expert_kind[format], &run->experts, tokens);
  return experts + c->router_share * matrix_us(c, &router, tokens);
}

static double elementwise_us(const blis__step_work *work, const blis__composed_constants *c,
                             const blis__layer_work *run, double tokens) {
  double width = 8 * work->hidden + 2 * (run->query_width + 2 * run->kv_width) + 3 * run->mlp_width;
  return 2 * tokens * width / (c->elementwise_efficiency * c->bandwidth);
}

static double links_us(const blis__step_work *work, const blis__composed_constants *c,
                       const blis__layer_work *run, double tokens) {
  double bytes = tokens * work->hidden * work->activation_bytes;
  double us = 0;
  if (run->is_sharded) {
    us += 2 * (blis__allreduce_us(&c->allreduce, bytes / work->replicas) + c->reduce_us);
  }
  if (work->replicas > 1 && run->experts.experts > 0) {
    us += blis__allreduce_us(&c->exchange, bytes) + c->reduce_us;
  }
  return us;
}

static void add_run(blis__layer_parts *sum, const blis__step_work *work,
                    const blis__composed_constants *c, const blis__layer_work *run, double tokens) {
  double own = tokens / work->replicas;
  double products = matrices_us(c, run->attention, run->attention_count, own) +
                    matrices_us(c, run->mlp, run->mlp_count, own);
  double other = c->layer_us + elementwise_us(work, c, run, own) +
                 (work->has_experts ? c->expert_layer_us : 0);
  sum->products_us += run->count * products;
  sum->experts_us += run->experts.experts > 0 ? run->count * routed_us(work, c, run, tokens) : 0;
  sum->links_us += run->count * links_us(work, c, run, tokens);
  sum->other_us += run->count * other;
}

static double scale_of(const blis__scales *scales, double tokens) {
  if (tokens <= DECODE_TOKENS) {
    return scales->decode;
  }
  if (tokens >= PREFILL_TOKENS) {
    return scales->prefill;
  }
  double place = blis__portable_log(tokens / DECODE_TOKENS) /
                 blis__portable_log(PREFILL_TOKENS / DECODE_TOKENS);
  return scales->decode + (scales->prefill - scales->decode) * place;
}

static double sum_of(const blis__layer_parts *parts) {
  return parts->products_us + parts->experts_us + parts->links_us + parts->other_us;
}

blis__layer_parts blis__layer_parts_of(const blis__step_work *work,
                                       const blis__composed_constants *constants, double tokens) {
  blis__layer_parts parts = {0};
  double layers = 0;
  for (size_t i = 0; i < work->run_count; i++) {
    add_run(&parts, work, constants, &work->runs[i], tokens);
    layers += work->runs[i].count;
  }
  double scale = scale_of(&constants->scales, tokens) * constants->engine_scale;
  parts.products_us *= scale;
  parts.experts_us *= scale;
  parts.links_us *= scale;
  parts.other_us *= scale;
  if (tokens > GRAPH_TOKENS) {
    parts.other_us += fmax(0, layers * constants->launch_bound_us - sum_of(&parts));
  }
  return parts;
}

double blis__layers_us(const blis__step_work *work, const blis__composed_constants *constants,
                       double tokens) {
  const blis__layer_parts parts = blis__layer_parts_of(work, constants, tokens);
  return sum_of(&parts);
}

static blis__matrix head_of(const blis__step_work *work) {
  return (blis__matrix){work->head_width, work->hidden, BLIS_KIND_MODEL};
}

double blis__head_us(const blis__step_work *work, const blis__composed_constants *constants,
                     double requests) {
  const blis__matrix head = head_of(work);
  return matrix_us(constants, &head, requests / work->replicas);
}

double blis__sampling_us(const blis__step_work *work, const blis__composed_constants *constants) {
  return constants->sampling_reads * LOGIT_BYTES * work->vocabulary / constants->bandwidth /
         work->replicas;
}

static bool has_cache(const blis__layer_work *run) {
  return run->kv_heads > 0;
}

static double context_us(const blis__step_work *work, const blis__composed_constants *c,
                         const blis__layer_work *run) {
  double read = run->kv_bytes / (c->bandwidth * c->kv_efficiency);
  double computed = run->latent_flops / (c->latent_efficiency * c->peak);
  return run->count * fmax(read, computed) / work->replicas;
}

blis__decode_attention blis__decode_attention_of(const blis__step_work *work,
                                                 const blis__composed_constants *constants) {
  const blis__composed_constants *c = constants;
  blis__decode_attention sum = {0};
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    double layers = run->count / work->replicas; /* per request of any replica */
    sum.each_us += layers * run->state_bytes / c->bandwidth;
    if (run->state_bytes > 0 && !has_cache(run)) {
      sum.fixed_us += run->count * c->attention_us;
    }
    if (has_cache(run)) {
      sum.fixed_us += run->count * c->attention_us;
      sum.each_us += layers * c->attention_head_us * fmin(run->kv_heads, KV_HEADS_MAX);
      sum.context_us += layers * run->index_bytes / (c->bandwidth * c->kv_efficiency);
      sum.context_us += run->window > 0 ? 0 : context_us(work, c, run);
    }
  }
  return sum;
}

double blis__window_context_us(const blis__step_work *work,
                               const blis__composed_constants *constants, double window) {
  double us = 0;
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    us += has_cache(run) && run->window == window ? context_us(work, constants, run) : 0;
  }
  return us;
}

blis__prefill_attention blis__prefill_attention_of(const blis__step_work *work,
                                                   const blis__composed_constants *constants) {
  const blis__composed_constants *c = constants;
  const double flops_us = c->peak * c->prefill_efficiency;
  blis__prefill_attention sum = {0};
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    double u = run->prefill_width / work->replicas;
    sum.fixed_us += run->count * c->prefill_layer_us;
    sum.token_us += run->count * u * c->prefill_bytes / c->bandwidth;
    if (has_cache(run) && run->window > 0) {
      sum.token_us += run->count * 6 * u * run->window / flops_us;
    } else if (has_cache(run)) {
      sum.pair_us += run->count * 4 * u / flops_us;
    }
  }
  return sum;
}

static blis_status look_up_products(const blis__composed_constants *c, const blis__matrix *matrices,
                                    size_t count, blis__overlay *overlay) {
  for (size_t i = 0; i < count; i++) {
    const blis__matrix *m = &matrices[i];
    const blis__kernel_rates rates = rates_of(c, m->format, 1);
    BLIS_TRY(blis__overlay_add_product(overlay, m->format, &c->products[m->format], &rates, c->peak,
                                       m->n, m->k));
  }
  return BLIS_OK;
}

static blis_status look_up_experts(const blis__step_work *work, const blis__composed_constants *c,
                                   const blis__layer_work *run, blis__overlay *overlay) {
  blis_weight_kind kernel = c->expert_kind[run->expert_format];
  const blis__kernel_rates rates = rates_of(c, kernel, 1);
  const blis__matrix router = router_of(work, run);
  BLIS_TRY(look_up_products(c, &router, 1, overlay));
  return blis__overlay_add_experts(overlay, kernel, &c->experts[run->expert_format], &rates,
                                   c->peak, &run->experts, c->expert_balance);
}

blis_status blis__step_parts_look_up(const blis__step_work *work,
                                     const blis__composed_constants *constants,
                                     blis__overlay *overlay) {
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    BLIS_TRY(look_up_products(constants, run->attention, run->attention_count, overlay));
    BLIS_TRY(look_up_products(constants, run->mlp, run->mlp_count, overlay));
    if (run->experts.experts > 0) {
      BLIS_TRY(look_up_experts(work, constants, run, overlay));
    }
  }
  const blis__matrix head = head_of(work);
  return look_up_products(constants, &head, 1, overlay);
}
