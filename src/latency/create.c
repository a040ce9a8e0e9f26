#include "latency/create.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "latency/step/blackbox.h"
#include "latency/step/calibrated.h"
#include "latency/step/piecewise.h"
#include "latency/step/roofline.h"
#include "latency/step/trained_physics.h"

typedef blis_status creator(const blis_alloc *alloc, const blis_latency_config *config,
                            blis_latency_model *out, blis_error *error);

static blis_status need(const char *kind, const char *what, const void *given, blis_error *error) {
  if (given == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s needs %s", kind, what);
  }
  return BLIS_OK;
}

static blis_status check_pairing(const blis_coefficients *c, blis_error *error) {
  if ((c->alpha_count == 0) != (c->beta_count == 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "alpha and beta coefficients (--alpha-coeffs, "
                     "--beta-coeffs) must be given together, got %zu alpha "
                     "and %zu beta",
                     c->alpha_count, c->beta_count);
  }
  return BLIS_OK;
}

static const char *kind_of(const blis_latency_config *config) {
  return config->kind == NULL ? BLIS_LATENCY_DEFAULT_KIND : config->kind;
}

blis_status blis_latency_coefficients(const blis_latency_config *config,
                                      blis_coefficients *coefficients,
                                      const blis_coverage **coverage, blis_error *error) {
  const char *kind = kind_of(config);
  *coverage = NULL;
  *coefficients = config->coefficients;
  BLIS_TRY(check_pairing(coefficients, error));
  if (coefficients->alpha_count > 0) {
    return BLIS_OK;
  }
  BLIS_TRY(need(kind, "alpha and beta coefficients", config->catalogue, error));
  blis_coefficients_key key = {
      .kind = kind,
      .model = config->model_id,
      .hardware = config->hardware == NULL ? NULL : config->hardware->name,
      .tp = config->parallelism.tp,
      .version = config->version,
  };
  const blis_catalogue_coefficients *found;
  BLIS_TRY(blis_catalogue_find_coefficients(config->catalogue, &key, &found, error));
  *coefficients = found->values;
  *coverage = found->has_coverage ? &found->coverage : NULL;
  for (size_t i = 0; i < coefficients->beta_count; i++) {
    if (coefficients->beta[i] != 0.0) {
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: the default beta coefficients from %s are all zero", kind, found->source);
}

static blis_status create_blackbox(const blis_alloc *alloc, const blis_latency_config *config,
                                   blis_latency_model *out, blis_error *error) {
  blis_coefficients coefficients;
  const blis_coverage *coverage;
  BLIS_TRY(blis_latency_coefficients(config, &coefficients, &coverage, error));
  return blis_blackbox_new(alloc, &coefficients, out, error);
}

/* What both models of spread experts need. */
static blis_status check_physical(const blis_latency_config *config, const char *kind,
                                  blis_error *error) {
  BLIS_TRY(need(kind, "a model with its dimensions", config->model, error));
  BLIS_TRY(need(kind, "the rates of a GPU", config->hardware, error));
  if (config->parallelism.expert_parallel && !blis_model_spec_is_moe(config->model)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "expert parallelism needs a mixture-of-experts model; "
                     "%s is dense",
                     config->model->name);
  }
  return BLIS_OK;
}

static blis_status create_calibrated(const blis_alloc *alloc, const blis_latency_config *config,
                                     blis_latency_model *out, blis_error *error) {
  BLIS_TRY(check_physical(config, "calibrated", error));
  blis_coefficients coefficients;
  const blis_coverage *coverage;
  BLIS_TRY(blis_latency_coefficients(config, &coefficients, &coverage, error));
  return blis_calibrated_new(alloc, config->model, config->hardware, &config->parallelism,
                             &coefficients, coverage, out, error);
}

static blis_status create_trained_physics(const blis_alloc *alloc,
                                          const blis_latency_config *config,
                                          blis_latency_model *out, blis_error *error) {
  BLIS_TRY(check_physical(config, "trained-physics", error));
  blis_coefficients coefficients;
  const blis_coverage *coverage;
  BLIS_TRY(blis_latency_coefficients(config, &coefficients, &coverage, error));
  return blis_trained_physics_new(alloc, config->model, config->hardware, &config->parallelism,
                                  &coefficients, out, error);
}

static blis_status create_roofline(const blis_alloc *alloc, const blis_latency_config *config,
                                   blis_latency_model *out, blis_error *error) {
  static const double NO_ALPHA[BLIS_ALPHA_COUNT] = {0.0, 0.0, 0.0};
  BLIS_TRY(need("roofline", "a model with its dimensions", config->model, error));
  BLIS_TRY(need("roofline", "the rates of a GPU", config->hardware, error));
  blis_coefficients coefficients = config->coefficients;
  if (coefficients.beta_count > 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "roofline takes no beta coefficients (--beta-coeffs), "
                     "got %zu",
                     coefficients.beta_count);
  }
  if (coefficients.alpha_count == 0) {
    coefficients.alpha = NO_ALPHA;
    coefficients.alpha_count = BLIS_ALPHA_COUNT;
  }
  return blis_roofline_new(alloc, config->model, config->hardware, config->parallelism.tp,
                           &coefficients, out, error);
}

static blis_status create_piecewise(const blis_alloc *alloc, const blis_latency_config *config,
                                    blis_latency_model *out, blis_error *error) {
  blis_piecewise_params params = blis_piecewise_defaults();
  const double *beta = config->coefficients.beta;
  size_t count = config->coefficients.beta_count;
  if (config->coefficients.alpha_count > 0 || (count != 0 && count != 4)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "piecewise takes no alpha and 4 beta coefficients, got "
                     "%zu and %zu",
                     config->coefficients.alpha_count, count);
  }
  if (count == 4) {
    params.prefill_tokens_per_sec = beta[0];
    params.decode_tokens_per_sec_batch1 = beta[1];
    params.decode_saturation_batch = beta[2];
    params.decode_tokens_per_sec_saturated = beta[3];
  }
  params.whole_milliseconds = config->whole_milliseconds;
  return blis_piecewise_new(alloc, &params, out, error);
}

static blis_status find_creator(const char *kind, creator **create, blis_error *error) {
  static const struct {
    const char *kind;
    creator *create;
  } CREATORS[] = {
      {"trained-physics", create_trained_physics},
      {"calibrated", create_calibrated},
      {"roofline", create_roofline},
      {"blackbox", create_blackbox},
      {"piecewise", create_piecewise},
      {"routesim", create_piecewise},
  };
  blis_nearest nearest = {.wanted = kind};
  for (size_t i = 0; i < sizeof CREATORS / sizeof *CREATORS; i++) {
    if (strcmp(kind, CREATORS[i].kind) == 0) {
      *create = CREATORS[i].create;
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, CREATORS[i].kind);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "unknown latency model '%.60s'%s", kind,
                   blis_nearest_suggest(&nearest).text);
}

static bool has_backend(const blis_parallelism *parallelism) {
  return parallelism->moe_comm_backend != NULL && parallelism->moe_comm_backend[0] != '\0';
}

static blis_status check_other_parallelism(const char *kind, const blis_parallelism *parallelism,
                                           blis_error *error) {
  if (parallelism->dp > 1 || parallelism->expert_parallel || has_backend(parallelism)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s does not support dp above 1, expert parallelism or a MoE "
                     "communication backend; use trained-physics or calibrated",
                     kind);
  }
  return BLIS_OK;
}

blis_status blis_latency_create(const blis_alloc *alloc, const blis_latency_config *config,
                                blis_latency_model *out, blis_error *error) {
  const char *kind = kind_of(config);
  creator *create = NULL;
  BLIS_TRY(find_creator(kind, &create, error));
  BLIS_TRY(blis_parallelism_validate(&config->parallelism, error));
  if (create != create_trained_physics && create != create_calibrated) {
    BLIS_TRY(check_other_parallelism(kind, &config->parallelism, error));
  }
  return create(alloc, config, out, error);
}

typedef struct warner {
  void (*warn)(void *ud, const char *text);
  void *ud;
} warner;

BLIS_PRINTF(2, 3)
static void say(const warner *w, const char *format, ...) {
  char text[320];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  w->warn(w->ud, text);
}

static void warn_of_model(const warner *w, const blis_model_spec *model, bool is_calibrated,
                          int64_t tp) {
  if (model->kv_lora_rank > 0) {
    say(w, "%s uses latent attention (MLA): %s", model->name,
        is_calibrated ? "its step times have not been validated" : "step times are pessimistic");
  }
  if (model->experts_unknown) {
    say(w,
        "%s uses experts, but their number is not stated: step times are "
        "those of a dense model",
        model->name);
  }
  if (model->quantization[0] != '\0' && model->weight_bytes_per_param == 0.0) {
    say(w, "%s: unknown quantization '%s'; assuming %g bytes per weight", model->name,
        model->quantization, model->bytes_per_param);
  }
  if (model->weight_bytes_per_param > model->bytes_per_param) {
    say(w, "%s: weights of %g bytes are wider than its compute type (%g)", model->name,
        model->weight_bytes_per_param, model->bytes_per_param);
  }
  if (model->kv_lora_rank == 0 && blis_model_spec_kv_heads(model) < tp) {
    say(w,
        "%s has %" PRId64 " KV heads for TP %" PRId64
        ": their replication is not modelled, so bytes per token are too low",
        model->name, blis_model_spec_kv_heads(model), tp);
  }
}

void blis_latency_warnings(const blis_latency_config *config,
                           void (*warn)(void *ud, const char *text), void *ud) {
  const warner w = {warn, ud};
  const blis_model_spec *model = config->model;
  if (model == NULL) {
    return;
  }
  bool is_calibrated = strcmp(kind_of(config), "calibrated") == 0;
  warn_of_model(&w, model, is_calibrated, config->parallelism.tp);
  if (has_backend(&config->parallelism) &&
      (config->parallelism.dp == 1 || !blis_model_spec_is_moe(model))) {
    say(&w, "the MoE communication backend has no effect %s",
        config->parallelism.dp == 1 ? "with dp 1" : "on a dense model");
  }
}
