#!/bin/sh
# Installs the Debian and Ubuntu packages that BERT Studio needs, and only those that are missing.
#   install-system-libs.sh               what Qt needs to start: offscreen, X11, Wayland
#   install-system-libs.sh --fonts       also fonts for Chinese, Japanese, Korean and emoji
#   install-system-libs.sh --gui-tests   also Xvfb, a window manager, xdotool, screenshots, AT-SPI
#   install-system-libs.sh --with NAME   also this package
#   install-system-libs.sh --only NAME   this package, and nothing of the above
#   install-system-libs.sh --check       installs nothing; names what is missing, exits 1 if anything is
# Safe to run again: with nothing missing it ends at once without touching apt. Needs root or sudo
# only where something is missing. Tried on Debian 12 and 13.
set -eu

# the offscreen platform, and everything else: QtCore, QtGui
pkgs="libglib2.0-0 libegl1 libgl1 libdbus-1-3 libfontconfig1 libfreetype6 libxkbcommon0 libx11-6 fonts-dejavu-core"
# the xcb platform: a real X11 screen, or Xvfb
pkgs="$pkgs libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-render0
 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-util1 libxcb-xfixes0 libxcb-xkb1 libxkbcommon-x11-0 libx11-xcb1"
# the Wayland platform
pkgs="$pkgs libwayland-client0 libwayland-cursor0 libwayland-egl1"

usage() { sed -n '2,10p' "$0" | sed 's/^# \{0,1\}//'; exit 2; }

check=no
while [ $# -gt 0 ]; do
  case "$1" in
    --fonts) pkgs="$pkgs fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji" ;;
    --gui-tests) pkgs="$pkgs xvfb xauth xdotool openbox imagemagick dbus at-spi2-core python3-pyatspi" ;;
    --with) [ $# -gt 1 ] || usage; shift; pkgs="$pkgs $1" ;;
    --only) [ $# -gt 1 ] || usage; shift; pkgs="$1" ;;
    --check) check=yes ;;
    *) usage ;;
  esac
  shift
done

command -v apt-get >/dev/null 2>&1 || {
  echo "not a Debian-like system; install the equivalents of:" $pkgs >&2
  exit 1
}

# a package counts as present when it, or one that provides its name (the t64 renames), is installed
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Provides}\n' 2>/dev/null |
  sed -n 's/^ii  *//p' | sed 's/([^)]*)//g; s/,/ /g')
have=" $(echo $installed) "
missing=""
for p in $pkgs; do
  case "$have" in *" $p "*) ;; *) missing="$missing $p" ;; esac
done

[ -n "$missing" ] || { echo "system packages: all there"; exit 0; }
echo "system packages missing:$missing"
[ "$check" = no ] || exit 1

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
get="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 install -y --no-install-recommends"
# with the package lists as they are; if that fails, refresh them and try once more
$get $missing >/dev/null 2>&1 || {
  $as_root apt-get -qq update
  $get $missing >/dev/null
}
echo "system packages: installed"
