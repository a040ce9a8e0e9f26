#include "workload/trace/formats/v2_header.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/format/yaml.h"
#include "base/invariant.h"
#include "base/nearest.h"

enum {
  MAX_SIZE = 1 << 24,
  NEWEST_VERSION = 3,
  MAX_CLASS = 256,
  MAX_DEPTH = 4 /* header, kv_offload, secondary_tiers, one of them */
};

/* Mappings of the header. The keys of TARGETS are defined by the user. */
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

typedef enum value_kind { WHOLE, NUMBER, TEXT, BOOLEAN, MAPPING, LIST } value_kind;

typedef struct key_rule {
  header_section section;
  const char *name;
  value_kind kind;
  header_section content; /* section of a mapping or of the items of a list */
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
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: unknown key %s in the header of a trace%s",
                   blis_yaml_file(key), (long long)blis_yaml_line(key), blis_show(name).text,
                   blis_nearest_suggest(&nearest).text);
}

static blis_status check_scalar(const blis_yaml_node *node, value_kind kind, blis_error *error) {
  int64_t whole;
  double number;
  bool flag;
  blis_slice text;
  switch (kind) {
  case WHOLE:
    return blis_yaml_int64(node, INT64_MIN, INT64_MAX, &whole, error);
  case NUMBER:
    return blis_yaml_double(node, -DBL_MAX, DBL_MAX, &number, error);
  case BOOLEAN:
    return blis_yaml_bool(node, &flag, error);
  default:
    return blis_yaml_text(node, &text, error);
  }
}

/* A mapping, or a list of mappings, while its entries are checked. */
typedef struct open_node {
  const blis_yaml_node *node;
  header_section section;
  bool is_list;
  size_t next;
} open_node;

static blis_status open_content(const blis_yaml_node *node, header_section section, bool is_list,
                                open_node *stack, size_t *depth, blis_error *error) {
  BLIS_TRY(is_list ? blis_yaml_need_sequence(node, error) : blis_yaml_need_mapping(node, error));
  BLIS_ASSERT(*depth < MAX_DEPTH);
  stack[(*depth)++] = (open_node){.node = node, .section = section, .is_list = is_list};
  return BLIS_OK;
}

/* Walks the tree in the order of the file. */
static blis_status check_keys(const blis_yaml_node *root, blis_error *error) {
  open_node stack[MAX_DEPTH];
  size_t depth = 0;
  BLIS_TRY(open_content(root, TOP, false, stack, &depth, error));
  while (depth > 0) {
    open_node *top = &stack[depth - 1];
    if (top->next == blis_yaml_count(top->node)) {
      depth--;
      continue;
    }
    size_t i = top->next++;
    const blis_yaml_node *value = blis_yaml_item(top->node, i);
    if (top->is_list) {
      BLIS_TRY(open_content(value, top->section, false, stack, &depth, error));
      continue;
    }
    const key_rule *rule = NULL;
    BLIS_TRY(find_rule(blis_yaml_key(top->node, i), top->section, &rule, error));
    if (blis_yaml_is_null(value)) {
      continue;
    }
    if (rule->kind == MAPPING || rule->kind == LIST) {
      BLIS_TRY(open_content(value, rule->content, rule->kind == LIST, stack, &depth, error));
    } else {
      BLIS_TRY(check_scalar(value, rule->kind, error));
    }
  }
  return BLIS_OK;
}

/* Checks that a string key has one of two values. A missing key has the first value. */
static blis_status check_choice(const blis_yaml_node *root, const char *key, const char *first,
                                const char *second, bool *is_second, blis_error *error) {
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
  snprintf(what, sizeof what, "is unknown; expected '%s' or '%s'", first, second);
  return blis_yaml_fail(node, what, error);
}

static blis_status note_version(const blis_yaml_node *root, blis_workload *workload,
                                blis_error *error) {
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
                         blis_yaml_file(node), (long long)blis_yaml_line(node), (long long)version,
                         NEWEST_VERSION) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status note_growth(const blis_yaml_node *root, blis_workload *workload,
                               blis_error *error) {
  bool grows;
  BLIS_TRY(check_choice(root, "session_context_growth", "", "accumulate", &grows, error));
  if (!grows) {
    return BLIS_OK;
  }
  blis_workload_let_sessions_grow(workload);
  BLIS_TRY_MEM(blis_workload_note(workload,
                                  "%s: session_context_growth is accumulate; with fixed times "
                                  "input_tokens are used as they are, without earlier rounds",
                                  blis_yaml_file(root)),
               error);
  return BLIS_OK;
}

static blis_status read_limit(const blis_yaml_node *target, const char *key, double *limit_ms,
                              blis_error *error) {
  const blis_yaml_node *node = blis_yaml_get(target, key);
  return node == NULL ? BLIS_OK : blis_yaml_double(node, 0, DBL_MAX, limit_ms, error);
}

/* Reads the target of one class, whose keys have been checked. */
static blis_status take_target(const blis_yaml_node *name, const blis_yaml_node *node,
                               blis_workload *workload, blis_error *error) {
  char class[MAX_CLASS];
  blis_slice text = blis_yaml_scalar(name);
  if (text.length >= sizeof class) {
    return blis_yaml_fail(name, "is too long for an SLO class", error);
  }
  memcpy(class, text.data, text.length);
  class[text.length] = '\0';
  blis_goodput_target target = {.slo_class = class};
  BLIS_TRY(read_limit(node, "ttft_ms", &target.ttft_ms, error));
  BLIS_TRY(read_limit(node, "itl_ms", &target.itl_ms, error));
  BLIS_TRY(read_limit(node, "e2e_ms", &target.e2e_ms, error));
  BLIS_TRY_MEM(blis_workload_add_target(workload, &target), error);
  return BLIS_OK;
}

static blis_status take_targets(const blis_yaml_node *root, blis_workload *workload,
                                blis_error *error) {
  const blis_yaml_node *targets = blis_yaml_get(root, "goodput_slo_targets");
  for (size_t i = 0; targets != NULL && i < blis_yaml_count(targets); i++) {
    const blis_yaml_node *target = blis_yaml_item(targets, i);
    if (!blis_yaml_is_null(target)) {
      BLIS_TRY(take_target(blis_yaml_key(targets, i), target, workload, error));
    }
  }
  return BLIS_OK;
}

static blis_status interpret(const blis_yaml_node *root, blis_workload *workload,
                             blis__trace_v2_header *header, blis_error *error) {
  bool is_short;
  BLIS_TRY(check_keys(root, error));
  BLIS_TRY(check_choice(root, "time_unit", "microseconds", "us", &is_short, error));
  BLIS_TRY(note_version(root, workload, error));
  BLIS_TRY(note_growth(root, workload, error));
  BLIS_TRY(take_targets(root, workload, error));
  const blis_yaml_node *mode = blis_yaml_get(root, "mode");
  header->is_observed = mode != NULL && blis_slice_equals(blis_yaml_scalar(mode), "real");
  return BLIS_OK;
}

blis_status blis__trace_v2_read_header(const blis_alloc *alloc, const char *path,
                                       blis_workload *workload, blis__trace_v2_header *header,
                                       blis_error *error) {
  blis_yaml *yaml;
  BLIS_TRY(blis_yaml_read_file(alloc, path, MAX_SIZE, &yaml, error));
  blis_status status = interpret(blis_yaml_root(yaml), workload, header, error);
  blis_yaml_free(yaml);
  return status;
}
