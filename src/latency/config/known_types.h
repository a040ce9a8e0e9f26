/*
 * known_types.h - the types of models (model_type) whose layers blis describes.
 *
 * A type that is not known is read by the keys of its file, with a note. A few types have layers
 * that their keys do not describe: an error names the obstacle.
 */
#ifndef BLIS_LATENCY_CONFIG_KNOWN_TYPES_H
#define BLIS_LATENCY_CONFIG_KNOWN_TYPES_H

#include "latency/config/values.h"
#include "latency/layers/layered_model.h"

/* An error if blis cannot describe the layers of the type; otherwise a note for an unknown type. */
void blis__type_check(blis__config *config, blis_layered_model *model);

/*
 * An error if the file states sizes of states or windows and no layer of the model has any: then
 * the key that distributes these layers is missing or unknown.
 */
void blis__check_unused_sizes(blis__config *config, blis_layered_model *model);

#endif
