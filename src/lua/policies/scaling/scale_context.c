#include "lua/policies/scaling/scale_context.h"

#include <string.h>

#include "base/time.h"
#include "lua/bind/bind.h"
#include "lua/bind/closed.h"

/* Metrics in samples. */
static const blis_scale_metric sampled[BIND_SAMPLED_METRICS] = {
    BLIS_SCALE_REQUEST_RATE, BLIS_SCALE_REQUESTS_RUNNING, BLIS_SCALE_QUEUE_DEPTH,
    BLIS_SCALE_KV_UTILIZATION, BLIS_SCALE_GATEWAY_QUEUE_SIZE};

static const blis_scale_metric all_metrics[] = {
#define BLIS__METRIC(id, name, unit, text) BLIS_SCALE_##id,
    BLIS_SCALE_METRICS(BLIS__METRIC)
#undef BLIS__METRIC
};

/* Handling of unknown names. */

/* Raises for a valid metric that the run does not collect. */
static void offer_metrics(lua_State *L, const blis_scale_metric *metrics, size_t count,
                          const char *name, blis_nearest *nearest) {
  for (size_t k = 0; k < count; k++) {
    const char *metric = blis_scale_metric_name(metrics[k]);
    if (strcmp(metric, name) == 0) {
      luaL_error(L,
                 "%s is not collected: the metrics of the autoscaler do not "
                 "name it",
                 metric);
    }
    blis_nearest_offer(nearest, metric);
  }
}

static void offer_all(lua_State *L, const char *name, blis_nearest *nearest) {
  offer_metrics(L, all_metrics, BLIS_SCALE_METRIC_COUNT, name, nearest);
}

static void offer_sampled(lua_State *L, const char *name, blis_nearest *nearest) {
  offer_metrics(L, sampled, BIND_SAMPLED_METRICS, name, nearest);
}

static const char *const context_names[] = {"pool",
                                            "trigger",
                                            "now_us",
                                            "since_last_scale_us",
                                            "replicas",
                                            "ready",
                                            "starting",
                                            "draining",
                                            "avg_queue_depth",
                                            "avg_utilization",
                                            "min",
                                            "max",
                                            "instances",
                                            "samples",
                                            "own",
                                            "other",
                                            NULL};

static const char *const pool_names[] = {
    "replicas",         "unconstrained_target", "wish",         "min", "max",
    "gpus_per_replica", "prefill_watts",        "decode_watts", NULL};

static const char *const instance_names[] = {"id",
                                             "kv_utilization",
                                             "queue_depth",
                                             "batch_size",
                                             "queued_prefill_tokens",
                                             "running_kv_tokens",
                                             "queued_kv_tokens",
                                             "kv_capacity_tokens",
                                             "context_length_tokens",
                                             NULL};

static const char *const sample_names[] = {"now_us", "replicas", "ready", NULL};

static const char help[] = "'blis help ScaleContext' lists the fields";
static const bind_closed of_context = {"blis.ScaleContext", "a context of scaling", context_names,
                                       help, offer_all};
static const bind_closed of_instance = {"blis.ScaleInstance", "an instance of a context",
                                        instance_names, help, NULL};
static const bind_closed of_pool = {"blis.ScalePool", "a pool of a context", pool_names, help,
                                    NULL};
static const bind_closed of_sample = {"blis.ScaleSample", "a sample of a context", sample_names,
                                      help, offer_sampled};

static const bind_closed of_instances = {"blis.ScaleInstances",
                                         "the list of instances of a context", NULL, help, NULL};
static const bind_closed of_samples = {"blis.ScaleSamples", "the list of samples of a context",
                                       NULL, help, NULL};

static const char instead[] = "return the target, as a number or " BIND_SCALE_ANSWER;

/* The tables. */

static void set_signal(lua_State *L, const char *name, double value) {
  push_signal(L, value);
  lua_setfield(L, -2, name);
}

static void push_instances(lua_State *L, const bind_alias *alias,
                           const blis_scale_context *context) {
  lua_createtable(L, (int)context->instance_count, 0);
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    lua_createtable(L, 0, 9);
    push_alias_instance(L, alias, instance->id);
    lua_setfield(L, -2, "id");
    set_signal(L, "kv_utilization", instance->kv_utilization);
    set_signal(L, "queue_depth", instance->queue_depth);
    set_signal(L, "batch_size", instance->batch_size);
    set_signal(L, "queued_prefill_tokens", instance->queued_prefill_tokens);
    set_signal(L, "running_kv_tokens", instance->running_kv_tokens);
    set_signal(L, "queued_kv_tokens", instance->queued_kv_tokens);
    set_signal(L, "kv_capacity_tokens", instance->kv_capacity_tokens);
    set_signal(L, "context_length_tokens", instance->context_length_tokens);
    seal_table(L, &of_instance, instead);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Sets the table of a pool; sets nothing if the pool is unknown or does not exist. */
static void set_pool(lua_State *L, const char *name, const blis_scale_pool *pool) {
  if (pool == NULL) {
    return;
  }
  lua_createtable(L, 0, 8);
  set_field_integer(L, "replicas", pool->replicas);
  set_field_integer(L, "unconstrained_target", pool->wish);
  set_field_integer(L, "wish", pool->wish); /* deprecated */
  set_field_integer(L, "min", pool->min);
  set_field_integer(L, "max", pool->max);
  set_field_integer(L, "gpus_per_replica", (lua_Integer)pool->gpus);
  if (pool->prefill_watts >= 0) {
    set_field_number(L, "prefill_watts", pool->prefill_watts);
  }
  if (pool->decode_watts >= 0) {
    set_field_number(L, "decode_watts", pool->decode_watts);
  }
  seal_table(L, &of_pool, instead);
  lua_setfield(L, -2, name);
}

static void keep_sample(bind_scale_samples *samples, int64_t now_us,
                        const blis_scale_context *context) {
  bind_scale_sample *sample = &samples->items[samples->looks++ % BIND_SCALE_SAMPLES];
  sample->now_us = now_us;
  sample->replicas = context->replicas;
  sample->ready = context->ready;
  sample->collected = context->collected;
  for (int k = 0; k < BIND_SAMPLED_METRICS; k++) {
    sample->metrics[k] = context->metrics[sampled[k]];
  }
}

/* Pushes the most recent samples, including the current one, oldest first. */
static void push_samples(lua_State *L, const bind_scale_samples *samples) {
  size_t looks = samples->looks;
  size_t count = looks < BIND_SCALE_SAMPLES ? looks : BIND_SCALE_SAMPLES;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const bind_scale_sample *sample = &samples->items[(looks - count + i) % BIND_SCALE_SAMPLES];
    lua_createtable(L, 0, BIND_SAMPLED_METRICS + 3);
    set_field_integer(L, "now_us", sample->now_us);
    set_field_integer(L, "replicas", sample->replicas);
    set_field_integer(L, "ready", sample->ready);
    for (int k = 0; k < BIND_SAMPLED_METRICS; k++) {
      if ((sample->collected & BLIS_SCALE_BIT(sampled[k])) != 0) {
        set_signal(L, blis_scale_metric_name(sampled[k]), sample->metrics[k]);
      }
    }
    seal_table(L, &of_sample, instead);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Sets a mean over the ready instances; 0 without ready instances. */
static void set_mean(lua_State *L, const char *name, const blis_scale_context *context,
                     blis_scale_metric metric) {
  double sum = context->metrics[metric];
  set_signal(L, name, context->ready > 0 ? sum / context->ready : 0);
}

void push_scale_context(lua_State *L, const bind_alias *alias, const blis_scale_context *context,
                        bind_scale_samples *samples) {
  static const char *const pools[] = {"all", "prefill", "decode"};
  const int64_t now_us = bind_alias_us(alias, context->now_us);
  keep_sample(samples, now_us, context);
  lua_createtable(L, 0, BLIS_SCALE_METRIC_COUNT + 16);
  set_field_string(L, "pool", pools[context->role]);
  set_field_string(L, "trigger", blis_scale_cause_name(context->cause));
  set_field_integer(L, "now_us", now_us);
  if (context->since_last_scale_us != BLIS_TIME_NEVER_US) {
    set_field_integer(L, "since_last_scale_us", context->since_last_scale_us);
  }
  set_field_integer(L, "replicas", context->replicas);
  set_field_integer(L, "ready", context->ready);
  set_field_integer(L, "starting", context->starting);
  set_field_integer(L, "draining", context->draining);
  set_mean(L, "avg_queue_depth", context, BLIS_SCALE_QUEUE_DEPTH);
  set_mean(L, "avg_utilization", context, BLIS_SCALE_KV_UTILIZATION);
  set_field_integer(L, "min", context->min);
  set_field_integer(L, "max", context->max);
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    if ((context->collected & BLIS_SCALE_BIT(m)) != 0) {
      set_signal(L, blis_scale_metric_name((blis_scale_metric)m),
                 blis_scale_value(context, (blis_scale_metric)m));
    }
  }
  set_pool(L, "own", context->own);
  set_pool(L, "other", context->other);
  push_instances(L, alias, context);
  seal_table(L, &of_instances, instead);
  lua_setfield(L, -2, "instances");
  push_samples(L, samples);
  seal_table(L, &of_samples, instead);
  lua_setfield(L, -2, "samples");
  seal_table(L, &of_context, instead);
}
