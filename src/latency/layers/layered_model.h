/*
 * layered_model.h - a language model as a list of layers, with its embeddings, number formats, and
 * maximum sequence length.
 *
 * Main invariant: the runs contain at least one layer, no run is empty, and no two runs have equal
 * layers. Runs are ordered by the position of their first layer in the model.
 *
 * Parts that a server loads on demand are not in the list: layers for multi-token prediction, and
 * encoders for images and audio.
 */
#ifndef BLIS_LATENCY_LAYERS_LAYERED_MODEL_H
#define BLIS_LATENCY_LAYERS_LAYERED_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "latency/layers/layer.h"

typedef struct blis_layered_model {
  char name[128]; /* for messages */
  char type[64];  /* model_type of config.json; "" = not stated */

  int64_t hidden_size;
  int64_t vocabulary;
  bool has_tied_embeddings; /* one matrix for input and output */
  double other_weights;     /* weights outside of layers, in the model's type */

  double model_bytes;      /* per element of the model's type */
  double kv_bytes;         /* per element of a key or value; 0 = model_bytes */
  double recurrent_bytes;  /* per element of a recurrent state; 0 = model_bytes */
  char quantization[48];   /* name of the method in the file; "" = none */
  blis_weight_format head; /* format of the output matrix */

  int64_t max_tokens; /* maximum sequence length; 0 = not stated */

  blis_layer_run *runs;
  size_t run_count;

  char notes[1024]; /* notes about the model for the user, one per line */

  size_t run_capacity; /* private */
  blis_alloc alloc;    /* private */
} blis_layered_model;

/*
 * Initializes an empty model, which the caller frees with blis_layered_model_free. Copies *alloc.
 */
void blis_layered_model_init(blis_layered_model *model, const blis_alloc *alloc);

/* A zeroed or already freed model is allowed. */
void blis_layered_model_free(blis_layered_model *model);

/*
 * Stores an independent copy in *copy, which must not own memory. The copy uses the allocator of
 * model.
 */
BLIS_MUSTUSE blis_status blis_layered_model_copy(const blis_layered_model *model,
                                                 blis_layered_model *copy, blis_error *error);

/*
 * Adds `count` layers (at least 1) to the run of identical layers, or as a new run. Formats of
 * classes that have no matrix in the layer are cleared.
 */
BLIS_MUSTUSE blis_status blis_layered_model_add(blis_layered_model *model, const blis_layer *layer,
                                                int64_t count, blis_error *error);

/*
 * Appends a line to the notes, unless it is already present. If the notes are full, they are
 * truncated.
 */
void blis_layered_model_note(blis_layered_model *model, const char *format, ...) BLIS_PRINTF(2, 3);

/* Returns the number of layers of all runs. */
int64_t blis_layered_model_layers(const blis_layered_model *model);

/* Returns whether any layer has routed experts. */
bool blis_layered_model_has_experts(const blis_layered_model *model);

/* Returns whether all members of the layers are equal. */
bool blis_layer_equal(const blis_layer *a, const blis_layer *b);

/*
 * Replaces the formats of all layers and of the head by those of a precision, which must not depend
 * on the layer (see blis_precision_override). Runs that become identical are merged.
 */
void blis_layered_model_set_precision(blis_layered_model *model, const blis_precision *precision);

/* Writes a summary of the layers by kind, for example "62 layers: 10 full, 52 window 1,024". */
void blis_layered_model_describe(const blis_layered_model *model, char *text, size_t size);

#endif
