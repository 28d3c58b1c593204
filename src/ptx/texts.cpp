#include "ptx/texts.h"

#include <cstring>

namespace cohort::ptx {

namespace {

constexpr size_t kFirstSlots = 256;

uint64_t word_at(const char* p, size_t n) {
  uint64_t w = 0;
  if (n > 0) std::memcpy(&w, p, n);
  return w;
}

}  // namespace

// Folds the 128-bit product, as in wyhash: each bit of the result depends on all of both.
uint64_t mixed(uint64_t a, uint64_t b, uint64_t seed) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ seed) * (b ^ 0x9e3779b97f4a7c15u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t table_seed() {
  static const char* const kAnywhere = new char;  // its address is random where the system says so
  return mixed(reinterpret_cast<uintptr_t>(kAnywhere), reinterpret_cast<uintptr_t>(&kAnywhere),
               0xd1342543de82ef95u);
}

Texts::Texts() : seed_(table_seed()), slots_(kFirstSlots, kNone) {
  const Text empty = intern({});
  static_cast<void>(empty);
}

uint32_t Texts::hash(std::string_view text) const {
  uint64_t h = seed_;
  const char* p = text.data();
  size_t n = text.size();
  for (; n > 16; p += 16, n -= 16) h = mixed(word_at(p, 8), word_at(p + 8, 8), h);
  const uint64_t low = n > 8 ? word_at(p, 8) : word_at(p, n);
  const uint64_t high = n > 8 ? word_at(p + 8, n - 8) : 0;
  h = mixed(mixed(low, high, h), text.size(), seed_);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

size_t Texts::slot_of(std::string_view text, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const uint32_t id = slots_[at];
    if (id == kNone || (entries_[id].hash == hash && (*this)[id] == text)) return at;
  }
}

Text Texts::find(std::string_view text) const { return slots_[slot_of(text, hash(text))]; }

Text Texts::intern(std::string_view text) {
  const uint32_t h = hash(text);
  const size_t at = slot_of(text, h);
  if (slots_[at] != kNone) return slots_[at];
  const uint32_t id = size();
  entries_.push_back({bytes_.size(), static_cast<uint32_t>(text.size()), h});
  bytes_ += text;
  slots_[at] = id;
  if (entries_.size() * 2 > slots_.size()) grow();
  return id;
}

void Texts::grow() {
  const size_t size = slots_.size() * 2;
  slots_.assign(size, kNone);
  for (uint32_t id = 0; id < this->size(); ++id) {
    size_t at = entries_[id].hash & (size - 1);
    while (slots_[at] != kNone) at = (at + 1) & (size - 1);
    slots_[at] = id;
  }
}

PairTable::PairTable() : seed_(table_seed()), slots_(kFirstSlots) {}

uint32_t PairTable::find_or_add(uint64_t key, uint32_t value) {
  const size_t mask = slots_.size() - 1;
  size_t at = mixed(key, 0, seed_) & mask;
  for (; slots_[at].value != kNone; at = (at + 1) & mask) {
    if (slots_[at].key == key) return slots_[at].value;
  }
  slots_[at] = {key, value};
  if (++used_ * 2 > slots_.size()) grow();
  return value;
}

void PairTable::grow() {
  std::vector<Entry> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Entry& e : old) {
    if (e.value == kNone) continue;
    size_t at = mixed(e.key, 0, seed_) & mask;
    while (slots_[at].value != kNone) at = (at + 1) & mask;
    slots_[at] = e;
  }
}

}  // namespace cohort::ptx
