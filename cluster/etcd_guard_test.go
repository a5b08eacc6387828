package cluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEtcdGuard: a guard needs members of which one may be away, all on nodes.
func TestEtcdGuard(t *testing.T) {
	t.Parallel()
	off := false
	hosts := func(roles ...string) (out []Host) {
		for i, role := range roles {
			out = append(out, Host{Name: role[:1] + string(rune('1'+i)), Address: "10.0.0." + string(rune('1'+i)), Roles: []string{role}})
		}
		return out
	}
	masters := hosts(RoleMaster, RoleMaster, RoleMaster, RoleMinion)
	tainted := slices.Clone(masters)
	tainted[1].Taints = []string{"storage=true:NoExecute"}
	const control = "node-role.kubernetes.io/control-plane"
	for name, tt := range map[string]struct {
		spec  EtcdSpec
		hosts []Host
		want  EtcdGuard
	}{
		"three masters":         {hosts: masters, want: EtcdGuard{[]string{"m1", "m2", "m3"}, []string{control}, "127.0.0.1", 2381}},
		"taints of a user":      {hosts: tainted, want: EtcdGuard{[]string{"m1", "m2", "m3"}, []string{control, "storage"}, "127.0.0.1", 2381}},
		"metrics everywhere":    {spec: EtcdSpec{MetricsURL: "http://0.0.0.0:9381"}, hosts: masters, want: EtcdGuard{[]string{"m1", "m2", "m3"}, []string{control}, "127.0.0.1", 9381}},
		"metrics with TLS":      {spec: EtcdSpec{MetricsURL: "https://127.0.0.1:2381"}, hosts: masters},
		"masters only":          {hosts: masters[:3], want: EtcdGuard{[]string{"m1", "m2", "m3"}, []string{control}, "127.0.0.1", 2381}},
		"off":                   {spec: EtcdSpec{Guard: &off}, hosts: masters},
		"one member":            {hosts: hosts(RoleMaster, RoleMinion)},
		"members off the nodes": {hosts: hosts(RoleMaster, RoleMinion, RoleEtcd, RoleEtcd, RoleEtcd)},
	} {
		c, err := Resolve(Spec{Etcd: tt.spec}, tt.hosts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tt.want.Nodes == nil {
			tt.want = EtcdGuard{Nodes: []string{}, Taints: []string{}}
		}
		if diff := cmp.Diff(tt.want, c.EtcdGuard); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
