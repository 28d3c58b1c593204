#include "emu/async/operand_fetch.h"

#include <algorithm>
#include <cstring>

namespace cohort::emu {

namespace {

constexpr uint32_t kChunk = 16;
constexpr uint32_t kWindow = 1u << 18;  // What a descriptor can say.

uint32_t bits_at(const uint8_t* bytes, uint32_t first, uint32_t count) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < count; ++i) {
    word |= (uint32_t{bytes[(first + i) / 8]} >> ((first + i) % 8) & 1) << i;
  }
  return word;
}

// The elements of a chunk of 16 bytes of K-major memory.
void unpack(const uint8_t* chunk, uint32_t pitch, MmaOperand operand, uint32_t* codes) {
  const uint32_t count = kChunk * 8 / pitch;
  const auto bits = static_cast<uint32_t>(bits_of(operand));
  for (uint32_t e = 0; e < count; ++e) {
    uint32_t code = 0;
    if (bits >= 8) {
      std::memcpy(&code, chunk + size_t{e} * (bits / 8), bits / 8);
    } else {
      // Without gaps; in the padded forms what is left of the 16 bytes is padding.
      code = bits_at(chunk, e * bits, bits);
    }
    codes[e] = code;
  }
}

class Fetch {
 public:
  Fetch(const PipeIssue& issue, const Cta& cta, const SharedOperand& o)
      : issue_(issue), cta_(cta), o_(o) {}

  bool run(uint32_t first, uint32_t count, Lines& out) {
    const bool ok = o_.major == Major::k ? by_row(first, count, out) : by_k(first, count, out);
    if (ok) access_shared(issue_, cta_, offsets_, kChunk);
    return ok;
  }

 private:
  // 16 bytes at an address of the window, or null after a fault.
  const uint8_t* chunk(uint64_t address) {
    const auto offset = static_cast<uint32_t>(address % kWindow);
    if (offset >= kSharedReserved && offset + kChunk <= cta_.shared.size()) {
      offsets_.push_back(offset);
      return cta_.shared.data() + offset;
    }
    Fault f;
    f.code = FaultCode::bounds;
    f.now = Machine::touch(*issue_.warp, *issue_.insn, 1u << issue_.lane);
    f.now.by.is_operation = true;
    f.now.by.agent = Agent::tensor_pipe;
    f.now.scope = Scope::weak;
    f.now.proxy = Proxy::async;
    f.has_place = true;
    f.space = Space::shared;
    f.block = cta_.index;
    f.offset = offset;
    f.bytes = kChunk;
    f.wanted = static_cast<int64_t>(cta_.shared.size());
    f.got = offset;
    issue_.warp->machine->report(f);
    issue_.warp->machine->stopped = true;
    return nullptr;
  }

  bool by_row(uint32_t first, uint32_t count, Lines& out) {
    const uint32_t pitch = element_pitch(o_.kind, o_.type);
    const uint32_t in_chunk = kChunk * 8 / pitch;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t* codes = out.codes.data() + size_t{first + i} * out.k;
      for (uint32_t k = 0; k < out.k; k += in_chunk) {
        const uint8_t* bytes =
            chunk(operand_address(o_.descriptor, Major::k, o_.from + i, uint64_t{k} * pitch / 8));
        if (bytes == nullptr) return false;
        uint32_t some[32] = {};
        unpack(bytes, pitch, o_.type, some);
        std::copy_n(some, std::min(in_chunk, out.k - k), codes + k);
      }
    }
    return true;
  }

  bool by_k(uint32_t first, uint32_t count, Lines& out) {
    const auto size = static_cast<uint32_t>(bits_of(o_.type)) / 8;
    for (uint32_t k = 0; k < out.k; ++k) {
      for (uint32_t at = 0; at < count * size; at += kChunk) {
        const uint8_t* bytes =
            chunk(operand_address(o_.descriptor, Major::mn, uint64_t{o_.from} * size + at, k));
        if (bytes == nullptr) return false;
        for (uint32_t i = 0; i < kChunk / size && at / size + i < count; ++i) {
          uint32_t code = 0;
          std::memcpy(&code, bytes + size_t{i} * size, size);
          out.codes[size_t{first + at / size + i} * out.k + k] = code;
        }
      }
    }
    return true;
  }

  const PipeIssue& issue_;
  const Cta& cta_;
  const SharedOperand& o_;
  std::vector<uint32_t> offsets_;
};

}  // namespace

uint32_t element_pitch(MmaKind kind, MmaOperand operand) {
  if (kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4) return 4;
  return std::max(8u, static_cast<uint32_t>(bits_of(operand)));
}

Element element_of(MmaOperand operand) {
  constexpr Element kElements[] = {Element::f16,  Element::bf16, Element::tf32, Element::e4m3,
                                   Element::e5m2, Element::e2m3, Element::e3m2, Element::e2m1};
  return kElements[static_cast<int>(operand)];
}

void negate(Lines& lines, MmaOperand operand) {
  const uint32_t sign = 1u << (bits_of(operand) - 1);
  for (uint32_t& code : lines.codes) code ^= sign;
}

bool fetch_lines(const PipeIssue& issue, const Cta& cta, const SharedOperand& operand,
                 uint32_t first, uint32_t count, Lines& out) {
  return Fetch(issue, cta, operand).run(first, count, out);
}

}  // namespace cohort::emu
