#include "workload/go_blis.h"

/*
 * Defects of BLIS (Go):
 *
 * - Specifications: an unknown context_growth counts as none. Multimodal clients with windows need
 *   a length for their prompts. Sessions contain only text, even if multimodal is set.
 *   inference-perf replaces a prefix length of 0 with the default of 50.
 * - If rates vary, requests lose their prefix, deadline, and modalities, and a request at the exact
 *   end of a window is lost.
 * - The limit on requests counts the rounds of users, not those of sessions. Rounds that do not
 *   wait for responses also have a deadline.
 * - Weights are divided before rates are multiplied, so constant arrivals differ by 1 us.
 */
const blis_workload_rules blis_workload_go_blis = {
    .takes_any_growth = true,
    .takes_empty_multimodal = true,
    .needs_input = true,
    .takes_multimodal_turns = true,
    .separates_prefix_groups = true,
    .truncates_percents = true,
    .has_default_prefix = true,
    .drops_at_window_end = true,
    .loses_labels = true,
    .loses_modalities = true,
    .cuts_prefixes = true,
    .counts_users_only = true,
    .ends_users = true,
    .draws_zero_ratios = true,
    .limits_open_rounds = true,
    .has_one_day = true,
    .divides_weights_first = true,
    .needs_windows = true,
    .ignores_zero_think_times = true,
};
