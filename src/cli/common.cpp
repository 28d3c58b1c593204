#include "cli/common.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace cohort::cli {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::file:
      return kUsage;
    case ErrorKind::environment:
    case ErrorKind::internal:
      return kInternal;
    default:
      return kBadGraph;
  }
}

namespace {

std::string_view kind_name(ErrorKind kind) {
  constexpr std::string_view kNames[] = {"invalid_graph", "unsupported", "mismatch", "file",
                                         "environment",   "limit",       "internal"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view kind_name(const Stop& stop) {
  const std::string code =
      stop.problems.empty() ? std::string() : std::string(stop.problems.front().code);
  if (code == "E-FILE") return kind_name(ErrorKind::file);
  if (code == "E-MEMORY") return kind_name(ErrorKind::limit);
  if (stop.exit == kInternal) return kind_name(ErrorKind::internal);
  return stop.exit == kUsage ? "usage" : kind_name(ErrorKind::mismatch);
}

Json finding_json(const Finding& f) {
  Json j{{"code", f.code}, {"op", f.op}, {"field", f.field}};
  j["dimension"] = f.dimension < 0 ? Json(nullptr) : Json(f.dimension);
  j["wanted"] = f.wanted;
  j["got"] = f.got;
  j["message"] = f.message;
  j["where"] = f.where;
  j["hint"] = f.hint;
  return j;
}

// Standard output may be what failed, so what it takes is not asked again.
void print_failure(const Json& j) {
  const std::string text = j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// The number that `cksum` of POSIX prints for a text.
uint32_t checksum(std::string_view text) {
  uint32_t crc = 0;
  const auto take = [&crc](uint64_t byte) {
    crc ^= static_cast<uint32_t>(byte & 0xFF) << 24;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc >> 31) * 0x04C11DB7U);
  };
  for (const char c : text) take(static_cast<unsigned char>(c));
  for (uint64_t size = text.size(); size != 0; size >>= 8) take(size);
  return ~crc;
}

// What was read of standard input: a command line that names it does not hold it.
std::string& standard_input() {
  static std::string read;
  return read;
}

// As a shell takes it: the rest of the line is a comment.
void print_repro(const Common& common) {
  std::fprintf(stderr, "REPRO: %s%s\n", common.repro.c_str(), standard_input().c_str());
}

}  // namespace

std::string Problem::text() const {
  std::string s = code;
  if (!op.empty()) s += " " + op;
  if (!field.empty()) s += "." + field;
  s += ": " + message;
  return hint.empty() ? s : s + "; " + hint;
}

int report(const Stop& stop, const Common& common) {
  constexpr size_t kMost = 100;  // as many as a list of findings keeps
  const size_t shown_ones = std::min(stop.problems.size(), kMost);
  if (common.json && !stop.is_told) {
    Json list = Json::array();
    for (size_t i = 0; i < shown_ones; ++i) {
      const Problem& p = stop.problems[i];
      list.push_back(finding_json({.code = p.code,
                                   .op = p.op,
                                   .field = p.field,
                                   .dimension = -1,
                                   .wanted = p.wanted,
                                   .got = p.got,
                                   .message = p.message,
                                   .where = {},
                                   .hint = p.hint}));
    }
    print_failure({{"ok", false},
                   {"kind", kind_name(stop)},
                   {"total", stop.problems.size()},
                   {"findings", list}});
  }
  for (size_t i = 0; i < shown_ones; ++i) {
    std::fprintf(stderr, "%s\n", stop.problems[i].text().c_str());
  }
  if (stop.problems.size() > kMost) {
    std::fprintf(stderr, "(%zu more problems)\n", stop.problems.size() - kMost);
  }
  print_repro(common);
  return stop.exit;
}

int report(const Findings& findings, const Common& common) {
  if (common.json) {
    Json list = Json::array();
    for (const Finding& f : findings) list.push_back(finding_json(f));
    const Json j{{"ok", false},
                 {"kind", kind_name(findings.kind())},
                 {"total", findings.total()},
                 {"findings", list}};
    print_failure(j);
  } else {
    const std::string_view text = findings.text();
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  print_repro(common);
  return exit_code(findings.kind());
}

std::string read_text(const std::string& path) {
  // One byte more than the largest graph, so that the reader can say that it is too large.
  constexpr size_t kMost = (size_t{64} << 20) + 1;
  const auto close = [](std::FILE* f) {
    if (f != stdin) std::fclose(f);
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(
      path == "-" ? stdin : std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr)
    throw Stop{kUsage, {{"E-FILE", path, std::string("cannot open: ") + std::strerror(errno)}}};
  std::string text;
  std::string buffer(1 << 16, '\0');
  while (text.size() < kMost) {
    const size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), n);
    if (n == buffer.size()) continue;
    if (std::ferror(file.get()) != 0) {
      throw Stop{kUsage, {{"E-FILE", path, std::string("cannot read: ") + std::strerror(errno)}}};
    }
    break;
  }
  if (path == "-") {
    standard_input() = " # standard input: " + std::to_string(text.size()) + " bytes, cksum " +
                       std::to_string(checksum(text));
  }
  return text;
}

Graph read_graph(const Common& common) { return value_of(parse_json(read_text(common.graph))); }

void print(std::string_view text) {
  const size_t n = std::fwrite(text.data(), 1, text.size(), stdout);
  if (n != text.size() || std::fflush(stdout) != 0) {
    throw Stop{
        kUsage,
        {{"E-FILE", "standard output", std::string("cannot write: ") + std::strerror(errno)}}};
  }
}

std::string shown(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string s;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      s += c;
    } else {
      s.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
  return s;
}

std::string quoted(std::string_view argument) {
  const bool plain = !argument.empty() && argument.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"
                                              "Z0123456789_-=./,:+@%") == std::string_view::npos;
  if (plain) return std::string(argument);
  std::string s = "'";
  for (char c : argument) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}

}  // namespace cohort::cli
