package etcd

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// accounts is an etcd cluster's users, as one member answers.
type accounts struct {
	Member
	auth Auth
}

func (a *accounts) Auth(context.Context) (Auth, error) { return a.auth, nil }

func (a *accounts) AddUser(_ context.Context, name string) error {
	a.auth.Users[name] = []string{name}
	a.auth.Roles[name] = append([]KeyRange{}, a.auth.Roles[name]...)
	return nil
}

func (a *accounts) Grant(_ context.Context, role string, right cluster.EtcdRight) error {
	keys := rangeOf(right)
	a.auth.Roles[role] = slices.DeleteFunc(a.auth.Roles[role], func(k KeyRange) bool { return k.Key == keys.Key && k.End == keys.End })
	a.auth.Roles[role] = append(a.auth.Roles[role], keys)
	return nil
}

func (a *accounts) Revoke(_ context.Context, role string, key KeyRange) error {
	a.auth.Roles[role] = slices.DeleteFunc(a.auth.Roles[role], func(k KeyRange) bool { return k == key })
	return nil
}

func (a *accounts) EnableAuth(ctx context.Context) error {
	a.auth.Enabled = true
	return a.AddUser(ctx, cluster.EtcdRoot)
}

// run makes the planned changes, and returns their texts.
func (a *accounts) run(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, s := range planUsers(cluster.CalicoEtcdUsers(), a.auth) {
		texts = append(texts, s.text)
		if err := s.do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func newAccounts() *accounts {
	return &accounts{auth: Auth{Users: map[string][]string{}, Roles: map[string][]KeyRange{}}}
}

// TestUsersConverge: a second run changes nothing, whatever step the first has ended after, and etcd
// asks for users last.
func TestUsersConverge(t *testing.T) {
	all := newAccounts().run(t)
	if last := all[len(all)-1]; last != "ask clients for their users" {
		t.Errorf("the last step is %q: before it a program would have no rights", last)
	}
	for n := range all {
		a := newAccounts()
		for _, s := range planUsers(cluster.CalicoEtcdUsers(), a.auth)[:n] {
			if err := s.do(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		a.run(t)
		if again := a.run(t); len(again) > 0 {
			t.Errorf("after %d steps: a third run still makes %q", n, again)
		}
	}
}

// TestUsersLoseRights: a right that the table has no more is revoked, and one that somebody has changed is
// granted again. A user of somebody else stays.
func TestUsersLoseRights(t *testing.T) {
	a := newAccounts()
	a.run(t)
	a.auth.Users["robot"], a.auth.Roles["robot"] = []string{"robot"}, []KeyRange{{Key: "/", End: "0", Read: true, Write: true}}
	cni := cluster.EtcdUserCalicoCNI
	a.auth.Roles[cni] = append(a.auth.Roles[cni], KeyRange{Key: "/registry/", End: "/registry0", Read: true})
	i := slices.IndexFunc(a.auth.Roles[cni], func(k KeyRange) bool { return strings.HasSuffix(k.Key, "/ippools/") })
	a.auth.Roles[cni][i].Write = true
	want := []string{"grant calico-cni to read /calico/resources/v3/projectcalico.org/ippools/", "revoke the right of calico-cni to /registry/"}
	if got := a.run(t); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a.auth.Users["robot"] == nil {
		t.Error("the user of somebody else is gone")
	}
}

// TestRightsOfNodes: programs on nodes can write no policies, and the CNI plugin can read none.
func TestRightsOfNodes(t *testing.T) {
	const resources = "/calico/resources/v3/projectcalico.org/"
	may := func(user, key string) (read, write bool) {
		for _, u := range cluster.CalicoEtcdUsers() {
			for _, r := range u.Rights {
				if u.Name == user && strings.HasPrefix(key, r.Prefix) {
					read, write = true, write || r.Write
				}
			}
		}
		return read, write
	}
	for _, c := range []struct {
		user, key   string
		read, write bool
	}{
		{cluster.EtcdUserCalicoNode, resources + "globalnetworkpolicies/a", true, false},
		{cluster.EtcdUserCalicoNode, resources + "profiles/kns.default", true, false},
		{cluster.EtcdUserCalicoNode, resources + "nodes/n1", true, true},
		{cluster.EtcdUserCalicoCNI, resources + "globalnetworkpolicies/a", false, false},
		{cluster.EtcdUserCalicoCNI, resources + "ippools/a", true, false},
		{cluster.EtcdUserCalicoCNI, "/calico/ipam/v2/config", true, true},
		{cluster.EtcdUserCalicoCNI, "/calico/felix/v1/x", false, false},
		{cluster.EtcdUserCalicoControllers, resources + "globalnetworkpolicies/a", true, false},
		{cluster.EtcdUserCalicoControllers, resources + "profiles/kns.default", true, true},
		{cluster.EtcdUserCalicoctl, resources + "globalnetworkpolicies/a", true, true},
		{cluster.EtcdUserCalicoctl, "/registry/secrets/default/a", false, false},
	} {
		if read, write := may(c.user, c.key); read != c.read || write != c.write {
			t.Errorf("%s may read %s: %v, write: %v; want %v, %v", c.user, c.key, read, write, c.read, c.write)
		}
	}
}
