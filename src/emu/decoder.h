// What decode() works with: the kernel so far and the function that is being expanded.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "emu/decode.h"
#include "emu/insn/record.h"
#include "emu/layout.h"

namespace cohort::emu {

/// A function while it is expanded into the kernel.
struct Expansion {
  const ptx::Function* function = nullptr;
  std::vector<uint32_t> words;     ///< Of Function::registers; kNoOperand: none yet.
  std::vector<Storage> variables;  ///< Of Function::variables.
  std::vector<uint32_t> pcs;       ///< Of Function::code, and the end.
  std::vector<uint32_t> branches;  ///< Instructions of the kernel whose target is a label.
  std::vector<std::pair<uint32_t, uint32_t>> tables;  ///< Parts of `extra` that are labels.
  std::vector<uint32_t> leaves;                       ///< Branches to the end.
  bool is_entry = false;
};

class Decoder final : public Build {
 public:
  Decoder(const ptx::Module& module, const DecodeOptions& options, Kernel& kernel);

  /// Expands the entry; findings() says what was wrong.
  void run(const ptx::Function& entry);
  [[nodiscard]] base::Diagnostics& findings() { return findings_; }
  [[nodiscard]] bool over_limit() const { return over_limit_; }

  [[nodiscard]] bool has(std::string_view modifier) const override;
  [[nodiscard]] std::string_view modifier(int from_end) const override;
  [[nodiscard]] Ty type(int from_end) const override;
  [[nodiscard]] int operands() const override;
  uint32_t dst(int i, uint32_t bytes) override;
  uint32_t src(int i, Ty type) override;
  uint32_t pred_dst(int i) override;
  uint32_t pred_src(int i) override;
  uint32_t pair_dst(int i, int part, uint32_t bytes) override;
  uint32_t pair_pred_dst(int i, int part) override;
  void address(int i) override;
  [[nodiscard]] int parts(int i) const override;
  uint32_t part_dst(int i, int j, uint32_t bytes) override;
  uint32_t part_src(int i, int j, Ty type) override;
  uint32_t part_pred_src(int i, int j) override;
  [[nodiscard]] uint32_t part_width(int i, int j) const override;
  bool constant(int i, int64_t* value) override;
  [[nodiscard]] bool is_constant(int i) const override;
  [[nodiscard]] bool is_sink(int i) const override;
  [[nodiscard]] bool is_address(int i) const override;
  [[nodiscard]] bool is_predicate(int i) const override;
  uint32_t pool32(uint32_t value) override;
  uint32_t pool64(uint64_t value) override;
  uint32_t scratch(uint32_t bytes) override;
  void before(const Insn& before) override;
  uint32_t extra(const uint32_t* words, int count) override;
  void branch(int i) override;
  void branch_table(int i) override;
  void call() override;
  void leave() override;
  void refuse(std::string_view why) override;

 private:
  // Names of what is being decoded.
  [[nodiscard]] std::string_view text(ptx::Text t) const { return module_.texts[t]; }
  [[nodiscard]] std::string_view opcode_text() const;
  // Operands; null when there is none at i (a finding).
  const ptx::Operand* operand(int i);
  [[nodiscard]] const ptx::Operand* peek(int i) const;
  [[nodiscard]] const ptx::Operand* part(const ptx::Operand& o, int j) const;
  uint32_t dst_of(const ptx::Operand& o, uint32_t bytes);
  uint32_t src_of(const ptx::Operand& o, Ty type);
  uint32_t pred_dst_of(const ptx::Operand& o);
  uint32_t pred_src_of(const ptx::Operand& o);
  uint32_t special_of(const ptx::Operand& o, uint32_t bytes);
  uint32_t address_constant(const Storage& storage, int64_t addend, uint32_t bytes);
  [[nodiscard]] Storage storage_of(const ptx::Operand& o, ptx::OperandKind kind) const;
  [[nodiscard]] ptx::Type type_of_register(uint32_t index) const;
  uint32_t word_of(uint32_t register_index);
  uint32_t allocate(uint32_t bytes);
  uint32_t allocate_predicate();
  uint32_t pool(uint64_t value, bool wide, bool shared);

  // Code.
  void expand(Expansion& e);
  void decode_one(const ptx::Instruction& i);
  void emit(const Insn& insn);
  void settle(Expansion& e);
  void call_function(const ptx::Function& callee, const std::vector<const ptx::Operand*>& results,
                     const std::vector<const ptx::Operand*>& arguments);
  void call_builtin(std::string_view name, const std::vector<const ptx::Operand*>& results,
                    const std::vector<const ptx::Operand*>& arguments);
  bool bind(Expansion& callee, const std::vector<ptx::Parameter>& formals,
            const std::vector<const ptx::Operand*>& actuals, bool are_results);

  const ptx::Module& module_;
  const DecodeOptions& options_;
  Kernel& kernel_;
  Layout layout_;
  base::Diagnostics findings_;
  std::vector<std::vector<std::string_view>> modifiers_;  ///< Of Module::opcodes.
  std::vector<const Record*> records_;
  std::vector<bool> looked_up_;
  Expansion* e_ = nullptr;
  const ptx::Instruction* i_ = nullptr;
  std::vector<uint32_t> named_;  ///< Registers of the instruction so far.
  bool refused_ = false;
  bool skip_ = false;  ///< The maker has emitted all that there is.
  bool over_limit_ = false;
  int64_t depth_ = 0;
  uint32_t next_predicate_ = 0;
  uint32_t predicates_left_ = 0;
  std::unordered_map<uint64_t, uint32_t> pool_by_value_[3];
  std::unordered_map<std::string, uint32_t> specials_;
};

}  // namespace cohort::emu
