/*
 * candidates.h - the instances to which a request can be routed: instances in service that serve
 * its model and, with pools, have the requested role.
 *
 * If some instances represent others (fronts), only the representatives are candidates.
 * Representatives and the instances that they represent enter and leave service together.
 *
 * Requests with the same model and role share one group of candidates. A group is created at the
 * first query, and again after an instance has entered or left service, in O(instances). Every
 * other query is O(1).
 */
#ifndef BLIS_CLUSTER_SIGNALS_CANDIDATES_H
#define BLIS_CLUSTER_SIGNALS_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/intern.h"
#include "base/error.h"
#include "policy/contract/facts.h"

/* One per role, followed by the stage without a role. */
enum { BLIS__STAGE_COUNT = BLIS_ROLE_COUNT + 1 };

/* Roles are bits: 1, 2 and 4. */
static inline uint32_t blis__stage_of(uint32_t role) {
  return role - (role >> 2);
}

/* Candidates by ascending number, and their columns for views. */
typedef struct blis__group {
  uint32_t count;
  uint32_t *instances;
  const char **ids;
  uint32_t *id_ranks;
  bool is_prefix;    /* they are the first instances, without gaps */
  bool is_everybody; /* is_prefix, and they are all instances in service */
  uint64_t version;  /* version of the service at its creation; 0 = not created */
  int64_t due_us;    /* no instance of the group is read again before this time; see snapshot.c */
} blis__group;

typedef struct blis__candidates {
  blis_alloc alloc;
  uint32_t count;                   /* number of instances */
  const blis_instance_facts *facts; /* borrowed, like ids; NULL = no facts */
  const char *const *ids;
  /* The representative of each instance: the instance itself, or an earlier one that also
     represents all instances between them. Borrowed; NULL = each instance represents itself. */
  const uint32_t *fronts;
  uint32_t *id_ranks;
  bool *is_out; /* instances that are out of service */
  uint32_t out_count;
  uint64_t version;
  uint32_t *models; /* model of each instance, as an index into names, or any */
  BLIS_ARRAY(const char *) names;
  uint32_t stages;                     /* 1, or all stages */
  blis__group *groups;                 /* one per name, and some more; for each stage */
  BLIS_ARRAY(uint32_t) group_of_model; /* indexed by string ID: group + 1; 0 = unknown */
} blis__candidates;

/* After BLIS_ERR_NOMEM, nothing is allocated. */
BLIS_MUSTUSE blis_status blis__candidates_init(blis__candidates *candidates,
                                               const blis_alloc *alloc,
                                               const blis_instance_facts *facts,
                                               const char *const *ids, const uint32_t *fronts,
                                               uint32_t count);
void blis__candidates_deinit(blis__candidates *candidates);

/* Returns whether any instance serves the model, in service or not. */
bool blis__candidates_serve(const blis__candidates *candidates, const char *model);

/* Finds the model among the names. The result contains its index. */
blis__model_search blis__candidates_find(const blis__candidates *candidates, const char *model);

/* Returns whether a name without an owner can match several models. */
bool blis__candidates_are_confusable(const blis__candidates *candidates);

/* Updates the facts of an instance that is out of service. Its model must be one of the existing
   models. */
void blis__candidates_note_facts(blis__candidates *candidates, uint32_t i);

/* Sets whether an instance is in service. Initially, all instances are. */
void blis__candidates_put_in_service(blis__candidates *candidates, uint32_t i, bool is_in_service);

/*
 * Returns the candidates for a model (an ID in strings; 0 = any model) and a role (0 = any role).
 * NULL = out of memory.
 */
blis__group *blis__candidates_for(blis__candidates *candidates, const blis_intern *strings,
                                  uint32_t model, uint32_t role);

/* Returns a group of all instances, including represented ones, for every model. */
blis__group *blis__candidates_all(blis__candidates *candidates, uint32_t role);

/* Returns whether front represents instance i. i may be beyond the last instance. */
static inline bool blis__is_shown_by(const blis__candidates *candidates, uint32_t i,
                                     uint32_t front) {
  return i == front ||
         (candidates->fronts != NULL && i < candidates->count && candidates->fronts[i] == front);
}

/* Returns whether instance i would be in the group if it were in service. */
bool blis__may_be_candidate(const blis__candidates *candidates, const blis__group *group,
                            uint32_t i);

#endif
