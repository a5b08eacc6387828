package main

import (
	"fmt"
	"strings"
)

// script returns a shell script for the tasks of one host, as a careful administrator
// writes it: it can be repeated, changes only what differs, and counts its changes.
func script(v vars, version int) string {
	var b strings.Builder
	b.WriteString(scriptHead)
	for i := 1; i <= directories; i++ {
		fmt.Fprintf(&b, "dir %s %s\n", directory(i), mode(i))
	}
	put := func(path, content string) { fmt.Fprintf(&b, "put %s <<'END'\n%sEND\n", path, content) }
	for i := 1; i <= templates; i++ {
		put(templated(i), rendered(i, v))
	}
	for i := 1; i <= copies; i++ {
		put(copied(i), data(i, versionOf(i, version)))
	}
	for i := 1; i <= services; i++ {
		put(unitDir+"/"+service(i), unit(i))
	}
	b.WriteString("[ $reload = 0 ] || systemctl daemon-reload\n")
	for i := 1; i <= services; i++ {
		fmt.Fprintf(&b, "up %s\n", service(i))
	}
	for i := 1; i <= commands; i++ {
		fmt.Fprintf(&b, "[ -e %s ] || { touch %s; changed=$((changed+1)); }\n", made(i), made(i))
	}
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&b, "line %s '%s'\n", linesFile, line(i))
	}
	b.WriteString("echo changed=$changed\n")
	return b.String()
}

const scriptHead = `set -eu
changed=0 reload=0
dir() {
	[ -d $1 ] && [ 0$(stat -c %a $1) = $2 ] && return
	mkdir -p $1; chmod $2 $1; changed=$((changed+1))
}
put() {
	cat >$1.new
	if cmp -s $1.new $1; then rm $1.new; return; fi
	chmod 0644 $1.new; mv $1.new $1; changed=$((changed+1))
	case $1 in *.service) reload=1;; esac
}
up() {
	systemctl -q is-enabled $1 2>/dev/null && systemctl -q is-active $1 && return
	systemctl -q enable --now $1 2>/dev/null; changed=$((changed+1))
}
line() {
	[ -e $1 ] && grep -qxF "$2" $1 && return
	echo "$2" >>$1; changed=$((changed+1))
}
`

// versionOf returns the version of the i-th copied file: version for the first file,
// 1 for the others.
func versionOf(i, version int) int {
	if i == 1 {
		return version
	}
	return 1
}

// resetScript returns a script that removes everything that any of the tools has left
// on a host.
func resetScript() string {
	var units []string
	for i := 1; i <= services; i++ {
		units = append(units, service(i))
	}
	return fmt.Sprintf("systemctl -q disable --now %[1]s 2>/dev/null; rm -rf %[2]s %[3]s/bench-*.service /var/lib/deployer /root/.ansible*; systemctl daemon-reload\n",
		strings.Join(units, " "), root, unitDir)
}

// lookScript returns a script that describes everything that the tasks create. It
// prints the same for every tool.
func lookScript() string {
	var units []string
	for i := 1; i <= services; i++ {
		units = append(units, service(i))
	}
	return fmt.Sprintf("find %[1]s %[2]s/bench-*.service -printf '%%p %%y %%m\\n' | sort; find %[1]s %[2]s/bench-*.service -type f | sort | xargs sha256sum; systemctl is-active %[3]s; systemctl is-enabled %[3]s",
		root, unitDir, strings.Join(units, " "))
}
