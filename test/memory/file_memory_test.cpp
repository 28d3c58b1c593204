// Reading and writing files while memory runs out: what was there stays, or the new one is whole.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include <cohort/numerics.h>
#include <cohort/safetensors.h>

#include "memory/allocations.h"

namespace cohort::test {
namespace {

class MemoryFiles : public testing::Test {
 protected:
  MemoryFiles() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "cohort_memory_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MemoryFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  [[nodiscard]] int64_t file_count() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator{});
  }
  [[nodiscard]] static int64_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator{});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(MemoryFiles, Writing) {
  std::vector<float> a(100, 1.5f);
  std::vector<uint8_t> b(32, 7);
  const std::vector<NamedTensor> tensors{
      {"a_tensor_with_a_long_name", TensorView::packed(a.data(), DType::f32, {10, 10})},
      {"b", TensorView::packed(b.data(), DType::e2m1, {4, 16})}};
  const std::string file = path("out.safetensors");
  ASSERT_TRUE(write_safetensors(file, tensors));
  const std::string whole = text("out.safetensors");
  const int64_t open = open_files();
  every_allocation_fails(
      "write",
      [&] {
        put("out.safetensors", "old");
        return 0;
      },
      [&](int) { return write_safetensors(file, tensors).findings(); },
      [&](int, const Findings& findings) {
        ASSERT_EQ(text("out.safetensors"), findings.total() == 0 ? whole : "old");
        ASSERT_EQ(file_count(), 1);
        ASSERT_EQ(open_files(), open);
      });
  const std::string nowhere = path("absent/x");
  every_allocation_fails(
      "write nowhere", [] { return 0; },
      [&](int) { return write_safetensors(nowhere, tensors).findings(); },
      [](int, const Findings&) {}, "E-FILE");
}

TEST_F(MemoryFiles, WritingText) {
  const std::string content(300, 'x');
  const std::string file = path("graph.json");
  every_allocation_fails(
      "text",
      [&] {
        put("graph.json", "old");
        return 0;
      },
      [&](int) { return write_text(file, content).findings(); },
      [&](int, const Findings& findings) {
        ASSERT_EQ(text("graph.json"), findings.total() == 0 ? content : "old");
        ASSERT_EQ(file_count(), 1);
      });
}

TEST_F(MemoryFiles, Reading) {
  std::vector<float> a(100, 1.5f);
  const std::string file = path("in.safetensors");
  ASSERT_TRUE(write_safetensors(file, {{"a", TensorView::packed(a.data(), DType::f32, {10, 10})},
                                       {"b", TensorView::packed(a.data(), DType::i32, {5})}}));
  const int64_t open = open_files();
  const auto no_leak = [&](int, const Findings&) { ASSERT_EQ(open_files(), open); };
  every_allocation_fails(
      "read", [] { return 0; }, [&](int) { return TensorFile::read(file).findings(); }, no_leak);
  const std::string folder = path("");
  every_allocation_fails(
      "read folder", [] { return 0; }, [&](int) { return TensorFile::read(folder).findings(); },
      no_leak, "E-FILE");
  put("cut.safetensors", text("in.safetensors").substr(0, 40));
  const std::string cut = path("cut.safetensors");
  every_allocation_fails(
      "read cut", [] { return 0; }, [&](int) { return TensorFile::read(cut).findings(); }, no_leak,
      "E-SAFETENSORS");
  const Result<TensorFile> good = TensorFile::read(file);
  ASSERT_TRUE(good);
  const int64_t held = open_files();  // the file of `good` among them
  every_allocation_fails(
      "view", [] { return 0; }, [&](int) { return good->view(0, DType::bf16).findings(); },
      [&](int, const Findings&) { ASSERT_EQ(open_files(), held); }, "E-DTYPE");
}

TEST(Memory, Quantising) {
  const std::vector<float> x(64 * 32, 3.0f);
  std::vector<std::byte> codes(64 * 32);
  std::vector<std::byte> scales(4096);
  const std::vector<int64_t> boundaries{0, 10, 63};
  every_allocation_fails(
      "quantise", [] { return 0; },
      [&](int) {
        return quantize_columns({.format = Format::mxfp8_e4m3}, x.data(), 63, 31, boundaries,
                                codes.data(), scales.data())
            .findings();
      },
      [](int, const Findings&) {});
}

}  // namespace
}  // namespace cohort::test
