// A runner that a candidate has taken over can send the judge any bytes: frame_read() must
// take them all, whole messages in a row, and never crash, leak or wait.
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd[2];
    if (size > 100000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return 0;
    // Fits the socket's buffer, so nobody has to read while we write.
    ssize_t sent = write(fd[0], data, size);
    close(fd[0]);
    struct error err = {0};
    json_t *message;
    while (sent >= 0 && frame_read(fd[1], 0, &message, NULL, NULL, &err))
        json_decref(message);
    close(fd[1]);
    return 0;
}
