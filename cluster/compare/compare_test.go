package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/cluster/compare"
)

func TestStateOfCluster(t *testing.T) {
	wiped := func(o *compare.Observed, names ...string) {
		for _, name := range names {
			o.Hosts[name] = compare.Host{}
		}
	}
	for name, tc := range map[string]struct {
		change func(*compare.Observed)
		want   compare.State
	}{
		"healthy":                        {func(*compare.Observed) {}, compare.Running},
		"nothing installed":              {func(o *compare.Observed) { stopped(o); wiped(o, "m1", "m2", "m3", "n1", "n2") }, compare.New},
		"first install was killed":       {func(o *compare.Observed) { stopped(o); unestablish(o) }, compare.New},
		"a dead minion of a new cluster": {func(o *compare.Observed) { stopped(o); wiped(o, "m1", "m2", "m3", "n1"); silent(o, "n2") }, compare.New},
		"an unreachable master, nothing on the other hosts": {func(o *compare.Observed) { stopped(o); wiped(o, "m1", "m2"); silent(o, "m3") }, compare.Unknown},
		"power was lost": {stopped, compare.Down},
		"a restore was interrupted, no API server has its manifest": {func(o *compare.Observed) { stopped(o); unestablish(o); restoring(o, "m2") }, compare.Restoring},
		"a restore was interrupted, two members without data":       {func(o *compare.Observed) { stopped(o); wiped(o, "m1", "m2"); restoring(o, "m3") }, compare.Restoring},
		"a restore was interrupted, etcd serves":                    {func(o *compare.Observed) { o.Nodes, o.APIError = nil, "connection refused"; restoring(o, "m1") }, compare.Restoring},
		"one member lost its data, none responds":                   {func(o *compare.Observed) { stopped(o); wiped(o, "m2") }, compare.Down},
		"two members lost their data":                               {func(o *compare.Observed) { stopped(o); wiped(o, "m1", "m2") }, compare.QuorumLost},
		"two members have other addresses":                          {func(o *compare.Observed) { stopped(o); moved(o, "m1", "m2") }, compare.QuorumLost},
		"one member has another address":                            {func(o *compare.Observed) { stopped(o); moved(o, "m1") }, compare.Down},
		"two members are unreachable":                               {func(o *compare.Observed) { stopped(o); silent(o, "m1", "m2") }, compare.QuorumLost},
		"etcd serves, the API does not":                             {func(o *compare.Observed) { o.Nodes, o.APIError = nil, "connection refused" }, compare.Down},
		"one member is unreachable":                                 {func(o *compare.Observed) { silent(o, "m1") }, compare.Running},
	} {
		c := resolve(t, 3, 2)
		o := healthy(c)
		tc.change(&o)
		got := compare.Compare(c, o)
		if got.State != tc.want {
			t.Errorf("%s: %s (%s), not %s", name, got.State, got.Reason, tc.want)
		}
		if (got.Reason == "") != (got.State == compare.Running) {
			t.Errorf("%s: %s with the reason %q", name, got.State, got.Reason)
		}
	}
}

// moved gives hosts other addresses than those in their units of etcd.
func moved(o *compare.Observed, names ...string) {
	for _, name := range names {
		host(o, name, func(h *compare.Host) { h.EtcdPeerURL = "https://192.0.2.250:2380" })
	}
}

// restoring gives hosts the mark of a restore that is replacing the data of etcd.
func restoring(o *compare.Observed, names ...string) {
	for _, name := range names {
		host(o, name, func(h *compare.Host) { h.RestoringEtcd = true })
	}
}

// TestInterruptedRestoreNamesItsHosts: such a cluster looks like one that was never installed, or
// has lost its data, and is neither.
func TestInterruptedRestoreNamesItsHosts(t *testing.T) {
	c := resolve(t, 3, 2)
	o := healthy(c)
	restoring(&o, "m3", "m1")
	got := compare.Compare(c, o)
	if !strings.Contains(got.Reason, "interrupted on m1, m3 while") || !strings.Contains(got.Reason, "deployer resume RUN") {
		t.Error(got.Reason)
	}
	if d := compare.Decide(got, compare.Rules{}); d.Action != compare.ActionRefuse || d.Reason != got.Reason {
		t.Errorf("%+v", d)
	}
}

func unestablish(o *compare.Observed) {
	for name := range o.Hosts {
		host(o, name, func(h *compare.Host) { h.HasAPIServer = false })
	}
}

func TestHealthyClusterIsEqual(t *testing.T) {
	for _, masters := range []int{1, 3, 5} {
		c := resolve(t, masters, 2)
		if got := compare.Compare(c, healthy(c)); !got.Equal() {
			t.Errorf("%d masters: %+v", masters, got)
		}
	}
}

func TestDifferencesOfRunningCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*compare.Observed)
		want   compare.Result
	}{
		"a minion joins": {
			func(o *compare.Observed) { dropNode(o, "n2"); o.Hosts["n2"] = compare.Host{} },
			compare.Result{Joining: []string{"n2"}},
		},
		"a master joins": {
			func(o *compare.Observed) { dropNode(o, "m3"); dropMember(o, "m3"); o.Hosts["m3"] = compare.Host{} },
			compare.Result{Joining: []string{"m3"}},
		},
		"a master without its member": {
			func(o *compare.Observed) { dropMember(o, "m2") },
			compare.Result{Joining: []string{"m2"}},
		},
		"the inventory names one host less": {
			func(o *compare.Observed) {
				o.Nodes = append(o.Nodes, compare.Node{Name: "old", Ready: true, Version: cluster.DefaultKubernetes})
				o.Etcd.Members = append(o.Etcd.Members, cluster.LiveMember{ID: 99, Name: "old", Started: true, Healthy: true})
			},
			compare.Result{ExtraNodes: []string{"old"}, ExtraMembers: []string{"old"}},
		},
		"an older and a newer kubelet, a cordoned node": {
			func(o *compare.Observed) {
				node(o, "n1", func(n *compare.Node) { n.Version = "v1.35.4" })
				node(o, "n2", func(n *compare.Node) { n.Version, n.Cordoned = "v1.99.0", true })
			},
			compare.Result{
				Older:    []compare.Versioned{{Host: "n1", Component: "kubelet", Found: "v1.35.4", Wanted: cluster.DefaultKubernetes}},
				Newer:    []compare.Versioned{{Host: "n2", Component: "kubelet", Found: "v1.99.0", Wanted: cluster.DefaultKubernetes}},
				Cordoned: []string{"n2"},
			},
		},
		"a node that a run has left cordoned": {
			func(o *compare.Observed) {
				node(o, "n1", func(n *compare.Node) { n.Cordoned, n.CordonedBy = true, "r1" })
			},
			compare.Result{LeftCordoned: []compare.LeftCordoned{{Host: "n1", Run: "r1"}}},
		},
		"an older API server, and a kubelet whose host knows better than its node": {
			func(o *compare.Observed) {
				host := o.Hosts["m1"]
				host.Versions = []cluster.Running{{Host: "m1", Component: "kube-apiserver", Version: "v1.35.4"}, {Host: "m1", Component: "kubelet", Version: cluster.DefaultKubernetes}}
				o.Hosts["m1"] = host
				node(o, "m1", func(n *compare.Node) { n.Version = "v1.35.4" })
			},
			compare.Result{Older: []compare.Versioned{{Host: "m1", Component: "kube-apiserver", Found: "v1.35.4", Wanted: cluster.DefaultKubernetes}}},
		},
		"a master without installed files": {
			func(o *compare.Observed) { o.Hosts["m2"] = compare.Host{} },
			compare.Result{Broken: []compare.Broken{
				{Host: "m2", Component: "etcd", Detail: "the cluster counts it as a member, and it has no data: its member is replaced"},
				{Host: "m2", Component: "kubelet", Detail: "the cluster has this node, and no kubelet is installed: it is installed again"},
			}},
		},
		"a dead master and a failed service": {
			func(o *compare.Observed) {
				silent(o, "m2")
				o.Etcd.Members[1].Healthy = false
				node(o, "m2", func(n *compare.Node) { n.Ready, n.Reason = false, "NodeStatusUnknown" })
				host(o, "n1", func(h *compare.Host) {
					h.Broken = []compare.Broken{{Component: "containerd.service", Detail: "failed"}}
				})
			},
			compare.Result{
				Broken: []compare.Broken{
					{Host: "m2", Component: "host", Detail: "connection refused"},
					{Host: "m2", Component: "etcd", Detail: "its member does not serve"},
					{Host: "n1", Component: "containerd.service", Detail: "failed"},
					{Host: "m2", Component: "node", Detail: "not Ready: NodeStatusUnknown"},
				},
				Replacements: []compare.Replacement{{Host: "m2"}},
			},
		},
	} {
		c := resolve(t, 3, 2)
		o := healthy(c)
		tc.change(&o)
		tc.want.State = compare.Running
		if diff := cmp.Diff(tc.want, compare.Compare(c, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestJoiningNeedsNoSurveyOfMinions checks that a survey of masters alone finds the
// minions that join.
func TestJoiningNeedsNoSurveyOfMinions(t *testing.T) {
	c := resolve(t, 3, 3)
	o := healthy(c)
	dropNode(&o, "n3")
	for _, name := range []string{"n1", "n2", "n3"} {
		delete(o.Hosts, name)
	}
	got := compare.Compare(c, o)
	if !slices.Equal(got.Joining, []string{"n3"}) || len(got.Broken) > 0 {
		t.Errorf("joining %v, broken %v", got.Joining, got.Broken)
	}
}

func node(o *compare.Observed, name string, change func(*compare.Node)) {
	for i := range o.Nodes {
		if o.Nodes[i].Name == name {
			change(&o.Nodes[i])
		}
	}
}

func dropNode(o *compare.Observed, name string) {
	o.Nodes = slices.DeleteFunc(o.Nodes, func(n compare.Node) bool { return n.Name == name })
}

func dropMember(o *compare.Observed, name string) {
	o.Etcd.Members = slices.DeleteFunc(o.Etcd.Members, func(m cluster.LiveMember) bool { return m.Name == name })
}
