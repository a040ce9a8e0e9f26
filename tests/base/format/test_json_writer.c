#include "base/format/json_writer.h"

#include <math.h>

#include "base/format/json.h"
#include "base/random.h"
#include "check.h"

static void write_example(blis_json_writer *writer) {
  blis_json_writer_begin_object(writer);
  blis_json_writer_key(writer, "id");
  blis_json_writer_string(writer, "a<b>&\"\\");
  blis_json_writer_key(writer, "counts");
  blis_json_writer_begin_array(writer);
  blis_json_writer_int64(writer, INT64_MIN);
  blis_json_writer_double(writer, 2.785e-9);
  blis_json_writer_double(writer, (double)NAN);
  blis_json_writer_end_array(writer);
  blis_json_writer_key(writer, "none");
  blis_json_writer_begin_array(writer);
  blis_json_writer_end_array(writer);
  blis_json_writer_key(writer, "empty");
  blis_json_writer_begin_object(writer);
  blis_json_writer_end_object(writer);
  blis_json_writer_key(writer, "last");
  blis_json_writer_begin_object(writer);
  blis_json_writer_key(writer, "ok");
  blis_json_writer_bool(writer, true);
  blis_json_writer_key(writer, "no");
  blis_json_writer_bool(writer, false);
  blis_json_writer_key(writer, "nil");
  blis_json_writer_null(writer);
  blis_json_writer_end_object(writer);
  blis_json_writer_end_object(writer);
}

static void texts_are_those_of_go(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  blis_json_writer writer;
  blis_json_writer_init(&writer, &buffer, 0);
  write_example(&writer);
  CHECK_STR(blis_buffer_text(&buffer),
            "{\"id\":\"a\\u003cb\\u003e\\u0026\\\"\\\\\",\"counts\":["
            "-9223372036854775808,2.785e-9,null],\"none\":[],\"empty\":{},"
            "\"last\":{\"ok\":true,\"no\":false,\"nil\":null}}");
  blis_buffer_clear(&buffer);
  blis_json_writer_init(&writer, &buffer, 2);
  write_example(&writer);
  CHECK_STR(blis_buffer_text(&buffer), "{\n"
                                       "  \"id\": \"a\\u003cb\\u003e\\u0026\\\"\\\\\",\n"
                                       "  \"counts\": [\n"
                                       "    -9223372036854775808,\n"
                                       "    2.785e-9,\n"
                                       "    null\n"
                                       "  ],\n"
                                       "  \"none\": [],\n"
                                       "  \"empty\": {},\n"
                                       "  \"last\": {\n"
                                       "    \"ok\": true,\n"
                                       "    \"no\": false,\n"
                                       "    \"nil\": null\n"
                                       "  }\n"
                                       "}");
  blis_buffer_deinit(&buffer);
}

static void texts_are_escaped(void) {
  static const struct {
    const char *text;
    const char *written;
  } cases[] = {
      {"", "\"\""},
      {"\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\x7f\""},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
      {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\"\\u2028\\u2029\xe2\x80\xaa\""},
      {"a\xff"
       "b\xc3",
       "\"a\\ufffdb\\ufffd\""},
      {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
      {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
      {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
      {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_json_writer writer;
    blis_buffer_clear(&buffer);
    blis_json_writer_init(&writer, &buffer, 0);
    blis_json_writer_string(&writer, cases[i].text);
    CHECK_STR(blis_buffer_text(&buffer), cases[i].written);
  }
  blis_buffer_deinit(&buffer);
}

/* Arrays of random numbers and texts are read back as they were written. */
static void written_values_come_back(void) {
  enum { VALUES = 3000 };
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  blis_json_writer writer;
  blis_json_writer_init(&writer, &buffer, 1);
  blis_random random;
  blis_random_init(&random, 61);
  blis_json_writer_begin_array(&writer);
  for (int i = 0; i < VALUES; i++) {
    blis_json_writer_int64(&writer, blis_random_int63(&random));
    blis_json_writer_double(&writer, blis_random_normal(&random));
  }
  blis_json_writer_end_array(&writer);
  blis_json json;
  blis_error error;
  blis_json_init(&json, &alloc);
  CHECK_OK(blis_json_parse(&json, "written", 1, blis_buffer_slice(&buffer), &error), &error);
  blis_random_init(&random, 61);
  blis_json_value root = blis_json_root(&json);
  for (size_t i = 0; i < VALUES; i++) {
    int64_t whole = 0;
    double real = 0;
    CHECK_OK(blis_json_int64(blis_json_item(root, 2 * i), 0, INT64_MAX, &whole, &error), &error);
    CHECK_EQ_I64(whole, blis_random_int63(&random));
    CHECK_OK(blis_json_double(blis_json_item(root, 2 * i + 1), -99, 99, &real, &error), &error);
    CHECK_EQ_DOUBLE(real, blis_random_normal(&random));
  }
  blis_json_deinit(&json);
  blis_buffer_deinit(&buffer);
}

static void no_memory_is_told_by_the_buffer(void) {
  blis_alloc_probe memory = {.fail_at = 1, .fail_forever = 1};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  blis_json_writer writer;
  blis_json_writer_init(&writer, &buffer, 2);
  write_example(&writer);
  CHECK_STATUS(blis_buffer_status(&buffer), BLIS_ERR_NOMEM);
  blis_buffer_deinit(&buffer);
}

int main(void) {
  RUN(texts_are_those_of_go);
  RUN(texts_are_escaped);
  RUN(written_values_come_back);
  RUN(no_memory_is_told_by_the_buffer);
  return check_done();
}
