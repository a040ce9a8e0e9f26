/* decision_sink.h - receiver of a cluster's decisions: admission, routing, disaggregation, and
   evaluations of autoscalers. */
#ifndef BLIS_CLUSTER_WATCH_DECISION_SINK_H
#define BLIS_CLUSTER_WATCH_DECISION_SINK_H

#include "policy/admission/admission.h"
#include "policy/autoscale/autoscaler.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/router.h"

/* All borrowed during the call. */
typedef struct blis_admission_event {
  const blis_routing_request *request;
  int64_t now_us;
  blis_admission_verdict verdict;
  const char *reason; /* of a rejection or a delay; else the policy's name */
} blis_admission_event;

typedef struct blis_routing_event {
  const blis_routing_request *request;
  int64_t now_us;
  const blis_routing_view *view; /* as the policy saw it; it may be empty */
  const blis_decision *decision; /* with its parts, if the policy has any */
  const char *policy;
} blis_routing_event;

/* Whether a request is split into prefill and decode. */
typedef struct blis_split_event {
  const blis_routing_request *request;
  int64_t now_us;
  bool splits;
  int64_t prefill; /* the instance that was named; -1 = the router chooses */
  uint32_t decode; /* the instance that decodes */
  const char *policy;
} blis_split_event;

typedef struct blis_cascade_event {
  const blis_routing_request *request;
  int64_t now_us;
  const blis_cascade_attempt *attempt;
  blis_cascade_verdict verdict;
} blis_cascade_event;

/* An evaluation of an autoscaler, with or without a change. */
typedef struct blis_scaling_event {
  const blis_scale_context *context;
  const blis_scale_decision *decision; /* within bounds */
  int64_t proposed;                    /* target before clamping */
} blis_scaling_event;

/* A failure stops the run. */
typedef struct blis_decision_sink {
  blis_status (*admission)(void *ud, const blis_admission_event *event, blis_error *error);
  blis_status (*routing)(void *ud, const blis_routing_event *event, blis_error *error);
  /* Reports the decision about an attempt of a cascade. NULL = not wanted. */
  blis_status (*cascade)(void *ud, const blis_cascade_event *event, blis_error *error);
  /* NULL = not wanted */
  blis_status (*split)(void *ud, const blis_split_event *event, blis_error *error);
  /* NULL = not wanted */
  blis_status (*scaling)(void *ud, const blis_scaling_event *event, blis_error *error);
  void *ud;
  blis_signal_set needs; /* columns that it reads in the view of an event */
} blis_decision_sink;

#endif
