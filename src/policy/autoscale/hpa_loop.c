#include "policy/autoscale/hpa_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_of_each(blis_scale_metric metric) {
  return metric == BLIS_SCALE_KV_UTILIZATION || metric == BLIS_SCALE_QUEUE_DEPTH ||
         metric == BLIS_SCALE_BATCH_SIZE;
}

static double value_of(const blis_scale_instance *instance, blis_scale_metric metric) {
  switch (metric) {
  case BLIS_SCALE_KV_UTILIZATION:
    return instance->kv_utilization;
  case BLIS_SCALE_QUEUE_DEPTH:
    return instance->queue_depth;
  default:
    return instance->batch_size;
  }
}

static blis_status take_triggers(blis_hpa_loop *loop, const blis_policy_setup *setup,
                                 blis_error *error) {
  size_t count = setup->params == NULL ? 0 : setup->params->count;
  for (size_t i = 0; i < count; i++) {
    const blis_param *param = &setup->params->items[i];
    if (strcmp(param->name, "metrics") != 0 || param->key == NULL) {
      continue;
    }
    if (loop->trigger_count == BLIS_SCALE_METRIC_COUNT) {
      return blis_fail(error, BLIS_ERR_INVALID, "autoscaler %s: duplicate metric",
                       setup->entry->name);
    }
    blis_scale_trigger *trigger = &loop->triggers[loop->trigger_count++];
    trigger->target = param->number;
    BLIS_TRY(blis_scale_metric_find(param->key, &trigger->metric, error));
  }
  return BLIS_OK;
}

blis_status blis_hpa_loop_init(blis_hpa_loop *loop, const blis_policy_setup *setup,
                               const blis_scale_trigger *usual, size_t usual_count,
                               blis_error *error) {
  const char *name = setup->entry->name;
  loop->alloc = *setup->alloc;
  BLIS_TRY(take_triggers(loop, setup, error));
  if (loop->trigger_count == 0 && usual_count > 0) {
    memcpy(loop->triggers, usual, usual_count * sizeof *usual);
    loop->trigger_count = usual_count;
  }
  for (size_t i = 0; i < loop->trigger_count; i++) {
    blis_scale_metric metric = loop->triggers[i].metric;
    if (loop->type == BLIS_HPA_PODS && !is_of_each(metric)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "autoscaler %s: metric %s is the pool's, and has no "
                       "mean over instances; metric_type may be average-value "
                       "or value",
                       name, blis_scale_metric_name(metric));
    }
  }
  return BLIS_OK;
}

blis_scale_needs blis_hpa_loop_needs(const blis_hpa_loop *loop) {
  blis_scale_needs needs = 0;
  for (size_t i = 0; i < loop->trigger_count; i++) {
    needs |= BLIS_SCALE_BIT(loop->triggers[i].metric);
  }
  return needs;
}

void blis_hpa_loop_deinit(blis_hpa_loop *loop) {
  blis_hpa_deinit(&loop->hpa, &loop->alloc);
}

static blis_status propose_pods(blis_hpa_loop *loop, const blis_scale_context *context,
                                const blis_scale_trigger *trigger, int64_t *proposal,
                                blis_error *error) {
  size_t count = context->instance_count;
  size_t size = (count + 1) * sizeof(int64_t);
  int64_t *values = blis_alloc_new(&loop->alloc, size);
  BLIS_TRY_NEW(values, error);
  for (size_t i = 0; i < count; i++) {
    values[i] = blis_hpa_milli(value_of(&context->instances[i], trigger->metric));
  }
  int64_t unready = (int64_t)context->replicas - (int64_t)context->ready;
  *proposal = blis_hpa_pods(&loop->rules, values, count, 0, unready < 0 ? 0 : unready,
                            blis_hpa_milli(trigger->target), context->replicas);
  blis_alloc_free(&loop->alloc, values, size);
  return BLIS_OK;
}

static blis_status propose(blis_hpa_loop *loop, const blis_scale_context *context,
                           const blis_scale_trigger *trigger, int64_t *proposal,
                           blis_error *error) {
  int64_t value = blis_hpa_milli(blis_scale_value(context, trigger->metric));
  int64_t target = blis_hpa_milli(trigger->target);
  switch ((blis_hpa_type)loop->type) {
  case BLIS_HPA_PODS:
    return propose_pods(loop, context, trigger, proposal, error);
  case BLIS_HPA_VALUE:
    *proposal = blis_hpa_value(&loop->rules, value, target, context->replicas, context->ready);
    return BLIS_OK;
  case BLIS_HPA_AVERAGE_VALUE:
    *proposal = blis_hpa_average_value(&loop->rules, value, target, context->replicas);
  }
  return BLIS_OK;
}

static blis_status sync_proposal(blis_hpa_loop *loop, const blis_scale_context *context,
                                 int64_t min, int64_t proposal, const char *what, double value,
                                 blis_scale_decision *decision, blis_error *error) {
  BLIS_TRY_MEM(blis_hpa_sync(&loop->hpa, &loop->alloc, &loop->rules, context->now_us,
                             context->replicas, proposal, min, context->max, &decision->target),
               error);
  snprintf(loop->reason, sizeof loop->reason, "%s %.4g asks for %" PRId64, what, value, proposal);
  decision->reason = loop->reason;
  return BLIS_OK;
}

blis_status blis_hpa_loop_sync(blis_hpa_loop *loop, const blis_scale_context *context, int64_t min,
                               blis_scale_decision *decision, blis_error *error) {
  int64_t largest = -1;
  blis_scale_metric winner = loop->triggers[0].metric;
  for (size_t i = 0; i < loop->trigger_count; i++) {
    int64_t proposal = 0;
    BLIS_TRY(propose(loop, context, &loop->triggers[i], &proposal, error));
    if (proposal > largest) {
      largest = proposal;
      winner = loop->triggers[i].metric;
    }
  }
  return sync_proposal(loop, context, min, largest, blis_scale_metric_name(winner),
                       blis_scale_value(context, winner), decision, error);
}

blis_status blis_hpa_loop_sync_value(blis_hpa_loop *loop, const blis_scale_context *context,
                                     int64_t min, const char *what, double value,
                                     blis_scale_decision *decision, blis_error *error) {
  int64_t proposal =
      blis_hpa_average_value(&loop->rules, blis_hpa_milli(value), 1000, context->replicas);
  return sync_proposal(loop, context, min, proposal, what, value, decision, error);
}
