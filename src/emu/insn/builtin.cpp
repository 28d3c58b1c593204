#include "emu/insn/builtin.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "emu/machine.h"

namespace cohort::emu {

namespace {

constexpr size_t kLongest = 4096;  // of a string that is printed

uint8_t* local_of(Warp& w, uint32_t lane, uint64_t offset) {
  return w.local + uint64_t{lane} * w.kernel->local_bytes + offset;
}

uint64_t argument(Warp& w, const Insn& i, uint32_t lane, uint32_t which, uint32_t bytes) {
  uint64_t value = 0;
  const uint32_t place = w.kernel->extra[i.list + i.count + which];
  if (place + bytes <= w.kernel->local_bytes) std::memcpy(&value, local_of(w, lane, place), bytes);
  return value;
}

// Bytes that a generic address of a lane points to.
bool read(Warp& w, uint32_t lane, uint64_t address, void* to, uint64_t bytes) {
  if (address >> 32 == kLocalWindow >> 32) {
    const uint64_t offset = address - kLocalWindow;
    if (offset + bytes > w.kernel->local_bytes) return false;
    std::memcpy(to, local_of(w, lane, offset), bytes);
    return true;
  }
  const Region r = w.machine->find(w, address);
  if (address - r.base > r.size || bytes > r.size - (address - r.base)) return false;
  std::memcpy(to, r.host + (address - r.base), bytes);
  return true;
}

std::string string_at(Warp& w, uint32_t lane, uint64_t address) {
  std::string s;
  for (char c = 0; s.size() < kLongest && read(w, lane, address + s.size(), &c, 1) && c != 0;) {
    s.push_back(c);
  }
  return s;
}

// Arguments of vprintf stand one behind the other, each aligned to its size.
class Arguments {
 public:
  Arguments(Warp& w, uint32_t lane, uint64_t address) : w_(w), lane_(lane), at_(address) {}
  uint64_t take(uint32_t bytes) {
    uint64_t value = 0;
    at_ = (at_ + bytes - 1) / bytes * bytes;
    read(w_, lane_, at_, &value, bytes);
    at_ += bytes;
    return value;
  }

 private:
  Warp& w_;
  uint32_t lane_;
  uint64_t at_;
};

// One conversion, "%-8.3lf": `spec` without its length modifiers.
std::string converted(Warp& w, uint32_t lane, std::string spec, bool is_long, Arguments& from) {
  char text[512] = {};
  const char what = spec.back();
  if (std::strchr("fFeEgGaA", what) != nullptr) {
    std::snprintf(text, sizeof text, spec.c_str(), std::bit_cast<double>(from.take(8)));
    return text;
  }
  if (what == 's') return string_at(w, lane, from.take(8));
  if (what == 'p') {
    std::snprintf(text, sizeof text, "0x%" PRIx64, from.take(8));
    return text;
  }
  if (what == 'c') return std::string(1, static_cast<char>(from.take(4)));
  if (std::strchr("diouxX", what) == nullptr) return spec;
  uint64_t value = from.take(is_long ? 8 : 4);
  const bool is_signed = what == 'd' || what == 'i';
  if (!is_long && is_signed) value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
  spec.insert(spec.size() - 1, "ll");
  std::snprintf(text, sizeof text, spec.c_str(), static_cast<long long>(value));
  return text;
}

std::string formatted(Warp& w, uint32_t lane, const std::string& format, uint64_t arguments) {
  Arguments from(w, lane, arguments);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out.push_back('%');
      ++i;
      continue;
    }
    std::string spec = "%";
    bool is_long = false;
    // A width that is too long would only fill memory.
    while (++i < format.size() && std::strchr("-+ #0123456789.hljzt", format[i]) != nullptr) {
      is_long = is_long || std::strchr("ljzt", format[i]) != nullptr;
      if (std::strchr("hljzt", format[i]) == nullptr && spec.size() < 8) spec.push_back(format[i]);
    }
    if (i >= format.size()) break;
    spec.push_back(format[i]);
    out += converted(w, lane, spec, is_long, from);
  }
  return out;
}

void store_result(Warp& w, const Insn& i, uint32_t lane, int32_t value) {
  if (i.count == 0) return;
  std::memcpy(local_of(w, lane, w.kernel->extra[i.list]), &value, 4);
}

Next print(Warp& w, const Insn& i, uint32_t lanes) {
  constexpr size_t kMost = size_t{1} << 24;
  for (uint32_t l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    const std::string format = string_at(w, l, argument(w, i, l, 0, 8));
    const std::string text = formatted(w, l, format, argument(w, i, l, 1, 8));
    if (w.machine->printed.size() < kMost) w.machine->printed += text;
    store_result(w, i, l, static_cast<int32_t>(text.size()));
  }
  return Next::go;
}

// void __assertfail(message, file, unsigned line, function, size_t)
Next assert_fail(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    w.machine->printed += string_at(w, l, argument(w, i, l, 1, 8)) + ":" +
                          std::to_string(argument(w, i, l, 2, 4)) + ": assertion `" +
                          string_at(w, l, argument(w, i, l, 0, 8)) + "` failed\n";
  }
  w.machine->report(w, i, lanes, FaultCode::trap);
  return Next::stop;
}

}  // namespace

Handler find_builtin(std::string_view name) {
  if (name == "vprintf") return print;
  if (name == "__assertfail") return assert_fail;
  return nullptr;
}

}  // namespace cohort::emu
