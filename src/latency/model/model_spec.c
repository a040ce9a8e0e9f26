#include "latency/model/model_spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTEGER(member) BLIS_SPEC_FIELD(blis_model_spec, member, BLIS_SPEC_INTEGER)
#define NUMBER(member) BLIS_SPEC_FIELD(blis_model_spec, member, BLIS_SPEC_NUMBER)
#define FLAG(member) BLIS_SPEC_FIELD(blis_model_spec, member, BLIS_SPEC_FLAG)
#define TEXT(member) BLIS_SPEC_FIELD(blis_model_spec, member, BLIS_SPEC_TEXT)

static const blis_spec_field FIELDS[] = {
    INTEGER(layers),
    INTEGER(hidden_size),
    INTEGER(attention_heads),
    INTEGER(kv_heads),
    INTEGER(vocab_size),
    INTEGER(intermediate_size),
    INTEGER(head_dim),
    NUMBER(bytes_per_param),
    NUMBER(weight_bytes_per_param),
    TEXT(activation),
    FLAG(tie_word_embeddings),
    INTEGER(experts),
    INTEGER(experts_per_token),
    INTEGER(expert_intermediate_size),
    INTEGER(shared_expert_intermediate_size),
    INTEGER(interleave_moe_layer_step),
    INTEGER(dense_intermediate_size),
    INTEGER(first_k_dense_replace),
    FLAG(experts_unknown),
    INTEGER(kv_lora_rank),
    INTEGER(qk_rope_head_dim),
    INTEGER(max_model_tokens),
    TEXT(quantization),
};

enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

const blis_spec_field *blis_model_spec_fields(size_t *count) {
  *count = FIELD_COUNT;
  return FIELDS;
}

static void check_ranges(const blis_model_spec *spec, blis__problems *problems) {
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    if (FIELDS[i].kind != BLIS_SPEC_INTEGER) {
      continue;
    }
    bool is_length = FIELDS[i].offset == offsetof(blis_model_spec, max_model_tokens);
    double most = is_length ? 0x1p53 : (double)INT32_MAX;
    double value = blis_spec_get_number(spec, &FIELDS[i]);
    if (value < 0.0 || value > most) {
      blis__problems_add(problems, "%s must be from 0 to %.0f, got %.0f", FIELDS[i].name, most,
                         value);
    }
  }
}

static void require(blis__problems *problems, const char *name, int64_t value) {
  if (value == 0) {
    blis__problems_add(problems, "%s is missing", name);
  }
}

static void check_experts(const blis_model_spec *spec, blis__problems *problems) {
  if (!blis_model_spec_is_moe(spec)) {
    return;
  }
  if (spec->experts_per_token <= 0 || spec->experts_per_token > spec->experts) {
    blis__problems_add(problems,
                       "experts_per_token must be from 1 to experts (%" PRId64 "), got %" PRId64,
                       spec->experts, spec->experts_per_token);
  }
}

blis_status blis_model_spec_validate(const blis_model_spec *spec, blis_error *error) {
  blis__problems problems = {0};
  require(&problems, "layers", spec->layers);
  require(&problems, "hidden_size", spec->hidden_size);
  require(&problems, "attention_heads", spec->attention_heads);
  if (!isfinite(spec->bytes_per_param) || spec->bytes_per_param <= 0.0) {
    blis__problems_add(&problems, "bytes_per_param must be positive, got %g",
                       spec->bytes_per_param);
  }
  if (!isfinite(spec->weight_bytes_per_param) || spec->weight_bytes_per_param < 0.0) {
    blis__problems_add(&problems, "weight_bytes_per_param must not be negative, got %g",
                       spec->weight_bytes_per_param);
  }
  check_ranges(spec, &problems);
  check_experts(spec, &problems);
  return blis__problems_status(&problems, "model", spec->name, error);
}

bool blis_model_spec_is_moe(const blis_model_spec *spec) {
  return spec->experts >= 2;
}

int64_t blis_model_spec_kv_heads(const blis_model_spec *spec) {
  return spec->kv_heads == 0 ? spec->attention_heads : spec->kv_heads;
}

bool blis_model_spec_is_gated(const blis_model_spec *spec) {
  static const char *const PLAIN[] = {"relu", "gelu", "gelu_new", "gelu_fast"};
  for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++) {
    if (strcmp(spec->activation, PLAIN[i]) == 0) {
      return false;
    }
  }
  return true;
}

int64_t blis_model_spec_q_width(const blis_model_spec *spec) {
  return spec->counts_as_built && spec->head_dim > 0 ? spec->attention_heads * spec->head_dim
                                                     : spec->hidden_size;
}

double blis_model_spec_weight_bytes(const blis_model_spec *spec) {
  return spec->weight_bytes_per_param > 0.0 ? spec->weight_bytes_per_param : spec->bytes_per_param;
}

void blis_model_spec_split_layers(const blis_model_spec *spec, int64_t *moe_layers,
                                  int64_t *dense_layers) {
  if (!blis_model_spec_is_moe(spec)) {
    *moe_layers = 0;
  } else if (spec->interleave_moe_layer_step > 0) {
    *moe_layers = spec->layers / (spec->interleave_moe_layer_step + 1);
  } else {
    *moe_layers = spec->layers;
  }
  *dense_layers = spec->layers - *moe_layers;
}
