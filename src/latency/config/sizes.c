#include "latency/config/sizes.h"

#include <inttypes.h>
#include <string.h>

#include "latency/spec/names.h"

static const int64_t TOKENS_MAX = INT64_C(1) << 53;

/* Returns the number of layers. Some configs contain only their kinds. */
static int64_t count_layers(blis__config *config) {
  int64_t layers = blis__config_whole(
      config, BLIS__KEYS("num_hidden_layers", "num_layers", "n_layers", "n_layer"));
  if (layers == 0) {
    layers = (int64_t)strlen(blis__config_text(config, "hybrid_override_pattern"));
  }
  if (layers == 0) {
    layers = (int64_t)blis_json_count(blis__config_member(config, "layers_block_type"));
  }
  blis__config_require(config, "num_hidden_layers", layers);
  if (layers > BLIS__LAYERS_MAX) {
    blis__config_fail(config, "num_hidden_layers must be at most %d, got %" PRId64,
                      BLIS__LAYERS_MAX, layers);
  }
  return blis__config_is(config, "longcat_flash") ? 2 * layers : layers;
}

/* Returns whether the class ties input and output embeddings by default. */
static bool ties_by_class(const blis__config *config) {
  static const char *const TYPES[] = {"gemma",       "cohere", "lfm2", "ernie4_5", "smollm3",
                                      "starcoder2",  "gpt2",   "opt",  "bloom",    "falcon",
                                      "gpt_bigcode", "mpt",    "mamba"};
  static const char *const EXACT[] = {"minicpm", "minicpm3", "gpt_neo"};
  for (size_t i = 0; i < sizeof EXACT / sizeof *EXACT; i++) {
    if (strcmp(config->type, EXACT[i]) == 0) {
      return true;
    }
  }
  if (blis__config_is(config, "falcon_h1") || blis__config_is(config, "falcon_mamba")) {
    return false;
  }
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (blis__config_is(config, TYPES[i])) {
      return true;
    }
  }
  return false;
}

/* Returns whether the stated length already includes this kind of scaling. */
static bool is_included(const char *kind) {
  static const char *const KINDS[] = {"su",      "longrope",     "llama3",
                                      "default", "proportional", "mrope"};
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    if (strcmp(kind, KINDS[i]) == 0) {
      return true;
    }
  }
  return false;
}

/*
 * Returns the position scaling: rope_scaling or rope_parameters, which may be nested by layer kind.
 */
static blis_json_value scaling_of(const blis__config *config) {
  blis_json_value rope = blis__config_member(config, "rope_scaling");
  if (blis_json_type_of(rope) != BLIS_JSON_OBJECT) {
    rope = blis__config_member(config, "rope_parameters");
  }
  blis_json_value full = blis_json_member(rope, "full_attention");
  return blis_json_type_of(full) == BLIS_JSON_OBJECT ? full : rope;
}

/*
 * Applies the scaling like vLLM 0.11: a factor on the stated length or, for yarn, on the original
 * training length of the model.
 */
static int64_t scale(const blis__config *config, int64_t tokens) {
  blis_json_value rope = scaling_of(config);
  double factor = blis__number_of(blis_json_member(rope, "factor"));
  const char *kind = blis__text_of(blis_json_member(rope, "rope_type"));
  if (kind[0] == '\0') {
    kind = blis__text_of(blis_json_member(rope, "type"));
  }
  if (!(factor > 1.0) || is_included(kind) || blis__config_is(config, "gemma3")) {
    return tokens;
  }
  double original = blis__number_of(blis_json_member(rope, "original_max_position_embeddings"));
  bool is_yarn = strcmp(kind, "yarn") == 0 && original >= 1.0;
  double scaled = (is_yarn ? original : (double)tokens) * factor;
  return scaled < (double)TOKENS_MAX ? (int64_t)scaled : tokens;
}

int64_t blis__config_max_tokens(blis__config *config) {
  static const char *const KEYS[] = {
      "max_position_embeddings", "max_sequence_length", "max_seq_len",
      "model_max_length",        "n_positions",         "seq_length"};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value value = blis__config_member(config, KEYS[i]);
    if (!blis_json_has(value)) {
      continue;
    }
    double tokens = blis__number_of(value);
    if (!(tokens >= 0.0 && tokens <= (double)TOKENS_MAX)) {
      blis__config_fail(config, "%s must be from 0 to 2^53, got %.15g", KEYS[i], tokens);
      return 0;
    }
    if (tokens >= 1.0) {
      return scale(config, (int64_t)tokens);
    }
  }
  int64_t tokens = blis__config_whole(config, BLIS__KEYS("max_position_embeddings"));
  return tokens > 0 ? scale(config, tokens) : 0;
}

blis__sizes blis__sizes_read(blis__config *config) {
  return (blis__sizes){
      .layers = count_layers(config),
      .hidden = blis__config_need(
          config, BLIS__KEYS("hidden_size", "n_embd", "n_embed", "d_model", "dim"), 0, 0),
      .vocabulary = blis__config_need(config, BLIS__KEYS("vocab_size", "padded_vocab_size"), 0, 0),
      .max_tokens = blis__config_max_tokens(config),
      .has_tied_embeddings =
          blis__config_flag(config, "tie_word_embeddings",
                            blis__config_flag(config, "tied_embeddings", ties_by_class(config))),
  };
}
