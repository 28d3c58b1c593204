#include "launch/arguments.h"

#include <algorithm>
#include <cstring>

#include "base/nearest.h"
#include "emu/async/tensor_map.h"
#include "emu/run.h"

namespace cohort::launch {

int Names::find(std::string_view name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

std::string Names::hint(std::string_view name) const {
  if (name.size() > 256) return {};
  const std::string_view near = base::nearest(name, names);
  if (!near.empty()) return "did you mean '" + std::string(near) + "'?";
  std::string all = "there are";
  if (names.empty() || names.size() > 16) return {};
  for (const std::string_view n : names) all.append(" ").append(n);
  return all;
}

namespace {

class Encoder {
 public:
  Encoder(const emu::Kernel& kernel, const Names& names, base::Diagnostics& found)
      : kernel_(kernel), names_(names), found_(found), bytes_(kernel.parameter_bytes) {}

  std::vector<uint8_t>& bytes() { return bytes_; }

  void parameter(const emu::ParameterSlot& slot, const KernelArgument& a, uint32_t alignment,
                 const std::string& where) {
    slot_ = &slot;
    alignment_ = alignment;
    const int64_t size = size_of(a);
    if (size != slot.bytes) {
      add(slot.name, std::to_string(slot.bytes) + " bytes",
          std::to_string(size) + " bytes (" + kind(a) + ")", where);
      return;
    }
    if (a.kind != KernelArgument::Kind::parts) return value(a, slot.offset, where);
    for (int64_t i = 0; i < a.part_count; ++i) part(a, i, where);
  }

 private:
  static std::string kind(const KernelArgument& a) {
    switch (a.kind) {
      case KernelArgument::Kind::number:
        return std::string(name(a.type));
      case KernelArgument::Kind::pointer:
        return "the address of a buffer";
      case KernelArgument::Kind::tensor_map:
        return "a tensor map";
      case KernelArgument::Kind::bytes:
        return "bytes";
      case KernelArgument::Kind::parts:
        break;
    }
    return "parts";
  }
  static int64_t size_of(const KernelArgument& a) {
    switch (a.kind) {
      case KernelArgument::Kind::number:
        return element_bytes(a.type);
      case KernelArgument::Kind::pointer:
        return 8;
      case KernelArgument::Kind::tensor_map:
        return 128;
      case KernelArgument::Kind::bytes:
      case KernelArgument::Kind::parts:
        break;
    }
    return a.size;
  }

  void add(std::string_view field, std::string wanted, std::string got, const std::string& where,
           std::string hint = {}) {
    found_.add({.code = "E-LAUNCH",
                .op = kernel_.name,
                .field = std::string(field),
                .wanted = std::move(wanted),
                .got = std::move(got),
                .where = where,
                .hint = std::move(hint)});
  }

  void part(const KernelArgument& a, int64_t i, const std::string& where) {
    const std::string here = where + "/struct/parts/" + std::to_string(i);
    const KernelArgument& p = a.part[i];
    const int64_t size = size_of(p);
    if (p.kind == KernelArgument::Kind::parts) {
      return add(slot_->name, "parts without parts", "parts", here);
    }
    if (p.at < 0 || size < 0 || p.at > a.size - size) {
      return add(slot_->name, "a part within " + std::to_string(a.size) + " bytes",
                 std::to_string(size) + " bytes at " + std::to_string(p.at), here);
    }
    alignment_ = 1;
    value(p, slot_->offset + static_cast<uint64_t>(p.at), here);
  }

  void value(const KernelArgument& a, uint64_t at, const std::string& where) {
    uint8_t* to = bytes_.data() + at;
    switch (a.kind) {
      case KernelArgument::Kind::number:
        std::memcpy(to, &a.bits, static_cast<size_t>(element_bytes(a.type)));
        return;
      case KernelArgument::Kind::pointer: {
        const uint64_t address = address_of(a.buffer, a.offset, alignment_, where);
        std::memcpy(to, &address, sizeof address);
        return;
      }
      case KernelArgument::Kind::tensor_map:
        return map(a.map, to, where + "/tensor_map");
      case KernelArgument::Kind::bytes:
        if (a.size > 0 && a.data != nullptr) {
          std::memcpy(to, a.data, static_cast<size_t>(a.size));
        } else if (a.size > 0) {
          add(slot_->name, "bytes", "a null pointer", where);
        }
        return;
      case KernelArgument::Kind::parts:
        return;
    }
  }

  uint64_t address_of(std::string_view buffer, int64_t offset, uint64_t alignment,
                      const std::string& where) {
    const int index = names_.find(buffer);
    if (index < 0) {
      add(slot_->name, "a buffer", "'" + std::string(buffer.substr(0, 64)) + "'", where + "/buffer",
          names_.hint(buffer));
      return 0;
    }
    const uint64_t bytes = names_.bytes[static_cast<size_t>(index)];
    if (offset < 0 || static_cast<uint64_t>(offset) > bytes) {
      add(slot_->name,
          "an offset of 0 to " + std::to_string(bytes) + " in '" + std::string(buffer) + "'",
          std::to_string(offset), where + "/offset");
      return 0;
    }
    if (static_cast<uint64_t>(offset) % std::max<uint64_t>(alignment, 1) != 0) {
      add(slot_->name, "an address that is a multiple of " + std::to_string(alignment),
          "'" + std::string(buffer) + "' + " + std::to_string(offset), where + "/offset");
    }
    return emu::buffer_address(static_cast<uint64_t>(index)) + static_cast<uint64_t>(offset);
  }

  // The enums count the same spans in the same order.
  template <class E>
  bool span(int32_t bytes, std::initializer_list<int32_t> spans, E& value, const char* field,
            const std::string& where) {
    const auto* at = std::find(spans.begin(), spans.end(), bytes);
    value = static_cast<E>(at - spans.begin());
    if (at != spans.end()) return true;
    std::string wanted;
    for (const int32_t s : spans) wanted += (wanted.empty() ? "" : ", ") + std::to_string(s);
    add(field, wanted + " bytes", std::to_string(bytes), where + "/" + field);
    return false;
  }

  static void pack(emu::TensorMap& m) {
    uint64_t step = emu::bytes_of(m.type);
    for (uint32_t i = 0; i + 1 < m.rank; ++i) {
      step = m.dims[i] > (uint64_t{1} << 40) / step ? uint64_t{1} << 40 : step * m.dims[i];
      m.strides[i] = step;
    }
  }

  void map(const TensorMapDescription& d, uint8_t* to, const std::string& where) {
    emu::TensorMap m;
    if (d.rank < 1 || d.rank > 5) {
      return add("rank", "1 to 5", std::to_string(d.rank), where + "/dims");
    }
    m.type = static_cast<emu::MapType>(d.type);
    m.rank = static_cast<uint32_t>(d.rank);
    m.fill = d.fill_nan ? emu::MapFill::nan : emu::MapFill::zero;
    bool fits = span(d.swizzle, {0, 32, 64, 128}, m.swizzle, "swizzle", where);
    fits &= span(d.interleave, {0, 16, 32}, m.interleave, "interleave", where);
    fits &= span(d.l2_promotion, {0, 64, 128, 256}, m.promotion, "l2_promotion", where);
    bool any_stride = false;
    for (size_t i = 0; i < m.rank; ++i) {
      m.dims[i] = static_cast<uint64_t>(std::max<int64_t>(d.dims[i], 0));
      m.box[i] = static_cast<uint32_t>(std::max(d.box[i], 0));
      m.element_strides[i] = static_cast<uint32_t>(std::max(d.element_strides[i], 0));
      if (i + 1 == m.rank) break;
      any_stride |= d.strides[i] != 0;
      m.strides[i] = d.strides[i] < 0 ? UINT64_MAX : static_cast<uint64_t>(d.strides[i]);
    }
    if (!any_stride) pack(m);
    m.address = address_of(d.buffer, d.offset, 1, where);
    if (!fits || m.address == 0) return;
    if (const auto fault = emu::check(m)) {
      // Strides are listed from dimension 1 on.
      const int entry = fault->dimension - (std::string_view(fault->field) == "strides" ? 1 : 0);
      const std::string dimension = fault->dimension < 0 ? "" : "/" + std::to_string(entry);
      const bool is_address = std::string_view(fault->field) == "address";
      return add(fault->field, fault->wanted,
                 is_address ? "'" + std::string(d.buffer) + "' + " + std::to_string(d.offset)
                            : std::to_string(fault->got),
                 where + "/" + (is_address ? "offset" : fault->field) + dimension);
    }
    const emu::TensorMapBytes encoded = emu::encode(m);
    std::memcpy(to, encoded.data(), encoded.size());
  }

  const emu::Kernel& kernel_;
  const Names& names_;
  base::Diagnostics& found_;
  std::vector<uint8_t> bytes_;
  const emu::ParameterSlot* slot_ = nullptr;
  uint32_t alignment_ = 1;
};

}  // namespace

std::vector<uint8_t> encode_arguments(const ptx::Function& entry, const emu::Kernel& kernel,
                                      const KernelLaunch& launch, const Names& names,
                                      const std::string& where, base::Diagnostics& found) {
  Encoder encoder(kernel, names, found);
  const auto count = static_cast<size_t>(launch.arguments.size());
  if (count != kernel.parameters.size()) {
    std::string list;
    for (const emu::ParameterSlot& p : kernel.parameters) {
      if (list.size() > 200) break;
      list.append(list.empty() ? ": " : ", ").append(p.name).append(" (");
      list.append(std::to_string(p.bytes)).append(" bytes)");
    }
    found.add({.code = "E-LAUNCH",
               .op = kernel.name,
               .field = "arguments",
               .wanted = std::to_string(kernel.parameters.size()) + list,
               .got = std::to_string(count),
               .where = where + "/arguments"});
    return std::move(encoder.bytes());
  }
  std::vector<uint32_t> alignments;
  for (const ptx::Parameter& p : entry.parameters) {
    if (p.is_register) continue;
    alignments.push_back(std::max(entry.variables[p.index].pointer_alignment, 1U));
  }
  for (size_t i = 0; i < count; ++i) {
    encoder.parameter(kernel.parameters[i], launch.arguments[static_cast<int64_t>(i)],
                      alignments[i], where + "/arguments/" + std::to_string(i));
  }
  return std::move(encoder.bytes());
}

}  // namespace cohort::launch
