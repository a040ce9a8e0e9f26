/*
 * ops.h - the variants of a hand-off: rules, and functions where a rule is not
 * enough.
 *
 * The table is chosen at construction (blis_disaggregation.ops). The logic of
 * hand-offs reads rules and calls functions; it does not name a profile. The usual
 * table is in design.c, each other table in a separate module.
 */
#ifndef BLIS_CLUSTER_HANDOFF_OPS_H
#define BLIS_CLUSTER_HANDOFF_OPS_H

#include "cluster/handoff/handoff.h"
#include "cluster/handoff/handoffs.h"

struct blis_handoff_ops {
  /* Which requests are split. */
  int64_t prompt_tokens_min; /* of a prompt that is prefilled elsewhere */
  bool checks_fit;           /* only a request that the destination can serve */
  bool checks_models;        /* source and destination must have the same model */
  bool may_cancel;           /* one instance serves it all where no KV needs to move */

  /* What others see of a hand-off. */
  bool counts_choice; /* the destination counts the request since the decision, not since the
                         arrival of the KV */
  bool traces;        /* the choices of both stages and the decision are traced */
  bool brings_times;  /* the request keeps the times of its prefill when it decodes */

  /* KV. */
  bool moves_last_token;   /* of the prompt, which the destination computes otherwise */
  bool reuses_cache;       /* of the destination, for blocks that it has */
  bool finds_room_at_once; /* blis_kv_demand.is_found_at_once */
  bool keeps_names;        /* the source gets the block names of the destination */
  bool shares_only_token;  /* an output of one token belongs to the session's next prompt */
  bool has_links;          /* transfers share links; otherwise start() times them */
  bool has_one_sender;     /* the first source's part of the KV counts for all */
  bool limits_time;        /* deadlines and timeouts apply since the first reservation attempt */
  bool may_lose;           /* a hand-off that can never proceed stays unfinished */
  blis_part prefill_part;  /* how the records of the two stages are named */
  blis_part decode_part;

  /* The part of the new record of the prefill that differs. */
  void (*fill_leg)(blis__handoff *handoff);

  /* Schedules the search for blocks after a prefill, at handoff->ready_us. */
  blis_status (*schedule_move)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* The hand-off seeks blocks now or is closed: drops the state of schedule_move. NULL =
     nothing. */
  void (*forget)(blis_cluster *cluster, blis__handoff *handoff);

  /* Starts the transfer of `bytes`, or stops it before its end. */
  blis_status (*start)(blis_cluster *cluster, blis__handoff *handoff, double bytes,
                       blis_error *error);
  void (*stop)(blis_cluster *cluster, blis__handoff *handoff);

  /* The rate of a transfer that would begin now, in bytes per us. */
  double (*bytes_per_us)(const blis_cluster *cluster, uint32_t source, uint32_t destination);

  /* The hand-off was dropped because it did not fit: sets the state of the request. */
  void (*drop)(blis_cluster *cluster, blis__cluster_request *request);

  /* The prefill has ended. NULL = nothing else happens. */
  blis_status (*prefilled)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* Callbacks of the destination about the request; as blis__attempt.events. NULL = as for any
     request. */
  const blis_instance_events *decode_events;

  /* The KV has arrived after the deadline. NULL if limits_time, which prevents it. */
  blis_status (*end_late)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* Hooks of the clock, at construction; NULL = none. */
  void (*add_hooks)(blis__hooks *hooks);
};

/* design.c: the table of hand-offs without one. */
extern const blis_handoff_ops blis__handoff_design;

#endif
