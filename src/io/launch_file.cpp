#include "io/launch_file.h"

#include <algorithm>
#include <map>

#include <cohort/safetensors.h>

#include "base/checked.h"
#include "io/launch_arguments.h"
#include "io/launch_reader.h"

namespace cohort::io {

namespace {

constexpr std::string_view kBufferKeys[] = {"name",   "type", "shape", "file",
                                            "tensor", "fill", "ramp",  "random"};
constexpr std::string_view kLaunchKeys[] = {"kernel",         "grid", "cluster",  "block",
                                            "dynamic_shared", "pdl",  "arguments"};
constexpr std::string_view kExpectedKeys[] = {"buffer", "file",     "tensor",  "fill",
                                              "ramp",   "absolute", "relative"};
constexpr int64_t kMostShared = UINT32_MAX;

ElementType type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ElementType::f32;
    case DType::f16:
      return ElementType::f16;
    case DType::bf16:
      return ElementType::bf16;
    case DType::e4m3:
      return ElementType::e4m3;
    case DType::e5m2:
      return ElementType::e5m2;
    case DType::i32:
      return ElementType::s32;
    case DType::i64:
      return ElementType::s64;
    default:
      return ElementType::u8;
  }
}

class Reader {
 public:
  Reader(const JsonTree& tree, const std::string& folder, int64_t memory_bytes, LaunchFile& file,
         base::Diagnostics& found)
      : r_(tree, found),
        arguments_(r_, file),
        folder_(folder),
        left_(memory_bytes),
        f_(file),
        found_(found) {}

  void read() {
    const JsonNode root{0, ""};
    if (!r_.object(root, "file", {"cohort_launch", "buffers", "launches", "expected"})) {
      if (r_.value(root).kind != JsonValue::Kind::object) return;
    }
    int64_t version = 0;
    if (const JsonNode n = r_.required(root, "file", "cohort_launch"); n.is_there()) {
      r_.integer(n, "file", 1, 1, version);
    }
    if (const JsonNode n = r_.member(root, "buffers"); n.is_there()) {
      for (const JsonNode& b : r_.list(n, "file")) buffer(b);
    }
    if (const JsonNode n = r_.required(root, "file", "launches"); n.is_there()) {
      for (const JsonNode& l : r_.list(n, "file")) launch(l);
    }
    if (const JsonNode n = r_.member(root, "expected"); n.is_there()) {
      for (const JsonNode& e : r_.list(n, "file")) expected(e);
    }
  }

 private:
  std::string_view keep(std::string text) { return f_.texts.emplace_back(std::move(text)); }

  // The elements of a shape, or -1 with a finding.
  int64_t shape(const JsonNode& n, std::string_view op, std::vector<int64_t>& extents) {
    int64_t all = 1;
    for (const JsonNode& e : r_.list(n, op)) {
      int64_t extent = 0;
      if (!r_.integer(e, op, 1, kMostBytes, extent)) return -1;
      const auto product = base::checked_mul(all, extent);
      if (!product || *product > kMostBytes || extents.size() == 8) {
        r_.fail(n, "E-LAUNCH", op, "at most 2^40 elements in 8 dimensions", "more");
        return -1;
      }
      all = *product;
      extents.push_back(extent);
    }
    return r_.value(n).kind == JsonValue::Kind::list ? all : -1;
  }

  const TensorFile* tensor_file(const JsonNode& n, std::string_view op) {
    std::string path;
    if (!r_.text(n, op, path)) return nullptr;
    if (!path.empty() && path[0] != '/') path = folder_ + "/" + path;
    auto at = files_.find(path);
    if (at == files_.end()) {
      Result<TensorFile> opened = TensorFile::open(path);
      if (!opened) throw base::FindingsError{opened.findings()};
      at = files_.emplace(path, *opened).first;
    }
    return &at->second;
  }

  // The bytes of a tensor, with its type and shape. False with a finding.
  bool tensor(const JsonNode& owner, const JsonNode& file, std::string_view op, ElementType& type,
              std::vector<int64_t>& extents, const std::vector<uint8_t>*& bytes) {
    const TensorFile* tensors = tensor_file(file, op);
    if (tensors == nullptr) return false;
    std::string name(op);
    const JsonNode word = r_.member(owner, "tensor");
    if (word.is_there() && !r_.text(word, op, name)) return false;
    const int32_t index = tensors->find(name);
    if (index < 0) {
      std::string all;
      for (int32_t i = 0; i < tensors->size() && i < 16; ++i) {
        all.append(i == 0 ? "there are " : ", ").append(tensors->name(i).substr(0, 64));
      }
      r_.fail(word.is_there() ? word : file, "E-LAUNCH", op, "a tensor of the file",
              "'" + name.substr(0, 64) + "'", all);
      return false;
    }
    const TensorView view = tensors->view(index);
    type = type_of(view.dtype);
    int64_t count = view.dtype == DType::e2m1 ? 0 : element_bytes(type);
    for (int32_t d = 0; d < view.rank; ++d) {
      extents.push_back(view.shape[d]);
      count *= view.shape[d];  // the file's reader has checked that it fits
    }
    if (count > left_) {
      r_.fail(file, "E-LIMIT", op, "at most " + std::to_string(left_) + " bytes more",
              std::to_string(count));
      return false;
    }
    left_ -= count;
    std::vector<uint8_t>& to = f_.bytes.emplace_back(static_cast<size_t>(count));
    if (count > 0) {
      const Status copied = tensors->copy_to(index, to.data());
      if (!copied) throw base::FindingsError{copied.findings()};
    }
    bytes = &to;
    return true;
  }

  // Contents from `fill` and `ramp`.
  bool ramp(std::string_view key, const JsonNode& n, std::string_view op, double& first,
            double& step) {
    if (key == "fill") return r_.real(n, op, first);
    if (!r_.object(n, op, {"first", "step"})) return false;
    const JsonNode a = r_.member(n, "first");
    const JsonNode b = r_.required(n, op, "step");
    const bool is_good = !a.is_there() || r_.real(a, op, first);
    return b.is_there() && r_.real(b, op, step) && is_good;
  }

  void random(const JsonNode& n, EmulatedBuffer& b) {
    b.contents = Contents::random;
    const bool is_integer = b.type <= ElementType::s64;
    b.low = is_integer ? 0 : -1;
    b.high = is_integer ? 100 : 1;
    if (r_.value(n).kind != JsonValue::Kind::object) {
      int64_t seed = 0;
      if (r_.integer(n, b.name, 0, INT64_MAX, seed)) b.seed = static_cast<uint64_t>(seed);
      return;
    }
    if (!r_.object(n, b.name, {"seed", "low", "high"})) return;
    int64_t seed = 1;
    if (const JsonNode s = r_.member(n, "seed"); s.is_there()) {
      r_.integer(s, b.name, 0, INT64_MAX, seed);
    }
    b.seed = static_cast<uint64_t>(seed);
    if (const JsonNode l = r_.member(n, "low"); l.is_there()) r_.real(l, b.name, b.low);
    if (const JsonNode h = r_.member(n, "high"); h.is_there()) r_.real(h, b.name, b.high);
  }

  void buffer(const JsonNode& n) {
    EmulatedBuffer b;
    std::vector<int64_t> extents;
    if (!r_.object(n, "buffer", kBufferKeys)) return;
    std::string text;
    const JsonNode name_node = r_.required(n, "buffer", "name");
    if (!name_node.is_there() || !r_.text(name_node, "buffer", text)) return;
    b.name = keep(std::move(text));
    const JsonNode type_node = r_.member(n, "type");
    int type = 0;
    if (type_node.is_there()) {
      if (!r_.word(type_node, b.name, type_words(), type)) return;
      b.type = static_cast<ElementType>(type);
    }
    const JsonNode shape_node = r_.member(n, "shape");
    if (shape_node.is_there() && (b.elements = shape(shape_node, b.name, extents)) < 0) return;
    std::string_view key;
    const size_t before = static_cast<size_t>(found_.total());
    const JsonNode contents = r_.one_of(n, b.name, {"file", "fill", "ramp", "random"}, key, true);
    if (static_cast<size_t>(found_.total()) != before) return;
    if (key == "file") {
      if (!from_file(n, contents, type_node, shape_node, b, extents)) return;
    } else if (!shape_node.is_there() || !type_node.is_there()) {
      r_.required(n, b.name, type_node.is_there() ? "shape" : "type");
      return;
    } else if (key == "random") {
      random(contents, b);
    } else if (!key.empty()) {
      b.contents = Contents::ramp;
      if (!ramp(key, contents, b.name, b.first, b.step)) return;
    }
    f_.buffers.push_back(b);
    f_.shapes.push_back(std::move(extents));
  }

  // A type and a shape that stand beside the file must be those of the tensor.
  bool from_file(const JsonNode& n, const JsonNode& file, const JsonNode& type_node,
                 const JsonNode& shape_node, EmulatedBuffer& b, std::vector<int64_t>& extents) {
    ElementType stored{};
    std::vector<int64_t> stored_shape;
    const std::vector<uint8_t>* bytes = nullptr;
    if (!tensor(n, file, b.name, stored, stored_shape, bytes)) return false;
    if (!type_node.is_there()) b.type = stored;
    const bool same_width = element_bytes(b.type) == element_bytes(stored);
    if (!same_width && stored != ElementType::u8) {
      r_.fail(type_node, "E-LAUNCH", b.name, std::string(name(stored)) + ", as in the file",
              std::string(name(b.type)));
      return false;
    }
    const auto size = static_cast<int64_t>(bytes->size());
    const int64_t elements = size / element_bytes(b.type);
    if (size % element_bytes(b.type) != 0 || (shape_node.is_there() && elements != b.elements)) {
      const std::string wanted = std::to_string(b.elements * element_bytes(b.type)) + " bytes";
      r_.fail(shape_node.is_there() ? shape_node : file, "E-LAUNCH", b.name, wanted,
              std::to_string(size) + " bytes in the file");
      return false;
    }
    if (!shape_node.is_there()) {
      extents = same_width ? stored_shape : std::vector<int64_t>{elements};
    }
    b.elements = elements;
    b.contents = Contents::bytes;
    b.data = bytes->data();
    return true;
  }

  void expected(const JsonNode& n) {
    if (!r_.object(n, "expected", kExpectedKeys)) return;
    ExpectedContents e;
    std::string text;
    const JsonNode name_node = r_.required(n, "expected", "buffer");
    if (!name_node.is_there() || !r_.text(name_node, "expected", text)) return;
    e.buffer = keep(std::move(text));
    if (const JsonNode a = r_.member(n, "absolute"); a.is_there()) r_.real(a, e.buffer, e.absolute);
    if (const JsonNode a = r_.member(n, "relative"); a.is_there()) r_.real(a, e.buffer, e.relative);
    std::string_view key;
    const JsonNode contents = r_.one_of(n, e.buffer, {"file", "fill", "ramp"}, key);
    if (!contents.is_there()) return;
    if (key != "file") {
      e.contents = Contents::ramp;
      if (ramp(key, contents, e.buffer, e.first, e.step)) f_.expected.push_back(e);
      return;
    }
    ElementType type{};
    std::vector<int64_t> extents;
    const std::vector<uint8_t>* bytes = nullptr;
    if (!tensor(n, contents, e.buffer, type, extents, bytes)) return;
    const auto is_named = [&](const EmulatedBuffer& b) { return b.name == e.buffer; };
    const auto at = std::find_if(f_.buffers.begin(), f_.buffers.end(), is_named);
    // A name that no buffer has is told by who runs it.
    const int64_t size = at == f_.buffers.end() ? -1 : at->elements * element_bytes(at->type);
    if (size >= 0 && size != static_cast<int64_t>(bytes->size())) {
      r_.fail(contents, "E-LAUNCH", e.buffer, std::to_string(size) + " bytes, as the buffer has",
              std::to_string(bytes->size()) + " bytes in the file");
      return;
    }
    e.data = bytes->data();
    f_.expected.push_back(e);
  }

  void extent(const JsonNode& launch, std::string_view key, Extent3& to, bool is_required) {
    const JsonNode n = is_required ? r_.required(launch, "launch", key) : r_.member(launch, key);
    if (!n.is_there()) return;
    const std::vector<JsonNode> entries = r_.list(n, "launch");
    uint32_t* const parts[] = {&to.x, &to.y, &to.z};
    if (r_.value(n).kind == JsonValue::Kind::list && (entries.empty() || entries.size() > 3)) {
      r_.fail(n, "E-LAUNCH", "launch", "1 to 3 numbers", r_.describe(n));
      return;
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      int64_t x = 1;
      r_.integer(entries[i], "launch", 1, INT32_MAX, x);
      *parts[i] = static_cast<uint32_t>(x);
    }
  }

  void launch(const JsonNode& n) {
    if (!r_.object(n, "launch", kLaunchKeys)) return;
    KernelLaunch l;
    if (const JsonNode k = r_.member(n, "kernel"); k.is_there()) {
      std::string text;
      if (r_.text(k, "launch", text)) l.kernel = keep(std::move(text));
    }
    extent(n, "grid", l.grid, true);
    extent(n, "cluster", l.cluster, false);
    extent(n, "block", l.block, true);
    int64_t shared = 0;
    if (const JsonNode s = r_.member(n, "dynamic_shared"); s.is_there()) {
      r_.integer(s, "launch", 0, kMostShared, shared);
    }
    l.dynamic_shared = static_cast<uint32_t>(shared);
    if (const JsonNode p = r_.member(n, "pdl"); p.is_there()) {
      r_.flag(p, "launch", l.programmatic);
    }
    std::vector<KernelArgument>& arguments = f_.arguments.emplace_back();
    if (const JsonNode a = r_.member(n, "arguments"); a.is_there()) {
      for (const JsonNode& x : r_.list(a, "launch"))
        arguments.push_back(arguments_.argument(x, false));
    }
    l.arguments = arguments;
    f_.launches.push_back(l);
  }

  TreeReader r_;
  ArgumentReader arguments_;
  const std::string& folder_;
  int64_t left_;
  LaunchFile& f_;
  base::Diagnostics& found_;
  std::map<std::string, TensorFile> files_;
};

}  // namespace

Result<std::unique_ptr<LaunchFile>> read_launch(std::string_view text, const std::string& folder,
                                                int64_t memory_bytes) {
  return base::guarded("reading a launch file", [&]() -> Result<std::unique_ptr<LaunchFile>> {
    JsonTree tree;
    base::Diagnostics found;
    ErrorKind kind = ErrorKind::mismatch;
    if (!read_tree(text, {}, tree, found, kind)) return found.take(kind);
    auto file = std::make_unique<LaunchFile>();
    Reader(tree, folder, memory_bytes, *file, found).read();
    if (!found.empty()) return found.take(ErrorKind::mismatch);
    return file;
  });
}

}  // namespace cohort::io
