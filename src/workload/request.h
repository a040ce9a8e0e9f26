/*
 * request.h - a request on arrival, and the source of requests.
 *
 * Strings that many requests share (tenant, SLO class, model, ...) are stored once,
 * in the workload's string table. A request contains their numbers; 0 is the empty
 * string.
 *
 * In a closed loop, a client sends the next request of a conversation after it has received the
 * response to the previous one. Such follow-ups do not come from the stream of arrivals. The source
 * creates them when the end of a request is reported to it.
 */
#ifndef BLIS_WORKLOAD_REQUEST_H
#define BLIS_WORKLOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/intern.h"
#include "base/error.h"

/*
 * A run of prompt tokens with a known origin: tokens [offset, offset + length) of the content with
 * number stream. Two tokens are equal if and only if they have the same stream and position. Tokens
 * themselves are never stored.
 */
typedef struct blis_segment {
  uint64_t stream;
  uint32_t offset_tokens;
  uint32_t length_tokens;
} blis_segment;

/*
 * A program (an agent that works on one task) that sends many requests, and the service that it has
 * received so far, as observed by its clients. It changes whenever one of its requests ends.
 */
typedef struct blis_program {
  uint32_t name;          /* a number in the string table */
  uint32_t root_session;  /* number in the string table: the session of its first request, unique
                             to the program */
  int64_t started_us;     /* arrival time of its first request */
  int64_t ended_requests; /* requests ended, with any outcome */
  int64_t requests_left;  /* requests not yet ended; -1 = unknown */
  int64_t prompt_tokens;  /* prompt tokens of completed requests, including cached tokens */
  int64_t output_tokens;  /* output tokens of completed requests */
  int64_t service_us;     /* sum over completed requests of the time from admission to the end */
} blis_program;

/* A request as a call of a program. */
typedef struct blis_call {
  const blis_program *program;
  uint32_t parent_session; /* a number in the string table; 0 = the root */
  /* The part of blis_program.service_us on the longest path to this call. */
  int64_t path_service_us;
  /*
   * Minimum time between the end of this call and a later call with the same context; -1 = no such
   * call, or unknown.
   */
  int64_t reused_after_us;
} blis_call;

typedef struct blis_request {
  int64_t arrival_us;
  int64_t deadline_us; /* absolute; 0 = none */
  int64_t number;      /* see blis_request_id */
  uint32_t prompt_tokens;
  uint32_t output_tokens;     /* number of tokens that it will produce; never shown to policies */
  uint32_t max_output_tokens; /* limit set by the client; equals output_tokens without a limit */
  /*
   * The prompt consists of these segments, followed by the request's own tokens. Borrowed from the
   * source. Valid until the request is released or the source is freed; for a follow-up, until it
   * has ended.
   */
  const blis_segment *segments;
  uint32_t segment_count;
  uint32_t shared_tokens; /* sum of the segments' lengths, <= prompt_tokens */
  uint32_t tenant;        /* numbers in the string table */
  uint32_t slo_class;
  uint32_t model;
  uint32_t session;
  uint32_t client;
  uint32_t prefix_group;
  uint32_t prefix_tokens;
  int32_t round_index; /* turn of the session, from 0 */
  uint32_t adapter;    /* LoRA adapter; a number in the string table */
  /*
   * For cascades of models. cascade is the chain of models that replaces the configured chain
   * ("small,large"), or "-" for only the request's own model. mean_logprob is the mean
   * log-probability of the response ("-1.5"), or a list by model, such as "small=-1.5;large=-0.3".
   * Both are numbers in the string table; 0 = not set.
   */
  uint32_t cascade;
  uint32_t mean_logprob;
  int64_t slo_target_us; /* target time to first token; 0 = none */
  /*
   * With has_think_time: recorded time from the end of the session's previous round to the arrival
   * of this one.
   */
  int64_t think_us;
  double reason_ratio;  /* fraction of the output that is reasoning, 0 to 1 */
  uint32_t text_tokens; /* text tokens of a multimodal prompt; for other prompts all four members
                           are 0 */
  uint32_t image_tokens;
  uint32_t audio_tokens;
  uint32_t video_tokens;
  bool has_think_time;
  bool is_streaming;
  /*
   * The output continues the stream of the last segment, because the prompt of a later request
   * contains the output. In this case shared_tokens equals prompt_tokens.
   */
  bool shares_output;
  /*
   * The later prompt includes the last output token, because that prompt was planned in advance. In
   * contrast, a follow-up prompt contains only the tokens in the KV cache.
   */
  bool shares_last_output;
  /* NULL = not part of a program. Borrowed, valid as long as the segments; not stored in lists. */
  const blis_call *call;
} blis_request;

/* Sufficient for most ids; longer ids are truncated. */
enum { BLIS_REQUEST_ID_SIZE = 256 };

/*
 * Returns the id of a request: "request_<number>", or for a follow-up, whose number is -1, -2, ...
 * in order of creation, "session_<session>_round_<round_index>_<-number>". The result is the buffer
 * id.
 */
const char *blis_request_id(const blis_request *request, const blis_intern *strings,
                            char id[BLIS_REQUEST_ID_SIZE]);

/* Like blis_request_id, from its components; session may be NULL for numbers of at least 0. */
const char *blis_request_id_of(int64_t number, const char *session, int32_t round_index,
                               char id[BLIS_REQUEST_ID_SIZE]);

/* Outcome of a request, reported to the source that created it. */
typedef struct blis_request_outcome {
  int64_t end_us;          /* end of its last step, or time of its abandonment */
  int64_t produced_tokens; /* output tokens in the KV cache: one fewer than was sent */
  bool is_completed;       /* including length-capped requests; false = abandoned */
  /* Same meaning as in records, from its arrival; -1 = not reached. */
  int64_t scheduling_delay_us;
  int64_t ttft_us;
  int64_t cached_tokens; /* cached tokens of its prompt at its first admission */
} blis_request_outcome;

/*
 * A stream of requests in order of arrival. Requests with equal arrivals are in the order of the
 * trace, or of the clients of a generator. Traces, generators, and Lua iterators implement this
 * interface.
 */
typedef struct blis_request_source {
  /* At the end, sets *done = true, leaves *request unchanged, and returns BLIS_OK. */
  blis_status (*next)(void *state, blis_request *request, bool *done, blis_error *error);
  /*
   * NULL unless requests follow other requests. Called once for every request that has ended, in
   * order of ends. Not called for requests that are in flight when the run stops. Sets
   * *has_follow_up to true if it has set *follow_up. The follow-up arrives at or after
   * outcome->end_us, and after the requests of next() with the same arrival time.
   */
  blis_status (*ended)(void *state, const blis_request *request,
                       const blis_request_outcome *outcome, blis_request *follow_up,
                       bool *has_follow_up, blis_error *error);
  /*
   * NULL unless several requests may follow one request. Called after ended() has returned a
   * follow-up, for further follow-ups of the same end, until none is left.
   */
  blis_status (*also)(void *state, blis_request *follow_up, bool *has_follow_up, blis_error *error);
  /*
   * NULL unless the source reuses the memory of requests. Called once, after ended(), for every
   * request of next() that is no longer needed. Requests that are never released exist until the
   * source is freed.
   */
  void (*release)(void *state, const blis_request *request);
  /*
   * NULL unless requests may be moved forward in time. Such a request is returned a second time,
   * with an earlier arrival. Called for every request when it arrives; false = this copy is
   * outdated and must be dropped.
   */
  bool (*is_due)(void *state, const blis_request *request);
  void *state;
  blis_intern *strings; /* string table of the requests; borrowed, may grow */
  int64_t count;        /* number of requests that next() will return, or -1 if unknown */
} blis_request_source;

#endif
