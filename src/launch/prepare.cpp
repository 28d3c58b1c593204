#include "launch/prepare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/diagnostics.h"
#include "base/nearest.h"
#include "emu/launch_check.h"
#include "launch/arguments.h"
#include "launch/contents.h"
#include "ptx/parse.h"

namespace cohort::launch {

namespace {

constexpr int64_t kMostBuffers = 10000;
constexpr int64_t kMostLaunches = 1000;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw base::FindingsError{result.findings()};
  return *std::move(result);
}

class Preparer {
 public:
  Preparer(const EmulatedRun& run, const RaceOptions& options) : run_(run), options_(options) {}

  Prepared prepare() {
    p_.module_name = run_.ptx_name;
    p_.module = std::make_shared<const ptx::Module>(
        value_of(ptx::parse(run_.ptx, {.name = p_.module_name, .limits = {}})));
    options();
    buffers();
    expected();
    launches();
    // What is not modelled comes from all kernels at once, and before what does not fit them.
    if (!unsupported_.empty()) throw base::FindingsError{unsupported_.take(kind_)};
    give_up(ErrorKind::mismatch);
    p_.input.limits.memory_bytes = static_cast<uint64_t>(options_.memory_bytes);
    if (options_.max_warp_instructions >= 0) {
      p_.input.limits.instructions = static_cast<uint64_t>(options_.max_warp_instructions);
    }
    emu::check_launches(p_.input, found_);
    give_up(ErrorKind::mismatch);
    return std::move(p_);
  }

 private:
  void give_up(ErrorKind kind) {
    if (!found_.empty()) throw base::FindingsError{found_.take(kind)};
  }
  void add(std::string_view field, std::string wanted, std::string got, std::string where,
           std::string op = {}, std::string hint = {}) {
    found_.add({.code = "E-LAUNCH",
                .op = std::move(op),
                .field = std::string(field),
                .wanted = std::move(wanted),
                .got = std::move(got),
                .where = std::move(where),
                .hint = std::move(hint)});
  }

  void options() {
    const auto within = [&](const char* field, int64_t value, int64_t least, int64_t most) {
      if (value >= least && value <= most) return;
      add(field, std::to_string(least) + " .. " + std::to_string(most), std::to_string(value), "",
          "options");
    };
    within("schedules", options_.schedules, 1, 1000000);
    within("threads", options_.threads, 0, 4096);
    within("memory_bytes", options_.memory_bytes, 1, int64_t{1} << 50);
    if (options_.profile != RaceProfile::strict && options_.profile != RaceProfile::practice) {
      add("profile", "strict or practice", "another number", "", "options");
    }
    if (run_.launches.size() == 0) add("launches", "at least one launch", "none", "/launches");
    if (run_.launches.size() > kMostLaunches) {
      add("launches", "at most " + std::to_string(kMostLaunches),
          std::to_string(run_.launches.size()), "/launches");
    }
    if (run_.buffers.size() > kMostBuffers) {
      add("buffers", "at most " + std::to_string(kMostBuffers), std::to_string(run_.buffers.size()),
          "/buffers");
    }
    give_up(ErrorKind::mismatch);
  }

  // Bytes of a buffer, or 0 with a finding.
  uint64_t size_of(const EmulatedBuffer& b, const std::string& where) {
    if (static_cast<int32_t>(b.type) >= kElementTypes) {
      add("type", "an element type", "another number", where, std::string(b.name));
      return 0;
    }
    const auto most = options_.memory_bytes / element_bytes(b.type);
    if (b.elements >= 1 && b.elements <= most) {
      return static_cast<uint64_t>(b.elements * element_bytes(b.type));
    }
    add("elements", "1 .. " + std::to_string(most), std::to_string(b.elements), where,
        std::string(b.name));
    return 0;
  }

  bool has_contents(Contents contents, const void* data, double a, double b,
                    const std::string& where, std::string_view name) {
    if (contents == Contents::bytes && data == nullptr) {
      add("data", "the bytes", "a null pointer", where, std::string(name));
      return false;
    }
    const bool has_numbers = contents == Contents::ramp || contents == Contents::random;
    if (has_numbers && !(std::isfinite(a) && std::isfinite(b))) {
      add(contents == Contents::ramp ? "ramp" : "random", "finite numbers", "others", where,
          std::string(name));
      return false;
    }
    return true;
  }

  void buffers() {
    for (int64_t i = 0; i < run_.buffers.size(); ++i) {
      const EmulatedBuffer& b = run_.buffers[i];
      const std::string where = "/buffers/" + std::to_string(i);
      if (b.name.empty() || b.name.size() > 256) {
        add("name", "1 to 256 bytes", std::to_string(b.name.size()), where + "/name", "buffer");
      }
      if (names_.find(b.name) >= 0) {
        add("name", "a name of its own", "'" + std::string(b.name) + "' again", where + "/name",
            "buffer");
      }
      const uint64_t bytes = size_of(b, where);
      names_.names.push_back(b.name);
      names_.bytes.push_back(bytes);
      p_.types.push_back(b.type);
      p_.buffer_bytes += bytes;
      if (p_.buffer_bytes > static_cast<uint64_t>(options_.memory_bytes)) {
        found_.add({.code = "E-LIMIT",
                    .op = "buffers",
                    .wanted = "at most " + std::to_string(options_.memory_bytes) + " bytes in all",
                    .got = "more",
                    .where = where});
        give_up(ErrorKind::limit);
      }
      emu::Buffer made;
      made.name = b.name;
      made.initialised = b.contents != Contents::nothing;
      const bool is_random = b.contents == Contents::random;
      if (bytes != 0 && has_contents(b.contents, b.data, is_random ? b.low : b.first,
                                     is_random ? b.high : b.step, where, b.name)) {
        fill(made.bytes, b, bytes);
      }
      p_.input.buffers.push_back(std::move(made));
    }
  }

  static void fill(std::vector<uint8_t>& to, const EmulatedBuffer& b, uint64_t bytes) {
    switch (b.contents) {
      case Contents::nothing:
        to.assign(bytes, emu::kPoisonByte);
        return;
      case Contents::bytes:
        to.resize(bytes);
        std::memcpy(to.data(), b.data, bytes);
        return;
      case Contents::ramp:
      case Contents::random:
        to = make_elements({.type = b.type,
                            .contents = b.contents,
                            .first = b.first,
                            .step = b.step,
                            .seed = b.seed,
                            .low = b.low,
                            .high = b.high},
                           b.elements);
        return;
    }
  }

  void expected() {
    for (int64_t i = 0; i < run_.expected.size(); ++i) {
      const ExpectedContents& e = run_.expected[i];
      const std::string where = "/expected/" + std::to_string(i);
      const int index = names_.find(e.buffer);
      if (index < 0) {
        add("buffer", "a buffer", "'" + std::string(e.buffer.substr(0, 64)) + "'",
            where + "/buffer", "expected", names_.hint(e.buffer));
        continue;
      }
      const auto at = static_cast<size_t>(index);
      const bool is_known = e.contents == Contents::bytes || e.contents == Contents::ramp;
      if (!is_known) add("contents", "bytes or ramp", "others", where, std::string(e.buffer));
      if (!(e.absolute >= 0) || !(e.relative >= 0)) {
        add("tolerance", "numbers that are not negative", "others", where, std::string(e.buffer));
      }
      if (!is_known || names_.bytes[at] == 0 ||
          !has_contents(e.contents, e.data, e.first, e.step, where, e.buffer)) {
        continue;
      }
      EmulatedBuffer b = run_.buffers[index];
      b.contents = e.contents;
      b.data = e.data;
      b.first = e.first;
      b.step = e.step;
      Expected made;
      made.buffer = at;
      made.absolute = e.absolute;
      made.relative = e.relative;
      fill(made.bytes, b, names_.bytes[at]);
      p_.expected.push_back(std::move(made));
    }
  }

  // The entry of that name, or the only one; null with a finding.
  const ptx::Function* entry(std::string_view wanted, const std::string& where) {
    std::vector<std::string_view> entries;
    const ptx::Function* only = nullptr;
    for (const ptx::Function& f : p_.module->functions) {
      if (!f.is_entry || !f.is_defined) continue;
      only = &f;
      entries.push_back(p_.module->texts[f.name]);
      if (entries.back() == wanted) return &f;
    }
    if (wanted.empty() && entries.size() == 1) return only;
    Names known;
    for (const std::string_view e : entries) {
      if (e.size() <= 256) known.names.push_back(e);
    }
    add("kernel", "an entry of " + p_.module_name,
        wanted.empty() ? std::to_string(entries.size()) + " entries and no name"
                       : "'" + std::string(wanted.substr(0, 256)) + "'",
        where + "/kernel", "launch", known.hint(wanted));
    return nullptr;
  }

  std::shared_ptr<const emu::Kernel> kernel(const ptx::Function& function) {
    const std::string_view name = p_.module->texts[function.name];
    for (const emu::Launch& l : p_.input.launches) {
      if (l.kernel != nullptr && l.kernel->name == name) return l.kernel;
    }
    auto made = emu::decode(*p_.module, name, {.name = p_.module_name});
    if (made) return *made;
    const Findings findings = made.findings();
    kind_ = findings.kind();
    for (const Finding& f : findings) {
      unsupported_.add({.code = f.code,
                        .op = std::string(f.op),
                        .field = std::string(f.field),
                        .dimension = f.dimension,
                        .wanted = std::string(f.wanted),
                        .got = std::string(f.got),
                        .message = std::string(f.message),
                        .where = std::string(f.where),
                        .hint = std::string(f.hint)});
    }
    return nullptr;
  }

  void launches() {
    for (int64_t i = 0; i < run_.launches.size(); ++i) {
      const KernelLaunch& l = run_.launches[i];
      const std::string where = "/launches/" + std::to_string(i);
      const ptx::Function* function = entry(l.kernel, where);
      if (function == nullptr) continue;
      emu::Launch made;
      made.kernel = kernel(*function);
      if (made.kernel == nullptr) continue;
      made.grid = {l.grid.x, l.grid.y, l.grid.z};
      made.cluster = {l.cluster.x, l.cluster.y, l.cluster.z};
      made.block = {l.block.x, l.block.y, l.block.z};
      made.dynamic_shared = l.dynamic_shared;
      made.programmatic = l.programmatic;
      made.arguments = encode_arguments(*function, *made.kernel, l, names_, where, found_);
      p_.shared.push_back(emu::shared_variables(*p_.module, *function));
      p_.input.launches.push_back(std::move(made));
    }
  }

  const EmulatedRun& run_;
  const RaceOptions& options_;
  Prepared p_;
  Names names_;
  base::Diagnostics found_;
  base::Diagnostics unsupported_;
  ErrorKind kind_ = ErrorKind::unsupported;
};

}  // namespace

Prepared prepare(const EmulatedRun& run, const RaceOptions& options) {
  return Preparer(run, options).prepare();
}

}  // namespace cohort::launch
