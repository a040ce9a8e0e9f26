/*
 * feature.h - the descriptor of an optional feature of a cluster.
 *
 * The core loops over a table of descriptors (cluster/table/feature_table.c) and refers to no
 * feature by name. A feature keeps its state in its slot. It registers listeners (listeners.h) for
 * the events that it needs, and hooks (hooks.h) for the clock. It owns its event classes in
 * lists/event_classes.h.
 *
 * Every function may be NULL. Functions are called even if the feature is not configured. Its slot
 * then has no state, and the function must do nothing.
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

  /* Construction, in this order. Each is called once. BLIS_ERR_INVALID names the invalid value. */

  /* Called before the instances exist. Their IDs and configurations exist. */
  blis_status (*prepare)(blis_cluster *cluster, blis_error *error);
  /* Adds its callbacks to the events of every instance. */
  void (*watch)(blis_cluster *cluster, blis_instance_events *events);
  /* Extends the configuration of an instance that is about to be created, also later in a run. */
  void (*equip)(blis_cluster *cluster, uint32_t instance, blis_instance_config *config);
  /* Registers listeners and hooks. Called when instances and snapshot exist. */
  blis_status (*start)(blis_cluster *cluster, blis_error *error);
  /* Frees the state, if any; the instances no longer exist. */
  void (*free)(blis_cluster *cluster);

  /* Executes an event of one of the feature's classes. */
  blis__event_fn *event;

  /* Queries of the core. */

  /* Adds planned events of the feature that are not in the queue. */
  void (*list_pending)(const blis_cluster *cluster, blis__pending_list *list);
  /* Returns whether the feature has planned an event that may let a request continue. */
  bool (*expects_change)(const blis_cluster *cluster);
  /* Returns the number of requests in the feature that wait for an instance. */
  int64_t (*waiting)(const blis_cluster *cluster);
  /* Describes these requests for the message of a stuck run: ", 3 of them in ..."; "" for none. */
  void (*describe_waiting)(const blis_cluster *cluster, char *words, size_t size);
  /*
   * Stores the saturation of the instances: the current value, or the value that routers see if
   * is_live is false. Returns false if the feature does not measure it.
   */
  bool (*saturation)(blis_cluster *cluster, bool is_live, double *value);
};

/* Returns the sum over all features. */
int64_t blis__features_waiting(const blis_cluster *cluster);

/* Stores the value of the first feature that measures it. Returns false if no feature does. */
bool blis__features_saturation(blis_cluster *cluster, bool is_live, double *value);

/* Appends to the string words, which has space for size bytes. */
void blis__features_describe_waiting(const blis_cluster *cluster, char *words, size_t size);

bool blis__features_expect_change(const blis_cluster *cluster);

/* Construction. */

BLIS_MUSTUSE blis_status blis__features_prepare(blis_cluster *cluster, blis_error *error);
void blis__features_watch(blis_cluster *cluster, blis_instance_events *events);
void blis__features_equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config);
BLIS_MUSTUSE blis_status blis__features_start(blis_cluster *cluster, blis_error *error);
void blis__features_free(blis_cluster *cluster);

#endif
