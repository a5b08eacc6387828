package config

import (
	"strings"
	"testing"
	"time"
)

const good = `# Written by deployer.
host: m1
cluster: kubernetes
masters: [m1, m2, m3]
api: {server: "https://127.0.0.1:6443", ca: /ca, cert: /cert, key: /key}
etcd:
  {ca: /ca, cert: /cert, key: /key, members: [{name: m1, address: "10.0.0.1:2379", peer_url: "https://10.0.0.1:2380"}]}
own: {addresses: [10.0.0.1], certificates: [], authorities: [], external: [], renew_before: 720h, leaf_lifetime: 8760h}
keeper:
  clear: {unknown_for: 7m}
node_clients: [{cn: "system:kube-proxy", orgs: []}, {cn: "deployer:calico-node"}]
`

func TestParse(t *testing.T) {
	file, err := Parse("keeper.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if file.Keeper.Clear.UnknownFor != 7*time.Minute || file.Keeper.Clear.TerminatingFor != 30*time.Second || !*file.Keeper.Clear.Enabled || file.Keeper.Purge.Enabled {
		t.Errorf("%+v", file.Keeper)
	}
	if len(file.Clients) != 2 || file.Clients[0].CN != "system:kube-proxy" || !*file.Keeper.Certificates.Nodes {
		t.Errorf("%+v", file)
	}
	if len(file.Etcd.Members) != 1 || file.Etcd.Members[0].Name != "m1" {
		t.Errorf("%+v", file.Etcd)
	}
}

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown key":  {"unknown_for: 7m", "unknown: 7m", "keeper.yaml:10:11"},
		"bad duration": {"unknown_for: 7m", "unknown_for: soon", "keeper.yaml:10"},
		"too short":    {"unknown_for: 7m", "unknown_for: 1s", "cluster.keeper.clear.unknown_for: 1s: use a time from 1m to 720h"},
		"missing key":  {"host: m1\n", "", "host"},
		"not YAML":     {"masters: [m1", "masters: [m1]]", "keeper.yaml: yaml: line"},
		"empty":        {good, "", "keeper.yaml is empty: run deployer install"},
	} {
		_, err := Parse("keeper.yaml", []byte(strings.Replace(good, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
