#include "workload/spec/sections.h"

#include <stddef.h>

#include "workload/spec/written_spec.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NONE BLIS__NO_MEMBER

/* A key that fills a member. */
#define KEY(key, kind_, type, member_)                                         \
  {                                                                            \
    .name = (key), .kind = BLIS__KEY_##kind_,                                  \
    .member = offsetof(type, member_), .flag = NONE                            \
  }

/* The same with a bool or a count beside it. */
#define KEY_AND(key, kind_, type, member_, flag_)                              \
  {                                                                            \
    .name = (key), .kind = BLIS__KEY_##kind_,                                  \
    .member = offsetof(type, member_), .flag = offsetof(type, flag_)           \
  }

/* A key of a part, or of the same struct one mapping deeper. */
#define PART(key, type, member_, section_)                                     \
  {                                                                            \
    .name = (key), .kind = BLIS__KEY_PART, .member = offsetof(type, member_),  \
    .flag = NONE, .section = (section_)                                        \
  }
#define INSIDE(key, flag_, section_)                                           \
  {                                                                            \
    .name = (key), .kind = BLIS__KEY_INSIDE, .member = NONE, .flag = (flag_),  \
    .section = (section_)                                                      \
  }
#define LIST(key, type, member_, count_, section_)                             \
  {                                                                            \
    .name = (key), .kind = BLIS__KEY_LIST, .member = offsetof(type, member_),  \
    .flag = offsetof(type, count_), .section = (section_)                      \
  }

#define SECTION(title, keys_, type)                                            \
  {                                                                            \
    .name = (title), .keys = (keys_), .key_count = COUNT(keys_),               \
    .size = sizeof(type)                                                       \
  }

/* Clients. */

static const blis__key window_keys[] = {
    KEY("start_us", INTEGER, blis_window_spec, start_us),
    KEY("end_us", INTEGER, blis_window_spec, end_us),
    KEY_AND("trace_rate", NUMBER, blis_window_spec, trace_rate, has_trace_rate),
    KEY_AND("arrival", ARRIVAL, blis_window_spec, arrival, has_arrival),
    {.name = "input_distribution",
     .alias = "prompt",
     .kind = BLIS__KEY_DISTRIBUTION,
     .member = offsetof(blis_window_spec, input),
     .flag = NONE},
    {.name = "output_distribution",
     .alias = "output",
     .kind = BLIS__KEY_DISTRIBUTION,
     .member = offsetof(blis_window_spec, output),
     .flag = NONE}};
static const blis__section window_section =
    SECTION("lifecycle window", window_keys, blis_window_spec);

static const blis__key lifecycle_keys[] = {
    {.name = "windows",
     .kind = BLIS__KEY_LIST,
     .member = offsetof(blis_client_spec, windows),
     .flag = offsetof(blis_client_spec, window_count),
     .section = &window_section,
     .needs_members = true}};
static const blis__section lifecycle_section =
    SECTION("lifecycle", lifecycle_keys, blis_client_spec);

static const blis__key network_keys[] = {
    {.name = "rtt_ms", .kind = BLIS__KEY_NUMBER, .member = NONE, .flag = NONE},
    {.name = "bandwidth_mbps",
     .kind = BLIS__KEY_NUMBER,
     .member = NONE,
     .flag = NONE}};
static const blis__section network_section =
    SECTION("network", network_keys, blis_client_spec);

static const blis__key multimodal_keys[] = {
    KEY("text_distribution", DISTRIBUTION, blis_multimodal_spec, text),
    KEY("image_distribution", DISTRIBUTION, blis_multimodal_spec, image),
    KEY("image_count_distribution", DISTRIBUTION, blis_multimodal_spec,
        image_count),
    KEY("audio_distribution", DISTRIBUTION, blis_multimodal_spec, audio),
    KEY("audio_count_distribution", DISTRIBUTION, blis_multimodal_spec,
        audio_count),
    KEY("video_distribution", DISTRIBUTION, blis_multimodal_spec, video),
    KEY("video_count_distribution", DISTRIBUTION, blis_multimodal_spec,
        video_count)};
static const blis__section multimodal_section =
    SECTION("multimodal block", multimodal_keys, blis_multimodal_spec);

static const blis__key turns_keys[] = {
    KEY("max_rounds", INTEGER, blis_multi_turn_spec, max_rounds),
    KEY("think_time_us", INTEGER, blis_multi_turn_spec, think_time_us),
    KEY("context_growth", TEXT, blis_multi_turn_spec, context_growth),
    KEY("single_session", BOOLEAN, blis_multi_turn_spec, single_session)};
static const blis__section turns_section =
    SECTION("multi_turn block", turns_keys, blis_multi_turn_spec);

static const blis__key reasoning_keys[] = {
    KEY("reason_ratio_distribution", DISTRIBUTION, blis_client_spec,
        reason_ratio),
    PART("multi_turn", blis_client_spec, multi_turn, &turns_section)};
static const blis__section reasoning_section =
    SECTION("reasoning block", reasoning_keys, blis_client_spec);

static const blis__key client_keys[] = {
    KEY("id", TEXT, blis_client_spec, id),
    {.name = "tenant_id",
     .alias = "tenant",
     .kind = BLIS__KEY_TEXT,
     .member = offsetof(blis_client_spec, tenant),
     .flag = NONE},
    KEY("slo_class", TEXT, blis_client_spec, slo_class),
    KEY("model", TEXT, blis_client_spec, model),
    KEY("adapter", TEXT, blis_client_spec, adapter),
    KEY("rate_fraction", NUMBER, blis_client_spec, rate_fraction),
    {.name = "concurrency",
     .kind = BLIS__KEY_INTEGER,
     .member = offsetof(blis_client_spec, concurrency),
     .flag = NONE,
     .is_for_clients = true},
    {.name = "think_time_us",
     .kind = BLIS__KEY_INTEGER,
     .member = offsetof(blis_client_spec, think_time_us),
     .flag = NONE,
     .is_for_clients = true},
    KEY("arrival", ARRIVAL, blis_client_spec, arrival),
    {.name = "input_distribution",
     .alias = "prompt",
     .kind = BLIS__KEY_DISTRIBUTION,
     .member = offsetof(blis_client_spec, input),
     .flag = NONE},
    {.name = "output_distribution",
     .alias = "output",
     .kind = BLIS__KEY_DISTRIBUTION,
     .member = offsetof(blis_client_spec, output),
     .flag = NONE},
    KEY("prefix_group", TEXT, blis_client_spec, prefix_group),
    KEY("prefix_length", INTEGER, blis_client_spec, prefix_tokens),
    KEY("streaming", BOOLEAN, blis_client_spec, is_streaming),
    INSIDE("network", offsetof(blis_client_spec, has_network),
           &network_section),
    {.name = "lifecycle",
     .kind = BLIS__KEY_INSIDE,
     .member = NONE,
     .flag = NONE,
     .section = &lifecycle_section,
     .is_for_clients = true,
     .needs_members = true},
    PART("multimodal", blis_client_spec, multimodal, &multimodal_section),
    INSIDE("reasoning", NONE, &reasoning_section),
    {.name = "timeout",
     .alias = "timeout_us",
     .kind = BLIS__KEY_TIMEOUT,
     .member = offsetof(blis_client_spec, timeout_us),
     .flag = offsetof(blis_client_spec, has_no_timeout)},
    KEY("slo_target_us", INTEGER, blis_client_spec, slo_target_us),
    KEY("closed_loop", LOOP, blis_client_spec, loop)};
static const blis__section client_section =
    SECTION("client", client_keys, blis_client_spec);

/* Cohorts. */

static const blis__key diurnal_keys[] = {
    KEY("peak_hour", INTEGER, blis_diurnal_spec, peak_hour),
    KEY("peak_to_trough_ratio", NUMBER, blis_diurnal_spec,
        peak_to_trough_ratio)};
static const blis__section diurnal_section =
    SECTION("diurnal block", diurnal_keys, blis_diurnal_spec);

static const blis__key spike_keys[] = {
    KEY("start_time_us", INTEGER, blis_spike_spec, start_us),
    KEY("duration_us", INTEGER, blis_spike_spec, duration_us),
    KEY_AND("trace_rate", NUMBER, blis_spike_spec, trace_rate, has_trace_rate)};
static const blis__section spike_section =
    SECTION("spike block", spike_keys, blis_spike_spec);

static const blis__key drain_keys[] = {
    KEY("start_time_us", INTEGER, blis_drain_spec, start_us),
    KEY("ramp_duration_us", INTEGER, blis_drain_spec, ramp_us)};
static const blis__section drain_section =
    SECTION("drain block", drain_keys, blis_drain_spec);

/* The client is the first member, so that its keys fill it here, too. */
_Static_assert(offsetof(blis_cohort_spec, client) == 0, "see above");

static const blis__key cohort_keys[] = {
    KEY("population", INTEGER, blis_cohort_spec, population),
    KEY("prefix_sharing", TEXT, blis_cohort_spec, prefix_sharing),
    PART("diurnal", blis_cohort_spec, diurnal, &diurnal_section),
    PART("spike", blis_cohort_spec, spike, &spike_section),
    PART("drain", blis_cohort_spec, drain, &drain_section)};
static const blis__section cohort_section = {.name = "cohort",
                                             .keys = cohort_keys,
                                             .key_count = COUNT(cohort_keys),
                                             .size = sizeof(blis_cohort_spec),
                                             .base = &client_section};

/* Other inputs. */

static const blis__key stage_keys[] = {
    KEY("rate", NUMBER, blis_inference_perf_stage, rate),
    KEY("duration", INTEGER, blis_inference_perf_stage, duration)};
static const blis__section stage_section =
    SECTION("stage", stage_keys, blis_inference_perf_stage);

static const blis__key prefixes_keys[] = {
    KEY("num_unique_system_prompts", INTEGER, blis_inference_perf_prefixes,
        prompts),
    KEY("num_users_per_system_prompt", INTEGER, blis_inference_perf_prefixes,
        users_per_prompt),
    KEY("system_prompt_len", INTEGER, blis_inference_perf_prefixes,
        prompt_tokens),
    KEY("question_len", INTEGER, blis_inference_perf_prefixes, question_tokens),
    KEY("output_len", INTEGER, blis_inference_perf_prefixes, output_tokens),
    KEY("enable_multi_turn_chat", BOOLEAN, blis_inference_perf_prefixes,
        is_multi_turn)};
static const blis__section prefixes_section =
    SECTION("shared_prefix block", prefixes_keys, blis_inference_perf_prefixes);

static const blis__key inference_perf_keys[] = {
    LIST("stages", blis_inference_perf_spec, stages, stage_count,
         &stage_section),
    PART("shared_prefix", blis_inference_perf_spec, shared_prefix,
         &prefixes_section)};
static const blis__section inference_perf_section = SECTION(
    "inference_perf block", inference_perf_keys, blis_inference_perf_spec);

static const blis__key servegen_keys[] = {
    KEY("path", TEXT, blis_servegen_spec, path),
    KEY("time_window", TEXT, blis_servegen_spec, time_window),
    KEY("span_start", INTEGER, blis_servegen_spec, span_start),
    KEY("span_end", INTEGER, blis_servegen_spec, span_end),
    KEY("window_duration_secs", INTEGER, blis_servegen_spec, window_secs),
    KEY("drain_timeout_secs", INTEGER, blis_servegen_spec, drain_secs)};
static const blis__section servegen_section =
    SECTION("servegen_data block", servegen_keys, blis_servegen_spec);

/* Its name, the SLO class, is the first member. */
_Static_assert(offsetof(blis_goodput_target, slo_class) == 0, "see above");

static const blis__key target_keys[] = {
    KEY("ttft_ms", NUMBER, blis_goodput_target, ttft_ms),
    KEY("itl_ms", NUMBER, blis_goodput_target, itl_ms),
    KEY("e2e_ms", NUMBER, blis_goodput_target, e2e_ms)};
static const blis__section target_section =
    SECTION("goodput target", target_keys, blis_goodput_target);

/* The whole. */

#define TOP(member_) offsetof(blis__spec_top, member_)

static const blis__key top_keys[] = {
    KEY("version", TEXT, blis__spec_top, version),
    KEY_AND("seed", INTEGER, blis__spec_top, spec.seed, has_seed),
    KEY("category", TEXT, blis__spec_top, spec.category),
    LIST("clients", blis__spec_top, spec.clients, spec.client_count,
         &client_section),
    LIST("cohorts", blis__spec_top, spec.cohorts, spec.cohort_count,
         &cohort_section),
    {.name = "aggregate_rate",
     .alias = "rate",
     .kind = BLIS__KEY_NUMBER,
     .member = TOP(spec.aggregate_rate),
     .flag = NONE},
    {.name = "horizon",
     .alias = "horizon_us",
     .kind = BLIS__KEY_INTEGER,
     .member = TOP(spec.horizon_us),
     .flag = NONE},
    {.name = "num_requests",
     .alias = "requests",
     .kind = BLIS__KEY_INTEGER,
     .member = TOP(spec.num_requests),
     .flag = NONE},
    PART("servegen_data", blis__spec_top, servegen, &servegen_section),
    PART("inference_perf", blis__spec_top, inference_perf,
         &inference_perf_section),
    {.name = "goodput_slo_targets",
     .kind = BLIS__KEY_NAMED,
     .member = TOP(spec.goodput_targets),
     .flag = TOP(spec.goodput_target_count),
     .section = &target_section},
    KEY("tokens", TOKENS, blis__spec_top, spec.lazy_tokens)};

const blis__section blis__spec_top_section =
    SECTION("workload", top_keys, blis__spec_top);

/* For listings. */

static const blis__section *const sections[] = {
    &blis__spec_top_section, &client_section,  &window_section,
    &lifecycle_section,      &network_section, &multimodal_section,
    &reasoning_section,      &turns_section,   &cohort_section,
    &diurnal_section,        &spike_section,   &drain_section,
    &inference_perf_section, &stage_section,   &prefixes_section,
    &servegen_section,       &target_section};

size_t blis_spec_section_count(void) {
  return COUNT(sections);
}

const char *blis_spec_section_name(size_t section) {
  return sections[section]->name;
}

const char *blis_spec_section_key(size_t section, size_t key) {
  const blis__key *keys[BLIS__SECTION_MAX_KEYS];
  size_t count = blis__section_list_keys(sections[section], keys);
  return key < count ? keys[key]->name : NULL;
}
