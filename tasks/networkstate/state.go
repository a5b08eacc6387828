// Package networkstate has the module `network_state`, which reads the state of the pod network on a
// host: the BGP sessions of BIRD, the routes to pods of other nodes that are missing, the interfaces
// of pods and their MTU. What a cluster wants is compared with it on the controller, in package
// cluster/networkstatus.
package networkstate

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"deployer/engine"
	"deployer/tasks/bird"
	"deployer/tasks/iproutes"
)

// State reads the state of the pod network and changes nothing.
type State struct {
	Sockets  []string `yaml:"sockets" rule:"path" doc:"control sockets of BIRD; default none: the routes do not come from BIRD"`
	Prefixes []string `yaml:"prefixes" rule:"prefix" doc:"prefixes of the pods of all nodes, to which the kernel must have routes; default none"`
	Gateways []string `yaml:"gateways" rule:"address" doc:"gateway of the route to each of prefixes; default: any"`
	Own      []string `yaml:"own" rule:"prefix" doc:"those of prefixes that belong to the host itself; default none"`
	Nodes    []string `yaml:"nodes" rule:"address" doc:"addresses of the nodes, to which packets of pods travel; default none"`
	Pods     string   `yaml:"pods" enum:"bridge,ptp,calico,unknown" doc:"how pods are connected to the host: by ports of the bridge cni0, by veth interfaces (ptp), or by those of Calico; default unknown, and no interfaces of pods are read"`
}

var (
	_ engine.Module    = (*State)(nil)
	_ engine.Validator = (*State)(nil)
)

// Valid refuses gateways that are not one for each prefix.
func (s *State) Valid() error {
	if len(s.Gateways) > 0 && len(s.Gateways) != len(s.Prefixes) {
		return fmt.Errorf("%d gateways for %d prefixes; want none, or one for each", len(s.Gateways), len(s.Prefixes))
	}
	return nil
}

// ReadOnly reports that the module only reads.
func (*State) ReadOnly() bool { return true }

// Check reads the state. The output has:
//   - `bird_error`, the reason why BIRD does not answer, and `sessions`, a list of name, state and since;
//   - `routes_present`, the number of wanted routes that the kernel has, `routes_missing`, their number,
//     and `missing`, the first of the missing ones with to, want and found: the wanted gateway, and the one
//     that the kernel has instead;
//   - `uplinks`, name and mtu of the interfaces to other nodes;
//   - `pods`, the interfaces of pods: count, and the lowest and the highest mtu;
//   - `cni`, the first configuration in /etc/cni/net.d: file, type and mtu, which is 0 when the plugin chooses it;
//   - `calico_mtu`, the MTU that calico-node has chosen for pods, 0 for none;
//   - `addresses`, the number of addresses that the plugin host-local has given to pods.
func (s *State) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := s.Valid(); err != nil {
		return engine.Change{}, err
	}
	table, err := iproutes.Read(sys)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"sessions": []bird.Session{}}
	sessions := []bird.Session{}
	for _, socket := range s.Sockets {
		found, err := sessionsOf(ctx, sys, socket)
		if err != nil {
			out["bird_error"] = err.Error()
			break
		}
		sessions = append(sessions, found...)
	}
	if out["bird_error"] == nil {
		out["sessions"] = sessions
	}
	present, missing := s.compare(table)
	out["routes_present"], out["routes_missing"], out["missing"] = present, len(missing), missing[:min(len(missing), maxMissing)]
	out["uplinks"] = s.uplinks(sys, table)
	out["pods"] = podInterfaces(sys, s.Pods)
	out["cni"] = readCNI(sys)
	out["calico_mtu"] = number(sys, "/var/lib/calico/mtu")
	out["addresses"] = localAddresses(sys)
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (*State) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func sessionsOf(ctx context.Context, sys engine.System, socket string) ([]bird.Session, error) {
	if _, err := os.Stat(sys.Path(socket)); err != nil {
		return nil, fmt.Errorf("BIRD does not run: it has no socket %s", socket)
	}
	return bird.Sessions(ctx, sys, socket)
}

// maxMissing bounds the missing routes that are listed. A host that lacks more of them has no
// working network at all, and the first ones show why.
const maxMissing = 50

// Missing is a wanted route that the kernel does not have.
type Missing struct {
	To    string `json:"to"`    // prefix
	Want  string `json:"want"`  // wanted gateway; empty for any
	Found string `json:"found"` // gateway of the kernel's route; empty without a route
}

// compare returns the number of wanted routes that are there, and the others.
func (s *State) compare(table []iproutes.Route) (present int, missing []Missing) {
	own, best := map[string]bool{}, map[netip.Prefix]iproutes.Route{}
	for _, p := range s.Own {
		own[p] = true
	}
	for _, r := range table {
		if r.Metric == bird.StandbyMetric {
			continue
		}
		if other, ok := best[r.To]; !ok || r.Before(other) {
			best[r.To] = r
		}
	}
	missing = []Missing{}
	for i, text := range s.Prefixes {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || own[text] {
			continue
		}
		m := Missing{To: text}
		if r := best[prefix.Masked()]; r.Gateway.IsValid() && !r.Gateway.IsUnspecified() {
			m.Found = r.Gateway.String()
		}
		if len(s.Gateways) > 0 {
			m.Want = s.Gateways[i]
		}
		if m.Found == "" || m.Want != "" && m.Found != m.Want {
			missing = append(missing, m)
			continue
		}
		present++
	}
	return present, missing
}
