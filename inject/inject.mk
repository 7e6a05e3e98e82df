# The library that `hone profile` puts into programs. The binary carries it (profile/inject_bytes.c).
$(BUILD)/inject.so: $(wildcard inject/*) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARN) $(WERROR) -fPIC -fvisibility=hidden -shared -o $@ \
	    $(sort $(wildcard inject/*.c)) -ldl -lpthread -lm
$(BUILD)/src/profile/inject_bytes.o: $(BUILD)/inject.so
$(BUILD)/src/profile/inject_bytes.o: override CFLAGS += -DHONE_INJECT='"$(abspath $(BUILD))/inject.so"'

# For its tests: a CUPTI that is not there, and a program that uses the fake driver. Neither is built
# with sanitizers: they are loaded into programs that have none.
$(BUILD)/fake/lib64/libcupti.so.13: tests/fake/cupti/libcupti.c $(wildcard tests/fake/*.h inject/*.h)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -O2 -shared -fPIC -w -Wl,-soname,$(@F) -o $@ $< -lpthread
$(BUILD)/cuda-program: tests/tools/cuda_program.c $(FAKE)
	$(call say,LINK)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARN) -o $@ $< -ldl
