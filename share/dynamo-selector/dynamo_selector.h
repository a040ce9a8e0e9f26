/*
 * dynamo_selector.h - the interface of a worker selector plugin, as this
 * project lays it out.
 *
 * Dynamo (experimental since 1.3) loads a shared library that is named in
 * DYN_ROUTER_WORKER_SELECTOR_PLUGIN and looks for the symbol
 * dynamo_worker_selector_plugin_v1: create, select, destroy. Which facts it
 * passes is known, and is what stands here; the layout of its structs is NOT:
 * the order, the types and the signatures below are ours. To use the plugin
 * with a router, make this header say what that router's header says, and
 * build again; dynamo_selector.c reads the fields by their names alone.
 */
#ifndef DYNAMO_SELECTOR_H
#define DYNAMO_SELECTOR_H

#include <stddef.h>
#include <stdint.h>

/* XX(type, name): what is known of a worker and of its share of the prompt. */
#define DYNAMO_CANDIDATE_FIELDS(XX)                                            \
  XX(uint64_t, worker_id)                                                      \
  XX(uint32_t, dp_rank)                                                        \
  XX(uint64_t, cached_tokens)                                                  \
  XX(double, effective_overlap_blocks)                                         \
  XX(uint64_t, device_overlap_blocks)                                          \
  XX(uint64_t, host_overlap_blocks)                                            \
  XX(uint64_t, disk_overlap_blocks)                                            \
  XX(uint64_t, shared_beyond_device_blocks)                                    \
  XX(uint64_t, active_prefill_tokens)                                          \
  XX(uint64_t, active_decode_blocks)                                           \
  XX(uint64_t, additional_active_blocks)                                       \
  XX(uint64_t, stable_routing_id)                                              \
  XX(double, taint_multiplier)                                                 \
  XX(uint64_t, total_kv_blocks)                                                \
  XX(uint64_t, max_num_batched_tokens)

typedef struct dynamo_candidate {
#define XX(type, name) type name;
  DYNAMO_CANDIDATE_FIELDS(XX)
#undef XX
} dynamo_candidate;

typedef struct dynamo_request {
  uint64_t isl_tokens;
  uint64_t expected_output_tokens; /* 0 = unknown */
  const char *session_id;          /* NULL = none */
  uint32_t block_size_tokens;
} dynamo_request;

/* What select returns when the router is to choose itself. */
#define DYNAMO_USE_DEFAULT ((int64_t)-1)

typedef struct dynamo_worker_selector_plugin {
  /*
   * Makes a selector of a policy: the path of a file in Lua, NULL = that in the
   * environment variable BLIS_SELECTOR_POLICY. NULL with a message of at most
   * size - 1 bytes in error when it cannot. The caller destroys the selector.
   */
  void *(*create)(const char *policy, char *error, size_t size);
  /*
   * Index of one of count >= 1 candidates, or DYNAMO_USE_DEFAULT, with the
   * reason in the log of the process, when the policy fails. One thread at a
   * time.
   */
  int64_t (*select)(void *selector, const dynamo_request *request,
                    const dynamo_candidate *candidates, size_t count);
  /* NULL is allowed. */
  void (*destroy)(void *selector);
} dynamo_worker_selector_plugin;

/* The entry point. */
extern const dynamo_worker_selector_plugin dynamo_worker_selector_plugin_v1;

#endif
