#include "cluster/handoff/states.h"

/* Sets of values, one bit each. */
typedef unsigned set;

#define ONE(value) (1U << (value))
#define STAGE(name) ONE(BLIS__HANDOFF_##name)
#define SOURCE(name) ONE(BLIS__SOURCE_##name)
#define ROOM(name) ONE(BLIS__ROOM_##name)
#define MOVES(name) ONE(BLIS__MOVE_##name)

static bool has(set values, unsigned value) {
  return (values >> value & 1U) != 0;
}

/* The stages that may precede a stage, and the other values that permit it. */
typedef struct entry {
  set from;
  set source;
  set room;
  set transfer;
} entry;

enum {
  ANY = 0xffff,
  NOT_SENT = SOURCE(NONE) | SOURCE(BOOKED),
  /* The source may pass on the KV immediately instead of holding it. */
  COMPUTED = SOURCE(THERE) | SOURCE(GONE),
  OPEN = STAGE(RESERVING) | STAGE(ROUTING) | STAGE(PREFILL) | STAGE(READY) | STAGE(HELD) |
         STAGE(TRANSFER)
};

static const entry STAGES[BLIS__HANDOFF_STAGES] = {
    [BLIS__HANDOFF_RESERVING] = {STAGE(NEW), NOT_SENT, ROOM(NONE), MOVES(NONE)},
    [BLIS__HANDOFF_ROUTING] = {STAGE(NEW) | STAGE(RESERVING), NOT_SENT, ROOM(NONE) | ROOM(RESERVED),
                               MOVES(NONE)},
    [BLIS__HANDOFF_PREFILL] = {STAGE(ROUTING), SOURCE(COMING), ROOM(NONE) | ROOM(RESERVED),
                               MOVES(NONE)},
    [BLIS__HANDOFF_READY] = {STAGE(PREFILL), SOURCE(THERE), ROOM(NONE) | ROOM(RESERVED),
                             MOVES(NONE) | MOVES(MOVING) | MOVES(SENT)},
    [BLIS__HANDOFF_HELD] = {STAGE(READY), COMPUTED, ROOM(AWAITED), MOVES(NONE)},
    [BLIS__HANDOFF_TRANSFER] = {STAGE(READY) | STAGE(HELD), COMPUTED, ROOM(RESERVED),
                                MOVES(NONE) | MOVES(MOVING) | MOVES(SENT)},
    [BLIS__HANDOFF_DECODE] = {STAGE(TRANSFER), COMPUTED, ROOM(FILLED), MOVES(ENDED)},
    /* The other values are reset afterwards. */
    [BLIS__HANDOFF_CLOSED] = {OPEN | STAGE(DECODE) | STAGE(AT_SOURCE_ONLY), ANY, ANY, ANY},
    [BLIS__HANDOFF_AT_SOURCE_ONLY] = {STAGE(CLOSED), SOURCE(NONE), ROOM(NONE), MOVES(NONE)},
};

bool blis__handoff_may_enter(const blis__handoff_state *state, blis__handoff_stage stage) {
  const entry *e = &STAGES[stage];
  return has(e->from, state->stage) && has(e->source, state->source) && has(e->room, state->room) &&
         has(e->transfer, state->transfer);
}

/* Allowed previous values, indexed by the new value. */
static const set SOURCES[BLIS__SOURCE_STATES] = {
    [BLIS__SOURCE_NONE] = SOURCE(BOOKED),
    [BLIS__SOURCE_BOOKED] = SOURCE(NONE),
    [BLIS__SOURCE_COMING] = NOT_SENT,
    [BLIS__SOURCE_THERE] = SOURCE(COMING),
    [BLIS__SOURCE_GONE] = SOURCE(COMING) | SOURCE(THERE),
};

static const set ROOMS[BLIS__ROOM_STATES] = {
    [BLIS__ROOM_NONE] = ROOM(AWAITED) | ROOM(RESERVED),
    [BLIS__ROOM_AWAITED] = ROOM(NONE),
    [BLIS__ROOM_RESERVED] = ROOM(NONE) | ROOM(AWAITED),
    [BLIS__ROOM_FILLED] = ROOM(RESERVED),
};

static const set TRANSFERS[BLIS__MOVE_STATES] = {
    [BLIS__MOVE_MOVING] = MOVES(NONE),
    [BLIS__MOVE_SENT] = MOVES(MOVING),
    [BLIS__MOVE_ENDED] = MOVES(MOVING) | MOVES(SENT),
    [BLIS__MOVE_STOPPED] = MOVES(MOVING) | MOVES(SENT),
};

bool blis__source_may_become(const blis__handoff_state *state, blis__handoff_source source) {
  return has(SOURCES[source], state->source);
}

bool blis__room_may_become(const blis__handoff_state *state, blis__handoff_room room) {
  return has(ROOMS[room], state->room);
}

bool blis__transfer_may_become(const blis__handoff_state *state, blis__handoff_transfer transfer) {
  return has(TRANSFERS[transfer], state->transfer);
}
