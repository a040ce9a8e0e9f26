/*
 * figures.h - the metrics that the core computes for a run.
 *
 * These tables define the C structs, the Lua fields, annotations, the summary, JSON, CSV,
 * comparisons, and the reference. To add a metric, add a line here and the code that computes it.
 * lua/blis/results/figures.lua adds the metrics that Lua computes from these.
 *
 * BLIS_REQUEST_STATE_MAP defines the counts of requests. Columns of a map: type, name
 * (of the member and the field), unit, direction (MORE, LESS, or NEUTRAL), summary
 * text, description. The summary text "KV cache: {%} of the prompt blocks found"
 * belongs to the line "KV cache". {} is the value: {2} with two decimals, {%} as
 * percent, {preemption} as a count with its noun, {0?} is omitted if 0. Metrics with
 * the text "" are not in the summary.
 */
#ifndef BLIS_RESULTS_METRICS_FIGURES_H
#define BLIS_RESULTS_METRICS_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/handoff/handoff.h"
#include "instance/request/live_request.h"
#include "results/metrics/percentiles.h"

/* Times of requests: XX(name, text). The Lua field is name_ms. */
#define BLIS_TIME_MAP(XX)                                                                          \
  XX(ttft, "time to first token, of requests that got one")                                        \
  XX(itl, "inter-token latency, of completed requests: over tokens; of groups "                    \
          "and windows over the requests' own means")                                              \
  XX(e2e, "arrival to last token, of completed requests")                                          \
  XX(scheduling_delay, "arrival to first admission to a batch")

/* Metrics of a run. */
#define BLIS_RESULT_FIGURES(XX)                                                                    \
  XX(INTEGER, duration_us, "us", LESS, "", "from 0 to the last event")                             \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of every request that an instance accepted")  \
  XX(INTEGER, output_tokens, "tokens", MORE, "",                                                   \
     "of completed requests, without repeated attempts")                                           \
  XX(NUMBER, requests_per_sec, "requests/s", MORE, "throughput: {2} requests/s",                   \
     "completed requests per second; 0 if none")                                                   \
  XX(NUMBER, tokens_per_sec, "tokens/s", MORE, "throughput: {1} tokens/s",                         \
     "output tokens of completed requests")                                                        \
  XX(NUMBER, cache_hit_rate, "0 to 1", MORE, "",                                                   \
     "block hits / block lookups, mean over the instances; idle instances "                        \
     "count as 0")                                                                                 \
  XX(NUMBER, cache_hit_rate_overall, "0 to 1", MORE, "KV cache: {%} of the prompt blocks found",   \
     "block hits / block lookups")                                                                 \
  XX(NUMBER, request_hit_rate, "0 to 1", MORE, "KV cache: hits in {%} of the requests",            \
     "completed requests with a cached prefix at their first admission / "                         \
     "completed")                                                                                  \
  XX(INTEGER, preemptions, "requests", LESS, "KV cache: {preemption}",                             \
     "times that a running request lost its blocks")                                               \
  XX(NUMBER, preemption_rate, "per request", LESS, "", "preemptions / completed")                  \
  XX(INTEGER, kv_allocation_failures, "", LESS, "", "KV block allocations that failed")            \
  XX(INTEGER, steps, "", NEUTRAL, "", "forward passes, over all instances")                        \
  XX(NUMBER, balance, "0 to 1", MORE, "",                                                          \
     "Jain's index of requests per instance, 1 = even; minimum over pools")

/* Metrics of an SLO class, a tenant, a model, or a window, in addition to counts and times. */
#define BLIS_GROUP_FIGURES(XX)                                                                     \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of these requests")                           \
  XX(INTEGER, output_tokens, "tokens", MORE, "", "of completed requests")                          \
  XX(NUMBER, request_hit_rate, "0 to 1", MORE, "",                                                 \
     "completed requests with a cached prefix / completed")

/* Metrics of a window, in addition to the metrics of requests that arrived in it. */
#define BLIS_WINDOW_FIGURES(XX)                                                                    \
  XX(INTEGER, from_us, "us", NEUTRAL, "", "start of the window")                                   \
  XX(INTEGER, to_us, "us", NEUTRAL, "", "end of the window, exclusive")                            \
  XX(NUMBER, requests_per_sec, "requests/s", MORE, "",                                             \
     "requests completed in the window, regardless of arrival")                                    \
  XX(NUMBER, tokens_per_sec, "tokens/s", MORE, "", "output tokens of these requests")

/* Metrics of an instance, in addition to its counters. */
#define BLIS_INSTANCE_FIGURES(XX)                                                                  \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "routed here")                                    \
  XX(INTEGER, group, "", NEUTRAL, "", "of setup.groups, from 1")                                   \
  XX(INTEGER, end_us, "us", NEUTRAL, "", "time of its last event")                                 \
  XX(NUMBER, active_seconds, "s", NEUTRAL, "",                                                     \
     "time in which it accepted requests, until the end of the run")                               \
  XX(NUMBER, cache_hit_rate, "0 to 1", MORE, "", "block hits / block lookups")

/* Members of blis_instance_stats that are part of results. */
#define BLIS_INSTANCE_COUNT_MAP(XX)                                                                \
  XX(INTEGER, completed, "requests", MORE, "", "including length_capped")                          \
  XX(INTEGER, length_capped, "requests", NEUTRAL, "", "part of completed")                         \
  XX(INTEGER, timed_out, "requests", LESS, "", "here")                                             \
  XX(INTEGER, unservable, "requests", LESS, "", "dropped: too long")                               \
  XX(INTEGER, preemptions, "requests", LESS, "", "times that a running request lost its blocks")   \
  XX(INTEGER, kv_allocation_failures, "", LESS, "", "KV block allocations that failed")            \
  XX(INTEGER, steps, "", NEUTRAL, "", "forward passes")                                            \
  XX(INTEGER, busy_us, "us", NEUTRAL, "", "forward passes, up to the end of the last one")         \
  XX(INTEGER, prefill_us, "us", NEUTRAL, "", "part of busy_us that computed prompt tokens")        \
  XX(INTEGER, queue_depth_sum, "requests", NEUTRAL, "", "waiting requests, summed over the steps") \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of accepted requests")                        \
  XX(INTEGER, output_tokens, "tokens", MORE, "", "of completed requests")                          \
  XX(INTEGER, cache_hits, "blocks", MORE, "", "found in the KV cache")                             \
  XX(INTEGER, cache_misses, "blocks", LESS, "", "lookups without a hit, including decode blocks")  \
  XX(INTEGER, cpu_reloads, "blocks", NEUTRAL, "", "from the CPU tier")                             \
  XX(INTEGER, cpu_immediate_reloads, "blocks", LESS, "",                                           \
     "part of cpu_reloads: fewer evictions than kv_blocks since a request last held the block")    \
  XX(INTEGER, cpu_misses, "blocks", NEUTRAL, "", "not in the CPU tier either")                     \
  XX(INTEGER, cpu_saved, "blocks", NEUTRAL, "", "to the CPU tier")                                 \
  XX(INTEGER, cpu_evictions, "blocks", NEUTRAL, "", "out of the CPU tier")                         \
  XX(INTEGER, cpu_transfers, "", NEUTRAL, "", "loads from the CPU tier for a request")             \
  XX(INTEGER, cpu_transfer_us, "us", LESS, "", "step time added by these loads")

/* Members of blis_cache_belief. */
#define BLIS_BELIEF_COUNT_MAP(XX)                                                                  \
  XX(INTEGER, decisions, "", NEUTRAL, "",                                                          \
     "by policies that use cache signals; 0 = the policy uses none")                               \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "of these requests")                           \
  XX(INTEGER, predicted_tokens, "tokens", NEUTRAL, "",                                             \
     "leading prompt tokens predicted to be cached on the chosen instance")                        \
  XX(INTEGER, true_tokens, "tokens", NEUTRAL, "",                                                  \
     "leading prompt tokens cached there at the time of the decision")                             \
  XX(INTEGER, missing_tokens, "tokens", LESS, "", "predicted but not cached")                      \
  XX(INTEGER, unknown_tokens, "tokens", LESS, "", "cached but not predicted")

/* Metrics computed from these counts. */
#define BLIS_BELIEF_FIGURES(XX)                                                                    \
  XX(NUMBER, predicted_hit_rate, "0 to 1", NEUTRAL,                                                \
     "router: predicted {%} of the prompt tokens to be cached",                                    \
     "predicted_tokens / prompt_tokens")                                                           \
  XX(NUMBER, true_hit_rate, "0 to 1", MORE, "router: {%} were", "true_tokens / prompt_tokens")

/* Members of blis_handoff_counts, with disaggregation. */
#define BLIS_HANDOFF_COUNT_MAP(XX)                                                                 \
  XX(INTEGER, colocated, "requests", NEUTRAL, "",                                                  \
     "requests prefilled on their decode instance, by decision of the policy")                     \
  XX(INTEGER, started, "hand-offs", NEUTRAL, "hand-offs: {0} started",                             \
     "started hand-offs: completed + failed + timed_out + cancelled + "                            \
     "in_flight")                                                                                  \
  XX(INTEGER, completed, "hand-offs", MORE, "hand-offs: {0} completed",                            \
     "hand-offs whose KV arrived at its destination")                                              \
  XX(INTEGER, failed, "hand-offs", LESS, "",                                                       \
     "hand-offs that failed for any reason except the deadline of the request")                    \
  XX(INTEGER, timed_out, "hand-offs", LESS, "",                                                    \
     "hand-offs that ended at the deadline of the request")                                        \
  XX(INTEGER, cancelled, "hand-offs", NEUTRAL, "",                                                 \
     "hand-offs that ended because one instance served both stages after all")                     \
  XX(INTEGER, in_flight, "hand-offs", NEUTRAL, "", "hand-offs in flight at the end of the run")    \
  XX(INTEGER, dropped, "hand-offs", LESS, "",                                                      \
     "hand-offs that failed because the destination was full; part of failed")                     \
  XX(INTEGER, retried, "hand-offs", LESS, "",                                                      \
     "failed hand-offs whose request was routed again; part of failed")                            \
  XX(INTEGER, recomputed, "hand-offs", LESS, "",                                                   \
     "failed hand-offs whose request was recomputed by one instance; part of "                     \
     "failed")                                                                                     \
  XX(INTEGER, waited, "hand-offs", LESS, "hand-offs: {0} waited for free blocks",                  \
     "hand-offs that waited for free blocks at the destination")                                   \
  XX(INTEGER, waiting, "hand-offs", NEUTRAL, "",                                                   \
     "hand-offs that waited for free blocks at the end of the run")                                \
  XX(INTEGER, shared, "transfers", LESS, "", "transfers that shared a link with other transfers")  \
  XX(INTEGER, peak, "transfers", NEUTRAL, "", "maximum number of concurrent transfers")

/* Metrics computed from these counts. */
#define BLIS_HANDOFF_FIGURES(XX)                                                                   \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "",                                                         \
     "mean wait for free blocks at the destination, over the hand-offs that "                      \
     "waited")                                                                                     \
  XX(NUMBER, mean_transfer_ms, "ms", LESS, "hand-offs: {2} ms mean transfer time",                 \
     "mean time from the start of a transfer to its end")                                          \
  XX(NUMBER, mean_depth, "transfers", NEUTRAL, "",                                                 \
     "mean number of concurrent transfers at the start of a transfer, "                            \
     "including it")                                                                               \
  XX(INTEGER, encoded, "requests", NEUTRAL, "", "requests that the encode pool encoded")           \
  XX(NUMBER, mean_encode_wait_ms, "ms", LESS, "", "mean wait of these requests for an encoder")    \
  XX(NUMBER, mean_encode_ms, "ms", LESS, "", "mean time of encoding")                              \
  XX(NUMBER, moved_gb, "GB", NEUTRAL, "", "KV moved over all links, each byte counted once")       \
  XX(NUMBER, busiest_link, "0 to 1", NEUTRAL, "hand-offs: busiest link busy {%} of the time",      \
     "fraction of the run in which the busiest link was active")

/* Members of blis_link_counts, of a link that was used. */
#define BLIS_LINK_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, transfers, "transfers", NEUTRAL, "", "transfers over the link that ended")           \
  XX(INTEGER, peak, "transfers", LESS, "", "maximum number of concurrent transfers on the link")

#define BLIS_LINK_FIGURES(XX)                                                                      \
  XX(NUMBER, gb_s, "GB/s", NEUTRAL, "", "bandwidth of the link; 0 = takes no time")                \
  XX(NUMBER, moved_gb, "GB", NEUTRAL, "", "KV moved over the link")                                \
  XX(NUMBER, utilization, "0 to 1", NEUTRAL, "",                                                   \
     "fraction of the run in which the link was active")                                           \
  XX(NUMBER, mean_depth, "transfers", LESS, "",                                                    \
     "mean number of transfers on the active link; above 1, transfers shared "                     \
     "bandwidth")

/* Members of blis_kv_tiers_counts, with KV tiers. */
#define BLIS_TIERS_COUNT_MAP(XX)                                                                   \
  XX(INTEGER, requests, "requests", NEUTRAL, "",                                                   \
     "loads of KV for a request; the sum of the next four")                                        \
  XX(INTEGER, completed, "requests", NEUTRAL, "", "complete loads")                                \
  XX(INTEGER, failed, "requests", LESS, "KV tiers: {0?} incomplete loads",                         \
     "incomplete loads, because a store was lost with its instance")                               \
  XX(INTEGER, canceled, "requests", LESS, "", "loads whose request ended before its KV arrived")   \
  XX(INTEGER, in_flight, "requests", NEUTRAL, "", "loads in progress at the end of the run")       \
  XX(INTEGER, declined, "times", NEUTRAL, "",                                                      \
     "times that the load policy loaded none of the found blocks")                                 \
  XX(INTEGER, loaded_blocks, "blocks", MORE, "", "KV blocks loaded from tiers")

#define BLIS_TIERS_FIGURES(XX)                                                                     \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "KV tiers: {%} of the prompt blocks loaded",                \
     "fraction of the prompt blocks loaded from tiers")                                            \
  XX(NUMBER, mean_load_ms, "ms", LESS, "KV tiers: {2} ms per load",                                \
     "mean time that a request waited for a load; part of its TTFT, except "                       \
     "after preemptions")

/* Members of blis_kv_tier_counts. */
#define BLIS_TIER_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, capacity_blocks, "blocks", NEUTRAL, "", "total capacity of the tier's stores")       \
  XX(INTEGER, used_blocks, "blocks", NEUTRAL, "",                                                  \
     "KV blocks in all stores of the tier at the end of the run")                                  \
  XX(INTEGER, peak_blocks, "blocks", NEUTRAL, "",                                                  \
     "maximum number of KV blocks in one store of the tier")                                       \
  XX(INTEGER, loads, "reads", NEUTRAL, "", "completed reads, one per request")                     \
  XX(INTEGER, loaded_blocks, "blocks", MORE, "", "KV blocks loaded from the tier: its hits")       \
  XX(INTEGER, peer_blocks, "blocks", NEUTRAL, "",                                                  \
     "KV blocks from the store of another instance, part of loaded_blocks")                        \
  XX(INTEGER, lost_blocks, "blocks", LESS, "",                                                     \
     "KV blocks of incomplete loads that did not arrive")                                          \
  XX(INTEGER, promoted_blocks, "blocks", NEUTRAL, "",                                              \
     "KV blocks kept in the tier when they were read through it")                                  \
  XX(INTEGER, saves, "writes", NEUTRAL, "", "completed writes")                                    \
  XX(INTEGER, saved_blocks, "blocks", NEUTRAL, "", "KV blocks written")                            \
  XX(INTEGER, dropped_blocks, "blocks", LESS, "",                                                  \
     "KV blocks not saved, because all stored blocks were in use")                                 \
  XX(INTEGER, evicted_blocks, "blocks", NEUTRAL, "", "KV blocks evicted")                          \
  XX(INTEGER, removed_blocks, "blocks", LESS, "", "KV blocks lost with instances")

#define BLIS_TIER_FIGURES(XX)                                                                      \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "", "fraction of the prompt blocks loaded from the tier")   \
  XX(NUMBER, mean_load_ms, "ms", LESS, "", "mean time from the start of a read to its end")        \
  XX(NUMBER, loaded_gb, "GB", NEUTRAL, "", "KV read from the tier")                                \
  XX(NUMBER, saved_gb, "GB", NEUTRAL, "", "KV written to the tier")                                \
  XX(NUMBER, read_utilization, "0 to 1", NEUTRAL, "",                                              \
     "fraction of the run, until its last transfer, in which the busiest "                         \
     "store was read")                                                                             \
  XX(NUMBER, write_utilization, "0 to 1", NEUTRAL, "",                                             \
     "fraction of the run, until its last transfer, in which the busiest "                         \
     "store was written")

/* Members of blis_gateway_counts, with a gateway queue. */
#define BLIS_QUEUE_COUNT_MAP(XX)                                                                   \
  XX(INTEGER, enqueued, "requests", NEUTRAL, "", "requests that entered the queue")                \
  XX(INTEGER, dispatched, "requests", MORE, "queue: {0} dispatched",                               \
     "requests dispatched from the queue to routing")                                              \
  XX(INTEGER, rejected, "requests", LESS, "queue: {0?} rejected",                                  \
     "requests rejected because the queue was full, 429 or 503")                                   \
  XX(INTEGER, shed, "requests", LESS, "queue: {0?} shed", "requests shed for a higher class, 429") \
  XX(INTEGER, expired, "requests", LESS, "queue: {0?} waited too long",                            \
     "requests that waited too long, 429 or 503")                                                  \
  XX(INTEGER, without_instances, "requests", LESS, "",                                             \
     "requests that ended because no instance was available, 503; part of "                        \
     "rejected and expired")                                                                       \
  XX(INTEGER, evicted, "requests", LESS, "queue: {0?} evicted",                                    \
     "requests evicted from their instances for queued requests, 429")                             \
  XX(INTEGER, waiting, "requests", NEUTRAL, "queue: {0?} waiting at the end",                      \
     "requests in the queue at the end of the run")                                                \
  XX(INTEGER, peak, "requests", LESS, "queue: at most {0} at once",                                \
     "maximum number of queued requests")

/* Metrics computed from these counts. */
#define BLIS_QUEUE_FIGURES(XX)                                                                     \
  XX(INTEGER, status_429, "requests", LESS, "queue: {0?} with status 429",                         \
     "requests that ended here with status 429 of HTTP, too many requests")                        \
  XX(INTEGER, status_503, "requests", LESS, "queue: {0?} with status 503",                         \
     "requests that ended here with status 503 of HTTP, no instance")                              \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "queue: mean wait {2} ms",                                  \
     "mean wait of the dispatched requests; it is part of their TTFT")                             \
  XX(TIMES, wait_ms, "ms", LESS, "",                                                               \
     "waits of the dispatched requests: percentiles, at most 0.4 % too low")

/* Members of blis_gateway_band_counts, of a band of that queue. */
#define BLIS_BAND_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, priority, "", NEUTRAL, "", "priority of the band")                                   \
  XX(INTEGER, enqueued, "requests", NEUTRAL, "", "requests that entered the band")                 \
  XX(INTEGER, dispatched, "requests", MORE, "", "requests dispatched from the band to routing")    \
  XX(INTEGER, rejected, "requests", LESS, "", "requests rejected because the band was full")       \
  XX(INTEGER, shed, "requests", LESS, "", "requests shed for a higher class")                      \
  XX(INTEGER, expired, "requests", LESS, "", "requests that waited too long")                      \
  XX(INTEGER, evicted, "requests", LESS, "", "requests evicted from their instances")              \
  XX(INTEGER, waiting, "requests", NEUTRAL, "", "requests in the band at the end of the run")      \
  XX(INTEGER, peak, "requests", LESS, "", "maximum number of requests in the band")

#define BLIS_BAND_FIGURES(XX)                                                                      \
  XX(TIMES, wait_ms, "ms", LESS, "",                                                               \
     "waits of the dispatched requests: percentiles, at most 0.4 % too low")

/* Members of blis_adapter_stats, with adapters. */
#define BLIS_LORA_COUNT_MAP(XX)                                                                    \
  XX(INTEGER, slots, "adapters", NEUTRAL, "",                                                      \
     "adapter slots of the running instances at the end of the run")                               \
  XX(INTEGER, requests, "requests", NEUTRAL, "",                                                   \
     "requests with an adapter that were admitted to a batch; a disaggregated "                    \
     "request counts per stage")                                                                   \
  XX(INTEGER, hits, "requests", MORE, "",                                                          \
     "requests whose adapter was loaded when they were first considered")                          \
  XX(INTEGER, waits, "", LESS, "",                                                                 \
     "times that a request waited for its adapter before it was admitted")                         \
  XX(INTEGER, loads, "", LESS, "adapters: {0} loads", "started loads of adapters")                 \
  XX(INTEGER, fetches, "", LESS, "adapters: {0?} fetched to the host",                             \
     "loads of adapters that were fetched to the host first")                                      \
  XX(INTEGER, evictions, "", LESS, "", "adapters evicted from their slots")

/* Metrics computed from these counts. */
#define BLIS_LORA_FIGURES(XX)                                                                      \
  XX(NUMBER, hit_rate, "0 to 1", MORE, "adapters: {%} found loaded",                               \
     "fraction of these requests whose adapter was loaded: hits / requests")                       \
  XX(NUMBER, loads_per_100, "", LESS, "adapters: {1} loads per 100 requests",                      \
     "loads per 100 of these requests")                                                            \
  XX(NUMBER, mean_load_ms, "ms", LESS, "", "mean time of a load, fetches included")                \
  XX(NUMBER, mean_wait_ms, "ms", LESS, "adapters: mean wait {2} ms",                               \
     "mean wait for adapters over all of these requests, hits as 0; part of "                      \
     "their TTFT, except waits after the first token (decode stage after a "                       \
     "first token of the prefill, and after preemptions)")

/* Metrics of one adapter, over all instances. */
#define BLIS_ADAPTER_FIGURES(XX)                                                                   \
  XX(INTEGER, loads, "", LESS, "", "started loads of the adapter")                                 \
  XX(INTEGER, evictions, "", LESS, "", "evictions of the adapter from its slot")                   \
  XX(INTEGER, instances, "instances", NEUTRAL, "",                                                 \
     "instances with the adapter at the end of the run")

/* Metrics of speculative decoding, over all instances. */
#define BLIS_SPECULATION_FIGURES(XX)                                                               \
  XX(INTEGER, drafts, "", NEUTRAL, "", "drafting steps, over all requests")                        \
  XX(INTEGER, draft_tokens, "tokens", NEUTRAL, "", "draft tokens in these steps")                  \
  XX(INTEGER, accepted_tokens, "tokens", MORE, "",                                                 \
     "accepted draft tokens, without tokens beyond the end of an output")                          \
  XX(NUMBER, acceptance_rate, "0 to 1", MORE, "speculation: {%} of the draft tokens accepted",     \
     "draft acceptance rate: accepted_tokens / draft_tokens")                                      \
  XX(NUMBER, mean_acceptance_length, "tokens", MORE, "speculation: {2} tokens per step",           \
     "mean acceptance length, tokens per drafting step: 1 + accepted_tokens / "                    \
     "drafts")                                                                                     \
  XX(TIMES, itl_per_chunk_ms, "ms", LESS, "",                                                      \
     "inter-token latency between chunks, which are the tokens of one step: "                      \
     "itl_ms without the zeros within a step")

/* Metrics of regions, over all of them. Egress is data between two different regions. */
#define BLIS_REGIONS_FIGURES(XX)                                                                   \
  XX(TIMES, client_ttft_ms, "ms", LESS, "",                                                        \
     "time to first token at the client, of completed requests: ttft_ms and all ways")             \
  XX(TIMES, client_e2e_ms, "ms", LESS, "",                                                         \
     "start to last token at the client, of completed requests")                                   \
  XX(INTEGER, forwarded, "", LESS, "", "times that a gateway sent a request to another region")    \
  XX(NUMBER, egress_gb, "GB", LESS, "", "prompts and responses sent to another region")            \
  XX(NUMBER, egress_usd, "USD", LESS, "", "price of that data, billed to the sending region")

/* Metrics of one region. */
#define BLIS_REGION_FIGURES(XX)                                                                    \
  XX(INTEGER, sent, "requests", NEUTRAL, "", "requests of its clients")                            \
  XX(INTEGER, entered, "requests", NEUTRAL, "", "requests that its gateway received from clients") \
  XX(INTEGER, served, "requests", NEUTRAL, "", "requests that its instances completed")            \
  XX(INTEGER, forwarded, "requests", NEUTRAL, "",                                                  \
     "requests that its gateway sent to another region")                                           \
  XX(NUMBER, egress_gb, "GB", LESS, "", "data that it sent to other regions")                      \
  XX(NUMBER, egress_usd, "USD", LESS, "", "price of that data")                                    \
  XX(TIMES, client_ttft_ms, "ms", LESS, "",                                                        \
     "time to first token at its clients, of completed requests")                                  \
  XX(TIMES, client_e2e_ms, "ms", LESS, "",                                                         \
     "start to last token at its clients, of completed requests")

/* Metrics of data-parallel ranks, over all groups with a barrier; 0 without a barrier. */
#define BLIS_RANKS_FIGURES(XX)                                                                     \
  XX(INTEGER, passes, "", NEUTRAL, "", "passes of groups at their barriers")                       \
  XX(NUMBER, barrier_loss, "0 to 1", LESS, "ranks: {%} of the time lost at barriers",              \
     "fraction of the ranks' pass time spent waiting for the slowest rank: 1 "                     \
     "- sum of individual times / sum of passes; a dummy pass counts with its "                    \
     "individual time")                                                                            \
  XX(NUMBER, dummy_share, "0 to 1", LESS, "ranks: {%} dummy passes",                               \
     "fraction of dummy passes among the ranks' passes")                                           \
  XX(NUMBER, running_imbalance, "", LESS, "",                                                      \
     "maximum of the ranks' running requests / mean of the group, weighted by "                    \
     "pass time; 1 = even")                                                                        \
  XX(NUMBER, kv_imbalance, "", LESS, "",                                                           \
     "maximum of the ranks' used KV blocks / mean of the group, weighted by "                      \
     "pass time; 1 = even")

/* Metrics of an SLO class with a target. */
#define BLIS_GOODPUT_FIGURES(XX)                                                                   \
  XX(INTEGER, arrived, "requests", NEUTRAL, "", "requests of the class that arrived")              \
  XX(INTEGER, completed, "requests", MORE, "", "requests of the class that completed")             \
  XX(INTEGER, good, "requests", MORE, "", "completed requests that met all targets")               \
  XX(INTEGER, ttft_met, "requests", MORE, "",                                                      \
     "completed requests that met the TTFT target; all if there is none")                          \
  XX(INTEGER, itl_met, "requests", MORE, "",                                                       \
     "completed requests whose mean ITL met its target; all if there is none")                     \
  XX(INTEGER, e2e_met, "requests", MORE, "",                                                       \
     "completed requests that met the E2E target; all if there is none")                           \
  XX(NUMBER, attainment, "0 to 1", MORE, "", "SLO attainment: good / arrived")

/* Metrics of a cascade: all attempts, and attempts with one model. */
#define BLIS_ATTEMPT_FIGURES(XX)                                                                   \
  XX(INTEGER, attempts, "", NEUTRAL, "", "attempts with a model")                                  \
  XX(INTEGER, accepted, "", NEUTRAL, "", "answers that were good enough")                          \
  XX(INTEGER, escalated, "", NEUTRAL, "", "attempts followed by an attempt with the next model")   \
  XX(INTEGER, accepted_last, "", NEUTRAL, "",                                                      \
     "answers of the last model that were accepted although they were not "                        \
     "good enough")                                                                                \
  XX(INTEGER, failed, "", LESS, "",                                                                \
     "last attempts that were rejected, lost, timed out or unservable")                            \
  XX(INTEGER, unfinished, "", NEUTRAL, "", "unfinished attempts at the end of the run")            \
  XX(INTEGER, prompt_tokens, "tokens", NEUTRAL, "", "prompt tokens accepted by instances")         \
  XX(INTEGER, output_tokens, "tokens", NEUTRAL, "", "output tokens sent")                          \
  XX(INTEGER, dropped_output_tokens, "tokens", LESS, "",                                           \
     "output tokens of answers that were not accepted")                                            \
  XX(NUMBER, mean_logprob, "", NEUTRAL, "", "mean over answers of their mean log-probabilities")   \
  XX(NUMBER, mean_attempt_ms, "ms", LESS, "",                                                      \
     "mean time of an attempt from its start to its end, over answers")

/* Metrics of a cascade over all models. */
#define BLIS_CASCADE_FIGURES(XX)                                                                   \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "requests that took part in the cascade")         \
  XX(NUMBER, mean_steps, "", NEUTRAL, "", "mean number of models per request")

/* Metrics of tasks of session graphs. Times cover completed tasks. */
#define BLIS_TASK_FIGURES(XX)                                                                      \
  XX(INTEGER, started, "tasks", NEUTRAL, "tasks: {0} started", "tasks that started in the run")    \
  XX(INTEGER, completed, "tasks", MORE, "tasks: {0} completed",                                    \
     "tasks whose foreground requests all completed")                                              \
  XX(INTEGER, broken, "tasks", LESS, "tasks: {0?} broken",                                         \
     "tasks with a failed or skipped request")                                                     \
  XX(INTEGER, unfinished, "tasks", LESS, "tasks: {0?} unfinished",                                 \
     "unfinished tasks at the end of the run")                                                     \
  XX(INTEGER, requests, "requests", NEUTRAL, "", "requests of all these tasks")                    \
  XX(INTEGER, never_sent, "requests", LESS, "tasks: {0?} requests never sent",                     \
     "requests that were not sent, because a dependency failed or did not end in time")            \
  XX(NUMBER, tasks_per_sec, "tasks/s", MORE, "tasks: {2} tasks/s", "completed tasks per second")   \
  XX(NUMBER, path_requests, "requests", NEUTRAL, "",                                               \
     "mean number of requests on the critical path")                                               \
  XX(NUMBER, parallelism, "", NEUTRAL, "",                                                         \
     "time of all requests, from arrival to end / time of the tasks")                              \
  XX(NUMBER, cached_share, "0 to 1", MORE, "",                                                     \
     "prompt tokens of completed requests found in caches or KV tiers / all of their "             \
     "prompt tokens")                                                                              \
  XX(TIMES, task_ms, "ms", LESS, "", "start of a task to the end of its last foreground request")  \
  XX(TIMES, queue_ms, "ms", LESS, "",                                                              \
     "on the critical path: arrival to first admission to a batch")                                \
  XX(TIMES, prefill_ms, "ms", LESS, "", "on the critical path: admission to the first token")      \
  XX(TIMES, decode_ms, "ms", LESS, "", "on the critical path: the first token to the end")         \
  XX(TIMES, tool_ms, "ms", NEUTRAL, "", "on the critical path: waiting for tools")                 \
  XX(TIMES, delay_ms, "ms", NEUTRAL, "", "on the critical path: other delays before requests")

/* Declares a metric of a map as a member. */
#define BLIS_FIGURE_MEMBER(type, name, unit, better, shown, text) BLIS__FIGURE_##type name;
#define BLIS__FIGURE_INTEGER int64_t
#define BLIS__FIGURE_NUMBER double
#define BLIS__FIGURE_TIMES blis_percentiles

/* Requests by outcome. */
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
