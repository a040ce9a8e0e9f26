/* show.c - requests as policies see them. */
#include "cluster/state.h"

blis_routing_request blis_cluster_show(blis_cluster *cluster, const blis_live_request *live) {
  return blis__cluster_show_request(cluster, blis__request_table_of(&cluster->requests, live));
}

blis_routing_request blis__cluster_show_request(blis_cluster *cluster,
                                                const blis__cluster_request *request) {
  blis_routing_request shown = blis_routing_request_of(&request->request, &request->live);
  shown.output_tokens = cluster->config.oracle ? (int64_t)request->request.output_tokens : -1;
  shown.slo_value = request->slo_value;
  shown.strings = cluster->source->strings;
  shown.traffic = cluster->traffic == NULL ? NULL : blis__cluster_traffic;
  shown.traffic_ud = cluster->traffic;
  shown.pool = blis__cluster_pool;
  shown.pool_ud = cluster;
  return shown;
}
