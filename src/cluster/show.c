/* show.c - converts requests to the form that policies see. */
#include "cluster/state.h"

blis_routing_request blis_cluster_show(blis_cluster *cluster, const blis_live_request *live) {
  return blis__cluster_show_request(cluster, blis__request_table_of(&cluster->requests, live));
}

void blis__cluster_show(blis_cluster *cluster, const blis__cluster_request *request,
                        blis_routing_request *shown) {
  blis_routing_request_init(shown, &request->request, &request->live);
  if (cluster->config.oracle) {
    shown->output_tokens = (int64_t)request->request.output_tokens;
  }
  shown->slo_value = request->slo_value;
  shown->strings = cluster->source->strings;
  shown->traffic = cluster->traffic == NULL ? NULL : blis__cluster_traffic;
  shown->traffic_ud = cluster->traffic;
  shown->pool = blis__cluster_pool;
  shown->pool_ud = cluster;
}
