/*
 * llmd_demand.h - the formulas of llm-d's autoscaling guides: the number of
 * replicas for a pool's load.
 *
 * Source: llm-d guides/workload-autoscaling (keda-epp, slo-aware).
 */
#ifndef BLIS_POLICY_AUTOSCALE_LLMD_DEMAND_H
#define BLIS_POLICY_AUTOSCALE_LLMD_DEMAND_H

/*
 * Guard variant: starting replicas (included in replicas, but not ready) are subtracted from the
 * demand, so that a backlog does not cause two scale-ups.
 */
double blis_llmd_guarded_demand(double demand, double replicas, double ready);

/*
 * Control law for latencies, given as fractions of their targets. Returns the number of replicas
 * that moves the fraction into [0.40, 0.55].
 */
double blis_llmd_slo_demand(double share, double replicas, double ready);

#endif
