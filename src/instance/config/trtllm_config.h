/*
 * trtllm_config.h - the scheduler of TensorRT-LLM: how requests get KV blocks and how contexts are
 * split.
 *
 * Names and defaults: the LLM API of TensorRT-LLM (scheduler.py, 5f480b7; kvcache.md, 0076e93).
 * instance/trtllm has the rules.
 */
#ifndef BLIS_INSTANCE_CONFIG_TRTLLM_CONFIG_H
#define BLIS_INSTANCE_CONFIG_TRTLLM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum blis_trtllm_capacity {
  BLIS_TRTLLM_GUARANTEED_NO_EVICT, /* prompt and largest output fit before a request starts */
  BLIS_TRTLLM_MAX_UTILIZATION,     /* the next steps fit; otherwise the last one pauses */
  BLIS_TRTLLM_STATIC_BATCH         /* new requests start only when none runs */
} blis_trtllm_capacity;

typedef enum blis_trtllm_chunking {
  BLIS_TRTLLM_FCFS,          /* each context takes what is left, in order */
  BLIS_TRTLLM_EQUAL_PROGRESS /* contexts take a block each, in rounds */
} blis_trtllm_chunking;

typedef struct blis_trtllm_config {
  blis_trtllm_capacity capacity;
  blis_trtllm_chunking chunking;
  bool chunks;        /* contexts may be split */
  bool has_reuse;     /* blocks of earlier requests are found */
  bool skips_equal;   /* a context waits while its next block is being computed */
  int64_t look_ahead; /* steps whose blocks MAX_UTILIZATION counts, 1 or 2 */
} blis_trtllm_config;

#endif
