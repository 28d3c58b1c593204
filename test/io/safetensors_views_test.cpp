// Tensor files that are damaged, large or hostile, and views that no file can hold.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <cohort/safetensors.h>

namespace cohort {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cohort_io_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  // A file of the given header and `bytes` zero bytes, which take no room on the disk.
  std::string write(const std::string& header, int64_t bytes) const {
    const uint64_t n = header.size();
    std::string text(8, '\0');
    std::memcpy(text.data(), &n, 8);
    text += header;
    std::ofstream(path("in"), std::ios::binary) << text;
    EXPECT_EQ(::truncate(path("in").c_str(), static_cast<int64_t>(text.size()) + bytes), 0);
    return path("in");
  }
  [[nodiscard]] Status store(const NamedTensors& tensors) const {
    return write_safetensors(path("out"), tensors);
  }
  // The code of the one finding, and nothing was written.
  [[nodiscard]] std::string refused(std::string_view name, const TensorView& view) const {
    const NamedTensor all[] = {{name, view}};
    const Status s = store(all);
    EXPECT_FALSE(std::filesystem::exists(path("out")));
    return s ? "ok" : std::string(s.findings()[0].code);
  }
  std::filesystem::path folder_;
};

TEST_F(Files, AHeaderOfManyTensorsIsReadInLinearTime) {
  std::string header = "{";
  const int64_t count = 100'000;
  for (int64_t i = 0; i < count; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const Result<TensorFile> file = TensorFile::read(write(header + "}", 0));
  ASSERT_TRUE(file) << file.findings().text();
  EXPECT_EQ(file->size(), count);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(file->find(std::to_string(i)), i);
}

TEST_F(Files, MoreThanTheMachineHasIsRefusedBeforeItIsRead) {
  const auto pages = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES));
  const int64_t bytes = (pages * ::sysconf(_SC_PAGESIZE) / 4 + 1024) * 4;
  const std::string n = std::to_string(bytes);
  const std::string header =
      R"({"x":{"dtype":"U8","shape":[)" + n + R"(],"data_offsets":[0,)" + n + "]}}";
  const std::string in = write(header, bytes);
  const Result<TensorFile> all = TensorFile::read(in);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.findings()[0].code, "E-MEMORY");
  const Result<TensorFile> opened = TensorFile::open(in);
  ASSERT_TRUE(opened) << opened.findings().text();
  EXPECT_EQ(opened->view(0).shape[0], bytes);
  EXPECT_EQ(opened->view(0).data, nullptr);
}

TEST_F(Files, OpenedFilesCopyWhatIsAskedFor) {
  std::vector<float> a{1, 2, 3, 4};
  std::vector<int32_t> b{5, 6};
  const NamedTensor all[] = {
      {"a", TensorView::packed(a.data(), DType::f32, {2, 2})},
      {"b", TensorView::packed(b.data(), DType::i32, {2})},
  };
  ASSERT_TRUE(store(all));
  const Result<TensorFile> file = TensorFile::open(path("out"));
  ASSERT_TRUE(file) << file.findings().text();
  std::vector<int32_t> got(2);
  ASSERT_TRUE(file->copy_to(file->find("b"), got.data()));
  EXPECT_EQ(got, b);
  // The file shrinks: a finding, and no signal.
  ASSERT_EQ(::truncate(path("out").c_str(), 40), 0);
  const Status s = file->copy_to(file->find("b"), got.data());
  ASSERT_FALSE(s);
  EXPECT_EQ(s.findings().kind(), ErrorKind::file);
}

TEST_F(Files, AnExtentThatCannotBeDoubledStaysU8) {
  const std::string header =
      R"({"x":{"dtype":"U8","shape":[0,4611686018427387904],"data_offsets":[0,0]}})";
  const Result<TensorFile> file = TensorFile::read(write(header, 0));
  ASSERT_TRUE(file) << file.findings().text();
  const Result<TensorView> v = file->view(0, DType::e2m1);
  ASSERT_FALSE(v);
  EXPECT_EQ(v.findings()[0].code, "E-DTYPE");
}

TEST_F(Files, ANulDoesNotEndAHeader) {
  const Result<TensorFile> file = TensorFile::read(write(std::string("{}\0junk", 7), 0));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.findings()[0].code, "E-SAFETENSORS");
}

TEST_F(Files, ViewsThatNoFileCanHold) {
  std::vector<float> data(64);
  const auto view = [&](DType t, std::initializer_list<int64_t> shape) {
    return TensorView::packed(data.data(), t, shape);
  };
  EXPECT_EQ(refused("x", view(DType::e2m1, {})), "E-SHAPE");
  EXPECT_EQ(refused("x", view(DType::e2m1, {3, 3})), "E-SHAPE");
  EXPECT_EQ(refused("x", view(DType::f32, {-1})), "E-SHAPE");
  EXPECT_EQ(refused("x", view(DType::e3m2, {4})), "E-DTYPE");
  EXPECT_EQ(refused("x", view(static_cast<DType>(99), {4})), "E-DTYPE");
  EXPECT_EQ(refused("x", view(DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1})), "E-RANK");
  EXPECT_EQ(refused("x", view(DType::f32, {INT64_MAX, 2})), "E-OVERFLOW");
  EXPECT_EQ(refused("x", view(DType::f32, {0, INT64_MAX, INT64_MAX})), "E-OVERFLOW");
  EXPECT_EQ(refused("__metadata__", view(DType::f32, {4})), "E-NAME");
  EXPECT_EQ(refused("\xFF", view(DType::f32, {4})), "E-NAME");
  EXPECT_EQ(refused("x", TensorView::packed(nullptr, DType::f32, {4})), "E-POINTER");
  TensorView strided = view(DType::f32, {4, 4});
  strided.strides[0] = 8;
  EXPECT_EQ(refused("x", strided), "E-STRIDE");
  TensorView cuda = view(DType::f32, {4});
  cuda.device.type = MemoryDevice::Type::cuda;
  EXPECT_EQ(refused("x", cuda), "E-DEVICE");
}

TEST_F(Files, EveryBadViewIsReportedAtOnce) {
  std::vector<float> data(4);
  const TensorView good = TensorView::packed(data.data(), DType::f32, {4});
  const NamedTensor all[] = {
      {"x", good}, {"x", good}, {"y", TensorView::packed(nullptr, DType::f32, {4})}};
  const Status s = store(all);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.findings().size(), 2);
  EXPECT_EQ(s.findings()[0].code, "E-NAME");
  EXPECT_EQ(s.findings()[1].op, "y");
}

TEST_F(Files, ALinkStaysOne) {
  std::filesystem::create_directory(path("there"));
  std::filesystem::create_symlink("there/real", path("link"));
  ASSERT_TRUE(write_text(path("link"), "one")) << "it points to nothing yet";
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  ASSERT_TRUE(write_text(path("link"), "two"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  std::string text;
  std::ifstream(path("there/real")) >> text;
  EXPECT_EQ(text, "two");
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_FALSE(write_text(path("loop"), "three"));
}

}  // namespace
}  // namespace cohort
