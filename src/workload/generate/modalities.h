/*
 * modalities.h - prompts of text, images, audio, and video; for generator files only.
 *
 * A prompt has one text and a random number of images, audio clips, and videos, each with its own
 * length.
 */
#ifndef BLIS_WORKLOAD_GENERATE_MODALITIES_H
#define BLIS_WORKLOAD_GENERATE_MODALITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "workload/distribution.h"
#include "workload/spec/workload_spec.h"

/* In the order in which they are drawn. */
enum { BLIS__TEXT, BLIS__IMAGE, BLIS__AUDIO, BLIS__VIDEO, BLIS__MODALITIES };

/* A zeroed struct has no modalities. */
typedef struct blis__modalities {
  blis_distribution tokens[BLIS__MODALITIES];
  blis_distribution counts[BLIS__MODALITIES]; /* unused for text */
  bool is_there[BLIS__MODALITIES];
} blis__modalities;

/*
 * Initializes a zeroed struct. label names its owner in messages ("client 1"). Deinitialize it even
 * after an error.
 */
BLIS_MUSTUSE blis_status blis__modalities_init(blis__modalities *modalities,
                                               const blis_alloc *alloc,
                                               const blis_multimodal_spec *spec, const char *label,
                                               blis_error *error);
void blis__modalities_deinit(blis__modalities *modalities, const blis_alloc *alloc);

/*
 * Draws the tokens of every modality of one prompt; *sum is at least 1. Returns BLIS_ERR_INVALID,
 * with client in the message, if there are more than BLIS_WORKLOAD_MAX_TOKENS.
 */
BLIS_MUSTUSE blis_status blis__modalities_draw(const blis__modalities *modalities,
                                               const char *client, blis_random *random,
                                               uint32_t tokens[BLIS__MODALITIES], uint32_t *sum,
                                               blis_error *error);

#endif
