// From launches to a result: memory is set up, warps take turns until all have ended.
#include "emu/run.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "emu/barrier.h"
#include "emu/launch_check.h"
#include "emu/special.h"
#include "emu/stuck.h"
#include "emu/warp.h"

namespace cohort::emu {

namespace {

class Runner {
 public:
  explicit Runner(RunInput input)
      : input_(std::move(input)),
        schedule_(input_.schedule),
        machine_(schedule_, input_.events, input_.faults) {
    machine_.rules = input_.rules;
  }

  RunResult run();

 private:
  void add_module_buffers();
  uint32_t buffer_of(const void* module, uint32_t variable) const;
  void fill_pool(GridState& g);
  void begin_grid(size_t index);
  bool may_begin(size_t index) const;
  bool has_room() const;
  void start_ctas();
  void start_cluster(GridState& g, uint32_t grid);
  void start_cta(GridState& g, Cta& cta);
  void start_warp(GridState& g, Cta& cta, uint32_t id);
  void free_ended();
  void end_grids();
  bool take_turn();
  void run_task(size_t which);
  void watch();
  RunResult result();

  RunInput input_;
  Schedule schedule_;
  Machine machine_;
  struct ModuleBufferKey {
    const void* module;
    uint32_t variable;
    uint32_t buffer;
  };
  std::vector<ModuleBufferKey> module_buffers_;
  std::vector<std::vector<uint32_t>> pools_;  // per started rank: see start_warp
  std::vector<Warp*> alive_;
  size_t grids_begun_ = 0;
  size_t grids_ended_ = 0;
  uint32_t next_warp_ = 0;
  uint64_t lane_instructions_ = 0;
  uint64_t instructions_ = 0;
  uint64_t seen_effects_ = 0;
  uint64_t seen_time_ = 0;
  WaitLimit wait_limit_;
};

void Runner::add_module_buffers() {
  for (const Launch& l : input_.launches) {
    for (const ModuleBuffer& b : l.kernel->buffers) {
      if (buffer_of(l.kernel->module, b.variable) != UINT32_MAX) continue;
      module_buffers_.push_back(
          {l.kernel->module, b.variable, static_cast<uint32_t>(machine_.buffers.size())});
      Buffer made;
      made.name = b.name;
      made.bytes = b.image;
      made.bytes.resize(b.bytes);
      made.read_only = b.read_only;
      machine_.buffers.push_back(std::move(made));
    }
  }
  for (const Launch& l : input_.launches) {
    for (const ModuleBuffer& b : l.kernel->buffers) {
      Buffer& to = machine_.buffers[buffer_of(l.kernel->module, b.variable)];
      for (const ptx::Relocation& r : b.relocations) {
        const uint32_t target = r.is_function ? UINT32_MAX : buffer_of(l.kernel->module, r.symbol);
        if (target == UINT32_MAX) continue;
        uint64_t value = buffer_address(target) + static_cast<uint64_t>(r.addend);
        if (r.mask != 0) value = (value & r.mask) >> std::countr_zero(r.mask);
        std::memcpy(to.bytes.data() + r.offset, &value, std::min<size_t>(r.bytes, 8));
      }
    }
  }
}

uint32_t Runner::buffer_of(const void* module, uint32_t variable) const {
  for (const ModuleBufferKey& k : module_buffers_) {
    if (k.module == module && k.variable == variable) return k.buffer;
  }
  return UINT32_MAX;
}

void Runner::fill_pool(GridState& g) {
  g.pool = g.kernel->pool;
  for (const BufferAddress& a : g.kernel->pool_buffers) {
    const uint32_t buffer = buffer_of(g.kernel->module, g.kernel->buffers[a.buffer].variable);
    const uint64_t value = buffer_address(buffer) + static_cast<uint64_t>(a.addend);
    for (int l = 0; l < 32; ++l) std::memcpy(g.pool.data() + a.word + ptrdiff_t{2} * l, &value, 8);
  }
  // The operands of addresses in shared memory differ by the rank of the CTA.
  g.pool_of_rank.assign(g.cluster.count(), g.pool);
  for (size_t rank = 1; rank < g.pool_of_rank.size(); ++rank) {
    for (const SharedAddress& a : g.kernel->pool_shared) {
      for (size_t l = 0; l < 32; ++l) {
        g.pool_of_rank[rank][a.word + (a.wide ? 2 * l : l)] +=
            static_cast<uint32_t>(rank << kRankShift);
      }
    }
  }
}

bool Runner::may_begin(size_t index) const {
  if (index == 0) return true;
  const GridState& before = machine_.grids[index - 1];
  if (!machine_.grids[index].overlaps_previous) return before.ended_ctas == before.grid.count();
  // Dependents may start once every CTA of the grid before has said so or ended.
  return before.begun && before.dependents_ctas == before.grid.count();
}

void Runner::begin_grid(size_t index) {
  GridState& g = machine_.grids[index];
  fill_pool(g);
  g.begun = true;
  g.first_cta = static_cast<uint32_t>(machine_.ctas.size());
  g.first_warp = next_warp_;
  const auto threads = static_cast<uint32_t>(g.block.count());
  const uint32_t warps = (threads + 31) / 32;
  next_warp_ += warps * static_cast<uint32_t>(g.grid.count());
  for (uint64_t i = 0; i < g.grid.count(); ++i) machine_.ctas.push_back(nullptr);
  if (machine_.events == nullptr) return;
  Grid e{};
  e.first_warp = g.first_warp;
  e.first_cta = g.first_cta;
  e.ctas = static_cast<uint32_t>(g.grid.count());
  e.warps_per_cta = warps;
  e.threads_per_cta = threads;
  e.cluster_size = static_cast<uint32_t>(g.cluster.count());
  e.shared_bytes = g.kernel->shared_bytes + g.dynamic_shared;
  e.overlaps_previous = g.overlaps_previous;
  machine_.events->begin_grid(e);
}

bool Runner::has_room() const {
  return machine_.resident == 0 || machine_.resident < input_.limits.resident_ctas;
}

void Runner::start_warp(GridState& g, Cta& cta, uint32_t id) {
  auto w = std::make_unique<Warp>();
  const auto threads = static_cast<uint32_t>(g.block.count());
  const uint32_t lanes = std::min(32u, threads - 32 * id);
  const auto per_cta = static_cast<uint32_t>(cta.warps.capacity());
  w->cta = &cta;
  w->machine = &machine_;
  w->kernel = g.kernel;
  w->id = id;
  w->pc_base = g.pc_base;
  w->number = {g.first_warp + (cta.index - g.first_cta) * per_cta + id};
  w->base[0] = cta.registers.data() + cta.register_offset + size_t{id} * g.kernel->words;
  w->base[1] = g.pool_of_rank[cta.rank].data();
  w->first = lanes == 32 ? ~0u : (1u << lanes) - 1;
  w->live = w->first;
  w->cur.lanes = w->first;
  w->local = cta.local.data() + size_t{id} * 32 * g.kernel->local_bytes;
  w->register_count = g.kernel->registers != 0 ? g.kernel->registers : g.registers_per_thread;
  set_specials(*w);
  alive_.push_back(w.get());
  cta.warps.push_back(std::move(w));
}

void Runner::start_cta(GridState& g, Cta& cta) {
  const auto warps = static_cast<uint32_t>((g.block.count() + 31) / 32);
  cta.shared.assign(g.kernel->shared_bytes + g.dynamic_shared, kPoisonByte);
  cta.registers.assign(size_t{warps} * g.kernel->words + 16, kPoisonWord);
  // Registers begin where a cache line does.
  const auto at = reinterpret_cast<uintptr_t>(cta.registers.data());
  cta.register_offset = ((64 - at % 64) % 64) / 4;
  cta.local.assign(size_t{warps} * 32 * g.kernel->local_bytes, kPoisonByte);
  cta.live_warps = warps;
  cta.warps.reserve(warps);
  for (uint32_t id = 0; id < warps; ++id) start_warp(g, cta, id);
  ++machine_.resident;
}

void Runner::start_cluster(GridState& g, uint32_t grid) {
  const auto size = static_cast<uint32_t>(g.cluster.count());
  const uint64_t number = g.next_cta / size;
  machine_.clusters.emplace_back();
  Cluster& cluster = machine_.clusters.back();
  cluster.first_cta = g.first_cta + static_cast<uint32_t>(g.next_cta);
  cluster.size = size;
  const uint64_t nx = g.grid.x / g.cluster.x;
  const uint64_t ny = g.grid.y / g.cluster.y;
  const uint64_t at[3] = {number % nx, number / nx % ny, number / nx / ny};
  for (uint32_t rank = 0; rank < size; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->index = cluster.first_cta + rank;
    cta->rank = rank;
    cta->grid = grid;
    cta->cluster = &cluster;
    cta->id[0] = static_cast<uint32_t>(at[0] * g.cluster.x) + rank % g.cluster.x;
    cta->id[1] = static_cast<uint32_t>(at[1] * g.cluster.y) + rank / g.cluster.x % g.cluster.y;
    cta->id[2] = static_cast<uint32_t>(at[2] * g.cluster.z) + rank / g.cluster.x / g.cluster.y;
    machine_.ctas[cta->index] = std::move(cta);
  }
  for (uint32_t rank = 0; rank < size; ++rank) {
    start_cta(g, *machine_.ctas[cluster.first_cta + rank]);
  }
  g.next_cta += size;
}

void Runner::start_ctas() {
  while (grids_begun_ < machine_.grids.size() && may_begin(grids_begun_)) {
    begin_grid(grids_begun_++);
  }
  for (size_t i = grids_ended_; i < grids_begun_; ++i) {
    GridState& g = machine_.grids[i];
    while (g.next_cta < g.grid.count() && has_room()) start_cluster(g, static_cast<uint32_t>(i));
  }
}

void Runner::free_ended() {
  const auto dead = std::stable_partition(alive_.begin(), alive_.end(),
                                          [](const Warp* w) { return w->live != 0; });
  for (auto at = dead; at != alive_.end(); ++at) {
    instructions_ += (*at)->instructions;
    lane_instructions_ += (*at)->lane_instructions;
    Cluster& c = *(*at)->cta->cluster;
    // Memory goes when the whole cluster has ended: until then others may wrongly touch it.
    bool all = true;
    for (uint32_t r = 0; r < c.size; ++r) all = all && machine_.ctas[c.first_cta + r]->ended;
    if (!all || c.freed) continue;
    c.freed = true;
    for (uint32_t r = 0; r < c.size; ++r) {
      Cta& cta = *machine_.ctas[c.first_cta + r];
      cta.shared = {};
      cta.registers = {};
      cta.local = {};
      --machine_.resident;
    }
  }
  alive_.erase(dead, alive_.end());
}

void Runner::end_grids() {
  while (grids_ended_ < grids_begun_) {
    GridState& g = machine_.grids[grids_ended_];
    if (g.ended_ctas != g.grid.count()) return;
    ++grids_ended_;
    ++machine_.changes;
  }
}

void Runner::run_task(size_t which) {
  Task* task = machine_.tasks[which].get();
  if (task->step(machine_)) {
    const auto at = std::find_if(machine_.tasks.begin(), machine_.tasks.end(),
                                 [&](const auto& t) { return t.get() == task; });
    machine_.tasks.erase(at);
  }
  ++machine_.changes;
  ++machine_.effects;
}

bool Runner::take_turn() {
  std::vector<Warp*> ready;
  for (Warp* w : alive_) {
    if (can_run(*w)) ready.push_back(w);
  }
  const ScheduleKind kind = schedule_.spec().kind;
  const auto tasks = static_cast<uint32_t>(machine_.tasks.size());
  const bool tasks_now = kind == ScheduleKind::early || kind == ScheduleKind::in_order;
  if (tasks != 0 && (tasks_now || ready.empty())) {
    run_task(kind == ScheduleKind::in_order ? 0 : schedule_.below(tasks));
    return true;
  }
  if (ready.empty()) return false;
  if (kind == ScheduleKind::starve || kind == ScheduleKind::in_order) {
    // Who polls in vain would have every turn.
    const auto idle = [&](const Warp* w) { return w->yielded == machine_.changes; };
    if (!std::all_of(ready.begin(), ready.end(), idle)) std::erase_if(ready, idle);
  }
  if (kind == ScheduleKind::starve && ready.size() > 1) {
    const uint32_t starved = schedule_.spec().starved % std::max(next_warp_, 1u);
    std::erase_if(ready, [&](const Warp* w) { return w->number.value == starved; });
  }
  const auto count = static_cast<uint32_t>(ready.size());
  const uint32_t choice = schedule_.below(count + (kind == ScheduleKind::late ? 0 : tasks));
  if (choice >= count) {
    run_task(choice - count);
    return true;
  }
  run_turn(*ready[choice], schedule_.turn());
  return true;
}

void Runner::watch() {
  const uint64_t time = machine_.time;
  if (machine_.effects != seen_effects_) {
    seen_effects_ = machine_.effects;
    seen_time_ = time;
  }
  const RunLimits& l = input_.limits;
  if (time - seen_time_ <= l.idle_instructions && time <= l.instructions) return;
  machine_.stopped = true;
  report_stuck(machine_, alive_, FaultCode::livelock);
}

RunResult Runner::result() {
  RunResult r;
  for (const Warp* w : alive_) {
    instructions_ += w->instructions;
    lane_instructions_ += w->lane_instructions;
  }
  r.completed = !machine_.stopped;
  r.buffers = std::move(machine_.buffers);
  r.printed = std::move(machine_.printed);
  r.instructions = instructions_;
  r.lane_instructions = lane_instructions_;
  r.choices = schedule_.choices();
  for (const Machine::Stuck& s : machine_.stuck) {
    r.waiting.push_back({s.cta, s.warp, s.lanes, s.launch, s.pc, s.wait});
  }
  return r;
}

RunResult Runner::run() {
  machine_.buffers = std::move(input_.buffers);
  add_module_buffers();
  for (size_t i = 0; machine_.events != nullptr && i < machine_.buffers.size(); ++i) {
    const Buffer& b = machine_.buffers[i];
    machine_.events->buffer(static_cast<uint32_t>(i), b.bytes.size(), b.initialised);
  }
  uint32_t pc_base = 0;
  for (const Launch& l : input_.launches) {
    GridState g;
    g.kernel = l.kernel.get();
    g.grid = l.grid;
    g.cluster = l.cluster;
    g.block = l.block;
    g.dynamic_shared = l.dynamic_shared;
    g.overlaps_previous = l.programmatic;
    g.arguments = l.arguments;
    const auto warps = static_cast<uint32_t>((l.block.count() + 31) / 32);
    g.registers_per_thread = std::min(255u, 65536 / 32 / warps / 8 * 8);
    g.pc_base = pc_base;
    pc_base += static_cast<uint32_t>(l.kernel->code.size());
    machine_.grids.push_back(std::move(g));
  }
  while (!machine_.stopped) {
    start_ctas();
    if (!take_turn()) {
      if (alive_.empty() && grids_ended_ == machine_.grids.size()) break;
      if (!alive_.empty() && !wait_limit_.reached(machine_, alive_)) {
        machine_.stopped = true;
        report_stuck(machine_, alive_, FaultCode::deadlock);
      }
    }
    free_ended();
    end_grids();
    watch();
  }
  return result();
}

}  // namespace

Result<RunResult> run(RunInput input) {
  return base::guarded("running a kernel", [&]() -> Result<RunResult> {
    base::Diagnostics found;
    check_launches(input, found);
    if (!found.empty()) return found.take(ErrorKind::mismatch);
    return Runner(std::move(input)).run();
  });
}

}  // namespace cohort::emu
