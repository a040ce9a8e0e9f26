#include <inttypes.h>
#include <string.h>

#include "latency/model_config_priv.h"

static const int64_t TOKENS_MAX = INT64_C(1) << 53;

/* These kinds state the longest sequence with the scaling already in it. */
static bool is_included(const char *type) {
  return strcmp(type, "su") == 0 || strcmp(type, "longrope") == 0 ||
         strcmp(type, "llama3") == 0;
}

/*
 * What engines make of rope_scaling (vLLM 0.11): a factor on the stated
 * length, or for yarn on the length the model was first trained with.
 */
static int64_t scale(const blis__config *config, int64_t tokens) {
  blis_json_value rope = blis__config_member(config, "rope_scaling");
  double factor = blis__config_number(blis_json_member(rope, "factor"));
  const char *type = blis__config_text(blis_json_member(rope, "type"));
  if (type[0] == '\0') {
    type = blis__config_text(blis_json_member(rope, "rope_type"));
  }
  const char *model =
      blis__config_text(blis__config_member(config, "model_type"));
  if (!(factor > 1.0) || is_included(type) || strstr(model, "gemma3") != NULL) {
    return tokens;
  }
  int64_t original = blis__config_truncated(
      blis_json_member(rope, "original_max_position_embeddings"));
  bool is_yarn = strcmp(type, "yarn") == 0 && original > 0;
  double scaled = (double)(is_yarn ? original : tokens) * factor;
  return scaled < (double)TOKENS_MAX ? (int64_t)scaled : tokens;
}

blis_status blis__config_read_context(const blis__config *config,
                                      blis_model_spec *spec,
                                      blis_error *error) {
  const char *key = "max_position_embeddings";
  int64_t tokens = blis__config_truncated(blis__config_member(config, key));
  if (tokens < 0 || tokens > TOKENS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: %s must be from 0 to 2^53, got %" PRId64,
                     config->source, key, tokens);
  }
  spec->max_model_tokens = tokens == 0 ? 0 : scale(config, tokens);
  return BLIS_OK;
}
