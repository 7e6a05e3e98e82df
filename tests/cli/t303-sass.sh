#!/bin/sh
# Machine code listed: names by hone itself, operands where nvdisasm is.
. "$(dirname "$0")/lib.sh"
cubin=$ROOT/tests/fixtures/cubin/twins_90a.cubin
mkdir bin
# Names only: a disassembler that fails stands before any that a toolkit has.
no_disassembler() {
    printf '#!/bin/sh\nexit 1\n' >bin/nvdisasm
    chmod +x bin/nvdisasm
}
no_disassembler
list() {
    env PATH="$TMP/bin:/usr/bin:/bin" CUDA_HOME="$TMP" CUDA_PATH="$TMP" "$HONE" sass "$@"
}

expect_match 0 '^flight_sick: sm_90, 25 instructions, 10 registers; 1 loop, . marks the hot one$' \
    list --kernel flight_sick "$cubin"
also '^  . 00f0  LDG +4 bytes$'
also 'FADD +waits for LDG at 00f0$'
valid sass "$HONE" sass --json "$cubin"
expect_match 2 "there is no kernel 'none' in it" list --kernel none "$cubin"
expect_match 2 'this is no cubin' list "$ROOT/README.md"
expect_match 2 'no-such-file' list no-such-file

# What threads access, where they are not side by side; the lines of the source, which lies next to the cubin.
strides=$ROOT/tests/fixtures/cubin/strides_90a.cubin lines=$ROOT/tests/fixtures/cubin/lines_90a.cubin
expect_match 0 '  LDG  .* 4 bytes, threads 2048 apart' list --kernel rows "$strides"
also '  STG  .* 4 bytes$'
expect_match 0 '  LDS  .* 4 bytes, threads 128 apart' list --kernel tile_32 "$strides"
expect_match 0 '4 bytes, the same for a warp' list --kernel broadcast "$strides"
expect_match 0 '4 bytes, threads as far apart as the launch says' list --kernel columns "$strides"
expect_match 0 '^     11: a = a . 1.0f;$' list --kernel second "$lines"
cp "$lines" alone.cubin
expect_match 0 '^     11: $' list --kernel second alone.cubin
expect_match 0 '^second: ' list --kernel 'second(float const*, float*)' "$lines"

# A disassembler gives operands; one that fails is done without.
printf '#!/bin/sh\nprintf ".text.flight_sick:\\n /*00f0*/ LDG.E R3, desc[UR4][R2.64] ;\\n"\n' >bin/nvdisasm
expect_match 0 '00f0  LDG.E R3, desc.UR4..R2.64. +4 bytes$' list --kernel flight_sick "$cubin"
printf '#!/bin/sh\nprintf ".text.flight_sick:\\n\t//## File \\"a.cu\\", line 12 inlined at \\"b.cu\\", line 3\\n /*00f0*/ LDG.E R3 ;\\n"\n' >bin/nvdisasm
expect_match 0 '^     12: $' list --kernel flight_sick "$cubin"
expect_match 2 '[-]-stalls needs a node of a run' list --stalls "$cubin"
no_disassembler
expect_match 0 '^names only: nvdisasm is not here' list --kernel flight_sick "$cubin"
