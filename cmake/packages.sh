# shellcheck shell=bash
# Sourced: installs what is missing of the Debian packages given as arguments.
need_packages() {
  local missing=()
  local package
  for package in "$@"; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "All packages are there: $*"
    return
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "Missing packages: ${missing[*]}; neither root nor sudo is at hand to install them." >&2
      return 1
    }
    sudo=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" </dev/null
}

CORE_PACKAGES=(g++ cmake ninja-build libeigen3-dev nlohmann-json3-dev libcli11-dev)
TEST_PACKAGES=(clang libclang-rt-14-dev clang-format-14 clang-tidy-14 clang-tools-14 libgtest-dev
  libbenchmark-dev doxygen python3 python3-jsonschema binutils)

jobs=$(nproc 2>/dev/null || echo 2)
