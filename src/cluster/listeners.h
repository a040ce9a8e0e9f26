/*
 * listeners.h - the moments in the lives of requests and instances, and their
 * listeners.
 *
 * The stages (stages.h), the end (ending.h) and the life cycle announce what
 * happens and name no listener. Every optional part of a cluster is a listener: it
 * has a function for each moment it handles, and is added when it is configured. A
 * moment without listeners costs one comparison.
 *
 * Listeners are called in the order of their phases, and within a phase in the
 * order in which they were added. The first failure stops the run.
 *
 * A listener also declares its needs of the clock, which determine how far
 * instances may lag behind the clock or run ahead of each other.
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

/* In the order of the lifecycle of a request. The comment names the fields of blis__news. */
typedef enum blis__moment {
  BLIS__ARRIVED,           /* it is counted and in the table */
  BLIS__ADMITTING,         /* before any admission policy; refusal */
  BLIS__ADMISSION_DECIDED, /* admission */
  BLIS__ADMITTED,          /* its routing follows, unless it is taken */
  BLIS__TO_BE_ROUTED,      /* before any routing policy; it may be taken, or refused */
  BLIS__WAITING,           /* no instance may take it; it waits for one */
  BLIS__ROUTING,           /* before any routing policy; view */
  BLIS__TO_BE_ASKED,       /* peer, which may be set: the router is about to choose */
  BLIS__CHOSEN,            /* choice, which may be changed, or be a rejection */
  BLIS__ROUTING_DECIDED,   /* shown, view, routing, policy; maybe a rejection */
  BLIS__SPLIT_DECIDED,     /* instance, which decodes; decided, policy */
  BLIS__SPLIT_SETTLED,     /* as before, always; another router may be called now */
  BLIS__TO_BE_SENT,        /* choice, not reported yet; it may be taken, or sent elsewhere */
  BLIS__BELIEVED,          /* instance, routing, which has a belief */
  BLIS__ROUTED,            /* instance, which has not got it yet */
  BLIS__JOINED,            /* instance, which gets it now, its blocks named */
  BLIS__PREFILLED,         /* instance, which has computed its prompt */
  BLIS__FIRST_TOKEN,       /* again after a preemption */
  BLIS__TOKEN,             /* instance, count: its number, from 1 */
  BLIS__TRANSFER_BEGAN,    /* of its KV, from instance to destination */
  BLIS__TRANSFER_ENDED,    /* as before; it has not joined the destination yet */
  BLIS__COMPLETED,         /* it is still at its instance; end_us, counts_itl */
  BLIS__LEFT,              /* its instance, in whatever way; end_us */
  BLIS__SENT_AGAIN,        /* lost by an instance or a hand-off; loss */
  BLIS__OVER,              /* in its last state; end_us, reason, goes_on */
  BLIS__JUDGED,            /* an attempt of it; decided */
  BLIS__REPORTING,         /* end, to be added to before the sink gets it */
  BLIS__ENDED,             /* end, which the sink has; also the unfinished */
  BLIS__BATCH_FORMED,      /* by instance, of count requests; no request */
  BLIS__SERVICE_CHANGED,   /* instance, whose service has; no request */
  BLIS__STATE_ENTERED,     /* instance, in a part of its start, maybe again; no request */
  BLIS__START_FAILED,      /* instance, which starts again, or has failed; no request */
  BLIS__INSTANCE_LOST,     /* instance, which is about to lose its requests and cache; loss; no
                              request */
  BLIS__HUNG,              /* instance, whose engine stops all steps; no request */
  BLIS__RESTARTED,         /* instance, whose engine is as new; no request */
  BLIS__UNIT_PLANNED,      /* instance: the first of a unit like destination's; no request */
  BLIS__UNIT_MADE,         /* as before, and its instances exist; no request */
  BLIS__SCALE_DECIDED,     /* decided; no request */
  BLIS__FINISHING,         /* the run has ended, nothing is closed yet; no request */
  BLIS__MOMENT_COUNT
} blis__moment;

/* All borrowed during the call. */
typedef struct blis__news {
  blis__cluster_request *request;
  uint32_t instance;
  uint32_t destination;
  int64_t count;
  int64_t end_us;
  blis_loss loss;
  const char *reason; /* of a rejection or failure; or NULL */
  const blis_admission_decision *admission;
  const blis_decision *routing;
  const blis_kv_arrival *arrival; /* KV that comes with it; NULL: none does */
  const void *decided;            /* by a feature; its header has the type, by moment */
  const char *policy;             /* that decided */
  const blis_routing_request *shown;
  /* What listeners may set. */
  const char **refusal;           /* not NULL: the request is rejected for this reason */
  bool *is_taken;                 /* true: the listener has it, and sends it on later */
  struct blis__choice *choice;    /* of a router (stages.h) */
  int64_t *peer;                  /* the instance of another stage; -1 = none */
  const blis_routing_view **view; /* candidates that the policy may choose */
  bool *counts_itl;               /* false: its latencies stay out of the histogram */
  bool *goes_on;                  /* true: it is sent again, and is not reported */
  blis_request_end *end;
} blis__news;

typedef blis_status blis__hear(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error);

typedef enum blis__phase {
  BLIS__BOOKS,    /* updates counts that later phases may read */
  BLIS__POLICIES, /* decides, or receives the outcome of its decisions */
  BLIS__WATCHERS, /* changes nothing */
  BLIS__SEQUELS   /* starts something new */
} blis__phase;

/* The needs of a listener of the clock. Each need includes the needs before it. */
typedef enum blis__need {
  BLIS__NEEDS_NOTHING,
  BLIS__NEEDS_STATE, /* when it is called, instances have reached the time of the clock */
  BLIS__NEEDS_ORDER, /* it is called in order of time over all instances */
  BLIS__NEED_COUNT
} blis__need;

typedef struct blis__listener {
  void *ud;
  blis__phase phase;
  blis__need need;
  blis__hear *on[BLIS__MOMENT_COUNT]; /* NULL = not wanted */
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
 * Copies *listener and borrows its ud. A listener may call it, but not for the
 * moment that is being announced. After BLIS_ERR_NOMEM, *listener may have been
 * added to some of its moments.
 */
BLIS_MUSTUSE blis_status blis__listeners_add(blis__listeners *listeners,
                                             const blis__listener *listener);

/* Adds or removes a need without a listener. */
void blis__listeners_need(blis__listeners *listeners, blis__need need);
void blis__listeners_need_no_more(blis__listeners *listeners, blis__need need);

static inline bool blis__listeners_hear(const blis__listeners *listeners, blis__moment moment) {
  return listeners->audience[moment].count > 0;
}

/* May an instance execute events after the next events of the other instances? */
static inline bool blis__listeners_let_run_ahead(const blis__listeners *listeners) {
  return listeners->needing[BLIS__NEEDS_ORDER] == 0;
}

/* May an instance lag behind the clock until its next request arrives? */
static inline bool blis__listeners_let_lag(const blis__listeners *listeners) {
  return listeners->needing[BLIS__NEEDS_ORDER] == 0 && listeners->needing[BLIS__NEEDS_STATE] == 0;
}

/* Calls every listener of a moment. */
BLIS_MUSTUSE blis_status blis__tell(blis__listeners *listeners, blis__moment moment,
                                    blis_cluster *cluster, const blis__news *news,
                                    blis_error *error);

/*
 * Offers a request to the listeners of a moment in order, until a listener has taken or refused it:
 * news->is_taken and news->refusal are set.
 */
BLIS_MUSTUSE blis_status blis__offer(blis__listeners *listeners, blis__moment moment,
                                     blis_cluster *cluster, const blis__news *news,
                                     blis_error *error);

/*
 * blis__tell, with the fields of blis__news after error; they are evaluated only if
 * a listener exists.
 */
#define BLIS__TELL(cluster, moment, error, ...)                                                    \
  (!blis__listeners_hear(&(cluster)->listeners, (moment))                                          \
       ? BLIS_OK                                                                                   \
       : blis__tell(&(cluster)->listeners, (moment), (cluster), &(blis__news){__VA_ARGS__},        \
                    (error)))

/* blis__offer, in the same way. */
#define BLIS__OFFER(cluster, moment, error, ...)                                                   \
  (!blis__listeners_hear(&(cluster)->listeners, (moment))                                          \
       ? BLIS_OK                                                                                   \
       : blis__offer(&(cluster)->listeners, (moment), (cluster), &(blis__news){__VA_ARGS__},       \
                     (error)))

#endif
