#include "observe/post.h"

#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "observe/curl_library.h"

enum { ANSWER_MAX = 1 << 20 };

struct blis_post {
  blis_alloc alloc;
  const blis__curl *curl;
  CURL *handle;
  struct curl_slist *headers;
  blis_buffer answer;
  char problem[CURL_ERROR_SIZE];
};

static size_t on_data(char *data, size_t size, size_t count, void *ud) {
  blis_post *post = ud;
  if (post->answer.length + size * count > ANSWER_MAX) {
    return 0;
  }
  blis_buffer_bytes(&post->answer, data, size * count);
  return blis_buffer_status(&post->answer) == BLIS_OK ? size * count : 0;
}

static blis_status set_up(blis_post *post, const char *url, blis_error *error) {
  const blis__curl *curl = post->curl;
  post->handle = curl->easy_init();
  BLIS_TRY_NEW(post->handle, error);
  post->headers = curl->slist_append(NULL, "Content-Type: application/json");
  BLIS_TRY_NEW(post->headers, error);
  struct curl_slist *more = curl->slist_append(post->headers, "Expect:");
  BLIS_TRY_NEW(more, error);
  post->headers = more;
  curl->easy_setopt(post->handle, CURLOPT_URL, url);
  curl->easy_setopt(post->handle, CURLOPT_HTTPHEADER, post->headers);
  curl->easy_setopt(post->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl->easy_setopt(post->handle, CURLOPT_PROXY, "");
  curl->easy_setopt(post->handle, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(post->handle, CURLOPT_WRITEFUNCTION, on_data);
  curl->easy_setopt(post->handle, CURLOPT_WRITEDATA, post);
  curl->easy_setopt(post->handle, CURLOPT_ERRORBUFFER, post->problem);
  return BLIS_OK;
}

blis_status blis_post_new(const blis_alloc *alloc, const char *url, blis_post **made,
                          blis_error *error) {
  const blis__curl *curl;
  BLIS_TRY(blis__curl_load(&curl, error));
  blis_post *post = blis_alloc_zeroed(alloc, 1, sizeof *post);
  BLIS_TRY_NEW(post, error);
  post->alloc = *alloc;
  post->curl = curl;
  blis_buffer_init(&post->answer, alloc);
  blis_status status = set_up(post, url, error);
  if (status != BLIS_OK) {
    blis_post_free(post);
    return status;
  }
  *made = post;
  return BLIS_OK;
}

void blis_post_free(blis_post *post) {
  if (post == NULL) {
    return;
  }
  if (post->handle != NULL) {
    post->curl->easy_cleanup(post->handle);
  }
  post->curl->slist_free_all(post->headers);
  blis_buffer_deinit(&post->answer);
  blis_alloc alloc = post->alloc;
  blis_alloc_free(&alloc, post, sizeof *post);
}

blis_status blis_post_ask(blis_post *post, blis_slice question, int64_t timeout_ms,
                          blis_slice *answer, blis_error *error) {
  const blis__curl *curl = post->curl;
  long status = 0;
  blis_buffer_clear(&post->answer);
  post->problem[0] = '\0';
  curl->easy_setopt(post->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question.length);
  curl->easy_setopt(post->handle, CURLOPT_POSTFIELDS, question.data);
  curl->easy_setopt(post->handle, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  CURLcode code = curl->easy_perform(post->handle);
  BLIS_TRY_MEM(blis_buffer_status(&post->answer), error);
  if (code != CURLE_OK) {
    return blis_fail(error, BLIS_ERR_IO, "it did not answer: %s",
                     post->problem[0] != '\0' ? post->problem : curl->easy_strerror(code));
  }
  curl->easy_getinfo(post->handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    int shown = post->answer.length < 100 ? (int)post->answer.length : 100;
    return blis_fail(error, BLIS_ERR_IO, "it answered with status %ld%s%.*s", status,
                     shown > 0 ? ": " : "", shown, blis_buffer_text(&post->answer));
  }
  *answer = blis_buffer_slice(&post->answer);
  return BLIS_OK;
}
