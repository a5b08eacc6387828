package routes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// conf has sessions as this version and earlier ones have written them: with a mesh peer,
// with a client, with a reflector whose routes are compared with a list, and with reflectors
// that may announce any range. The last session is with a host that has left the cluster.
const conf = `template bgp node {
  local 10.0.0.1 as 64512;
}

protocol bgp 'to_mesh' from node {
  neighbor 10.0.0.2 as 64512;
  ipv4 {
    import filter {
      if net = 10.244.2.0/24 && bgp_next_hop = 10.0.0.2 then accept;
      reject;
    };
  };
}

protocol bgp 'to_client' from node {
  neighbor 10.0.0.3 as 64512;
  rr client;
  rr cluster id 10.0.0.1;
  ipv4 {
    import filter {
      if net = 10.244.3.0/24 && bgp_next_hop = 10.0.0.3 then accept;
      reject;
    };
  };
}

protocol bgp 'to_minion' from node {
  neighbor 10.0.0.4 as 64512;
  ipv4 {
    import filter {
      if net = 10.244.4.0/24 && bgp_next_hop = 10.0.0.4 then accept;
      # The neighbour is a reflector and no master, which controls the cluster anyway: it could
      # name another address of its own, so each range needs the address of its node.
      if net = 10.244.2.0/24 && bgp_next_hop = 10.0.0.2 then accept;
      reject;
    };
  };
}

protocol bgp 'to_master' from node {
  neighbor 10.0.0.5 as 64512;
  ipv4 {
    import filter {
      if net = 10.244.5.0/24 && bgp_next_hop = 10.0.0.5 then accept;
      if net ~ [ 10.244.0.0/16{24,24} ] && net != 10.244.1.0/24 && net != 10.244.5.0/24 && bgp_next_hop != 10.0.0.5 then accept;
      reject;
    };
  };
}

protocol bgp 'to6_client' from node_ipv6 {
  neighbor fd00::3 as 64512;
  rr client;
}

protocol bgp 'to_left' from node {
  neighbor 10.0.0.6 as 64512;
}
`

func TestPeersOfConfiguration(t *testing.T) {
	nodes, names := map[string]cluster.Node{}, map[string]string{}
	for name, ip := range map[string]string{"mesh": "10.0.0.2", "client": "10.0.0.3", "minion": "10.0.0.4", "master": "10.0.0.5"} {
		nodes[name] = cluster.Node{IP: ip, IsMaster: name == "master", BGP: cluster.BGP{RouterID: ip, IPv4: ip}}
		names[ip] = name
	}
	names["fd00::3"] = "client"
	want := []cluster.Peer{
		{Name: "mesh", IP: "10.0.0.2", IPv4: "10.0.0.2", RouterID: "10.0.0.2"},
		{Name: "client", IP: "10.0.0.3", IPv4: "10.0.0.3", RouterID: "10.0.0.3", Client: true},
		{Name: "minion", IP: "10.0.0.4", IPv4: "10.0.0.4", RouterID: "10.0.0.4", Reflector: true},
		{Name: "master", IP: "10.0.0.5", IPv4: "10.0.0.5", RouterID: "10.0.0.5", Reflector: true, Master: true},
	}
	if diff := cmp.Diff(want, peers(conf, nodes, names)); diff != "" {
		t.Error(diff)
	}
}
