// The operand rules of products.
#pragma once

#include <string_view>

#include "ir/infer.h"

namespace cohort::ops {

/// Checks that operands `a` and `b` can be multiplied: kinds of numbers, scale axes, formats.
/// Source of the pairs: PTX ISA, tcgen05.mma kinds (f16, tf32, f8f6f4, mxf8f6f4, mxf4nvf4).
void check_operand_pair(ir::Infer& infer, std::string_view a, std::string_view b);

/// The part of it that does not ask along which axis scales run.
void check_operand_kinds(ir::Infer& infer, std::string_view a, std::string_view b);

/// E-GROUPS unless the number of groups is a number: experts are counted when a graph is made.
/// Whether there are sound groups of such a number.
bool want_counted(ir::Infer& infer, std::string_view field);

/// E-GROUPS when column blocks, or ragged elements, that a node without groups made would be read
/// by group: of groups that begin elsewhere than at row 0 they have none.
void want_blocks_by_group(ir::Infer& infer, std::string_view field);

/// E-LAYOUT when the scales of an operand are placed by group; `wanted`: where they could be found.
void check_shifted(ir::Infer& infer, std::string_view field, std::string_view wanted);

}  // namespace cohort::ops
