/* show.c - requests as policies see them. */
#include "cluster/state.h"

blis_routing_request blis_cluster_show(blis_cluster *cluster, const blis_live_request *live) {
  return blis__cluster_show_request(cluster, blis__request_table_of(&cluster->requests, live));
}

blis_routing_request blis__cluster_show_request(blis_cluster *cluster,
                                                const blis__cluster_request *request) {
  const blis_request *r = &request->request;
  return (blis_routing_request){
      .number = r->number,
      .slot = request->live.slot,
      .arrival_us = r->arrival_us,
      .deadline_us = r->deadline_us,
      .slo_target_us = r->slo_target_us,
      .prompt_tokens = r->prompt_tokens,
      .max_output_tokens = request->live.max_output_tokens,
      .output_tokens = cluster->config.oracle ? (int64_t)r->output_tokens : -1,
      .priority = request->live.priority,
      .slo_value = request->slo_value,
      .round_index = r->round_index,
      .tenant = r->tenant,
      .slo_class = r->slo_class,
      .model = r->model,
      .session = r->session,
      .client = r->client,
      .adapter = r->adapter,
      .adapter_number = request->live.adapter,
      .prefix_group = r->prefix_group,
      .prefix_tokens = r->prefix_tokens,
      .segments = r->segments,
      .segment_count = r->segment_count,
      .call = r->call,
      .strings = cluster->source->strings,
      .traffic = cluster->traffic == NULL ? NULL : blis__cluster_traffic,
      .traffic_ud = cluster->traffic,
      .pool = blis__cluster_pool,
      .pool_ud = cluster,
  };
}
