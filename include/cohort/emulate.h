// Running PTX on this processor and being told what it does wrong: an emulator of kernels with a
// race checker. No GPU, driver or toolkit is needed. docs/emulator/guide.md begins with an example.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include <cohort/execute.h>
#include <cohort/plan.h>
#include <cohort/status.h>

namespace cohort {

/// Type of an element of a buffer, or of a scalar argument.
enum class ElementType : uint8_t {
  u8,    ///< Unsigned, 8 bits; also bytes of any other type.
  s8,    ///< Signed, 8 bits.
  u16,   ///< Unsigned, 16 bits.
  s16,   ///< Signed, 16 bits.
  u32,   ///< Unsigned, 32 bits.
  s32,   ///< Signed, 32 bits.
  u64,   ///< Unsigned, 64 bits.
  s64,   ///< Signed, 64 bits.
  f16,   ///< IEEE binary16.
  bf16,  ///< bfloat16.
  f32,   ///< IEEE binary32.
  f64,   ///< IEEE binary64.
  e4m3,  ///< fp8, OCP e4m3fn.
  e5m2,  ///< fp8, OCP e5m2.
};
/// Number of element types.
inline constexpr int32_t kElementTypes = 14;
/// "f32".
[[nodiscard]] COHORT_API std::string_view name(ElementType type) noexcept;
/// Bytes of one element.
[[nodiscard]] COHORT_API int64_t element_bytes(ElementType type) noexcept;

/// What a buffer holds before the first launch.
enum class Contents : uint8_t {
  nothing,  ///< Nobody wrote it: a read before a write is a finding.
  bytes,    ///< What `data` points to.
  ramp,     ///< Element i is first + i * step; a step of 0 makes all alike.
  random,   ///< Evenly from [low, high), integers rounded down; the same for the same seed.
};

/// A buffer of global memory. Its address is a multiple of 2^36.
struct EmulatedBuffer {
  std::string_view name;                  ///< Unique among the buffers.
  ElementType type = ElementType::u8;     ///< Of its elements.
  int64_t elements = 0;                   ///< Number of elements, at least 1.
  Contents contents = Contents::nothing;  ///< What it holds at the start.
  const void* data = nullptr;             ///< Contents::bytes: elements * element_bytes(type).
  double first = 0;                       ///< Contents::ramp: element 0.
  double step = 0;                        ///< Contents::ramp: from element to element.
  uint64_t seed = 1;                      ///< Contents::random.
  double low = -1;                        ///< Contents::random: the smallest value.
  double high = 1;                        ///< Contents::random: above the largest value.
};

/// Element type of a tensor map, as cuTensorMapEncodeTiled names them.
enum class MapElement : uint8_t {
  u8,        ///< UINT8.
  u16,       ///< UINT16.
  u32,       ///< UINT32.
  s32,       ///< INT32.
  u64,       ///< UINT64.
  s64,       ///< INT64.
  f16,       ///< FLOAT16.
  f32,       ///< FLOAT32.
  f64,       ///< FLOAT64.
  bf16,      ///< BFLOAT16.
  f32_ftz,   ///< FLOAT32_FTZ.
  tf32,      ///< TFLOAT32.
  tf32_ftz,  ///< TFLOAT32_FTZ.
};

/// A tensor map as a launch describes it: it is encoded when the kernel is launched. Dimension 0 is
/// the innermost. The driver's rules hold: docs/emulator/tensor_map.md.
struct TensorMapDescription {
  std::string_view buffer;           ///< Where the tensor lies.
  int64_t offset = 0;                ///< Bytes from the begin of the buffer: a multiple of 16.
  MapElement type = MapElement::u8;  ///< Of its elements.
  int32_t rank = 1;                  ///< 1 to 5.
  int64_t dims[5] = {};              ///< Extents in elements.
  int64_t strides[4] = {};           ///< Bytes, of dimensions 1 and up; all 0: packed.
  int32_t box[5] = {};               ///< Elements that a copy brings: 1 to 256.
  int32_t element_strides[5] = {1, 1, 1, 1, 1};  ///< 1 to 8.
  int32_t swizzle = 0;                           ///< Bytes of the span: 0, 32, 64 or 128.
  int32_t interleave = 0;                        ///< Bytes: 0, 16 or 32.
  int32_t l2_promotion = 0;                      ///< Bytes: 0, 64, 128 or 256.
  bool fill_nan = false;                         ///< Elements out of bounds are NaN in place of 0.
};

/// One argument of a kernel.
struct KernelArgument {
  /// Kinds of arguments.
  enum class Kind : uint8_t {
    number,      ///< A scalar.
    pointer,     ///< The address of a buffer.
    tensor_map,  ///< 128 bytes that describe a tensor.
    bytes,       ///< As they are: a struct, or a tensor map as recorded.
    parts,       ///< A struct put together: numbers, pointers, maps at offsets, zeros between.
  };
  Kind kind = Kind::number;              ///< Which of the members below count.
  ElementType type = ElementType::u32;   ///< number.
  uint64_t bits = 0;                     ///< number: its bits.
  std::string_view buffer{};             ///< pointer: name of a buffer.
  int64_t offset = 0;                    ///< pointer: bytes from its begin.
  TensorMapDescription map{};            ///< tensor_map.
  const void* data = nullptr;            ///< bytes.
  int64_t size = 0;                      ///< bytes and parts: how many.
  const KernelArgument* part = nullptr;  ///< parts: the first of them; they have no parts.
  int64_t part_count = 0;                ///< parts: how many.
  int64_t at = 0;                        ///< Of a part: the byte of the struct where it begins.

  /// A number of the parameter's own type: an integer, float or double.
  template <class T>
  static constexpr KernelArgument number(T value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8,
                  "a kernel takes integers, float and double as numbers");
    KernelArgument a;
    if constexpr (std::is_same_v<T, float>) {
      a.type = ElementType::f32;
      a.bits = __builtin_bit_cast(uint32_t, value);
    } else if constexpr (std::is_same_v<T, double>) {
      a.type = ElementType::f64;
      a.bits = __builtin_bit_cast(uint64_t, value);
    } else {
      constexpr bool kSigned = std::is_signed_v<T>;
      if constexpr (sizeof(T) == 1) a.type = kSigned ? ElementType::s8 : ElementType::u8;
      if constexpr (sizeof(T) == 2) a.type = kSigned ? ElementType::s16 : ElementType::u16;
      if constexpr (sizeof(T) == 4) a.type = kSigned ? ElementType::s32 : ElementType::u32;
      if constexpr (sizeof(T) == 8) a.type = kSigned ? ElementType::s64 : ElementType::u64;
      a.bits = static_cast<uint64_t>(value);
    }
    return a;
  }
  /// The address of a buffer, `offset` bytes in.
  static constexpr KernelArgument pointer(std::string_view buffer, int64_t offset = 0) {
    KernelArgument a;
    a.kind = Kind::pointer;
    a.buffer = buffer;
    a.offset = offset;
    return a;
  }
  /// A tensor map, by value.
  static constexpr KernelArgument tensor_map(const TensorMapDescription& map) {
    KernelArgument a;
    a.kind = Kind::tensor_map;
    a.map = map;
    return a;
  }
  /// Bytes as they are; the memory must live as long as the call.
  static constexpr KernelArgument bytes(const void* data, int64_t size) {
    KernelArgument a;
    a.kind = Kind::bytes;
    a.data = data;
    a.size = size;
    return a;
  }
};

/// Extents of a grid, cluster or block.
struct Extent3 {
  uint32_t x = 1;  ///< Innermost.
  uint32_t y = 1;  ///< Middle.
  uint32_t z = 1;  ///< Outermost.
};

/// One launch. Those of a run share its buffers and follow each other.
struct KernelLaunch {
  std::string_view kernel;               ///< Name of an entry of the module; empty: the only one.
  Extent3 grid{};                        ///< CTAs.
  Extent3 cluster{};                     ///< CTAs of a cluster; divides the grid.
  Extent3 block{};                       ///< Threads of a CTA.
  uint32_t dynamic_shared = 0;           ///< Bytes.
  bool programmatic = false;             ///< PDL: may begin before the launch before it has ended.
  ListView<KernelArgument> arguments{};  ///< One for each parameter of the kernel, in order.
};

/// What a buffer must hold after the last launch, in every schedule.
struct ExpectedContents {
  std::string_view buffer;              ///< Name of a buffer, whose type and size it has.
  Contents contents = Contents::bytes;  ///< bytes or ramp.
  const void* data = nullptr;           ///< As in EmulatedBuffer.
  double first = 0;                     ///< As in EmulatedBuffer.
  double step = 0;                      ///< As in EmulatedBuffer.
  double absolute = 0;                  ///< |got - wanted| <= absolute + relative * |wanted|.
  double relative = 0;                  ///< See above. NaN equals NaN.
};

/// A module and what to do with it. Everything pointed to must live as long as the call.
struct EmulatedRun {
  std::string_view ptx;                      ///< The text of a module.
  std::string_view ptx_name = "kernel.ptx";  ///< Stands before lines in findings.
  ListView<EmulatedBuffer> buffers{};        ///< Global memory.
  ListView<KernelLaunch> launches{};         ///< At least one.
  ListView<ExpectedContents> expected{};     ///< What to compare.
};

/// Which rules hold; docs/emulator/rules.md lists what `practice` allows.
enum class RaceProfile : uint8_t {
  strict,    ///< The PTX text.
  practice,  ///< What public kernels rely on.
};

/// Options of race_check.
struct RaceOptions {
  RaceProfile profile = RaceProfile::strict;  ///< Which rules hold.
  int32_t schedules = 10;                     ///< Runs, each with a seed of its own: 1 to 1000000.
  uint64_t seed = 1;    ///< Of the first schedule; the next one has the next number.
  int32_t threads = 0;  ///< Schedules side by side; 0: COHORT_THREADS, or one a processor.
  int64_t max_warp_instructions = -1;       ///< Of a schedule, then K-LIVELOCK; -1: any number.
  int64_t memory_bytes = int64_t{4} << 30;  ///< Of buffers, registers, shared memory; all runs.
  ProgressFunction progress = nullptr;      ///< Called between schedules by the calling thread.
  void* user = nullptr;                     ///< Handed to `progress`.
};

/// One side of a finding.
struct RaceAccess {
  std::string_view does;         ///< "reads", "writes", "updates"; "executes" when no access.
  std::string_view instruction;  ///< "st.shared.u32".
  int64_t ptx_line;              ///< Of the PTX text, 1-based; 0: none.
  std::string_view file;         ///< Source file by .loc; empty: unknown.
  int64_t line;                  ///< Of that file.
  std::string_view agent;        ///< "warp 1 of CTA (0, 0, 0), lanes 0-31", or an operation of it.
  int32_t launch;                ///< Which launch it belongs to, from 0.
};

/// Something that a kernel does wrong. Views live as long as the report.
struct RaceFinding {
  std::string_view code;     ///< "K-RACE"; docs/emulator/rules.md has an entry for each.
  std::string_view title;    ///< What that code means, in a line.
  std::string_view text;     ///< All of it for a person: a few lines.
  std::string_view missing;  ///< The edge that is missing, in words; may be empty.
  std::string_view place;    ///< "shared memory of CTA (0, 0, 0), tile + 128"; may be empty.
  std::string_view detail;   ///< Numbers, or what each warp waits for; may be empty.
  RaceAccess now;            ///< Where it was noticed.
  bool has_earlier;          ///< It is about two accesses.
  RaceAccess earlier;        ///< The access before it, in the order of that schedule.
  int64_t offset;            ///< Of the place: bytes in the buffer, shared window or lane; or -1.
  int64_t bytes;             ///< Of the place.
  uint64_t count;            ///< Places, over all schedules.
  int32_t schedules;         ///< In how many schedules.
  uint64_t seed;             ///< Of the first of them.
};

/// How an expected output compares, over all schedules that ended.
struct RaceOutput {
  std::string_view buffer;  ///< Its name.
  int64_t elements;         ///< Elements compared in each schedule.
  int64_t wrong;            ///< Most wrong elements of a schedule.
  int64_t index;            ///< First wrong element of the first schedule that has one; or -1.
  double wanted;            ///< What was expected there.
  double got;               ///< What stood there.
  uint64_t seed;            ///< Of that schedule.
};

/// What a buffer held after the first schedule.
struct BufferView {
  std::string_view name;  ///< Its name; variables of the module come last.
  ElementType type;       ///< As it was given; u8 for variables.
  const void* data;       ///< Lives as long as the report.
  int64_t bytes;          ///< How many.
};

namespace detail {
struct RaceReportRep;
struct RaceReportAccess;
}  // namespace detail

/// What the schedules of a run showed. Copies share it; immutable.
class COHORT_API RaceReport {
 public:
  RaceReport(const RaceReport& other) noexcept;             ///< Shares the report.
  RaceReport& operator=(const RaceReport& other) noexcept;  ///< As above.
  ~RaceReport();

  /// No finding, every schedule came to its end, and every output is as expected.
  [[nodiscard]] bool good() const noexcept;
  [[nodiscard]] int32_t size() const noexcept;   ///< Findings kept: at most 1000.
  [[nodiscard]] int64_t total() const noexcept;  ///< Findings, duplicates folded.
  /// The i-th finding, in the order of schedules; `i` must lie in [0, size()).
  [[nodiscard]] const RaceFinding& operator[](int32_t i) const noexcept;
  [[nodiscard]] int32_t output_count() const noexcept;  ///< Expected outputs.
  /// The i-th expected output; `i` must lie in [0, output_count()).
  [[nodiscard]] const RaceOutput& output(int32_t i) const noexcept;
  [[nodiscard]] int32_t buffer_count() const noexcept;  ///< Buffers and variables of the module.
  /// The i-th buffer after the first schedule; `i` must lie in [0, buffer_count()).
  [[nodiscard]] const BufferView& buffer(int32_t i) const noexcept;
  [[nodiscard]] int32_t schedules() const noexcept;  ///< Schedules that were run.
  [[nodiscard]] int32_t completed() const noexcept;  ///< Those in which all threads ended.
  /// Instructions of threads, over all schedules.
  [[nodiscard]] int64_t thread_instructions() const noexcept;
  /// The first seed with a finding or a wrong output, or the first seed.
  [[nodiscard]] uint64_t seed() const noexcept;
  [[nodiscard]] std::string_view printed() const noexcept;  ///< By vprintf, first schedule.
  [[nodiscard]] std::string_view text() const noexcept;     ///< For a person.
  [[nodiscard]] std::string_view json() const noexcept;     ///< The same as JSON.

 private:
  friend struct detail::RaceReportAccess;
  explicit RaceReport(detail::RaceReportRep* rep) noexcept : rep_(rep) {}
  detail::RaceReportRep* rep_;
};

/// Runs the launches under each schedule and watches them. What the kernels do wrong stands in the
/// report. Findings (a failure) are about what was given: E-PTX, E-SYMBOL for a text that is no
/// PTX; E-UNSUPPORTED for instructions that are not modelled, all at once, and for a kernel that
/// the module does not have; E-LAUNCH for what does not fit, E-LIMIT, E-STOPPED. The same options
/// give the same report, whatever the number of threads.
[[nodiscard]] COHORT_API Result<RaceReport> race_check(const EmulatedRun& run,
                                                       const RaceOptions& options = {}) noexcept;

}  // namespace cohort
