#include "observe/body.h"

#include <inttypes.h>

#include "base/format/json_writer.h"
#include "base/hash.h"

/* Returns the stream of tokens that are unique to this request. */
static uint64_t own_stream(const blis_request *request) {
  const int64_t number = request->number;
  return blis_hash64(&number, sizeof number, 77);
}

uint32_t blis__token_id(uint64_t stream, uint32_t offset, uint32_t vocabulary) {
  const uint64_t place[] = {stream, offset};
  return BLIS__FIRST_ID +
         (uint32_t)(blis_hash64(place, sizeof place, 0) % (vocabulary - BLIS__FIRST_ID));
}

static void write_id(blis_buffer *buffer, uint32_t id, bool is_first) {
  blis_buffer_string(buffer, is_first ? "" : ",");
  blis_buffer_int64(buffer, id);
}

/* Writes a word of four bytes, which is about one token for most tokenizers. */
static void write_word(blis_buffer *buffer, uint32_t id, bool is_first) {
  (void)is_first;
  const char word[] = {' ', (char)('a' + id % 26), (char)('a' + id / 26 % 26),
                       (char)('a' + id / 676 % 26)};
  blis_buffer_bytes(buffer, word, sizeof word);
}

static void write_prompt(blis_buffer *buffer, const blis_request *request, uint32_t vocabulary,
                         void (*write)(blis_buffer *buffer, uint32_t id, bool is_first)) {
  uint32_t written = 0;
  for (uint32_t k = 0; k < request->segment_count; k++) {
    const blis_segment *segment = &request->segments[k];
    for (uint32_t i = 0; i < segment->length_tokens; i++) {
      write(buffer, blis__token_id(segment->stream, segment->offset_tokens + i, vocabulary),
            written++ == 0);
    }
  }
  for (uint64_t own = own_stream(request); written < request->prompt_tokens; written++) {
    write(buffer, blis__token_id(own, written, vocabulary), written == 0);
  }
}

void blis__write_body(blis_buffer *buffer, const blis_observe_config *config,
                      const blis_request *request) {
  blis_buffer_char(buffer, '{');
  if (config->model != NULL) {
    blis_json_writer writer;
    blis_buffer_string(buffer, "\"model\":");
    blis_json_writer_init(&writer, buffer, 0);
    blis_json_writer_string(&writer, config->model);
    blis_buffer_char(buffer, ',');
  }
  if (config->is_chat) {
    blis_buffer_string(buffer, "\"messages\":[{\"role\":\"user\",\"content\":\"");
    write_prompt(buffer, request, config->vocabulary, write_word);
    blis_buffer_string(buffer, "\"}]");
  } else {
    blis_buffer_string(buffer, "\"prompt\":[");
    write_prompt(buffer, request, config->vocabulary, write_id);
    blis_buffer_char(buffer, ']');
  }
  blis_buffer_format(buffer,
                     ",\"max_tokens\":%" PRIu32 ",\"temperature\":0,\"stream\":true,"
                     "\"stream_options\":{\"include_usage\":true}",
                     request->output_tokens);
  blis_buffer_string(buffer, config->ignores_eos ? ",\"ignore_eos\":true}" : "}");
}
