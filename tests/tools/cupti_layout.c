// Our declarations of CUPTI's structs (inject/cupti_types.h) against the vendor's headers, where
// these are installed: compiling this is the test.
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "../../inject/cupti_types.h"

#define SAME(ours, field, theirs, other) \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, other), #ours "." #field)
#define SIZED(ours, last, theirs_size) _Static_assert(SIZE_TO(ours, last) == (theirs_size), #ours)

SAME(struct cupti_kernel_record, registers, CUpti_ActivityKernel10, registersPerThread);
SAME(struct cupti_kernel_record, start, CUpti_ActivityKernel10, start);
SAME(struct cupti_kernel_record, end, CUpti_ActivityKernel10, end);
SAME(struct cupti_kernel_record, stream, CUpti_ActivityKernel10, streamId);
SAME(struct cupti_kernel_record, grid, CUpti_ActivityKernel10, gridX);
SAME(struct cupti_kernel_record, block, CUpti_ActivityKernel10, blockX);
SAME(struct cupti_kernel_record, static_shared, CUpti_ActivityKernel10, staticSharedMemory);
SAME(struct cupti_kernel_record, dynamic_shared, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME(struct cupti_kernel_record, local_per_thread, CUpti_ActivityKernel10, localMemoryPerThread);
SAME(struct cupti_kernel_record, name, CUpti_ActivityKernel10, name);
SAME(struct cupti_kernel_record, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME(struct cupti_copy_record, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(struct cupti_copy_record, from, CUpti_ActivityMemcpy6, srcKind);
SAME(struct cupti_copy_record, to, CUpti_ActivityMemcpy6, dstKind);
SAME(struct cupti_copy_record, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(struct cupti_copy_record, start, CUpti_ActivityMemcpy6, start);
SAME(struct cupti_copy_record, end, CUpti_ActivityMemcpy6, end);
SAME(struct cupti_set_record, bytes, CUpti_ActivityMemset4, bytes);
SAME(struct cupti_set_record, start, CUpti_ActivityMemset4, start);
SAME(struct cupti_set_record, end, CUpti_ActivityMemset4, end);

SAME(struct cupti_call_data, params, CUpti_CallbackData, functionParams);
SAME(struct cupti_call_data, symbol, CUpti_CallbackData, symbolName);
SAME(struct cupti_call_data, context, CUpti_CallbackData, context);
SAME(struct cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(struct cupti_module_data, cubin_size, CUpti_ModuleResourceData, cubinSize);
SAME(struct cupti_module_data, cubin, CUpti_ModuleResourceData, pCubin);
SAME(struct launch_config, stream, CUlaunchConfig, hStream);

SIZED(struct chip_name_params, name, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
SIZED(struct profiler_open_params, reserved, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
SIZED(struct range_enable_params, ranger, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
SIZED(struct range_params, ranger, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
SIZED(struct range_params, ranger, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
SIZED(struct range_stop_params, is_done, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
SIZED(struct range_decode_params, n_dropped, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
SIZED(struct range_data_size_params, data_size,
      CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
SIZED(struct range_data_open_params, data,
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
SIZED(struct range_data_info_params, n_ranges,
      CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
SIZED(struct range_config_params, level, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
SAME(struct range_config_params, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(struct range_config_params, max_ranges, CUpti_RangeProfiler_SetConfig_Params,
     maxRangesPerPass);
SAME(struct range_config_params, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);

_Static_assert(sizeof(struct sample_pc) == sizeof(CUpti_PCSamplingPCData), "sample_pc");
_Static_assert(sizeof(struct sample_data) == sizeof(CUpti_PCSamplingData), "sample_data");
_Static_assert(sizeof(struct sample_setting) == sizeof(CUpti_PCSamplingConfigurationInfo),
               "sample_setting");
SAME(struct sample_pc, function, CUpti_PCSamplingPCData, functionName);
SAME(struct sample_pc, reasons, CUpti_PCSamplingPCData, stallReason);
SAME(struct sample_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(struct sample_data, n_left, CUpti_PCSamplingData, remainingNumPcs);
SAME(struct sample_setting, value, CUpti_PCSamplingConfigurationInfo, attributeData);
SIZED(struct sample_params, context, CUpti_PCSamplingEnableParamsSize);
SIZED(struct sample_get_params, data, CUpti_PCSamplingGetDataParamsSize);
SIZED(struct sample_settings_params, settings, CUpti_PCSamplingConfigurationInfoParamsSize);
SIZED(struct sample_count_params, n, CUpti_PCSamplingGetNumStallReasonsParamsSize);
SIZED(struct sample_reasons_params, names, CUpti_PCSamplingGetStallReasonsParamsSize);
SIZED(struct source_line_params, dir, CUpti_GetSassToSourceCorrelationParamsSize);
SIZED(struct cubin_crc_params, crc, CUpti_GetCubinCrcParamsSize);
_Static_assert(LAUNCH_KERNEL == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
                   LAUNCH_EX == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx &&
                   LAUNCH_COOPERATIVE == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel &&
                   LAUNCH_GRAPH == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
               "numbers of calls");
#define NUMBERED(id, number, call) \
    _Static_assert(id == CUPTI_DRIVER_TRACE_CBID_##call, "numbers of allocations");
CUPTI_ALLOCATIONS(NUMBERED)
