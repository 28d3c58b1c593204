// Tensor files: what is written reads back, and what is no tensor file is refused with the reason.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/safetensors.h>

#include "fixtures/findings.h"

namespace cohort {
namespace {

using test::has;
using test::only;

class TensorFiles : public testing::Test {
 protected:
  TensorFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cohort_io_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TensorFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  /// The path of a file with that header and `bytes` zero bytes.
  [[nodiscard]] std::string file(const std::string& header, size_t bytes) const {
    const uint64_t n = header.size();
    std::string s(8, '\0');
    std::memcpy(s.data(), &n, 8);
    std::ofstream(path("f"), std::ios::binary) << s << header << std::string(bytes, '\0');
    return path("f");
  }
  /// What its reader says of it.
  [[nodiscard]] std::string said(const std::string& header, size_t bytes) const {
    const Result<TensorFile> read = TensorFile::read(file(header, bytes));
    if (read) return "read";
    const Findings findings = read.findings();
    EXPECT_EQ(findings.kind(), ErrorKind::file);
    EXPECT_EQ(only(findings).code, "E-SAFETENSORS") << findings.text();
    return std::string(findings[0].message);
  }
  /// As above, with {"x": `entry`} as the header.
  [[nodiscard]] std::string entry(const std::string& text, size_t bytes) const {
    return said("{\"x\":" + text + "}", bytes);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(TensorFiles, ReadBackWhatWasWritten) {
  std::vector<uint8_t> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const std::string odd = "a \"name\\ with \xC3\xA9";
  ASSERT_TRUE(
      write_safetensors(path("y"), {{odd, TensorView::packed(bytes.data(), DType::f32, {2, 3})},
                                    {"fp4", TensorView::packed(bytes.data(), DType::e2m1, {2, 6})},
                                    {"none", TensorView::packed(nullptr, DType::bf16, {0, 7})},
                                    {"one", TensorView::packed(bytes.data(), DType::i64, {})}}));
  const Result<TensorFile> read = TensorFile::read(path("y"));
  ASSERT_TRUE(read) << read.findings().text();
  ASSERT_EQ(read->size(), 4);
  const TensorView v = read->view(read->find(odd));
  EXPECT_EQ(v.dtype, DType::f32);
  EXPECT_EQ(v.rank, 2);
  EXPECT_EQ(std::memcmp(v.data, bytes.data(), 24), 0);
  const Result<TensorView> fp4 = read->view(read->find("fp4"), DType::e2m1);
  ASSERT_TRUE(fp4);
  EXPECT_EQ(fp4->shape[1], 6);
  EXPECT_EQ(read->view(read->find("one")).rank, 0);
  EXPECT_EQ(read->find("nobody"), -1);
}

TEST_F(TensorFiles, HeadersThatAreNone) {
  EXPECT_EQ(said("{}", 0), "read");
  EXPECT_EQ(said(R"({"__metadata__":{"a":"b","c":{"d":[1,{"e":null}]}}})", 0), "read");
  for (const char* text :
       {"", "[]", "3", "null", "\"x\"", "{", "{]", "{\"x\":}", "{} {}", "\xFF"}) {
    EXPECT_TRUE(has(said(text, 0), "a JSON object as header")) << text;
  }
  EXPECT_TRUE(has(said(R"({"x":[]})", 0), "dtype, shape and data_offsets"));
  EXPECT_TRUE(has(said(R"({"x":3})", 0), "dtype, shape and data_offsets"));
  EXPECT_TRUE(
      has(said("{\"__metadata__\":" + std::string(100, '[') + std::string(100, ']') + "}", 0),
          "depth"));
  EXPECT_TRUE(has(said(std::string(1 << 20, '['), 0), "header"));
}

TEST_F(TensorFiles, EntriesThatAreNone) {
  const std::string good = R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  EXPECT_EQ(entry(good, 16), "read");
  EXPECT_EQ(entry(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16],"note":[{"a":1}]})", 16),
            "read");
  const std::string all = "dtype, shape and data_offsets";
  EXPECT_TRUE(has(entry("{}", 0), all));
  EXPECT_TRUE(has(entry(R"({"shape":[2,2],"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[2,2]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":7,"shape":[2,2],"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":["F32"],"shape":[2,2],"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":4,"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[[4]],"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":["4"],"data_offsets":[0,16]})", 16), all));
  EXPECT_TRUE(has(entry(R"({"dtype":"F99","shape":[4],"data_offsets":[0,16]})", 16), "F99"));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[-4],"data_offsets":[0,16]})", 16), "-4"));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[4.0],"data_offsets":[0,16]})", 16), "4.0"));
  EXPECT_TRUE(
      has(entry(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,16]})", 16),
          "extent"));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})", 4),
                  "8 extents"));
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[4],"shape":[4],"data_offsets":[0,16]})", 16),
                  "one 'shape'"));
  EXPECT_TRUE(has(said("{\"x\":" + good + ",\"x\":" + good + "}", 16), "one tensor of that name"));
}

TEST_F(TensorFiles, SizesThatDoNotFit) {
  const auto offsets = [&](const std::string& text, size_t bytes) {
    return entry(R"({"dtype":"F32","shape":[4],"data_offsets":)" + text + "}", bytes);
  };
  EXPECT_TRUE(has(offsets("[0]", 16), "two data_offsets"));
  EXPECT_TRUE(has(offsets("[0,8,16]", 16), "two data_offsets"));
  EXPECT_TRUE(has(offsets("[16,0]", 16), "offsets within"));
  EXPECT_TRUE(has(offsets("[0,32]", 16), "offsets within"));
  EXPECT_TRUE(has(offsets("[0,12]", 16), "16 bytes for its shape"));
  EXPECT_TRUE(has(offsets("[-1,16]", 16), "offset"));
  EXPECT_TRUE(has(offsets("[4,20]", 20), "begins at 0"));
  EXPECT_TRUE(has(offsets("[0,16]", 17), "16 bytes of data"));
  // The product of the extents is 0, and yet no packed tensor has these strides.
  EXPECT_TRUE(has(entry(R"({"dtype":"F32","shape":[4611686018427387904,4611686018427387904,0],)"
                        R"("data_offsets":[0,0]})",
                        0),
                  "2^63"));
  EXPECT_TRUE(has(
      entry(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})", 0), "2^63"));
}

TEST_F(TensorFiles, ViewsThatCannotBeWritten) {
  float data[8] = {};
  const auto code = [&](std::string_view name, const TensorView& v) {
    const Status s = write_safetensors(path("y"), {{name, v}});
    return s ? std::string() : std::string(only(s.findings()).code);
  };
  const TensorView good = TensorView::packed(data, DType::f32, {2, 4});
  EXPECT_EQ(code("x", good), "");
  EXPECT_EQ(code("\xFF", good), "E-NAME");
  EXPECT_EQ(code("__metadata__", good), "E-NAME");
  EXPECT_EQ(only(write_safetensors(path("y"), {{"x", good}, {"x", good}}).findings()).code,
            "E-NAME");
  TensorView v = good;
  v.rank = 9;
  EXPECT_EQ(code("x", v), "E-RANK");
  v = good;
  v.shape[0] = -1;
  EXPECT_EQ(code("x", v), "E-SHAPE");
  v = good;
  v.strides[0] = 8;
  EXPECT_EQ(code("x", v), "E-STRIDE");
  v = good;
  v.data = nullptr;
  EXPECT_EQ(code("x", v), "E-POINTER");
  EXPECT_EQ(code("x", TensorView::packed(data, DType::e2m1, {2, 3})), "E-SHAPE");
  EXPECT_EQ(code("x", TensorView::packed(data, DType::e3m2, {2, 4})), "E-DTYPE");
  v = good;
  v.rank = 1;
  v.shape[0] = int64_t{1} << 62;
  v.strides[0] = 1;
  EXPECT_EQ(code("x", v), "E-OVERFLOW");
}

TEST_F(TensorFiles, TheNameOfAFileIsNoField) {
  const Findings findings = write_text(path("absent/x"), "y").findings();
  EXPECT_EQ(only(findings).code, "E-FILE");
  EXPECT_EQ(findings[0].op, path("absent/x"));
  EXPECT_EQ(findings[0].field, "");
  EXPECT_TRUE(has(findings.text(), "absent/x: cannot write: No such file")) << findings.text();
}

}  // namespace
}  // namespace cohort
