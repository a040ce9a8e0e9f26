/*
 * feature_figures.h - the metrics that optional features add to the summary of a run.
 */
#ifndef BLIS_RESULTS_SUMMARY_FEATURE_FIGURES_H
#define BLIS_RESULTS_SUMMARY_FEATURE_FIGURES_H

#include "results/summary/summary.h"

/*
 * Fills the members of the features in a summary whose other members are set. itl_us contains the
 * inter-token latencies of all instances and is unchanged afterwards. Returns BLIS_ERR_NOMEM
 * without an error message.
 */
BLIS_MUSTUSE blis_status blis__summary_add_features(blis_summary *summary,
                                                    const blis_cluster *cluster,
                                                    blis_histogram *itl_us);

#endif
