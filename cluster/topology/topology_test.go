package topology_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/cluster/topology"
)

// resolved returns a cluster of 3 masters and some minions, with more hosts of other roles.
func resolved(t *testing.T, spec cluster.Spec, minions int, others ...cluster.Host) *cluster.Cluster {
	t.Helper()
	spec.Name = "lab"
	hosts := slices.Clone(others)
	for i := range 3 {
		hosts = append(hosts, cluster.Host{Name: fmt.Sprintf("m%d", i+1), Address: fmt.Sprintf("10.0.0.%d", i+1), Roles: []string{cluster.RoleMaster}})
	}
	for i := range minions {
		rack := string(rune('a' + i%2))
		hosts = append(hosts, cluster.Host{Name: fmt.Sprintf("n%d", i+1), Address: fmt.Sprintf("10.0.%d.%d", 1+i/200, i%200+1), Roles: []string{cluster.RoleMinion}, Labels: map[string]string{"rack": rack}})
	}
	spec.PodCIDR = "10.128.0.0/12"
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// names has what each language must escape.
func names(hosts []string) string { return `<"b"> ` + strings.Join(hosts, ",") }

// pictures returns the pictures of several clusters.
func pictures(t *testing.T) map[string]*topology.Picture {
	t.Helper()
	out := map[string]*topology.Picture{}
	for name, c := range map[string]*cluster.Cluster{
		"mesh":       resolved(t, cluster.Spec{}, 4),
		"reflectors": resolved(t, cluster.Spec{}, 1000),
		"calico":     resolved(t, cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Encapsulation: cluster.EncapsulationVXLAN}}}, 4),
		"proxies and dedicated etcd": resolved(t, cluster.Spec{}, 4,
			cluster.Host{Name: "p1", Address: "10.9.0.1", Roles: []string{cluster.RoleProxy}}, cluster.Host{Name: "e1", Address: "10.9.0.2", Roles: []string{cluster.RoleEtcd}}),
		"no minions": resolved(t, cluster.Spec{}, 0),
		"routers": resolved(t, cluster.Spec{Network: cluster.NetworkSpec{BGP: cluster.BGPSpec{Peers: []cluster.BGPPeerSpec{
			{Name: "tor-a", Address: "10.0.9.1", ASN: 65001, Nodes: map[string]string{"rack": "a"}}}}}}, 4),
	} {
		out[name+", control plane"] = topology.ControlPlane(c, names)
		out[name+", pod network"] = topology.PodNetwork(c, names)
	}
	return out
}

// TestPictures: each link ends at boxes or layers of the picture, no picture grows with the number
// of hosts, and the SVG is well-formed.
func TestPictures(t *testing.T) {
	for name, p := range pictures(t) {
		ids, boxes := map[string]bool{}, 0
		for _, l := range p.Layers {
			ids[l.ID] = true
			boxes += len(l.Boxes)
			for _, b := range l.Boxes {
				if ids[b.ID] {
					t.Errorf("%s: two boxes are %s", name, b.ID)
				}
				ids[b.ID] = true
			}
		}
		if boxes == 0 || boxes > 12 {
			t.Errorf("%s: %d boxes", name, boxes)
		}
		for _, l := range p.Links {
			if !ids[l.From] || !ids[l.To] {
				t.Errorf("%s: a link from %s to %s", name, l.From, l.To)
			}
		}
		d := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for form, text := range map[string]string{"mermaid": p.Mermaid(), "dot": p.DOT()} {
			if strings.Contains(text, `<"b">`) {
				t.Errorf("%s: %s has names as they are:\n%s", name, form, text)
			}
		}
	}
}

// TestLinks checks who connects to whom.
func TestLinks(t *testing.T) {
	all := pictures(t)
	for name, want := range map[string][]string{
		"mesh, control plane":                       {"outside masters", "minions masters"},
		"no minions, control plane":                 {"outside masters"},
		"proxies and dedicated etcd, control plane": {"proxies masters", "outside proxies", "masters etcd", "minions masters"},
		"mesh, pod network":                         nil,
		"routers, pod network":                      {"n2 router_tor-a"},
	} {
		var got []string
		for _, l := range all[name].Links {
			got = append(got, l.From+" "+l.To)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	sessions := 0
	for _, l := range all["reflectors, pod network"].Links {
		var n int
		if _, err := fmt.Sscanf(l.Text, "%d", &n); err != nil {
			t.Fatal(err)
		}
		sessions += n
	}
	if sessions != 2000 { // each of 1000 nodes with two reflectors
		t.Errorf("%d sessions with reflectors", sessions)
	}
}
