#include "results/record/record.h"

#include "base/hash.h"

blis_record blis_record_of(const blis_request_end *end) {
  const blis_request *request = end->request;
  return (blis_record){
      .number = request->number,
      .arrival_us = request->arrival_us,
      .ttft_us = end->ttft_us,
      .e2e_us = end->e2e_us,
      .scheduling_delay_us = end->scheduling_delay_us,
      .itl_sum_us = end->itl_sum_us,
      .end_us = end->end_us,
      .gateway_wait_us = end->gateway_wait_us,
      .adapter_wait_us = end->adapter_wait_us,
      .drafted_tokens = end->drafted_tokens,
      .accepted_tokens = end->accepted_tokens,
      .energy_nj = end->energy_nj,
      .carbon_pg = end->carbon_pg,
      .itl_count = (uint32_t)end->itl_count,
      .prompt_tokens = request->prompt_tokens,
      .output_tokens = request->output_tokens,
      .instance = end->instance,
      .tenant = request->tenant,
      .slo_class = request->slo_class,
      .model = request->model,
      .adapter = request->adapter,
      .session = request->session,
      .round_index = request->round_index,
      .program = request->call == NULL ? 0 : request->call->program->name,
      .state = end->state & 15U,
      .was_counted = end->was_counted,
      .had_hit = end->had_hit,
  };
}

/* Little-endian, spelled out so that compilers make one store of it. */
static void write_value(unsigned char *bytes, uint64_t value) {
  bytes[0] = (unsigned char)value;
  bytes[1] = (unsigned char)(value >> 8);
  bytes[2] = (unsigned char)(value >> 16);
  bytes[3] = (unsigned char)(value >> 24);
  bytes[4] = (unsigned char)(value >> 32);
  bytes[5] = (unsigned char)(value >> 40);
  bytes[6] = (unsigned char)(value >> 48);
  bytes[7] = (unsigned char)(value >> 56);
}

uint64_t blis_record_hash(const blis_record *record) {
  const int64_t values[] = {
      record->number,        record->arrival_us,    record->state,     record->instance,
      record->prompt_tokens, record->output_tokens, record->ttft_us,   record->scheduling_delay_us,
      record->e2e_us,        record->itl_sum_us,    record->itl_count,
  };
  unsigned char bytes[sizeof values];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    write_value(bytes + 8 * i, (uint64_t)values[i]);
  }
  return blis_hash64(bytes, sizeof bytes, 0);
}
