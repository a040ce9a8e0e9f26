/*
 * ops.h - the variants of hand-offs. A variant consists of rules, and of functions where rules are
 * not sufficient.
 *
 * The table is chosen at construction (blis_disaggregation.ops). The hand-off code reads rules and
 * calls functions, and never refers to a profile. The default table is in design.c. Each other
 * table is in a separate module.
 */
#ifndef BLIS_CLUSTER_HANDOFF_OPS_H
#define BLIS_CLUSTER_HANDOFF_OPS_H

#include "cluster/handoff/handoff.h"
#include "cluster/handoff/handoffs.h"

struct blis_handoff_ops {
  /* Rules that select the requests to split. */
  int64_t prompt_tokens_min; /* minimum length of a prompt that is prefilled on another instance */
  bool checks_fit;           /* split only requests that the destination can serve */
  bool checks_models;        /* source and destination must have the same model */
  /* If no KV needs to be transferred, one instance serves the whole request. */
  bool may_cancel;

  /* Visibility of a hand-off to policies and traces. */
  /* The destination counts the request from the decision, not from the arrival of the KV. */
  bool counts_choice;
  bool traces;       /* the choices of both stages and the decision are traced */
  bool brings_times; /* the request keeps the times of its prefill when it decodes */

  /* Rules for KV. */
  /* Transfer the KV of the last prompt token; otherwise, the destination computes it. */
  bool moves_last_token;
  bool reuses_cache;       /* use blocks that are cached at the destination */
  bool finds_room_at_once; /* blis_kv_demand.is_found_at_once */
  bool keeps_names;        /* the source uses the block names of the destination */
  bool shares_only_token;  /* an output of one token is part of the session's next prompt */
  bool has_links;          /* transfers share links; otherwise start() times them */
  bool has_one_sender;     /* the KV share of the first source is used for all transfers */
  bool limits_time;        /* deadlines and timeouts apply from the first reservation attempt */
  bool may_lose;           /* a hand-off that can never proceed stays unfinished */
  blis_part prefill_part;  /* the name suffixes of the records of the two stages */
  blis_part decode_part;

  /* Sets the members of the new prefill record that differ between variants. */
  void (*fill_leg)(blis__handoff *handoff);

  /* Schedules the search for blocks after a prefill, at handoff->ready_us. */
  blis_status (*schedule_move)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* Drops the state of schedule_move. Called when the hand-off seeks blocks or is closed. NULL = no
     state. */
  void (*forget)(blis_cluster *cluster, blis__handoff *handoff);

  /* Start the transfer of `bytes`, and stop it before its end. */
  blis_status (*start)(blis_cluster *cluster, blis__handoff *handoff, double bytes,
                       blis_error *error);
  void (*stop)(blis_cluster *cluster, blis__handoff *handoff);

  /* Returns the rate of a transfer that would begin now, in bytes per us. */
  double (*bytes_per_us)(const blis_cluster *cluster, uint32_t source, uint32_t destination);

  /* Sets the state of a request whose hand-off was dropped because it did not fit. */
  void (*drop)(blis_cluster *cluster, blis__cluster_request *request);

  /* Called at the end of the prefill. NULL = no further action. */
  blis_status (*prefilled)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* Callbacks for the events of the request at the destination, like blis__attempt.events. NULL =
     the default callbacks. */
  const blis_instance_events *decode_events;

  /*
   * Handles KV that arrives after the deadline. NULL if limits_time is set, which prevents this
   * case.
   */
  blis_status (*end_late)(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

  /* Adds hooks to the clock at construction; NULL = none. */
  void (*add_hooks)(blis__hooks *hooks);
};

/* design.c: the default variant. */
extern const blis_handoff_ops blis__handoff_design;

#endif
