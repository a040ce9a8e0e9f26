/*
 * candidates.h - the instances that a request can be routed to: instances in
 * service that serve its model, and, with pools, have the requested role.
 *
 * If an instance represents others (fronts), only the representatives are
 * candidates. Representatives and the instances they represent enter and leave
 * service together.
 *
 * Requests with the same model and role share one group of candidates. A group is
 * made at the first query and again after an instance entered or left service,
 * O(instances); every other query is O(1).
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
  bool is_prefix;    /* they are the first instances, without gaps... */
  bool is_everybody; /* ...and all instances in service */
  uint64_t version;  /* of the service at its creation; 0 = not yet */
  int64_t due_us;    /* not before is any of them read again; see snapshot.c */
} blis__group;

typedef struct blis__candidates {
  blis_alloc alloc;
  uint32_t count;                   /* instances */
  const blis_instance_facts *facts; /* borrowed, like ids; NULL = no facts */
  const char *const *ids;
  /* By instance: its representative, which is the instance itself or an earlier one that also
     represents all instances between them. Borrowed; NULL = each represents itself. */
  const uint32_t *fronts;
  uint32_t *id_ranks;
  bool *is_out; /* of service */
  uint32_t out_count;
  uint64_t version;
  uint32_t *models; /* of the instances: numbers of the names below, or any */
  BLIS_ARRAY(const char *) names;
  uint32_t stages;                     /* 1, or all stages */
  blis__group *groups;                 /* one per name, and some more; by stage */
  BLIS_ARRAY(uint32_t) group_of_model; /* + 1, by number of the text; 0 = ? */
} blis__candidates;

/* BLIS_ERR_NOMEM leaves nothing allocated. */
BLIS_MUSTUSE blis_status blis__candidates_init(blis__candidates *candidates,
                                               const blis_alloc *alloc,
                                               const blis_instance_facts *facts,
                                               const char *const *ids, const uint32_t *fronts,
                                               uint32_t count);
void blis__candidates_deinit(blis__candidates *candidates);

/* Does any instance serve the model, in service or not? */
bool blis__candidates_serve(const blis__candidates *candidates, const char *model);

/* Which of the models it is, by its number among the names. */
blis__model_search blis__candidates_find(const blis__candidates *candidates, const char *model);

/* Can a name without an owner match several models? */
bool blis__candidates_are_confusable(const blis__candidates *candidates);

/* Updates the facts of an instance that is out of service; its model is one of the existing
   models. */
void blis__candidates_note_facts(blis__candidates *candidates, uint32_t i);

/* Initially all instances are in service. */
void blis__candidates_put_in_service(blis__candidates *candidates, uint32_t i, bool is_in_service);

/*
 * The candidates for requests of a model, a number in strings (0 = any model),
 * with a role (0 = whatever they do). NULL = out of memory.
 */
blis__group *blis__candidates_for(blis__candidates *candidates, const blis_intern *strings,
                                  uint32_t model, uint32_t role);

/* Returns a group of all instances, including represented ones, for every model. */
blis__group *blis__candidates_all(blis__candidates *candidates, uint32_t role);

/* Does front represent instance i, which may be beyond the last one? */
static inline bool blis__is_shown_by(const blis__candidates *candidates, uint32_t i,
                                     uint32_t front) {
  return i == front ||
         (candidates->fronts != NULL && i < candidates->count && candidates->fronts[i] == front);
}

/* Would it be in the group if it were in service? */
bool blis__may_be_candidate(const blis__candidates *candidates, const blis__group *group,
                            uint32_t i);

#endif
