// The parser's inside: one pass over the text, one token of lookahead. Its parts, by file:
// reader.cpp (tokens, findings, names), module_reader.cpp, function_reader.cpp, body_reader.cpp,
// operand_reader.cpp, expression_reader.cpp, variable_reader.cpp, image_reader.cpp,
// debug_reader.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ptx/lexer.h"
#include "ptx/parse.h"
#include "ptx/symbols.h"

namespace cohort::ptx {

/// The value of a constant expression.
struct Constant {
  enum class Kind : uint8_t { integer, f32, f64 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  uint64_t bits = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const ParseOptions& options);
  [[nodiscard]] Result<Module> read();

 private:
  // Tokens. `last_end_` is where the token before t_ ended.
  void advance();
  bool take(char c);
  bool take_word(std::string_view word);
  /// False, with a finding, when the mark is not there.
  bool expect(char c, std::string_view where);
  /// The `;` of a statement. After one that is missing at the end of a line, reading goes on there.
  void end_statement();
  /// Goes behind the next `;` of this level, or before the `}` that ends it.
  void skip_statement();
  [[nodiscard]] bool at_end() const { return t_.kind == Token::Kind::end; }
  void stop();

  // Findings.
  void wanted(std::string_view what, std::string_view hint = {});
  void syntax(Place place, std::string_view what, std::string_view got, std::string_view hint = {});
  void name_finding(Place place, std::string_view name, std::string_view what,
                    std::string_view got);
  void limit(Place place, std::string_view what, int64_t most);
  [[nodiscard]] bool has_room() const { return findings_.total() < base::kMaxFindings; }
  [[nodiscard]] std::string where(Place place) const;
  [[nodiscard]] std::string token_text() const;

  // Names.
  [[nodiscard]] Text intern(std::string_view text, Place place);
  /// Interns the word at t_ and takes it; 0, with a finding, when there is none.
  [[nodiscard]] Text take_name(std::string_view what);
  bool declare(Symbol::Kind kind, Text name, uint32_t index, Place place, uint32_t count = 1);
  void count_declaration(Place place);
  struct Found {
    const Symbol* symbol = nullptr;
    uint32_t element = 0;
  };
  [[nodiscard]] Found look_up(std::string_view word) const;
  /// The range that `word` is an element of, in any visible scope.
  [[nodiscard]] Found look_up_range(std::string_view word) const;
  [[nodiscard]] uint32_t use_register(const Found& found);
  void open_scope();
  void close_scope();
  void report_open_references();

  // Module.
  void read_header();
  void read_version();
  void read_target();
  void read_address_size();
  void module_statement();
  void read_alias();
  void read_pragma(std::vector<Directive>& pragmas);
  /// 0 or more numbers after a directive's name.
  void read_numbers(Directive& directive, size_t least, size_t most);
  [[nodiscard]] Linkage take_linkage();
  [[nodiscard]] Text take_attribute();

  // Functions.
  void read_function(bool is_entry, Linkage linkage);
  void read_parameters(Function& f, std::vector<Parameter>& list);
  void read_function_directives(std::vector<Directive>& directives);
  /// The index in Module::functions; merges with an earlier declaration.
  [[nodiscard]] uint32_t place_function(const Function& f, bool has_body);
  void declare_parameters(const Function& f);
  void read_body(Function& f);
  [[nodiscard]] bool same_signature(const Function& a, const Function& b) const;

  // Statements of a body; f_ is the function.
  void body_statement();
  void read_instruction(bool guarded, uint32_t guard, bool guard_negated);
  void read_guarded();
  void read_label(std::string_view word, Place place);
  void read_named_directive(Text name, Place place);
  void read_targets(Text name, Place place, bool of_calls);
  void read_prototype(Text name, Place place);
  void body_directive();
  void read_registers();
  void mark(Mark::Kind kind, size_t index);
  [[nodiscard]] uint32_t opcode_number(std::string_view text, Place place);

  // Operands are pushed on scratch_. Each function returns false after a finding.
  bool read_operand();
  bool read_word_operand();
  bool read_bracket();
  bool read_element(Operand o);
  bool read_group();
  bool read_list_or_constant();
  bool read_signed();
  bool read_constant_operand();
  bool push_constant(const Constant& c);
  /// What a name means as an operand; pushes it.
  bool push_name(std::string_view word, Place place);
  bool push(const Operand& operand);
  /// Moves what was pushed since `begin` into the function, as the children of `parent`.
  void fold(Operand parent, size_t begin);
  uint32_t settle(size_t begin);
  bool enter(std::string_view what);
  void leave() { --nesting_; }
  [[nodiscard]] Text take_selector();

  // Constant expressions.
  bool read_constant(Constant& c);
  bool read_integer(int64_t& value, std::string_view what);
  bool read_binary(Constant& left, int lowest);
  bool read_unary(Constant& c);
  bool read_primary(Constant& c);
  bool read_cast(Constant& c);
  bool apply_sign(char sign, Constant& c, Place place);
  bool apply(int op, Constant& left, const Constant& right, Place place);
  [[nodiscard]] int binary_operator() const;
  /// `+ 4` or `- 4` and what follows, or nothing: 0.
  bool read_offset(int64_t& value);

  // Variables.
  /// `.align 4 .b8 name[8] = {...}, ...;` after its space.
  void read_variables(Space space, Linkage linkage);
  /// False after a finding.
  bool read_variable_head(Variable& v);
  bool read_variable_modifier(Variable& v);
  bool read_pointer(Variable& v);
  bool take_alignment(uint32_t& alignment);
  bool read_name_and_extents(Variable& v);
  bool finish_extents(Variable& v);
  bool add_variable(Variable&& v);
  bool read_image(Variable& v);
  bool read_image_level(Variable& v, const std::vector<int64_t>& extents, size_t level,
                        int64_t first);
  bool read_image_value(Variable& v, int64_t position);
  bool read_relocation(Variable& v, int64_t position, uint64_t mask);
  bool store(Variable& v, int64_t position, const Constant& c, Place place);
  bool grow_image(Variable& v, int64_t bytes);

  // Debug information.
  void read_file();
  void read_location();
  void skip_section();
  [[nodiscard]] bool take_u32(uint32_t& value, std::string_view what);

  ParseOptions options_;
  Lexer lexer_;
  Token t_;
  Place last_end_;
  base::Diagnostics findings_;
  bool limit_passed_ = false;
  bool stopped_ = false;

  Module m_;
  Symbols symbols_;
  Function* f_ = nullptr;
  uint32_t location_ = kNone;
  int64_t nesting_ = 0;
  int64_t instructions_ = 0;
  int64_t declarations_ = 0;
  int64_t image_bytes_ = 0;
  int64_t operands_ = 0;  // of the instruction that is being read
  std::vector<Operand> scratch_;
  std::vector<uint32_t> opcode_of_text_;
  PairTable used_registers_;
  uint64_t declaration_base_ = 0;  // registers declared in earlier functions
};

}  // namespace cohort::ptx
