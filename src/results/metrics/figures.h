/*
 * figures.h - every figure that the core computes for a run, by name.
 *
 * One table for the structs of C, the fields of Lua, annotations, the summary,
 * JSON, CSV, comparisons and the reference. A new figure is a line here and the
 * place that computes it; figures that Lua works out of these are in
 * lua/blis/results/figures.lua, where the surfaces begin.
 *
 * Counts of requests are those of BLIS_REQUEST_STATE_MAP. Columns of a map:
 * type, name (the member and the field), unit, what is better (MORE, LESS or
 * NEUTRAL), where the summary shows it, what it is. "KV cache: {%} of the
 * prompt blocks found" belongs to the line "KV cache";
 * {} stands for the value: {2} with two decimals, {%} as percent, {preemption}
 * as a count with its noun, {0?} is left out where it is 0; "" is not shown.
 */
#ifndef BLIS_RESULTS_METRICS_FIGURES_H
#define BLIS_RESULTS_METRICS_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/handoff/handoff.h"
#include "instance/live_request.h"
#include "results/metrics/percentiles.h"

/* Times of requests: XX(name, text). The field of Lua is name_ms. */
#define BLIS_TIME_MAP(XX)                                                                          \
  XX(ttft, "time to first token, of requests that got one")                                        \
  XX(itl, "inter-token latency, of completed requests: over tokens; of groups "                    \
          "and windows over the requests' own means")                                              \
  XX(e2e, "arrival to last token, of completed requests")                                          \
  XX(scheduling_delay, "arrival to first admission to a batch")

/* Of a run as a whole. */
#define BLIS_RESULT_FIGURES(XX)                                                                    \
  XX(INTEGER, duration_us, "us", LESS, "", "from 0 to the last event")                             \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of every request that an instance accepted")  \
  XX(INTEGER, output_tokens, "tokens", MORE, "", "of completed requests: answers, not attempts")   \
  XX(NUMBER, requests_per_sec, "requests/s", MORE, "throughput: {2} requests/s",                   \
     "completed; 0 when nothing was")                                                              \
  XX(NUMBER, tokens_per_sec, "tokens/s", MORE, "throughput: {1} tokens/s",                         \
     "output tokens of completed requests")                                                        \
  XX(NUMBER, cache_hit_rate, "0 to 1", MORE, "",                                                   \
     "blocks found / blocks looked for, mean over the instances, idle ones "                       \
     "as "                                                                                         \
     "0")                                                                                          \
  XX(NUMBER, cache_hit_rate_overall, "0 to 1", MORE, "KV cache: {%} of the prompt blocks found",   \
     "blocks found / blocks looked for")                                                           \
  XX(NUMBER, request_hit_rate, "0 to 1", MORE, "KV cache: hits in {%} of the requests",            \
     "completed requests of whose prompt something was cached when they were "                     \
     "first admitted / completed")                                                                 \
  XX(INTEGER, preemptions, "requests", LESS, "KV cache: {preemption}",                             \
     "times that a running request lost its blocks")                                               \
  XX(NUMBER, preemption_rate, "per request", LESS, "", "preemptions / completed")                  \
  XX(INTEGER, kv_allocation_failures, "", LESS, "", "times that no KV block was to be had")        \
  XX(INTEGER, steps, "", NEUTRAL, "", "forward passes, over all instances")                        \
  XX(NUMBER, balance, "0 to 1", MORE, "",                                                          \
     "Jain's index of requests per instance, 1 = even; of the pool where it "                      \
     "is "                                                                                         \
     "least")

/* Of an SLO class, a tenant, a model or a window, beside counts and times. */
#define BLIS_GROUP_FIGURES(XX)                                                                     \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of these requests")                           \
  XX(INTEGER, output_tokens, "tokens", MORE, "", "of the completed ones")                          \
  XX(NUMBER, request_hit_rate, "0 to 1", MORE, "",                                                 \
     "completed ones of whose prompt something was cached / completed")

/* Of a window, beside those of the requests that arrived in it. */
#define BLIS_WINDOW_FIGURES(XX)                                                                    \
  XX(INTEGER, from_us, "us", NEUTRAL, "", "where it starts")                                       \
  XX(INTEGER, to_us, "us", NEUTRAL, "", "this and later is outside")                               \
  XX(NUMBER, requests_per_sec, "requests/s", MORE, "", "completed in it, whenever they arrived")   \
  XX(NUMBER, tokens_per_sec, "tokens/s", MORE, "", "output tokens of these")

/* Of an instance: what the summary adds to what the instance counts. */
#define BLIS_INSTANCE_FIGURES(XX)                                                                  \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "routed here")                                    \
  XX(INTEGER, group, "", NEUTRAL, "", "of setup.groups, from 1")                                   \
  XX(INTEGER, end_us, "us", NEUTRAL, "", "time of its last event")                                 \
  XX(NUMBER, active_seconds, "s", NEUTRAL, "",                                                     \
     "for which it took requests, up to the end of the run")                                       \
  XX(NUMBER, cache_hit_rate, "0 to 1", MORE, "", "blocks found / blocks looked for")

/* Members of blis_instance_stats that results have. */
#define BLIS_INSTANCE_COUNT_MAP(XX)                                                                \
  XX(INTEGER, completed, "requests", MORE, "", "answered, length_capped ones included")            \
  XX(INTEGER, length_capped, "requests", NEUTRAL, "", "part of completed")                         \
  XX(INTEGER, timed_out, "requests", LESS, "", "here")                                             \
  XX(INTEGER, unservable, "requests", LESS, "", "dropped: too long")                               \
  XX(INTEGER, preemptions, "requests", LESS, "", "times that a running request lost its blocks")   \
  XX(INTEGER, kv_allocation_failures, "", LESS, "", "times that no KV block was to be had")        \
  XX(INTEGER, steps, "", NEUTRAL, "", "forward passes")                                            \
  XX(INTEGER, busy_us, "us", NEUTRAL, "", "forward passes, up to the end of the last one")         \
  XX(INTEGER, prefill_us, "us", NEUTRAL, "", "those of busy_us that computed prompt tokens")       \
  XX(INTEGER, queue_depth_sum, "requests", NEUTRAL, "",                                            \
     "waiting requests, added up over the steps")                                                  \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of accepted requests")                        \
  XX(INTEGER, output_tokens, "tokens", MORE, "", "of completed requests")                          \
  XX(INTEGER, cache_hits, "blocks", MORE, "", "found in the KV cache")                             \
  XX(INTEGER, cache_misses, "blocks", LESS, "",                                                    \
     "looked for and not found, decode blocks included")                                           \
  XX(INTEGER, cpu_reloads, "blocks", NEUTRAL, "", "from the CPU tier")                             \
  XX(INTEGER, cpu_misses, "blocks", NEUTRAL, "", "not in the CPU tier either")                     \
  XX(INTEGER, cpu_saved, "blocks", NEUTRAL, "", "to the CPU tier")                                 \
  XX(INTEGER, cpu_evictions, "blocks", NEUTRAL, "", "out of the CPU tier")                         \
  XX(INTEGER, cpu_transfers, "", NEUTRAL, "",                                                      \
     "times that blocks came back from the CPU tier for a request")                                \
  XX(INTEGER, cpu_transfer_us, "us", LESS, "", "what these added to steps")

/* Members of blis_cache_belief. */
#define BLIS_BELIEF_COUNT_MAP(XX)                                                                  \
  XX(INTEGER, decisions, "", NEUTRAL, "",                                                          \
     "by policies that look at caches; 0 = the policy looks at none")                              \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of these requests")                           \
  XX(INTEGER, believed_tokens, "tokens", NEUTRAL, "",                                              \
     "leading prompt tokens believed to be cached at the chosen instance")                         \
  XX(INTEGER, true_tokens, "tokens", NEUTRAL, "",                                                  \
     "leading prompt tokens that were cached there at the decision")                               \
  XX(INTEGER, missing_tokens, "tokens", LESS, "", "believed and not there")                        \
  XX(INTEGER, unknown_tokens, "tokens", LESS, "", "there and not believed")

/* What follows from these counts. */
#define BLIS_BELIEF_FIGURES(XX)                                                                    \
  XX(NUMBER, believed_hit_rate, "0 to 1", NEUTRAL,                                                 \
     "router: took {%} of the prompt tokens for cached", "believed_tokens / prompt_tokens")        \
  XX(NUMBER, true_hit_rate, "0 to 1", MORE, "router: {%} were", "true_tokens / prompt_tokens")

/* Members of blis_handoff_counts, where prefill and decode are apart. */
#define BLIS_HANDOFF_COUNT_MAP(XX)                                                                 \
  XX(INTEGER, colocated, "requests", NEUTRAL, "",                                                  \
     "requests that were decoded where they were prefilled, because the "                          \
     "decider said so")                                                                            \
  XX(INTEGER, started, "hand-offs", NEUTRAL, "hand-offs: {0} started",                             \
     "hand-offs that were begun: completed + failed + timed_out + cancelled "                      \
     "+ in_flight")                                                                                \
  XX(INTEGER, completed, "hand-offs", MORE, "hand-offs: {0} completed",                            \
     "hand-offs whose KV got where it was wanted")                                                 \
  XX(INTEGER, failed, "hand-offs", LESS, "",                                                       \
     "hand-offs that failed for any reason but the deadline of the request")                       \
  XX(INTEGER, timed_out, "hand-offs", LESS, "",                                                    \
     "hand-offs that ended because the deadline of the request was over")                          \
  XX(INTEGER, cancelled, "hand-offs", NEUTRAL, "",                                                 \
     "hand-offs that ended because one instance did both stages after all")                        \
  XX(INTEGER, in_flight, "hand-offs", NEUTRAL, "",                                                 \
     "hand-offs that were under way at the end of the run")                                        \
  XX(INTEGER, dropped, "hand-offs", LESS, "",                                                      \
     "hand-offs that failed because there was no room; part of failed")                            \
  XX(INTEGER, retried, "hand-offs", LESS, "",                                                      \
     "hand-offs after whose failure the request was routed again; part of "                        \
     "failed")                                                                                     \
  XX(INTEGER, recomputed, "hand-offs", LESS, "",                                                   \
     "hand-offs after whose failure one instance computed everything; part "                       \
     "of failed")                                                                                  \
  XX(INTEGER, waited, "hand-offs", LESS, "hand-offs: {0} waited for room",                         \
     "hand-offs that waited for room at the destination")                                          \
  XX(INTEGER, waiting, "hand-offs", NEUTRAL, "",                                                   \
     "hand-offs that waited for room at the end of the run")                                       \
  XX(INTEGER, shared, "transfers", LESS, "", "transfers that shared a link with another one")      \
  XX(INTEGER, peak, "transfers", NEUTRAL, "", "most transfers under way at one time")

/* What follows from these counts. */
#define BLIS_HANDOFF_FIGURES(XX)                                                                   \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "",                                                         \
     "mean wait for room at the destination, over the hand-offs that waited")                      \
  XX(NUMBER, mean_transfer_ms, "ms", LESS, "hand-offs: {2} ms each on their way",                  \
     "mean time from the start of a transfer to its end")                                          \
  XX(NUMBER, mean_depth, "transfers", NEUTRAL, "",                                                 \
     "mean number of transfers under way when one starts, this one included")                      \
  XX(INTEGER, encoded, "requests", NEUTRAL, "", "requests that the encode pool encoded")           \
  XX(NUMBER, mean_encode_wait_ms, "ms", LESS, "", "mean wait of these requests for their turn")    \
  XX(NUMBER, mean_encode_ms, "ms", LESS, "", "mean time from their turn to the end of encoding")   \
  XX(NUMBER, moved_gb, "GB", NEUTRAL, "", "KV moved over all links, each byte counted once")       \
  XX(NUMBER, busiest_link, "0 to 1", NEUTRAL, "hand-offs: busiest link busy {%} of the time",      \
     "share of the run in which the busiest link had something to move")

/* Members of blis_link_counts, of a link that was used. */
#define BLIS_LINK_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, transfers, "transfers", NEUTRAL, "", "transfers over the link that ended")           \
  XX(INTEGER, peak, "transfers", LESS, "", "most transfers on the link at one time")

#define BLIS_LINK_FIGURES(XX)                                                                      \
  XX(NUMBER, gb_s, "GB/s", NEUTRAL, "", "bandwidth of the link; 0 = takes no time")                \
  XX(NUMBER, moved_gb, "GB", NEUTRAL, "", "KV moved over the link")                                \
  XX(NUMBER, utilization, "0 to 1", NEUTRAL, "",                                                   \
     "share of the run in which the link had something to move")                                   \
  XX(NUMBER, mean_depth, "transfers", LESS, "",                                                    \
     "mean number of transfers on the link while it was used: above 1, they "                      \
     "waited for each other")

/* Members of blis_kv_tiers_counts, with KV tiers. */
#define BLIS_TIERS_COUNT_MAP(XX)                                                                   \
  XX(INTEGER, requests, "requests", NEUTRAL, "",                                                   \
     "times that a request had KV brought back; the sum of the next four")                         \
  XX(INTEGER, completed, "requests", NEUTRAL, "", "times that all of it came back")                \
  XX(INTEGER, failed, "requests", LESS, "KV tiers: {0?} loads cut short",                          \
     "times that less came, since a store was lost with its instance")                             \
  XX(INTEGER, canceled, "requests", LESS, "",                                                      \
     "times that the request was gone before its KV came")                                         \
  XX(INTEGER, in_flight, "requests", NEUTRAL, "",                                                  \
     "times that the request still waited at the end of the run")                                  \
  XX(INTEGER, declined, "times", NEUTRAL, "", "times that load wanted nothing of what was there")  \
  XX(INTEGER, loaded_blocks, "blocks", MORE, "", "KV blocks that were brought back")

#define BLIS_TIERS_FIGURES(XX)                                                                     \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "KV tiers: {%} of the prompt blocks brought back",          \
     "share of the looked-for prompt blocks that tiers brought back")                              \
  XX(NUMBER, mean_load_ms, "ms", LESS, "KV tiers: {2} ms a load",                                  \
     "mean time that a request waited for what was brought back; part of its "                     \
     "TTFT, but after preemptions")

/* Members of blis_kv_tier_counts. */
#define BLIS_TIER_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, capacity_blocks, "blocks", NEUTRAL, "",                                              \
     "KV blocks that all stores of the tier can hold")                                             \
  XX(INTEGER, used_blocks, "blocks", NEUTRAL, "",                                                  \
     "KV blocks in all stores of the tier at the end of the run")                                  \
  XX(INTEGER, peak_blocks, "blocks", NEUTRAL, "",                                                  \
     "most KV blocks in one store of the tier at one time")                                        \
  XX(INTEGER, loads, "reads", NEUTRAL, "", "reads that ended, one for a request")                  \
  XX(INTEGER, loaded_blocks, "blocks", MORE, "",                                                   \
     "KV blocks that the tier brought to requests: its hits")                                      \
  XX(INTEGER, peer_blocks, "blocks", NEUTRAL, "",                                                  \
     "KV blocks from the store of another instance, part of loaded_blocks")                        \
  XX(INTEGER, lost_blocks, "blocks", LESS, "",                                                     \
     "KV blocks that were to be brought and did not come")                                         \
  XX(INTEGER, promoted_blocks, "blocks", NEUTRAL, "",                                              \
     "KV blocks that stayed in the tier when they were read through it")                           \
  XX(INTEGER, saves, "writes", NEUTRAL, "", "writes that ended")                                   \
  XX(INTEGER, saved_blocks, "blocks", NEUTRAL, "", "KV blocks that these wrote")                   \
  XX(INTEGER, dropped_blocks, "blocks", LESS, "",                                                  \
     "KV blocks that were not saved, since all others were being read or "                         \
     "written")                                                                                    \
  XX(INTEGER, evicted_blocks, "blocks", NEUTRAL, "", "KV blocks that left for others")             \
  XX(INTEGER, removed_blocks, "blocks", LESS, "", "KV blocks that were lost with instances")

#define BLIS_TIER_FIGURES(XX)                                                                      \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "",                                                         \
     "share of the looked-for prompt blocks that the tier brought")                                \
  XX(NUMBER, mean_load_ms, "ms", LESS, "", "mean time from the start of a read to its end")        \
  XX(NUMBER, loaded_gb, "GB", NEUTRAL, "", "KV that was read from the tier")                       \
  XX(NUMBER, saved_gb, "GB", NEUTRAL, "", "KV that was written to the tier")                       \
  XX(NUMBER, read_utilization, "0 to 1", NEUTRAL, "",                                              \
     "share of the run, to its last transfer, in which the busiest store was "                     \
     "read")                                                                                       \
  XX(NUMBER, write_utilization, "0 to 1", NEUTRAL, "",                                             \
     "share of the run, to its last transfer, in which the busiest store was "                     \
     "written")

/* Members of blis_gateway_counts, with a queue of the gateway. */
#define BLIS_QUEUE_COUNT_MAP(XX)                                                                   \
  XX(INTEGER, enqueued, "requests", NEUTRAL, "", "requests that got into the queue")               \
  XX(INTEGER, dispatched, "requests", MORE, "queue: {0} dispatched",                               \
     "requests that left the queue to be routed")                                                  \
  XX(INTEGER, rejected, "requests", LESS, "queue: {0?} found no room",                             \
     "requests for which the queue had no room, 429 or 503")                                       \
  XX(INTEGER, shed, "requests", LESS, "queue: {0?} shed",                                          \
     "requests that made room for one of a higher class, 429")                                     \
  XX(INTEGER, expired, "requests", LESS, "queue: {0?} waited too long",                            \
     "requests that waited too long, 429 or 503")                                                  \
  XX(INTEGER, without_instances, "requests", LESS, "",                                             \
     "requests that ended because there was no instance, 503; part of "                            \
     "rejected and expired")                                                                       \
  XX(INTEGER, evicted, "requests", LESS, "queue: {0?} evicted",                                    \
     "requests that were taken from their instances for others that waited, "                      \
     "429")                                                                                        \
  XX(INTEGER, waiting, "requests", NEUTRAL, "queue: {0?} waiting at the end",                      \
     "requests in the queue at the end of the run")                                                \
  XX(INTEGER, peak, "requests", LESS, "queue: {0} at once at most",                                \
     "most requests in the queue at one time")

/* What follows from these counts. */
#define BLIS_QUEUE_FIGURES(XX)                                                                     \
  XX(INTEGER, status_429, "requests", LESS, "queue: {0?} with status 429",                         \
     "requests that ended here with status 429 of HTTP, too many requests")                        \
  XX(INTEGER, status_503, "requests", LESS, "queue: {0?} with status 503",                         \
     "requests that ended here with status 503 of HTTP, no instance")                              \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "queue: a wait of {2} ms on average",                       \
     "mean wait of the dispatched requests; it is part of their TTFT")                             \
  XX(TIMES, wait_ms, "ms", LESS, "",                                                               \
     "waits of the dispatched requests: percentiles, at most 0.4 % too low")

/* Members of blis_gateway_band_counts, of a band of that queue. */
#define BLIS_BAND_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, priority, "", NEUTRAL, "", "priority of the band")                                   \
  XX(INTEGER, enqueued, "requests", NEUTRAL, "", "requests that got into the band")                \
  XX(INTEGER, dispatched, "requests", MORE, "", "requests that left the band to be routed")        \
  XX(INTEGER, rejected, "requests", LESS, "", "requests for which the band had no room")           \
  XX(INTEGER, shed, "requests", LESS, "", "requests that made room for one of a higher class")     \
  XX(INTEGER, expired, "requests", LESS, "", "requests that waited too long")                      \
  XX(INTEGER, evicted, "requests", LESS, "", "requests that were taken from their instances")      \
  XX(INTEGER, waiting, "requests", NEUTRAL, "", "requests in the band at the end of the run")      \
  XX(INTEGER, peak, "requests", LESS, "", "most requests in the band at one time")

#define BLIS_BAND_FIGURES(XX)                                                                      \
  XX(TIMES, wait_ms, "ms", LESS, "",                                                               \
     "waits of the dispatched requests: percentiles, at most 0.4 % too low")

/* Members of blis_adapter_stats, with adapters. */
#define BLIS_LORA_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, slots, "adapters", NEUTRAL, "",                                                      \
     "adapters that the instances that are up at the end of the run have "                         \
     "room for")                                                                                   \
  XX(INTEGER, requests, "requests", NEUTRAL, "",                                                   \
     "requests with an adapter that were admitted to a batch; parts of "                           \
     "hand-offs apart")                                                                            \
  XX(INTEGER, hits, "requests", MORE, "",                                                          \
     "requests whose adapter was there when they were first considered")                           \
  XX(INTEGER, waits, "", LESS, "",                                                                 \
     "times that a request waited for its adapter before it was admitted")                         \
  XX(INTEGER, loads, "", LESS, "adapters: {0} loads", "loads of adapters that have begun")         \
  XX(INTEGER, fetches, "", LESS, "adapters: {0?} fetched to the host",                             \
     "loads of adapters that were not on the host and were fetched first")                         \
  XX(INTEGER, evictions, "", LESS, "", "adapters that left their slots for others")

/* What follows from these counts. */
#define BLIS_LORA_FIGURES(XX)                                                                      \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "adapters: {%} found loaded",                               \
     "share of these requests whose adapter was there: hits / requests")                           \
  XX(NUMBER, loads_per_100, "", LESS, "adapters: {1} loads per 100 requests",                      \
     "loads per 100 of these requests")                                                            \
  XX(NUMBER, mean_load_ms, "ms", LESS, "", "mean time of a load, fetches included")                \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "adapters: a wait of {2} ms on average",                    \
     "mean wait for adapters over all of these requests, hits as 0; part of "                      \
     "their TTFT, but for waits behind the first token: where decodes need "                       \
     "the adapter after a first token of the prefill, and after preemptions")

/* Of one adapter, over all instances. */
#define BLIS_ADAPTER_FIGURES(XX)                                                                   \
  XX(INTEGER, loads, "", LESS, "", "loads of the adapter that have begun")                         \
  XX(INTEGER, evictions, "", LESS, "", "times that the adapter left its slot for others")          \
  XX(INTEGER, instances, "instances", NEUTRAL, "",                                                 \
     "instances that have the adapter at the end of the run")

/* Of speculative decoding, over all instances. */
#define BLIS_SPECULATION_FIGURES(XX)                                                               \
  XX(INTEGER, drafts, "", NEUTRAL, "", "steps in which a request drafted, over all requests")      \
  XX(INTEGER, draft_tokens, "tokens", NEUTRAL, "", "tokens that were drafted in these steps")      \
  XX(INTEGER, accepted_tokens, "tokens", MORE, "",                                                 \
     "drafted tokens that were given out; what is behind the end of an "                           \
     "output is not")                                                                              \
  XX(NUMBER, acceptance_rate, "0 to 1", MORE, "speculation: {%} of the drafts held",               \
     "share of the drafted tokens that held: accepted_tokens / draft_tokens")                      \
  XX(NUMBER, mean_acceptance_length, "tokens", MORE,                                               \
     "speculation: {2} tokens per step of a request",                                              \
     "mean number of tokens that such a step gives: 1 + accepted_tokens / "                        \
     "drafts")                                                                                     \
  XX(TIMES, itl_per_chunk_ms, "ms", LESS, "",                                                      \
     "inter-token latency of a client to which what comes in a step is one: "                      \
     "itl_ms without the tokens that come with the one before them")

/* Of data-parallel ranks, over all groups with a barrier; 0 without one. */
#define BLIS_RANKS_FIGURES(XX)                                                                     \
  XX(INTEGER, passes, "", NEUTRAL, "", "passes of groups at their barriers")                       \
  XX(NUMBER, barrier_loss, "0 to 1", LESS, "ranks: {%} of the time lost at barriers",              \
     "share of the ranks' time in passes in which they waited for the "                            \
     "slowest: 1 - sum of own times / sum of passes, a dummy pass with its "                       \
     "own time")                                                                                   \
  XX(NUMBER, dummy_share, "0 to 1", LESS, "ranks: {%} of their passes without work",               \
     "share of the passes of ranks that had nothing to compute")                                   \
  XX(NUMBER, running_imbalance, "", LESS, "",                                                      \
     "running requests of the rank with most / mean of its group, weighted "                       \
     "with the times of passes; 1 = even")                                                         \
  XX(NUMBER, kv_imbalance, "", LESS, "",                                                           \
     "KV blocks in use of the rank with most / mean of its group, weighted "                       \
     "likewise; 1 = even")

/* Of the requests of an SLO class with a target. */
#define BLIS_GOODPUT_FIGURES(XX)                                                                   \
  XX(INTEGER, arrived, "requests", NEUTRAL, "", "requests of the class that arrived")              \
  XX(INTEGER, completed, "requests", MORE, "", "requests of the class that completed")             \
  XX(INTEGER, good, "requests", MORE, "",                                                          \
     "requests that completed with every time within its target")                                  \
  XX(INTEGER, ttft_met, "requests", MORE, "",                                                      \
     "completed requests with TTFT within its target; all of them without "                        \
     "one")                                                                                        \
  XX(INTEGER, itl_met, "requests", MORE, "",                                                       \
     "completed requests with their mean ITL within its target; all of them "                      \
     "without one")                                                                                \
  XX(INTEGER, e2e_met, "requests", MORE, "",                                                       \
     "completed requests with E2E within its target; all of them without one")                     \
  XX(NUMBER, attainment, "0 to 1", MORE, "",                                                       \
     "share of the arrived requests that were good: good / arrived")

/* Of a cascade: of all attempts, and of those with one model. */
#define BLIS_ATTEMPT_FIGURES(XX)                                                                   \
  XX(INTEGER, attempts, "", NEUTRAL, "", "times that a model was asked")                           \
  XX(INTEGER, accepted, "", NEUTRAL, "", "answers that were good enough")                          \
  XX(INTEGER, escalated, "", NEUTRAL, "", "attempts after which another model was asked")          \
  XX(INTEGER, accepted_last, "", NEUTRAL, "",                                                      \
     "answers at the end of the chain that were taken though they were not "                       \
     "good enough")                                                                                \
  XX(INTEGER, failed, "", LESS, "",                                                                \
     "last attempts that were rejected, lost, timed out or unservable")                            \
  XX(INTEGER, unfinished, "", NEUTRAL, "", "attempts that were not over at the end of the run")    \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "prompt tokens that instances took")           \
  XX(INTEGER, output_tokens, "tokens", NEUTRAL, "", "output tokens that were sent")                \
  XX(INTEGER, dropped_output_tokens, "tokens", LESS, "",                                           \
     "output tokens of answers that were not accepted")                                            \
  XX(NUMBER, mean_logprob, "", NEUTRAL, "", "mean over answers of their mean log-probabilities")   \
  XX(NUMBER, mean_attempt_ms, "ms", LESS, "",                                                      \
     "mean time of an attempt from its start to its end, over answers")

/* Of a cascade over all models. */
#define BLIS_CASCADE_FIGURES(XX)                                                                   \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "requests that took part in the cascade")         \
  XX(NUMBER, mean_steps, "", NEUTRAL, "", "mean number of models asked per request")

/* Of the tasks of session graphs; times are those of completed ones. */
#define BLIS_TASK_FIGURES(XX)                                                                      \
  XX(INTEGER, started, "tasks", NEUTRAL, "tasks: {0} started", "tasks that started in the run")    \
  XX(INTEGER, completed, "tasks", MORE, "tasks: {0} completed",                                    \
     "tasks all of whose requests that are not in the background completed")                       \
  XX(INTEGER, broken, "tasks", LESS, "tasks: {0?} broken",                                         \
     "tasks of which a request was given up, or waited for one that was")                          \
  XX(INTEGER, unfinished, "tasks", LESS, "tasks: {0?} unfinished",                                 \
     "tasks that were not over at the end of the run")                                             \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "requests of all these tasks")                    \
  XX(INTEGER, never_sent, "requests", LESS, "tasks: {0?} requests never sent",                     \
     "requests that were not sent, since what they waited for did not end, "                       \
     "or not in time")                                                                             \
  XX(NUMBER, tasks_per_sec, "tasks/s", MORE, "tasks: {2} tasks/s", "completed tasks per second")   \
  XX(NUMBER, path_requests, "requests", NEUTRAL, "",                                               \
     "mean number of requests on the critical path")                                               \
  XX(NUMBER, parallelism, "", NEUTRAL, "",                                                         \
     "time of all requests, from arrival to end / time of the tasks")                              \
  XX(NUMBER, cached_share, "0 to 1", MORE, "",                                                     \
     "prompt tokens of completed requests of tasks that were found in caches "                     \
     "or KV tiers / all of them")                                                                  \
  XX(TIMES, task_ms, "ms", LESS, "",                                                               \
     "start of a task to the end of the last request that is not in the "                          \
     "background")                                                                                 \
  XX(TIMES, queue_ms, "ms", LESS, "",                                                              \
     "on the critical path: arrival to first admission to a batch")                                \
  XX(TIMES, prefill_ms, "ms", LESS, "", "on the critical path: admission to the first token")      \
  XX(TIMES, decode_ms, "ms", LESS, "", "on the critical path: the first token to the end")         \
  XX(TIMES, tool_ms, "ms", NEUTRAL, "", "on the critical path: waiting for tools")                 \
  XX(TIMES, delay_ms, "ms", NEUTRAL, "", "on the critical path: other delays in front of requests")

/* Declares a figure of a map as a member. */
#define BLIS_FIGURE_MEMBER(type, name, unit, better, shown, text) BLIS__FIGURE_##type name;
#define BLIS__FIGURE_INTEGER int64_t
#define BLIS__FIGURE_NUMBER double
#define BLIS__FIGURE_TIMES blis_percentiles

/* Requests by how they ended. */
typedef struct blis_state_counts {
  int64_t arrived;
#define XX(state, name, better, text) int64_t name;
  BLIS_REQUEST_STATE_MAP(XX)
#undef XX
} blis_state_counts;

typedef struct blis_times {
#define XX(name, text) blis_percentiles name;
  BLIS_TIME_MAP(XX)
#undef XX
} blis_times;

#endif
