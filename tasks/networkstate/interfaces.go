package networkstate

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"deployer/engine"
	"deployer/tasks/iproutes"
)

// Interface is a network interface of the host.
type Interface struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"` // bytes
}

// PodInterfaces are the ends of pods' interfaces on the host.
type PodInterfaces struct {
	Count int `json:"count"`
	Low   int `json:"low"`  // lowest MTU in bytes; 0 without pods
	High  int `json:"high"` // highest MTU
}

// Values of State.Pods.
const (
	podsBridge = "bridge"
	podsPTP    = "ptp"
	podsCalico = "calico"
)

// bridge is the bridge of pods (templates/network/cni.conflist.tmpl).
const bridge = "cni0"

const classNet = "/sys/class/net"

// maxInterfaces bounds the interfaces that are read; a node has at most some hundred pods.
const maxInterfaces = 4096

// uplinks returns the interfaces by which packets leave to other nodes, sorted by name.
func (s *State) uplinks(sys engine.System, table []iproutes.Route) []Interface {
	out := []Interface{}
	for _, text := range s.Nodes {
		to, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		name := iproutes.InterfaceTo(table, to)
		if name == "" || slices.ContainsFunc(out, func(i Interface) bool { return i.Name == name }) {
			continue
		}
		out = append(out, Interface{name, number(sys, filepath.Join(classNet, filepath.Base(name), "mtu"))})
	}
	slices.SortFunc(out, func(a, b Interface) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// podInterfaces reads the host's ends of the interfaces of pods. Both ends of such a pair get the same
// MTU from the plugins.
func podInterfaces(sys engine.System, connected string) PodInterfaces {
	var found PodInterfaces
	for _, name := range podEnds(sys, connected) {
		mtu := number(sys, filepath.Join(classNet, name, "mtu"))
		if mtu == 0 {
			continue // the pod has ended
		}
		if found.Count++; found.Low == 0 || mtu < found.Low {
			found.Low = mtu
		}
		found.High = max(found.High, mtu)
	}
	return found
}

// podEnds returns the names of the host's ends.
func podEnds(sys engine.System, connected string) []string {
	switch connected {
	case podsBridge:
		return entries(sys, filepath.Join(classNet, bridge, "brif"))
	case podsPTP:
		return slices.DeleteFunc(entries(sys, classNet), func(name string) bool {
			_, err := os.Lstat(sys.Path(filepath.Join(classNet, name, "master"))) // of another bridge
			return !strings.HasPrefix(name, "veth") || err == nil
		})
	case podsCalico:
		return slices.DeleteFunc(entries(sys, classNet), func(name string) bool { return !strings.HasPrefix(name, "cali") })
	}
	return nil
}

// entries returns the names in a directory, at most maxInterfaces; none when it cannot be read.
func entries(sys engine.System, dir string) []string {
	f, err := os.Open(sys.Path(dir))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxInterfaces)
	slices.Sort(names)
	return names
}

// number reads a file with one small number; 0 when there is none.
func number(sys engine.System, path string) int {
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, 16)
	n, _ := f.Read(text)
	value, err := strconv.ParseUint(strings.TrimSpace(string(text[:n])), 10, 31)
	if err != nil {
		return 0
	}
	return int(value)
}
