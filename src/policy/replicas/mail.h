/*
 * mail.h - the messages in flight to one replica.
 *
 * Messages arrive in order of time, sender, and number. A message contains a decision to observe, a
 * request that began or ended at an instance, or the counts of a sender.
 */
#ifndef BLIS_POLICY_REPLICAS_MAIL_H
#define BLIS_POLICY_REPLICAS_MAIL_H

#include "base/containers/node_heap.h"
#include "policy/replicas/note.h"

typedef enum blis__mail_kind {
  BLIS__MAIL_DECISION,
  BLIS__MAIL_BEGAN,
  BLIS__MAIL_ENDED,
  BLIS__MAIL_COUNTS
} blis__mail_kind;

typedef struct blis__mail {
  blis_heap_node node; /* ordered by arrival */
  blis__mail_kind kind;
  uint32_t sender;
  uint32_t flight;  /* index of a request that began or ended */
  uint32_t entries; /* number of counts */
  int64_t sent_us;  /* time of the event */
  blis__note *note; /* reference held by the message */
  double counts[];  /* by instance */
} blis__mail;

typedef struct blis__mailbox {
  blis_node_heap heap;
} blis__mailbox;

void blis__mailbox_deinit(blis__mailbox *box, const blis_alloc *alloc);

/*
 * Adds a message with capacity for entries counts; sequence must be unique among the messages of a
 * sender. NULL = out of memory.
 */
blis__mail *blis__mailbox_add(blis__mailbox *box, const blis_alloc *alloc, int64_t arrival_us,
                              uint32_t sender, uint64_t sequence, uint32_t entries);

/* Returns the next message that has arrived by until_us, or NULL. The caller frees the message. */
blis__mail *blis__mailbox_take(blis__mailbox *box, int64_t until_us);

static inline size_t blis__mailbox_count(const blis__mailbox *box) {
  return box->heap.nodes.count;
}

void blis__mail_free(const blis_alloc *alloc, blis__mail *mail);

#endif
