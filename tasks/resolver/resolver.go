// Package resolver finds the name servers of a host that pods can use too. A local resolver such
// as systemd-resolved listens on a loopback address, which in a pod is the pod itself: cluster DNS
// would ask itself.
package resolver

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strings"

	"deployer/engine"
)

// The files with name servers: that of the host's programs, and that in which systemd-resolved
// lists the servers that it asks (systemd-resolved.service(8)).
const (
	HostFile     = "/etc/resolv.conf"
	ResolvedFile = "/run/systemd/resolve/resolv.conf"
)

// maxServers is the number of name servers that a pod gets (kubernetes pkg/apis/core/validation,
// MaxDNSNameservers).
const maxServers = 3

// File returns the path of the file that the kubelet must give to pods, and its servers. They are
// all on loopback addresses when no file has others. The file exists unless neither does: a
// kubelet whose file does not exist starts no pod.
func File(sys engine.System) (path string, servers []string) {
	host, exists := Servers(sys, HostFile)
	if exists && (len(host) == 0 || HasReachable(host)) {
		return HostFile, host
	}
	if resolved, ok := Servers(sys, ResolvedFile); HasReachable(resolved) || ok && !exists {
		return ResolvedFile, resolved
	}
	return HostFile, host
}

// Servers returns the first name servers of a file, as many as pods get, and reports whether the
// file can be read.
func Servers(sys engine.System, path string) ([]string, bool) {
	data, err := os.ReadFile(sys.Path(path))
	var out []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" && len(out) < maxServers {
			out = append(out, f[1])
		}
	}
	return out, err == nil
}

// HasReachable reports whether a pod can reach one of the servers.
func HasReachable(servers []string) bool {
	return slices.ContainsFunc(servers, func(s string) bool {
		addr, err := netip.ParseAddr(s)
		return err == nil && !addr.IsLoopback()
	})
}

// NameServers is the module `name_servers`.
type NameServers struct{}

var _ engine.Module = (*NameServers)(nil)

// Check returns the file under "file" and its servers under "servers".
func (*NameServers) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	path, servers := File(sys)
	list := []any{}
	for _, s := range servers {
		list = append(list, s)
	}
	return engine.NoChange(engine.Output{"file": path, "servers": list}), nil
}

// Apply is never needed.
func (*NameServers) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
