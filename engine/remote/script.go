package remote

import (
	"strings"

	"deployer/shellquote"
)

// The probe is one command line that examines a host, receives the agent if it is
// missing, and becomes the agent. One SSH session is therefore enough on any host.
//
// The command line is `sh -c 'OUTER' deployer 'INNER' arguments` and must mean the same
// in every login shell, csh and fish included. Both scripts therefore stand in single
// quotes and contain no single quote, newline, exclamation mark, or backslash before
// a quote or a backslash; a test checks it. They use POSIX sh(1) and its tools, and
// two features that all Linux systems have: test -O and head -c.
//
// Both scripts get the same arguments: $1 INNER, $2 marker, $3 method, and then those
// that only INNER uses.

// outerScript becomes root by the method, and continues with INNER:
//
//	none           stay the login user
//	sudo           must not ask
//	sudo-password  may ask on standard error, and reads the input
//	doas           must not ask
//	doas-password  may ask on the terminal
//	su             asks on the terminal
//
// All methods print English messages, which becomeFailed matches; INNER gets the
// locale back by the last argument.
const outerScript = `printf "\n%s\n" "$2"; u=$(id -u); echo "uid=$u"; set -- "$@" "${LC_ALL-}"; ` +
	`if [ "$3" = none ] || [ "$u" = 0 ]; then exec sh -c "$1" deployer "$@"; fi; ` +
	`m=${3%-password}; command -v "$m" >/dev/null 2>&1 || { echo error=not-there; exit 0; }; ` +
	`LC_ALL=C; export LC_ALL; echo "` + becomeLine + `$m"; ` +
	`case $3 in ` +
	`sudo) exec sudo -n sh -c "$1" deployer "$@";; ` +
	`sudo-password) exec sudo -S -p "$2` + sudoPrompt + `" sh -c "$1" deployer "$@";; ` +
	`doas) exec doas -n sh -c "$1" deployer "$@";; ` +
	`doas-password) exec doas sh -c "$1" deployer "$@";; ` +
	`su) exec su -s /bin/sh -c "$1" root deployer "$@";; ` +
	`esac`

// becomeLine starts the line after which a password prompt may follow; sudoPrompt ends
// the prompt of sudo.
const (
	becomeLine = "become="
	sudoPrompt = "-password:"
)

// innerScript runs with the privileges of the agent. innerScript finds a directory that the
// user owns, may write to and may execute programs in, and becomes the agent. $4 and
// $5 are the digests for amd64 and arm64, $6 is the directory to try first, or "-".
// $7 is "trust" when an agent that exists may be started without a test of its
// directory, the usual case, which costs four processes. $8 is the free space in KiB
// that a new agent needs, $9 the locale.
//
// An existing agent is started by its name alone, the digest, only where nobody but
// its user can have written it: the agent and its directories are owned by the user
// and closed to all others. Elsewhere it is sent again and hashed. For root, the
// directories above must be owned by root and not writable for others, so that
// nobody can exchange them; the direct parent must not even be sticky.
//
// Where the agent is missing, the script reads its form (gzip or plain), its length
// in bytes and the size of a chunk, and then the agent; it acknowledges each chunk.
// innerScript verifies the agent and renames it to its digest; two controllers may do so at
// once, each with a temporary file of its own. The agent computes its own digest, in
// a fifth of the time of sha256sum, which is used where the agent cannot be
// executed, so that such an agent is not reported as damaged.
const innerScript = `[ -t 0 ] && stty raw -echo 2>/dev/null; printf "\n%s\n" "$2"; umask 077; ` +
	`if [ -n "$9" ]; then LC_ALL=$9; export LC_ALL; else unset LC_ALL; fi; ` +
	`m=$(uname -sm); u=$(id -u); echo "user=$u"; echo "system=$m"; ` +
	`case $m in "Linux x86_64"|"Linux amd64") d=$4;; "Linux aarch64"|"Linux arm64") d=$5;; *) d=-;; esac; ` +
	`[ "$d" = - ] && { echo error=unsupported; exit 0; }; ` +
	`f=$6; trust=$7; need=$8; ` +
	`guard() { [ "$u" = 0 ] || return 0; case $p in /var/lib/deployer) return 0;; /*) ;; *) return 1;; esac; q=$p; ` +
	`until [ "$q" = / ]; do q=${q%/*}; q=${q:-/}; [ -d "$q" ] || continue; [ -O "$q/." ] || return 1; ` +
	`case $(ls -ld "$q/.") in d???????w[tT]*) [ "$q" = "${p%/*}" ] && return 1;; d???????w*) return 1;; esac; done; }; ` +
	`closed() { case $(ls -ld "$p" "$a") in drwx------*drwx------*) return 0;; esac; return 1; }; ` +
	`if [ "$u" = 0 ]; then s=/var/lib/deployer; set -- /var/lib/deployer ~root/.deployer /run/deployer; ` +
	`else s=; set -- "/var/tmp/deployer-$u" ${HOME:+"$HOME/.deployer"} "/dev/shm/deployer-$u"; fi; ` +
	`[ "$f" = - ] || { s=; set -- "$f" "$@"; }; ` +
	`for p in "$@"; do a=$p/agent; t=$a/.try$$; ` +
	`guard || { echo "tried=$a is below a directory that others may write to"; continue; }; ` +
	`[ -d "$a" ] || mkdir -p "$a" 2>/dev/null || { echo "tried=$a cannot be made"; continue; }; ` +
	`if [ -L "$p" ] || [ -L "$a" ]; then echo "tried=$a is a symbolic link"; continue; fi; ` +
	`[ -O "$p" ] && [ -O "$a" ] || { echo "tried=$a belongs to somebody else"; continue; }; ` +
	`if [ "$trust" = trust ] && [ -x "$a/$d" ] && [ -O "$a/$d" ] && closed; then :; else ` +
	`chmod 700 "$p" "$a"; ` +
	`{ printf "#\041/bin/sh\nexit 0\n" >"$t" && chmod 700 "$t"; } 2>/dev/null && [ -s "$t" ] || { rm -f "$t"; echo "tried=$a cannot be written to: read-only or full"; continue; }; ` +
	`"$t" 2>/dev/null || { rm -f "$t"; echo "tried=$a is on a file system mounted noexec"; continue; }; ` +
	`rm -f "$t"; ` +
	`k=$(df -Pk "$a" 2>/dev/null | { read -r k; read -r k k k k x; echo "$k"; }); ` +
	`[ "${k:-$need}" -ge "$need" ] 2>/dev/null || { echo "tried=$a has only $k KiB free of the $need that are needed"; continue; }; ` +
	receiveScript +
	`fi; ` +
	`echo agent=present; ` +
	`if [ -t 2 ]; then exec "$a/$d" serve --state-dir "${s:-$p}" 2>/dev/null; fi; ` +
	`exec "$a/$d" serve --state-dir "${s:-$p}"; ` +
	`done; echo error=no-directory`

// receiveScript is the part of innerScript that receives the program $d into the
// directory $a.
const receiveScript = `t=$a/.new$$; echo "dir=$a"; command -v gzip >/dev/null 2>&1 && echo gzip=yes; echo agent=missing; ` +
	`read -r form size piece || exit 0; ` +
	`pieces() { while [ "$size" -gt 0 ]; do [ "$size" -gt "$piece" ] || piece=$size; head -c "$piece" || return; size=$((size - piece)); echo taken= >&3; done; }; ` +
	`{ if [ "$form" = gzip ]; then pieces | gzip -dc >"$t"; else pieces >"$t"; fi; } 3>&1 || { rm -f "$t"; echo error=write; exit 0; }; ` +
	`chmod 700 "$t"; ` +
	`h=$("$t" digest "$t" 2>/dev/null); [ -n "$h" ] || { h=$(sha256sum <"$t" 2>/dev/null); h=${h%% *}; }; ` +
	`[ "$h" = "$d" ] || { rm -f "$t"; echo "digest=$h"; echo error=digest; exit 0; }; ` +
	`mv -f "$t" "$a/$d" || { rm -f "$t"; echo error=write; exit 0; }; `

// minFreeKiB is the free space in KiB that an agent needs: twice its size.
const minFreeKiB = "30000"

// probeCommand returns the command line of the probe. Its arguments are names and
// digests. The quoting of a single quote contains a backslash, which login shells read in
// different ways, so connect refuses directories with one.
func probeCommand(marker, method string, b *Binaries, first string, trust bool) string {
	if first == "" {
		first = "-"
	}
	check := "check"
	if trust {
		check = "trust"
	}
	words := []string{"sh -c", shellquote.Word(outerScript), "deployer", shellquote.Word(innerScript), marker, method}
	for _, a := range []string{b.digest("amd64"), b.digest("arm64"), first, check, minFreeKiB} {
		words = append(words, shellquote.Word(a))
	}
	return strings.Join(words, " ")
}
