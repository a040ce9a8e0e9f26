/*
 * models.h - the models that serve what a corpus recorded of others; for graph
 * files only.
 *
 * Recorded names become those of the options: by name, or in the order in
 * which they appear in the file, again from the first one when there are more
 * of them. Every reader begins at the start of the file, so it meets them in
 * the same order.
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
  blis_map served;           /* numbers of strings, by that of the recorded name */
  BLIS_ARRAY(uint32_t) seen; /* recorded names, in order of appearance */
} blis__graph_names;

/* Copies *alloc and *given; strings is borrowed. */
BLIS_MUSTUSE blis_status blis__graph_names_init(blis__graph_names *names, const blis_alloc *alloc,
                                                const blis_graph_models *given,
                                                blis_intern *strings);
void blis__graph_names_deinit(blis__graph_names *names);

/*
 * What serves the model that is recorded as value, missing or null: *model = 0,
 * as it is while no models are given. BLIS_ERR_PARSE for a name that becomes
 * nothing.
 */
BLIS_MUSTUSE blis_status blis__graph_names_find(blis__graph_names *names, blis_json_value value,
                                                uint32_t *model, blis_error *error);

/* Says who became what, as long as there is room. */
void blis__graph_names_show(const blis__graph_names *names, char *text, size_t size);

#endif
