// The C++ text of a product by CUTLASS: types, the visitor tree of the epilogue, the kernel that
// the collective builders put together, and two functions in C around it.
//
// The tree has one node that computes, over the sum and all that is loaded; what it computes is
// written out by element. Shared subexpressions stay shared that way, and no list of CUTLASS's own
// activations has to be matched.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "ir/cutlass.h"

// Functions that take no call: one in a kernel that multiplies by wgmma makes the assembler wait
// for every product (its advisory C7510), so there is neither sin nor pow.
const char *cutlass_spelling(enum op op) {
    static const char *const spellings[OP_COUNT] = {
        [OP_NEG] = "-A",
        [OP_ABS] = "fabsf(A)",
        [OP_EXP] = "expf(A)",
        [OP_EXP2] = "exp2f(A)",
        [OP_EXPM1] = "expm1f(A)",
        [OP_LOG] = "logf(A)",
        [OP_LOG2] = "log2f(A)",
        [OP_LOG1P] = "log1pf(A)",
        [OP_SQRT] = "sqrtf(A)",
        [OP_RSQRT] = "rsqrtf(A)",
        [OP_TANH] = "tanhf(A)",
        [OP_ERF] = "erff(A)",
        [OP_ADD] = "A + B",
        [OP_SUB] = "A - B",
        [OP_MUL] = "A * B",
        [OP_DIV] = "A / B",
        [OP_FLOOR] = "floorf(A)",
        [OP_CEIL] = "ceilf(A)",
        [OP_ROUND] = "rintf(A)",
        [OP_TRUNC] = "truncf(A)",
        [OP_MAX] = "A > B || A != A ? A : B",
        [OP_MIN] = "A < B || A != A ? A : B",
        [OP_LT] = "A < B ? 1.0f : 0.0f",
        [OP_LE] = "A <= B ? 1.0f : 0.0f",
        [OP_EQ] = "A == B ? 1.0f : 0.0f",
        [OP_NE] = "A != B ? 1.0f : 0.0f",
        [OP_AND] = "A != 0.0f && B != 0.0f ? 1.0f : 0.0f",
        [OP_OR] = "A != 0.0f || B != 0.0f ? 1.0f : 0.0f",
        [OP_NOT] = "A == 0.0f ? 1.0f : 0.0f",
        [OP_WHERE] = "A != 0.0f ? B : C",
    };
    return spellings[op];
}

struct writer {
    struct str out;
    const struct call *call;
    const int64_t *z;
    const enum dtype *types;
    int loads[CALL_LOADS_MAX];  // steps
    int n_loads;
    int source;  // which of them is the matrix that CUTLASS calls C; -1: none
};

static const char *type_text(enum dtype t) {
    switch (t) {
    case DTYPE_F16:
        return "cutlass::half_t";
    case DTYPE_BF16:
        return "cutlass::bfloat16_t";
    case DTYPE_F8E4M3:
        return "cutlass::float_e4m3_t";
    case DTYPE_F8E5M2:
        return "cutlass::float_e5m2_t";
    case DTYPE_I8:
        return "int8_t";
    case DTYPE_I32:
        return "int32_t";
    default:
        return "float";
    }
}

static void line(struct writer *w, const char *text) {
    str_puts(&w->out, text);
    str_puts(&w->out, "\n");
}

static void find_loads(struct writer *w) {
    w->source = -1;
    for (int i = 0; i < w->call->epilogue.n_steps; i++) {
        const struct epilogue_step *s = &w->call->epilogue.steps[i];
        if (s->kind != EPILOGUE_LOAD)
            continue;
        if (w->source < 0 && s->stride[0] > 0 && s->stride[1] > 0)
            w->source = w->n_loads;
        w->loads[w->n_loads++] = i;
    }
}

static const struct epilogue_step *load_of(const struct writer *w, int i) {
    return &w->call->epilogue.steps[w->loads[i]];
}

static void begin(struct writer *w) {
    line(w, "// A product by CUTLASS, as hone configured it. Compiled by nvcc for sm_90a.");
    line(w, "#include <cstdint>\n");
    line(w, "#include \"cute/tensor.hpp\"");
    line(w, "#include \"cutlass/cutlass.h\"");
    line(w, "#include \"cutlass/epilogue/collective/collective_builder.hpp\"");
    if (w->call->epilogue.n_steps > 0)
        line(w,
             "#include \"cutlass/epilogue/fusion/sm90_visitor_compute_tma_warpspecialized.hpp\"");
    line(w, "#include \"cutlass/gemm/collective/collective_builder.hpp\"");
    line(w, "#include \"cutlass/gemm/device/gemm_universal_adapter.h\"");
    line(w, "#include \"cutlass/gemm/kernel/gemm_universal.hpp\"\n");
    line(w, "namespace {\n");
}

static void shape(struct writer *w, const char *name, int64_t a, int64_t b, int64_t c) {
    str_printf(&w->out,
               "using %s = cute::Shape<cute::Int<%lld>, cute::Int<%lld>, cute::Int<%lld>>;\n", name,
               (long long)a, (long long)b, (long long)c);
}

static void types(struct writer *w) {
    static const char *const schedules[] = {"KernelTmaWarpSpecializedCooperative",
                                            "KernelTmaWarpSpecializedPingpong",
                                            "KernelTmaWarpSpecializedCooperativeFP8FastAccum",
                                            "KernelTmaWarpSpecializedPingpongFP8FastAccum"};
    const int64_t *z = w->z;
    enum dtype in = w->types[CALL_LHS], out = w->types[CALL_OUT];
    bool is_cooperative = z[CUTLASS_SCHEDULE] % 2 == SCHEDULE_COOPERATIVE;
    str_printf(&w->out, "using A = %s;\nusing B = A;\nusing Sum = %s;\nusing D = %s;\n",
               type_text(in), in == DTYPE_I8 ? "int32_t" : "float", type_text(out));
    str_printf(&w->out, "using C = %s;\n",
               w->source < 0 ? "void" : type_text(w->types[load_of(w, w->source)->arg[0]]));
    str_printf(&w->out, "using LayoutA = cutlass::layout::%s;\n",
               cutlass_is_along_k(w->call, CALL_LHS) ? "RowMajor" : "ColumnMajor");
    str_printf(&w->out, "using LayoutB = cutlass::layout::%s;\n",
               cutlass_is_along_k(w->call, CALL_RHS) ? "ColumnMajor" : "RowMajor");
    line(w, "using LayoutD = cutlass::layout::RowMajor;");
    str_printf(&w->out, "constexpr int AlignA = %d, AlignB = %d, AlignC = %d, AlignD = %d;\n",
               16 / (int)dtype_size(in, 1), 16 / (int)dtype_size(in, 1),
               w->source < 0 ? 16 / (int)dtype_size(out, 1)
                             : 16 / (int)dtype_size(w->types[load_of(w, w->source)->arg[0]], 1),
               z[CUTLASS_STORE] == STORE_DIRECT ? 1 : 16 / (int)dtype_size(out, 1));
    shape(w, "Tile", z[CUTLASS_TILE], z[CUTLASS_TILE + 1], z[CUTLASS_TILE + 2]);
    shape(w, "Cluster", z[CUTLASS_CLUSTER], z[CUTLASS_CLUSTER + 1], 1);
    str_printf(&w->out, "using Schedule = cutlass::gemm::%s;\n", schedules[z[CUTLASS_SCHEDULE]]);
    str_printf(&w->out, "using StoreSchedule = cutlass::epilogue::%s;\n",
               z[CUTLASS_STORE] == STORE_DIRECT ? "NoSmemWarpSpecialized"
               : is_cooperative                 ? "TmaWarpSpecializedCooperative"
                                                : "TmaWarpSpecialized");
    str_printf(&w->out, "using Scheduler = cutlass::gemm::%s;\n\n",
               z[CUTLASS_SCHEDULER] == SCHEDULER_STREAM_K ? "StreamKScheduler"
                                                          : "PersistentScheduler");
}

// ---- the epilogue

static void number(struct writer *w, float x) {
    if (isnan(x))
        str_puts(&w->out, "__builtin_nanf(\"\")");
    else if (isinf(x))
        str_printf(&w->out, "%s__builtin_inff()", x < 0 ? "-" : "");
    else
        str_printf(&w->out, "%af", (double)x);
}

static void expression(struct writer *w, const struct epilogue_step *s) {
    for (const char *c = cutlass_spelling(s->op); *c; c++)
        if (*c >= 'A' && *c <= 'C')
            str_printf(&w->out, "v%d", s->arg[*c - 'A']);
        else
            str_append(&w->out, c, 1);
}

static void step(struct writer *w, int i) {
    const struct epilogue_step *s = &w->call->epilogue.steps[i];
    if (s->kind == EPILOGUE_LOAD)
        return;  // a parameter
    str_printf(&w->out, "    float v%d = ", i + 1);
    if (s->kind == EPILOGUE_NUMBER)
        number(w, s->number);
    else if (s->kind == EPILOGUE_ROUND)
        str_printf(&w->out, "static_cast<float>(static_cast<%s>(v%d))", type_text(s->type),
                   s->arg[0]);
    else
        expression(w, s);
    str_puts(&w->out, ";\n");
}

static void parameters(struct writer *w, const char *before, const char *behind) {
    str_printf(&w->out, "%sv0%s", before, behind);
    for (int i = 0; i < w->n_loads; i++)
        str_printf(&w->out, ", %sv%d%s", before, w->loads[i] + 1, behind);
}

static void by_element(struct writer *w) {
    line(w, "// What becomes of one sum.");
    line(w, "template <class T>\nstruct ByElement {");
    str_puts(&w->out, "  CUTLASS_HOST_DEVICE static float at(");
    parameters(w, "float ", "");
    line(w, ") {");
    for (int i = 0; i < w->call->epilogue.n_steps; i++)
        step(w, i);
    str_printf(&w->out, "    return v%d;\n  }\n", w->call->epilogue.n_steps);
    line(w, "};\n");
    line(w, "template <int n>\nstruct ByElement<cutlass::Array<float, n>> {");
    line(w, "  using V = cutlass::Array<float, n>;");
    str_puts(&w->out, "  CUTLASS_HOST_DEVICE V operator()(");
    parameters(w, "V const &", "");
    line(w, ") const {\n    V out;\n    CUTLASS_PRAGMA_UNROLL\n    for (int i = 0; i < n; i++)");
    str_puts(&w->out, "      out[i] = ByElement<float>::at(");
    parameters(w, "", "[i]");
    line(w, ");\n    return out;\n  }\n};\n");
}

static void leaf(struct writer *w, int i) {
    const struct epilogue_step *s = load_of(w, i);
    const char *type = type_text(w->types[s->arg[0]]);
    str_printf(&w->out, "using Leaf%d = fusion::", i);
    if (i == w->source)
        str_puts(&w->out, "Sm90SrcFetch<C>;\n");
    else if (s->stride[0] && s->stride[1])
        str_printf(&w->out,
                   "Sm90AuxLoad<0, void, %s, cute::Stride<int64_t, cute::Int<1>, int64_t>, void, "
                   "void, %d, false>;\n",
                   type, 16 / (int)dtype_size(w->types[s->arg[0]], 1));
    else if (s->stride[0] || s->stride[1])
        str_printf(&w->out,
                   "Sm90%sBroadcast<0, Tile, %s, float, cute::Stride<cute::Int<%lld>, "
                   "cute::Int<%lld>, int64_t>, %d, false>;\n",
                   s->stride[0] ? "Col" : "Row", type, (long long)s->stride[0],
                   (long long)s->stride[1], 16 / (int)dtype_size(w->types[s->arg[0]], 1));
    else
        str_printf(&w->out,
                   "Sm90ScalarBroadcast<%s, cute::Stride<cute::Int<0>, cute::Int<0>, int64_t>>;\n",
                   type);
}

static void tree(struct writer *w) {
    if (w->call->epilogue.n_steps == 0)
        return;
    line(w, "namespace fusion = cutlass::epilogue::fusion;\n");
    by_element(w);
    for (int i = 0; i < w->n_loads; i++)
        leaf(w, i);
    str_puts(&w->out, "using Tree = fusion::Sm90EVT<\n    fusion::Sm90Compute<ByElement, D, float, "
                      "cutlass::FloatRoundStyle::round_to_nearest>,\n    fusion::Sm90AccFetch");
    for (int i = 0; i < w->n_loads; i++)
        str_printf(&w->out, ", Leaf%d", i);
    line(w, ">;\n");
}

// ---- the kernel

static void kernel(struct writer *w) {
    int stages = (int)w->z[CUTLASS_STAGES];
    line(w,
         "using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<\n"
         "    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,\n"
         "    cutlass::epilogue::collective::EpilogueTileAuto, Sum, Sum, C, LayoutD, AlignC, D,");
    line(w, w->call->epilogue.n_steps > 0
                ? "    LayoutD, AlignD, StoreSchedule, Tree>::CollectiveOp;"
                : "    LayoutD, AlignD, StoreSchedule>::CollectiveOp;");
    if (stages)
        str_printf(&w->out, "using Stages = cutlass::gemm::collective::StageCount<%d>;\n", stages);
    else
        line(w,
             "using Stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(\n"
             "    sizeof(typename Epilogue::SharedStorage))>;");
    line(
        w,
        "using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<\n"
        "    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB,\n"
        "    AlignB, Sum, Tile, Cluster, Stages, Schedule>::CollectiveOp;");
    line(w, "using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>,\n"
            "                                                    Mainloop, Epilogue, Scheduler>;");
    line(w, "using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;\n");
    str_printf(&w->out, "static_assert(Kernel::SharedStorageSize <= %lld, \"shared memory\");\n\n",
               (long long)(stages ? cutlass_shared_bytes(w->call, w->types, stages) : 227 << 10));
}

// Where the strides of a load are among the numbers.
static int stride_at(int load, int place) {
    return CUTLASS_NUMBERS + 3 * load + place;
}

static void stride(struct writer *w, const char *type, const char *name, int place, int lead,
                   int batch) {
    str_printf(&w->out,
               "  typename Kernel::%s %s{};\n  cute::get<%d>(%s) = z[%d];\n  cute::get<2>(%s) = "
               "z[%d];\n",
               type, name, place, name, lead, name, batch);
}

static void leaf_arguments(struct writer *w, int i) {
    const struct epilogue_step *s = load_of(w, i);
    const char *type = type_text(w->types[s->arg[0]]);
    if (i == w->source) {
        str_puts(&w->out, "      {},\n");
        return;
    }
    if (!s->stride[0] && !s->stride[1]) {
        str_printf(&w->out, "      {{}, {static_cast<%s const *>(at[%d])}, {{{}, {}, z[%d]}}},\n",
                   type, s->arg[0], stride_at(i, 2));
        return;
    }
    str_printf(&w->out, "      {static_cast<%s const *>(at[%d]), %s(0), {", type, s->arg[0], type);
    if (s->stride[0] && s->stride[1])
        str_printf(&w->out, "z[%d]", stride_at(i, 0));
    else
        str_puts(&w->out, "{}");
    str_printf(&w->out, ", {}, z[%d]}},\n", stride_at(i, 2));
}

static void epilogue_arguments(struct writer *w) {
    if (w->call->epilogue.n_steps == 0) {
        line(w, "  g.epilogue.thread.alpha = 1;\n  g.epilogue.thread.beta = 0;");
        return;
    }
    line(w, "  g.epilogue.thread = {\n      {},");
    for (int i = 0; i < w->n_loads; i++)
        leaf_arguments(w, i);
    line(w, "      {}};");
}

static void arguments(struct writer *w) {
    bool has_source = w->source >= 0;
    bool lhs_along_k = cutlass_is_along_k(w->call, CALL_LHS);
    bool rhs_along_k = cutlass_is_along_k(w->call, CALL_RHS);
    line(w, "int number(int64_t x) {\n  return static_cast<int>(x);\n}\n");
    line(w, "typename Gemm::Arguments arguments(int64_t const *z, void *const *at) {");
    stride(w, "StrideA", "a", lhs_along_k ? 0 : 1, GEMM_LHS + !lhs_along_k, GEMM_LHS + 2);
    stride(w, "StrideB", "b", rhs_along_k ? 0 : 1, GEMM_RHS + rhs_along_k, GEMM_RHS + 2);
    stride(w, "StrideC", "c", 0, has_source ? stride_at(w->source, 0) : GEMM_OUT,
           has_source ? stride_at(w->source, 2) : GEMM_OUT + 2);
    stride(w, "StrideD", "d", 0, GEMM_OUT, GEMM_OUT + 2);
    line(w, "  cutlass::KernelHardwareInfo card;\n"
            "  cudaGetDevice(&card.device_id);\n"
            "  card.sm_count = "
            "cutlass::KernelHardwareInfo::query_device_multiprocessor_count(card.device_id);");
    str_printf(&w->out,
               "  typename Gemm::Arguments g{\n      z[%d] > 1 ? cutlass::gemm::GemmUniversalMode::"
               "kBatched\n               : cutlass::gemm::GemmUniversalMode::kGemm,\n"
               "      {number(z[%d]), number(z[%d]), number(z[%d]), number(z[%d])},\n",
               GEMM_BATCH, GEMM_M, GEMM_N, GEMM_K, GEMM_BATCH);
    line(w, "      {static_cast<A const *>(at[0]), a, static_cast<B const *>(at[1]), b},");
    if (has_source)
        str_printf(&w->out,
                   "      {{}, static_cast<C const *>(at[%d]), c, static_cast<D *>(at[2]), d},\n",
                   load_of(w, w->source)->arg[0]);
    else
        line(w, "      {{}, nullptr, c, static_cast<D *>(at[2]), d},");
    line(w, "      card};");
    epilogue_arguments(w);
    line(w, "  using Raster = decltype(g.scheduler.raster_order);");
    str_printf(&w->out,
               "  g.scheduler.max_swizzle_size = number(z[%d]);\n"
               "  g.scheduler.raster_order = z[%d] == %d   ? Raster::AlongM\n"
               "                             : z[%d] == %d ? Raster::AlongN\n"
               "                                          : Raster::Heuristic;\n",
               CUTLASS_SWIZZLE, CUTLASS_RASTER, RASTER_ALONG_M, CUTLASS_RASTER, RASTER_ALONG_N);
    line(w, "  return g;\n}\n\n}  // namespace\n");
}

static void functions(struct writer *w) {
    line(w, "extern \"C\" __attribute__((visibility(\"default\"))) int64_t "
            "hone_cutlass_work_bytes(\n    int64_t const *z) {\n"
            "  void *none[10] = {};\n"
            "  return static_cast<int64_t>(Gemm::get_workspace_size(arguments(z, none)));\n}\n");
    line(w, "extern \"C\" __attribute__((visibility(\"default\"))) int hone_cutlass_issue(\n"
            "    int64_t const *z, void *const *at, cudaStream_t stream) {\n"
            "  Gemm gemm;\n"
            "  auto const g = arguments(z, at);\n"
            "  cutlass::Status s = Gemm::can_implement(g);\n"
            "  if (s == cutlass::Status::kSuccess)\n"
            "    s = gemm.initialize(g, at[3], stream);\n"
            "  if (s == cutlass::Status::kSuccess)\n"
            "    s = gemm.run(stream);\n"
            "  return static_cast<int>(s);\n}");
}

const char *cutlass_text(struct arena *a, const struct call *c, const enum dtype *buffer_types) {
    struct writer w = {.call = c, .z = c->number, .types = buffer_types};
    find_loads(&w);
    begin(&w);
    types(&w);
    tree(&w);
    kernel(&w);
    arguments(&w);
    functions(&w);
    return str_take(a, &w.out);
}
