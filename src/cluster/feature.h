/*
 * feature.h - the descriptor of an optional feature of a cluster.
 *
 * The core loops over a table of descriptors (cluster/table/feature_table.c) and
 * names no feature. A feature keeps its state in its slot, registers listeners
 * (listeners.h) for the moments in which it takes part and hooks (hooks.h) for the
 * clock, and owns its event classes in lists/event_classes.h.
 *
 * Every function may be NULL. Functions are also called if the feature is not
 * configured: its slot has no state then, and the function does nothing.
 */
#ifndef BLIS_CLUSTER_FEATURE_H
#define BLIS_CLUSTER_FEATURE_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/lists/features.h"
#include "cluster/pending_events.h"
#include "cluster/state.h"

/* Adds an event to a list of due events (pending_events.h). */
typedef struct blis__pending_list blis__pending_list;
void blis__pending_list_add(blis__pending_list *list, const blis_pending_event *event);

struct blis__feature {
  blis_feature_slot slot;
  const char *name;

  /* Construction, in this order. Each is called once; BLIS_ERR_INVALID names the wrong value. */

  /* Before the instances exist: their ids and configurations do. */
  blis_status (*prepare)(blis_cluster *cluster, blis_error *error);
  /* Adds to the functions that every instance reports to. */
  void (*watch)(blis_cluster *cluster, blis_instance_events *events);
  /* Adds to the configuration of an instance that is about to be made, also later in a run. */
  void (*equip)(blis_cluster *cluster, uint32_t instance, blis_instance_config *config);
  /* When instances and snapshot exist: registers listeners and hooks. */
  blis_status (*start)(blis_cluster *cluster, blis_error *error);
  /* Frees the state, if any; the instances no longer exist. */
  void (*free)(blis_cluster *cluster);

  /* Executes an event of one of its classes. */
  blis__event_fn *event;

  /* Queries of the core. */

  /* Adds its planned events outside of the queue. */
  void (*list_pending)(const blis_cluster *cluster, blis__pending_list *list);
  /* Whether it has planned an event that may let a request continue. */
  bool (*expects_change)(const blis_cluster *cluster);
  /* Number of requests in the feature that wait for an instance. */
  int64_t (*waiting)(const blis_cluster *cluster);
  /* Describes them for the message of a run that is stuck: ", 3 of them in ..."; "" for none. */
  void (*describe_waiting)(const blis_cluster *cluster, char *words, size_t size);
  /*
   * How full the instances are: now, or (is_live false) as routers see them. False: the feature
   * does not measure it.
   */
  bool (*saturation)(blis_cluster *cluster, bool is_live, double *value);
};

/* Sum over all features. */
int64_t blis__features_waiting(const blis_cluster *cluster);

/* By the first feature that measures it; false: none does. */
bool blis__features_saturation(blis_cluster *cluster, bool is_live, double *value);

/* Appends to the string words, which has size bytes. */
void blis__features_describe_waiting(const blis_cluster *cluster, char *words, size_t size);

bool blis__features_expect_change(const blis_cluster *cluster);

/* Construction. */

BLIS_MUSTUSE blis_status blis__features_prepare(blis_cluster *cluster, blis_error *error);
void blis__features_watch(blis_cluster *cluster, blis_instance_events *events);
void blis__features_equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config);
BLIS_MUSTUSE blis_status blis__features_start(blis_cluster *cluster, blis_error *error);
void blis__features_free(blis_cluster *cluster);

#endif
