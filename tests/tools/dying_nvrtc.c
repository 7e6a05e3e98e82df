// Stands before the real NVRTC, which it is linked against, and dies in the middle of compiles: as
// often as the file "deaths" in $CUDA_HOME says, a digit, which is counted down. With an h there
// one compile never ends. The first compile of a process is the one by which it gets ready.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char *deaths;
static int n_compiles;

// Mapped now: later there are no files any more.
__attribute__((constructor)) static void map_deaths(void) {
    char path[1024];
    const char *home = getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/deaths", home ? home : ".");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    deaths = p == MAP_FAILED ? NULL : p;
    if (fd >= 0)
        close(fd);
}

int nvrtcCompileProgram(void *program, int n_options, const char *const *options) {
    int (*real)(void *, int, const char *const *) =
        (int (*)(void *, int, const char *const *))dlsym(RTLD_NEXT, "nvrtcCompileProgram");
    bool is_ready = n_compiles++ > 0;
    if (is_ready && deaths && *deaths == 'h') {
        *deaths = '0';
        for (;;)
            pause();
    }
    if (is_ready && deaths && *deaths > '0') {
        --*deaths;
        _exit(0);
    }
    return real(program, n_options, options);
}
