#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "latency/catalogue_priv.h"
#include "latency/model_config_priv.h"

/* More digits than any precision has. */
enum { DIGITS_MAX = 4 };

static int64_t stated_bits(blis_json_value bits) {
  blis_slice text;
  int64_t value;
  if (blis_json_text(bits, &text, NULL) == BLIS_OK) {
    return blis_parse_int64(text, &value) == BLIS_NUMBER_OK ? value : 0;
  }
  return blis__config_truncated(bits);
}

/* The first group by name that states the bits of its weights. */
static double group_bits(blis_json_value groups) {
  const char *best = NULL;
  double best_bits = 0.0;
  const char *key = NULL;
  blis_json_value group;
  while (blis_json_next(groups, &key, &group)) {
    blis_json_value weights = blis_json_member(group, "weights");
    int64_t bits =
        blis__config_truncated(blis_json_member(weights, "num_bits"));
    if (bits > 0 && (best == NULL || strcmp(key, best) < 0)) {
      best = key;
      best_bits = (double)bits;
    }
  }
  return best_bits;
}

void blis__config_read_precision(const blis__config *config,
                                 blis_model_spec *spec) {
  blis_json_value quantization =
      blis__config_member(config, "quantization_config");
  const char *method =
      blis__config_text(blis_json_member(quantization, "quant_method"));
  (void)snprintf(spec->quantization, sizeof spec->quantization, "%s", method);
  int64_t bits = stated_bits(blis_json_member(quantization, "bits"));
  if (bits > 0) {
    spec->weight_bytes_per_param = (double)bits / 8.0;
  } else if (blis__equal_names(method, "fp8")) {
    spec->weight_bytes_per_param = 1.0;
  } else if (blis__equal_names(method, "compressed-tensors")) {
    spec->weight_bytes_per_param =
        group_bits(blis_json_member(quantization, "config_groups")) / 8.0;
  }
}

static bool ends_word(char c) {
  return c == '\0' || c == '.' || c == '-' || c == '_';
}

static size_t count_digits(const char *text) {
  return strspn(text, "0123456789");
}

/* The bits of "w<digits>a<digits>" at the start of text, or 0. */
static int64_t weight_bits(const char *text) {
  size_t bits = blis__lower(text[0]) == 'w' ? count_digits(text + 1) : 0;
  if (bits == 0 || bits > DIGITS_MAX || blis__lower(text[1 + bits]) != 'a') {
    return 0;
  }
  const char *activations = text + bits + 2;
  size_t digits = count_digits(activations);
  int64_t value = 0;
  if (digits > 0 && ends_word(activations[digits])) {
    (void)blis_parse_int64((blis_slice){text + 1, bits}, &value);
  }
  return value;
}

static bool is_fp8(const char *text) {
  return blis__lower(text[0]) == 'f' && blis__lower(text[1]) == 'p' &&
         text[2] == '8' && ends_word(text[3]);
}

double blis_model_weight_bytes_from_name(const char *name) {
  bool has_fp8 = false;
  for (const char *at = name; *at != '\0'; at++) {
    bool starts_word = at == name || at[-1] == '/' || ends_word(at[-1]);
    if (!starts_word) {
      continue;
    }
    int64_t bits = weight_bits(at);
    if (bits > 0) {
      return (double)bits / 8.0;
    }
    has_fp8 |= is_fp8(at);
  }
  return has_fp8 ? 1.0 : 0.0;
}
