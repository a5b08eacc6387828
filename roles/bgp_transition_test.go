package roles_test

import (
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/jsontypes"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/routes"
)

// changeSessions makes the run change the sessions of the nodes to sessions that
// differ from those of the inventory: those of a full mesh, in which the first node
// reflects as well.
func (s *site) changeSessions(t *testing.T) map[string][]cluster.Peer {
	t.Helper()
	sessions := map[string][]cluster.Peer{}
	for i, name := range s.cluster.NodeNames {
		sessions[name] = []cluster.Peer{}
		for k, peer := range s.cluster.NodeNames {
			if i != k {
				node := s.cluster.Nodes[peer]
				sessions[name] = append(sessions[name], cluster.Peer{Name: peer, IP: node.IP, IPv4: node.BGP.IPv4, IPv6: node.BGP.IPv6, RouterID: node.BGP.RouterID, Client: i == 0 && k%2 == 1, Reflector: k == 0})
			}
		}
	}
	values, err := jsontypes.FromGo(map[string]any{"needed": true, "both": sessions, "final": sessions})
	if err != nil {
		t.Fatal(err)
	}
	s.found["bgp_transition"] = values
	return sessions
}

// TestBGPSessionsAreReadBack checks that the sessions which a run writes are those that the
// next run finds in the file.
func TestBGPSessionsAreReadBack(t *testing.T) {
	for _, sample := range []string{"nginx", "haproxy", "dual-stack"} {
		s := newSite(t, sample)
		transition := func() engine.Output {
			actx := &actiontest.Context{Hosts: s.cluster.NodeNames, Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
			engine.Provide(actx.Provided, s.cluster)
			for _, name := range s.cluster.NodeNames {
				const file = "/etc/deployer/bird.conf"
				actx.Results[name] = map[string]engine.Output{"network_found": {"files": map[string]any{file: s.files(t, name)[file]}}}
			}
			change, err := (&routes.Transition{Found: "network_found"}).Check(t.Context(), actx)
			if err != nil {
				t.Fatal(err)
			}
			return change.Output
		}
		if out := transition(); out["needed"] != false || len(out["final"].(map[string]any)) > 0 {
			t.Errorf("%s: sessions of the inventory: %v", sample, out)
		}
		sessions := s.changeSessions(t)
		if out := transition(); out["needed"] != true || len(out["both"].(map[string]any)) != len(s.cluster.NodeNames) {
			t.Errorf("%s: other sessions: %v", sample, out)
		}
		wanted := map[string]cluster.Node{}
		for name, node := range s.cluster.Nodes {
			node.BGP.Peers = sessions[name]
			wanted[name] = node
		}
		s.cluster.Nodes = wanted
		if out := transition(); out["needed"] != false || len(out["final"].(map[string]any)) > 0 {
			t.Errorf("%s: the sessions as they were written: %v", sample, out)
		}
	}
}
