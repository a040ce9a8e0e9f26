#include "workload/spec/sections.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/time.h"
#include "workload/spec/written_spec.h"
#include "workload/workload.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NONE BLIS__NO_MEMBER
#define SPAN ((double)BLIS_TIME_SPAN_MAX_US)
#define MAX_REQUESTS 0x1.fffffffffffffp61 /* half of the range of int64_t */

/*
 * A key that fills a member. More members of blis__key may follow the summary.
 */
#define KEY(type, key, kind_, member_, ...)                                                        \
  {                                                                                                \
    .value.name = (key), .kind = BLIS__KEY_##kind_, .member = offsetof(type, member_),             \
    .value.summary = __VA_ARGS__                                                                   \
  }
#define INTEGER(type, key, member_, least, most, unit_, ...)                                       \
  {                                                                                                \
    .value.name = (key), .value.is_whole = true, .value.minimum = (least),                         \
    .value.maximum = (most), .value.unit = (unit_), .kind = BLIS__KEY_INTEGER,                     \
    .member = offsetof(type, member_), .value.summary = __VA_ARGS__                                \
  }
#define NUMBER(type, key, member_, least, unit_, ...)                                              \
  {                                                                                                \
    .value.name = (key), .value.minimum = (least), .value.maximum = INFINITY,                      \
    .value.unit = (unit_), .kind = BLIS__KEY_NUMBER, .member = offsetof(type, member_),            \
    .value.summary = __VA_ARGS__                                                                   \
  }
#define CHOICE(type, key, member_, words, ...)                                                     \
  {                                                                                                \
    .value.name = (key), .value.choices = (words), .kind = BLIS__KEY_TEXT,                         \
    .member = offsetof(type, member_), .value.summary = __VA_ARGS__                                \
  }
#define LENGTHS(type, key, member_, unit_, ...)                                                    \
  {                                                                                                \
    .value.name = (key), .value.unit = (unit_), .kind = BLIS__KEY_DISTRIBUTION,                    \
    .member = offsetof(type, member_), .value.summary = __VA_ARGS__                                \
  }

/* A bool that is set if the key is present. */
#define FLAG(type, member_) .flag = offsetof(type, member_)

/* A key of a part, of a nested mapping that fills the same struct, or of a list. */
#define PART(type, key, member_, section_, ...)                                                    \
  {                                                                                                \
    .value.name = (key), .kind = BLIS__KEY_PART, .member = offsetof(type, member_),                \
    .section = (section_), .value.summary = __VA_ARGS__                                            \
  }
#define INSIDE(key, section_, ...)                                                                 \
  {                                                                                                \
    .value.name = (key), .kind = BLIS__KEY_INSIDE, .member = NONE, .section = (section_),          \
    .value.summary = __VA_ARGS__                                                                   \
  }
#define LIST(type, key, kind_, member_, count_, section_, ...)                                     \
  {                                                                                                \
    .value.name = (key), .kind = BLIS__KEY_##kind_, .member = offsetof(type, member_),             \
    .flag = offsetof(type, count_), .section = (section_), .value.summary = __VA_ARGS__            \
  }

#define SECTION(title, keys_, type, summary_)                                                      \
  {                                                                                                \
    .name = (title), .summary = (summary_), .keys = (keys_), .key_count = COUNT(keys_),            \
    .size = sizeof(type)                                                                           \
  }

/* Clients. */

static const blis__key window_keys[] = {
    INTEGER(blis_window_spec, "start_us", start_us, 0, INFINITY, "us", "Start of the window."),
    INTEGER(blis_window_spec, "end_us", end_us, 1, INFINITY, "us", "End of the window."),
    NUMBER(blis_window_spec, "trace_rate", trace_rate, 0, "",
           "Weight instead of rate_fraction, or requests/s without "
           "aggregate_rate.",
           FLAG(blis_window_spec, has_trace_rate)),
    KEY(blis_window_spec, "arrival", ARRIVAL, arrival, "Arrival process instead of the client's.",
        FLAG(blis_window_spec, has_arrival)),
    LENGTHS(blis_window_spec, "input_distribution", input, "",
            "Prompt lengths instead of the client's.", .alias = "prompt"),
    LENGTHS(blis_window_spec, "output_distribution", output, "",
            "Output lengths instead of the client's.", .alias = "output")};
static const blis__section window_section =
    SECTION("lifecycle window", window_keys, blis_window_spec,
            "A time in which a client is active, with its own settings.");

static const blis__key lifecycle_keys[] = {LIST(blis_client_spec, "windows", LIST, windows,
                                                window_count, &window_section, "A list of windows.",
                                                .is_required = true)};
static const blis__section lifecycle_section =
    SECTION("lifecycle", lifecycle_keys, blis_client_spec, "When a client is active.");

#define DROPPED(key, unit_, ...)                                                                   \
  {                                                                                                \
    .value.name = (key), .value.maximum = INFINITY, .value.unit = (unit_),                         \
    .kind = BLIS__KEY_NUMBER, .member = NONE, .value.summary = __VA_ARGS__                         \
  }
static const blis__key network_keys[] = {DROPPED("rtt_ms", "ms", "Round-trip time."),
                                         DROPPED("bandwidth_mbps", "Mbit/s", "Bandwidth.")};
static const blis__section network_section =
    SECTION("network", network_keys, blis_client_spec,
            "Network between a client and the cluster; no effect on a simulation.");

#define TOKENS_OF(key, member_, ...)                                                               \
  LENGTHS(blis_multimodal_spec, key "_distribution", member_, "tokens", __VA_ARGS__)
#define COUNT_OF(key, member_)                                                                     \
  LENGTHS(blis_multimodal_spec, key "_count_distribution", member_, "",                            \
          "Number of them in a prompt.")
static const blis__key multimodal_keys[] = {TOKENS_OF("text", text, "Text tokens in a prompt."),
                                            TOKENS_OF("image", image, "Tokens of each image."),
                                            COUNT_OF("image", image_count),
                                            TOKENS_OF("audio", audio, "Tokens of each audio clip."),
                                            COUNT_OF("audio", audio_count),
                                            TOKENS_OF("video", video, "Tokens of each video."),
                                            COUNT_OF("video", video_count)};
static const blis__section multimodal_section =
    SECTION("multimodal block", multimodal_keys, blis_multimodal_spec,
            "Prompts of text, images, audio and video, instead of input_distribution.");

static const blis__key turns_keys[] = {
    INTEGER(blis_multi_turn_spec, "max_rounds", max_rounds, 1, 1e6, "",
            "Number of rounds of a conversation."),
    INTEGER(blis_multi_turn_spec, "think_time_us", think_time_us, 0, SPAN, "us",
            "Delay between an answer and the next round."),
    CHOICE(blis_multi_turn_spec, "context_growth", context_growth, "accumulate",
           "accumulate: a prompt starts with all earlier rounds and their "
           "answers.",
           .may_be_free = true),
    KEY(blis_multi_turn_spec, "single_session", BOOLEAN, single_session,
        "A single conversation instead of many that overlap.")};
static const blis__section turns_section = SECTION(
    "multi_turn block", turns_keys, blis_multi_turn_spec, "Conversations of several rounds.");

static const blis__key reasoning_keys[] = {
    LENGTHS(blis_client_spec, "reason_ratio_distribution", reason_ratio, "percent",
            "Share of the output that is reasoning."),
    PART(blis_client_spec, "multi_turn", multi_turn, &turns_section,
         "Multi-turn conversations. Required by the other keys.")};
static const blis__section reasoning_section =
    SECTION("reasoning block", reasoning_keys, blis_client_spec,
            "Conversations, and the share of reasoning in the answers.");

static const blis__key client_keys[] = {
    KEY(blis_client_spec, "id", TEXT, id, "Name of the client."),
    KEY(blis_client_spec, "tenant_id", TEXT, tenant, "Tenant of its requests.", .alias = "tenant"),
    CHOICE(blis_client_spec, "slo_class", slo_class,
           "critical|realtime|standard|sheddable|batch|background",
           "Service class of its requests."),
    KEY(blis_client_spec, "model", TEXT, model, "Model of its requests (default: the cluster's)."),
    KEY(blis_client_spec, "adapter", TEXT, adapter, "LoRA adapter, one of those of cluster.lora."),
    NUMBER(blis_client_spec, "rate_fraction", rate_fraction, 0, "",
           "Weight of its share of the rate (default: 1; 0 for users).", .is_derived = true),
    INTEGER(blis_client_spec, "concurrency", concurrency, 0, 1e6, "users",
            "Number of users with one request at a time each, instead of a rate.",
            .is_for_clients = true),
    INTEGER(blis_client_spec, "think_time_us", think_time_us, 0, SPAN, "us",
            "Delay between the end of a user's request and the next one.", .is_for_clients = true),
    KEY(blis_client_spec, "arrival", ARRIVAL, arrival,
        "Arrival process: 'poisson', { process = 'gamma', cv = 3 "
        "}, ...",
        .value.usual = "poisson"),
    LENGTHS(blis_client_spec, "input_distribution", input, "",
            "Prompt lengths, without a shared prefix.", .alias = "prompt", .is_required = true),
    LENGTHS(blis_client_spec, "output_distribution", output, "", "Output lengths.",
            .alias = "output", .is_required = true),
    KEY(blis_client_spec, "prefix_group", TEXT, prefix_group,
        "Group of clients that share a prompt prefix."),
    INTEGER(blis_client_spec, "prefix_length", prefix_tokens, 0, BLIS_WORKLOAD_MAX_TOKENS, "tokens",
            "Length of the group's prefix; that of the first client in the "
            "group applies. 0 = 50."),
    KEY(blis_client_spec, "streaming", BOOLEAN, is_streaming, "Label of its requests."),
    INSIDE("network", &network_section,
           "{ rtt_ms =, bandwidth_mbps = }: accepted; no effect on a simulation.",
           FLAG(blis_client_spec, has_network)),
    INSIDE("lifecycle", &lifecycle_section,
           "When the client is active: { windows = { { start_us = 0, end_us = "
           "60000000 "
           "} } }.",
           .is_for_clients = true, .needs_members = true),
    PART(blis_client_spec, "multimodal", multimodal, &multimodal_section,
         "Prompts of text, images, audio and video."),
    INSIDE("reasoning", &reasoning_section,
           "Conversations: { multi_turn = { max_rounds = 5, think_time_us = "
           "1000000 } }."),
    {.value.name = "timeout",
     .value.is_whole = true,
     .value.maximum = INFINITY,
     .value.unit = "us",
     .value.summary = "Deadline after arrival, 0 = none (default: 300 s if "
                      "requests wait for answers, else none).",
     .alias = "timeout_us",
     .kind = BLIS__KEY_TIMEOUT,
     .member = offsetof(blis_client_spec, timeout_us),
     FLAG(blis_client_spec, has_no_timeout)},
    INTEGER(blis_client_spec, "slo_target_us", slo_target_us, 0, INFINITY, "us",
            "Target time to first token, 0 = none."),
    KEY(blis_client_spec, "closed_loop", LOOP, loop,
        "A round arrives only after the previous one is answered (default: "
        "true for conversations).")};
static const blis__section client_section = {.name = "client",
                                             .summary = "One source of requests.",
                                             .keys = client_keys,
                                             .key_count = COUNT(client_keys),
                                             .size = sizeof(blis_client_spec),
                                             .starts_with_id = true};

/* Cohorts. */

static const blis__key diurnal_keys[] = {
    INTEGER(blis_diurnal_spec, "peak_hour", peak_hour, 0, 23, "", "Hour of full activity."),
    NUMBER(blis_diurnal_spec, "peak_to_trough_ratio", peak_to_trough_ratio, 1, "",
           "Ratio of its activity to that of the least active hour.")};
static const blis__section diurnal_section =
    SECTION("diurnal block", diurnal_keys, blis_diurnal_spec,
            "Daily rhythm, by alternating activity within each hour.");

static const blis__key spike_keys[] = {
    INTEGER(blis_spike_spec, "start_time_us", start_us, 0, INFINITY, "us",
            "When the spike starts."),
    INTEGER(blis_spike_spec, "duration_us", duration_us, 1, INFINITY, "us", "How long it lasts."),
    NUMBER(blis_spike_spec, "trace_rate", trace_rate, 0, "",
           "Weight instead of rate_fraction, or requests/s without "
           "aggregate_rate.",
           FLAG(blis_spike_spec, has_trace_rate), .value.is_above = true)};
static const blis__section spike_section =
    SECTION("spike block", spike_keys, blis_spike_spec, "A single period of activity.");

static const blis__key drain_keys[] = {INTEGER(blis_drain_spec, "start_time_us", start_us, 0,
                                               INFINITY, "us", "Start of the first step."),
                                       INTEGER(blis_drain_spec, "ramp_duration_us", ramp_us, 1,
                                               INFINITY, "us", "Total duration of the ramp.")};
static const blis__section drain_section =
    SECTION("drain block", drain_keys, blis_drain_spec, "Ten steps from full activity to none.");

/* The client is the first member, so that its keys also fill it here. */
_Static_assert(offsetof(blis_cohort_spec, client) == 0, "see above");

static const blis__key cohort_keys[] = {
    INTEGER(blis_cohort_spec, "population", population, 1, BLIS_WORKLOAD_MAX_POPULATION, "clients",
            "Number of clients in the cohort."),
    CHOICE(blis_cohort_spec, "prefix_sharing", prefix_sharing, "shared|per_member",
           "per_member: each has its own prefix group (default: they share one)."),
    PART(blis_cohort_spec, "diurnal", diurnal, &diurnal_section, "Daily rhythm."),
    PART(blis_cohort_spec, "spike", spike, &spike_section, "Activity for a limited time."),
    PART(blis_cohort_spec, "drain", drain, &drain_section, "Activity that ramps down to zero.")};
static const blis__section cohort_section = {
    .name = "cohort",
    .summary = "A number of identical clients that share one weight.",
    .keys = cohort_keys,
    .key_count = COUNT(cohort_keys),
    .size = sizeof(blis_cohort_spec),
    .starts_with_id = true,
    .base = &client_section};

/* Other inputs. */

static const blis__key stage_keys[] = {NUMBER(blis_inference_perf_stage, "rate", rate, 0,
                                              "requests/s", "Requests per second.",
                                              .value.is_above = true),
                                       INTEGER(blis_inference_perf_stage, "duration", duration, 1,
                                               1e9, "s", "How long the stage lasts.")};
static const blis__section stage_section =
    SECTION("stage", stage_keys, blis_inference_perf_stage, "A period with its own rate.");

#define OF_PREFIXES(key, member_, least, most, unit_, ...)                                         \
  INTEGER(blis_inference_perf_prefixes, key, member_, least, most, unit_, __VA_ARGS__)
static const blis__key prefixes_keys[] = {
    OF_PREFIXES("num_unique_system_prompts", prompts, 1, BLIS_INFERENCE_PERF_MAX_USERS, "",
                "Number of system prompts."),
    OF_PREFIXES("num_users_per_system_prompt", users_per_prompt, 1, BLIS_INFERENCE_PERF_MAX_USERS,
                "users", "Number of users per system prompt."),
    OF_PREFIXES("system_prompt_len", prompt_tokens, 0, BLIS_WORKLOAD_MAX_TOKENS, "tokens",
                "Length of a system prompt."),
    OF_PREFIXES("question_len", question_tokens, 0, BLIS_WORKLOAD_MAX_TOKENS, "tokens",
                "Length of a question."),
    OF_PREFIXES("output_len", output_tokens, 0, BLIS_WORKLOAD_MAX_TOKENS, "tokens",
                "Length of an answer."),
    KEY(blis_inference_perf_prefixes, "enable_multi_turn_chat", BOOLEAN, is_multi_turn,
        "Whether users hold conversations.")};
static const blis__section prefixes_section =
    SECTION("shared_prefix block", prefixes_keys, blis_inference_perf_prefixes,
            "System prompts that users share.");

static const blis__key inference_perf_keys[] = {
    LIST(blis_inference_perf_spec, "stages", LIST, stages, stage_count, &stage_section,
         "A list of stages."),
    PART(blis_inference_perf_spec, "shared_prefix", shared_prefix, &prefixes_section,
         "System prompts that users share.")};
const blis__section blis__inference_perf_section =
    SECTION("inference_perf block", inference_perf_keys, blis_inference_perf_spec,
            "The load of inference-perf.");

static const blis__key servegen_keys[] = {
    KEY(blis_servegen_spec, "path", TEXT, path, "Folder with the data."),
    KEY(blis_servegen_spec, "time_window", TEXT, time_window, "Accepted; no effect."),
    INTEGER(blis_servegen_spec, "span_start", span_start, -INFINITY, INFINITY, "",
            "Accepted; no effect."),
    INTEGER(blis_servegen_spec, "span_end", span_end, -INFINITY, INFINITY, "",
            "Accepted; no effect."),
    INTEGER(blis_servegen_spec, "window_duration_secs", window_secs, 0, 1e9, "s", "Window length."),
    INTEGER(blis_servegen_spec, "drain_timeout_secs", drain_secs, 0, 1e9, "s",
            "Time for the last requests.")};
const blis__section blis__servegen_section =
    SECTION("servegen_data block", servegen_keys, blis_servegen_spec, "ServeGen data.");

/* The name, which is the SLO class, is the first member. */
_Static_assert(offsetof(blis_goodput_target, slo_class) == 0, "see above");

static const blis__key target_keys[] = {
    NUMBER(blis_goodput_target, "ttft_ms", ttft_ms, 0, "ms",
           "Maximum time to first token, 0 = none."),
    NUMBER(blis_goodput_target, "itl_ms", itl_ms, 0, "ms",
           "Maximum time between tokens, 0 = none."),
    NUMBER(blis_goodput_target, "e2e_ms", e2e_ms, 0, "ms", "Maximum end-to-end time, 0 = none.")};
static const blis__section target_section =
    SECTION("goodput target", target_keys, blis_goodput_target, "Goodput target of one SLO class.");

/* The top level; the keys of the specification itself are contiguous. */

_Static_assert(offsetof(blis__spec_top, spec) == 0, "they fill it, too");

static const blis__key top_keys[] = {
    KEY(blis__spec_top, "version", TEXT, version,
        "Version of the specification: '2', or '1' with the old names of SLO "
        "classes."),
    INTEGER(blis__spec_top, "seed", spec.seed, -INFINITY, INFINITY, "",
            "Seed of arrivals and lengths (default: that of the experiment, 42 "
            "without one).",
            FLAG(blis__spec_top, has_seed)),
    PART(blis__spec_top, "servegen_data", servegen, &blis__servegen_section,
         "Instead of clients: { path = } of a folder of ServeGen data."),
    PART(blis__spec_top, "inference_perf", inference_perf, &blis__inference_perf_section,
         "Instead of clients: { stages =, shared_prefix = } of "
         "inference-perf."),
    CHOICE(blis__spec_top, "category", spec.category, "language|multimodal|reasoning", "A label."),
    LIST(blis__spec_top, "clients", LIST, spec.clients, spec.client_count, &client_section,
         "A list of clients."),
    LIST(blis__spec_top, "cohorts", LIST, spec.cohorts, spec.cohort_count, &cohort_section,
         "A list of cohorts: groups of identical clients, added after the "
         "clients."),
    NUMBER(blis__spec_top, "aggregate_rate", spec.aggregate_rate, 0, "requests/s",
           "Requests per second of all clients together; 0 with users instead "
           "of rates, or if every window has a trace_rate.",
           .alias = "rate"),
    INTEGER(blis__spec_top, "horizon", spec.horizon_us, 0, INFINITY, "us",
            "No request arrives from this time on (default: the horizon of the "
            "experiment).",
            .alias = "horizon_us", .is_derived = true),
    INTEGER(blis__spec_top, "num_requests", spec.num_requests, 0, MAX_REQUESTS, "requests",
            "Number of requests, 0 = as many as arrive before the horizon.", .alias = "requests"),
    LIST(blis__spec_top, "goodput_slo_targets", NAMED, spec.goodput_targets,
         spec.goodput_target_count, &target_section,
         "Goodput targets by SLO class: { critical = { ttft_ms = 200 } "
         "}."),
    KEY(blis__spec_top, "tokens", TOKENS, spec.lazy_tokens,
        "drawn: token ids are drawn, as in the reference; lazy: they are not, "
        "and arrivals and lengths use their own random streams: different "
        "requests, generated faster.",
        .value.choices = "drawn|lazy", .value.usual = "drawn")};

const blis__section blis__spec_top_section =
    SECTION("workload", top_keys, blis__spec_top,
            "Traffic of several clients that share a rate (workload "
            "specification, version 2).");

enum { OWN_KEYS = 4 }; /* number of keys of blis__spec_top before the keys of spec */

const blis__section blis__spec_section = {.name = "workload",
                                          .keys = top_keys + OWN_KEYS,
                                          .key_count = COUNT(top_keys) - OWN_KEYS,
                                          .size = sizeof(blis_workload_spec)};

/* For listings. */

static const blis__section *const sections[] = {&blis__spec_top_section,
                                                &client_section,
                                                &window_section,
                                                &lifecycle_section,
                                                &network_section,
                                                &multimodal_section,
                                                &reasoning_section,
                                                &turns_section,
                                                &cohort_section,
                                                &diurnal_section,
                                                &spike_section,
                                                &drain_section,
                                                &blis__inference_perf_section,
                                                &stage_section,
                                                &prefixes_section,
                                                &blis__servegen_section,
                                                &target_section};

size_t blis_spec_section_count(void) {
  return COUNT(sections);
}

const char *blis_spec_section_name(size_t section) {
  return sections[section]->name;
}

const char *blis_spec_section_summary(size_t section) {
  return sections[section]->summary;
}

static const char *type_of(const blis__key *key) {
  static const char *const types[] = {[BLIS__KEY_NUMBER] = "number",
                                      [BLIS__KEY_TEXT] = "string",
                                      [BLIS__KEY_BOOLEAN] = "boolean",
                                      [BLIS__KEY_LOOP] = "boolean",
                                      [BLIS__KEY_DISTRIBUTION] = "distribution",
                                      [BLIS__KEY_ARRIVAL] = "arrival",
                                      [BLIS__KEY_PART] = "section",
                                      [BLIS__KEY_INSIDE] = "section",
                                      [BLIS__KEY_LIST] = "table",
                                      [BLIS__KEY_NAMED] = "table"};
  if (key->value.choices != NULL) {
    return "choice";
  }
  bool is_time = key->value.unit != NULL && strcmp(key->value.unit, "us") == 0;
  return !key->value.is_whole ? types[key->kind] : is_time ? "time_us" : "integer";
}

bool blis_spec_section_key(size_t section, size_t key, blis_spec_key *about) {
  const blis__key *keys[BLIS__SECTION_MAX_KEYS];
  if (key >= blis__section_list_keys(sections[section], keys)) {
    return false;
  }
  const blis__key *k = keys[key];
  bool is_number = k->kind == BLIS__KEY_INTEGER || k->kind == BLIS__KEY_NUMBER;
  bool needs_value = is_number && k->value.minimum > 0;
  *about = (blis_spec_key){.value = &k->value,
                           .type = type_of(k),
                           .alias = k->alias,
                           .section = k->section != NULL ? k->section->name : NULL,
                           .is_required = k->is_required || needs_value,
                           .is_usually_zero = (is_number || k->kind == BLIS__KEY_BOOLEAN) &&
                                              k->flag == 0 && !k->is_derived && !needs_value};
  return true;
}
