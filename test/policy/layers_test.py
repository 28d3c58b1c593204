"""Who may include whom, and who may print, stop the program or read the environment.

The table is the rule; docs/map.md explains it. Runs on itself first: each planted violation must be
found.
"""
import re
import sys

from sources import CPP, ROOT, project_files, strip_cpp

# Room -> rooms or single headers of src/ that it may include besides itself. include/ is open to
# all. base is open to all but cli, which uses what a user has.
ROOMS = {
    "base": [],
    "numerics": ["base"],
    "arch": ["base"],
    "cuda": ["base"],
    "ir": ["base", "arch", "numerics"],
    "ops": ["base", "ir", "numerics"],
    "json": ["base", "ir"],
    "validate": ["base", "arch", "ir", "numerics"],
    "plan": ["base", "arch", "ir", "numerics", "engine/engine.h"],
    "engine": ["base", "arch", "ir", "numerics"],
    "engine/reference": ["base", "arch", "ir", "numerics", "engine/engine.h"],
    "engine/cudnn": ["base", "arch", "ir", "numerics", "engine/engine.h", "cuda"],
    "engine/native": ["base", "arch", "ir", "numerics", "engine/engine.h", "cuda", "jit",
                      "kernels/abi.h"],
    "kernels": [],
    "jit": ["base", "arch", "cuda"],
    "ptx": ["base"],
    "emu": ["base", "arch", "numerics", "ptx"],
    "race": ["base", "emu/events.h", "emu/fault.h", "emu/rules.h"],
    "launch": ["base", "emu", "ptx"],
    "report": ["base", "emu"],
    "io": ["base"],
    "cli": ["io", "samples"],
    "samples": [],  # not a room of src/: its graphs are bundled with the command
}
# The files at src/ root put the rooms together: any room but this.
NOT_FROM_ROOT = {"cli", "samples"}
# Libraries, by the first part of the include, and the rooms that may use them.
EXTERNALS = {
    "nlohmann": {"json", "io", "cli"},
    "Eigen": {"engine/reference"},
    "CLI": {"cli"},
    "cuda": {"cuda", "engine/cudnn", "engine/native", "jit"},
    "posix": {"base", "io", "cli", "cuda", "jit"},
    "x86": {"emu"},  # the rounding mode of SSE
}
POSIX = re.compile(r"^(unistd|fcntl|dlfcn|poll|signal|pthread|errno|sys/\w+)(\.h)?$")
X86 = re.compile(r"^\w*mmintrin\.h$")
CUDA = re.compile(r"^(cuda\w*|cudnn\w*|nvrtc|crt/.*)(\.h)?$")
# Headers that cost a user of the library compile time, or tie it to one ABI.
NOT_PUBLIC = {"memory", "functional", "tuple", "variant", "optional", "algorithm", "chrono",
              "string", "vector", "iostream", "istream", "ostream", "fstream", "sstream", "iomanip",
              "ios", "streambuf", "iosfwd", "map", "unordered_map", "set", "unordered_set", "regex",
              "ranges", "format", "thread", "mutex", "filesystem", "random"}

ALL_BUT_CLI = re.compile(r"^(src/(?!cli/)|include/)")
# (what, where it is forbidden, pattern on stripped text, files where it is allowed)
WORDS = [
    ("getenv", re.compile(r"^(src|include)/"), re.compile(r"\b((secure_)?getenv|environ)\b"),
     re.compile(r"^src/base/options[^/]*$")),
    ("printing", ALL_BUT_CLI,
     re.compile(r"\b(printf|fprintf|vprintf|vfprintf|puts|putchar|perror|cout|cerr|clog)\b"),
     re.compile(r"^src/base/diagnostics\.cpp$")),
    ("stopping the program", ALL_BUT_CLI,
     re.compile(r"\b(abort|exit|_exit|_Exit|quick_exit|terminate)\s*\("),
     re.compile(r"^src/base/diagnostics\.cpp$")),
    ("iostream", ALL_BUT_CLI, re.compile(r"#\s*include\s*<(iostream|ostream|istream|iomanip)>"),
     re.compile(r"^$")),
]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def room_of(path):
    """Room of a path below src/ ("engine/reference"); None for a file at its root."""
    parts = path.split("/")
    for depth in (2, 1):
        if len(parts) > depth and "/".join(parts[:depth]) in ROOMS:
            return "/".join(parts[:depth])
    return None if len(parts) == 1 else "?" + parts[0]


def check_src_include(room, target):
    """Why a file of the room may not include src/<target>, or None."""
    to = room_of(target)
    if to is None:
        return "nobody includes files at src/ root"
    if to.startswith("?"):
        return f"unknown room {to[1:]}"
    if room is None:
        return "root includes no " + to if to in NOT_FROM_ROOT else None
    allowed = ROOMS[room]
    if to == room or to in allowed or target in allowed:
        return None
    return f"{room} may not include {to}"


def check_system_include(room, name):
    """Why a file of the room (None: src/ root, "include": public) may not include <name>."""
    if name.startswith("cohort/"):
        return None
    kind = name.split("/")[0]
    if POSIX.match(name):
        kind = "posix"
    elif CUDA.match(name):
        kind = "cuda"
    elif X86.match(name):
        kind = "x86"
    elif "/" not in name and not name.endswith((".h", ".hpp")):
        if room == "include" and name in NOT_PUBLIC:
            return f"public headers do without <{name}>"
        return None
    if room in EXTERNALS.get(kind, set()):
        return None
    return f"{room or 'src/ root'} may not include <{name}>"


def check_file(path, text):
    """Findings about one file; path is relative to the project."""
    found = []
    public = path.startswith("include/")
    room = "include" if public else room_of(path.removeprefix("src/"))
    if room is not None and room.startswith("?"):
        return [f"{path}: {room[1:]} is in no row of the layer table"]
    commentless = re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/", "", text)
    for quoted, system in INCLUDE.findall(commentless):
        if system:
            why = check_system_include(room, system)
        elif public:
            why = "public headers include with <>"
        else:
            why = check_src_include(room, quoted)
        if why:
            found.append(f"{path}: {quoted or system}: {why}")
    stripped = strip_cpp(text)
    for what, where, pattern, allowed in WORDS:
        if where.match(path) and not allowed.match(path) and pattern.search(stripped):
            found.append(f"{path}: {what} is not for this file")
    return found


PLANTED = [
    ("src/base/a.cpp", '#include "ir/graph.h"'),
    ("src/ops/a.cpp", '#include "engine/engine.h"'),
    ("src/plan/a.cpp", '#include "engine/reference/reference_engine.h"'),
    ("src/plan/a.cpp", '#include "engines.h"'),
    ("src/engine/reference/a.cpp", '#include "plan/cache.h"'),
    ("src/cli/a.cpp", '#include "base/diagnostics.h"'),
    ("src/io/a.cpp", '#include "json/reader.h"'),
    ("src/ops/a.cpp", '#include "samples/05_moe_layer/layer.h"'),
    ("src/pipeline.cpp", '#include "cli/a.h"'),
    ("src/ir/a.cpp", "#include <nlohmann/json.hpp>"),
    ("src/pipeline.cpp", "#include <nlohmann/json.hpp>"),
    ("src/ops/a.cpp", "#include <Eigen/Core>"),
    ("src/json/a.cpp", "#include <CLI/CLI.hpp>"),
    ("src/engine/reference/a.cpp", "#include <cuda.h>"),
    ("src/plan/a.cpp", "#include <unistd.h>"),
    ("src/newroom/a.cpp", ""),
    ("include/cohort/a.h", "#include <string>"),
    ("include/cohort/a.h", "  #  include <vector>"),
    ("include/cohort/a.h", '#include "base/checked.h"'),
    ("include/cohort/a.h", "#include <nlohmann/json.hpp>"),
    ("src/plan/a.cpp", 'void f() { std::getenv("X"); }'),
    ("src/cli/a.cpp", 'void f() { getenv("X"); }'),
    ("src/cli/a.cpp", "char** f() { return environ; }"),
    ("src/ir/a.cpp", 'void f() { std::printf("x"); }'),
    ("src/ir/a.cpp", "void f() { std::abort(); }"),
    ("src/ir/a.cpp", "#include <iostream>"),
    ("src/ir/a.cpp", 'int a = 1\'000; void f() { const char* s = "\\""; std::cerr << s; }'),
]
ALLOWED = [
    ("src/ir/a.cpp", '// std::abort() and #include "plan/x.h"\nconst char* s = "getenv printf(";'),
    ("src/ir/a.cpp", '#include "numerics/layout.h"\n#include <vector>\n#include <cohort/plan.h>'),
    ("src/plan/a.cpp", '#include "engine/engine.h"\nint n = std::snprintf(nullptr, 0, "");'),
    ("src/base/options.cpp", 'void f() { std::getenv("X"); }'),
    ("src/pipeline.cpp", '#include "engine/reference/reference_engine.h"'),
    ("src/cli/a.cpp", "#include <CLI/CLI.hpp>\n#include <cohort/cohort.h>\n#include <iostream>"),
]


def main():
    for path, text in PLANTED:
        if not check_file(path, text):
            sys.exit(f"self-test: not caught in {path}: {text}")
    for path, text in ALLOWED:
        if check_file(path, text):
            sys.exit(f"self-test: wrongly caught: {check_file(path, text)}")
    found, count = [], 0
    for path in project_files("include", "src"):
        if path.suffix in CPP:
            count += 1
            found += check_file(path.relative_to(ROOT).as_posix(), path.read_text())
    print("\n".join(found))
    print(f"{count} files, {len(found)} findings; {len(PLANTED)} planted violations caught")
    sys.exit(1 if found or count == 0 else 0)


if __name__ == "__main__":
    main()
