/*
 * draw.h - generates the requests of one arrival process; for generator files only.
 *
 * The order of draws from the client's stream determines everything that follows, so values are
 * drawn even if they are not used.
 */
#ifndef BLIS_WORKLOAD_GENERATE_DRAW_H
#define BLIS_WORKLOAD_GENERATE_DRAW_H

#include "base/random.h"
#include "workload/generate/plan.h"

/* Progress of one process. */
typedef struct blis__drawing {
  blis__plan *plan;
  const blis__kind *kind;
  uint32_t process; /* client that owns the process; 0 for a process shared by all clients */
  uint32_t client;  /* client of the current request */
  blis_random arrivals;
  blis_random own_lengths; /* used in lazy workloads */
  blis_random choices;     /* stream that chooses the client in a shared process */
  blis_random *lengths;    /* own_lengths, or the stream of the arrivals */
  int64_t rounds;          /* number of rounds drawn so far, including dropped ones */
} blis__drawing;

/* Starts a process with the given seed for its stream. */
void blis__drawing_init(blis__drawing *drawing, blis__plan *plan, uint32_t process, int64_t seed);

/*
 * Draws requests at constant rates. It stops at the client's last request, at the first request at
 * or after limit_us, or at twice the requested number. The gaps come from the arrival process, or
 * the requests are spread over a fixed time.
 */
BLIS_MUSTUSE blis_status blis__draw_client(blis__drawing *drawing, int64_t limit_us,
                                           blis_error *error);

/* Draws the requests of all windows of a client with a varying rate. */
BLIS_MUSTUSE blis_status blis__draw_windows(blis__drawing *drawing, blis_error *error);

/*
 * Draws the single request of a client at a given arrival time: its lengths, from input and output
 * or from its modalities, and its tokens.
 */
BLIS_MUSTUSE blis_status blis__draw_request(blis__drawing *drawing, const blis_distribution *input,
                                            const blis_distribution *output, int64_t arrival_us,
                                            blis_error *error);

#endif
