/*
 * listeners.h - the lifecycle events ("moments") of requests and instances, and their listeners.
 *
 * The stages (stages.h), the end of requests (ending.h), and the lifecycle of instances announce
 * moments without referring to listeners. Every optional part of a cluster is a listener. It has a
 * function for each moment that it handles, and is added if it is configured. A moment without
 * listeners costs one comparison.
 *
 * Listeners are called in the order of their phases, and within a phase in the
 * order in which they were added. The first failure stops the run.
 *
 * A listener also declares its need for time order, which determines how far instances may lag
 * behind the clock or run ahead of each other.
 */
#ifndef BLIS_CLUSTER_LISTENERS_H
#define BLIS_CLUSTER_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "cluster/cluster.h"
#include "cluster/requests/request_table.h"
#include "instance/parts/remote_kv.h"

/*
 * In the order of the lifecycle of a request. The comments name the fields of blis__news that are
 * set.
 */
typedef enum blis__moment {
  BLIS__ARRIVED,           /* the request is counted and in the table; delay_us */
  BLIS__ADMITTING,         /* before any admission policy; refusal */
  BLIS__ADMISSION_DECIDED, /* admission */
  BLIS__ADMITTED,          /* routing follows, unless a listener takes the request */
  BLIS__TO_BE_ROUTED,      /* before any routing policy; the request may be taken or rejected */
  BLIS__WAITING,           /* the request waits, because no instance may take it */
  BLIS__ROUTING,           /* before any routing policy; view */
  BLIS__TO_BE_ASKED,       /* before the router chooses; peer, which may be set */
  BLIS__CHOSEN,            /* choice, which may be changed and may be a rejection */
  BLIS__ROUTING_DECIDED,   /* shown, view, routing, policy; it may be a rejection */
  BLIS__SPLIT_DECIDED,     /* instance, which decodes; decided, policy */
  /* Like SPLIT_DECIDED, but always sent; another router may now be called. */
  BLIS__SPLIT_SETTLED,
  /* Choice, not reported yet; the request may be taken or sent elsewhere. */
  BLIS__TO_BE_SENT,
  BLIS__BELIEVED,        /* instance, routing with a cache prediction */
  BLIS__ROUTED,          /* instance, which has not received the request yet */
  BLIS__JOINED,          /* instance, which receives the request now; its blocks have names */
  BLIS__PREFILLED,       /* instance, which has computed the prompt */
  BLIS__FIRST_TOKEN,     /* again after a preemption */
  BLIS__TOKEN,           /* instance, count: its number, from 1 */
  BLIS__TRANSFER_BEGAN,  /* KV transfer from instance to destination */
  BLIS__TRANSFER_ENDED,  /* like TRANSFER_BEGAN; the request has not joined the destination yet */
  BLIS__COMPLETED,       /* end_us, counts_itl; the request is still on its instance */
  BLIS__LEFT,            /* instance, which the request has left in any way; end_us */
  BLIS__SENT_AGAIN,      /* loss; the request was lost by an instance or a hand-off */
  BLIS__OVER,            /* end_us, reason, goes_on; the request is in its final state */
  BLIS__JUDGED,          /* decided; an attempt was judged */
  BLIS__REPORTING,       /* end, to which listeners may add before the sink receives it */
  BLIS__ENDED,           /* end, after the sink has received it; also for unfinished requests */
  BLIS__BATCH_FORMED,    /* instance, count requests in the batch; no request */
  BLIS__SERVICE_CHANGED, /* instance, with a changed service state; no request */
  /* Instance, which has entered a part of its start, possibly again; no request. */
  BLIS__STATE_ENTERED,
  BLIS__START_FAILED,  /* instance, which restarts or has failed; no request */
  BLIS__INSTANCE_LOST, /* instance, which is about to lose its requests and cache; loss; no
                          request */
  BLIS__HUNG,          /* instance, which stops all steps; no request */
  BLIS__RESTARTED,     /* instance, with a restarted engine; no request */
  /* Instance, the first of a new unit that copies the unit of destination; no request. */
  BLIS__UNIT_PLANNED,
  BLIS__UNIT_MADE,     /* like UNIT_PLANNED, after the instances exist; no request */
  BLIS__SCALE_DECIDED, /* decided; no request */
  BLIS__FINISHING,     /* the run has ended, but nothing is closed yet; no request */
  BLIS__MOMENT_COUNT
} blis__moment;

/* All pointers are borrowed during the call. */
typedef struct blis__news {
  blis__cluster_request *request;
  uint32_t instance;
  uint32_t destination;
  int64_t count;
  int64_t end_us;
  blis_loss loss;
  const char *reason; /* reason of a rejection or failure; or NULL */
  const blis_admission_decision *admission;
  const blis_decision *routing;
  const blis_kv_arrival *arrival; /* KV that arrives with the request; NULL = none */
  /* Decision of a feature; its header declares the type for each moment. */
  const void *decided;
  const char *policy; /* the policy that decided */
  const blis_routing_request *shown;
  /* Members that listeners may set. */
  const char **refusal; /* if set to non-NULL, the request is rejected for this reason */
  /* True = the listener has taken the request and will send it on later. */
  bool *is_taken;
  int64_t *delay_us; /* time until the request reaches admission, to which listeners may add */
  struct blis__choice *choice;    /* choice of a router (stages.h) */
  int64_t *peer;                  /* instance of another stage; -1 = none */
  const blis_routing_view **view; /* candidates of the policy */
  bool *counts_itl;               /* false = its latencies are not counted in the histogram */
  bool *goes_on;                  /* true = the request is sent again and not reported */
  blis_request_end *end;
} blis__news;

typedef blis_status blis__hear(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error);

typedef enum blis__phase {
  BLIS__BOOKS,    /* updates counts that later phases may read */
  BLIS__POLICIES, /* makes decisions, or receives their outcomes */
  BLIS__WATCHERS, /* changes nothing */
  BLIS__SEQUELS   /* starts new work */
} blis__phase;

/* The time order that a listener needs. Each need includes the previous ones. */
typedef enum blis__need {
  BLIS__NEEDS_NOTHING,
  BLIS__NEEDS_STATE, /* instances must have reached the time of the clock when it is called */
  BLIS__NEEDS_ORDER, /* it must be called in time order over all instances */
  BLIS__NEED_COUNT
} blis__need;

typedef struct blis__listener {
  void *ud;
  blis__phase phase;
  blis__need need;
  blis__hear *on[BLIS__MOMENT_COUNT]; /* NULL = not needed */
} blis__listener;

typedef struct blis__ear {
  blis__hear *hear;
  void *ud;
  blis__phase phase;
} blis__ear;

typedef struct blis__listeners {
  blis_alloc alloc;
  BLIS_ARRAY(blis__ear) audience[BLIS__MOMENT_COUNT];
  int64_t needing[BLIS__NEED_COUNT];
} blis__listeners;

/* Copies *alloc; allocates nothing yet. */
void blis__listeners_init(blis__listeners *listeners, const blis_alloc *alloc);
void blis__listeners_deinit(blis__listeners *listeners);

/*
 * Adds a listener: copies *listener and borrows its ud. A listener may call this function, but not
 * for the current moment. After BLIS_ERR_NOMEM, *listener may have been added to some of its
 * moments.
 */
BLIS_MUSTUSE blis_status blis__listeners_add(blis__listeners *listeners,
                                             const blis__listener *listener);

/* Add and remove a need without a listener. */
void blis__listeners_need(blis__listeners *listeners, blis__need need);
void blis__listeners_need_no_more(blis__listeners *listeners, blis__need need);

static inline bool blis__listeners_hear(const blis__listeners *listeners, blis__moment moment) {
  return listeners->audience[moment].count > 0;
}

/*
 * Returns whether an instance may execute events that are later than the next events of other
 * instances.
 */
static inline bool blis__listeners_let_run_ahead(const blis__listeners *listeners) {
  return listeners->needing[BLIS__NEEDS_ORDER] == 0;
}

/* Returns whether an instance may lag behind the clock until its next request arrives. */
static inline bool blis__listeners_let_lag(const blis__listeners *listeners) {
  return listeners->needing[BLIS__NEEDS_ORDER] == 0 && listeners->needing[BLIS__NEEDS_STATE] == 0;
}

/* Calls every listener of a moment. */
BLIS_MUSTUSE blis_status blis__tell(blis__listeners *listeners, blis__moment moment,
                                    blis_cluster *cluster, const blis__news *news,
                                    blis_error *error);

/*
 * Offers a request to the listeners of a moment, in order, until a listener takes or rejects it.
 * news->is_taken and news->refusal must be set.
 */
BLIS_MUSTUSE blis_status blis__offer(blis__listeners *listeners, blis__moment moment,
                                     blis_cluster *cluster, const blis__news *news,
                                     blis_error *error);

/*
 * Like blis__tell, with the fields of blis__news after `error`. The fields are evaluated only if
 * there is a listener.
 */
#define BLIS__TELL(cluster, moment, error, ...)                                                    \
  (!blis__listeners_hear(&(cluster)->listeners, (moment))                                          \
       ? BLIS_OK                                                                                   \
       : blis__tell(&(cluster)->listeners, (moment), (cluster), &(blis__news){__VA_ARGS__},        \
                    (error)))

/* Like BLIS__TELL, for blis__offer. */
#define BLIS__OFFER(cluster, moment, error, ...)                                                   \
  (!blis__listeners_hear(&(cluster)->listeners, (moment))                                          \
       ? BLIS_OK                                                                                   \
       : blis__offer(&(cluster)->listeners, (moment), (cluster), &(blis__news){__VA_ARGS__},       \
                     (error)))

#endif
