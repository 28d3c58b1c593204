// What is left of files that were being written when a program ends.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/temporaries.h"

namespace {

bool has_nameless_files = true;

}  // namespace

// The linker puts these in place of open (test/CMakeLists.txt): a file system without O_TMPFILE.
extern "C" int __real_open(const char* path, int flags, ...);
extern "C" int __wrap_open(const char* path, int flags, ...) {
  if (!has_nameless_files && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  unsigned mode = 0;
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, unsigned);
    va_end(more);
  }
  return __real_open(path, flags, mode);
}

namespace cohort::io {
namespace {

class Temporaries : public testing::Test {
 protected:
  Temporaries() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cohort_io_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    has_nameless_files = false;
  }
  ~Temporaries() override {
    has_nameless_files = true;
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST(Folders, OfAPath) {
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("a/b/c"), "a/b");
}

TEST_F(Temporaries, GoWithTheProgram) {
  ReplacementFile file(path("y"));
  file.write("abc", 3);
  ASSERT_EQ(files(), 1);
  remove_temporaries();
  EXPECT_EQ(files(), 0);
}

TEST_F(Temporaries, AreForgottenWhenTheFileIsThere) {
  ReplacementFile file(path("y"));
  file.write("abc", 3);
  file.commit();
  // Another file may have the name by now.
  const std::string name = path("y.tmp." + std::to_string(::getpid()) + ".");
  for (int i = 0; i < 64; ++i) std::ofstream(name + std::to_string(i)) << "other";
  remove_temporaries();
  EXPECT_EQ(files(), 65);
}

TEST_F(Temporaries, AreForgottenWhenGivenUp) {
  {
    ReplacementFile file(path("y"));
    file.write("abc", 3);
  }
  EXPECT_EQ(files(), 0);
  EXPECT_THROW(ReplacementFile(path("absent/y")), base::FindingsError);
  std::ofstream(path("kept")) << "x";
  { const Temporary kept(path("kept")); }
  remove_temporaries();
  EXPECT_EQ(files(), 1);
}

TEST_F(Temporaries, MoreThanTheTableHas) {
  std::deque<ReplacementFile> all;
  for (int i = 0; i < 20; ++i) all.emplace_back(path("y" + std::to_string(i)));
  remove_temporaries();
  EXPECT_EQ(files(), 4) << "16 are known";
  all.clear();
  EXPECT_EQ(files(), 0);
  { const Temporary too_long(std::string(5000, 'x')); }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 16; ++i) all.emplace_back(path("z" + std::to_string(i)));
    remove_temporaries();
    EXPECT_EQ(files(), 0) << "every place is used again";
    all.clear();
  }
}

}  // namespace
}  // namespace cohort::io
