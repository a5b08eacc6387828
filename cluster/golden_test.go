package cluster_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// view is the value that roles and templates read.
type view struct {
	Cluster *cluster.Cluster        `json:"cluster"`
	Hosts   map[string]cluster.Node `json:"hosts"`
}

func TestGolden(t *testing.T) {
	cases := map[string]struct {
		spec  cluster.Spec
		hosts []cluster.Host
	}{
		"three-masters-two-minions": {
			spec: cluster.Spec{Name: "lab", Overrides: map[string]any{
				"containerd": map[string]any{"restrict_oom_score_adj": true},
				"kubelet": map[string]any{
					"failCgroupV1": false, "cgroupDriver": "cgroupfs", "failSwapOn": false,
					"featureGates": map[string]any{"KubeletInUserNamespace": true},
				},
				"kube_proxy": map[string]any{"conntrack": map[string]any{"maxPerCore": 0}},
			}},
			hosts: fleet(masters(3), minions(2)),
		},
		"all-on-one": {
			hosts: []cluster.Host{{Name: "solo", Address: "172.31.0.11", Roles: []string{"master", "minion", "etcd", "proxy"}}},
		},
		"dedicated-etcd-and-proxies": {
			spec:  cluster.Spec{Proxy: cluster.ProxySpec{Kind: "haproxy"}, API: cluster.APISpec{Audit: cluster.AuditSpec{Enabled: new(bool)}}},
			hosts: fleet(masters(2), hosts("e", 21, 3, "etcd"), minions(1), hosts("p", 31, 1, "proxy")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.Resolve(tc.spec, tc.hosts)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(view{c, c.Nodes}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if bytes.Contains(got, []byte(": null")) {
				t.Error("a list or map is null: templates cannot range over it")
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
