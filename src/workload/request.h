/*
 * request.h - a request as it arrives, and the source of requests.
 *
 * Strings that many requests share (tenant, SLO class, model, ...) are stored once,
 * in the workload's string table. A request contains their numbers; 0 is the empty
 * string.
 *
 * In a closed loop a client sends the next request of a conversation when the last
 * one is answered. Such follow-ups do not come from the stream of arrivals: the
 * source creates them when the end of a request is reported to it.
 */
#ifndef BLIS_WORKLOAD_REQUEST_H
#define BLIS_WORKLOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/intern.h"
#include "base/error.h"

/*
 * A run of prompt tokens with a known origin: tokens [offset, offset + length)
 * of the content called stream. Two tokens are equal exactly when stream and
 * position are. Tokens themselves are never stored.
 */
typedef struct blis_segment {
  uint64_t stream;
  uint32_t offset_tokens;
  uint32_t length_tokens;
} blis_segment;

/*
 * A program (an agent at work on one task) that sends many requests, and the
 * service it has received so far, as far as its clients can observe it. It changes
 * whenever one of its requests ends.
 */
typedef struct blis_program {
  uint32_t name;          /* a number in the string table */
  uint32_t root_session;  /* likewise: the session of its first request, which no other program
                             has */
  int64_t started_us;     /* when its first request arrives */
  int64_t ended_requests; /* in whatever way */
  int64_t requests_left;  /* not yet ended; -1 = it does not say */
  int64_t prompt_tokens;  /* of its completed requests, including cached tokens */
  int64_t output_tokens;  /* of these */
  int64_t service_us;     /* of these, from admission to the end */
} blis_program;

/* A request as a call of a program. */
typedef struct blis_call {
  const blis_program *program;
  uint32_t parent_session; /* a number in the string table; 0 = the root */
  /* Of blis_program.service_us, the most on one way to this call. */
  int64_t path_service_us;
  /*
   * Minimum time between its end and a later call with the same context; -1 = there
   * is no such call, or it is unknown.
   */
  int64_t reused_after_us;
} blis_call;

typedef struct blis_request {
  int64_t arrival_us;
  int64_t deadline_us; /* absolute; 0 = none */
  int64_t number;      /* see blis_request_id */
  uint32_t prompt_tokens;
  uint32_t output_tokens;     /* how many it will produce: never for policies */
  uint32_t max_output_tokens; /* limit of the client; output_tokens without a limit */
  /*
   * The prompt consists of these segments, followed by the request's own tokens.
   * Borrowed from the source, valid until the request is released or the source
   * freed; segments of a follow-up until it has ended.
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
   * For cascades of models. cascade is the chain of models that replaces the
   * configured chain ("small,large"), or "-" for only the request's own model.
   * mean_logprob is the mean log-probability of the answer ("-1.5"), or a list by
   * model, such as "small=-1.5;large=-0.3". Numbers in the string table, 0 =
   * nothing.
   */
  uint32_t cascade;
  uint32_t mean_logprob;
  int64_t slo_target_us; /* wanted time to first token; 0 = none */
  /*
   * With has_think_time: from the end of the session's round before to the
   * arrival of this one, as recorded.
   */
  int64_t think_us;
  double reason_ratio;  /* share of the output that is reasoning, 0 to 1 */
  uint32_t text_tokens; /* of a multimodal prompt; otherwise all four are 0 */
  uint32_t image_tokens;
  uint32_t audio_tokens;
  uint32_t video_tokens;
  bool has_think_time;
  bool is_streaming;
  /*
   * The output continues the stream of the last segment, because a later request
   * has it in its prompt. shared_tokens equals prompt_tokens in this case.
   */
  bool shares_output;
  /*
   * The later prompt includes the last token, because it was planned beforehand. A
   * prompt that answers this request contains only the tokens in the KV cache.
   */
  bool shares_last_output;
  /*
   * NULL = not part of a program. Borrowed, valid as long as the segments; lists do
   * not keep it.
   */
  const blis_call *call;
} blis_request;

/* Sufficient for most ids; longer ones are cut. */
enum { BLIS_REQUEST_ID_SIZE = 256 };

/*
 * The id of a request: "request_<number>", or of a follow-up, whose number is
 * -1, -2, ... in the order in which follow-ups are made,
 * "session_<session>_round_<round_index>_<-number>". Returns id.
 */
const char *blis_request_id(const blis_request *request, const blis_intern *strings,
                            char id[BLIS_REQUEST_ID_SIZE]);

/* Like blis_request_id, from its components; session may be NULL for numbers of at least 0. */
const char *blis_request_id_of(int64_t number, const char *session, int32_t round_index,
                               char id[BLIS_REQUEST_ID_SIZE]);

/* How a request ended, for the source that made it. */
typedef struct blis_request_outcome {
  int64_t end_us;          /* end of its last step, or time of its abandonment */
  int64_t produced_tokens; /* output in the KV cache: one less than was sent */
  bool is_completed;       /* including length-capped requests; false = abandoned */
  /* As in records, from its arrival; -1 = it never came to that. */
  int64_t scheduling_delay_us;
  int64_t ttft_us;
  int64_t cached_tokens; /* of its prompt, when it was first admitted */
} blis_request_outcome;

/*
 * A stream of requests in order of arrival; equal arrivals are in the order of the
 * trace, or of the clients of a generator. Implemented by traces, generators, and
 * Lua iterators.
 */
typedef struct blis_request_source {
  /* *done = true and BLIS_OK at the end; *request is then untouched. */
  blis_status (*next)(void *state, blis_request *request, bool *done, blis_error *error);
  /*
   * NULL unless requests follow others. Called once for every request that ended,
   * in the order of ends; not called for requests that are in flight when the run
   * stops. Sets *has_follow_up to true when *follow_up was set. The follow-up
   * arrives at or after outcome->end_us, and after the requests of next() with the
   * same arrival time.
   */
  blis_status (*ended)(void *state, const blis_request *request,
                       const blis_request_outcome *outcome, blis_request *follow_up,
                       bool *has_follow_up, blis_error *error);
  /*
   * NULL unless several requests may follow one. Called after an ended that
   * returned a follow-up, for the next follow-up of the same end, until none is
   * left.
   */
  blis_status (*also)(void *state, blis_request *follow_up, bool *has_follow_up, blis_error *error);
  /*
   * NULL unless the source reclaims what it lends. Called once for every request of
   * next() that is not needed any longer, after ended. Requests that are never
   * released stay until the source is freed.
   */
  void (*release)(void *state, const blis_request *request);
  /*
   * NULL unless requests may be brought forward: such a request is returned a
   * second time, with an earlier arrival. Called for every request when it arrives;
   * false = this request is outdated, drop it.
   */
  bool (*is_due)(void *state, const blis_request *request);
  void *state;
  blis_intern *strings; /* the strings of the numbers; borrowed, may grow */
  int64_t count;        /* number of requests that next() will return, or -1 if unknown */
} blis_request_source;

#endif
