/* The states of a hand-off: every legal transition, and no other. */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cluster/handoff/states.h"

/* Rows: the current value. Columns: the value that is entered. x: legal. */
static const char *const STAGES[BLIS__HANDOFF_STAGES] = {
    /*                 N R R P R H T D C A */
    /* NEW */ ".xx.......",
    /* RESERVING */ "..x.....x.",
    /* ROUTING */ "...x....x.",
    /* PREFILL */ "....x...x.",
    /* READY */ ".....xx.x.",
    /* HELD */ "......x.x.",
    /* TRANSFER */ ".......xx.",
    /* DECODE */ "........x.",
    /* CLOSED */ ".........x",
    /* AT_SOURCE_ONLY */ "........x.",
};
static const char *const SOURCES[BLIS__SOURCE_STATES] = {
    /* NONE */ ".xx..",
    /* BOOKED */ "x.x..",
    /* COMING */ "...xx",
    /* THERE */ "....x",
    /* GONE */ ".....",
};
static const char *const ROOMS[BLIS__ROOM_STATES] = {
    /* NONE */ ".xx.",
    /* AWAITED */ "x.x.",
    /* RESERVED */ "x..x",
    /* FILLED */ "....",
};
static const char *const TRANSFERS[BLIS__MOVE_STATES] = {
    /* NONE */ ".x...",
    /* MOVING */ "..xxx",
    /* SENT */ "...xx",
    /* ENDED */ ".....",
    /* STOPPED */ ".....",
};

/* By stage: the values of each side that permit it, in the order of the enums. */
static const struct {
  const char *source, *room, *transfer;
} SIDES[BLIS__HANDOFF_STAGES] = {
    [BLIS__HANDOFF_NEW] = {".....", "....", "....."},
    [BLIS__HANDOFF_RESERVING] = {"xx...", "x...", "x...."},
    [BLIS__HANDOFF_ROUTING] = {"xx...", "x.x.", "x...."},
    [BLIS__HANDOFF_PREFILL] = {"..x..", "x.x.", "x...."},
    [BLIS__HANDOFF_READY] = {"...x.", "x.x.", "xxx.."},
    [BLIS__HANDOFF_HELD] = {"...xx", ".x..", "x...."},
    [BLIS__HANDOFF_TRANSFER] = {"...xx", "..x.", "xxx.."},
    [BLIS__HANDOFF_DECODE] = {"...xx", "...x", "...x."},
    [BLIS__HANDOFF_CLOSED] = {"xxxxx", "xxxx", "xxxxx"},
    [BLIS__HANDOFF_AT_SOURCE_ONLY] = {"x....", "x...", "x...."},
};

enum {
  SIDES_COUNT = BLIS__SOURCE_STATES * BLIS__ROOM_STATES * BLIS__MOVE_STATES,
  STATES = BLIS__HANDOFF_STAGES * SIDES_COUNT
};

/* All states by number. */
static blis__handoff_state state_at(unsigned number) {
  return (blis__handoff_state){.stage = number / SIDES_COUNT,
                               .source = number / BLIS__ROOM_STATES / BLIS__MOVE_STATES %
                                         BLIS__SOURCE_STATES,
                               .room = number / BLIS__MOVE_STATES % BLIS__ROOM_STATES,
                               .transfer = number % BLIS__MOVE_STATES};
}

static unsigned number_of(const blis__handoff_state *s) {
  return ((s->stage * BLIS__SOURCE_STATES + s->source) * BLIS__ROOM_STATES + s->room) *
             BLIS__MOVE_STATES +
         s->transfer;
}

static void stages_follow_each_other_as_listed(void) {
  for (unsigned i = 0; i < STATES; i++) {
    blis__handoff_state s = state_at(i);
    CHECK_EQ_I64(number_of(&s), i);
    for (unsigned to = 0; to < BLIS__HANDOFF_STAGES; to++) {
      bool is_legal = STAGES[s.stage][to] == 'x' && SIDES[to].source[s.source] == 'x' &&
                      SIDES[to].room[s.room] == 'x' && SIDES[to].transfer[s.transfer] == 'x';
      CHECK_EQ_I64(blis__handoff_may_enter(&s, to), is_legal);
    }
  }
}

static void sides_follow_as_listed_in_every_stage(void) {
  for (unsigned i = 0; i < STATES; i++) {
    blis__handoff_state s = state_at(i);
    for (unsigned to = 0; to < BLIS__SOURCE_STATES; to++) {
      CHECK_EQ_I64(blis__source_may_become(&s, to), SOURCES[s.source][to] == 'x');
    }
    for (unsigned to = 0; to < BLIS__ROOM_STATES; to++) {
      CHECK_EQ_I64(blis__room_may_become(&s, to), ROOMS[s.room][to] == 'x');
    }
    for (unsigned to = 0; to < BLIS__MOVE_STATES; to++) {
      CHECK_EQ_I64(blis__transfer_may_become(&s, to), TRANSFERS[s.transfer][to] == 'x');
    }
  }
}

/* Walks from a new hand-off over all legal transitions. */
typedef struct walk {
  bool seen[STATES];
  unsigned queue[STATES];
  size_t count;
} walk;

static void reach(walk *w, const blis__handoff_state *s) {
  unsigned number = number_of(s);
  if (!w->seen[number]) {
    w->seen[number] = true;
    w->queue[w->count++] = number;
  }
}

static void step(walk *w, const blis__handoff_state *s) {
  for (unsigned to = 0; to < BLIS__HANDOFF_STAGES; to++) {
    blis__handoff_state next = *s;
    if (blis__handoff_may_enter(s, to)) {
      blis__handoff_enter(&next, to);
      CHECK_EQ_I64(next.stage, to);
      reach(w, &next);
    }
  }
  for (unsigned to = 0; to < BLIS__SOURCE_STATES; to++) {
    blis__handoff_state next = *s;
    if (blis__source_may_become(s, to)) {
      blis__source_becomes(&next, to);
      CHECK_EQ_I64(next.source, to);
      reach(w, &next);
    }
  }
  for (unsigned to = 0; to < BLIS__ROOM_STATES; to++) {
    blis__handoff_state next = *s;
    if (blis__room_may_become(s, to)) {
      blis__room_becomes(&next, to);
      CHECK_EQ_I64(next.room, to);
      reach(w, &next);
    }
  }
  for (unsigned to = 0; to < BLIS__MOVE_STATES; to++) {
    blis__handoff_state next = *s;
    if (blis__transfer_may_become(s, to)) {
      blis__transfer_becomes(&next, to);
      CHECK_EQ_I64(next.transfer, to);
      reach(w, &next);
    }
  }
}

static void all_values_are_reached_and_decoding_has_its_kv(void) {
  static walk w;
  bool stages[BLIS__HANDOFF_STAGES] = {false};
  reach(&w, &(blis__handoff_state){.stage = BLIS__HANDOFF_NEW});
  for (size_t i = 0; i < w.count; i++) {
    blis__handoff_state s = state_at(w.queue[i]);
    stages[s.stage] = true;
    if (s.stage == BLIS__HANDOFF_DECODE) {
      CHECK(s.room == BLIS__ROOM_FILLED && s.transfer == BLIS__MOVE_ENDED);
    }
    step(&w, &s);
  }
  for (unsigned stage = 0; stage < BLIS__HANDOFF_STAGES; stage++) {
    CHECK(stages[stage]);
  }
}

static void questions(void) {
  for (unsigned i = 0; i < STATES; i++) {
    blis__handoff_state s = state_at(i);
    CHECK_EQ_I64(blis__handoff_is_over(&s), strchr("DCA", "NRRPRHTDCA"[s.stage]) != NULL);
    CHECK_EQ_I64(blis__handoff_is_at_source(&s), "..xx."[s.source] == 'x');
    CHECK_EQ_I64(blis__handoff_is_moving(&s), ".xx.."[s.transfer] == 'x');
  }
}

static void move_illegally(int which) {
  blis__handoff_state s = {.stage = BLIS__HANDOFF_ROUTING};
  switch (which) {
  case 0: /* skips the prefill */
    blis__handoff_enter(&s, BLIS__HANDOFF_TRANSFER);
    break;
  case 1: /* the source does not have it */
    blis__handoff_enter(&s, BLIS__HANDOFF_PREFILL);
    break;
  case 2:
    blis__source_becomes(&s, BLIS__SOURCE_GONE);
    break;
  case 3:
    blis__room_becomes(&s, BLIS__ROOM_FILLED);
    break;
  default:
    blis__transfer_becomes(&s, BLIS__MOVE_ENDED);
    break;
  }
}

static void illegal_transitions_abort(void) {
#ifdef BLIS_CHECKED
  for (int which = 0; which < 5; which++) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      (void)signal(SIGABRT, SIG_DFL);
      (void)!freopen("/dev/null", "w", stderr);
      move_illegally(which);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  }
#else
  move_illegally(0); /* costs nothing there, and asserts nothing */
#endif
}

int main(void) {
  RUN(stages_follow_each_other_as_listed);
  RUN(sides_follow_as_listed_in_every_stage);
  RUN(all_values_are_reached_and_decoding_has_its_kv);
  RUN(questions);
  RUN(illegal_transitions_abort);
  return check_done();
}
