/* decision_sink.h - receives the decisions of a cluster: admission, routing, disaggregation, and
   autoscaling. */
#ifndef BLIS_CLUSTER_WATCH_DECISION_SINK_H
#define BLIS_CLUSTER_WATCH_DECISION_SINK_H

#include "policy/admission/admission.h"
#include "policy/autoscale/autoscaler.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/router.h"

/* All pointers of these events are borrowed during the call. */
typedef struct blis_admission_event {
  const blis_routing_request *request;
  int64_t now_us;
  blis_admission_verdict verdict;
  const char *reason; /* reason of a rejection or a delay; otherwise, name of the policy */
} blis_admission_event;

typedef struct blis_routing_event {
  const blis_routing_request *request;
  int64_t now_us;
  const blis_routing_view *view; /* the view that the policy received; may be empty */
  const blis_decision *decision; /* with score components, if the policy has any */
  const char *policy;
} blis_routing_event;

/* A decision whether a request is split into prefill and decode. */
typedef struct blis_split_event {
  const blis_routing_request *request;
  int64_t now_us;
  bool splits;
  int64_t prefill; /* instance selected by the policy; -1 = the router chooses */
  uint32_t decode; /* instance that decodes */
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

/* A failure of a function stops the run. */
typedef struct blis_decision_sink {
  blis_status (*admission)(void *ud, const blis_admission_event *event, blis_error *error);
  blis_status (*routing)(void *ud, const blis_routing_event *event, blis_error *error);
  /* Reports the decision about an attempt of a cascade. NULL = not needed. */
  blis_status (*cascade)(void *ud, const blis_cascade_event *event, blis_error *error);
  /* NULL = not needed */
  blis_status (*split)(void *ud, const blis_split_event *event, blis_error *error);
  /* NULL = not needed */
  blis_status (*scaling)(void *ud, const blis_scaling_event *event, blis_error *error);
  void *ud;
  blis_signal_set needs; /* columns that the sink reads in the view of an event */
} blis_decision_sink;

#endif
