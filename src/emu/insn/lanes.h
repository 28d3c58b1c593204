// Handlers made from a function of one lane. Included by isa_*.cpp only: everything here is
// compiled for the level of the file that includes it.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "emu/insn/access.h"
#include "emu/insn/record.h"

namespace cohort::emu::COHORT_ISA {

/// Lane l of a register, as type T. Types below 32 bits stand in the low bits of 32.
template <class T>
inline T get(const void* base, int l) {
  if constexpr (sizeof(T) < 4) {
    uint32_t v = 0;
    __builtin_memcpy(&v, static_cast<const uint8_t*>(base) + ptrdiff_t{4} * l, 4);
    return static_cast<T>(v);
  } else {
    T v;
    __builtin_memcpy(&v, static_cast<const uint8_t*>(base) + static_cast<ptrdiff_t>(sizeof(T)) * l,
                     sizeof(T));
    return v;
  }
}

template <class T>
inline void put(void* base, int l, T value) {
  if constexpr (sizeof(T) < 4) {
    const uint32_t v = static_cast<std::make_unsigned_t<T>>(value);
    __builtin_memcpy(static_cast<uint8_t*>(base) + ptrdiff_t{4} * l, &v, 4);
  } else {
    __builtin_memcpy(static_cast<uint8_t*>(base) + static_cast<ptrdiff_t>(sizeof(T)) * l, &value,
                     sizeof(T));
  }
}

template <class T>
inline constexpr int kSlotWords = sizeof(T) < 4 ? 1 : static_cast<int>(sizeof(T)) / 4;

/// Copies the lanes of the mask from one register to another.
template <int kWords>
inline void blend(uint32_t* d, const uint32_t* from, uint32_t lanes) {
  if constexpr (kWords == 1) {
    COHORT_LANES d[l] = (lanes >> l & 1) != 0 ? from[l] : d[l];
  } else {
    COHORT_LANES {
      uint64_t a = 0;
      uint64_t b = 0;
      __builtin_memcpy(&a, d + ptrdiff_t{2} * l, 8);
      __builtin_memcpy(&b, from + ptrdiff_t{2} * l, 8);
      a = (lanes >> l & 1) != 0 ? b : a;
      __builtin_memcpy(d + ptrdiff_t{2} * l, &a, 8);
    }
  }
}

/// F(A, B, C) of each lane: D.
template <class F, class D, class... S>
struct Lanewise {
  template <size_t... I>
  static inline void compute(uint32_t* d, const uint32_t* const* s, std::index_sequence<I...>) {
    COHORT_LANES put<D>(d, l, static_cast<D>(F{}(get<S>(s[I], l)...)));
  }
  // Not inlined, so that there is one vectorised loop for both handlers.
  static __attribute__((noinline)) void loop(uint32_t* d, const uint32_t* a, const uint32_t* b,
                                             const uint32_t* c) {
    const uint32_t* const s[] = {a, b, c};
    compute(d, s, std::index_sequence_for<S...>{});
  }
  static inline const uint32_t* source(const Warp& w, uint32_t o, size_t which) {
    return sizeof...(S) > which ? w.word(o) : nullptr;
  }
  static Next all(Warp& w, const Insn& i, uint32_t) {
    loop(w.word(i.d), source(w, i.a, 0), source(w, i.b, 1), source(w, i.c, 2));
    return Next::go;
  }
  static Next some(Warp& w, const Insn& i, uint32_t lanes) {
    alignas(64) uint32_t t[32 * kSlotWords<D>];
    loop(t, source(w, i.a, 0), source(w, i.b, 1), source(w, i.c, 2));
    blend<kSlotWords<D>>(w.word(i.d), t, lanes);
    return Next::go;
  }
  static Next one(Warp& w, const Insn& i, uint32_t lanes) {
    const int l = std::countr_zero(lanes);
    const uint32_t* const s[] = {source(w, i.a, 0), source(w, i.b, 1), source(w, i.c, 2)};
    [&]<size_t... I>(std::index_sequence<I...>) {
      put<D>(w.word(i.d), l, static_cast<D>(F{}(get<S>(s[I], l)...)));
    }
    (std::index_sequence_for<S...>{});
    return Next::go;
  }
};

/// Gives the instruction the handlers of a function without captures: f(S...) -> D.
template <class D, class... S, class F>
void lanewise(Build& b, F) {
  b.set(Lanewise<F, D, S...>::all, Lanewise<F, D, S...>::some, Lanewise<F, D, S...>::one);
}

/// The same, lane by lane: for functions that no compiler vectorises.
template <class F, class D, class... S>
struct Scalar {
  static Next run(Warp& w, const Insn& i, uint32_t lanes) {
    const uint32_t* const s[] = {Lanewise<F, D, S...>::source(w, i.a, 0),
                                 Lanewise<F, D, S...>::source(w, i.b, 1),
                                 Lanewise<F, D, S...>::source(w, i.c, 2)};
    uint32_t* d = w.word(i.d);
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const int l = std::countr_zero(left);
      [&]<size_t... I>(std::index_sequence<I...>) {
        put<D>(d, l, static_cast<D>(F{}(get<S>(s[I], l)...)));
      }
      (std::index_sequence_for<S...>{});
    }
    return Next::go;
  }
};
template <class D, class... S, class F>
void scalar(Build& b, F) {
  b.set(Scalar<F, D, S...>::run);
}

/// A bit a lane: F(A, B).
template <class F, class S>
struct Compare {
  static __attribute__((noinline)) uint32_t loop(const uint32_t* a, const uint32_t* b) {
    uint32_t bits = 0;
    for (int l = 0; l < 32; ++l) bits |= F{}(get<S>(a, l), get<S>(b, l)) ? 1u << l : 0;
    return bits;
  }
};

/// Source operands 1, 2, ... of the type, into a, b, c.
inline void sources(Build& b, Ty t, int count) {
  b.insn.a = b.src(1, t);
  if (count > 1) b.insn.b = b.src(2, t);
  if (count > 2) b.insn.c = b.src(3, t);
}

}  // namespace cohort::emu::COHORT_ISA
