#include "emu/async/tensor_product.h"

#include <algorithm>
#include <string>

#include "emu/async/operand_fetch.h"
#include "emu/mma/block_scaled_dot.h"
#include "emu/mma/fast_dot.h"
#include "emu/mma/integer_dot.h"

namespace cohort::emu {

namespace {

bool is_fp4(MmaKind kind) { return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4; }

// A in tensor memory: elements packed into cells, row r in the lane of row r of D.
void fetch_tensor(const PipeIssue& issue, Cta& cta, const TensorProduct& p, Lines& out) {
  const uint32_t pitch = element_pitch(p.form.kind, p.shape.a);
  for (uint32_t row = 0; row < out.count; ++row) {
    const uint32_t lane = p.a_cell.lane + cell_of(p.layout(), p.shape.n, row, 0).lane;
    for (uint32_t k = 0; k < out.k; ++k) {
      const uint32_t bit = k * pitch;
      const uint32_t cell = cta.tensor.cell(lane % kTensorLanes, p.a_cell.column + bit / 32);
      const uint32_t code = pitch == 32 ? cell : cell >> (bit % 32) & ((1u << pitch) - 1);
      out.codes[size_t{row} * out.k + k] = code;
    }
  }
  const bool all = p.rows() == kTensorLanes;
  for (uint32_t q = 0; q < (all ? 1u : 4u); ++q) {
    issue.access(tensor_box(cta, Kind::read, p.a_cell.lane + 32 * q, all ? kTensorLanes : 16,
                            p.a_cell.column, p.columns_a()));
  }
}

// The codes of the scales of one line, as the lanes of a quarter hold them.
struct ScaleCodes {
  std::vector<uint8_t> codes;  // [line][block]
  uint32_t blocks = 1;
  bool operator==(const ScaleCodes&) const = default;
  [[nodiscard]] std::span<const uint8_t> line(uint32_t i) const {
    return {codes.data() + size_t{i} * blocks, blocks};
  }
};

uint32_t blocks_of(const MmaForm& form) {
  return form.kind == MmaKind::mxf8f6f4 ? 1 : form.block == 16 ? 4 : 2;
}

uint8_t scale_at(Cta& cta, const TensorCell& base, const ScalePlace& place, uint32_t quarter) {
  const uint32_t cell =
      cta.tensor.cell(place.cell.lane + 32 * quarter, base.column + place.cell.column);
  return static_cast<uint8_t>(cell >> (8 * (place.byte % 4)));
}

BlockScale block_scale(uint8_t code) { return {code == 0xFF, int32_t{code} - 127}; }

// D of one CTA.
class Sum {
 public:
  Sum(const PipeIssue& issue, const TensorProduct& p, uint32_t number)
      : issue_(issue), p_(p), cta_(issue.cta(number)), number_(number) {}

  void run(const Lines& a, const Lines& b) {
    read();
    const MmaKind kind = p_.form.kind;
    if (kind == MmaKind::i8) {
      integers(a, b);
    } else if (has_scales(kind)) {
      scaled(a, b);
    } else if (p_.shape.d == MmaResult::f16) {
      halves(a, b);
    } else {
      DotLines rows(DotLines::Side::a, element_of(p_.shape.a), static_cast<int>(a.k),
                    static_cast<int>(a.count));
      DotLines columns(DotLines::Side::b, element_of(p_.shape.b), static_cast<int>(b.k),
                       static_cast<int>(b.count));
      for (uint32_t i = 0; i < a.count; ++i) rows.set(static_cast<int>(i), a.line(i));
      for (uint32_t i = 0; i < b.count; ++i) columns.set(static_cast<int>(i), b.line(i));
      fast_dot(rows, columns, kDotF32, d_.data(), p_.shape.n, p_.scale_c);
    }
    write();
  }

 private:
  [[nodiscard]] TensorCell place(uint32_t row, uint32_t column) const {
    TensorCell c = cell_of(p_.layout(), p_.shape.n, row, column);
    c.lane = (c.lane + p_.d.lane) % kTensorLanes;
    c.column += p_.d.column;
    return c;
  }
  [[nodiscard]] bool is_disabled(uint32_t lane) const {
    return (p_.disabled[size_t{4} * number_ + lane / 32] >> (lane % 32) & 1) != 0;
  }

  void access(Kind kind) const {
    // Runs of neighbouring lanes that hold rows and are not disabled.
    bool used[kTensorLanes + 1] = {};
    for (uint32_t row = 0; row < p_.rows(); ++row) {
      for (const uint32_t column : {0u, p_.shape.n - 1}) {
        const uint32_t lane = place(row, column).lane;
        used[lane] = kind == Kind::read || !is_disabled(lane);
      }
    }
    for (uint32_t lane = 0; lane < kTensorLanes;) {
      uint32_t end = lane;
      while (used[end]) ++end;
      if (end != lane) {
        issue_.access(tensor_box(cta_, kind, lane, end - lane, p_.d.column, p_.columns_d()));
      }
      lane = end + 1;
    }
  }

  void read() {
    d_.assign(size_t{p_.rows()} * p_.shape.n, 0);
    if (!p_.accumulate) return;
    access(Kind::read);
    for (uint32_t row = 0; row < p_.rows(); ++row) {
      for (uint32_t n = 0; n < p_.shape.n; ++n) {
        const TensorCell c = place(row, n);
        const uint32_t cell = cta_.tensor.cell(c.lane, c.column);
        at(row, n) = p_.shape.d == MmaResult::f16 ? cell & 0xFFFF : cell;
      }
    }
  }
  void write() {
    access(Kind::write);
    for (uint32_t row = 0; row < p_.rows(); ++row) {
      for (uint32_t n = 0; n < p_.shape.n; ++n) {
        const TensorCell c = place(row, n);
        if (!is_disabled(c.lane)) cta_.tensor.cell(c.lane, c.column) = at(row, n);
      }
    }
  }

  void integers(const Lines& a, const Lines& b) {
    const auto values = [](const Lines& l, bool is_signed) {
      std::vector<int16_t> v(l.codes.size());
      for (size_t i = 0; i < v.size(); ++i) {
        v[i] = is_signed ? static_cast<int8_t>(l.codes[i]) : static_cast<int16_t>(l.codes[i]);
      }
      return v;
    };
    const std::vector<int16_t> rows = values(a, p_.shape.a == MmaOperand::s8);
    const std::vector<int16_t> columns = values(b, p_.shape.b == MmaOperand::s8);
    for (uint32_t m = 0; m < a.count; ++m) {
      for (uint32_t n = 0; n < b.count; ++n) {
        at(m, n) = static_cast<uint32_t>(integer_dot(
            {rows.data() + size_t{m} * a.k, a.k}, {columns.data() + size_t{n} * b.k, b.k},
            static_cast<int32_t>(at(m, n)), p_.shape.saturate));
      }
    }
  }

  static std::vector<Exact> exact(const Lines& l, MmaOperand operand) {
    std::vector<Exact> v(l.codes.size());
    std::transform(l.codes.begin(), l.codes.end(), v.begin(),
                   [&](uint32_t code) { return decode(element_of(operand), code); });
    return v;
  }

  void halves(const Lines& a, const Lines& b) {
    const std::vector<Exact> rows = exact(a, p_.shape.a);
    const std::vector<Exact> columns = exact(b, p_.shape.b);
    for (uint32_t m = 0; m < a.count; ++m) {
      for (uint32_t n = 0; n < b.count; ++n) {
        const Exact c = decode_accumulator(Accumulator::f16, at(m, n), p_.scale_c);
        at(m, n) = fused_dot({rows.data() + size_t{m} * a.k, a.k},
                             {columns.data() + size_t{n} * b.k, b.k}, c, kDotF16);
      }
    }
  }

  // Scales of the rows of a quarter, and of all columns as that quarter holds them.
  ScaleCodes scales_a(uint32_t quarter, uint32_t first, uint32_t count) {
    ScaleCodes s;
    s.blocks = blocks_of(p_.form);
    for (uint32_t m = first; m < first + count; ++m) {
      for (uint32_t j = 0; j < s.blocks; ++j) {
        s.codes.push_back(
            scale_at(cta_, p_.scale_a, scale_place(m, j, p_.shape.scale_id_a), quarter));
      }
    }
    return s;
  }
  ScaleCodes scales_b(uint32_t quarter) {
    ScaleCodes s;
    s.blocks = blocks_of(p_.form);
    const bool split = p_.layout() == TensorLayout::b;
    const uint32_t n = p_.shape.n;
    for (uint32_t c = 0; c < n; ++c) {
      for (uint32_t j = 0; j < s.blocks; ++j) {
        const ScalePlace at = split ? scale_place_2x2(c, n, j, p_.shape.scale_id_b)
                                    : scale_place(c, j, p_.shape.scale_id_b);
        s.codes.push_back(
            scale_at(cta_, p_.scale_b, at, split && c >= n / 2 ? quarter + 2 : quarter));
      }
    }
    return s;
  }

  void scaled(const Lines& a, const Lines& b) {
    issue_.access(
        tensor_box(cta_, Kind::read, 0, kTensorLanes, p_.scale_a.column, p_.columns_scale_a()));
    issue_.access(
        tensor_box(cta_, Kind::read, 0, kTensorLanes, p_.scale_b.column, p_.columns_scale_b()));
    if (is_fp4(p_.form.kind)) return fours(a, b);
    DotLines columns(DotLines::Side::b, element_of(p_.shape.b), static_cast<int>(b.k),
                     static_cast<int>(b.count));
    ScaleCodes set;
    for (uint32_t q = 0; q < a.count / 32; ++q) {
      const ScaleCodes of_b = scales_b(q);
      if (!(of_b == set)) {
        for (uint32_t i = 0; i < b.count; ++i) {
          columns.set(static_cast<int>(i), b.line(i), block_scale(of_b.line(i)[0]));
        }
        set = of_b;
      }
      const ScaleCodes of_a = scales_a(q, 32 * q, 32);
      DotLines rows(DotLines::Side::a, element_of(p_.shape.a), static_cast<int>(a.k), 32);
      for (uint32_t i = 0; i < 32; ++i) {
        rows.set(static_cast<int>(i), a.line(32 * q + i), block_scale(of_a.line(i)[0]));
      }
      fast_dot(rows, columns, kDotF32, &at(32 * q, 0), p_.shape.n);
    }
  }

  void fours(const Lines& a, const Lines& b) {
    const std::vector<Exact> rows = exact(a, p_.shape.a);
    const std::vector<Exact> columns = exact(b, p_.shape.b);
    for (uint32_t q = 0; q < a.count / 32; ++q) {
      const ScaleCodes of_a = scales_a(q, 32 * q, 32);
      const ScaleCodes of_b = scales_b(q);
      for (uint32_t m = 32 * q; m < 32 * q + 32; ++m) {
        const std::span<const Exact, kFp4Length> row{rows.data() + size_t{m} * a.k, kFp4Length};
        for (uint32_t n = 0; n < b.count; ++n) {
          at(m, n) = fp4_dot(
              row, std::span<const Exact, kFp4Length>{columns.data() + size_t{n} * b.k, kFp4Length},
              at(m, n), p_.shape.scale_format, of_a.line(m % 32), of_b.line(n));
        }
      }
    }
  }

  uint32_t& at(uint32_t row, uint32_t column) { return d_[size_t{row} * p_.shape.n + column]; }

  const PipeIssue& issue_;
  const TensorProduct& p_;
  Cta& cta_;
  uint32_t number_;
  std::vector<uint32_t> d_;
};

}  // namespace

TensorLayout TensorProduct::layout() const {
  return layout_of(shape.m, form.cta_group, form.ws, form.sparse);
}
uint32_t TensorProduct::columns_d() const {
  return layout() == TensorLayout::b ? shape.n / 2 : shape.n;
}
uint32_t TensorProduct::columns_a() const {
  return shape.k * element_pitch(form.kind, shape.a) / 32;
}
uint32_t TensorProduct::columns_scale_a() const { return (rows() + 31) / 32; }
uint32_t TensorProduct::columns_scale_b() const { return (columns_d() + 31) / 32; }
uint32_t TensorProduct::step_shape() const {
  return static_cast<uint32_t>(form.kind) | static_cast<uint32_t>(shape.d) << 4 | shape.m << 8 |
         shape.n << 20;
}

void multiply(const PipeIssue& issue, const TensorProduct& p) {
  const uint32_t ctas = p.form.cta_group;
  for (uint32_t i = 0; i < ctas; ++i) {
    // After the end of a CTA that did not wait, its memory may be gone.
    if (issue.cta(i).shared.empty()) return;
  }
  Lines b(p.shape.n, p.shape.k);
  std::vector<Lines> a;
  for (uint32_t i = 0; i < ctas; ++i) {
    Cta& cta = issue.cta(i);
    a.emplace_back(p.rows(), p.shape.k);
    if (p.a_in_tensor) {
      fetch_tensor(issue, cta, p, a.back());
    } else if (!fetch_lines(issue, cta, {p.form.kind, p.shape.a, p.shape.major_a, p.a, 0}, 0,
                            p.rows(), a.back())) {
      return;
    }
    const SharedOperand of_b{p.form.kind, p.shape.b, p.shape.major_b, p.b, 0};
    if (!fetch_lines(issue, cta, of_b, i * p.columns_b(), p.columns_b(), b)) return;
    if (p.shape.negate_a) negate(a.back(), p.shape.a);
  }
  if (p.shape.negate_b) negate(b, p.shape.b);
  for (uint32_t i = 0; i < ctas; ++i) Sum(issue, p, i).run(a[i], b);
}

void copy(const PipeIssue& issue, const TensorCopy& c) {
  const CopyExtent extent = extent_of(c.shape);
  for (uint32_t i = 0; i < issue.cta_group; ++i) {
    Cta& cta = issue.cta(i);
    if (cta.shared.empty()) return;
    // Bytes are elements here, 16 of them a chunk.
    Lines rows(extent.rows, extent.bytes);
    const SharedOperand bytes_of_rows{MmaKind::i8, MmaOperand::u8, Major::k, c.from, 0};
    if (!fetch_lines(issue, cta, bytes_of_rows, 0, extent.rows, rows)) return;
    for (uint32_t row = 0; row < extent.rows; ++row) {
      const CopyLanes lanes = lanes_of(c.shape, row);
      for (uint32_t l = 0; l < lanes.count; ++l) {
        const uint32_t lane = (c.to.lane + lanes.lanes[l]) % kTensorLanes;
        for (uint32_t k = 0; k < extent.bytes; k += 4) {
          const std::span<const uint32_t> bytes = rows.line(row).subspan(k, 4);
          cta.tensor.cell(lane, c.to.column + k / 4) =
              bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
        }
        if (c.shape == CopyShape::x4x256b) {
          issue.access(tensor_box(cta, Kind::write, lane, 1, c.to.column, extent.bytes / 4));
        }
      }
    }
    if (c.shape != CopyShape::x4x256b) {
      issue.access(tensor_box(cta, Kind::write, 0, kTensorLanes, c.to.column, extent.bytes / 4));
    }
  }
}

}  // namespace cohort::emu
