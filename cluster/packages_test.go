package cluster

import (
	"slices"
	"testing"
)

// TestEveryFamilyGetsEveryComponent checks that each family's list has the packages
// of every component, whatever their names are there.
func TestEveryFamilyGetsEveryComponent(t *testing.T) {
	t.Parallel()
	spec := Spec{}.WithDefaults()
	r := &resolver{spec: spec}
	for name, c := range map[string]struct {
		node Node
		kind string
		want map[string][]string // some of the names
	}{
		"node":    {Node{IsNode: true}, ProxyNginx, map[string][]string{"debian": {"conntrack", "bird2"}, "redhat": {"conntrack-tools", "bird"}, "suse": {"conntrack-tools", "bird"}}},
		"nginx":   {Node{RunsProxyUnit: true}, ProxyNginx, map[string][]string{"debian": {"nginx", "libnginx-mod-stream"}, "redhat": {"nginx", "nginx-mod-stream"}, "suse": {"nginx"}}},
		"haproxy": {Node{RunsProxyUnit: true}, ProxyHAProxy, map[string][]string{"debian": {"haproxy"}, "redhat": {"haproxy"}, "suse": {"haproxy"}}},
	} {
		r.spec.Proxy.Kind = c.kind
		got := r.packages(c.node)
		if len(got) != 3 {
			t.Errorf("%s: families %v, want 3", name, got)
		}
		for family, wanted := range c.want {
			for _, w := range wanted {
				if !slices.Contains(got[family], w) {
					t.Errorf("%s: %s lacks %s: %v", name, family, w, got[family])
				}
			}
		}
	}
	r.spec.Etcd.Backup.S3 = ObjectStore{Bucket: "backups", AccessKey: "a", SecretKey: "s"}
	for family, names := range r.packages(Node{IsEtcd: true}) {
		if !slices.Equal(names, []string{"curl"}) {
			t.Errorf("an etcd host that copies snapshots needs %v of %s, want curl", names, family)
		}
	}
	r.spec.Etcd.Backup.S3 = ObjectStore{}
	for family, names := range r.packages(Node{IsEtcd: true}) {
		if names == nil || len(names) != 0 {
			t.Errorf("an etcd host needs %v of %s, want an empty list", names, family)
		}
	}
}
