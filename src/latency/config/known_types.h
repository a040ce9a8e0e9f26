/*
 * known_types.h - the model types (model_type) whose layers blis can describe.
 *
 * For an unknown type, the layers follow from the keys of its file, and blis adds a note. Some
 * types have layers that their keys do not describe. For these, an error states the reason.
 */
#ifndef BLIS_LATENCY_CONFIG_KNOWN_TYPES_H
#define BLIS_LATENCY_CONFIG_KNOWN_TYPES_H

#include "latency/config/values.h"
#include "latency/layers/layered_model.h"

/*
 * Stores an error if blis cannot describe the layers of the type. Adds a note for an unknown type.
 */
void blis__type_check(blis__config *config, blis_layered_model *model);

/*
 * Stores an error if the file contains sizes of states or windows, but no layer of the model has a
 * state or a window. In this case, the key that assigns them to layers is missing or unknown.
 */
void blis__check_unused_sizes(blis__config *config, blis_layered_model *model);

#endif
