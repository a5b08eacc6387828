package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// eventsCluster resolves a cluster with an etcd cluster of events.
func eventsCluster(t *testing.T, spec cluster.Spec, hosts []cluster.Host) *cluster.Cluster {
	t.Helper()
	spec.Etcd.Events.Enabled = true
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEventsShareNothing checks that the two members of a host have no port, directory or identity
// of a cluster in common, whatever the overrides of etcd are.
func TestEventsShareNothing(t *testing.T) {
	c := eventsCluster(t, cluster.Spec{Overrides: map[string]any{"etcd": map[string]any{
		"extra_args": map[string]any{"wal-dir": "/srv/log", "snapshot-count": 5},
	}}}, masters(3))
	for _, name := range c.Masters {
		n := c.Nodes[name]
		for _, flag := range []string{"data-dir", "listen-client-urls", "listen-peer-urls", "advertise-client-urls", "initial-advertise-peer-urls", "initial-cluster-token", "listen-metrics-urls"} {
			own, events := flagOf(n.Args.Etcd, flag), flagOf(n.Args.EtcdEvents, flag)
			if own == "" || events == "" {
				t.Errorf("%s: --%s is %q and %q", name, flag, own, events)
			}
			for part := range strings.SplitSeq(events, ",") {
				if slices.Contains(strings.Split(own, ","), part) {
					t.Errorf("%s: both members have %s in --%s", name, part, flag)
				}
			}
		}
		if dir := flagOf(n.Args.EtcdEvents, "wal-dir"); dir != "" {
			t.Errorf("%s: the log of events is in %s, where that of etcd is", name, dir)
		}
		for _, flag := range []string{"trusted-ca-file", "client-cert-auth", "peer-client-cert-auth", "heartbeat-interval"} {
			if own, events := flagOf(n.Args.Etcd, flag), flagOf(n.Args.EtcdEvents, flag); own != events || own == "" {
				t.Errorf("%s: --%s is %q and %q", name, flag, own, events)
			}
		}
	}
}

// TestOverrideOfEvents checks what API servers are told: the host's own member first, and servers
// separated by semicolons, because a comma separates overrides.
func TestOverrideOfEvents(t *testing.T) {
	c := eventsCluster(t, cluster.Spec{}, masters(3))
	want := "/events#https://172.31.0.12:2479;https://172.31.0.11:2479;https://172.31.0.13:2479"
	if got := flagOf(c.Nodes["m2"].Args.APIServer, "etcd-servers-overrides"); got != want {
		t.Errorf("m2 has %s, want %s", got, want)
	}
	if got := flagOf(c.Nodes["m2"].Args.APIServer, "etcd-servers"); strings.Contains(got, "2479") {
		t.Errorf("all objects go to %s", got)
	}
	apart := eventsCluster(t, cluster.Spec{}, fleet(masters(2), hosts("e", 21, 3, "etcd"), minions(1)))
	want = "/events#https://172.31.0.22:2479;https://172.31.0.23:2479;https://172.31.0.24:2479"
	if got := flagOf(apart.Nodes["m1"].Args.APIServer, "etcd-servers-overrides"); got != want {
		t.Errorf("m1 has %s, want %s", got, want)
	}
	if m := apart.Nodes["m1"]; m.EtcdEvents != nil || len(m.Args.EtcdEvents) > 0 {
		t.Error("a master that is no host of etcd has a member of events")
	}
}

// TestWithoutEvents checks that a cluster without etcd for events has no trace of it.
func TestWithoutEvents(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{}, masters(3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.EtcdNamed(cluster.EtcdEvents); err == nil || !strings.Contains(err.Error(), `"etcd-events": it has etcd`) {
		t.Errorf("EtcdNamed: %v", err)
	}
	if names := c.EtcdNames(); !slices.Equal(names, []string{"etcd"}) {
		t.Errorf("the clusters are %v", names)
	}
	n := c.Nodes["m1"]
	if got := flagOf(n.Args.APIServer, "etcd-servers-overrides"); got != "" || n.EtcdEvents != nil || slices.Contains(n.Units, "etcd-events.service") {
		t.Errorf("m1 has %q, %v, %v", got, n.EtcdEvents, n.Units)
	}
}

// TestFilesOfEventsAreKept checks that the files of the member are not removed as leftovers.
func TestFilesOfEventsAreKept(t *testing.T) {
	c := eventsCluster(t, cluster.Spec{}, masters(3))
	var kept []string
	for _, owned := range c.Nodes["m1"].Owned {
		kept = append(kept, owned.Keep...)
	}
	for _, file := range []string{"etcd-events-initial.env", "etcd-events-member", "etcd-initial.env", "etcd-member"} {
		if !slices.Contains(kept, file) {
			t.Errorf("%s would be removed", file)
		}
	}
}

// flagOf returns the value of a flag in a list --name=value; empty for none.
func flagOf(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}
