// Runs with inputs from a file: names, packed fp4, discrete weights, first contents, strides.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::ordered_json;

// A safetensors file made piece by piece.
class File {
 public:
  File& add(const std::string& name, const char* dtype, const Json& shape,
            const std::string& bytes) {
    header_[name] = {{"dtype", dtype},
                     {"shape", shape},
                     {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string text() const {
    const std::string h = header_.dump();
    const uint64_t n = h.size();
    std::string s(8, '\0');
    std::memcpy(s.data(), &n, 8);
    return s + h + data_;
  }

 private:
  Json header_ = Json::object();
  std::string data_;
};

std::string repeated(const std::string& item, size_t count) {
  std::string s;
  for (size_t i = 0; i < count; ++i) s += item;
  return s;
}

std::string integers(const std::vector<int32_t>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(int32_t)};
}

const std::string kOneBf16("\x80\x3f", 2);
const std::string k512Bf16("\x00\x44", 2);
const std::string kOneF32("\x00\x00\x80\x3f", 4);

class Replay : public Command {
 protected:
  // The bytes of output `name` after a run with the tensors of `file`.
  std::string run(const std::string& graph, const File& file, const std::string& name) {
    const Said s = cohort("run " + graph + " --compare reference --inputs " +
                          write("in", file.text()) + " --outputs " + path("result"));
    EXPECT_EQ(s.exit, 0) << s.err;
    const std::string all = read_file(path("result"));
    if (s.exit != 0 || all.size() < 8) return {};
    uint64_t n = 0;
    std::memcpy(&n, all.data(), 8);
    const Json range = Json::parse(all.substr(8, n))[name]["data_offsets"];
    return all.substr(8 + n + range[0].get<size_t>(),
                      range[1].get<size_t>() - range[0].get<size_t>());
  }
};

TEST_F(Replay, PlainTensorsAndInferredSize) {
  File f;
  f.add("a", "BF16", {3, 512}, repeated(kOneBf16, 3 * 512));
  f.add("b", "BF16", {256, 512}, repeated(kOneBf16, 256 * 512));
  EXPECT_EQ(run(sample("matmul_relu"), f, "y"), repeated(k512Bf16, 3 * 256));
}

TEST_F(Replay, DiscreteWeightsByExpert) {
  File f;
  f.add("x", "F8_E4M3", {2, 512}, repeated("\x38", 2 * 512));
  f.add("x.scale", "U8", {128 * 16}, repeated("\x7f", 128 * 16));
  f.add("ends", "I32", {8}, integers({1, 1, 1, 1, 1, 1, 1, 2}));
  for (int e = 0; e < 8; ++e) {
    const std::string name = "w." + std::to_string(e);
    f.add(name, "F8_E4M3", {256, 512}, repeated(e == 7 ? "\x40" : "\x38", 256 * 512));
    f.add(name + ".scale", "U8", {256 * 16}, repeated("\x7f", 256 * 16));
  }
  // 512 from the first expert and 1024 from the last, whose elements are 2.
  EXPECT_EQ(run(sample("discrete_weights"), f, "y"),
            repeated(k512Bf16, 256) + repeated(std::string("\x80\x44", 2), 256));
}

TEST_F(Replay, Fp4AsBytes) {
  File f;
  f.add("x", "U8", {1, 256}, repeated("\x22", 256));
  f.add("x.scale", "U8", {128 * 16}, repeated("\x7f", 128 * 16));
  f.add("w", "U8", {8, 256, 256}, repeated("\x22", 8 * 256 * 256));
  f.add("w.scale", "U8", {8, 256 * 16}, repeated("\x7f", 8 * 256 * 16));
  f.add("ends", "I32", {8}, integers({0, 0, 1, 1, 1, 1, 1, 1}));
  f.add("alpha", "F32", {8}, repeated(kOneF32, 8));
  EXPECT_EQ(run(sample("mxfp4"), f, "y"), repeated(k512Bf16, 256));
}

TEST_F(Replay, FirstContentsStayWhereNothingIsWritten) {
  File f;
  f.add("x", "BF16", {2, 512}, repeated(kOneBf16, 2 * 512));
  f.add("w", "BF16", {8, 256, 512}, repeated(kOneBf16, 8 * 256 * 512));
  f.add("rows", "I32", {8}, integers({1, 1, 1, 1, 1, 1, 1, 1}));
  f.add("y.init", "BF16", {2, 256}, repeated("ab", 2 * 256));
  EXPECT_EQ(run(sample("bf16_ends"), f, "y"), repeated(k512Bf16, 256) + repeated("ab", 256));
}

TEST_F(Replay, StridedTensorsArePackedInFiles) {
  Json g = Json::parse(read_file(sample("matmul_relu")));
  g["inputs"][0]["strides"] = {520, 1};
  g["outputs"][0]["strides"] = {264, 1};
  File f;
  f.add("a", "BF16", {2, 512}, repeated(kOneBf16, 512) + repeated(std::string(2, '\0'), 512));
  f.add("b", "BF16", {256, 512}, repeated(kOneBf16, 256 * 512));
  EXPECT_EQ(run(write("strided.json", g.dump()), f, "y"),
            repeated(k512Bf16, 256) + repeated(std::string(2, '\0'), 256));
}

// Groups of form boundaries have one entry more than there are groups: here, than tokens.
TEST_F(Replay, NamedNumberOfGroups) {
  const auto inputs = [](const char* koff, const std::vector<int32_t>& offsets) {
    File f;
    f.add("y", "BF16", {3, 512}, repeated(kOneBf16, 3 * 512));
    f.add("rev", "I32", {3}, integers({2, 0, 1}));
    f.add("scores", "F32", {3}, repeated(kOneF32, 3));
    return f.add(koff, "I32", {offsets.size()}, integers(offsets));
  };
  const std::string one_and_two = repeated(kOneBf16, 512) + repeated(std::string("\0\x40", 2), 512);
  EXPECT_EQ(run(sample("combine_variable"), inputs("koff", {0, 1, 3}), "o"), one_and_two);
  Json g = Json::parse(read_file(sample("combine_variable")));
  g["inputs"][1]["form"] = "ends";
  EXPECT_EQ(run(write("ends.json", g.dump()), inputs("koff", {1, 3}), "o"), one_and_two);
  g["inputs"][1]["form"] = "slots";
  File slots = inputs("koff.begin", {0, 1});
  slots.add("koff.used", "I32", {2}, integers({1, 2}));
  EXPECT_EQ(run(write("slots.json", g.dump()), slots, "o"), one_and_two);
  fails(
      "run " + sample("combine_variable") + " --inputs " + write("none", inputs("koff", {}).text()),
      1, "E-SIZE T: no input's shape says it");
}

// Elements of column blocks stand (features, rows), and two of e2m1 in a byte.
TEST_F(Replay, ElementsOfColumnBlocksStandTransposed) {
  for (const std::string storage : {"transposed", "ragged"}) {
    Json g = Json::parse(read_file(sample("wgrad_nvfp4")));
    for (const int i : {0, 1}) g["inputs"][i]["storage"] = storage;
    File f;
    f.add("dy", "U8", {256, 16}, repeated("\x22", 256 * 16));
    f.add("dy.scale", "U8", {9 * 2 * 512}, repeated("\x38", 9 * 2 * 512));
    f.add("x", "U8", {512, 16}, repeated("\x22", 512 * 16));
    f.add("x.scale", "U8", {9 * 4 * 512}, repeated("\x38", 9 * 4 * 512));
    f.add("ends", "I32", {8}, integers({0, 0, 0, 32, 32, 32, 32, 32}));
    f.add("scale_dy", "F32", {8}, repeated(kOneF32, 8));
    f.add("scale_x", "F32", {8}, repeated(kOneF32, 8));
    const std::string none(size_t{256} * 512 * 4, '\0');
    const std::string dw = run(write(storage, g.dump()), f, "dw");
    EXPECT_TRUE(dw == repeated(none, 3) + repeated(std::string("\0\0\0\x42", 4), 256 * 512) +
                          repeated(none, 4))
        << storage;
  }
}

// The extents that only discrete weights have.
TEST_F(Replay, NamedExtentsOfDiscreteWeights) {
  Json g = Json::parse(read_file(sample("discrete_weights")));
  g["dims"].push_back({{"name", "N"}, {"bound", 1024}});
  for (Json& i : g["inputs"]) {
    if (i["name"] == "w") i["shape"][1] = "N";
  }
  File f;
  f.add("x", "F8_E4M3", {1, 512}, repeated("\x38", 512));
  f.add("x.scale", "U8", {128 * 16}, repeated("\x7f", 128 * 16));
  f.add("ends", "I32", {8}, integers({1, 1, 1, 1, 1, 1, 1, 1}));
  for (int e = 0; e < 8; ++e) {
    const std::string name = "w." + std::to_string(e);
    f.add(name, "F8_E4M3", {128, 512}, repeated("\x38", 128 * 512));
    f.add(name + ".scale", "U8", {128 * 16}, repeated("\x7f", 128 * 16));
  }
  EXPECT_EQ(run(write("named.json", g.dump()), f, "y"), repeated(k512Bf16, 128));
}

TEST_F(Replay, RandomGroupsKeepTheirAlignment) {
  for (const char* name : {"bf16_ends", "bf16_starts", "bf16_boundaries_tail", "bf16_slots"}) {
    Json g = Json::parse(read_file(sample(name)));
    for (Json& i : g["inputs"]) {
      if (i["role"] == "groups") i["row_alignment"] = 96;
    }
    const Said s = cohort("run " + write("aligned.json", g.dump()) + " --random 2");
    EXPECT_EQ(s.exit, 0) << name << s.err;
  }
}

}  // namespace
}  // namespace cohort::test
