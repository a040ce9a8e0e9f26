/* test_open_input.c - what may be read, of each type of file. */
#include "base/format/open_input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/blis_open_XXXXXX";
static char place[200];

static const char *in_folder(const char *name) {
  snprintf(place, sizeof place, "%s/%s", folder, name);
  return place;
}

static void refuses(const char *path, blis_input_kind kind, const char *reason) {
  const char *problem = NULL;
  FILE *file = blis__open_input(path, kind, &problem);
  CHECK(file == NULL);
  CHECK_STR(problem, reason);
}

static void reads(const char *path, blis_input_kind kind, const char *expected) {
  const char *problem = NULL;
  FILE *file = blis__open_input(path, kind, &problem);
  CHECK(file != NULL);
  CHECK(problem == NULL);
  char text[64];
  size_t got = fread(text, 1, sizeof text - 1, file);
  text[got] = '\0';
  CHECK(!ferror(file));
  CHECK_STR(text, expected);
  fclose(file);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  fputs(text, file);
  fclose(file);
}

static void files_are_read(void) {
  write_text(in_folder("file"), "text");
  reads(in_folder("file"), BLIS_INPUT_TEXT, "text");
  reads(in_folder("file"), BLIS_INPUT_DATA, "text");
  reads("/dev/null", BLIS_INPUT_TEXT, "");
  reads("/dev/null", BLIS_INPUT_DATA, "");
}

static void long_texts_are_refused(void) {
  write_text(in_folder("long"), "");
  CHECK(truncate(place, BLIS_TEXT_FILE_MAX) == 0);
  const char *problem = NULL;
  FILE *file = blis__open_input(place, BLIS_INPUT_TEXT, &problem);
  CHECK(file != NULL);
  fclose(file);
  CHECK(truncate(place, BLIS_TEXT_FILE_MAX + 1) == 0);
  refuses(place, BLIS_INPUT_TEXT, "it has more than 1073741824 bytes, the limit here");
  file = blis__open_input(place, BLIS_INPUT_DATA, &problem);
  CHECK(file != NULL);
  fclose(file);
}

static void what_is_no_file_is_refused(void) {
  for (int kind = BLIS_INPUT_TEXT; kind <= BLIS_INPUT_DATA; kind++) {
    refuses(folder, (blis_input_kind)kind, "Is a directory");
    refuses(in_folder("nothing"), (blis_input_kind)kind, "No such file or directory");
    refuses("/dev/zero", (blis_input_kind)kind, "it is a device, expected a file");
  }
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder("socket"));
  CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
  refuses(in_folder("socket"), BLIS_INPUT_DATA, "it is a socket, expected a file");
  close(listener);
}

static void named_pipes_need_a_writer(void) {
  CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
  refuses(in_folder("pipe"), BLIS_INPUT_TEXT, "it is a named pipe, expected a file");
  refuses(in_folder("pipe"), BLIS_INPUT_DATA, "it is a named pipe to which no process writes");
  for (int is_late = 0; is_late <= 1; is_late++) {
    pid_t child = fork();
    if (child == 0) {
      int pipe_end = open(in_folder("pipe"), O_WRONLY);
      const struct timespec late = {.tv_nsec = 200000000L * is_late};
      (void)nanosleep(&late, NULL);
      _exit(write(pipe_end, "from a pipe", 11) == 11 ? 0 : 1);
    }
    reads(in_folder("pipe"), BLIS_INPUT_DATA, "from a pipe");
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

static void inherited_pipes_are_read(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(write(ends[1], "passed on", 9) == 9);
  close(ends[1]);
  char path[40];
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  reads(path, BLIS_INPUT_TEXT, "passed on");
  close(ends[0]);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  RUN(files_are_read);
  RUN(long_texts_are_refused);
  RUN(what_is_no_file_is_refused);
  RUN(named_pipes_need_a_writer);
  RUN(inherited_pipes_are_read);
  for (const char *const *name = (const char *const[]){"file", "long", "socket", "pipe", NULL};
       *name != NULL; name++) {
    (void)remove(in_folder(*name));
  }
  (void)rmdir(folder);
  return check_done();
}
