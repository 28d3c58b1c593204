// tcgen05 by single threads: what the checker says when a link is missing.
#include "emu/tensor_pipe_fixture.h"

namespace cohort::emu::test {
namespace {

TEST(TensorFaults, EachMissingLinkIsReported) {
  const Case c = bf16_case();
  const auto words = image_of(c).words;
  const std::string text = kernel_of_case(c);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto sound = run_tensor(text, words, o);
    EXPECT_TRUE(sound.completed && sound.faults.empty()) << sound.text();
    const auto proxy = run_tensor(without(text, "fence.proxy.async.shared::cta;\n"), words, o);
    EXPECT_TRUE(proxy.has(FaultCode::proxy)) << proxy.text();
    const auto after = run_tensor(replaced(text, kAfter + "tcgen05.ld", "tcgen05.ld"), words, o);
    EXPECT_TRUE(after.has(FaultCode::tensor_fence)) << after.text();
    o.rules.tensor_order_by_barrier = true;
    const auto practice = run_tensor(replaced(text, kAfter + "tcgen05.ld", "tcgen05.ld"), words, o);
    EXPECT_TRUE(practice.faults.empty()) << practice.text();
    o.rules = {};
    // test_wait, as try_wait may block until the products are there.
    const auto wait = run_tensor(
        without(replaced(text, "mbarrier.try_wait", "mbarrier.test_wait"), "@!%p bra WAIT;\n"),
        words, o);
    EXPECT_FALSE(wait.faults.empty());
  }
}

TEST(TensorFaults, ACommitOfAnotherThreadTracksNothing) {
  const Case c = bf16_case();
  // Lane 1 of warp 0 commits.
  const std::string text = replaced(kernel_of_case(c), commit("%bar") + "DONE:\n",
                                    "DONE:\nsetp.eq.u32 %p, %i, 1;\n@%p " + commit("%bar"));
  const auto r = run_tensor(text, image_of(c).words);
  EXPECT_TRUE(r.has(FaultCode::commit_empty)) << r.text();
}

TEST(TensorFaults, ACommitGoesToAnMbarrierOfTheCluster) {
  const Case c = bf16_case();
  const auto bad = [&](const std::string& code) {
    const auto r = run_tensor(replaced(kernel_of_case(c), commit("%bar"), code), image_of(c).words);
    EXPECT_FALSE(r.completed);
    return r;
  };
  const std::string far = "add.u32 %r150, %bar, 0x21000000;\n" + commit("%r150");
  EXPECT_TRUE(bad(far).has(FaultCode::bounds));
  EXPECT_TRUE(bad(commit("%bar+24")).has(FaultCode::barrier_invalid));
  EXPECT_TRUE(bad(replaced(commit("%bar"), ".b64 [%bar]", ".multicast::cluster.b64 [%bar], 2"))
                  .has(FaultCode::bounds));
}

TEST(TensorFaults, DescriptorsAreChecked) {
  const Case good = bf16_case();
  const auto expect = [&](const Case& c, const std::function<void(Image&)>& damage,
                          const std::string& note) {
    Image image = image_of(c);
    damage(image);
    const auto r = run_tensor(kernel_of_case(c), image.words);
    EXPECT_TRUE(r.has(FaultCode::descriptor)) << note;
    EXPECT_FALSE(r.completed);
    EXPECT_NE(r.text().find(note), std::string::npos) << r.text();
  };
  const uint32_t at = kImageBytes / 4;
  expect(
      good, [&](Image& i) { i.words[at + 4] |= 1u << 6; }, "instruction descriptor, bit 6");
  expect(
      good, [&](Image& i) { i.words[at + 1] ^= 1u << 14; }, "descriptor of A, version");
  expect(
      good, [&](Image& i) { i.words[at + 3] |= 1u << 21; }, "descriptor of B, bits 53-60");
  Case c = good;
  c.m = 96;
  expect(
      c, [](Image&) {}, "M: 64 or 128");
}

TEST(TensorFaults, TheScalesOfARunningProductMayNotBeOverwritten) {
  const Case c{.kind = "", .k = 32, .pitch = 8, .code = e4m3};
  const auto scale = [](uint32_t, uint32_t) { return 127u; };
  const Image image = scaled_image(c, 1u << 23, scale, scale);
  const std::string text = scaled_kernel("kind::mxf8f6f4.block_scale.block32",
                                         "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r158], %d4;\n");
  TensorOptions o;
  const auto strict = run_tensor(text, image.words, o);
  EXPECT_TRUE(strict.has(FaultCode::pipeline)) << strict.text();
  o.rules.mma_before_cp = true;
  const auto practice = run_tensor(text, image.words, o);
  EXPECT_TRUE(practice.faults.empty()) << practice.text();
}

TEST(TensorFaults, AProductOntoColumnsThatHoldNothing) {
  const Case c = bf16_case();
  const auto r =
      run_tensor(replaced(kernel_of_case(c), "%r151, %u0", "%r151, %u1"), image_of(c).words);
  EXPECT_TRUE(r.has(FaultCode::uninitialised)) << r.text();
}

TEST(TensorFaults, ColumnsGivenBackTooEarly) {
  const Case c = bf16_case();
  const std::string text = kernel_of_case(c);
  // Nobody waits for the product before the columns go.
  const size_t from = text.find("WAIT:\n");
  const size_t to = text.find("tcgen05.fence::before_thread_sync", from);
  ASSERT_NE(to, std::string::npos);
  std::string early = text;
  early.erase(from, to - from);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto r = run_tensor(early, image_of(c).words, o);
    EXPECT_TRUE(r.has(FaultCode::lifetime) || r.has(FaultCode::open_work)) << r.text();
  }
}

TEST(TensorFaults, OperandsOutsideOfSharedMemory) {
  const Case c = bf16_case();
  Image image = image_of(c);
  image.parameter(2, descriptor(Lie::swizzled, 200 * 1024));
  const auto r = run_tensor(kernel_of_case(c), image.words);
  EXPECT_TRUE(r.has(FaultCode::bounds)) << r.text();
  EXPECT_FALSE(r.completed);
}

// ---- the order of an accumulator's release: two stages of 64 columns that share 32

// Warp 4 multiplies two tiles, one after the other, into columns 0 to 63 and 32 to 95; the other
// four read the first tile by halves and release it between them.
std::string two_stages(uint32_t first_half) {
  const uint32_t second_half = 32 - first_half;
  return tensor_kernel(
      kSetup +
      "setp.lt.u32 %p, %i, 128;\n@%p bra EPILOGUE;\nsetp.ne.u32 %p, %i, 128;\n"
      "@%p bra END;\n" +
      mma("kind::f16", "[%t], %d0, %d1, %r151, %u0") + commit("%bar") +
      wait_for("%bar+16", "EMPTY") + kAfter + "add.u32 %r150, %t, 32;\n" +
      mma("kind::f16", "[%r150], %d0, %d1, %r151, %u0") + commit("%bar+8") +
      "bra END;\nEPILOGUE:\n" + wait_for("%bar", "FULL") + kAfter +
      drain(first_half, 32, first_half) +
      "tcgen05.fence::before_thread_sync;\nmbarrier.arrive.shared::cta.b64 _, [%bar+16];\n" +
      drain(second_half, 32, second_half) + wait_for("%bar+8", "SECOND") + kAfter +
      drain(32, 32, 64) + drain(64, 32, 96) + "END:\n");
}

TEST(TensorRelease, OfAStageBeforeItsSharedColumnsAreReadIsReportedInEverySchedule) {
  Case c = bf16_case();
  c.n = 64;
  const auto words = image_of(c).words;
  TensorOptions o;
  o.threads = 160;
  uint32_t right = 0;
  uint32_t runs = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (ScheduleSpec s : some_schedules()) {
      s.seed = seed;
      s.starved = static_cast<uint32_t>(seed);
      o.schedule = s;
      const auto sound = run_tensor(two_stages(32), words, o);
      EXPECT_TRUE(sound.completed && sound.faults.empty()) << sound.text();
      const auto early = run_tensor(two_stages(0), words, o);
      EXPECT_TRUE(early.has(FaultCode::incomplete) || early.has(FaultCode::race) ||
                  early.has(FaultCode::tensor_fence))
          << early.text();
      const bool is_right = [&] {
        for (uint32_t m = 0; m < 128; ++m) {
          for (uint32_t n = 0; n < 64; ++n) {
            const uint32_t want = f32_code(product(c, m, n));
            EXPECT_EQ(sound.out[m * 128 + n], want);
            EXPECT_EQ(sound.out[m * 128 + 64 + n], want);
            if (early.out[m * 128 + n] != want) return false;
          }
        }
        return true;
      }();
      right += is_right ? 1 : 0;
      ++runs;
    }
  }
  // Reported also where the numbers come out right.
  EXPECT_GT(right, 0u);
  EXPECT_EQ(runs, 20u);
}

}  // namespace
}  // namespace cohort::emu::test
