/*
 * models.h - maps the models recorded in a corpus to served models; for graph files
 * only.
 *
 * Recorded names are mapped to the names of the options: by name, or in order of appearance in the
 * file, cycling if there are more recorded names. Every reader starts at the beginning of the file,
 * so all readers get the same mapping.
 */
#ifndef BLIS_WORKLOAD_GRAPH_MODELS_H
#define BLIS_WORKLOAD_GRAPH_MODELS_H

#include "base/containers/map.h"
#include "base/format/json.h"
#include "workload/graph/file.h"

typedef struct blis__graph_names {
  blis_alloc alloc;
  blis_graph_models given; /* copied */
  blis_intern *strings;
  blis_map served;           /* number of the served model, by the number of the recorded name */
  BLIS_ARRAY(uint32_t) seen; /* recorded names, in order of appearance */
} blis__graph_names;

/* Copies *alloc and *given; strings is borrowed. */
BLIS_MUSTUSE blis_status blis__graph_names_init(blis__graph_names *names, const blis_alloc *alloc,
                                                const blis_graph_models *given,
                                                blis_intern *strings);
void blis__graph_names_deinit(blis__graph_names *names);

/*
 * Finds the served model for a recorded value. Sets *model to 0 if the value is missing or null, or
 * if no models are configured. Returns BLIS_ERR_PARSE for a name without a served model.
 */
BLIS_MUSTUSE blis_status blis__graph_names_find(blis__graph_names *names, blis_json_value value,
                                                uint32_t *model, blis_error *error);

/* Writes the mapping, truncated to the size of text. */
void blis__graph_names_show(const blis__graph_names *names, char *text, size_t size);

#endif
