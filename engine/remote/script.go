package remote

import "strings"

// The probe is one command line that looks at a host, takes the agent in if it is
// missing, and becomes it. So one session is enough on any host, and a host that
// has the agent costs nothing but that session.
//
// It is given as  sh -c 'OUTER' deployer 'INNER' arguments  and must mean the
// same to whatever login shell the user has, csh and fish included. So both
// scripts stand in single quotes and contain none, nor newlines, exclamation
// marks and backslashes before a quote or a backslash; a test keeps it so. Only
// what POSIX says of sh(1) and its tools is used, and two things that all Linux
// systems have: test -O and head -c.
//
// Both scripts see the same arguments: $1 INNER, $2 marker, $3 method, and after
// these what is INNER's own business.

// outerScript becomes root by the method, and goes on with INNER:
//
//	none           stay who you are
//	sudo           it must not ask
//	sudo-password  it may ask, on the standard error, and reads the input
//	doas           it must not ask
//	doas-password  it may ask, on the terminal
//	su             it asks, on the terminal
//
// All of them speak English, for the sake of notRoot; INNER gets the language
// back by the last argument.
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

// becomeLine begins the line after which a password may be asked for, sudoPrompt
// ends the question of sudo.
const (
	becomeLine = "become="
	sudoPrompt = "-password:"
)

// innerScript runs with the privileges of the agent. It finds a directory that
// is the user's own, that can be written to and from which a program can be run,
// and becomes the agent. $4 and $5 are the digests for amd64 and arm64, $6 the
// directory to try first, or "-", $7 is "trust" when an agent that is there may
// be started without trying its directory out: the usual case, which then costs
// four processes. $8 is how many KiB must be free for a new one, $9 the locale.
//
// An agent that is there is started by its name alone, the digest, only where
// nobody but its user can have put it: it and its directories are the user's own,
// and closed to all others. Elsewhere it is sent again and hashed. For root,
// the directories above must be root's as well and not writable for all, so
// that nobody can exchange them; the one right above must not even be sticky.
//
// Where the agent is missing, the form (gzip or plain), the length in bytes and
// that of a piece are read from the input, and then the program; each piece that
// was taken is acknowledged. It is checked and put in place under its digest: two
// controllers may do so at once, each with a file of its own. The program tells
// its digest by itself, in a fifth of the time that sha256sum takes; that is asked
// where the program cannot be run, so that it is not said to be damaged.
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

// receiveScript is the part of innerScript that gets the program $d for the directory $a.
const receiveScript = `t=$a/.new$$; echo "dir=$a"; command -v gzip >/dev/null 2>&1 && echo gzip=yes; echo agent=missing; ` +
	`read -r form size piece || exit 0; ` +
	`pieces() { while [ "$size" -gt 0 ]; do [ "$size" -gt "$piece" ] || piece=$size; head -c "$piece" || return; size=$((size - piece)); echo taken= >&3; done; }; ` +
	`{ if [ "$form" = gzip ]; then pieces | gzip -dc >"$t"; else pieces >"$t"; fi; } 3>&1 || { rm -f "$t"; echo error=write; exit 0; }; ` +
	`chmod 700 "$t"; ` +
	`h=$("$t" digest "$t" 2>/dev/null); [ -n "$h" ] || { h=$(sha256sum <"$t" 2>/dev/null); h=${h%% *}; }; ` +
	`[ "$h" = "$d" ] || { rm -f "$t"; echo "digest=$h"; echo error=digest; exit 0; }; ` +
	`mv -f "$t" "$a/$d" || { rm -f "$t"; echo error=write; exit 0; }; `

// minFreeKiB is the free space that an agent needs, twice its size.
const minFreeKiB = "30000"

// probeCommand is the command line of the probe. Its arguments are names and
// digests; a single quote in one would end the quoting, so connect refuses
// directories with one.
func probeCommand(marker, method string, b *Binaries, first string, trust bool) string {
	if first == "" {
		first = "-"
	}
	check := "check"
	if trust {
		check = "trust"
	}
	words := []string{"sh -c", quote(outerScript), "deployer", quote(innerScript), marker, method}
	for _, a := range []string{b.digest("amd64"), b.digest("arm64"), first, check, minFreeKiB} {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

func quote(s string) string { return "'" + s + "'" }
