// The ops of a graph, one aggregate each. `fields` lists the members; JSON both ways, checks, keys
// and docs are driven by that list. docs/ops/ has a page per op.
#pragma once

#include <cohort/ops/activation.h>
#include <cohort/ops/combine.h>
#include <cohort/ops/epilogue.h>
#include <cohort/ops/pointwise.h>
#include <cohort/ops/product.h>
#include <cohort/ops/quantize.h>
