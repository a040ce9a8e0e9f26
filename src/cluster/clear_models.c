/*
 * clear_models.c - requests may leave the owner of their model out, unless
 * several owners have one of that name here.
 */
#include <stdio.h>

#include "cluster/features.h"
#include "instance/arrival.h"

/* Behind cascades, which may have another model in mind. */
static blis_status on_admitting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  const blis_request *request = &news->request->request;
  const blis_intern *strings = cluster->source->strings;
  const blis__model_search search =
      blis__candidates_find(ud, blis_intern_text(strings, request->model));
  if (search.other == NULL) {
    return BLIS_OK;
  }
  char id[BLIS_REQUEST_ID_SIZE];
  char where[BLIS_REQUEST_ID_SIZE + 32];
  snprintf(where, sizeof where, "%s: its model", blis_request_id(request, strings, id));
  return blis__model_search_fail(&search, where, error);
}

blis_status blis__add_clear_models(blis_cluster *cluster) {
  if (!blis__candidates_are_confusable(&cluster->snapshot.candidates)) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = &cluster->snapshot.candidates,
                                   .rank = BLIS__BOOKS,
                                   .on = {[BLIS__ADMITTING] = on_admitting}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
