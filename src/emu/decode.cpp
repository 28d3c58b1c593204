// Code: functions expanded into one list of instructions, labels to places in it.
#include "emu/decode.h"

#include <algorithm>

#include "emu/decoder.h"
#include "emu/insn/builtin.h"
#include "emu/insn/table.h"
#include "emu/machine.h"
#include "ptx/type.h"

namespace cohort::emu {

using ptx::OperandKind;

namespace {

std::vector<std::string_view> views(const ptx::Module& m, const ptx::Opcode& o) {
  std::vector<std::string_view> found;
  for (const ptx::Text t : o.modifiers) found.push_back(m.texts[t]);
  return found;
}

}  // namespace

Decoder::Decoder(const ptx::Module& module, const DecodeOptions& options, Kernel& kernel)
    : module_(module),
      options_(options),
      kernel_(kernel),
      layout_(module, kernel),
      modifiers_(module.opcodes.size()),
      records_(module.opcodes.size(), nullptr),
      looked_up_(module.opcodes.size(), false) {}

std::string_view Decoder::opcode_text() const { return text(module_.opcodes[i_->opcode].text); }

bool Decoder::has(std::string_view modifier) const {
  const auto& m = modifiers_[i_->opcode];
  return std::find(m.begin(), m.end(), modifier) != m.end();
}

std::string_view Decoder::modifier(int from_end) const {
  const auto& m = modifiers_[i_->opcode];
  const auto at = static_cast<size_t>(from_end);
  return at < m.size() ? m[m.size() - 1 - at] : std::string_view{};
}

Ty Decoder::type(int from_end) const { return type_of(modifier(from_end)); }
int Decoder::operands() const { return static_cast<int>(i_->count); }

void Decoder::refuse(std::string_view why) {
  if (refused_) return;
  refused_ = true;
  const std::string where = std::string(options_.name) + ":" + std::to_string(i_->place.line);
  findings_.add({.code = "E-UNSUPPORTED",
                 .op = std::string(opcode_text()),
                 .message = "instruction is not modelled: " + std::string(opcode_text()) + ": " +
                            std::string(why),
                 .where = where});
}

void Decoder::emit(const Insn& added) {
  if (static_cast<int64_t>(kernel_.code.size()) >= options_.instructions) {
    over_limit_ = true;
    return;
  }
  Source s;
  s.opcode = i_ == nullptr ? 0 : i_->opcode;
  s.line = i_ == nullptr ? 0 : i_->place.line;
  if (i_ != nullptr && i_->location != ptx::kNone) {
    s.file = module_.locations[i_->location].file;
    s.file_line = module_.locations[i_->location].line;
  }
  kernel_.code.push_back(added);
  kernel_.source.push_back(s);
  kernel_.uses.insert(kernel_.uses.end(), named_.begin(), named_.end());
  kernel_.use_begin.push_back(static_cast<uint32_t>(kernel_.uses.size()));
}

void Decoder::before(const Insn& added) {
  Insn copy = added;
  copy.guard = insn.guard;
  copy.guard_negated = insn.guard_negated;
  emit(copy);
}

uint32_t Decoder::extra(const uint32_t* words, int count) {
  const auto at = static_cast<uint32_t>(kernel_.extra.size());
  kernel_.extra.insert(kernel_.extra.end(), words, words + count);
  return at;
}

void Decoder::branch(int i) {
  const ptx::Operand* o = operand(i);
  if (o == nullptr || o->kind != OperandKind::label) {
    refuse("the target is no label");
    return;
  }
  insn.flow = Flow::branch;
  insn.target = e_->function->labels[o->index].target;
  e_->branches.push_back(static_cast<uint32_t>(kernel_.code.size()));
}

void Decoder::branch_table(int i) {
  const ptx::Operand* o = operand(i);
  if (o == nullptr || o->kind != OperandKind::branch_targets) {
    refuse("the targets are no list");
    return;
  }
  const ptx::Function& f = *e_->function;
  const ptx::TargetList& list = f.branch_targets[o->index];
  insn.flow = Flow::table;
  insn.list = static_cast<uint32_t>(kernel_.extra.size());
  insn.target = list.count;
  for (uint32_t k = 0; k < list.count; ++k) {
    const ptx::Operand& label = f.operands[list.first + k];
    e_->tables.emplace_back(static_cast<uint32_t>(kernel_.extra.size()),
                            f.labels[label.index].target);
    kernel_.extra.push_back(0);
  }
}

void Decoder::leave() {
  if (e_->is_entry) {
    insn.flow = Flow::exit;
    return;
  }
  insn.flow = Flow::branch;
  e_->leaves.push_back(static_cast<uint32_t>(kernel_.code.size()));
}

void Decoder::settle(Expansion& e) {
  const auto end = static_cast<uint32_t>(kernel_.code.size());
  if (over_limit_) return;
  for (const uint32_t at : e.branches) {
    if (at < end) kernel_.code[at].target = e.pcs[kernel_.code[at].target];
  }
  for (const auto& [at, label] : e.tables) kernel_.extra[at] = e.pcs[label];
  for (const uint32_t at : e.leaves) kernel_.code[at].target = end;
}

void Decoder::decode_one(const ptx::Instruction& i) {
  i_ = &i;
  refused_ = false;
  skip_ = false;
  named_.clear();
  insn = Insn{};
  if (!looked_up_[i.opcode]) {
    looked_up_[i.opcode] = true;
    modifiers_[i.opcode] = views(module_, module_.opcodes[i.opcode]);
    const Table& instructions = options_.table != nullptr ? *options_.table : table();
    records_[i.opcode] = instructions.find(modifiers_[i.opcode]);
  }
  if (i.guard != ptx::kNone) {
    insn.guard = word_of(i.guard);
    insn.guard_negated = i.guard_negated;
  }
  const Record* record = records_[i.opcode];
  if (record == nullptr) {
    refuse("no form of the instruction table");
    return;
  }
  record->make(*this);
  if (!skip_) emit(insn);
}

void Decoder::expand(Expansion& e) {
  Expansion* outer = e_;
  const ptx::Instruction* outer_i = i_;
  e_ = &e;
  e.words.assign(e.function->registers.size(), kNoOperand);
  if (!layout_.place_locals(*e.function, e.variables, options_.local_bytes)) over_limit_ = true;
  for (const ptx::Instruction& i : e.function->code) {
    e.pcs.push_back(static_cast<uint32_t>(kernel_.code.size()));
    if (!over_limit_) decode_one(i);
  }
  e.pcs.push_back(static_cast<uint32_t>(kernel_.code.size()));
  i_ = nullptr;
  named_.clear();
  if (e.is_entry) {
    Insn end;
    end.flow = Flow::exit;
    emit(end);
  }
  settle(e);
  e_ = outer;
  i_ = outer_i;
}

void Decoder::run(const ptx::Function& entry) {
  if (!layout_.place_module(entry, options_.shared_bytes)) {
    over_limit_ = true;
    return;
  }
  Expansion e;
  e.function = &entry;
  e.is_entry = true;
  e.variables.resize(entry.variables.size());
  layout_.place_parameters(entry, e.variables);
  for (const ptx::Opcode& o : module_.opcodes) kernel_.opcodes.emplace_back(text(o.text));
  expand(e);
}

bool Decoder::bind(Expansion& callee, const std::vector<ptx::Parameter>& formals,
                   const std::vector<const ptx::Operand*>& actuals, bool are_results) {
  if (formals.size() != actuals.size()) return false;
  for (size_t i = 0; i < formals.size(); ++i) {
    const ptx::Operand& actual = *actuals[i];
    if (formals[i].is_register || actual.kind != OperandKind::function_variable) return false;
    callee.variables[formals[i].index] = e_->variables[actual.index];
  }
  (void)are_results;
  return true;
}

void Decoder::call_function(const ptx::Function& callee,
                            const std::vector<const ptx::Operand*>& results,
                            const std::vector<const ptx::Operand*>& arguments) {
  if (depth_ >= options_.depth) {
    refuse("calls that go deeper than they can be expanded: recursion");
    return;
  }
  Expansion inner;
  inner.function = &callee;
  inner.variables.resize(callee.variables.size());
  if (!bind(inner, callee.results, results, true) ||
      !bind(inner, callee.parameters, arguments, false)) {
    refuse("parameters that are no .param variables on both sides");
    return;
  }
  const bool guarded = insn.guard != kNoOperand;
  const auto skip_at = static_cast<uint32_t>(kernel_.code.size());
  if (guarded) {
    Insn skip;
    skip.flow = Flow::branch;
    skip.guard = insn.guard;
    skip.guard_negated = !insn.guard_negated;
    emit(skip);
  }
  ++depth_;
  expand(inner);
  --depth_;
  refused_ = false;
  if (guarded && !over_limit_) {
    kernel_.code[skip_at].target = static_cast<uint32_t>(kernel_.code.size());
  }
  skip_ = true;
}

void Decoder::call() {
  std::vector<const ptx::Operand*> lists[2];
  const ptx::Operand* target = nullptr;
  for (int k = 0; k < operands(); ++k) {
    const ptx::Operand* o = peek(k);
    if (o->kind == OperandKind::function && target == nullptr) target = o;
    if (o->kind != OperandKind::list) continue;
    for (uint32_t j = 0; j < o->count; ++j) {
      lists[target == nullptr ? 0 : 1].push_back(&e_->function->operands[o->first + j]);
    }
  }
  if (target == nullptr) {
    refuse("an indirect call");
    return;
  }
  const ptx::Function& callee = module_.functions[target->index];
  if (callee.is_defined) {
    call_function(callee, lists[0], lists[1]);
  } else {
    call_builtin(text(callee.name), lists[0], lists[1]);
  }
}

void Decoder::call_builtin(std::string_view name, const std::vector<const ptx::Operand*>& results,
                           const std::vector<const ptx::Operand*>& arguments) {
  const Handler handler = find_builtin(name);
  if (handler == nullptr) {
    refuse("a call of " + std::string(name) + ", which is defined elsewhere");
    return;
  }
  std::vector<uint32_t> places;
  for (const auto* list : {&results, &arguments}) {
    for (const ptx::Operand* o : *list) {
      if (o->kind != OperandKind::function_variable) {
        refuse("a parameter that is no .param variable");
        return;
      }
      places.push_back(static_cast<uint32_t>(e_->variables[o->index].offset));
    }
  }
  insn.list = extra(places.data(), static_cast<int>(places.size()));
  insn.count = static_cast<uint16_t>(results.size());
  set(handler);
}

namespace {

void take_limits(const ptx::Module& module, const ptx::Function& entry, Kernel& kernel) {
  for (const ptx::Directive& d : entry.directives) {
    const std::string_view name = module.texts[d.name];
    uint32_t* to = name == ".maxntid"             ? kernel.max_threads
                   : name == ".reqntid"           ? kernel.required_threads
                   : name == ".reqnctapercluster" ? kernel.required_cluster
                                                  : nullptr;
    for (size_t i = 0; to != nullptr && i < 3; ++i) {
      to[i] = i < d.numbers.size() ? static_cast<uint32_t>(d.numbers[i]) : 1;
    }
    if (name == ".maxnreg" && !d.numbers.empty()) {
      kernel.registers = static_cast<uint32_t>(d.numbers[0]);
    }
  }
  for (const ptx::Text t : module.targets) kernel.targets.emplace_back(module.texts[t]);
  uint32_t most = 0;
  for (const ptx::File& f : module.files) most = std::max(most, std::min(f.number, 65535u));
  kernel.files.resize(most + 1);
  for (const ptx::File& f : module.files) {
    if (f.number <= most) kernel.files[f.number] = module.texts[f.name];
  }
}

Result<std::shared_ptr<const Kernel>> decode_entry(const ptx::Module& module,
                                                   std::string_view entry,
                                                   const DecodeOptions& options) {
  const auto found =
      std::find_if(module.functions.begin(), module.functions.end(), [&](const ptx::Function& f) {
        return f.is_entry && f.is_defined && module.texts[f.name] == entry;
      });
  if (found == module.functions.end()) {
    return base::make_findings(ErrorKind::mismatch, {.code = "E-UNSUPPORTED",
                                                     .field = "kernel",
                                                     .wanted = "an entry of the module",
                                                     .got = std::string(entry),
                                                     .where = std::string(options.name)});
  }
  auto kernel = std::make_shared<Kernel>();
  kernel->name = entry;
  kernel->module = &module;
  take_limits(module, *found, *kernel);
  Decoder decoder(module, options, *kernel);
  decoder.run(*found);
  if (!decoder.findings().empty()) return decoder.findings().take(ErrorKind::unsupported);
  if (decoder.over_limit()) {
    return base::make_findings(ErrorKind::limit,
                               {.code = "E-LIMIT",
                                .field = "kernel",
                                .got = std::string(entry),
                                .message = "the kernel has too many instructions or registers, or "
                                           "too much shared or local memory",
                                .where = std::string(options.name)});
  }
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

}  // namespace

Result<std::shared_ptr<const Kernel>> decode(const ptx::Module& module, std::string_view entry,
                                             const DecodeOptions& options) {
  return base::guarded("decoding a kernel", [&]() -> Result<std::shared_ptr<const Kernel>> {
    return decode_entry(module, entry, options);
  });
}

}  // namespace cohort::emu
