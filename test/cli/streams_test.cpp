// What the command does when a stream, a file, a disk or memory fails; and its bar on a terminal.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/common.h"
#include "fixtures/sanitized.h"

namespace cohort::test {
namespace {

using Json = nlohmann::ordered_json;

class Streams : public Command {
 protected:
  /// A command line of every command that prints, on a small graph.
  [[nodiscard]] std::vector<std::string> printing() const {
    const std::string g = sample("matmul_relu");
    return {"check " + g,
            "show " + g,
            "show --format svg " + g,
            "plan --explain " + g,
            "run --random 1 --size M=4 " + g,
            "env",
            "sample",
            "sample matmul_relu",
            "--help",
            "--version"};
  }
  /// The command lines that read a graph from `path`.
  [[nodiscard]] static std::vector<std::string> reading(const std::string& path) {
    return {"check " + path, "show " + path, "plan " + path, "run --random 1 " + path};
  }
  /// The same as a user who may not do everything, or nothing when that cannot be tried.
  [[nodiscard]] static std::string as_nobody() {
    if (::geteuid() != 0) return "env ";
    const char* drop = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
    const std::string probe = std::string(drop) + COHORT_COMMAND + " --version >/dev/null 2>&1";
    return std::system(probe.c_str()) == 0 ? drop : "";
  }
};

TEST_F(Streams, ExitCodeOfEachKindOfFailure) {
  using cli::exit_code;
  EXPECT_EQ(exit_code(ErrorKind::invalid_graph), 1);
  EXPECT_EQ(exit_code(ErrorKind::unsupported), 1);
  EXPECT_EQ(exit_code(ErrorKind::mismatch), 1);
  EXPECT_EQ(exit_code(ErrorKind::limit), 1);
  EXPECT_EQ(exit_code(ErrorKind::file), 2);
  EXPECT_EQ(exit_code(ErrorKind::environment), 3);
  EXPECT_EQ(exit_code(ErrorKind::internal), 3);
  EXPECT_EQ(report(cli::Stop{cli::kInternal, {{"E-INTERNAL", "", "a defect"}}}, {}), 3);
}

TEST_F(Streams, ReaderThatIsGone) {
  for (const std::string& line : printing()) {
    // The reader has left before a byte is written.
    const Said s = shell("{ sleep 0.2; " + std::string(COHORT_COMMAND) + " " + line +
                         "; echo exit $? >&2; } | true");
    EXPECT_NE(s.err.find("Broken pipe"), std::string::npos) << line << "\n" << s.err;
    EXPECT_NE(s.err.find("\nexit 2\n"), std::string::npos) << line << "\n" << s.err;
    EXPECT_NE(s.err.find("REPRO: cohort"), std::string::npos) << line << "\n" << s.err;
  }
}

TEST_F(Streams, ReaderThatTakesOneByte) {
  Json g = Json::parse(read_file(sample("matmul_relu")));
  const Json relu = g["nodes"][1];
  for (int i = 1; i < 2000; ++i) {
    Json next = relu;
    next["in"] = "%" + std::to_string(i);
    g["nodes"].push_back(next);
  }
  g["outputs"][0]["value"] = "%2000";
  const std::string file = write("long.json", g.dump());
  const Said s = shell("{ " + std::string(COHORT_COMMAND) + " show --format svg " + file +
                       "; echo exit $? >&2; } | head -c 1");
  EXPECT_NE(s.err.find("exit 2"), std::string::npos) << s.err;
}

TEST_F(Streams, DiskThatIsFull) {
  for (const std::string& line : printing()) fails(line + " >/dev/full", 2, "No space left");
}

TEST_F(Streams, SmallDisk) {
  const std::string disk = path("disk");
  ASSERT_EQ(::mkdir(disk.c_str(), 0777), 0);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "no right to mount a small disk";
  }
  const std::string out = disk + "/y";
  std::ofstream(out) << "old";
  const std::string run = "run " + sample("matmul_relu") + " --random 1 --outputs " + out;
  fails(run + " --size M=64", 2, "No space left");
  EXPECT_EQ(read_file(out), "old");
  size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(disk)) files += e.exists() ? 1 : 0;
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(cohort(run + " --size M=2").exit, 0);
  EXPECT_GT(read_file(out).size(), 1000u);
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST_F(Streams, FoldersAsFiles) {
  const std::string folder = path("");
  for (const std::string& line : reading(folder)) fails(line, 2, "Is a directory");
  const std::string g = sample("matmul_relu");
  fails("run " + g + " --inputs " + folder, 2, "Is a directory");
  fails("run " + g + " --random 1 --size M=2 --outputs " + folder, 2, "Is a directory");
}

TEST_F(Streams, FilesThatMayNotBeTouched) {
  const std::string who = as_nobody();
  if (who.empty()) GTEST_SKIP() << "cannot become another user";
  const std::string g = sample("matmul_relu");
  const std::string inputs = path("inputs");
  std::filesystem::permissions(path(""), std::filesystem::perms::all);
  const std::string locked = write("locked", read_file(g));
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  const auto refused = [&](const std::string& line) {
    const Said s = shell(who + COHORT_COMMAND + " " + line);
    EXPECT_EQ(s.exit, 2) << line << "\n" << s.err;
    EXPECT_NE(s.err.find("Permission denied"), std::string::npos) << line << "\n" << s.err;
  };
  for (const std::string& line : reading(locked)) refused(line);
  refused("run " + g + " --inputs " + locked);
  const std::string closed = path("closed");
  ASSERT_EQ(::mkdir(closed.c_str(), 0755), 0);
  std::filesystem::permissions(closed, std::filesystem::perms(0555));
  refused("run " + g + " --random 1 --size M=2 --outputs " + closed + "/y");
}

#ifndef COHORT_SANITIZED
// However little memory there is: success, or a message and an exit code of the table.
TEST_F(Streams, LittleMemory) {
  const std::string g = sample("fc1_mxfp8");
  const std::string command(COHORT_COMMAND);
  const auto with = [&](int64_t kilobytes, const std::string& line) {
    return shell("ulimit -v " + std::to_string(kilobytes) + "; " + command + " " + line);
  };
  int64_t least = 4096;
  while (least < (1 << 20) && with(least, "--version").exit != 0) least += 1024;
  int failed = 0;
  for (const std::string& line : {"check " + g, "show --format svg " + g, "plan --explain " + g,
                                  "run --random 1 --size T=64 " + g}) {
    for (int64_t more = 0; more <= 16384; more += 256) {
      const Said s = with(least + more, line);
      ASSERT_TRUE(s.exit == 0 || s.exit == 1)
          << line << " with " << least + more << " KB: " << s.exit << "\n"
          << s.err;
      if (s.exit == 0) break;
      ++failed;
      ASSERT_NE(s.err.find("E-MEMORY"), std::string::npos) << line << "\n" << s.err;
      ASSERT_NE(s.err.find("REPRO: cohort"), std::string::npos) << line << "\n" << s.err;
    }
  }
  EXPECT_GT(failed, 0) << "memory never ran out";
}

// 1.2 MB of text.
TEST_F(Streams, EmptyItemsTakeLittleMemory) {
  for (const std::string list : {"dims", "inputs", "nodes", "outputs"}) {
    std::string text = R"({"cohort":1,"name":"g")";
    for (const std::string other : {"dims", "inputs", "nodes", "outputs"}) {
      text += ",\"" + other + "\":[";
      if (other == list) {
        text += "{}";
        for (int i = 1; i < 400'000; ++i) text += ",{}";
      }
      text += "]";
    }
    const Said s =
        shell("ulimit -v 360000; exec " COHORT_COMMAND " check " + write("empty.json", text + "}"));
    EXPECT_EQ(s.exit, 1) << list;
    EXPECT_NE(s.err.find("E-KEY"), std::string::npos) << list << ": " << s.err.substr(0, 200);
    EXPECT_NE(s.err.find("more findings)"), std::string::npos) << list;
  }
}
#endif

// Runs a product of some seconds with its messages going to a terminal, or to a file.
TEST_F(Streams, BarOnATerminalOnly) {
  Json g = Json::parse(read_file(sample("matmul_relu")));
  for (Json& i : g["inputs"]) i["shape"] = {2048, 2048};
  g["dims"] = Json::array();
  const std::string file = write("large.json", g.dump());
  const std::string line =
      "COHORT_THREADS=1 COHORT_ISA=v1 " + std::string(COHORT_COMMAND) + " run --random 1 " + file;
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  const std::string terminal = ::ptsname(master);
  const int keep = ::open(terminal.c_str(), O_RDWR | O_NOCTTY);  // or the end of it is an error
  const int status = std::system((line + " >" + path("out") + " 2>" + terminal).c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::string shown;
  char buffer[4096];
  pollfd ready{master, POLLIN, 0};
  while (::poll(&ready, 1, 100) > 0 && (ready.revents & POLLIN) != 0) {
    const ssize_t n = ::read(master, buffer, sizeof buffer);
    if (n <= 0) break;
    shown.append(buffer, static_cast<size_t>(n));
  }
  ::close(keep);
  ::close(master);
  EXPECT_NE(shown.find("\r["), std::string::npos) << shown;
  EXPECT_NE(shown.find(" %"), std::string::npos) << shown;
  EXPECT_EQ(shown.back(), '\r') << "the bar is wiped away at the end";

  const int quiet = std::system((line + " >" + path("out") + " 2>" + path("err")).c_str());
  EXPECT_EQ(WEXITSTATUS(quiet), 0);
  EXPECT_EQ(read_file(path("err")), "");
}

}  // namespace
}  // namespace cohort::test
