# Programs of the tests and the benchmarks: fakes, checkers, drivers of single parts.
# A driver for tests of what drivers do wrong; found through CUDA_HOME.
$(BUILD)/fake/lib64/%.so.1: tests/fake/%.c $(wildcard tests/fake/*.h src/base/rng.*) $(RUNTIME)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -O2 -ffp-contract=off -Isrc -Isrc/ir -shared -fPIC -w -o $@ $< -lm -ldl

# Libraries that are called (`library`), with the functions that hone asks for.
$(BUILD)/fake/lib64/libopenblas.so.0 $(BUILD)/fake/lib64/../wrong/libopenblas.so.0: tests/fake/libraries/libopenblas.c
$(BUILD)/fake/lib64/libcublasLt.so.13: tests/fake/libraries/libcublasLt.c
$(BUILD)/fake/lib64/libcudnn.so.9: tests/fake/libraries/libcudnn.c
$(addprefix $(BUILD)/fake/lib64/,libopenblas.so.0 libcublasLt.so.13 libcudnn.so.9 ../wrong/libopenblas.so.0): tests/fake/libraries/fake_library.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -D_GNU_SOURCE -O2 -shared -fPIC -w -DIS_WRONG=$(if $(findstring wrong,$@),1,0) -o $@ $(filter %.c,$^) -ldl

$(BUILD)/tests/unit/test_gpu.o $(BUILD)/tests/unit/test_gpu_oracle.o: override CFLAGS += -DHONE_FAKE_CUDA='"$(abspath $(BUILD))/fake"'

# Checks documents against docs/schema, for the command-line tests.
$(BUILD)/validate: tests/tools/validate.c $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -l:libjansson.a

# A model's server that misbehaves on purpose.
$(BUILD)/llm-server: tests/tools/llm_server.c $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -l:libjansson.a

# Write runs of a GPU into a store, where there is none; the interpreter's results, for comparison
# with NumPy and PyTorch; the agreement of a GPU's expected outputs with the host's.
$(BUILD)/oracle-check: $(BUILD)/tests/unit/gpu_agreement.o
$(BUILD)/gpu-run $(BUILD)/reference $(BUILD)/oracle-check $(BUILD)/worker-talk: $(LIB) $(BUILD)/config $(wildcard tests/tools/*.c)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) -DHONE_VERSION='"$(VERSION)"' $(LDFLAGS) -o $@ \
	    tests/tools/$(subst -,_,$(@F)).c $(filter %.o,$^) $(LDLIBS)

# Judges kernels with faults put into them on purpose.
$(BUILD)/mutants: tests/mutants/mutants.c tests/mutants/mutate.c tests/mutants/mutate.h $(LIB) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) -iquote tests/mutants $(LDFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(LDLIBS)

# For `make bench`: the interpreter against a plain loop; estimates of a speed-up on kept samples. For
# bench/gpu_static.sh and bench/kernelbench.sh: what NVRTC makes of emitted kernels.
$(BUILD)/peer-interpret $(BUILD)/estimators $(BUILD)/store-times $(BUILD)/gpu-static $(BUILD)/block-facts: $(BUILD)/%: $(wildcard bench/*.c) $(LIB) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) -o $@ bench/$(subst -,_,$*).c $(LIB) $(LDLIBS)

# Runs and times emitted kernels on a GPU, for work on the families.
$(BUILD)/kernel-bench: tests/gpu/kernel_bench.c $(LIB) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
