#include "policy/autoscale/llmd_demand.h"

#include <math.h>

double blis_llmd_guarded_demand(double demand, double replicas, double ready) {
  return demand <= replicas ? demand : fmax(demand - (replicas - ready), replicas);
}

double blis_llmd_slo_demand(double share, double replicas, double ready) {
  double serving = ready > 0 && ready < replicas ? ready / replicas : 1;
  if (share > 0.55) {
    return replicas + ceil(replicas * (share * serving / 0.55 - 1));
  }
  if (share < 0.40) {
    return replicas - floor(replicas * (1 - share / 0.40));
  }
  return replicas;
}
