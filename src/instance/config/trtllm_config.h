/*
 * trtllm_config.h - configuration of the TensorRT-LLM scheduler: how requests get KV blocks and how
 * contexts are split.
 *
 * Names and defaults: the LLM API of TensorRT-LLM (scheduler.py, 5f480b7; kvcache.md, 0076e93). The
 * rules are in instance/trtllm.
 */
#ifndef BLIS_INSTANCE_CONFIG_TRTLLM_CONFIG_H
#define BLIS_INSTANCE_CONFIG_TRTLLM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum blis_trtllm_capacity {
  BLIS_TRTLLM_GUARANTEED_NO_EVICT, /* a request starts if its prompt and maximum output fit */
  BLIS_TRTLLM_MAX_UTILIZATION,     /* the next steps must fit; otherwise the last request pauses */
  BLIS_TRTLLM_STATIC_BATCH         /* new requests start only when no request is running */
} blis_trtllm_capacity;

typedef enum blis_trtllm_chunking {
  BLIS_TRTLLM_FCFS,          /* in order, each context takes as much as is left */
  BLIS_TRTLLM_EQUAL_PROGRESS /* in each round, every context takes one block */
} blis_trtllm_chunking;

typedef struct blis_trtllm_config {
  blis_trtllm_capacity capacity;
  blis_trtllm_chunking chunking;
  bool chunks;        /* contexts may be split */
  bool has_reuse;     /* blocks of earlier requests are reused */
  bool skips_equal;   /* a context waits while its next block is being computed */
  int64_t look_ahead; /* number of steps whose blocks MAX_UTILIZATION counts, 1 or 2 */
} blis_trtllm_config;

#endif
