// ldmatrix, stmatrix, movmatrix: matrices between rows of shared memory and fragments.
//
// Insn: a, imm, flags, window: the addresses of rows. list, count: registers. mode: a MatrixForm.
// order is free here: how many bits of a byte the source of ldmatrix holds.
#include <cstring>
#include <iterator>

#include "emu/insn/access.h"
#include "emu/insn/families.h"
#include "emu/insn/memory.h"
#include "emu/mma/fragment.h"

namespace cohort::emu {

namespace matrix_family {
namespace {

constexpr uint32_t kRowBytes = 16;
using Rows = uint8_t[32][kRowBytes];  // Of each lane that gives an address.

bool whole_warp(Warp& w, const Insn& i, uint32_t lanes) {
  if (lanes == ~0u) return true;
  w.machine->report(w, i, ~lanes, FaultCode::misuse);
  return false;
}

uint32_t address_lanes(const Insn& i) {
  const auto form = static_cast<MatrixForm>(i.mode);
  const uint32_t rows = i.count / matrix_registers(form) * matrix_rows(form);
  return rows == 32 ? ~0u : (1u << rows) - 1;
}

// Elements of 6 or 4 bits stand close together, and padding behind them.
void widen(uint8_t* row, uint32_t bits) {
  uint8_t wide[kRowBytes] = {};
  for (uint32_t e = 0; e < kRowBytes; ++e) {
    const uint32_t at = e * bits;
    const uint32_t two = row[at / 8] | uint32_t{row[at / 8 + 1]} << 8;
    wide[e] = static_cast<uint8_t>(two >> (at % 8) & ((1u << bits) - 1));
  }
  std::memcpy(row, wide, kRowBytes);
}

// The row and the byte of it that is byte `k` of register `r` of a thread.
uint8_t& byte_of(Rows& rows, const Insn& i, uint32_t thread, uint32_t r, uint32_t k) {
  const auto form = static_cast<MatrixForm>(i.mode);
  const Place p = matrix_byte(form, thread, r % matrix_registers(form), k);
  return rows[r / matrix_registers(form) * matrix_rows(form) + p.row][p.column];
}

Next load(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes)) return Next::stop;
  Rows rows;
  const bool ok =
      for_each_region(w, i, address_lanes(i), kRowBytes, Kind::read, [&](const Reach& t) {
        for (uint32_t l = 0; l < 32; ++l) {
          if ((t.lanes >> l & 1) == 0) continue;
          std::memcpy(rows[l], t.region.host + t.offset[l], kRowBytes);
          if (i.order != 8) widen(rows[l], i.order);
        }
      });
  if (!ok) return Next::stop;
  for (uint32_t r = 0; r < i.count; ++r) {
    const uint32_t d = w.kernel->extra[i.list + r];
    if (d == kNoOperand) continue;
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t word = 0;
      for (uint32_t k = 0; k < 4; ++k) word |= uint32_t{byte_of(rows, i, l, r, k)} << (8 * k);
      w.word(d)[l] = word;
    }
  }
  return Next::go;
}

Next store(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes)) return Next::stop;
  ++w.machine->effects;
  Rows rows;
  for (uint32_t r = 0; r < i.count; ++r) {
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t word = w.word(w.kernel->extra[i.list + r])[l];
      for (uint32_t k = 0; k < 4; ++k) {
        byte_of(rows, i, l, r, k) = static_cast<uint8_t>(word >> (8 * k));
      }
    }
  }
  const bool ok =
      for_each_region(w, i, address_lanes(i), kRowBytes, Kind::write, [&](const Reach& t) {
        for (uint32_t l = 0; l < 32; ++l) {
          if ((t.lanes >> l & 1) == 0) continue;
          std::memcpy(t.region.host + t.offset[l], rows[l], kRowBytes);
        }
      });
  return ok ? Next::go : Next::stop;
}

void make(Build& b, int address, int value, MatrixForm form) {
  const int count = b.has("x4") ? 4 : b.has("x2") ? 2 : 1;
  const int registers = count * static_cast<int>(matrix_registers(form));
  if (b.parts(value) != registers) b.refuse("a vector of another length");
  uint32_t words[8] = {};
  for (int j = 0; j < registers; ++j) {
    words[j] = value == 0 ? b.part_dst(value, j, 4) : b.part_src(value, j, Ty::b32);
  }
  b.address(address);
  take_space(b);
  b.insn.list = b.extra(words, registers);
  b.insn.count = static_cast<uint16_t>(registers);
  b.insn.mode = static_cast<uint8_t>(form);
  b.insn.order = b.has("b6x16_p32") ? 6 : b.has("b4x16_p64") ? 4 : 8;
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.set(value == 0 ? load : store);
}
void make_load(Build& b) {
  make(b, 1, 0,
       b.has("m16n16")  ? MatrixForm::load8
       : b.has("trans") ? MatrixForm::columns
                        : MatrixForm::rows);
}
void make_store(Build& b) {
  make(b, 0, 1,
       b.has("m16n8")   ? MatrixForm::store8
       : b.has("trans") ? MatrixForm::columns
                        : MatrixForm::rows);
}

Next transpose(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes)) return Next::stop;
  uint16_t m[64];
  for (size_t l = 0; l < 32; ++l) {
    const uint32_t word = w.word(i.a)[l];
    m[2 * l] = static_cast<uint16_t>(word);
    m[2 * l + 1] = static_cast<uint16_t>(word >> 16);
  }
  for (size_t l = 0; l < 32; ++l) {
    const size_t low = 16 * (l % 4) + l / 4;
    w.word(i.d)[l] = m[low] | uint32_t{m[low + 8]} << 16;
  }
  return Next::go;
}
void make_transpose(Build& b) {
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, Ty::b32);
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.set(transpose);
}

#define SHARED "[.{shared,shared::cta}]"

constexpr Record kRecords[] = {
    {"ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans]" SHARED ".b16", "d, [a]", make_load},
    {"ldmatrix.sync.aligned.m16n16.{x1,x2}.trans" SHARED ".b8", "d, [a]", make_load},
    {"ldmatrix.sync.aligned.m8n16.{x1,x2,x4}" SHARED ".b8x16.{b6x16_p32,b4x16_p64}", "d, [a]",
     make_load},
    {"ldmatrix.sync.aligned.m16n16.{x1,x2}.trans" SHARED ".b8x16.{b6x16_p32,b4x16_p64}", "d, [a]",
     make_load},
    {"stmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans]" SHARED ".b16", "[a], b", make_store},
    {"stmatrix.sync.aligned.m16n8.{x1,x2,x4}.trans" SHARED ".b8", "[a], b", make_store},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "d, a", make_transpose},
};

}  // namespace
}  // namespace matrix_family

const Family kMatrix = {"Matrices in registers", matrix_family::kRecords,
                        static_cast<int>(std::size(matrix_family::kRecords))};

}  // namespace cohort::emu
