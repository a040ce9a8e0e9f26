/*
 * states.h - the states of a hand-off and the legal transitions between them.
 *
 * Four values describe a hand-off. The stage is the overall progress of the hand-off. The other
 * three values describe aspects that proceed independently. For example, blocks may be reserved
 * before or after the prefill, and with overlap, bytes are transferred during the prefill.
 *
 *   stage      NEW -> [RESERVING ->] ROUTING -> PREFILL -> READY [-> HELD]
 *                  -> TRANSFER -> DECODE
 *              every stage before DECODE -> CLOSED; CLOSED -> AT_SOURCE_ONLY;
 *              DECODE and AT_SOURCE_ONLY -> CLOSED when the request leaves
 *   source     NONE <-> BOOKED; NONE or BOOKED -> COMING -> THERE -> GONE;
 *              COMING -> GONE
 *   room       NONE [-> AWAITED] -> RESERVED -> FILLED;
 *              AWAITED or RESERVED -> NONE
 *   transfer   NONE -> MOVING [-> SENT] -> ENDED; MOVING or SENT -> STOPPED
 *
 * Each value is changed only by its function below. The function asserts that the transition is in
 * the table of states.c. For a stage, it also asserts that the other three values permit the stage.
 * Without assertions, a transition is a single assignment.
 *
 * The stage also determines the owner of the KV blocks, which is the only instance that may serve
 * them. Before READY, the blocks have no owner. The source owns them from READY to TRANSFER, and
 * the destination owns them in DECODE.
 */
#ifndef BLIS_CLUSTER_HANDOFF_STATES_H
#define BLIS_CLUSTER_HANDOFF_STATES_H

#include <stdbool.h>

#include "base/invariant.h"

typedef enum blis__handoff_stage {
  BLIS__HANDOFF_NEW,
  BLIS__HANDOFF_RESERVING, /* destination first: waits for blocks, no prefill yet */
  BLIS__HANDOFF_ROUTING,   /* about to be routed to the source */
  BLIS__HANDOFF_PREFILL,   /* at the source: in transit, queued, or running */
  BLIS__HANDOFF_READY,     /* prefilled: about to reserve blocks and to transfer */
  BLIS__HANDOFF_HELD,      /* prefilled: waits for blocks */
  BLIS__HANDOFF_TRANSFER,
  /* The hand-off has ended; its record keeps the times. */
  BLIS__HANDOFF_DECODE,         /* the destination has the KV and the request */
  BLIS__HANDOFF_CLOSED,         /* ended without a transfer, or the request has left */
  BLIS__HANDOFF_AT_SOURCE_ONLY, /* closed: the source serves the whole request */
  BLIS__HANDOFF_STAGES
} blis__handoff_stage;

/* The state of the prefill at the source. */
typedef enum blis__handoff_source {
  BLIS__SOURCE_NONE,
  BLIS__SOURCE_BOOKED, /* the prefill router has chosen the source; not sent yet */
  BLIS__SOURCE_COMING, /* sent; counted as pending at the source */
  BLIS__SOURCE_THERE,  /* the source queues or computes the prefill, or holds its KV */
  BLIS__SOURCE_GONE,
  BLIS__SOURCE_STATES
} blis__handoff_source;

/* Reservation for the KV at the destination. */
typedef enum blis__handoff_room {
  BLIS__ROOM_NONE,
  BLIS__ROOM_AWAITED, /* in the destination's queue for blocks */
  BLIS__ROOM_RESERVED,
  BLIS__ROOM_FILLED, /* the KV has arrived */
  BLIS__ROOM_STATES
} blis__handoff_room;

typedef enum blis__handoff_transfer {
  BLIS__MOVE_NONE,
  BLIS__MOVE_MOVING,
  BLIS__MOVE_SENT, /* the last byte has arrived, but the prefill is not reported yet */
  BLIS__MOVE_ENDED,
  BLIS__MOVE_STOPPED, /* stopped before its end */
  BLIS__MOVE_STATES
} blis__handoff_transfer;

/* All zero is a new hand-off. */
typedef struct blis__handoff_state {
  blis__handoff_stage stage;
  blis__handoff_source source;
  blis__handoff_room room;
  blis__handoff_transfer transfer;
} blis__handoff_state;

/* Return whether the transition is legal from the current state. */
bool blis__handoff_may_enter(const blis__handoff_state *state, blis__handoff_stage stage);
bool blis__source_may_become(const blis__handoff_state *state, blis__handoff_source source);
bool blis__room_may_become(const blis__handoff_state *state, blis__handoff_room room);
bool blis__transfer_may_become(const blis__handoff_state *state, blis__handoff_transfer transfer);

/* The four transitions. */

static inline void blis__handoff_enter(blis__handoff_state *state, blis__handoff_stage stage) {
  BLIS_ASSERT(blis__handoff_may_enter(state, stage));
  state->stage = stage;
}

static inline void blis__source_becomes(blis__handoff_state *state, blis__handoff_source source) {
  BLIS_ASSERT(blis__source_may_become(state, source));
  state->source = source;
}

static inline void blis__room_becomes(blis__handoff_state *state, blis__handoff_room room) {
  BLIS_ASSERT(blis__room_may_become(state, room));
  state->room = room;
}

static inline void blis__transfer_becomes(blis__handoff_state *state,
                                          blis__handoff_transfer transfer) {
  BLIS_ASSERT(blis__transfer_may_become(state, transfer));
  state->transfer = transfer;
}

/* Queries about several values. */

static inline bool blis__handoff_is_over(const blis__handoff_state *state) {
  return state->stage >= BLIS__HANDOFF_DECODE;
}

/* Returns whether the source has the prefill: it is sent, queued, computed, or held. */
static inline bool blis__handoff_is_at_source(const blis__handoff_state *state) {
  return state->source == BLIS__SOURCE_COMING || state->source == BLIS__SOURCE_THERE;
}

/* Returns whether a transfer has begun and is not closed. */
static inline bool blis__handoff_is_moving(const blis__handoff_state *state) {
  return state->transfer == BLIS__MOVE_MOVING || state->transfer == BLIS__MOVE_SENT;
}

#endif
