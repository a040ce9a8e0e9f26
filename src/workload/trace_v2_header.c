#include "workload/trace_v2_header.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/yaml.h"

enum { MAX_SIZE = 1 << 24, NEWEST_VERSION = 3 };

/* Mappings of the header. TARGETS has keys of the user's own. */
typedef enum header_section {
  TOP,
  SERVER,
  NETWORK,
  TARGETS,
  TARGET,
  OFFLOAD,
  TIER,
  METRICS
} header_section;

typedef enum value_kind {
  WHOLE,
  NUMBER,
  TEXT,
  BOOLEAN,
  MAPPING,
  LIST
} value_kind;

typedef struct key_rule {
  header_section section;
  const char *name;
  value_kind kind;
  header_section content; /* of a mapping or of the items of a list */
} key_rule;

static const key_rule rules[] = {
    {TOP, "trace_version", WHOLE, TOP},
    {TOP, "time_unit", TEXT, TOP},
    {TOP, "created_at", TEXT, TOP},
    {TOP, "mode", TEXT, TOP},
    {TOP, "warm_up_requests", WHOLE, TOP},
    {TOP, "workload_seed", WHOLE, TOP},
    {TOP, "workload_spec", TEXT, TOP},
    {TOP, "session_context_growth", TEXT, TOP},
    {TOP, "server", MAPPING, SERVER},
    {TOP, "network", MAPPING, NETWORK},
    {TOP, "goodput_slo_targets", MAPPING, TARGETS},
    {TOP, "kv_offload", MAPPING, OFFLOAD},
    {TOP, "observed_kv_metrics", MAPPING, METRICS},
    {SERVER, "type", TEXT, TOP},
    {SERVER, "model", TEXT, TOP},
    {SERVER, "tensor_parallel", WHOLE, TOP},
    {SERVER, "max_num_seqs", WHOLE, TOP},
    {SERVER, "block_size", WHOLE, TOP},
    {SERVER, "gpu_memory_utilization", NUMBER, TOP},
    {SERVER, "max_model_len", WHOLE, TOP},
    {NETWORK, "measured_rtt_ms", NUMBER, TOP},
    {TARGETS, NULL, MAPPING, TARGET},
    {TARGET, "ttft_ms", NUMBER, TOP},
    {TARGET, "itl_ms", NUMBER, TOP},
    {TARGET, "e2e_ms", NUMBER, TOP},
    {OFFLOAD, "cpu_bytes_to_use", WHOLE, TOP},
    {OFFLOAD, "per_block_bytes", WHOLE, TOP},
    {OFFLOAD, "block_size", WHOLE, TOP},
    {OFFLOAD, "blocks_per_chunk", WHOLE, TOP},
    {OFFLOAD, "tokens_per_hash", WHOLE, TOP},
    {OFFLOAD, "eviction_policy", TEXT, TOP},
    {OFFLOAD, "offload_prompt_only", BOOLEAN, TOP},
    {OFFLOAD, "self_describing_kv_events", BOOLEAN, TOP},
    {OFFLOAD, "secondary_tiers", LIST, TIER},
    {TIER, "type", TEXT, TOP},
    {TIER, "root_dir", TEXT, TOP},
    {TIER, "n_read_threads", WHOLE, TOP},
    {TIER, "n_write_threads", WHOLE, TOP},
    {TIER, "locality", TEXT, TOP},
    {TIER, "enable_kv_events", BOOLEAN, TOP},
    {TIER, "direct_io", BOOLEAN, TOP},
    {TIER, "device_class", TEXT, TOP},
    {TIER, "read_bandwidth", NUMBER, TOP},
    {TIER, "write_bandwidth", NUMBER, TOP},
    {TIER, "base_latency", NUMBER, TOP},
    {TIER, "saturation_queue_depth", NUMBER, TOP},
    {TIER, "single_transfer_fraction", NUMBER, TOP},
    {TIER, "latency_jitter_stddev", NUMBER, TOP},
    {METRICS, "source", TEXT, TOP},
    {METRICS, "hit_rate", NUMBER, TOP},
    {METRICS, "block_hits", NUMBER, TOP},
    {METRICS, "block_queries", NUMBER, TOP},
    {METRICS, "read_time_total", NUMBER, TOP},
    {METRICS, "write_time_total", NUMBER, TOP},
    {METRICS, "vllm_commit", TEXT, TOP},
};

enum { RULES = sizeof rules / sizeof *rules };

static blis_status check_mapping(const blis_yaml_node *node,
                                 header_section section, blis_error *error);

static blis_status find_rule(const blis_yaml_node *key, header_section section,
                             const key_rule **rule, blis_error *error) {
  blis_slice name = blis_yaml_scalar(key);
  blis_nearest nearest = {.wanted = name.data};
  for (size_t i = 0; i < RULES; i++) {
    if (rules[i].section != section) {
      continue;
    }
    if (rules[i].name == NULL || blis_slice_equals(name, rules[i].name)) {
      *rule = &rules[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, rules[i].name);
  }
  bool has_word = nearest.word != NULL;
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s:%lld: unknown key %s in the header of a trace%s%s%s",
                   blis_yaml_file(key), (long long)blis_yaml_line(key),
                   blis_show(name).text, has_word ? "; did you mean \"" : "",
                   has_word ? nearest.word : "", has_word ? "\"?" : "");
}

static blis_status check_list(const blis_yaml_node *node,
                              header_section content, blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(node, error));
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(check_mapping(blis_yaml_item(node, i), content, error));
  }
  return BLIS_OK;
}

static blis_status check_value(const blis_yaml_node *node, const key_rule *rule,
                               blis_error *error) {
  int64_t whole;
  double number;
  bool flag;
  blis_slice text;
  switch (rule->kind) {
  case WHOLE:
    return blis_yaml_int64(node, INT64_MIN, INT64_MAX, &whole, error);
  case NUMBER:
    return blis_yaml_double(node, -DBL_MAX, DBL_MAX, &number, error);
  case TEXT:
    return blis_yaml_text(node, &text, error);
  case BOOLEAN:
    return blis_yaml_bool(node, &flag, error);
  case MAPPING:
    return check_mapping(node, rule->content, error);
  case LIST:
    break;
  }
  return check_list(node, rule->content, error);
}

static blis_status check_mapping(const blis_yaml_node *node,
                                 header_section section, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const key_rule *rule = NULL;
    BLIS_TRY(find_rule(blis_yaml_key(node, i), section, &rule, error));
    const blis_yaml_node *value = blis_yaml_item(node, i);
    if (!blis_yaml_is_null(value)) {
      BLIS_TRY(check_value(value, rule, error));
    }
  }
  return BLIS_OK;
}

/* Whether a text key has one of two values; an absent key has the first. */
static blis_status check_choice(const blis_yaml_node *root, const char *key,
                                const char *first, const char *second,
                                bool *is_second, blis_error *error) {
  const blis_yaml_node *node = blis_yaml_get(root, key);
  *is_second = false;
  if (node == NULL || blis_slice_equals(blis_yaml_scalar(node), first)) {
    return BLIS_OK;
  }
  *is_second = blis_slice_equals(blis_yaml_scalar(node), second);
  if (*is_second) {
    return BLIS_OK;
  }
  char what[100];
  snprintf(what, sizeof what, "is unknown; allowed are \"%s\" and \"%s\"",
           first, second);
  return blis_yaml_fail(node, what, error);
}

static blis_status note_version(const blis_yaml_node *root,
                                blis_workload *workload, blis_error *error) {
  const blis_yaml_node *node = blis_yaml_get(root, "trace_version");
  int64_t version = 0;
  if (node == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_yaml_int64(node, INT64_MIN, INT64_MAX, &version, error));
  if ((version < 1 || version > NEWEST_VERSION) &&
      blis_workload_note(workload,
                         "%s:%lld: trace_version is %lld; versions up to %d "
                         "are known",
                         blis_yaml_file(node), (long long)blis_yaml_line(node),
                         (long long)version, NEWEST_VERSION) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status note_growth(const blis_yaml_node *root,
                               blis_workload *workload, blis_error *error) {
  bool grows;
  BLIS_TRY(check_choice(root, "session_context_growth", "", "accumulate",
                        &grows, error));
  if (grows &&
      blis_workload_note(workload,
                         "%s: session_context_growth is accumulate; at fixed "
                         "times input_tokens are taken as they stand, without "
                         "the rounds before",
                         blis_yaml_file(root)) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status interpret(const blis_yaml_node *root,
                             blis_workload *workload,
                             blis__trace_v2_header *header, blis_error *error) {
  bool is_short;
  BLIS_TRY(check_mapping(root, TOP, error));
  BLIS_TRY(
      check_choice(root, "time_unit", "microseconds", "us", &is_short, error));
  BLIS_TRY(note_version(root, workload, error));
  BLIS_TRY(note_growth(root, workload, error));
  const blis_yaml_node *mode = blis_yaml_get(root, "mode");
  header->is_observed =
      mode != NULL && blis_slice_equals(blis_yaml_scalar(mode), "real");
  return BLIS_OK;
}

blis_status blis__trace_v2_read_header(const blis_alloc *alloc,
                                       const char *path,
                                       blis_workload *workload,
                                       blis__trace_v2_header *header,
                                       blis_error *error) {
  blis_yaml *yaml;
  BLIS_TRY(blis_yaml_read_file(alloc, path, MAX_SIZE, &yaml, error));
  blis_status status = interpret(blis_yaml_root(yaml), workload, header, error);
  blis_yaml_free(yaml);
  return status;
}
