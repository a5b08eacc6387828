package change_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/change"
	"deployer/inventory"
	"deployer/project"
)

// site reads an inventory.
func site(t *testing.T, text string) *change.Site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.LoadCluster(file, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return change.Of(p)
}

const base = `
cluster: {name: lab, kubernetes: v1.35.4}
vars: {a: 1}
hosts:
  m[1:3]: {address: "10.0.0.[11:13]"}
  n[1:2]: {address: "10.0.0.[21:22]"}
roles:
  master: m[1:3]
  minion: n[1:2]
`

func TestBetween(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	for name, c := range map[string]struct {
		after string
		kinds []change.Kind
		steps []string
	}{
		"nothing":        {edit("vars: {a: 1}", "vars: {a: 1} # a comment"), []change.Kind{change.KindNothing}, nil},
		"order of hosts": {edit("  m[1:3]: {address: \"10.0.0.[11:13]\"}\n", "", "roles:", "  m[1:3]: {address: \"10.0.0.[11:13]\"}\nroles:"), []change.Kind{change.KindNothing}, nil},
		"variable":       {edit("{a: 1}", "{a: 2}"), []change.Kind{change.KindConfiguration}, []string{"deployer apply --yes"}},
		"setting":        {edit("name: lab,", "name: lab, kubelet: {max_pods: 50},"), []change.Kind{change.KindConfiguration}, []string{"deployer apply --yes"}},
		"new minion":     {edit("n[1:2]", "n[1:3]", "[21:22]", "[21:23]"), []change.Kind{change.KindNewHosts}, []string{"deployer scale-up n3"}},
		"removed minion": {edit("n[1:2]", "n[1:1]", "[21:22]", "[21:21]"), []change.Kind{change.KindRemovedHosts}, []string{"deployer scale-down --yes n2"}},
		"replaced minion": {edit("n[1:2]", "n[2:3]", "[21:22]", "[22:23]"), []change.Kind{change.KindRemovedHosts, change.KindNewHosts},
			[]string{"deployer scale-down --yes n1", "deployer scale-up n3"}},
		"removed master": {edit("m[1:3]", "m[1:1]", "[11:13]", "[11:11]"), []change.Kind{change.KindRemovedHosts},
			[]string{"deployer scale-down --yes --allow-masters m2 m3"}},
		"version":  {edit("v1.35.4", "v1.36.3"), []change.Kind{change.KindVersion}, []string{"deployer upgrade"}},
		"promoted": {edit("master: m[1:3]", "master: m[1:3], n[1:2]", "minion: n[1:2]", "minion: []"), []change.Kind{change.KindNewHosts}, []string{"deployer scale-up n1 n2"}},
		"demoted": {edit("master: m[1:3]", "master: m1", "minion: n[1:2]", "minion: n[1:2], m[2:3]"), []change.Kind{change.KindRemovedHosts},
			[]string{"deployer scale-down --keep-node --yes --allow-masters m2 m3"}},
		"address": {edit("[21:22]", "[31:32]"), []change.Kind{change.KindConfiguration}, []string{"deployer apply --yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := change.Between(site(t, base), site(t, c.after))
			if diff := cmp.Diff(c.kinds, got.Kinds()); diff != "" {
				t.Errorf("%s\n%+v", diff, got)
			}
			var steps []string
			for _, s := range got.Steps() {
				steps = append(steps, s.String())
			}
			if diff := cmp.Diff(c.steps, steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLowerVersions(t *testing.T) {
	newer := strings.Replace(base, "v1.35.4", "v1.36.3", 1)
	ofOneHost := strings.NewReplacer("n[1:2]:", "n1: {address: 10.0.0.21, overrides: {kubelet: {version: v1.35.4}}}\n  n2:", "\"10.0.0.[21:22]\"", "10.0.0.22").Replace(newer)
	for name, c := range map[string]struct {
		after string
		want  int // versions
	}{"cluster": {base, 1}, "kubelet of one host": {ofOneHost, 1}} {
		got := change.Between(site(t, newer), site(t, c.after))
		if len(got.Versions) < c.want || len(got.Steps()) != 1 || got.Steps()[0].String() != "deployer rollback --yes" || len(got.HostSettings) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPlacesAndNoValues(t *testing.T) {
	after := strings.Replace(base, "vars: {a: 1}", "vars: {a: 1, token: !secret hunter2hunter2}", 1)
	c := change.Between(site(t, base), site(t, after))
	if len(c.HostSettings) != 5 || c.HostSettings[0].Key != "vars.token" || c.HostSettings[0].Pos.Line != 3 {
		t.Errorf("got %+v", c.HostSettings)
	}
	if text := fmt.Sprintf("%+v", c); strings.Contains(text, "hunter2") {
		t.Errorf("a secret is in the change: %s", text)
	}
}

func TestNewAndRemovedCluster(t *testing.T) {
	s := site(t, base)
	if c := change.Between(nil, s); !c.Is(change.KindInstall) || c.Steps()[0].String() != "deployer apply --yes" {
		t.Errorf("new: %+v", c)
	}
	if c := change.Between(s, nil); !c.Is(change.KindRemoved) || c.Steps() != nil {
		t.Errorf("removed: %+v", c)
	}
}

// randomSite returns a site with some of ten hosts, with random roles.
func randomSite(r *rand.Rand) *change.Site {
	s := &change.Site{Cluster: "lab", Versions: map[string]string{"kubernetes": fmt.Sprintf("v1.3%d.0", 5+r.IntN(2))}}
	for i := range 10 {
		if r.IntN(3) == 0 {
			continue
		}
		roles := [][]string{{inventory.Master, inventory.Etcd}, {inventory.Minion}, {inventory.Etcd}, {inventory.Proxy}, {inventory.Minion, inventory.Proxy}}[r.IntN(5)]
		if r.IntN(8) == 0 {
			s.Playbooks = append(s.Playbooks, change.Playbook{File: fmt.Sprintf("p%d.yaml", i), Digest: fmt.Sprint(r.IntN(2)), Hosts: []string{fmt.Sprintf("h%d", i)}, First: r.IntN(2) == 0})
		}
		s.Hosts = append(s.Hosts, change.Host{Name: fmt.Sprintf("h%d", i), Roles: roles, Settings: []change.Setting{{Key: "vars.a", Digest: fmt.Sprint(r.IntN(2))}}})
	}
	return s
}

func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := func(list []change.HostRoles) (out []string) {
		for _, h := range list {
			out = append(out, h.Host)
		}
		return out
	}
	for range 2000 {
		a, b := randomSite(r), randomSite(r)
		if c := change.Between(a, a); !c.Nothing() || len(c.Steps()) != 0 || len(c.Touched(a, a)) != 0 {
			t.Fatalf("a site differs from itself: %+v", c)
		}
		there, back := change.Between(a, b), change.Between(b, a)
		if len(a.Playbooks)+len(b.Playbooks) == 0 && there.Nothing() != back.Nothing() { // a removed playbook changes nothing
			t.Fatalf("a change one way and none the other: %+v and %+v", there, back)
		}
		touched := there.Touched(a, b)
		for _, h := range a.Hosts {
			_, stays := b.Host(h.Name)
			if leaves := slices.Contains(names(there.Leaving), h.Name); leaves == stays {
				t.Fatalf("%s stays %v and leaves %v", h.Name, stays, leaves)
			}
			if !stays && (!slices.Contains(names(back.Joining), h.Name) || !slices.Contains(touched, h.Name)) {
				t.Fatalf("%s leaves one way and does not join the other, or is not touched", h.Name)
			}
		}
		// Hosts leave with the old inventory before others join with the new one.
		joined := false
		for _, s := range there.Steps() {
			if s.Args[0] == "scale-up" {
				joined = true
			}
			if s.Args[0] == "scale-down" && (joined || !s.Old) {
				t.Fatalf("steps %v", there.Steps())
			}
		}
		if !there.Nothing() && len(there.Steps()) == 0 && len(there.Unsupported) == 0 {
			t.Fatalf("a change without a step: %+v", there)
		}
	}
}
