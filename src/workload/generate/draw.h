/*
 * draw.h - draws the requests of one arrival process; for generator files only.
 *
 * The order of draws from the client's stream determines everything that follows,
 * so unused values are also drawn.
 */
#ifndef BLIS_WORKLOAD_GENERATE_DRAW_H
#define BLIS_WORKLOAD_GENERATE_DRAW_H

#include "base/random.h"
#include "workload/generate/plan.h"

/* Where the drawing of one process stands. */
typedef struct blis__drawing {
  blis__plan *plan;
  const blis__kind *kind;
  uint32_t process; /* the client that owns it, or 0 for the process of all */
  uint32_t client;  /* of the request that is drawn */
  blis_random arrivals;
  blis_random own_lengths; /* in lazy workloads */
  blis_random choices;     /* of clients that share a process */
  blis_random *lengths;    /* own_lengths, or the stream of the arrivals */
  int64_t rounds;          /* drawn so far, dropped ones included */
} blis__drawing;

/* Starts a process whose stream has a seed. */
void blis__drawing_init(blis__drawing *drawing, blis__plan *plan, uint32_t process, int64_t seed);

/*
 * Draws requests at constant rates until the client's last request, the first at or
 * after limit_us, or twice the requested number. The gaps come from the arrival
 * process, or are spread over a time.
 */
BLIS_MUSTUSE blis_status blis__draw_client(blis__drawing *drawing, int64_t limit_us,
                                           blis_error *error);

/* Draws the requests of all windows of a client whose rate varies. */
BLIS_MUSTUSE blis_status blis__draw_windows(blis__drawing *drawing, blis_error *error);

/*
 * Draws the single request of a client that arrives at a time: lengths from input
 * and output, or from its modalities, and tokens.
 */
BLIS_MUSTUSE blis_status blis__draw_request(blis__drawing *drawing, const blis_distribution *input,
                                            const blis_distribution *output, int64_t arrival_us,
                                            blis_error *error);

#endif
