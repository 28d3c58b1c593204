// What the graphs made against the layer in f64, gradients against differences of its loss.
#pragma once

#include "host_memory.h"
#include "plain.h"

/// Compares the outputs of both graphs with the f64 layer, and prints how far they are off.
/// False when one is farther off than its roundings explain.
bool check(PlainLayer& layer, const sample::HostMemory& forward,
           const sample::HostMemory& backward);
