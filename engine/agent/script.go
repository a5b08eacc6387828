package agent

import "strings"

// The probe is one command line that looks at a host and, when the agent is
// there, becomes it. So a host that has the agent costs one session.
//
// It is given as  sh -c 'OUTER' deployer 'INNER' arguments  and must mean the
// same to whatever login shell the user has, csh and fish included. So both
// scripts stand in single quotes and contain none, nor newlines, exclamation
// marks and backslashes before a quote or a backslash; a test keeps it so. Only
// what POSIX says of sh(1) and its tools is used, and test -O, which dash, bash,
// busybox, ksh, mksh and zsh have.
//
// Both scripts see the same arguments: $1 INNER, $2 marker, $3 privilege, and
// after these what is INNER's own business.

// outerScript becomes root if asked, and goes on with INNER. The privilege is
//
//	plain     stay who you are
//	sudo      sudo must not ask
//	password  the first line of the input is the password; sudo may ask for it
//
// "sudo -k" with a command ignores remembered passwords, so that it is known
// whether sudo will read the line or not.
const outerScript = `printf "\n%s\n" "$2"; ` +
	`echo "uid=$(id -u)"; ` +
	`if [ "$3" = plain ] || [ "$(id -u)" = 0 ]; then ` +
	`[ "$3" = password ] && IFS= read -r skip; ` +
	`exec sh -c "$1" deployer "$@"; fi; ` +
	`command -v sudo >/dev/null 2>&1 || { echo error=sudo-missing; exit 0; }; ` +
	`if sudo -k -n true </dev/null >/dev/null 2>&1; then ` +
	`[ "$3" = password ] && IFS= read -r skip; ` +
	`exec sudo -n sh -c "$1" deployer "$@"; fi; ` +
	`[ "$3" = password ] || { LC_ALL=C sudo -k -n true </dev/null 2>&1 >/dev/null | sed "s/^/sudo=/"; echo error=sudo-password; exit 0; }; ` +
	`echo sudo-asked=yes; ` +
	`exec sudo -k -S -p "` + sudoPrompt + `" sh -c "$1" deployer "$@"`

// sudoPrompt is what sudo writes to the standard error when it asks. When it
// is there twice, the password was refused.
const sudoPrompt = "<deployer asks for the password>"

// innerScript runs with the privileges of the agent. It finds a directory that
// is the user's own, that can be written to and from which a program can be
// run, and becomes the agent if that is there. $4 and $5 are the digests for
// amd64 and arm64, $6 the directory to try first, or "-", and $7 is "trust"
// when an agent that is there may be started without trying its directory
// out: the usual case, which then costs three processes.
const innerScript = `umask 077; m=$(uname -sm); u=$(id -u); ` +
	`echo "system=$m"; ` +
	`case $m in "Linux x86_64"|"Linux amd64") d=$4;; "Linux aarch64"|"Linux arm64") d=$5;; *) d=-;; esac; ` +
	`[ "$d" = - ] && { echo error=unsupported; exit 0; }; ` +
	`f=$6; trust=$7; ` +
	`if [ "$u" = 0 ]; then s=/var/lib/deployer; set -- /var/lib/deployer /var/tmp/deployer-0 "$HOME/.deployer" /dev/shm/deployer-0; ` +
	`else s=; set -- "/var/tmp/deployer-$u" "$HOME/.deployer" "/dev/shm/deployer-$u"; fi; ` +
	`[ "$f" = - ] || { s=; set -- "$f" "$@"; }; ` +
	`for p in "$@"; do a=$p/agent; t=$a/.try$$; ` +
	`[ -d "$a" ] || mkdir -p "$a" 2>/dev/null || { echo "tried=$a cannot be made"; continue; }; ` +
	`if [ -L "$p" ] || [ -L "$a" ]; then echo "tried=$a is a symbolic link"; continue; fi; ` +
	`[ -O "$p" ] && [ -O "$a" ] || { echo "tried=$a belongs to somebody else"; continue; }; ` +
	`if [ "$trust" = trust ] && [ -x "$a/$d" ]; then :; else ` +
	`chmod 700 "$p" "$a"; ` +
	`{ printf "#\041/bin/sh\nexit 0\n" >"$t" && chmod 700 "$t"; } 2>/dev/null && [ -s "$t" ] || { rm -f "$t"; echo "tried=$a cannot be written to: read-only or full"; continue; }; ` +
	`"$t" 2>/dev/null || { rm -f "$t"; echo "tried=$a is on a file system mounted noexec"; continue; }; ` +
	`rm -f "$t"; fi; ` +
	`echo "dir=$a"; ` +
	`[ -x "$a/$d" ] || { command -v gzip >/dev/null 2>&1 && echo gzip=yes; echo agent=missing; exit 0; }; ` +
	`echo agent=present; ` +
	`exec "$a/$d" serve --state-dir "${s:-$p}"; ` +
	`done; echo error=no-directory`

// storeScript takes a program from its input, checks it, and puts it in place
// under its digest. $4 directory, $5 digest, $6 gzip or plain.
const storeScript = `umask 077; t=$4/.new$$; ` +
	`if [ "$6" = gzip ]; then gzip -dc >"$t"; else cat >"$t"; fi || { rm -f "$t"; echo error=write; exit 0; }; ` +
	`chmod 700 "$t"; ` +
	`if command -v sha256sum >/dev/null 2>&1; then h=$(sha256sum <"$t"); h=${h%% *}; else h=$("$t" digest); fi; ` +
	`[ "$h" = "$5" ] || { rm -f "$t"; echo "digest=$h"; echo error=digest; exit 0; }; ` +
	`mv -f "$t" "$4/$5" || { rm -f "$t"; echo error=write; exit 0; }; ` +
	`echo stored=yes`

// privilege says how the agent becomes root.
type privilege string

const (
	plain    privilege = "plain"
	sudo     privilege = "sudo"
	password privilege = "password"
)

// probeCommand is the command line of the probe.
func probeCommand(marker string, p privilege, b *Binaries, first string, trust bool) string {
	if first == "" {
		first = "-"
	}
	check := "check"
	if trust {
		check = "trust"
	}
	return command(innerScript, marker, p, b.digest("amd64"), b.digest("arm64"), first, check)
}

// command is the command line that runs an inner script. Arguments are names
// and digests; a single quote in one would end the quoting, so connect refuses directories with one.
func command(inner, marker string, p privilege, args ...string) string {
	words := []string{"sh -c", quote(outerScript), "deployer", quote(inner), marker, string(p)}
	for _, a := range args {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

func quote(s string) string { return "'" + s + "'" }
