// cvt against exact rational arithmetic, which this test makes itself: every finite value of these
// formats is an integer times a power of two, so neighbours of a value in a format are found by
// exact comparison of integers, and rounding needs nothing else.
#include <cmath>
#include <random>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

// A number as sign, integer and power of two; 128 bits hold every sum that is compared.
struct Exact {
  bool negative = false;
  unsigned __int128 m = 0;
  int e = 0;
};

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint32_t most;  // largest finite code
  bool has_inf;
  uint32_t nan;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
constexpr Format kF32{8, 23, 127, 0x7F7FFFFF, true, 0x7FFFFFFF};
constexpr Format kF16{5, 10, 15, 0x7BFF, true, 0x7FFF};
constexpr Format kBf16{8, 7, 127, 0x7F7F, true, 0x7FFF};
constexpr Format kE4m3{4, 3, 7, 0x7E, false, 0x7F};
constexpr Format kE5m2{5, 2, 15, 0x7B, true, 0x7F};
constexpr Format kE2m3{2, 3, 1, 0x1F, false, 0x1F};
constexpr Format kE3m2{3, 2, 3, 0x1F, false, 0x1F};
constexpr Format kE2m1{2, 1, 1, 0x7, false, 0x7};

Exact value_of(const Format& f, uint32_t code) {
  const uint32_t sign = 1u << (f.bits() - 1);
  const uint32_t magnitude = code & (sign - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint32_t fraction = magnitude & ((1u << f.mantissa_bits) - 1);
  Exact x;
  x.negative = (code & sign) != 0;
  x.m = exponent == 0 ? fraction : fraction + (1u << f.mantissa_bits);
  x.e = (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits;
  return x;
}

// Sign of |a| - |b| times 2^k, exactly.
int compare(const Exact& a, const Exact& b) {
  if (a.m == 0 || b.m == 0) return a.m == b.m ? 0 : a.m == 0 ? -1 : 1;
  const auto top = [](const Exact& x) {
    int bits = 0;
    for (unsigned __int128 m = x.m; m != 0; m >>= 1) ++bits;
    return bits + x.e;
  };
  if (top(a) != top(b)) return top(a) < top(b) ? -1 : 1;
  // Equal tops: the exponents differ by less than the lengths of the integers.
  const int low = std::min(a.e, b.e);
  const unsigned __int128 x = a.m << (a.e - low);
  const unsigned __int128 y = b.m << (b.e - low);
  return x == y ? 0 : x < y ? -1 : 1;
}

// The sum of two neighbours is twice their middle.
Exact middle(const Exact& a, const Exact& b) {
  const int low = std::min(a.e, b.e);
  return {false, (a.m << (a.e - low)) + (b.m << (b.e - low)), low - 1};
}

enum class Mode { nearest, zero, up, down };

// The code nearest to x: search among all codes of the format by exact comparison.
uint32_t rounded(const Format& f, const Exact& x, Mode mode, bool saturate) {
  const uint32_t sign = x.negative ? 1u << (f.bits() - 1) : 0;
  uint32_t low = 0;
  uint32_t high = f.most;
  if (compare(x, value_of(f, f.most)) >= 0) {
    low = f.most;
  } else {
    while (high - low > 1) {
      const uint32_t half = low + (high - low) / 2;
      (compare(value_of(f, half), x) <= 0 ? low : high) = half;
    }
  }
  if (compare(value_of(f, low), x) == 0) return sign | low;
  const uint32_t next = low + 1;  // beyond `most`: what the next value would be
  const int half = compare(x, middle(value_of(f, low), value_of(f, next)));
  bool away = false;
  if (mode == Mode::nearest) away = half > 0 || (half == 0 && (low & 1) != 0);
  if (mode == Mode::up) away = !x.negative;
  if (mode == Mode::down) away = x.negative;
  if (!away) return sign | low;
  if (next <= f.most) return sign | next;
  if (saturate) return sign | f.most;
  return sign | (f.has_inf ? f.most + 1 : f.nan);
}

bool is_finite(uint32_t f32) { return (f32 & 0x7F800000) != 0x7F800000; }

uint32_t want(const Format& f, uint32_t f32, Mode mode, bool saturate) {
  const uint32_t magnitude = f32 & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return f.nan;
  const uint32_t sign = f32 >> 31 != 0 ? 1u << (f.bits() - 1) : 0;
  if (magnitude == 0x7F800000) {
    return sign | (saturate ? f.most : f.has_inf ? f.most + 1 : f.nan);
  }
  return rounded(f, value_of(kF32, f32), mode, saturate);
}

// f32 bits: special values, values around every code of the format, and random ones.
std::vector<uint32_t> sources(const Format& f, size_t count) {
  std::vector<uint32_t> list = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                0xFFC00001, 1,          0x80000001, 0x7F7FFFFF, 0xFF7FFFFF};
  std::mt19937 random(5);
  while (list.size() < count) {
    if (random() % 4 == 0) {
      list.push_back(static_cast<uint32_t>(random()));
      continue;
    }
    // A code or the middle between two, and its neighbours.
    const uint32_t code = static_cast<uint32_t>(random()) % f.most;
    Exact x =
        random() % 2 == 0 ? value_of(f, code) : middle(value_of(f, code), value_of(f, code + 1));
    const double d = std::ldexp(static_cast<double>(x.m), x.e);
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(d));
    list.push_back((bits + static_cast<uint32_t>(random() % 3) - 1) ^
                   (static_cast<uint32_t>(random()) & 0x80000000));
  }
  return list;
}

void check_pair(const std::string& opcode, const Format& f, Mode mode, bool saturate,
                const std::string& type, int shift) {
  for (int round = 0; round < 4; ++round) {
    const std::vector<uint32_t> s = sources(f, 2048);
    std::vector<In> in;
    const size_t begin = static_cast<size_t>(round) * 500;
    for (size_t i = begin; i < begin + 500; ++i) in.push_back({s[i], s[s.size() - 1 - i], 0});
    std::string code = opcode + " %d, %a, %b;";
    if (type == "b8") {
      code = "{\n.reg .b8 %t;\n" + opcode + " %t, %a, %b;\nmov.b16 %d, {%t, 0};\n}\n";
    }
    const auto out = apply(code, {type == "b8" ? "b16" : type, "b32", "b32"}, in);
    for (size_t i = 0; i < in.size(); ++i) {
      const uint32_t high = want(f, static_cast<uint32_t>(in[i].a), mode, saturate);
      const uint32_t low = want(f, static_cast<uint32_t>(in[i].b), mode, saturate);
      ASSERT_EQ(out[i], high << shift | low)
          << opcode << " of " << std::hex << in[i].a << ", " << in[i].b;
    }
  }
}

TEST(Convert, PacksTwoF32) {
  check_pair("cvt.rn.bf16x2.f32", kBf16, Mode::nearest, false, "b32", 16);
  check_pair("cvt.rz.bf16x2.f32", kBf16, Mode::zero, false, "b32", 16);
  check_pair("cvt.rn.satfinite.bf16x2.f32", kBf16, Mode::nearest, true, "b32", 16);
  check_pair("cvt.rn.f16x2.f32", kF16, Mode::nearest, false, "b32", 16);
  check_pair("cvt.rz.f16x2.f32", kF16, Mode::zero, false, "b32", 16);
  check_pair("cvt.rn.satfinite.e4m3x2.f32", kE4m3, Mode::nearest, true, "b16", 8);
  check_pair("cvt.rn.satfinite.e5m2x2.f32", kE5m2, Mode::nearest, true, "b16", 8);
  check_pair("cvt.rn.satfinite.e2m3x2.f32", kE2m3, Mode::nearest, true, "b16", 8);
  check_pair("cvt.rn.satfinite.e3m2x2.f32", kE3m2, Mode::nearest, true, "b16", 8);
  check_pair("cvt.rn.satfinite.e2m1x2.f32", kE2m1, Mode::nearest, true, "b8", 4);
}

void check_one(const std::string& opcode, const Format& f, Mode mode) {
  std::vector<In> in;
  for (const uint32_t s : sources(f, 1000)) in.push_back({s, 0, 0});
  const auto out = apply(opcode + " %d, %a;", {"b16", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(out[i], want(f, static_cast<uint32_t>(in[i].a), mode, false))
        << opcode << " of " << std::hex << in[i].a;
  }
}

TEST(Convert, RoundsF32InEveryDirection) {
  check_one("cvt.rn.f16.f32", kF16, Mode::nearest);
  check_one("cvt.rz.f16.f32", kF16, Mode::zero);
  check_one("cvt.rp.f16.f32", kF16, Mode::up);
  check_one("cvt.rm.f16.f32", kF16, Mode::down);
  check_one("cvt.rn.bf16.f32", kBf16, Mode::nearest);
  check_one("cvt.rp.bf16.f32", kBf16, Mode::up);
}

TEST(Convert, UnpacksEveryCode) {
  const struct {
    const char* opcode;
    Format format;
    int codes;
    int shift;
    const char* type;
  } kCases[] = {{"cvt.rn.f16x2.e4m3x2", kE4m3, 256, 8, "b16"},
                {"cvt.rn.f16x2.e5m2x2", kE5m2, 256, 8, "b16"},
                {"cvt.rn.f16x2.e2m3x2", kE2m3, 64, 8, "b16"},
                {"cvt.rn.f16x2.e3m2x2", kE3m2, 64, 8, "b16"}};
  for (const auto& c : kCases) {
    std::vector<In> in;
    for (int k = 0; k < c.codes; ++k) {
      in.push_back({static_cast<uint64_t>(k << c.shift | (c.codes - 1 - k)), 0, 0});
    }
    const auto out = apply(std::string(c.opcode) + " %d, %a;", {"b32", c.type}, in);
    const auto half = [&](uint32_t code) -> uint32_t {
      const uint32_t sign = 1u << (c.format.bits() - 1);
      const uint32_t magnitude = code & (sign - 1);
      if (magnitude > c.format.most) {
        const bool inf = c.format.has_inf && magnitude == c.format.most + 1;
        return inf ? (code & sign) << (16 - c.format.bits()) | 0x7C00 : 0x7FFF;
      }
      return rounded(kF16, value_of(c.format, code), Mode::nearest, false);
    };
    for (int k = 0; k < c.codes; ++k) {
      const auto i = static_cast<size_t>(k);
      ASSERT_EQ(out[i],
                half(static_cast<uint32_t>(k)) << 16 | half(static_cast<uint32_t>(c.codes - 1 - k)))
          << c.opcode << " " << k;
    }
  }
}

TEST(Convert, MakesPowersOfTwo) {
  std::vector<In> in;
  for (const uint32_t s : sources(kBf16, 1000)) in.push_back({s, s ^ 0x00400001, 0});
  for (const bool up : {true, false}) {
    const auto out =
        apply(std::string("cvt.") + (up ? "rp" : "rz") + ".satfinite.ue8m0x2.f32 %d, %a, %b;",
              {"b16", "b32", "b32"}, in);
    const auto code = [&](uint64_t bits) -> uint32_t {
      const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits) & 0x7FFFFFFF);
      if (x != x) return 0xFF;
      uint32_t e = 0;
      while (e < 254 && std::ldexp(1.0, static_cast<int>(e + 1) - 127) <= x) ++e;
      const bool exact = std::ldexp(1.0, static_cast<int>(e) - 127) >= x;
      return up && !exact && e < 254 ? e + 1 : e;
    };
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], code(in[i].a) << 8 | code(in[i].b)) << std::hex << in[i].a;
    }
  }
}

TEST(Convert, IntegersToF32InEveryDirection) {
  std::vector<In> in;
  std::mt19937_64 random(3);
  for (int k = 0; k < 500; ++k) in.push_back({random() >> (random() % 64), 0, 0});
  in.push_back({UINT64_MAX, 0, 0});
  in.push_back({0, 0, 0});
  in.push_back({(uint64_t{1} << 63) | 1, 0, 0});
  const struct {
    const char* name;
    Mode mode;
  } kModes[] = {{"rn", Mode::nearest}, {"rz", Mode::zero}, {"rp", Mode::up}, {"rm", Mode::down}};
  for (const auto& m : kModes) {
    for (const char* type : {"u64", "s64", "u32", "s32"}) {
      const bool is_signed = type[0] == 's';
      const bool wide = type[1] == '6';
      const auto out = apply(std::string("cvt.") + m.name + ".f32." + type + " %d, %a;",
                             {"b32", wide ? "b64" : "b32"}, in);
      for (size_t i = 0; i < in.size(); ++i) {
        __int128 v = wide
                         ? (is_signed ? __int128{static_cast<int64_t>(in[i].a)} : __int128{in[i].a})
                         : (is_signed ? __int128{static_cast<int32_t>(in[i].a)}
                                      : __int128{static_cast<uint32_t>(in[i].a)});
        const Exact x{v < 0, static_cast<unsigned __int128>(v < 0 ? -v : v), 0};
        ASSERT_EQ(out[i], rounded(kF32, x, m.mode, false)) << m.name << type << " " << in[i].a;
      }
    }
  }
}

TEST(Convert, F32ToIntegersClampsAndRounds) {
  std::vector<In> in;
  for (const uint32_t s : sources(kF16, 900)) in.push_back({s, 0, 0});
  for (const float x : {0.5f, 1.5f, -0.5f, -1.5f, 2147483648.0f, -2147483904.0f, 4294967296.0f}) {
    in.push_back({std::bit_cast<uint32_t>(x), 0, 0});
  }
  const auto value = [](const In& i) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(i.a)));
  };
  const auto check = [&](const char* opcode, auto round, double least, double most) {
    const auto out = apply(std::string(opcode) + " %d, %a;", {"b32", "b32"}, in);
    for (size_t i = 0; i < in.size(); ++i) {
      const double x = value(in[i]);
      const double r = x != x ? 0 : std::min(std::max(round(x), least), most);
      ASSERT_EQ(static_cast<uint32_t>(out[i]), static_cast<uint32_t>(static_cast<int64_t>(r)))
          << opcode << " of " << x;
    }
  };
  check(
      "cvt.rzi.s32.f32", [](double x) { return std::trunc(x); }, INT32_MIN, INT32_MAX);
  check(
      "cvt.rni.s32.f32", [](double x) { return std::nearbyint(x); }, INT32_MIN, INT32_MAX);
  check(
      "cvt.rmi.s32.f32", [](double x) { return std::floor(x); }, INT32_MIN, INT32_MAX);
  check(
      "cvt.rpi.u32.f32", [](double x) { return std::ceil(x); }, 0, UINT32_MAX);
  check(
      "cvt.rzi.u8.f32", [](double x) { return std::trunc(x); }, 0, 255);
  check(
      "cvt.rzi.s16.f32", [](double x) { return std::trunc(x); }, -32768, 32767);
}

TEST(Convert, IntegersWidenNarrowAndSaturate) {
  std::vector<In> in;
  std::mt19937_64 random(9);
  for (int k = 0; k < 500; ++k) in.push_back({random(), 0, 0});
  const auto check = [&](const char* opcode, const char* to, const char* from, auto f) {
    const auto out = apply(std::string(opcode) + " %d, %a;", {to, from}, in);
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], f(in[i].a)) << opcode << in[i].a;
  };
  check("cvt.u64.u32", "b64", "b32", [](uint64_t a) { return a & 0xFFFFFFFF; });
  check("cvt.s64.s32", "b64", "b32",
        [](uint64_t a) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)}); });
  check("cvt.u32.u16", "b32", "b16", [](uint64_t a) { return a & 0xFFFF; });
  check("cvt.s32.s8", "b32", "b32",
        [](uint64_t a) { return uint64_t{static_cast<uint32_t>(int{static_cast<int8_t>(a)})}; });
  check("cvt.u16.u64", "b16", "b64", [](uint64_t a) { return a & 0xFFFF; });
  check("cvt.sat.u8.s32", "b32", "b32", [](uint64_t a) {
    return static_cast<uint64_t>(std::min(std::max(static_cast<int32_t>(a), 0), 255));
  });
  check("cvt.sat.s32.u32", "b32", "b32",
        [](uint64_t a) { return std::min<uint64_t>(a & 0xFFFFFFFF, INT32_MAX); });
}

TEST(Convert, ReachesAndLeavesF64) {
  std::vector<In> in;
  for (const uint32_t s : sources(kF16, 500)) {
    if (is_finite(s)) in.push_back({s, 0, 0});
  }
  const auto out = apply("{\n.reg .b64 %t;\ncvt.f64.f32 %t, %a;\ncvt.rn.f32.f64 %d, %t;\n}\n",
                         {"b32", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i].a);
}

TEST(Convert, MakesTf32) {
  std::vector<In> in;
  for (const uint32_t s : sources(kBf16, 500)) in.push_back({s, 0, 0});
  in.push_back({0x3F801000, 0, 0});
  in.push_back({0x3F800FFF, 0, 0});
  const auto out = apply("cvt.rna.tf32.f32 %d, %a;", {"b32", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const auto u = static_cast<uint32_t>(in[i].a);
    const uint32_t expected = (u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF
                              : !is_finite(u)               ? u
                                                            : (u + 0x1000) & ~0x1FFFu;
    ASSERT_EQ(out[i], expected) << std::hex << u;
  }
}

}  // namespace
}  // namespace cohort::emu::test
