// Text that grows at its end, for the canonical writer: hundreds of short pieces a graph, and the
// text of a layer needs no memory until it is done.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace cohort::ir {

class TextBuffer {
 public:
  TextBuffer() : begin_(local_), at_(local_), end_(local_ + sizeof local_) {}
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  [[nodiscard]] std::string_view view() const {
    return {begin_, static_cast<size_t>(at_ - begin_)};
  }

  void put(char c) {
    want(1);
    *at_++ = c;
  }
  void put(std::string_view text) {
    want(text.size());
    copy(text);
  }
  /// `before`, `text` and `after` in one step.
  template <size_t B, size_t A>
  void put(const char (&before)[B], std::string_view text, const char (&after)[A]) {
    want(text.size() + B + A);
    std::memcpy(at_, before, B - 1);
    at_ += B - 1;
    copy(text);
    std::memcpy(at_, after, A - 1);
    at_ += A - 1;
  }
  /// In decimal; of a float or double the shortest that reads back the same.
  template <class T>
  void put_number(T value) {
    want(40);
    if constexpr (std::is_floating_point_v<T>) {
      // Digits alone are an integer to the reader, and those have 63 bits.
      if (!(value > T{-0x1p63} && value < T{0x1p63})) {
        at_ = std::to_chars(at_, end_, value, std::chars_format::scientific).ptr;
        return;
      }
    }
    at_ = std::to_chars(at_, end_, value).ptr;
  }

 private:
  void want(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) grow(bytes);
  }
  void grow(size_t bytes) {
    const auto used = static_cast<size_t>(at_ - begin_);
    const size_t room = 2 * (used + bytes);
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    std::memcpy(larger.get(), begin_, used);
    heap_ = std::move(larger);
    begin_ = heap_.get();
    at_ = begin_ + used;
    end_ = begin_ + room;
  }
  // Names and words are short: two overlapping moves cost less than a call.
  void copy(std::string_view text) {
    const char* const from = text.data();
    const size_t n = text.size();
    if (n > 16) {
      std::memcpy(at_, from, n);
    } else if (n >= 8) {
      move<8>(at_, from);
      move<8>(at_ + n - 8, from + n - 8);
    } else if (n >= 4) {
      move<4>(at_, from);
      move<4>(at_ + n - 4, from + n - 4);
    } else {
      for (size_t i = 0; i < n; ++i) at_[i] = from[i];
    }
    at_ += n;
  }
  template <size_t N>
  static void move(char* to, const char* from) {
    std::memcpy(to, from, N);
  }

  char local_[4096];
  std::unique_ptr<char[]> heap_;
  char* begin_;
  char* at_;
  char* end_;
};

}  // namespace cohort::ir
