// The Makefile of an exported directory, for C and for CUDA.
//
// Objects are position-independent, so that one serves the archive and the shared library. Of that
// only the header's functions can be seen. The pkg-config file names the directory itself until
// `make install` has put the library elsewhere.
#include "base/arena.h"
#include "base/str.h"
#include "build/compile_cuda.h"
#include "ops/export_text.h"

// What both have: everything that does not compile. $(LINK) makes a program or a library.
static const char common_text[] =
    "all: check lib$(NAME).a lib$(NAME).so $(NAME).pc\n\n"
    "check: check.o $(DRAW) lib$(NAME).a\n"
    "\t$(LINK) -o $@ $^ -lm\n"
    "lib$(NAME).a: $(OBJECTS)\n"
    "\trm -f $@\n"
    "\t$(AR) rcs $@ $^\n"
    "lib$(NAME).so: $(OBJECTS)\n"
    "\t$(LINK) -shared -o $@ $^ -lm\n"
    "$(NAME).pc: Makefile\n"
    "\t@printf 'libdir=%s\\nincludedir=%s\\nName: %s\\nDescription: a kernel found by "
    "hone\\nVersion: %s\\n' \\\n"
    "\t    '$(LIBDIR)' '$(INCLUDEDIR)' '$(NAME)' '$(VERSION)' >$@\n"
    "\t@printf 'Cflags: -I$${includedir}\\nLibs: -L$${libdir} -Wl,-rpath,$${libdir} "
    "-l$(NAME)\\nLibs.private: $(PRIVATE)\\n' >>$@\n\n"
    "check.o: samples.h $(NAME).h hone_rng.h hone_inputs.h hone_elements.h\n"
    "$(NAME).o: $(NAME).h\n\n"
    "# The check, and Python's calls.\n"
    "test: all\n"
    "\t./check\n"
    "\tpython3 test_$(NAME).py\n\n"
    "PREFIX ?= /usr/local\n"
    "install: all\n"
    "\tmkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include\n"
    "\tcp lib$(NAME).a lib$(NAME).so $(DESTDIR)$(PREFIX)/lib/\n"
    "\tcp $(NAME).h $(DESTDIR)$(PREFIX)/include/\n"
    "\tsed -e 's|^libdir=.*|libdir=$(PREFIX)/lib|' -e "
    "'s|^includedir=.*|includedir=$(PREFIX)/include|' \\\n"
    "\t    $(NAME).pc >$(DESTDIR)$(PREFIX)/lib/pkgconfig/$(NAME).pc\n\n"
    "clean:\n"
    "\trm -rf *.o lib$(NAME).a lib$(NAME).so $(NAME).pc check __pycache__\n"
    ".PHONY: all test install clean\n";

static const char *c_makefile(struct arena *a, const struct export_view *e) {
    return arena_printf(
        a,
        "# make, then ./check. OPENMP= builds for one thread.\n"
        "NAME = %s\n"
        "VERSION = %s\n"
        "CC ?= cc\n"
        "CFLAGS ?= -O3 -march=native\n"
        "OPENMP ?= -fopenmp\n"
        "FLAGS = -std=gnu17 -fPIC -fno-math-errno -fno-trapping-math -Wno-unknown-pragmas\n"
        "LINK = $(CC) $(CFLAGS) $(OPENMP)\n"
        "OBJECTS = kernel.o %s$(NAME).o\n"
        "PRIVATE = $(OPENMP) -lm\n"
        "LIBDIR = $(CURDIR)\n"
        "INCLUDEDIR = $(CURDIR)\n\n"
        "%s"
        "%%.o: %%.c\n"
        "\t$(CC) $(FLAGS) $(CFLAGS) $(OPENMP) -c -o $@ $<\n"
        "%s",
        e->symbol, HONE_VERSION, export_streams(e) ? "kernel_any.o " : "", common_text,
        export_streams(e) ? "kernel_any.o: kernel.c\n" : "");
}

static const char *cuda_makefile(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    bool any = export_cuda_takes_any(e);
    str_printf(&out,
               "# make, then ./check. ARCH is what the kernel was searched for and verified on.\n"
               "NAME = %s\n"
               "VERSION = %s\n"
               "NVCC := $(or $(NVCC),$(shell command -v nvcc),/usr/local/cuda/bin/nvcc)\n"
               "ARCH = %s\n"
               "CFLAGS ?= -O2\n"
               "LINK = $(NVCC) -arch=$(ARCH)\n"
               "OBJECTS = kernel.o %s$(NAME).o\n"
               "DRAW = draw.o\n"
               "PRIVATE = -lcudart\n"
               "LIBDIR = $(CURDIR)\n"
               "INCLUDEDIR = $(CURDIR)\n"
               "FLAGS = ",
               e->symbol, HONE_VERSION, e->target->isa, any ? "kernel_any.o " : "");
    for (int i = 0; cuda_compile_flags[i]; i++)
        str_printf(&out, "%s ", cuda_compile_flags[i]);
    str_puts(&out, "-diag-suppress 161,177,1675 -Xcompiler -fPIC,-Wno-unknown-pragmas\n\n");
    str_puts(&out, common_text);
    str_printf(&out,
               "%%.o: %%.cu\n"
               "\t$(NVCC) -arch=$(ARCH) $(FLAGS) -c -o $@ $<\n"
               "%%.o: %%.c\n"
               "\t$(NVCC) $(CFLAGS) -Xcompiler -fPIC -c -o $@ $<\n"
               "# What is drawn is the same everywhere: nothing is contracted.\n"
               "draw.o: FLAGS := $(subst fmad=true,fmad=false,$(FLAGS))\n"
               "%s",
               any ? "kernel_any.o: kernel.cu\n" : "");
    return str_take(a, &out);
}

const char *export_makefile(struct arena *a, const struct export_view *e) {
    return e->target->is_gpu ? cuda_makefile(a, e) : c_makefile(a, e);
}
