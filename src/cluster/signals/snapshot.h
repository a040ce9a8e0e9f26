/*
 * snapshot.h - the instance signals that policies read, and their freshness.
 *
 * There is one column of doubles per signal, with one value per instance. There are four kinds of
 * signals:
 * - Engine signals (queue, batch, KV, ...) are live if refresh_us is 0. Otherwise, all signals of
 * an instance are read again when it is shown at least refresh_us after the last reading. They are
 * 0 until the first reading. No event is scheduled for this.
 * - Cached prefixes of a request are live if cache_delay_us is 0. Otherwise, they are those of the
 *   last mark. The mark is set for all instances together when a view is created at least
 *   cache_delay_us after the previous mark. Until the first mark, nothing is cached.
 * - Counters of the router (pending, in flight) are always current.
 * - Constants are facts and sizes.
 *
 * The rules for delays match BLIS (Go, inference-sim f90a1e3a).
 *
 * For a candidate that represents several instances (candidates.h), counts are summed, and
 * fractions, rates, and times are averaged.
 *
 * Unnecessary work is avoided: an instance is read again only if it has changed, and unused columns
 * are not updated. A view costs O(changed instances), plus O(candidates) for each signal of the
 * request. Other columns also cost O(candidates) if the candidates are not the first instances
 * without gaps. With refresh_us and a reader of engine signals, there is an additional cost of
 * O(candidates) once per interval.
 */
#ifndef BLIS_CLUSTER_SIGNALS_SNAPSHOT_H
#define BLIS_CLUSTER_SIGNALS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "cluster/signals/candidates.h"
#include "cluster/signals/instance_history.h"
#include "instance/instance.h"
#include "policy/contract/facts.h"
#include "policy/contract/view.h"

/* A view, and its group and request. */
typedef struct blis__shown {
  struct blis__snapshot *snapshot;
  const blis__group *group; /* NULL = the view must be set up again */
  const blis_routing_request *request;
  double *gathered; /* columns over these candidates; NULL until needed */
  blis_routing_view view;
} blis__shown;

typedef struct blis__snapshot {
  blis_alloc alloc;
  uint32_t count;
  blis_instance *const *instances; /* borrowed; NULL entries are empty slots */
  int64_t refresh_us;
  int64_t cache_delay_us;
  bool load_counts_in_flight;
  bool surveys_mark_caches;
  bool has_readers;         /* delayed engine signals are read */
  bool has_marks;           /* the caches are marked periodically */
  blis_signal_set kept;     /* columns in use */
  blis_signal_set written;  /* engine signals that are read for the columns in use */
  int64_t caches_marked_us; /* time of the last mark */

  double *values; /* all columns, consecutively */
  int64_t *refreshed_us;
  bool *has_moved;              /* it has changed since its engine signals were read */
  bool *is_apart;               /* it is partitioned and cannot be read */
  uint8_t *changes;             /* kinds of changes of each instance since the last view */
  BLIS_ARRAY(uint32_t) changed; /* the instances with changes; has capacity for all */
  bool *is_unmarked;
  /* Instances that changed since the last mark; has capacity for all. */
  BLIS_ARRAY(uint32_t) unmarked;

  blis__instance_history *history; /* indexed by instance; NULL if not recorded */
  double *idle_watts;              /* indexed by instance */
  int64_t seen_us;                 /* time of the last reading */

  /* Tree over the loads of serving instances; NULL if unused. */
  blis_least_tree *least_load;
  uint32_t least_count;                       /* capacity of the tree, which grows */
  blis_extremes *extremes[BLIS_SIGNAL_COUNT]; /* trees over columns; NULL if unused */
  double *ranks; /* ranks of IDs and their extremes, used if any column has extremes */
  blis_extremes *rank_extremes;

  /* The source of each signal; NULL = the snapshot itself. Borrowed. */
  const struct blis__signal_source *sources[BLIS_SIGNAL_COUNT];
  /* The source that stores its own engine readings; NULL = none. */
  const struct blis__signal_source *keeper;

  blis__candidates candidates;
  blis__shown shown[BLIS__STAGE_COUNT];
  blis_routing_request peers_request; /* request of the last decision that queried peers */
} blis__snapshot;

/* An optional part of the cluster that provides signals. Every function may be NULL. value may be
   NULL only if all signals of the part are global. */
typedef struct blis__signal_source {
  void *ud;
  blis_signal_set signals;
  /* Returns the current value of an instance. */
  double (*value)(void *ud, uint32_t i, blis_signal signal);
  /*
   * Reads the engine signals of an instance when the snapshot does, and stores them with
   * blis__snapshot_put.
   */
  void (*read)(void *ud, blis__snapshot *snapshot, uint32_t i);
  /* Resets the readings of an instance, as if it had never been read. */
  void (*forget)(void *ud, blis__snapshot *snapshot, uint32_t i);
  /* Returns an engine signal of an instance for a request, as last read. */
  double (*of_request)(const void *ud, uint32_t i, const blis_routing_request *request,
                       blis_signal signal);
  /* Returns the value (0 to 1) of the blocks of a prompt on an instance that caches the first
     `cached` blocks. */
  double (*of_prompt)(const void *ud, uint32_t i, const blis_block_chain *chain, uint32_t cached);
} blis__signal_source;

/*
 * Adds a source, which is borrowed. Call it before the first event. At most one source may have
 * `read`.
 */
void blis__snapshot_add_source(blis__snapshot *snapshot, const blis__signal_source *source);

/* Stores a changed value in a column. For sources. */
void blis__snapshot_put(blis__snapshot *snapshot, blis_signal signal, uint32_t i, double value);

typedef struct blis__snapshot_config {
  blis_instance *const *instances;  /* borrowed, like ids and facts */
  const char *const *ids;           /* one per instance */
  const blis_instance_facts *facts; /* one per instance, or NULL */
  const uint32_t *fronts;           /* indexed by instance; see candidates.h */
  uint32_t count;
  int64_t refresh_us;
  int64_t cache_delay_us;
  bool load_counts_in_flight;
  bool surveys_mark_caches;
} blis__snapshot_config;

/* After BLIS_ERR_NOMEM, nothing is allocated. */
BLIS_MUSTUSE blis_status blis__snapshot_init(blis__snapshot *snapshot, const blis_alloc *alloc,
                                             const blis__snapshot_config *config);
void blis__snapshot_deinit(blis__snapshot *snapshot);

/*
 * Declares the columns that must be maintained, before the first event. This also enables data that
 * policies with these needs may read later (see signals.h).
 */
void blis__snapshot_declare(blis__snapshot *snapshot, blis_signal_set signals);

/* Enables the least-load tree of views. BLIS_ERR_NOMEM changes nothing. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_least_load(blis__snapshot *snapshot);

/* Enables the extremes of columns, which are also maintained. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_extremes(blis__snapshot *snapshot,
                                                      blis_signal_set signals);

/* Record changes of an instance, and of the requests routed to it. */
void blis__snapshot_instance_changed(blis__snapshot *snapshot, uint32_t i);
void blis__snapshot_add_pending(blis__snapshot *snapshot, uint32_t i, int change);
void blis__snapshot_add_in_flight(blis__snapshot *snapshot, uint32_t i, int change);
/* Changes both counts: adds or removes a request in transit to the instance. */
void blis__snapshot_add_coming(blis__snapshot *snapshot, uint32_t i, int change);
void blis__snapshot_add_prefill(blis__snapshot *snapshot, uint32_t i, int64_t tokens);

/*
 * Adds an instance that was created in an empty slot. It is out of service. BLIS_ERR_NOMEM or
 * BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__snapshot_add(blis__snapshot *snapshot, uint32_t i);

/* Starts recording the history of every instance. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_history(blis__snapshot *snapshot);

/* Adds prompt tokens of requests that are in transit to the instance, or that it decodes. */
void blis__snapshot_add_ongoing(blis__snapshot *snapshot, uint32_t i, int64_t tokens,
                                int64_t decode_tokens);

/*
 * Sets whether an instance is in service. Out of service, it is not a candidate and is not read
 * again.
 */
void blis__snapshot_put_in_service(blis__snapshot *snapshot, uint32_t i, bool is_in_service);

/* Sets whether an instance is partitioned. A partitioned instance continues to work, but its engine
   signals keep their last values. Counters of the router are still updated. */
void blis__snapshot_set_apart(blis__snapshot *snapshot, uint32_t i, bool is_apart);

/* Called when an instance has restarted and has no readings yet. */
void blis__snapshot_forget(blis__snapshot *snapshot, uint32_t i);

/*
 * Stores the number of leading blocks of chain in the cache of an instance, as policies see it.
 * BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__snapshot_cached_blocks(const blis__snapshot *snapshot, uint32_t i,
                                                      const blis_block_chain *chain,
                                                      uint32_t *blocks);

/* Reads delayed signals of the candidates for a model (an ID in strings) that are due at now_us,
   for a decision that uses no column. */
BLIS_MUSTUSE blis_status blis__snapshot_refresh(blis__snapshot *snapshot,
                                                const blis_intern *strings, uint32_t model,
                                                int64_t now_us);

/*
 * Surveys the instances in service with a role (0 = any), of all models, including represented
 * instances. The maintained columns are as fresh as in a view at now_us. If now_us is negative,
 * delayed signals are not read again. Caches are marked only with surveys_mark_caches. Otherwise,
 * surveys leave caches alone, because the number of surveys depends on the engine if steps are
 * planned ahead. BLIS (Go) does not plan ahead.
 */
BLIS_MUSTUSE blis_status blis__snapshot_survey(blis__snapshot *snapshot, uint32_t role,
                                               int64_t now_us, const blis__group **group);

/*
 * Returns the view for a decision about request at now_us. It is valid until the next change of any
 * state, together with the views for other stages of the same request. It may have no candidates.
 * NULL = out of memory.
 */
const blis_routing_view *blis__snapshot_show(blis__snapshot *snapshot,
                                             const blis_routing_request *request, int64_t now_us);

/* Like blis__snapshot_show, for a request that need not outlive the call. */
const blis_routing_view *blis__snapshot_show_peers(blis__snapshot *snapshot,
                                                   const blis_routing_request *request,
                                                   int64_t now_us);

/* Returns the live value of a signal that does not depend on a request. */
double blis__snapshot_live(const blis__snapshot *snapshot, uint32_t i, blis_signal signal);

/* The rest is shared by snapshot.c and snapshot_view.c. */

static inline double *blis__snapshot_column(const blis__snapshot *snapshot, blis_signal signal) {
  return snapshot->values + (size_t)signal * snapshot->count;
}

/* Starts maintaining these columns. */
void blis__snapshot_keep(blis__snapshot *snapshot, blis_signal_set signals);

/* Returns the time in microseconds that an instance needs to compute this many prompt tokens
   together with its running batch, according to its latency model; 0 if the model does not support
   this. */
double blis__snapshot_prefill_us(const blis__snapshot *snapshot, uint32_t i, double tokens);

/* Returns the wait of a prompt in addition to its computation, in microseconds. It consists of the
   time in an idle front end and, with rules.looks_ahead, the steps that are already formed. 0
   without both. */
double blis__snapshot_entry_us(const blis__snapshot *snapshot, uint32_t i, int64_t prompt_tokens);

/* Updates the columns for changed instances. */
void blis__snapshot_update(blis__snapshot *snapshot);

/* Reads all data of the group that is due at now_us, except caches. */
void blis__snapshot_catch_up(blis__snapshot *snapshot, blis__group *group, int64_t now_us);

/* Marks caches if a mark is due at now_us, for the next decisions. */
void blis__snapshot_catch_up_caches(blis__snapshot *snapshot, int64_t now_us);

/* Returns false if it is too late to enable the column with correct values. */
bool blis__snapshot_can_keep(const blis__snapshot *snapshot, blis_signal signal);

#endif
