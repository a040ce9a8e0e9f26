#include "latency/precision/modules.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "latency/spec/names.h"

enum { ENTRY_MAX = 512, NAME_MAX_LENGTH = 128 };

/* Names of one module for each class, without `layers.N.`. */
static const struct {
  blis_weight_class class;
  const char *name;
} MODULES[] = {
    {BLIS_WEIGHT_ATTENTION, "self_attn.q_proj"},
    {BLIS_WEIGHT_ATTENTION, "self_attn.q_b_proj"},
    {BLIS_WEIGHT_ATTENTION, "self_attn.kv_b_proj"},
    {BLIS_WEIGHT_ATTENTION, "self_attn.qkv_proj"},
    {BLIS_WEIGHT_ATTENTION, "attention.q_proj"},
    {BLIS_WEIGHT_ATTENTION, "mixer.q_proj"},
    {BLIS_WEIGHT_ATTENTION, "attn.wq_b"},
    {BLIS_WEIGHT_ATTENTION, "attn.c_attn"},
    {BLIS_WEIGHT_ATTENTION_OUT, "self_attn.o_proj"},
    {BLIS_WEIGHT_ATTENTION_OUT, "attention.o_proj"},
    {BLIS_WEIGHT_ATTENTION_OUT, "mixer.o_proj"},
    {BLIS_WEIGHT_ATTENTION_OUT, "attn.wo_b"},
    {BLIS_WEIGHT_ATTENTION_OUT, "attn.c_proj"},
    {BLIS_WEIGHT_INDEXER, "self_attn.indexer.wq_b"},
    {BLIS_WEIGHT_INDEXER, "self_attn.indexers_proj"},
    {BLIS_WEIGHT_INDEXER, "attn.indexer.wq_b"},
    {BLIS_WEIGHT_LINEAR, "linear_attn.in_proj_qkv"},
    {BLIS_WEIGHT_LINEAR, "linear_attn.in_proj_qkvz"},
    {BLIS_WEIGHT_LINEAR, "linear_attn.out_proj"},
    {BLIS_WEIGHT_LINEAR, "mixer.in_proj"},
    {BLIS_WEIGHT_LINEAR, "mamba.in_proj"},
    {BLIS_WEIGHT_LINEAR, "conv.in_proj"},
    {BLIS_WEIGHT_DENSE, "mlp.gate_proj"},
    {BLIS_WEIGHT_DENSE, "mlp.gate_up_proj"},
    {BLIS_WEIGHT_DENSE, "mlp.up_proj"},
    {BLIS_WEIGHT_DENSE, "mlp.fc1"},
    {BLIS_WEIGHT_DENSE, "feed_forward.gate_proj"},
    {BLIS_WEIGHT_DENSE, "mixer.up_proj"},
    {BLIS_WEIGHT_EXPERTS, "mlp.experts.0.gate_proj"},
    {BLIS_WEIGHT_EXPERTS, "mlp.experts.gate_up_proj"},
    {BLIS_WEIGHT_EXPERTS, "block_sparse_moe.experts.0.w1"},
    {BLIS_WEIGHT_EXPERTS, "feed_forward.experts.gate_up_proj"},
    {BLIS_WEIGHT_EXPERTS, "mixer.experts.0.up_proj"},
    {BLIS_WEIGHT_EXPERTS, "moe.experts.0.gate_proj"},
    {BLIS_WEIGHT_EXPERTS, "ffn.experts.0.w1"},
    {BLIS_WEIGHT_EXPERTS, "ffn.experts.0.gate_proj"},
    {BLIS_WEIGHT_SHARED, "mlp.shared_experts.gate_proj"},
    {BLIS_WEIGHT_SHARED, "mlp.shared_expert.gate_proj"},
    {BLIS_WEIGHT_SHARED, "feed_forward.shared_expert.gate_proj"},
    {BLIS_WEIGHT_SHARED, "mixer.shared_experts.up_proj"},
    {BLIS_WEIGHT_SHARED, "ffn.shared_experts.w1"},
    {BLIS_WEIGHT_SHARED, "ffn.shared_experts.gate_proj"},
};

enum { MODULE_COUNT = sizeof MODULES / sizeof *MODULES };

static const char *const PREFIXES[] = {"model.", "language_model.model.", "model.language_model.",
                                       "backbone.", ""};
static const char *const HEADS[] = {"lm_head", "language_model.lm_head", "head", "output"};

/* Parts of a checkpoint that are not layers of the language model. */
static const char *const OTHERS[] = {"vision", "visual", "audio", "mtp", "projector", "eagle"};

/* Matches `text` against a pattern in which '*' matches any characters. */
static bool glob_matches(const char *pattern, const char *text) {
  const char *star = NULL;
  const char *again = NULL;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      again = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star != NULL) {
      pattern = star + 1;
      text = ++again;
    } else {
      return false;
    }
  }
  while (*pattern == '*') {
    pattern++;
  }
  return *pattern == '\0';
}

/* Returns whether the components of `entry` occur consecutively among the components of `name`. */
static bool has_components(const char *name, const char *entry) {
  size_t length = strlen(entry);
  for (const char *at = name; (at = strstr(at, entry)) != NULL; at++) {
    bool starts = at == name || at[-1] == '.';
    if (starts && (at[length] == '\0' || at[length] == '.')) {
      return true;
    }
  }
  return false;
}

/*
 * Returns the part of the entry that starts at `layers.`, or the whole entry without such a part.
 */
static const char *from_layers(const char *entry) {
  const char *at = strstr(entry, "layers.");
  return at == NULL ? entry : at;
}

static bool is_other(const char *entry) {
  const char *end = from_layers(entry);
  size_t length = end == entry ? strlen(entry) : (size_t)(end - entry);
  char start[ENTRY_MAX];
  (void)snprintf(start, sizeof start, "%.*s", (int)(length < sizeof start ? length : 0), entry);
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
    if (blis__contains(start, OTHERS[i])) {
      return true;
    }
  }
  return false;
}

/* Translates Python's \d, \w, and \s to POSIX notation. Lazy and possessive quantifiers are
   dropped, because they do not change whether a name matches. */
static void translate(const char *from, char *to, size_t size) {
  size_t length = 0;
  for (; *from != '\0' && length + 16 < size; from++) {
    const char *text = NULL;
    if (from[0] == '\\' && from[1] != '\0') {
      text = from[1] == 'd'   ? "[0-9]"
             : from[1] == 'w' ? "[A-Za-z0-9_]"
             : from[1] == 's' ? " "
                              : NULL;
      if (text == NULL) {
        to[length++] = *from;
      }
      from++;
    } else if (from[0] == '(' && from[1] == '?' && from[2] == ':') {
      text = "(";
      from += 2;
    } else if (from[0] == '?' && length > 0 && (to[length - 1] == '*' || to[length - 1] == '+')) {
      continue;
    }
    if (text != NULL) {
      length += (size_t)snprintf(to + length, size - length, "%s", text);
    } else {
      to[length++] = *from;
    }
  }
  to[length] = '\0';
}

typedef struct matcher {
  const char *entry; /* without `re:` and without the part before `layers.` */
  bool is_glob;
  bool is_regex;
  regex_t regex;
} matcher;

/* Like Python's re.match: anchored at the start but not at the end. */
static bool regex_matches(const matcher *m, const char *tail) {
  for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
    char name[NAME_MAX_LENGTH + 64];
    (void)snprintf(name, sizeof name, "%s%s", PREFIXES[i], tail);
    if (regexec(&m->regex, name, 0, NULL, 0) == 0) {
      return true;
    }
  }
  return false;
}

/*
 * Returns whether the entry matches. tail is a name without the part up to `layers.N.`, or a name
 * of the head.
 */
static bool matches(const matcher *m, const char *tail) {
  if (m->is_regex) {
    return regex_matches(m, tail);
  }
  if (m->is_glob) {
    char name[NAME_MAX_LENGTH + 8];
    (void)snprintf(name, sizeof name, "model.%s", tail);
    return glob_matches(m->entry, tail) || glob_matches(m->entry, name);
  }
  return has_components(tail, m->entry);
}

static blis_status open_matcher(matcher *m, const char *entry, blis_error *error) {
  *m = (matcher){.is_regex = strncmp(entry, "re:", 3) == 0};
  if (!m->is_regex) {
    m->entry = from_layers(entry);
    m->is_glob = strchr(m->entry, '*') != NULL;
    return BLIS_OK;
  }
  char pattern[ENTRY_MAX * 2];
  pattern[0] = '^';
  translate(entry + 3, pattern + 1, sizeof pattern - 1);
  if (regcomp(&m->regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "quantization: '%.120s' is not a regular expression that blis can read; "
                     "--quantization states the format instead",
                     entry);
  }
  return BLIS_OK;
}

/*
 * Returns the only layer that an entry can match, or -1. A glob directly after the number may match
 * several layers.
 */
static int64_t only_layer(const matcher *m) {
  if (m->is_regex || strncmp(m->entry, "layers.", 7) != 0) {
    return -1;
  }
  char *end = NULL;
  long layer = strtol(m->entry + 7, &end, 10);
  bool is_number = end != m->entry + 7 && (*end == '.' || *end == '\0');
  return is_number && layer >= 0 ? layer : -1;
}

static void visit_layer(const matcher *m, int64_t layer, blis__module_visitor *visit, void *ud) {
  blis_weight_class last = BLIS_WEIGHT_CLASS_COUNT;
  for (size_t i = 0; i < MODULE_COUNT; i++) {
    if (MODULES[i].class == last) {
      continue;
    }
    char tail[NAME_MAX_LENGTH];
    (void)snprintf(tail, sizeof tail, "layers.%" PRId64 ".%s", layer, MODULES[i].name);
    if (matches(m, tail)) {
      visit(ud, layer, MODULES[i].class);
      last = MODULES[i].class;
    }
  }
}

static void visit_head(const matcher *m, blis__module_visitor *visit, void *ud) {
  for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
    bool is_named = !m->is_regex && !m->is_glob && strcmp(m->entry, HEADS[i]) == 0;
    if (is_named || ((m->is_regex || m->is_glob) && i == 0 && matches(m, HEADS[i]))) {
      visit(ud, -1, BLIS_WEIGHT_HEAD);
      return;
    }
  }
}

blis_status blis__modules_visit(const char *entry, int64_t layers, blis__module_visitor *visit,
                                void *ud, blis_error *error) {
  if (entry[0] == '\0' || strlen(entry) >= ENTRY_MAX || is_other(entry)) {
    return BLIS_OK;
  }
  matcher m;
  BLIS_TRY(open_matcher(&m, entry, error));
  int64_t only = only_layer(&m);
  if (only >= 0) {
    if (only < layers) {
      visit_layer(&m, only, visit, ud);
    }
  } else {
    visit_head(&m, visit, ud);
    for (int64_t layer = 0; layer < layers; layer++) {
      visit_layer(&m, layer, visit, ud);
    }
  }
  if (m.is_regex) {
    regfree(&m.regex);
  }
  return BLIS_OK;
}
