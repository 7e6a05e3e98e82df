// worker-talk HONE: what a worker answers to documents that nobody of us would send. Each line of
// the input is one for `HONE _worker`, sent as a frame; each answer is printed as a line, and in
// the end how the worker ended.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/frame.h"

enum { WORKER = 3, PATIENCE_S = 120 };

static int start(const char *hone, int *fd) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return -1;
    int pid = fork();
    if (pid == 0) {
        close(pair[0]);
        dup2(pair[1], WORKER);
        execl(hone, hone, "_worker", (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    *fd = pair[0];
    return pid;
}

int main(int argc, char **argv) {
    int fd = -1, pid = argc == 2 ? start(argv[1], &fd) : -1, status = 0;
    char *line = NULL;
    size_t room = 0;
    if (pid < 0) {
        fprintf(stderr, "usage: worker-talk HONE\n");
        return 2;
    }
    struct error err = {0};
    json_t *answer;
    while (getline(&line, &room, stdin) > 0) {
        json_t *message = json_loads(line, JSON_DECODE_ANY, NULL);
        if (!message || !frame_write(fd, message, NULL, 0, &err))
            printf("not sent: %s\n", message ? err.text : "not JSON");
        json_decref(message);
    }
    shutdown(fd, SHUT_WR);
    while (frame_read(fd, (int64_t)PATIENCE_S * 1000000000, &answer, NULL, NULL, &err)) {
        char *text = json_dumps(answer, JSON_COMPACT);
        puts(text);
        free(text);
        json_decref(answer);
    }
    if (!frame_was_closed(&err))
        printf("no answer: %s\n", err.text);
    free(line);
    close(fd);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("killed by signal %d\n", WTERMSIG(status));
    else
        printf("ended with status %d\n", WEXITSTATUS(status));
    return WIFSIGNALED(status);
}
