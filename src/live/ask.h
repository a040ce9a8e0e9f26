/*
 * ask.h - reads and checks an OpenAI API request for a completion or a chat, in JSON.
 *
 * Refusals have the status, type, and wording of vLLM. Unknown fields are ignored, as in vLLM.
 * Reading costs O(bytes), and memory only for the tree of the body and its tokens.
 */
#ifndef BLIS_LIVE_ASK_H
#define BLIS_LIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/format/json.h"
#include "live/text.h"

enum { BLIS_LIVE_STOPS_MAX = 16, BLIS_LIVE_CHOICES_MAX = 128, BLIS_LIVE_MODEL_SIZE = 256 };

/* A LoRA adapter of the cluster, and the name under which it is served. */
typedef struct blis_live_adapter {
  const char *own_name;            /* name in the cluster; borrowed */
  char name[BLIS_LIVE_MODEL_SIZE]; /* name for clients; "" = not loaded */
} blis_live_adapter;

/* Limits of an endpoint, and the models that it serves. */
typedef struct blis_live_limits {
  uint32_t vocabulary;
  int64_t max_model_len;     /* > 0; maximum tokens of prompt plus output */
  const char *const *models; /* served names; borrowed */
  size_t model_count;
  const blis_live_adapter *adapters; /* adapters that requests may use as a model; borrowed */
  size_t adapter_count;
  int64_t media_tokens; /* tokens of an image or another message part without text */
} blis_live_limits;

typedef enum blis_live_api {
  BLIS_LIVE_COMPLETIONS,
  BLIS_LIVE_CHAT,
  BLIS_LIVE_GENERATE /* of SGLang */
} blis_live_api;

/* Reason for refusing a request. */
typedef struct blis_live_refusal {
  int status;        /* HTTP status; 0 = not refused */
  const char *type;  /* static */
  const char *param; /* static; NULL = none */
  char message[400];
} blis_live_refusal;

/* One prompt of a request: a part of its tokens. */
typedef struct blis_live_prompt_part {
  size_t first;
  size_t count;
} blis_live_prompt_part;

/* kv_transfer_params: which engine computes the prompt, and which the output. */
typedef struct blis_live_split {
  bool has_remote_decode;  /* this engine computes only the prompt and keeps its KV */
  bool has_remote_prefill; /* another engine holds the KV of the prompt */
  blis_slice engine;       /* remote_engine_id; valid as long as the ask */
  int64_t blocks;          /* number of remote_block_ids */
} blis_live_split;

/* A request; stored by the caller. Reading another request reuses the memory. */
typedef struct blis_live_ask {
  blis_alloc alloc;
  blis_json json;
  blis_live_api api;
  char model[BLIS_LIVE_MODEL_SIZE];
  const char *adapter; /* name of the adapter in the cluster; borrowed from the limits; NULL =
                          none */
  blis_live_tokens tokens;
  BLIS_ARRAY(blis_live_prompt_part) prompts;
  int64_t max_tokens; /* maximum output tokens of a choice, > 0: the parameter, or what the model
                         length allows */
  int64_t min_tokens;
  int64_t n;
  uint64_t seed;
  uint64_t salt;                         /* hash of cache_salt and session content; 0 = none */
  blis_slice cache_salt;                 /* text of cache_salt; valid as long as the ask */
  blis_slice stops[BLIS_LIVE_STOPS_MAX]; /* valid as long as the ask */
  size_t stop_count;
  blis_slice echo; /* text of the prompt, if it is text */
  blis_live_split split;
  bool streams;
  bool includes_usage;
  bool continues_usage; /* each chunk includes the usage */
  bool ignores_eos;
  bool echoes;
  bool returns_token_ids;
} blis_live_ask;

/* Copies *alloc; allocates nothing yet. */
void blis_live_ask_init(blis_live_ask *ask, const blis_alloc *alloc);
void blis_live_ask_deinit(blis_live_ask *ask);

/*
 * Reads the body of a request. On failure, returns false and fills the refusal; out of memory has
 * status 500. The slices of *ask are valid until the next call.
 */
bool blis_live_ask_read(blis_live_ask *ask, blis_live_api api, const blis_live_limits *limits,
                        blis_slice body, blis_live_refusal *refusal);

/* Reads the body of /tokenize: a prompt or messages. ask->tokens contains the tokens. */
bool blis_live_ask_read_text(blis_live_ask *ask, const blis_live_limits *limits, blis_slice body,
                             blis_live_refusal *refusal);

/* Reads the body of a request that loads or unloads a LoRA adapter: {"lora_name": ...,
   "lora_path": ...}. The name is valid until the next call. */
bool blis_live_ask_read_adapter(blis_live_ask *ask, blis_slice body, bool needs_path,
                                blis_slice *name, blis_live_refusal *refusal);

/* Reads the body of /detokenize: {"tokens": [...]}. */
bool blis_live_ask_read_tokens(blis_live_ask *ask, const blis_live_limits *limits, blis_slice body,
                               blis_live_refusal *refusal);

/* Fills a refusal and returns false. */
bool blis_live_refuse(blis_live_refusal *refusal, int status, const char *type, const char *param,
                      const char *format, ...) BLIS_PRINTF(5, 6);

#endif
