#!/usr/bin/env bash
# from_debian.sh VERSION FOLDER: this Python from Debian's next release, in FOLDER/bin.
# Nothing else of the machine changes: it brings its own C library. Needs Debian, gcc and patchelf.
set -euo pipefail
version=$1
mkdir -p "$2"
home=$(cd "$2" && pwd)
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status" # nothing is installed: all that it needs is fetched
# the first paragraph: the archive itself, from where this machine takes it
sed -e 's/^Suites:.*/Suites: testing/' -e '/^$/,$d' /etc/apt/sources.list.d/debian.sources >"$apt/parts/debian.sources"

get() {
  apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/parts" -o Dir::State::status="$apt/status" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User="$(id -un)" "$@"
}
get update
get install -y --download-only --no-install-recommends "python$version-venv" "python$version-dev" >/dev/null
for package in "$apt"/archives/*.deb; do
  dpkg -x "$package" "$apt/root"
done
cp -a "$apt"/root/usr/. "$home"
multiarch=$(gcc -print-multiarch)
libraries=$home/lib/$multiarch
ln -sfn "../$multiarch" "$home/include/python$version/$multiarch" # its pyconfig.h, for what pip compiles
patchelf --set-interpreter "$(echo "$libraries"/ld-linux-*.so.*)" --force-rpath --set-rpath "$libraries" "$home/bin/python$version"
# where `venv` finds pip
sed -i "s#/usr/share/python-wheels#$home/share/python-wheels#" "$home/lib/python$version"/_sysconfigdata_*.py
"$home/bin/python$version" -c 'import sys; print("Debian has", sys.version)'
