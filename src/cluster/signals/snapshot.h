/*
 * snapshot.h - the instance signals that policies see, and how fresh they are.
 *
 * One column of doubles per signal over all instances. Four kinds:
 *   engine signals (queue, batch, KV, ...): live with refresh_us 0.
 * Otherwise read again, all of an instance together, when it is shown at least
 *     refresh_us after the last reading; zero until the first. No event is
 *     scheduled for it.
 *   cached prefixes of a request: live with cache_delay_us 0. Otherwise as of
 *     the last mark, which is set for all instances together when a view is
 *     made at least cache_delay_us after the previous mark; until the first one
 *     nothing is cached.
 *   counters of the router side (pending, in flight): always current.
 *   constants: facts and sizes.
 * Both rules match BLIS (Go, inference-sim f90a1e3a).
 *
 * A candidate that represents several instances (candidates.h) has the sum of their
 * counts, and the mean of shares, rates, and times.
 *
 * Work follows need: an instance is read again only if it has changed, and unused
 * columns are not updated. A view costs O(instances that changed), O(candidates)
 * for each signal of the request, and for each other column only when the
 * candidates are not the first instances without gaps. With refresh_us and a reader
 * of engine signals, O(candidates) more once per interval.
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

/* A view, and its subject. */
typedef struct blis__shown {
  struct blis__snapshot *snapshot;
  const blis__group *group; /* NULL: must be set up again */
  const blis_routing_request *request;
  double *gathered; /* columns over these candidates; NULL until needed */
  blis_routing_view view;
} blis__shown;

typedef struct blis__snapshot {
  blis_alloc alloc;
  uint32_t count;
  blis_instance *const *instances; /* borrowed; NULL: an empty place */
  int64_t refresh_us;
  int64_t cache_delay_us;
  bool load_counts_in_flight;
  bool surveys_mark_caches;
  bool has_readers;         /* of delayed engine signals */
  bool has_marks;           /* the caches are marked periodically */
  blis_signal_set kept;     /* columns in use */
  blis_signal_set written;  /* engine signals that are read for them */
  int64_t caches_marked_us; /* when they were last */

  double *values; /* all columns, consecutively */
  int64_t *refreshed_us;
  bool *has_moved;              /* since its engine signals were read */
  bool *is_apart;               /* it cannot be read */
  uint8_t *changes;             /* what happened to an instance since the last view */
  BLIS_ARRAY(uint32_t) changed; /* the instances with changes; has capacity for all */
  bool *is_unmarked;
  BLIS_ARRAY(uint32_t) unmarked; /* moved since the last mark; has capacity for all */

  blis__instance_history *history; /* by instance; NULL if not recorded */
  double *idle_watts;              /* by instance */
  int64_t seen_us;                 /* time of the last reading */

  blis_least_tree *least_load;                /* of serving instances; NULL if unused */
  uint32_t least_count;                       /* its capacity; it grows */
  blis_extremes *extremes[BLIS_SIGNAL_COUNT]; /* the same, of columns */
  double *ranks; /* of ids, and their extremes; together with the extremes of any column */
  blis_extremes *rank_extremes;

  /* By signal: the part that provides it; NULL = the snapshot itself. Borrowed. */
  const struct blis__signal_source *sources[BLIS_SIGNAL_COUNT];
  /* The source that stores its readings of engines; NULL = none. */
  const struct blis__signal_source *keeper;

  blis__candidates candidates;
  blis__shown shown[BLIS__STAGE_COUNT];
  blis_routing_request peers_request; /* of the last decision that had some */
} blis__snapshot;

/* An optional part of the cluster that provides signals. Every function can be NULL. value can
   be NULL only if every signal of the part is global. */
typedef struct blis__signal_source {
  void *ud;
  blis_signal_set signals;
  /* Returns the current value of an instance. */
  double (*value)(void *ud, uint32_t i, blis_signal signal);
  /* Reads the engine signals of an instance, as the snapshot does: blis__snapshot_put. */
  void (*read)(void *ud, blis__snapshot *snapshot, uint32_t i);
  /* Shows the instance as if it had never been read. */
  void (*forget)(void *ud, blis__snapshot *snapshot, uint32_t i);
  /* Engine signals of an instance and a request, as last read. */
  double (*of_request)(const void *ud, uint32_t i, const blis_routing_request *request,
                       blis_signal signal);
  /* Value of the blocks of a prompt at an instance that caches the first `cached` of them, 0 to
     1. */
  double (*of_prompt)(const void *ud, uint32_t i, const blis_block_chain *chain, uint32_t cached);
} blis__signal_source;

/* Call it before the first event; borrows *source. At most one source has `read`. */
void blis__snapshot_add_source(blis__snapshot *snapshot, const blis__signal_source *source);

/* A value has changed in a column; for sources. */
void blis__snapshot_put(blis__snapshot *snapshot, blis_signal signal, uint32_t i, double value);

typedef struct blis__snapshot_config {
  blis_instance *const *instances;  /* borrowed, like ids and facts */
  const char *const *ids;           /* one each */
  const blis_instance_facts *facts; /* one each, or NULL */
  const uint32_t *fronts;           /* by instance; see candidates.h */
  uint32_t count;
  int64_t refresh_us;
  int64_t cache_delay_us;
  bool load_counts_in_flight;
  bool surveys_mark_caches;
} blis__snapshot_config;

/* BLIS_ERR_NOMEM leaves nothing allocated. */
BLIS_MUSTUSE blis_status blis__snapshot_init(blis__snapshot *snapshot, const blis_alloc *alloc,
                                             const blis__snapshot_config *config);
void blis__snapshot_deinit(blis__snapshot *snapshot);

/*
 * Before the first event: these columns will be kept up, and what policies
 * with such needs may read late (see signals.h) can be had.
 */
void blis__snapshot_declare(blis__snapshot *snapshot, blis_signal_set signals);

/* The same for the tree of a view. BLIS_ERR_NOMEM changes nothing. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_least_load(blis__snapshot *snapshot);

/* The same for the extremes of columns, which are kept up. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_extremes(blis__snapshot *snapshot,
                                                      blis_signal_set signals);

/* Things that happen: to the instance itself, and to requests routed to it. */
void blis__snapshot_instance_changed(blis__snapshot *snapshot, uint32_t i);
void blis__snapshot_add_pending(blis__snapshot *snapshot, uint32_t i, int change);
void blis__snapshot_add_in_flight(blis__snapshot *snapshot, uint32_t i, int change);
/* Changes both counts: adds or removes a request in transit to the instance. */
void blis__snapshot_add_coming(blis__snapshot *snapshot, uint32_t i, int change);
void blis__snapshot_add_prefill(blis__snapshot *snapshot, uint32_t i, int64_t tokens);

/*
 * An instance has been made in an empty place; it is out of service.
 * BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__snapshot_add(blis__snapshot *snapshot, uint32_t i);

/* Records the history of every instance. */
BLIS_MUSTUSE blis_status blis__snapshot_keep_history(blis__snapshot *snapshot);

/* Prompt tokens that are in transit there, or being decoded. */
void blis__snapshot_add_ongoing(blis__snapshot *snapshot, uint32_t i, int64_t tokens,
                                int64_t decode_tokens);

/* Out of service an instance is no candidate and is not read again. */
void blis__snapshot_put_in_service(blis__snapshot *snapshot, uint32_t i, bool is_in_service);

/* While partitioned, an instance continues to work, and its engine signals keep their last
   values; counters of the router continue. */
void blis__snapshot_set_apart(blis__snapshot *snapshot, uint32_t i, bool is_apart);

/* The instance has restarted: it has no readings yet. */
void blis__snapshot_forget(blis__snapshot *snapshot, uint32_t i);

/*
 * Leading blocks of chain in the cache of an instance, as policies see it.
 * BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__snapshot_cached_blocks(const blis__snapshot *snapshot, uint32_t i,
                                                      const blis_block_chain *chain,
                                                      uint32_t *blocks);

/* The candidates for a model (a number in strings) are used at now_us without any column:
   delayed signals are read again. */
BLIS_MUSTUSE blis_status blis__snapshot_refresh(blis__snapshot *snapshot,
                                                const blis_intern *strings, uint32_t model,
                                                int64_t now_us);

/*
 * Surveys the instances in service with a role (0 = any), of all models, including
 * represented instances. The maintained columns are as fresh as in a view at
 * now_us; if now_us is below 0, delayed signals are not read again. Caches are
 * included only with surveys_mark_caches. Surveys do not use caches otherwise,
 * because their frequency depends on the engine if steps are planned ahead, which
 * BLIS (Go) does not do.
 */
BLIS_MUSTUSE blis_status blis__snapshot_survey(blis__snapshot *snapshot, uint32_t role,
                                               int64_t now_us, const blis__group **group);

/*
 * The view for a decision about request at now_us. It is valid until the next
 * change of anything, together with the views of its stages of the same request,
 * and may have no candidates. NULL = out of memory.
 */
const blis_routing_view *blis__snapshot_show(blis__snapshot *snapshot,
                                             const blis_routing_request *request, int64_t now_us);

/* The same, of a request that need not stay. */
const blis_routing_view *blis__snapshot_show_peers(blis__snapshot *snapshot,
                                                   const blis_routing_request *request,
                                                   int64_t now_us);

/* The live value of a signal that does not depend on a request. */
double blis__snapshot_live(const blis__snapshot *snapshot, uint32_t i, blis_signal signal);

/* Between snapshot.c and snapshot_view.c. */

static inline double *blis__snapshot_column(const blis__snapshot *snapshot, blis_signal signal) {
  return snapshot->values + (size_t)signal * snapshot->count;
}

/* Keeps these columns up to date. */
void blis__snapshot_keep(blis__snapshot *snapshot, blis_signal_set signals);

/* Returns the time in microseconds, by the latency model of an instance, to compute this many
   prompt tokens together with its running batch; 0 if the model does not support it. */
double blis__snapshot_prefill_us(const blis__snapshot *snapshot, uint32_t i, double tokens);

/* Returns the wait of a prompt in addition to computation, in microseconds: the front end
   without other requests and, with rules.looks_ahead, the steps that are already formed. 0
   without both. */
double blis__snapshot_entry_us(const blis__snapshot *snapshot, uint32_t i, int64_t prompt_tokens);

/* Brings the columns up to date where something has changed. */
void blis__snapshot_update(blis__snapshot *snapshot);

/* Reads all data due at now_us, except caches. */
void blis__snapshot_catch_up(blis__snapshot *snapshot, blis__group *group, int64_t now_us);

/* Reads caches due at now_us, for the next decisions. */
void blis__snapshot_catch_up_caches(blis__snapshot *snapshot, int64_t now_us);

/* Returns false if the column was enabled too late to be correct. */
bool blis__snapshot_can_keep(const blis__snapshot *snapshot, blis_signal signal);

#endif
