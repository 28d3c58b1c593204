// Integer arithmetic and bits.
#include <bit>
#include <random>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

std::vector<In> numbers() {
  const uint64_t edges[] = {0,
                            1,
                            2,
                            31,
                            32,
                            33,
                            0x7F,
                            0x80,
                            0x7FFF,
                            0x8000,
                            0xFFFF,
                            0x7FFFFFFF,
                            0x80000000,
                            0xFFFFFFFF,
                            0x0123456789ABCDEF,
                            uint64_t{1} << 63,
                            UINT64_MAX};
  std::vector<In> in;
  for (const uint64_t a : edges) {
    for (const uint64_t b : edges) in.push_back({a, b, a * 3 + b});
  }
  std::mt19937_64 random(7);
  while (in.size() < 512) in.push_back({random(), random(), random()});
  return in;
}

template <class D, class F>
void expect_each(const std::string& code, const std::vector<std::string>& types, F f) {
  const std::vector<In> in = numbers();
  const std::vector<uint64_t> out = apply(code, types, in);
  ASSERT_EQ(out.size(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const auto want = static_cast<D>(f(in[i].a, in[i].b, in[i].c));
    ASSERT_EQ(static_cast<D>(out[i]), want)
        << code << " of " << in[i].a << ", " << in[i].b << ", " << in[i].c;
  }
}

using U = uint64_t;

TEST(Integer, AddsAndSubtractsModuloTheWidth) {
  expect_each<uint16_t>("add.u16 %d, %a, %b;", {"b16", "b16", "b16"},
                        [](U a, U b, U) { return a + b; });
  expect_each<uint32_t>("add.s32 %d, %a, %b;", {"b32", "b32", "b32"},
                        [](U a, U b, U) { return a + b; });
  expect_each<uint64_t>("add.u64 %d, %a, %b;", {"b64", "b64", "b64"},
                        [](U a, U b, U) { return a + b; });
  expect_each<uint64_t>("sub.s64 %d, %a, %b;", {"b64", "b64", "b64"},
                        [](U a, U b, U) { return a - b; });
  expect_each<uint32_t>("add.u16x2 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    return ((a + b) & 0xFFFF) | (((a >> 16) + (b >> 16)) << 16);
  });
}

TEST(Integer, Saturates) {
  const auto clamp = [](int64_t v) {
    return static_cast<uint32_t>(std::min<int64_t>(std::max<int64_t>(v, INT32_MIN), INT32_MAX));
  };
  expect_each<uint32_t>("add.sat.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [&](U a, U b, U) {
    return clamp(int64_t{static_cast<int32_t>(a)} + static_cast<int32_t>(b));
  });
  expect_each<uint32_t>("sub.sat.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [&](U a, U b, U) {
    return clamp(int64_t{static_cast<int32_t>(a)} - static_cast<int32_t>(b));
  });
}

TEST(Integer, MultipliesLowHighAndWide) {
  expect_each<uint32_t>("mul.lo.s32 %d, %a, %b;", {"b32", "b32", "b32"},
                        [](U a, U b, U) { return a * b; });
  expect_each<uint32_t>("mul.hi.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    return (int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b)) >> 32;
  });
  expect_each<uint16_t>("mul.hi.u16 %d, %a, %b;", {"b16", "b16", "b16"},
                        [](U a, U b, U) { return ((a & 0xFFFF) * (b & 0xFFFF)) >> 16; });
  expect_each<uint64_t>("mul.hi.u64 %d, %a, %b;", {"b64", "b64", "b64"}, [](U a, U b, U) {
    return static_cast<U>((static_cast<unsigned __int128>(a) * b) >> 64);
  });
  expect_each<uint64_t>("mul.wide.s32 %d, %a, %b;", {"b64", "b32", "b32"}, [](U a, U b, U) {
    return static_cast<U>(int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b));
  });
  expect_each<uint32_t>("mul.wide.u16 %d, %a, %b;", {"b32", "b16", "b16"},
                        [](U a, U b, U) { return (a & 0xFFFF) * (b & 0xFFFF); });
  expect_each<uint32_t>("mul24.lo.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    const auto x = static_cast<int32_t>(a << 8) >> 8;
    const auto y = static_cast<int32_t>(b << 8) >> 8;
    return static_cast<uint32_t>(int64_t{x} * y);
  });
}

TEST(Integer, MultipliesAndAdds) {
  expect_each<uint32_t>("mad.lo.s32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
                        [](U a, U b, U c) { return a * b + c; });
  expect_each<uint64_t>("mad.wide.u32 %d, %a, %b, %c;", {"b64", "b32", "b32", "b64"},
                        [](U a, U b, U c) { return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) + c; });
  expect_each<uint32_t>(
      "mad.hi.u32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
      [](U a, U b, U c) { return (((a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)) >> 32) + c; });
  expect_each<uint32_t>("sad.s32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, [](U a, U b, U c) {
    const int64_t x = static_cast<int32_t>(a);
    const int64_t y = static_cast<int32_t>(b);
    return static_cast<U>(x < y ? y - x : x - y) + c;
  });
}

TEST(Integer, DividesTowardsZero) {
  expect_each<int32_t>("div.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    const int64_t x = static_cast<int32_t>(a);
    const int64_t y = static_cast<int32_t>(b);
    return static_cast<int32_t>(y == 0 ? -1 : x / y);
  });
  expect_each<uint32_t>("rem.u32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    const auto x = static_cast<uint32_t>(a);
    const auto y = static_cast<uint32_t>(b);
    return y == 0 ? x : x % y;
  });
}

TEST(Integer, OrdersSignedAndUnsigned) {
  expect_each<int32_t>("min.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    return std::min(static_cast<int32_t>(a), static_cast<int32_t>(b));
  });
  expect_each<uint64_t>("max.u64 %d, %a, %b;", {"b64", "b64", "b64"},
                        [](U a, U b, U) { return std::max(a, b); });
  expect_each<uint32_t>("max.relu.s16x2 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    uint32_t r = 0;
    for (int k = 0; k < 32; k += 16) {
      const int m =
          std::max({int{static_cast<int16_t>(a >> k)}, int{static_cast<int16_t>(b >> k)}, 0});
      r |= static_cast<uint32_t>(m) << k;
    }
    return r;
  });
  expect_each<uint32_t>("abs.s32 %d, %a;", {"b32", "b32"}, [](U a, U, U) {
    const int64_t x = static_cast<int32_t>(a);
    return static_cast<uint32_t>(x < 0 ? -x : x);
  });
}

TEST(Integer, TakesDotProductsOfBytes) {
  expect_each<uint32_t>(
      "dp4a.s32.u32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, [](U a, U b, U c) {
        for (int k = 0; k < 32; k += 8) {
          c += static_cast<U>(int64_t{static_cast<int8_t>(a >> k)} * static_cast<uint8_t>(b >> k));
        }
        return c;
      });
}

TEST(Bits, CombineByTable) {
  expect_each<uint32_t>("lop3.b32 %d, %a, %b, %c, 0xE8;", {"b32", "b32", "b32", "b32"},
                        [](U a, U b, U c) { return (a & b) | (a & c) | (b & c); });
  expect_each<uint32_t>("lop3.b32 %d, %a, %b, %c, 0x96;", {"b32", "b32", "b32", "b32"},
                        [](U a, U b, U c) { return a ^ b ^ c; });
  expect_each<uint64_t>("not.b64 %d, %a;", {"b64", "b64"}, [](U a, U, U) { return ~a; });
}

TEST(Bits, ShiftsClampTheirAmount) {
  expect_each<uint32_t>("shl.b32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    const auto n = static_cast<uint32_t>(b);
    return n > 31 ? 0 : a << n;
  });
  expect_each<int32_t>("shr.s32 %d, %a, %b;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    return static_cast<int32_t>(a) >> std::min<uint32_t>(static_cast<uint32_t>(b), 31);
  });
  expect_each<uint64_t>("shr.u64 %d, %a, %b;", {"b64", "b64", "b32"}, [](U a, U b, U) {
    const auto n = static_cast<uint32_t>(b);
    return n > 63 ? 0 : a >> n;
  });
  expect_each<uint32_t>("shf.l.wrap.b32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
                        [](U a, U b, U c) {
                          const uint64_t v = b << 32 | (a & 0xFFFFFFFF);
                          return (v << (c & 31)) >> 32;
                        });
}

TEST(Bits, TakeAndPutFields) {
  expect_each<int32_t>("bfe.s32 %d, %a, 4, 9;", {"b32", "b32"}, [](U a, U, U) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << 19) >> 23;
  });
  expect_each<int32_t>("bfe.s32 %d, %a, 28, 9;", {"b32", "b32"},
                       [](U a, U, U) { return static_cast<int32_t>(a) >> 28; });
  expect_each<uint32_t>("bfi.b32 %d, %a, %b, 8, 5;", {"b32", "b32", "b32"},
                        [](U a, U b, U) { return (b & ~U{0x1F00}) | ((a & 0x1F) << 8); });
}

TEST(Bits, CountAndFind) {
  expect_each<uint32_t>("popc.b64 %d, %a;", {"b32", "b64"},
                        [](U a, U, U) { return std::popcount(a); });
  expect_each<uint32_t>("clz.b32 %d, %a;", {"b32", "b32"},
                        [](U a, U, U) { return std::countl_zero(static_cast<uint32_t>(a)); });
  expect_each<uint32_t>("bfind.u32 %d, %a;", {"b32", "b32"}, [](U a, U, U) {
    const auto x = static_cast<uint32_t>(a);
    return x == 0 ? 0xFFFFFFFF : static_cast<uint32_t>(31 - std::countl_zero(x));
  });
  expect_each<uint32_t>("brev.b32 %d, %a;", {"b32", "b32"}, [](U a, U, U) {
    uint32_t r = 0;
    for (int k = 0; k < 32; ++k) r |= static_cast<uint32_t>(a >> k & 1) << (31 - k);
    return r;
  });
}

TEST(Bits, Permute) {
  expect_each<uint32_t>("prmt.b32 %d, %a, %b, 0x7540;", {"b32", "b32", "b32"}, [](U a, U b, U) {
    return (a & 0xFF) | (b & 0xFF) << 8 | (b >> 8 & 0xFF) << 16 | (b >> 24 & 0xFF) << 24;
  });
  expect_each<uint32_t>("prmt.b32.f4e %d, %a, %b, 1;", {"b32", "b32", "b32"},
                        [](U a, U b, U) { return (a & 0xFFFFFFFF) >> 8 | b << 24; });
}

TEST(Bits, AnswerForOneLaneAsForAll) {
  // Each lane alone, then all lanes but one.
  const std::string code =
      "{\n.reg .pred %o;\n.reg .b32 %n;\nmov.u32 %n, %laneid;\nmov.b32 %d, 0;\n"
      "setp.eq.u32 %o, %n, 5;\n@%o add.u32 %d, %a, %b;\n@!%o sub.u32 %d, %a, %b;\n}\n";
  const std::vector<In> in = numbers();
  const std::vector<uint64_t> out = apply(code, {"b32", "b32", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const auto want = static_cast<uint32_t>(i % 32 == 5 ? in[i].a + in[i].b : in[i].a - in[i].b);
    ASSERT_EQ(static_cast<uint32_t>(out[i]), want) << i;
  }
}

}  // namespace
}  // namespace cohort::emu::test
