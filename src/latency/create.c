#include "latency/create.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "latency/composed/composed.h"
#include "latency/composed/links.h"
#include "latency/composed/overlay.h"
#include "latency/composed/shard.h"
#include "latency/layers/totals.h"
#include "latency/model/layered_spec.h"
#include "latency/step/blackbox.h"
#include "latency/step/calibrated.h"
#include "latency/step/piecewise.h"
#include "latency/step/roofline.h"
#include "latency/step/sizes_check.h"
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

/* Checks the requirements that trained-physics and calibrated share. */
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

/* Computes the work of one GPU of the instance for the layers of a model. */
static blis_status layered_work(const blis_alloc *alloc, const blis_parallelism *parallelism,
                                const blis_layered_model *model, blis__step_work *work,
                                blis_error *error) {
  const blis__sharding sharding = {
      .runs = model->runs,
      .run_count = model->run_count,
      .hidden_size = model->hidden_size,
      .vocab_size = model->vocabulary,
      .widths = blis_layered_widths(model),
      .tp = parallelism->tp,
      .replicas = parallelism->dp,
      .has_expert_parallel = parallelism->expert_parallel,
  };
  return blis__work_new(alloc, &sharding, work, error);
}

/*
 * Computes the work for the listed layers of the model, or for identical layers with the sizes of
 * its description.
 */
static blis_status composed_work(const blis_alloc *alloc, const blis_latency_config *config,
                                 blis__step_work *work, blis_error *error) {
  if (config->layered != NULL) {
    return layered_work(alloc, &config->parallelism, config->layered, work, error);
  }
  blis_layered_model equal;
  BLIS_TRY(blis_model_spec_expand(alloc, config->model, &equal, error));
  blis_status status = layered_work(alloc, &config->parallelism, &equal, work, error);
  blis_layered_model_free(&equal);
  return status;
}

static bool has_fp8_kv(const blis_latency_config *config) {
  return config->layered != NULL && config->layered->kv_bytes > 0 &&
         config->layered->kv_bytes < config->layered->model_bytes;
}

/* Returns the constants of the GPU, including those that differ when kernel tables are in use. */
static const blis__gpu_constants *gpu_constants(const blis_latency_config *config) {
  const blis__gpu_constants *constants = config->composed.constants;
  bool has_other = config->composed.uses_tables && constants->with_tables != NULL;
  return has_other ? constants->with_tables : constants;
}

static void set_links(const blis_latency_config *config, bool has_experts,
                      blis__composed_constants *constants) {
  const blis_hardware_spec *hardware = config->hardware;
  const blis__gpu_constants *of_gpu = gpu_constants(config);
  const blis__links links = {
      .gpu = hardware->name,
      .link = hardware->link,
      .link_gb_s = hardware->link_gb_s,
      .own = &config->composed.own_tables,
      .shipped = &config->composed.shipped_tables,
      .rows_of = of_gpu->allreduce_of,
      .factor = of_gpu->allreduce_factor,
      .is_fused = of_gpu->fuses_dense_reduces > 0 && !has_experts,
  };
  const blis_parallelism *parallelism = &config->parallelism;
  constants->allreduce = blis__links_allreduce(&links, parallelism->tp);
  constants->exchange = blis__links_allreduce(&links, parallelism->tp * parallelism->dp);
}

static blis__composed_constants composed_constants(const blis_latency_config *config,
                                                   const blis__step_work *work) {
  const blis_hardware_spec *hardware = config->hardware;
  const blis__composed_class class = {
      .attention = blis__work_attention_kind(work),
      .mlp = blis__work_mlp_kind(work),
      .has_experts = work->has_experts,
      .has_fp8_kv = has_fp8_kv(config),
      .engine_scale = config->composed.engine_scale,
      .backend_number = config->composed.backend_number,
  };
  blis__composed_constants constants;
  (void)blis__composed_constants_of(gpu_constants(config), &class, hardware->peak_tflops,
                                    hardware->bandwidth_tb_s, &constants);
  set_links(config, work->has_experts, &constants);
  return constants;
}

/* Adds the places of a set of tables: rows of the GPU first, then rows of similar GPUs. */
static size_t add_places(const blis_latency_config *config, const blis__kernel_tables *tables,
                         const blis__measured_gpu *gpu, blis__measured_place *places,
                         size_t count) {
  const blis__gpu_constants *of_gpu = gpu_constants(config);
  places[count++] = (blis__measured_place){tables, *gpu};
  for (size_t i = 0; i < of_gpu->kernels_of_count; i++) {
    places[count++] = (blis__measured_place){tables, of_gpu->kernels_of[i]};
  }
  return count;
}

/* Creates the overlay of kernel tables, which the caller frees; NULL without tables. */
static blis_status new_overlay(const blis_alloc *alloc, const blis_latency_config *config,
                               const blis__composed_setup *setup, blis__overlay **out,
                               blis_error *error) {
  *out = NULL;
  if (!config->composed.uses_tables) {
    return BLIS_OK;
  }
  const blis__measured_gpu gpu = {config->hardware->name, setup->constants.bandwidth,
                                  setup->constants.peak};
  blis__measured_place places[BLIS__MEASURED_PLACES_MAX];
  size_t count = add_places(config, &config->composed.own_tables, &gpu, places, 0);
  count = add_places(config, &config->composed.shipped_tables, &gpu, places, count);
  blis__overlay *overlay = blis__overlay_new(alloc, places, count);
  if (overlay == NULL ||
      blis__step_parts_look_up(&setup->work, &setup->constants, overlay) != BLIS_OK) {
    blis__overlay_free(overlay);
    return blis_fail_nomem(error);
  }
  *out = overlay;
  return BLIS_OK;
}

static blis_status check_layered(const blis_latency_config *config, blis_error *error) {
  const blis_parallelism *parallelism = &config->parallelism;
  BLIS_TRY(blis_layered_check_tp(config->layered, parallelism->tp, error));
  bool needs_experts = parallelism->dp > 1 || parallelism->expert_parallel;
  if (needs_experts && !blis_layered_model_has_experts(config->layered)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "dp above 1 and expert parallelism need a mixture-of-experts model; "
                     "%s is dense",
                     config->layered->name);
  }
  return BLIS_OK;
}

static blis_status check_composed(const blis_latency_config *config, blis_error *error) {
  BLIS_TRY(need("composed", "the rates of a GPU", config->hardware, error));
  if (config->layered != NULL) {
    BLIS_TRY(blis__check_rates(config->hardware, error));
    BLIS_TRY(check_layered(config, error));
  } else {
    BLIS_TRY(check_physical(config, "composed", error));
    BLIS_TRY(
        blis__check_sizes(config->model, config->hardware, &config->parallelism, false, "", error));
  }
  if (config->coefficients.alpha_count > 0 || config->coefficients.beta_count > 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "composed takes no alpha and no beta coefficients, got %zu and %zu",
                     config->coefficients.alpha_count, config->coefficients.beta_count);
  }
  if (config->composed.constants == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "composed: no constants for %s",
                     config->hardware->name);
  }
  return BLIS_OK;
}

static void free_setup(const blis_alloc *alloc, blis__composed_setup *setup,
                       blis__overlay *overlay) {
  blis__overlay_free(overlay);
  blis__work_free(alloc, &setup->work);
}

/* Creates the setup of the composed model without an overlay. Free it with free_setup. */
static blis_status plain_setup(const blis_alloc *alloc, const blis_latency_config *config,
                               blis__composed_setup *setup, blis_error *error) {
  BLIS_TRY(check_composed(config, error));
  const blis_composed_config *given = &config->composed;
  *setup = (blis__composed_setup){
      .host = blis__host_of(given->is_async, config->parallelism.tp),
      .tokens_max = given->tokens_max > 0 ? given->tokens_max : 8192,
      .requests_max = given->requests_max > 0 ? given->requests_max : 1024,
  };
  BLIS_TRY(composed_work(alloc, config, &setup->work, error));
  setup->constants = composed_constants(config, &setup->work);
  return BLIS_OK;
}

/* Creates the setup of the composed model and the overlay that it borrows. */
static blis_status composed_setup(const blis_alloc *alloc, const blis_latency_config *config,
                                  blis__composed_setup *setup, blis__overlay **overlay,
                                  blis_error *error) {
  BLIS_TRY(plain_setup(alloc, config, setup, error));
  blis_status status = new_overlay(alloc, config, setup, overlay, error);
  if (status != BLIS_OK) {
    free_setup(alloc, setup, NULL);
    return status;
  }
  setup->constants.overlay = *overlay;
  return BLIS_OK;
}

static uint64_t hash_of_texts(const blis__kernel_tables *tables, uint64_t hash) {
  for (size_t i = 0; i < BLIS__TABLE_COUNT; i++) {
    hash = blis_hash64(tables->texts[i].data, tables->texts[i].length, hash);
  }
  return hash;
}

/* Returns a hash of everything that determines an overlay in addition to the setup; 0 without an
   overlay. */
static uint64_t hash_of_tables(const blis_latency_config *config) {
  const blis_composed_config *given = &config->composed;
  if (!given->uses_tables) {
    return 0;
  }
  const blis__gpu_constants *of_gpu = gpu_constants(config);
  uint64_t hash = blis_hash64(config->hardware->name, strlen(config->hardware->name), 1);
  for (size_t i = 0; i < of_gpu->kernels_of_count; i++) {
    const blis__measured_gpu *gpu = &of_gpu->kernels_of[i];
    const double rates[] = {gpu->bandwidth, gpu->peak};
    hash = blis_hash64(gpu->name, strlen(gpu->name), hash);
    hash = blis_hash64(rates, sizeof rates, hash);
  }
  return hash_of_texts(&given->shipped_tables, hash_of_texts(&given->own_tables, hash));
}

static blis_status new_composed(const blis_alloc *alloc, const blis_latency_config *config,
                                blis__composed_setup *setup, blis_latency_model *out,
                                blis_error *error) {
  blis__overlay *overlay = NULL;
  BLIS_TRY(new_overlay(alloc, config, setup, &overlay, error));
  setup->constants.overlay = overlay;
  blis_status status = blis__composed_new(alloc, setup, out, error);
  blis__overlay_free(overlay);
  return status;
}

static blis_status create_composed(const blis_alloc *alloc, const blis_latency_config *config,
                                   blis_latency_model *out, blis_error *error) {
  blis__composed_setup setup;
  BLIS_TRY(plain_setup(alloc, config, &setup, error));
  blis_step_cache *cache = config->composed.cache;
  const uint64_t hash = blis__setup_hash(&setup, hash_of_tables(config));
  const void *state = blis__step_cache_find(cache, hash);
  blis_status status = state != NULL ? blis__composed_copy(alloc, state, out, error)
                                     : new_composed(alloc, config, &setup, out, error);
  if (status == BLIS_OK && state == NULL) {
    blis__step_cache_keep(cache, hash, out);
  }
  free_setup(alloc, &setup, NULL);
  return status;
}

static bool has_usual_attention(const blis__step_work *work) {
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    if (run->kv_heads == 0 || run->latent_flops > 0 || run->state_bytes > 0 ||
        run->index_bytes > 0) {
      return false;
    }
  }
  return true;
}

/* Bytes of an element of the KV cache. */
static double kv_bytes(const blis_latency_config *config) {
  const blis_layered_model *layered = config->layered;
  if (layered == NULL) {
    return 2;
  }
  return layered->kv_bytes > 0 ? layered->kv_bytes : layered->model_bytes;
}

blis_status blis_latency_regime(const blis_alloc *alloc, const blis_latency_config *config,
                                blis_step_regime *regime, blis_error *error) {
  blis__step_work work = {0};
  BLIS_TRY(composed_work(alloc, config, &work, error));
  double layers = 0;
  for (size_t i = 0; i < work.run_count; i++) {
    layers += work.runs[i].count;
  }
  *regime = (blis_step_regime){
      .weights = blis__table_format_name(blis__work_mlp_kind(&work)),
      .has_experts = work.has_experts,
      .has_usual_attention = has_usual_attention(&work),
      .is_async = config->composed.is_async,
      .layers = (int64_t)layers,
      .hidden_size = (int64_t)work.hidden,
      .kv_bits = 8 * kv_bytes(config),
  };
  blis__work_free(alloc, &work);
  return BLIS_OK;
}

/*
 * Divides the model's time for the layers in proportion to the kernel times at exactly this number
 * of tokens.
 */
static blis_step_parts parts_of(const blis__composed_setup *setup, const blis_latency_model *model,
                                const blis_batch_sums *sums) {
  const blis__step_breakdown all = blis__composed_parts(model, sums);
  double tokens = (double)sums->prefill_tokens + (double)sums->decode_requests;
  const blis__layer_parts layers = blis__layer_parts_of(&setup->work, &setup->constants, tokens);
  double sum = layers.products_us + layers.experts_us + layers.links_us + layers.other_us;
  double share = sum > 0 ? all.layers_us / sum : 0;
  return (blis_step_parts){
      .products_us = share * layers.products_us + all.head_us,
      .experts_us = share * layers.experts_us,
      .attention_us = all.decode_attention_us + all.prefill_attention_us,
      .links_us = share * layers.links_us,
      .other_us = share * layers.other_us + all.sampling_us + all.step_us,
      .host_us = all.host_us,
      .total_us = all.total_us,
  };
}

blis_status blis_latency_step_parts(const blis_alloc *alloc, const blis_latency_config *config,
                                    const blis_batch_sums *sums, blis_step_parts *parts,
                                    blis_error *error) {
  blis__composed_setup setup;
  blis__overlay *overlay = NULL;
  blis_latency_model model = {0};
  BLIS_TRY(blis_parallelism_validate(&config->parallelism, error));
  BLIS_TRY(composed_setup(alloc, config, &setup, &overlay, error));
  blis_status status = blis__composed_new(alloc, &setup, &model, error);
  if (status == BLIS_OK) {
    *parts = parts_of(&setup, &model, sums);
  }
  blis_latency_free(&model);
  free_setup(alloc, &setup, overlay);
  return status;
}

static blis_kernel_use kernel_use_of(const blis__overlay_entry *entry) {
  static const char *const SOURCES[] = {
      [BLIS__SOURCE_CLOSED_FORM] = "closed form",
      [BLIS__SOURCE_NEAR] = "near",
      [BLIS__SOURCE_MEASURED] = "measured",
  };
  return (blis_kernel_use){
      .is_experts = entry->is_experts,
      .format = blis__table_format_name(entry->format),
      .shape = entry->key,
      .shape_count = entry->is_experts ? 5 : 2,
      .source = SOURCES[entry->source],
      .gpu = entry->gpu,
      .nearest = entry->nearest,
      .weight = entry->weight,
  };
}

blis_status blis_latency_kernels(const blis_alloc *alloc, const blis_latency_config *config,
                                 void (*show)(void *ud, const blis_kernel_use *use), void *ud,
                                 blis_error *error) {
  blis__composed_setup setup;
  blis__overlay *overlay = NULL;
  BLIS_TRY(blis_parallelism_validate(&config->parallelism, error));
  BLIS_TRY(composed_setup(alloc, config, &setup, &overlay, error));
  for (size_t i = 0; i < blis__overlay_count(overlay); i++) {
    const blis_kernel_use use = kernel_use_of(blis__overlay_at(overlay, i));
    show(ud, &use);
  }
  free_setup(alloc, &setup, overlay);
  return BLIS_OK;
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
      {"composed", create_composed},
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
                     "communication backend; use trained-physics, calibrated, or composed",
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
  if (create != create_trained_physics && create != create_calibrated &&
      create != create_composed) {
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

static void warn_of_model(const warner *w, const blis_model_spec *model, const char *kind,
                          int64_t tp) {
  bool is_composed = strcmp(kind, "composed") == 0;
  bool is_calibrated = is_composed || strcmp(kind, "calibrated") == 0;
  /* Results of `composed` state the basis of their error. */
  if (model->kv_lora_rank > 0 && !is_composed) {
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
  if (!model->counts_as_built && !is_composed && model->kv_lora_rank == 0 &&
      blis_model_spec_kv_heads(model) < tp) {
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
  warn_of_model(&w, model, kind_of(config), config->parallelism.tp);
  if (has_backend(&config->parallelism) &&
      (config->parallelism.dp == 1 || !blis_model_spec_is_moe(model))) {
    say(&w, "the MoE communication backend has no effect %s",
        config->parallelism.dp == 1 ? "with dp 1" : "on a dense model");
  }
}
