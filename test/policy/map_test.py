"""docs/map.md tells the truth: about folders, about the layer table, and about files of recipes.

That the recipe for an op suffices is another test's: recipe_test.py.
"""
import fnmatch
import pathlib
import re
import sys

import layers_test
from sources import CPP, ROOT, project_files, strip_cpp

TOP = {"include", "src", "samples", "test", "docs", "cmake", ".ci", ".github"}


def section(text, title):
    """The text below a heading, up to the next one of that depth or above."""
    depth = title.split()[0]
    after = text.split("\n" + title + "\n", 1)
    if len(after) != 2:
        sys.exit(f"docs/map.md has no section {title!r}")
    return re.split(rf"\n#{{1,{len(depth)}}} ", after[1])[0]


def rows(text):
    """Cells of the table's rows, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def real_folders():
    found = set()
    for path in project_files(*TOP):
        for parent in path.relative_to(ROOT).parents:
            if parent != pathlib.Path("."):
                found.add(parent.as_posix())
    return found


def folder_findings(text, folders):
    """What the folder table and the folders do not agree on."""
    listed = []
    rooms = {folder.removeprefix("src/") for folder in folders if folder.startswith("src/")}
    for row in rows(section(text, "## Folders")):
        pattern = row[0].strip("`")
        named = [f"test/{room}" for room in rooms] if pattern == "test/ROOM" else [pattern]
        listed.append((pattern, named))
        if not row[1]:
            yield f"{pattern}: no word about it"
    def match(folder, name):
        """A star stands for one name, not for a path."""
        return fnmatch.fnmatch(folder, name) and folder.count("/") == name.count("/")

    for pattern, named in listed:
        if not any(match(folder, name) for folder in folders for name in named):
            yield f"{pattern} is listed, and is no folder"
    for folder in sorted(folders):
        # Folders of data have any depth.
        if folder.startswith("test/data/"):
            continue
        if not any(match(folder, name) for _, named in listed for name in named):
            yield f"{folder} is a folder, and is not listed"


def layer_findings(text, folders):
    """What the table of rooms and the one of layers_test.py do not agree on."""
    libraries = {"nlohmann": "nlohmann", "Eigen": "Eigen", "CLI": "CLI11", "posix": "POSIX"}
    told = {}
    for row in rows(section(text, "## Who may include whom")):
        told[row[0].strip("`")] = (set(re.findall(r"`([^`]+)`", row[1])),
                                   set(re.findall(r"\w+", row[2])))
    for room, allowed in layers_test.ROOMS.items():
        if f"src/{room}" not in folders:
            if room in told:
                yield f"room {room} is listed, and is no folder"
            continue
        externals = {name for key, name in libraries.items()
                     if room in layers_test.EXTERNALS[key]}
        if told.get(room) != (set(allowed), externals):
            yield f"room {room}: the page says {told.get(room)}, the test {(allowed, externals)}"
    for room in told.keys() - layers_test.ROOMS.keys():
        yield f"room {room} is in no row of layers_test.py"


def recipe(text, title):
    """{path: is new} of a recipe."""
    files = {}
    for row in rows(section(text, title)):
        files[row[0].strip("*").strip("`")] = row[0].startswith("**")
    return files


def recipe_findings(text):
    titles = re.findall(r"^### (.*)$", text, re.M)
    if len(titles) < 4:
        yield "fewer than four recipes"
    for title in titles:
        for path, is_new in recipe(text, "### " + title).items():
            if is_new == (ROOT / path).exists() or is_new != ("NAME" in path):
                yield f"{title}: {path}: " + ("is not there" if not is_new else "is not new")


# An example of each recipe, the words by which files would name it, and where it is looked for. An
# op and an instruction are named by many tests and pages that are not about them; test/plan asks the
# reference engine for what no other one promises.
EVERYWHERE = ("include", "src", "test", "docs", "samples")
EXAMPLES = [
    ("One more epilogue op", "row_scale", r"\b(row_scale|RowScale)\b", ("include", "src")),
    ("One more instruction of PTX", "brev", r"\bbrev\b", ("include", "src")),
    ("One more engine", "reference", r"\breference_engine\b",
     ("include", "src", "docs", "samples", "test/policy", "test/cli", "test/engine")),
    ("One more architecture", "sm103", r"\b(sm103|1030)\b", EVERYWHERE),
]
# This page, and its test.
THEMSELVES = {"docs/map.md", "test/policy/map_test.py"}


def words_of(path):
    text = path.read_text(errors="replace")
    return strip_cpp(text, strings=True) if path.suffix in CPP else text


def example_findings(text, examples=tuple(EXAMPLES)):
    """Files that name an example, and are not in its recipe."""
    for title, name, words, folders in examples:
        allowed = {path.replace("NAME", name) for path in recipe(text, "### " + title)}
        naming = {path.relative_to(ROOT).as_posix() for path in project_files(*folders)
                  if path.suffix in {*CPP, ".py", ".md", ".txt"}
                  and not path.match("src/cli/sample_*.cpp")
                  and re.search(words, words_of(path))}
        if not naming:
            yield f"{title}: no file names {name}"
        for path in sorted(naming - allowed - THEMSELVES):
            # A folder in a recipe stands for what is in it.
            if not any(path.startswith(folder + "/") for folder in allowed):
                yield f"{title}: {path} names {name}, and is not in the recipe"


def main():
    text = (ROOT / "docs/map.md").read_text()
    folders = real_folders()
    row = next(line for line in text.splitlines() if line.startswith("| `src/ir`"))
    plan = next(line for line in text.splitlines() if line.startswith("| `plan`"))
    for what, findings in (
            ("a folder too many", folder_findings(text.replace(row, row + "\n| `src/ix` | x |"),
                                                  folders)),
            ("a folder too few", folder_findings(text.replace(row + "\n", ""), folders)),
            ("a new folder", folder_findings(text, folders | {"src/new"})),
            ("a new deep folder", folder_findings(text, folders | {"docs/a/b"})),
            ("a wrong layer", layer_findings(text.replace(plan, plan.replace("`ir`", "`json`")),
                                             folders)),
            ("a recipe too short", example_findings(re.sub(r".*op_list.*\n", "", text))),
            ("a page that is forgotten", example_findings(
                text.replace("| `docs/command.md` | its name", "| `docs/errors.md` | its name"))),
            ("an example that is gone", example_findings(text, [(*EXAMPLES[0][:2], "no_such", ("src",))])),
            ("a wrong recipe", recipe_findings(text.replace("`src/engines.cpp`", "`src/e.cpp`")))):
        if not list(findings):
            sys.exit(f"self-test: {what} was not noticed")
    found = [*folder_findings(text, folders), *layer_findings(text, folders),
             *recipe_findings(text), *example_findings(text)]
    print("\n".join(found))
    print(f"{len(folders)} folders, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
