// i8, by hone VERSION.
// kernel for i8 on sm_90a
// stage c : gemm as cutlass  tile 128x128x128  cluster 1x1  schedule cooperative  store tma  stages 0  scheduler persistent  raster auto  swizzle 1
#include "dev.h"

#ifndef M
#define M 512
#endif
#ifndef N
#define N 512
#endif
#ifndef K
#define K 1024
#endif

HONE_ASSERT(M == 512, "lowered for M = 512");
HONE_ASSERT(N == 512, "lowered for N = 512");
HONE_ASSERT(K == 1024, "lowered for K = 1024");

#pragma hone scratch library_work u8[65536]
#pragma hone call cutlass math(i32) size(512, 512, 1024, 1) lhs(1024, 1, 0) rhs(1, 1024, 0) out(512, 1, 0) tile(128, 128, 128) cluster(1, 1) schedule(0) store(0) stages(0) scheduler(0) raster(0) swizzle(1) args(a, b, c, library_work)
// // A product by CUTLASS, as hone configured it. Compiled by nvcc for sm_90a.
// #include <cstdint>
//
// #include "cute/tensor.hpp"
// #include "cutlass/cutlass.h"
// #include "cutlass/epilogue/collective/collective_builder.hpp"
// #include "cutlass/gemm/collective/collective_builder.hpp"
// #include "cutlass/gemm/device/gemm_universal_adapter.h"
// #include "cutlass/gemm/kernel/gemm_universal.hpp"
//
// namespace {
//
// using A = int8_t;
// using B = A;
// using Sum = int32_t;
// using D = int32_t;
// using C = void;
// using LayoutA = cutlass::layout::RowMajor;
// using LayoutB = cutlass::layout::ColumnMajor;
// using LayoutD = cutlass::layout::RowMajor;
// constexpr int AlignA = 16, AlignB = 16, AlignC = 4, AlignD = 4;
// using Tile = cute::Shape<cute::Int<128>, cute::Int<128>, cute::Int<128>>;
// using Cluster = cute::Shape<cute::Int<1>, cute::Int<1>, cute::Int<1>>;
// using Schedule = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
// using StoreSchedule = cutlass::epilogue::TmaWarpSpecializedCooperative;
// using Scheduler = cutlass::gemm::PersistentScheduler;
//
// using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
//     cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
//     cutlass::epilogue::collective::EpilogueTileAuto, Sum, Sum, C, LayoutD, AlignC, D,
//     LayoutD, AlignD, StoreSchedule>::CollectiveOp;
// using Stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
//     sizeof(typename Epilogue::SharedStorage))>;
// using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
//     cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB,
//     AlignB, Sum, Tile, Cluster, Stages, Schedule>::CollectiveOp;
// using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>,
//                                                     Mainloop, Epilogue, Scheduler>;
// using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
//
// static_assert(Kernel::SharedStorageSize <= 232448, "shared memory");
//
// int number(int64_t x) {
//   return static_cast<int>(x);
// }
//
// typename Gemm::Arguments arguments(int64_t const *z, void *const *at) {
//   typename Kernel::StrideA a{};
//   cute::get<0>(a) = z[4];
//   cute::get<2>(a) = z[6];
//   typename Kernel::StrideB b{};
//   cute::get<0>(b) = z[8];
//   cute::get<2>(b) = z[9];
//   typename Kernel::StrideC c{};
//   cute::get<0>(c) = z[10];
//   cute::get<2>(c) = z[12];
//   typename Kernel::StrideD d{};
//   cute::get<0>(d) = z[10];
//   cute::get<2>(d) = z[12];
//   cutlass::KernelHardwareInfo card;
//   cudaGetDevice(&card.device_id);
//   card.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(card.device_id);
//   typename Gemm::Arguments g{
//       z[3] > 1 ? cutlass::gemm::GemmUniversalMode::kBatched
//                : cutlass::gemm::GemmUniversalMode::kGemm,
//       {number(z[0]), number(z[1]), number(z[2]), number(z[3])},
//       {static_cast<A const *>(at[0]), a, static_cast<B const *>(at[1]), b},
//       {{}, nullptr, c, static_cast<D *>(at[2]), d},
//       card};
//   g.epilogue.thread.alpha = 1;
//   g.epilogue.thread.beta = 0;
//   using Raster = decltype(g.scheduler.raster_order);
//   g.scheduler.max_swizzle_size = number(z[23]);
//   g.scheduler.raster_order = z[22] == 1   ? Raster::AlongM
//                              : z[22] == 2 ? Raster::AlongN
//                                           : Raster::Heuristic;
//   return g;
// }
//
// }  // namespace
//
// extern "C" __attribute__((visibility("default"))) int64_t hone_cutlass_work_bytes(
//     int64_t const *z) {
//   void *none[10] = {};
//   return static_cast<int64_t>(Gemm::get_workspace_size(arguments(z, none)));
// }
//
// extern "C" __attribute__((visibility("default"))) int hone_cutlass_issue(
//     int64_t const *z, void *const *at, cudaStream_t stream) {
//   Gemm gemm;
//   auto const g = arguments(z, at);
//   cutlass::Status s = Gemm::can_implement(g);
//   if (s == cutlass::Status::kSuccess)
//     s = gemm.initialize(g, at[3], stream);
//   if (s == cutlass::Status::kSuccess)
//     s = gemm.run(stream);
//   return static_cast<int>(s);
// }
