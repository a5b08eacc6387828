package gate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/ci/change"
	"deployer/ci/gate"
	"deployer/inventory"
	"deployer/strictyaml"
)

// cluster returns a site with masters m1.. and minions n1...
func cluster(masters, minions int) *change.Site {
	s := &change.Site{Cluster: "lab", Versions: map[string]string{"kubernetes": "v1.35.4"}, Version: strictyaml.Pos{File: "i.yaml", Line: 1}}
	for i := range masters {
		s.Hosts = append(s.Hosts, host(fmt.Sprintf("m%d", i+1), 10+i, inventory.Master, inventory.Etcd))
	}
	for i := range minions {
		s.Hosts = append(s.Hosts, host(fmt.Sprintf("n%d", i+1), 20+i, inventory.Minion))
	}
	s.Groups = map[string][]string{"minion": s.With(inventory.Minion), "storage": {"n1"}}
	return s
}

func host(name string, line int, roles ...string) change.Host {
	return change.Host{Name: name, Address: name, Roles: roles, Pos: strictyaml.Pos{File: "i.yaml", Line: line, Col: 3}}
}

func remove(s *change.Site, names ...string) *change.Site {
	out := *s
	out.Hosts = slices.DeleteFunc(slices.Clone(s.Hosts), func(h change.Host) bool { return slices.Contains(names, h.Name) })
	return &out
}

func version(s *change.Site, v string) *change.Site {
	out := *s
	out.Versions = map[string]string{"kubernetes": v}
	return &out
}

func withPlaybook(s *change.Site, hosts ...string) *change.Site {
	out := *s
	out.Playbooks = []change.Playbook{{File: "p.yaml", Digest: "1", Hosts: hosts}}
	return &out
}

func rules(t *testing.T, text string) gate.Rules {
	t.Helper()
	var r gate.Rules
	n, err := strictyaml.Parse("rules", []byte(text))
	if err == nil {
		err = strictyaml.Decode("rules", n, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noon is a Monday.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestRules(t *testing.T) {
	five := cluster(5, 10)
	moved := *five
	moved.Hosts = slices.Clone(five.Hosts)
	for i := range 3 {
		moved.Hosts[i].Address += "x"
	}
	renamed := *five
	renamed.Cluster = "other"
	roleLost := *five
	roleLost.Hosts = slices.Clone(five.Hosts)
	roleLost.Hosts[5].Roles = []string{inventory.Proxy}
	set := *five
	set.Settings = []change.Setting{{Key: "cluster.dns.replicas", Digest: "x", Pos: strictyaml.Pos{File: "i.yaml", Line: 3}}}
	for name, c := range map[string]struct {
		before, after *change.Site
		rules         string
		in            gate.Input
		want          []string // level, and the beginning of each finding
	}{
		"no change":                   {before: five, after: five},
		"data on a host that joins":   {before: remove(five, "n9"), after: five, rules: "data_loss: {hosts: [n9]}"},
		"data on no host":             {before: five, after: five, rules: "data_loss: {hosts: [n99]}", want: []string{"block data_loss: data_loss.hosts: "}},
		"one of three members":        {before: cluster(3, 1), after: remove(cluster(3, 1), "m2")},
		"two of three members":        {before: cluster(3, 1), after: remove(cluster(3, 1), "m2", "m3"), want: []string{"block i.yaml:12:3: quorum: etcd would lose its quorum: m[2:3] of m[1:3] leave or get another address, 1 of 3 members stay, and 2 are needed; change at most 1"}},
		"two of five members":         {before: five, after: remove(five, "m1", "m2")},
		"three of five members":       {before: five, after: remove(five, "m1", "m2", "m3"), want: []string{"block i.yaml:12:3: quorum: "}},
		"three addresses":             {before: five, after: &moved, want: []string{"block i.yaml:12:3: quorum: "}},
		"quorum as advice":            {before: cluster(3, 1), after: remove(cluster(3, 1), "m2", "m3"), rules: "quorum: {level: advise}", want: []string{"advise i.yaml:12:3: quorum: "}},
		"quorum off":                  {before: cluster(3, 1), after: remove(cluster(3, 1), "m2", "m3"), rules: "quorum: {level: off}"},
		"inventory is removed":        {before: five, want: []string{"block supported: the cluster lab is in no inventory any more"}},
		"new cluster":                 {after: five, rules: "blast_radius: {limit: 1}\ncontrol_plane: {windows: [{from: '01:00', to: '02:00'}]}"},
		"renamed":                     {before: five, after: &renamed, want: []string{"block i.yaml:1: supported: the cluster lab would get the name other"}},
		"role lost":                   {before: five, after: &roleLost, want: []string{"block i.yaml:20:3: supported: n1 would lose the role minion"}},
		"lower version":               {before: five, after: version(five, "v1.34.0"), want: []string{"block i.yaml:1: supported: kubernetes would go from v1.35.4 back to v1.34.0"}},
		"lower version in a rollback": {before: five, after: version(five, "v1.34.0"), in: gate.Input{Rollback: true}},
		"version and new hosts":       {before: remove(five, "n1"), after: version(five, "v1.36.0"), want: []string{"block i.yaml:20:3: supported: versions change and hosts join in one push"}},
		"version and old hosts":       {before: five, after: version(remove(five, "n1"), "v1.36.0")},

		"host with data":    {before: five, after: remove(five, "n1"), rules: "data_loss: {hosts: [storage]}", want: []string{"block i.yaml:20:3: data_loss: n1 leaves and holds data (data_loss.hosts: storage)"}},
		"host without data": {before: five, after: remove(five, "n2"), rules: "data_loss: {hosts: [storage]}"},
		"data_loss with a pattern that matches no host": {before: five, after: five, rules: "data_loss: {hosts: [storge]}", want: []string{"block data_loss: data_loss.hosts: "}},
		"minion outside window":                         {before: five, after: remove(five, "n1"), rules: "control_plane: {windows: [{from: '22:00', to: '04:00'}]}"},
		"master outside window": {before: five, after: remove(five, "m1"), rules: "control_plane: {windows: [{from: '22:00', to: '04:00'}]}",
			want: []string{"block i.yaml:10:3: control_plane: m1 (master, etcd) reaches masters or members of etcd outside of their window; push it again within every day 22:00 to 04:00 UTC"}},
		"master in window":       {before: five, after: remove(five, "m1"), rules: "control_plane: {windows: [{from: '22:00', to: '13:00'}]}"},
		"setting outside window": {before: five, after: &set, rules: "control_plane: {windows: [{days: [tue], from: '01:00', to: '23:00'}]}", want: []string{"block i.yaml:3: control_plane: cluster.dns.replicas reaches"}},

		"playbook on a minion":  {before: five, after: withPlaybook(five, "n1"), rules: "control_plane: {windows: [{from: '22:00', to: '04:00'}]}\nblast_radius: {limit: 1}"},
		"playbook on a master":  {before: five, after: withPlaybook(five, "n1", "m1"), rules: "control_plane: {windows: [{from: '22:00', to: '04:00'}]}", want: []string{"block p.yaml: control_plane: the playbook p.yaml on m1 reaches masters"}},
		"playbook on two hosts": {before: five, after: withPlaybook(five, "n1", "n2"), rules: "blast_radius: {limit: 1}", want: []string{"block p.yaml: blast_radius: the push touches 2 hosts"}},

		"within the radius":        {before: five, after: remove(five, "n1"), rules: "blast_radius: {limit: 1}"},
		"beyond the radius":        {before: five, after: remove(five, "n1", "n2"), rules: "blast_radius: {limit: 10%}", want: []string{"block i.yaml:20:3: blast_radius: the push touches 2 hosts, and blast_radius allows 1 (10% of 15)"}},
		"setting of all":           {before: five, after: &set, rules: "blast_radius: {level: advise, limit: 50%}", want: []string{"advise i.yaml:3: blast_radius: the push touches 15 hosts"}},
		"not approved":             {before: five, after: &set, rules: "approved_plan: {level: block}", in: gate.Input{Plan: "sha256:a"}, want: []string{"block approved_plan: the plan of the push, sha256:a, is not approved"}},
		"another plan is approved": {before: five, after: &set, rules: "approved_plan: {level: block}", in: gate.Input{Plan: "sha256:a", Approved: "sha256:b"}, want: []string{"block approved_plan: the plan of the push is sha256:a, and sha256:b was approved"}},
		"approved":                 {before: five, after: &set, rules: "approved_plan: {level: block}", in: gate.Input{Plan: "sha256:a", Approved: "sha256:a"}},
		"approved_plan is off":     {before: five, after: &set, in: gate.Input{Plan: "sha256:a"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := c.in
			in.Old, in.New, in.Change, in.Rules, in.Now = c.before, c.after, change.Between(c.before, c.after), rules(t, c.rules), noon
			got := gate.Check(in)
			if len(got) != len(c.want) {
				t.Fatalf("want %d findings, got %v", len(c.want), got)
			}
			blocked := false
			for i, w := range c.want {
				blocked = blocked || strings.HasPrefix(w, "block ")
				if text := string(got[i].Level) + " " + got[i].String(); !strings.HasPrefix(text, w) {
					t.Errorf("got  %s\nwant %s", text, w)
				}
			}
			if gate.Blocked(got) != blocked {
				t.Errorf("blocked is %v", gate.Blocked(got))
			}
		})
	}
}

// TestNoMajorityLeaves removes random members of clusters of all sizes: the rule holds a
// push back exactly when less than a majority stays.
func TestNoMajorityLeaves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		before := cluster(1+r.IntN(9), 1)
		var gone []string
		for _, m := range before.With(inventory.Etcd) {
			if r.IntN(2) == 0 {
				gone = append(gone, m)
			}
		}
		after := remove(before, gone...)
		found := gate.Check(gate.Input{Old: before, New: after, Change: change.Between(before, after), Now: noon})
		members := len(before.With(inventory.Etcd))
		blocked := slices.ContainsFunc(found, func(f gate.Finding) bool { return f.Rule == "quorum" })
		if want := 2*(members-len(gone)) <= members && len(gone) > 0; blocked != want {
			t.Fatalf("%d of %d members leave: blocked is %v, want %v", len(gone), members, blocked, want)
		}
	}
}

func TestWindow(t *testing.T) {
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		t.Skip("this machine has no time zones")
	}
	for _, c := range []struct {
		window string
		at     string
		want   bool
	}{
		{"{from: '10:00', to: '14:00'}", "2026-11-23T12:00:00Z", true},
		{"{from: '10:00', to: '14:00'}", "2026-11-23T14:00:00Z", false},
		{"{from: '10:00', to: '14:00'}", "2026-11-23T10:00:00Z", true},
		{"{days: [sat], from: '22:00', to: '04:00'}", "2026-11-28T23:00:00Z", true},
		{"{days: [sat], from: '22:00', to: '04:00'}", "2026-11-29T03:59:00Z", true},
		{"{days: [sat], from: '22:00', to: '04:00'}", "2026-11-28T03:00:00Z", false},
		{"{days: [sat], from: '22:00', to: '04:00'}", "2026-11-29T04:00:00Z", false},
		{"{from: '00:00', to: '00:00'}", "2026-11-29T04:00:00Z", true},
		{"{from: '10:00', to: '11:00', zone: Europe/Berlin}", "2026-11-23T09:30:00Z", true},
		{"{from: '10:00', to: '11:00', zone: Europe/Berlin}", "2026-11-23T10:30:00Z", false},
	} {
		var w gate.Window
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(c.window), &n); err != nil {
			t.Fatal(err)
		}
		if err := strictyaml.Decode("w", n.Content[0], &w); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Holds(at); got != c.want {
			t.Errorf("%s at %s: %v, want %v", c.window, c.at, got, c.want)
		}
	}
}

func TestStrandedHosts(t *testing.T) {
	c := change.Change{Stranded: []change.HostRoles{{Host: "n7", Roles: []string{inventory.Minion}}}}
	for first, want := range map[bool]gate.Level{true: gate.Advise, false: gate.Block} {
		c.First = first
		found := gate.Check(gate.Input{Change: c, New: cluster(3, 2)})
		if len(found) != 1 || found[0].Rule != "stranded" || found[0].Level != want || !strings.Contains(found[0].Message, "n7") || !strings.Contains(found[0].Advice, "deployer scale-down n7 -i") {
			t.Errorf("first install %v: %v", first, found)
		}
	}
}
