#include "latency/config/values.h"

#include <float.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/minmax.h"
#include "latency/config/class_defaults.h"
#include "latency/spec/names.h"

const char *blis__text_of(blis_json_value value) {
  blis_slice text;
  return blis_json_text(value, &text, NULL) == BLIS_OK ? text.data : "";
}

int64_t blis__whole_of(blis_json_value value, int64_t absent) {
  int64_t whole;
  if (blis_json_int64(value, INT64_MIN, INT64_MAX, &whole, NULL) != BLIS_OK) {
    return absent;
  }
  return whole < INT32_MIN ? INT32_MIN : blis_min_i64(whole, INT32_MAX);
}

double blis__number_of(blis_json_value value) {
  double number;
  return blis_json_double(value, -DBL_MAX, DBL_MAX, &number, NULL) == BLIS_OK ? number : 0.0;
}

static blis_json_value text_part(blis_json_value root) {
  static const char *const KEYS[] = {"text_config", "llm_config", "language_config"};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value part = blis_json_member(root, KEYS[i]);
    if (blis_json_type_of(part) == BLIS_JSON_OBJECT) {
      return part;
    }
  }
  return blis_json_member(blis_json_member(root, "thinker_config"), "text_config");
}

/* Maps older names of types. Files of Mistral (params.json) have no type. */
static const char *known_type(blis_json_value root, const char *type) {
  if (strcmp(type, "RefinedWeb") == 0 || strcmp(type, "RefinedWebModel") == 0) {
    return "falcon";
  }
  bool is_params = blis_json_has(blis_json_member(root, "dim")) &&
                   blis_json_has(blis_json_member(root, "hidden_dim"));
  bool has_no_type = type[0] == '\0' || strcmp(type, "transformer") == 0;
  return is_params && has_no_type ? "mistral" : type;
}

blis__config blis__config_open(const char *source, blis_json_value root, blis_error *error) {
  blis__config config = {.source = source, .root = root, .error = error};
  config.status = blis_json_need_object(root, error);
  config.text = text_part(root);
  config.type = blis__text_of(blis_json_member(config.text, "model_type"));
  if (config.type[0] == '\0') {
    config.type = blis__text_of(blis_json_member(root, "model_type"));
  }
  config.type = known_type(root, config.type);
  return config;
}

blis_json_value blis__config_member(const blis__config *config, const char *key) {
  const blis_json_value places[] = {
      config->text, config->root, blis_json_member(config->root, "attn_config"),
      blis_json_member(config->root, "ffn_config"), blis_json_member(config->root, "moe")};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    blis_json_value value = blis_json_member(places[i], key);
    if (blis_json_has(value)) {
      return value;
    }
  }
  return blis_json_member(config->text, key);
}

bool blis__config_has(const blis__config *config, const char *key) {
  return blis_json_has(blis__config_member(config, key));
}

bool blis__config_states(const blis__config *config, const char *key) {
  return blis_json_type_of(blis_json_member(config->text, key)) != BLIS_JSON_MISSING ||
         blis_json_type_of(blis_json_member(config->root, key)) != BLIS_JSON_MISSING;
}

void blis__config_fail(blis__config *config, const char *format, ...) {
  if (config->status != BLIS_OK) {
    return;
  }
  char text[320];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  config->status = blis_fail(config->error, BLIS_ERR_INVALID, "%.160s: %s", config->source, text);
}

/* Returns the item of a layer if the value is a list, otherwise the value itself. */
static blis_json_value item_of(blis_json_value value, int64_t layer, int64_t layers) {
  if (blis_json_type_of(value) != BLIS_JSON_ARRAY) {
    return value;
  }
  bool is_by_layer = layers > 0 && blis_json_count(value) >= (size_t)layers;
  return blis_json_item(value, is_by_layer ? (size_t)layer : 0);
}

/* Checks that a list has one number per layer, or numbers for text and images. */
static void check_count(blis__config *config, const char *key, blis_json_value value,
                        int64_t layers) {
  size_t count = blis_json_count(value);
  bool is_list = blis_json_type_of(value) == BLIS_JSON_ARRAY;
  if (is_list && count > 2 && layers > 0 && count < (size_t)layers) {
    blis__config_fail(config, "%s has %zu items, and the model has %" PRId64 " layers", key, count,
                      layers);
  }
}

static int64_t checked_size(blis__config *config, const char *key, blis_json_value value) {
  double number = -1.0;
  if (blis_json_double(value, -DBL_MAX, DBL_MAX, &number, NULL) != BLIS_OK) {
    blis__config_fail(config, "%s must be a whole number from 0 to %" PRId32, key, INT32_MAX);
    return 0;
  }
  int64_t whole = number >= 0.0 && number <= INT32_MAX ? (int64_t)number : -1;
  if (whole < 0 || (double)whole != number) {
    blis__config_fail(config, "%s must be a whole number from 0 to %" PRId32 ", got %.15g", key,
                      INT32_MAX, number);
    return 0;
  }
  return whole;
}

static size_t count_keys(const blis__keys *keys) {
  size_t count = 0;
  while (count < sizeof keys->names / sizeof *keys->names && keys->names[count] != NULL) {
    count++;
  }
  return count;
}

void blis__config_assume(blis__config *config, const char *key, int64_t size) {
  char text[80];
  (void)snprintf(text, sizeof text, "%.50s %" PRId64, key, size);
  size_t used = strlen(config->defaults);
  if (strstr(config->defaults, text) == NULL &&
      used + strlen(text) + 3 <= sizeof config->defaults) {
    (void)snprintf(config->defaults + used, sizeof config->defaults - used, "%s%s",
                   used > 0 ? ", " : "", text);
  }
}

int64_t blis__config_size(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers) {
  size_t count = count_keys(keys);
  bool is_stated = false;
  for (size_t i = 0; i < count; i++) {
    blis_json_value stated = blis__config_member(config, keys->names[i]);
    check_count(config, keys->names[i], stated, layers);
    blis_json_value value = item_of(stated, layer, layers);
    int64_t size = blis_json_has(value) ? checked_size(config, keys->names[i], value) : 0;
    if (size > 0) {
      return size;
    }
    is_stated |= blis__config_states(config, keys->names[i]);
  }
  int64_t size = 0;
  for (size_t i = 0; i < count && !is_stated && size == 0; i++) {
    size = blis__class_default(config->type, keys->names[i]);
    if (size == 0 && blis_json_has(config->text)) {
      size = blis__part_default(config->type, keys->names[i]);
    }
    if (size > 0) {
      blis__config_assume(config, keys->names[i], size);
    }
  }
  return size;
}

int64_t blis__config_whole(blis__config *config, const blis__keys *keys) {
  return blis__config_size(config, keys, 0, 0);
}

void blis__config_require(blis__config *config, const char *key, int64_t value) {
  if (value > 0) {
    return;
  }
  bool is_stated = blis__config_has(config, key);
  const char *type = config->type[0] != '\0' ? config->type : "not stated";
  blis__config_fail(config, "%s %s (model_type %.60s)", key,
                    is_stated ? "must be a positive number" : "is missing", type);
}

int64_t blis__config_need(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers) {
  int64_t size = blis__config_size(config, keys, layer, layers);
  blis__config_require(config, keys->names[0], size);
  return size;
}

bool blis__config_flag(const blis__config *config, const char *key, bool absent) {
  bool flag;
  blis_json_value value = blis__config_member(config, key);
  return blis_json_bool(value, &flag, NULL) == BLIS_OK ? flag : absent;
}

const char *blis__config_text(const blis__config *config, const char *key) {
  return blis__text_of(blis__config_member(config, key));
}

bool blis__config_is(const blis__config *config, const char *prefix) {
  return blis__starts_with(config->type, prefix);
}
