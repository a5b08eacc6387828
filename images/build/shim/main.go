// Command shim stands in front of programs that Debian packages differently
// from the publishers' images, so that both are called in the same way. The command
// behaves as the program whose name it is called by.
//
// nginx: Debian builds the stream module as a plugin, the publisher builds it
// in; the shim loads it.
//
// iptables and its family: a rule set must be written in the kernel interface
// (nf_tables or legacy) that the host already uses, or half of the rules are
// invisible to the other half. The shim looks for the chains a kubelet leaves
// as a hint, then for any rules, and takes nf_tables when there are none.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	nginxBinary  = "/usr/libexec/nginx"
	streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"
	nftBinary    = "/usr/sbin/xtables-nft-multi"
	legacyBinary = "/usr/sbin/xtables-legacy-multi"
)

func main() {
	name := filepath.Base(os.Args[0])
	binary, args := nginxBinary, slices.Clone(os.Args)
	if name == "nginx" {
		args = withStream(args)
	} else {
		args[0] = name
		binary = tablesBinary(name)
	}
	err := syscall.Exec(binary, args, os.Environ())
	fmt.Fprintf(os.Stderr, "%s: starting %s: %v\n", name, binary, err)
	os.Exit(126)
}

// withStream adds load_module to nginx's global directives. Nginx takes only
// one -g, so an existing one is extended; -v, -V and -h read no config.
func withStream(args []string) []string {
	load := "load_module " + streamModule + ";"
	for i, a := range args {
		switch {
		case a == "-g" && i+1 < len(args):
			args[i+1] = load + " " + args[i+1]
			return args
		case strings.HasPrefix(a, "-g") && a != "-g":
			args[i] = "-g" + load + " " + strings.TrimPrefix(a, "-g")
			return args
		}
	}
	return append(args, "-g", load)
}

func tablesBinary(name string) string {
	if strings.Contains(name, "legacy") {
		return legacyBinary
	}
	if strings.Contains(name, "nft") {
		return nftBinary
	}
	nft, legacy := rules(nftBinary), rules(legacyBinary)
	hint := func(saved []byte) bool {
		return bytes.Contains(saved, []byte(":KUBE-IPTABLES-HINT")) || bytes.Contains(saved, []byte(":KUBE-KUBELET-CANARY"))
	}
	switch {
	case hint(nft):
		return nftBinary
	case hint(legacy):
		return legacyBinary
	case count(legacy) > count(nft):
		return legacyBinary
	}
	return nftBinary
}

// rules returns the output of iptables-save for both address families; a kernel
// without that interface prints nothing.
func rules(binary string) []byte {
	var saved []byte
	for _, family := range []string{"iptables-save", "ip6tables-save"} {
		cmd := exec.Command(binary)
		cmd.Args = []string{family}
		out, err := cmd.Output()
		if err == nil {
			saved = append(saved, out...)
		}
	}
	return saved
}

func count(saved []byte) int {
	n := 0
	for line := range bytes.Lines(saved) {
		if bytes.HasPrefix(line, []byte("-A")) {
			n++
		}
	}
	return n
}
