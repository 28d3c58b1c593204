// What tests of the machine share: a kernel from text, run, and an instruction on many operands.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "emu/run.h"
#include "ptx/parse.h"

namespace cohort::emu::test {

inline std::string file(const std::string& name) {
  std::ifstream in(std::string(COHORT_TEST_DATA) + "/emu/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The table that kernel_of() decodes with; null: that of this processor.
inline const Table*& table_in_use() {
  static const Table* table = nullptr;
  return table;
}

inline std::shared_ptr<const Kernel> kernel_of(std::string_view text, std::string_view entry) {
  auto module = ptx::parse(text);
  if (!module) {
    ADD_FAILURE() << module.findings().text();
    return nullptr;
  }
  auto kernel = decode(*module, entry, {.table = table_in_use()});
  if (!kernel) {
    ADD_FAILURE() << kernel.findings().text();
    return nullptr;
  }
  return *kernel;
}

template <class T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer b;
  b.bytes.resize(values.size() * sizeof(T));
  std::memcpy(b.bytes.data(), values.data(), b.bytes.size());
  return b;
}
template <class T>
std::vector<T> values_of(const Buffer& b) {
  std::vector<T> values(b.bytes.size() / sizeof(T));
  std::memcpy(values.data(), b.bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Argument bytes: each value at its natural alignment.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof(T));
    return *this;
  }
  Arguments& buffer(uint64_t i) { return add(buffer_address(i)); }
  [[nodiscard]] const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

struct Outcome {
  RunResult result;
  std::vector<Fault> faults;
};

inline Outcome run_input(RunInput input) {
  FaultList list;
  if (input.faults == nullptr) input.faults = &list;
  Outcome o;
  auto result = run(std::move(input));
  if (!result) {
    ADD_FAILURE() << result.findings().text();
    return o;
  }
  o.result = std::move(*result);
  o.faults = list.faults();
  return o;
}

/// One grid of a kernel whose arguments are addresses of all buffers.
inline RunInput simple(std::string_view text, std::string_view entry, std::vector<Buffer> buffers,
                       uint32_t threads, uint32_t ctas = 1) {
  RunInput in;
  Arguments a;
  for (size_t i = 0; i < buffers.size(); ++i) a.buffer(i);
  in.buffers = std::move(buffers);
  Launch l;
  l.kernel = kernel_of(text, entry);
  l.grid = {ctas, 1, 1};
  l.block = {threads, 1, 1};
  l.arguments = a.bytes();
  in.launches.push_back(std::move(l));
  return in;
}

inline constexpr std::string_view kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// Operands of one execution, as bits.
struct In {
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t c = 0;
};

/// Runs `code`, which computes %d from %a, %b and %c, for each element on a lane of its own.
/// `types`: of d, a, b, c, as register types ("b32"). %p and %q are predicates.
inline std::vector<uint64_t> apply(const std::string& code, const std::vector<std::string>& types,
                                   const std::vector<In>& in) {
  std::string text(kHeader);
  text +=
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred %p, %q;\n"
      ".reg .b64 %at, %to, %wide;\n.reg .b32 %i;\n.reg .pred %inside;\n";
  const char* names[] = {"%d", "%a", "%b", "%c"};
  for (size_t k = 0; k < types.size(); ++k) {
    text += ".reg ." + types[k] + " " + names[k] + ";\n";
  }
  text += "mov.u32 %i, %tid.x;\nsetp.ge.u32 %inside, %i, " + std::to_string(in.size()) +
          ";\n@%inside exit;\nld.param.u64 %at, [in];\nld.param.u64 %to, [out];\n"
          "mad.wide.u32 %at, %i, 24, %at;\nmad.wide.u32 %to, %i, 8, %to;\n";
  for (size_t k = 1; k < types.size(); ++k) {
    text +=
        "ld.global." + types[k] + " " + names[k] + ", [%at+" + std::to_string(8 * (k - 1)) + "];\n";
  }
  text += code + "\nst.global." + types[0] + " [%to], %d;\nret;\n}\n";
  std::vector<uint64_t> words;
  for (const In& i : in) words.insert(words.end(), {i.a, i.b, i.c});
  const auto threads = static_cast<uint32_t>(in.size());
  Outcome o = run_input(
      simple(text, "k", {buffer_of(words), buffer_of(std::vector<uint64_t>(in.size()))}, threads));
  EXPECT_TRUE(o.faults.empty()) << code;
  EXPECT_TRUE(o.result.completed) << code;
  return o.result.buffers.size() < 2 ? std::vector<uint64_t>(in.size())
                                     : values_of<uint64_t>(o.result.buffers[1]);
}

}  // namespace cohort::emu::test
