package hostcheck

import (
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// address requires that an interface of the host has the address.
func (r Requirement) address(sys engine.System) checkresult.Row {
	want, err := netip.ParseAddr(r.Address)
	if err != nil {
		return checkresult.Problem("use an agent and a deployer of the same build", "%q is not an IP address", r.Address)
	}
	have := localAddresses(sys)
	if len(have) == 0 || slices.Contains(have, want.Unmap()) {
		return checkresult.OK("on an interface of the host") // or the kernel has no table, which is no fault of the address
	}
	texts := make([]string, 0, len(have))
	for _, a := range have {
		if !a.IsLoopback() && !a.IsLinkLocalUnicast() {
			texts = append(texts, a.String())
		}
	}
	return checkresult.Problem("give the host its address on the network of the nodes as node_address in the inventory; address is that of its SSH server, and external_address may be translated on the way",
		"no interface of the host has the address; they have %s", strings.Join(texts, ", "))
}

// localAddresses returns the addresses of all interfaces, sorted: those of the kernel's routing
// tables, with loopback.
func localAddresses(sys engine.System) []netip.Addr {
	var out []netip.Addr
	if data, err := os.ReadFile(sys.Path("/proc/net/fib_trie")); err == nil {
		out = append(out, fibLocal(string(data))...)
	}
	if data, err := os.ReadFile(sys.Path("/proc/net/if_inet6")); err == nil {
		out = append(out, inet6(string(data))...)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// fibLocal parses /proc/net/fib_trie, in which a line "|-- ADDRESS" comes before its routes
// "/32 host LOCAL" (fib_trie_seq_show in the kernel's net/ipv4/fib_trie.c).
func fibLocal(table string) []netip.Addr {
	var out []netip.Addr
	var leaf string
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "|--":
			leaf = f[1]
		case len(f) == 3 && f[0] == "/32" && f[1] == "host" && f[2] == "LOCAL":
			if a, err := netip.ParseAddr(leaf); err == nil {
				out = append(out, a)
			}
		}
	}
	return out
}

// inet6 parses /proc/net/if_inet6: the address as 32 hexadecimal digits, index, prefix length,
// scope, flags and name of the interface (proc(5)).
func inet6(table string) []netip.Addr {
	var out []netip.Addr
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if raw, err := hex.DecodeString(f[0]); err == nil && len(raw) == 16 {
			out = append(out, netip.AddrFrom16([16]byte(raw)))
		}
	}
	return out
}
