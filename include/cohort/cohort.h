// Everything a user of graphs needs. numerics.h, compare.h, safetensors.h and dlpack.h stand apart.
#pragma once

#include <cohort/execute.h>
#include <cohort/graph.h>
#include <cohort/json.h>
#include <cohort/ops.h>
#include <cohort/plan.h>
#include <cohort/status.h>
#include <cohort/tensor.h>
#include <cohort/types.h>
