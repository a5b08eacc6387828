package networkstate

import (
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"deployer/engine"
)

const cniDir = "/etc/cni/net.d"

// addressesDir has a file for each address that the plugin host-local has given to a pod of deployer's
// network (containernetworking/plugins, plugins/ipam/host-local/backend/disk).
const addressesDir = "/var/lib/cni/networks/deployer"

// maxCNIFile bounds a configuration of CNI, in bytes.
const maxCNIFile = 1 << 20

// CNI is the network configuration that containerd uses: the first one by name.
type CNI struct {
	File string `json:"file"` // name; empty without any
	Type string `json:"type"` // type of its first plugin
	MTU  int    `json:"mtu"`  // MTU of its first plugin in bytes; 0 when the plugin chooses it
}

// readCNI reads the first configuration, which may be one that cannot be parsed.
func readCNI(sys engine.System) CNI {
	for _, name := range entries(sys, cniDir) {
		if !slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(name)) {
			continue
		}
		out := CNI{File: name}
		type plugin struct {
			Type string
			MTU  int
		}
		var conf struct {
			plugin
			Plugins []plugin
		}
		if json.Unmarshal(readSmall(sys, filepath.Join(cniDir, name)), &conf) == nil {
			first := conf.plugin
			if len(conf.Plugins) > 0 {
				first = conf.Plugins[0]
			}
			out.Type, out.MTU = first.Type, first.MTU
		}
		return out
	}
	return CNI{}
}

// readSmall returns at most maxCNIFile bytes of a regular file; nil for anything else.
func readSmall(sys engine.System, path string) []byte {
	if info, err := os.Stat(sys.Path(path)); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	text, _ := io.ReadAll(io.LimitReader(f, maxCNIFile))
	return text
}

// localAddresses returns the number of addresses of pods: of IPv4, or of IPv6 where there are more.
func localAddresses(sys engine.System) int {
	f, err := os.Open(sys.Path(addressesDir))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	ipv4, ipv6 := 0, 0
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			switch a, err := netip.ParseAddr(name); {
			case err != nil:
			case a.Is4():
				ipv4++
			default:
				ipv6++
			}
		}
		if n := max(ipv4, ipv6); err != nil || n > maxAddresses {
			return n
		}
	}
}

// maxAddresses bounds the counted addresses: a node has at most a /20.
const maxAddresses = 4096
