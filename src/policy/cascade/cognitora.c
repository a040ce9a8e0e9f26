/*
 * cognitora.c - accepts an answer if the mean log-probability of its tokens reaches a threshold
 * (Cognitora, KV-aware scoring deep dive; 89f555a).
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/entry.h"
#include "policy/contract/facts.h"

/* Quality of the answers of a model. */
typedef struct quality {
  const char *model;
  double mean_logprob; /* NAN = unknown */
  double std_dev;
} quality;

typedef struct cognitora {
  blis_arena arena; /* owns the memory of all members below */
  double threshold;
  int64_t seed;
  quality *qualities;
  size_t quality_count;
  blis_cascade_chain *chains;
  size_t chain_count;
} cognitora;

static const blis_param_spec specs[] = {
    BLIS__BOOLEAN("enabled", 1, "false: every request uses its own model only"),
    BLIS__TEXTS("chain", "models in the order of use, for requests whose model "
                         "has no chain of its own"),
    BLIS__TEXT_LISTS("chains", "chains by requested model; an empty one means that model only"),
    BLIS__NUMBER("confidence_threshold", -1e9, 1e9, -1.5, "",
                 "mean log-probability below which the next model is used",
                 BLIS__INTO(cognitora, threshold)),
    BLIS__TABLE("mean_logprob", -1e9, 1e9, "",
                "by model: mean log-probability of its answers, for requests "
                "without one of their own; if missing it follows from the "
                "length, as in Cognitora's program"),
    BLIS__TABLE("logprob_std_dev", 0, 1e9, "",
                "by model: standard deviation around mean_logprob; samples are "
                "at most 0"),
};

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  cognitora *self = state;
  blis_arena_deinit(&self->arena);
}

static blis__model_search find_quality(const cognitora *self, const char *model) {
  blis__model_search search = {.wanted = model};
  for (size_t i = 0; i < self->quality_count; i++) {
    blis__model_search_offer(&search, self->qualities[i].model, (uint32_t)i);
  }
  return search;
}

static blis_status answer(void *state, const blis_routing_request *request, int64_t output_tokens,
                          int64_t now_us, blis_cascade_answer *answer, blis_error *error) {
  (void)output_tokens, (void)now_us;
  const cognitora *self = state;
  const blis__model_search search =
      find_quality(self, blis_intern_text(request->strings, request->model));
  if (search.other != NULL) {
    return blis__model_search_fail(&search, "cascade cognitora.cascade: mean_logprob", error);
  }
  if (search.found == NULL) {
    return BLIS_OK;
  }
  const quality *known = &self->qualities[search.number];
  answer->mean_logprob = known->mean_logprob;
  if (known->std_dev > 0) {
    blis_random random;
    blis_cascade_random(&random, self->seed, request);
    double drawn = known->mean_logprob + known->std_dev * blis_random_normal(&random);
    answer->mean_logprob = fmin(drawn, 0);
  }
  return BLIS_OK;
}

static blis_status escalates(void *state, const blis_routing_request *request,
                             const blis_cascade_attempt *attempt, int64_t now_us, bool *escalates,
                             uint32_t *next, blis_error *error) {
  (void)request, (void)now_us, (void)next, (void)error;
  const cognitora *self = state;
  *escalates = attempt->output_tokens == 0 || attempt->mean_logprob < self->threshold;
  return BLIS_OK;
}

static const blis_cascade_ops ops = {.answer = answer, .escalates = escalates, .free = free_state};

/* Construction. */

static const char *keep_text(cognitora *self, const char *text) {
  return blis_arena_text(&self->arena, text, strlen(text));
}

static bool is_same_key(const blis_param *a, const blis_param *b) {
  return strcmp(a->name, b->name) == 0 &&
         (a->key == b->key || (a->key != NULL && b->key != NULL && strcmp(a->key, b->key) == 0));
}

/* Stores the items of one list, of which this is the first. */
static blis_status keep_models(cognitora *self, const blis_params *params, size_t first,
                               blis_cascade_chain *chain) {
  const char **models = blis_arena_new(&self->arena, params->count * sizeof *models);
  if (models == NULL) {
    return BLIS_ERR_NOMEM;
  }
  chain->models = models;
  for (size_t i = first; i < params->count; i++) {
    const blis_param *item = &params->items[i];
    if (!is_same_key(item, &params->items[first]) || item->text[0] == '\0') {
      continue; /* belongs to another list, or marks an empty list */
    }
    models[chain->count] = keep_text(self, item->text);
    if (models[chain->count++] == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  return BLIS_OK;
}

static bool is_first_item(const blis_params *params, size_t index) {
  for (size_t i = 0; i < index; i++) {
    if (is_same_key(&params->items[i], &params->items[index])) {
      return false;
    }
  }
  return true;
}

static blis_status keep_chains(cognitora *self, const blis_params *params) {
  self->chains = blis_arena_new(&self->arena, params->count * sizeof *self->chains);
  if (self->chains == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < params->count; i++) {
    const blis_param *param = &params->items[i];
    bool is_chain = strcmp(param->name, "chain") == 0;
    if ((!is_chain && strcmp(param->name, "chains") != 0) || !is_first_item(params, i)) {
      continue;
    }
    blis_cascade_chain *chain = &self->chains[self->chain_count++];
    *chain = (blis_cascade_chain){0};
    if (param->key != NULL) {
      chain->model = keep_text(self, param->key);
      if (chain->model == NULL) {
        return BLIS_ERR_NOMEM;
      }
    }
    BLIS_TRY(keep_models(self, params, i, chain));
  }
  return BLIS_OK;
}

static blis_status keep_quality(cognitora *self, const blis_param *param) {
  const blis__model_search search = find_quality(self, param->key);
  quality *known = &self->qualities[search.number];
  if (!search.is_exact) {
    known = &self->qualities[self->quality_count];
    *known = (quality){.model = keep_text(self, param->key), .mean_logprob = NAN};
    if (known->model == NULL) {
      return BLIS_ERR_NOMEM;
    }
    self->quality_count++;
  }
  bool is_mean = strcmp(param->name, "mean_logprob") == 0;
  *(is_mean ? &known->mean_logprob : &known->std_dev) = param->number;
  return BLIS_OK;
}

static blis_status keep_qualities(cognitora *self, const blis_params *params) {
  self->qualities = blis_arena_new(&self->arena, params->count * sizeof *self->qualities);
  if (self->qualities == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < params->count; i++) {
    const blis_param *param = &params->items[i];
    if (strcmp(param->name, "mean_logprob") == 0 || strcmp(param->name, "logprob_std_dev") == 0) {
      BLIS_TRY(keep_quality(self, param));
    }
  }
  return BLIS_OK;
}

/* A deviation requires a mean. */
static blis_status check_qualities(const cognitora *self, blis_error *error) {
  for (size_t i = 0; i < self->quality_count; i++) {
    if (isnan(self->qualities[i].mean_logprob)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "cascade cognitora.cascade: logprob_std_dev of %s needs "
                       "its mean_logprob",
                       self->qualities[i].model);
    }
  }
  return BLIS_OK;
}

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  cognitora *self = state;
  blis_arena_init(&self->arena, setup->alloc);
  self->seed = setup->context->seed;
  if (setup->params != NULL && setup->params->count > 0) {
    BLIS_TRY_MEM(keep_chains(self, setup->params), error);
    BLIS_TRY_MEM(keep_qualities(self, setup->params), error);
    BLIS_TRY(check_qualities(self, error));
  }
  if (blis_setup_number(setup, "enabled") == 0) {
    blis_arena_deinit(&self->arena);
    setup->ops = NULL;
    return BLIS_OK;
  }
  setup->chains = self->chains;
  setup->chain_count = self->chain_count;
  return BLIS_OK;
}

const blis_policy_entry blis__cascade_cognitora = {
    .kind = BLIS_POLICY_CASCADE,
    .name = "cognitora.cascade",
    .summary = "a chain of models, small ones first, until the mean "
               "log-probability of an answer reaches a threshold",
    .source = "Cognitora, KV-aware scoring deep dive; 89f555a",
    BLIS__PARAMS(specs),
    .ops = &ops,
    .state_size = sizeof(cognitora),
    .init = init,
};
