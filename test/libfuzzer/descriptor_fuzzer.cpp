// libFuzzer target: any descriptor is decoded, and what is legal has addresses inside of bounds.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emu/mma/instruction_descriptor.h"
#include "emu/mma/shared_descriptor.h"

namespace {

using namespace cohort::emu;

void demand(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void try_shared(const Decoded<SharedDescriptor>& d, uint64_t mn, uint64_t k) {
  for (const FieldFault& fault : d.faults) demand(!fault.wanted.empty(), "a fault without words");
  for (const Major major : {Major::k, Major::mn}) {
    // 256 rows or bytes, each step of 8 at most 2^18 away.
    demand(operand_address(d.value, major, mn % 512, k % 256) < uint64_t{1} << 26,
           "an address past every step");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  struct Input {
    uint64_t shared;
    uint32_t instruction;
    uint16_t mn;
    uint8_t k;
    uint8_t kind;
    uint8_t form;
  } in{};
  std::memcpy(&in, data, size < sizeof in ? size : sizeof in);
  try_shared(decode_tcgen05_descriptor(in.shared), in.mn, in.k);
  try_shared(decode_wgmma_descriptor(in.shared), in.mn, in.k);
  const MmaForm form{.kind = static_cast<MmaKind>(in.kind % 7),
                     .cta_group = static_cast<uint8_t>(1 + (in.form & 1)),
                     .ws = (in.form & 2) != 0,
                     .sparse = (in.form & 4) != 0,
                     .block = static_cast<uint8_t>((in.form & 8) != 0 ? 16 : 32),
                     .has_k96 = (in.form & 16) != 0};
  const auto d = decode_instruction(form, in.instruction);
  for (const FieldFault& fault : d.faults) demand(!fault.wanted.empty(), "a fault without words");
  if (d.is_legal()) {
    demand(d.value.m >= 32 && d.value.m <= 256 && d.value.n >= 8 && d.value.n <= 256,
           "a legal shape outside of all shapes");
  }
  return 0;
}
