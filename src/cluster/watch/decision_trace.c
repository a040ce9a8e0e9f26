/* decision_trace.c - passes every decision to config.decisions. */
#include "cluster/cascade/cascade.h"
#include "cluster/feature.h"
#include "cluster/scaling/scaling.h"
#include "cluster/watch/decision_sink.h"
#include "policy/decider/decider.h"

static blis_status on_admission(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  const blis_decision_sink *sink = ud;
  const blis_admission_decision *decision = news->admission;
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  const char *policy = cluster->admission.ops == NULL ? "always-admit" : cluster->admission.name;
  bool has_reason = decision->verdict != BLIS_ADMIT && decision->reason != NULL;
  const blis_admission_event event = {.request = &shown,
                                      .now_us = cluster->now_us,
                                      .verdict = decision->verdict,
                                      .reason = has_reason ? decision->reason : policy};
  return sink->admission(sink->ud, &event, error);
}

static blis_status on_routing(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  const blis_decision_sink *sink = ud;
  const blis_routing_event event = {.request = news->shown,
                                    .now_us = cluster->now_us,
                                    .view = *news->view,
                                    .decision = news->routing,
                                    .policy = news->policy};
  return sink->routing(sink->ud, &event, error);
}

static blis_status on_split(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_decision_sink *sink = ud;
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  const blis_split *split = news->decided;
  const blis_split_event event = {.request = &shown,
                                  .now_us = cluster->now_us,
                                  .splits = split->splits,
                                  .prefill = split->prefill,
                                  .decode = news->instance,
                                  .policy = news->policy};
  return sink->split(sink->ud, &event, error);
}

static blis_status on_judged(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  const blis_decision_sink *sink = ud;
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  const blis__judgement *judgement = news->decided;
  const blis_cascade_event event = {.request = &shown,
                                    .now_us = cluster->now_us,
                                    .attempt = judgement->attempt,
                                    .verdict = judgement->verdict};
  return sink->cascade(sink->ud, &event, error);
}

static blis_status on_scale_decided(void *ud, blis_cluster *cluster, const blis__news *news,
                                    blis_error *error) {
  (void)cluster;
  const blis_decision_sink *sink = ud;
  const blis__scale_decided *decided = news->decided;
  const blis_scaling_event event = {
      .context = decided->context, .decision = decided->decision, .proposed = decided->proposed};
  return sink->scaling(sink->ud, &event, error);
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  const blis_decision_sink *sink = cluster->config.decisions;
  if (sink == NULL) {
    return BLIS_OK;
  }
  blis__snapshot_declare(&cluster->snapshot, sink->needs);
  const blis__listener listener = {
      .ud = (void *)sink,
      .phase = BLIS__WATCHERS,
      .need = BLIS__NEEDS_STATE,
      .on = {[BLIS__ADMISSION_DECIDED] = on_admission,
             [BLIS__ROUTING_DECIDED] = on_routing,
             [BLIS__SPLIT_DECIDED] = sink->split == NULL ? NULL : on_split,
             [BLIS__JUDGED] = sink->cascade == NULL ? NULL : on_judged,
             [BLIS__SCALE_DECIDED] = sink->scaling == NULL ? NULL : on_scale_decided}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

const blis__feature blis__decisions_feature = {
    .slot = BLIS_FEATURE_DECISIONS,
    .name = "decisions",
    .start = start,
};
