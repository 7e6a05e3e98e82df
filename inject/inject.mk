# The library that `hone profile` puts into programs. The binary carries it (profile/inject_bytes.c).
$(BUILD)/inject.so: $(wildcard inject/*) $(BUILD)/config
	gcc -std=c17 -D_GNU_SOURCE -O2 $(WARN) $(WERROR) -fPIC -fvisibility=hidden -shared -o $@ \
	    $(sort $(wildcard inject/*.c)) -ldl -lpthread -lm
$(BUILD)/src/profile/inject_bytes.o: $(BUILD)/inject.so
$(BUILD)/src/profile/inject_bytes.o: override CFLAGS += -DHONE_INJECT='"$(abspath $(BUILD))/inject.so"'

# For its tests: a CUPTI that is not there, and a program that uses the fake driver. Neither is built
# with sanitizers: they are loaded into programs that have none.
$(BUILD)/fake/lib64/libcupti.so.13: tests/fake/cupti/libcupti.c $(wildcard tests/fake/*.h inject/*.h)
	@mkdir -p $(@D)
	gcc -O2 -shared -fPIC -w -Wl,-soname,$(@F) -o $@ $< -lpthread
# The fake driver again, under the name that programs know it by. NVRTC asks for that name, too, and
# does not survive what it finds, so the judge's fake has none.
$(BUILD)/fake/program/libcuda.so.1: $(BUILD)/fake/lib64/libcuda.so.1 $(BUILD)/fake/lib64/libcupti.so.13
	@mkdir -p $(@D)
	$(CC) -O2 -ffp-contract=off -Isrc -Isrc/ir -shared -fPIC -w -Wl,-soname,$(@F) -o $@ \
	    tests/fake/libcuda.c -lm -ldl
	ln -sf ../lib64/libcupti.so.13 $(@D)/libcupti.so.13
$(BUILD)/cuda-program: tests/tools/cuda_program.c $(BUILD)/fake/program/libcuda.so.1
	gcc -std=c17 -D_GNU_SOURCE -O2 $(WARN) -o $@ $< -ldl
