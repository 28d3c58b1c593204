// ld and st: every state space, up to 256 bits a lane, weak and strong.
//
// Insn: a, imm, flags, window: the address. count and list: registers of the elements; bytes: of
// one element. mode: bytes of a register. scope, order.
#include <type_traits>

#include "emu/insn/access.h"
#include "emu/insn/memory.h"
#include "emu/insn/record.h"

namespace cohort::emu::COHORT_ISA {

namespace memory_family {
namespace {

// What a register of type R holds of an element: signed types extend their sign.
template <class M, class R>
R widened(M m) {
  if constexpr (std::is_same_v<M, R>) {
    return m;
  } else if constexpr (std::is_signed_v<M>) {
    return static_cast<R>(int64_t{m});
  } else {
    return static_cast<R>(m);
  }
}

// An element of type M in memory, in a register of type R.
template <class M, class R>
void load_element(const Reach& t, uint32_t lanes, uint64_t at, uint32_t* d) {
  const uint8_t* host = t.region.host + at;
  if (lanes == ~0u) {
    for (int l = 0; l < 32; ++l) {
      M m{};
      __builtin_memcpy(&m, host + t.offset[l], sizeof m);
      const R r = widened<M, R>(m);
      __builtin_memcpy(reinterpret_cast<uint8_t*>(d) + sizeof(R) * static_cast<size_t>(l), &r,
                       sizeof r);
    }
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    M m{};
    __builtin_memcpy(&m, host + t.offset[l], sizeof m);
    const R r = widened<M, R>(m);
    __builtin_memcpy(reinterpret_cast<uint8_t*>(d) + sizeof(R) * static_cast<size_t>(l), &r,
                     sizeof r);
  }
}

template <class M, class R>
Next load(Warp& w, const Insn& i, uint32_t lanes) {
  const bool ok = for_each_region(w, i, lanes, static_cast<uint32_t>(sizeof(M)) * i.count,
                                  Kind::read, [&](const Reach& t) {
                                    for (uint32_t e = 0; e < i.count; ++e) {
                                      const uint32_t d = w.kernel->extra[i.list + e];
                                      if (d != kNoOperand)
                                        load_element<M, R>(t, t.lanes, e * sizeof(M), w.word(d));
                                    }
                                    acquire_words(w, i, t);
                                  });
  return ok ? Next::go : Next::stop;
}

template <class M, class R>
void store_element(const Reach& t, uint32_t lanes, uint64_t at, const uint32_t* s) {
  uint8_t* host = t.region.host + at;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    // The low bytes of a register come first.
    __builtin_memcpy(host + t.offset[l],
                     reinterpret_cast<const uint8_t*>(s) + sizeof(R) * static_cast<size_t>(l),
                     sizeof(M));
  }
}

template <class M, class R>
Next store(Warp& w, const Insn& i, uint32_t lanes) {
  ++w.machine->effects;
  const bool ok = for_each_region(
      w, i, lanes, static_cast<uint32_t>(sizeof(M)) * i.count, Kind::write, [&](const Reach& t) {
        release_words(w, i, t, false);
        for (uint32_t e = 0; e < i.count; ++e) {
          store_element<M, R>(t, t.lanes, e * sizeof(M), w.word(w.kernel->extra[i.list + e]));
        }
      });
  return ok ? Next::go : Next::stop;
}

struct Wide {  // 128 bits
  uint64_t low;
  uint64_t high;
};

template <class M>
Handler load_for(uint32_t width) {
  if (width == 8) return load<M, uint64_t>;
  if constexpr (sizeof(M) <= 4) return load<M, uint32_t>;
  return nullptr;
}

Handler find_load(uint32_t bytes, bool is_signed, uint32_t width) {
  switch (bytes) {
    case 1:
      return is_signed ? load_for<int8_t>(width) : load_for<uint8_t>(width);
    case 2:
      return is_signed ? load_for<int16_t>(width) : load_for<uint16_t>(width);
    case 4:
      return is_signed ? load_for<int32_t>(width) : load_for<uint32_t>(width);
    case 8:
      return load_for<uint64_t>(width);
    default:
      return width == 16 ? load<Wide, Wide> : nullptr;
  }
}

template <class M>
Handler store_for(uint32_t width) {
  if (width == 8) return store<M, uint64_t>;
  if constexpr (sizeof(M) <= 4) return store<M, uint32_t>;
  return nullptr;
}

Handler find_store(uint32_t bytes, uint32_t width) {
  switch (bytes) {
    case 1:
      return store_for<uint8_t>(width);
    case 2:
      return store_for<uint16_t>(width);
    case 4:
      return store_for<uint32_t>(width);
    case 8:
      return store_for<uint64_t>(width);
    default:
      return width == 16 ? store<Wide, Wide> : nullptr;
  }
}

bool is_signed(Ty t) { return t == Ty::s8 || t == Ty::s16 || t == Ty::s32 || t == Ty::s64; }

void make_load(Build& b) {
  const AccessForm f = access_form(b, 1, 0);
  const Handler h = find_load(f.bytes, is_signed(b.type()), f.width);
  if (h == nullptr) b.refuse("a register that cannot hold the type");
  b.set(h);
}

void make_store(Build& b) {
  const AccessForm f = access_form(b, 0, 1);
  const Handler h = find_store(f.bytes, f.width);
  if (h == nullptr) b.refuse("a register that cannot hold the type");
  b.set(h);
}

#define SPACES \
  "[.{global,shared,shared::cta,shared::cluster,local,const,param,param::entry,param::func}]"
#define L1 \
  "[.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}]"
#define L2                                                                \
  "[.{L2::evict_normal,L2::evict_first,L2::evict_last}][.L2::cache_hint]" \
  "[.{L2::64B,L2::128B,L2::256B}]"
#define TYPE "[.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64}"
#define SCOPE ".{cta,cluster,gpu,sys}"

constexpr Record kRecords[] = {
    {"ld[.weak]" SPACES "[.{ca,cg,cs,lu,cv}][.nc]" L1 L2 TYPE, "d, [a][, cache-policy]", make_load},
    {"ld.volatile" SPACES "[.{L2::64B,L2::128B,L2::256B}]" TYPE, "d, [a]", make_load},
    {"ld.{relaxed,acquire}" SCOPE SPACES L1 L2 TYPE, "d, [a][, cache-policy]", make_load},
    {"ld.mmio.{relaxed,acquire}.sys[.global]" TYPE, "d, [a]", make_load},
    {"ldu[.global]" TYPE, "d, [a]", make_load},
    {"st[.weak]" SPACES "[.{wb,cg,cs,wt}]" L1
     "[.{L2::evict_normal,L2::evict_first,L2::evict_last}][.L2::cache_hint]" TYPE,
     "[a], b[, cache-policy]", make_store},
    {"st.volatile" SPACES TYPE, "[a], b", make_store},
    {"st.{relaxed,release}" SCOPE SPACES L1
     "[.{L2::evict_normal,L2::evict_first,L2::evict_last}][.L2::cache_hint]" TYPE,
     "[a], b[, cache-policy]", make_store},
    {"st.mmio.{relaxed,release}.sys[.global]" TYPE, "[a], b", make_store},
};

}  // namespace
}  // namespace memory_family

extern const Family kMemory;
const Family kMemory = {"Loads and stores", memory_family::kRecords,
                        static_cast<int>(std::size(memory_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
