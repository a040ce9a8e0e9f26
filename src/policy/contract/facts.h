/*
 * facts.h - the constant facts about an instance: its model, its hardware, its
 * cost. The simulation needs only the model; numbers are shown to policies as
 * the signals of the same names.
 */
#ifndef BLIS_POLICY_CONTRACT_FACTS_H
#define BLIS_POLICY_CONTRACT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct blis_instance_facts {
  const char *model;    /* it serves, in whatever case; NULL or "" = any */
  const char *gpu;      /* type of its GPUs; NULL or "" = unknown */
  int64_t tp;           /* its GPUs; 0 = unknown */
  double cost_per_hour; /* in whatever money, >= 0 */
  double watts;         /* that it draws, >= 0 */
  double capacity;      /* how strong it is among its kind, 0 to 1 */
} blis_instance_facts;

/* Of an instance about which nothing is stated. */
#define BLIS_INSTANCE_FACTS_UNKNOWN ((blis_instance_facts){.capacity = 1})

/* Do two texts name the same model? They may differ in case. */
bool blis__is_same_model(const char *a, const char *b);

#endif
