#!/usr/bin/env bash
# Builds the Debian package of this clone: airsplice_VERSION_ARCH.deb in the folder that is given, or here. It needs what `npm run build` has made,
# npm, dpkg-deb, and the registry or npm's cache for the production dependencies (by package-lock.json).
#   config/deploy/debian/build.sh [FOLDER]      DEB_VERSION=0.1.0-2 for another version than package.json's
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
deploy=$root/config/deploy
out=$(mkdir -p "${1:-.}" && cd "${1:-.}" && pwd)
[ -f "$root/dist/main.js" ] || { echo "build.sh: not built: npm ci && npm run build" >&2; exit 1; }

version=${DEB_VERSION:-$(node -p "require('$root/package.json').version")-1}
# What npm installs is for the machine that it runs on.
arch=$(dpkg --print-architecture)
# The same sources make the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
stage=$work/stage
program=$stage/usr/lib/airsplice
doc=$stage/usr/share/doc/airsplice
mkdir -p "$program" "$doc/examples" "$stage/DEBIAN"

# What `npm pack` ships, and what it needs to run.
(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$work" >/dev/null)
tar -xzf "$work"/airsplice-*.tgz -C "$program" --strip-components=1 --no-same-owner
cp "$root/package-lock.json" "$program/"
(cd "$program" && npm ci --silent --omit=dev --ignore-scripts --prefer-offline --no-audit --no-fund --no-bin-links)
# Only for compilers of TypeScript, and for npm.
rm -f "$program/package-lock.json" "$program/node_modules/.package-lock.json"
find "$program/node_modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
find "$program" -type d -empty -delete
chmod 755 "$program/dist/main.js"
mkdir -p "$stage/usr/bin"
ln -s ../lib/airsplice/dist/main.js "$stage/usr/bin/airsplice"

install -Dm644 "$deploy/systemd/airsplice.service" -t "$stage/usr/lib/systemd/system/"
install -Dm644 "$deploy/logrotate/airsplice" -t "$stage/etc/logrotate.d/"
install -Dm644 "$here/default" "$stage/etc/default/airsplice"
install -Dm644 "$here/airsplice.yaml" -t "$stage/usr/share/airsplice/"
install -Dm644 "$deploy/sysctl/60-airsplice.conf" -t "$doc/examples/"
install -m644 "$root/config/example.yaml" "$root/config/demo.yaml" "$doc/examples/"
# The README, and what it links to, where its links lead.
(cd "$program" && find . -path ./node_modules -prune -o -path ./dist -prune -o \( -name '*.md' -o -name '*.png' -o -path ./config/example.yaml \) -exec cp --parents -t "$doc" {} +)
(cd "$program" && rm -rf src bench test CHANGELOG.md CONTRIBUTING.md SECURITY.md)
# Packages of node_modules have theirs beside them.
cat "$root/LICENSE" <(echo) "$root/dist/THIRD-PARTY-LICENSES" >"$doc/copyright"
gzip -9nc "$root/CHANGELOG.md" >"$doc/changelog.gz"
for page in "$program"/dist/*.1; do
  [ -f "$page" ] || continue
  mkdir -p "$stage/usr/share/man/man1"
  gzip -9nc "$page" >"$stage/usr/share/man/man1/$(basename "$page").gz"
done
completion() {
  mkdir -p "$(dirname "$stage/$2")"
  node "$program/dist/main.js" completion "$1" >"$stage/$2"
}
completion bash usr/share/bash-completion/completions/airsplice
completion zsh usr/share/zsh/vendor-completions/_airsplice
completion fish usr/share/fish/vendor_completions.d/airsplice.fish

size=$(du -sk --apparent-size --exclude=DEBIAN "$stage" | cut -f 1)
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" "$here/control" >"$stage/DEBIAN/control"
(cd "$stage" && find etc -type f -printf '/%p\n' | sort) >"$stage/DEBIAN/conffiles"
install -m755 "$here/postinst" "$here/prerm" "$here/postrm" "$stage/DEBIAN/"
(cd "$stage" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
package=$out/airsplice_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$stage" "$package" >/dev/null
echo "$package"
