package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func TestCheckSkew(t *testing.T) {
	run := func(texts ...string) []cluster.Running {
		var out []cluster.Running
		for _, text := range texts {
			f := strings.Fields(text)
			out = append(out, cluster.Running{Host: f[0], Component: f[1], Version: f[2]})
		}
		return out
	}
	for name, c := range map[string]struct {
		all  []cluster.Running
		want string // subject and a part of the message
	}{
		"equal":                            {run("m1 kube-apiserver v1.36.3", "m1 kubelet v1.36.3", "n1 kubelet v1.36.3", "n1 kube-proxy v1.36.3"), ""},
		"API servers within one minor":     {run("m1 kube-apiserver v1.36.3", "m2 kube-apiserver v1.35.4"), ""},
		"API servers two minors apart":     {run("m1 kube-apiserver v1.36.3", "m2 kube-apiserver v1.34.4"), "m2: kube-apiserver is v1.34.4, more than one minor version older than an API server of v1.36.3: upgrade all API servers to v1.35 first"},
		"kubelet three older":              {run("m1 kube-apiserver v1.36.3", "n1 kubelet v1.33.0"), ""},
		"kubelet four older":               {run("m1 kube-apiserver v1.36.3", "n1 kubelet v1.32.9"), "upgrade kubelet to v1.33 first"},
		"kubelet newer than one of them":   {run("m1 kube-apiserver v1.36.3", "m2 kube-apiserver v1.35.4", "n1 kubelet v1.36.0"), "n1: kubelet is v1.36.0, newer than an API server, which is v1.35.4"},
		"kubelet of a newer patch":         {run("m1 kube-apiserver v1.36.1", "n1 kubelet v1.36.3"), ""},
		"a master's kubelet, own server":   {run("m1 kube-apiserver v1.36.3", "m2 kube-apiserver v1.35.4", "m1 kubelet v1.36.3"), ""},
		"a master's kubelet, newer":        {run("m1 kube-apiserver v1.36.3", "m2 kube-apiserver v1.35.4", "m2 kubelet v1.36.3"), "m2: kubelet is v1.36.3, newer than the API server of its host"},
		"kube-proxy newer":                 {run("m1 kube-apiserver v1.35.4", "n1 kube-proxy v1.36.0"), "newer than an API server"},
		"scheduler one older":              {run("m1 kube-apiserver v1.36.3", "m1 kube-scheduler v1.35.4"), ""},
		"controller manager two older":     {run("m1 kube-apiserver v1.36.3", "m1 kube-controller-manager v1.34.4"), "more than 1 minor versions older than the API server of its host"},
		"controller manager newer":         {run("m1 kube-apiserver v1.35.4", "m1 kube-controller-manager v1.36.3"), "newer than the API server of its host"},
		"etcd 3.5.26 beside 3.6":           {run("e1 etcd v3.5.26", "e2 etcd v3.6.8"), ""},
		"etcd 3.5.25 beside 3.6":           {run("e1 etcd v3.5.25", "e2 etcd v3.6.8"), "e1: etcd is v3.5.25, which must not be in one cluster with a member of v3.6.8: use v3.5.26"},
		"etcd 3.5.25 alone":                {run("e1 etcd v3.5.25", "e2 etcd v3.5.24"), ""},
		"etcd 3.4 beside 3.6":              {run("e1 etcd v3.4.30", "e2 etcd v3.6.8"), "upgrade all members to v3.5 first"},
		"containerd has no policy":         {run("m1 kube-apiserver v1.36.3", "n1 containerd v1.7.0"), ""},
		"no version":                       {run("m1 kube-apiserver v1.36.3", "n1 kubelet latest"), `n1: kubelet is "latest", which is not a version`},
		"another major version":            {run("m1 kube-apiserver v2.0.0", "n1 kubelet v1.36.0"), "more than 3 minor versions older"},
		"the same violation on more hosts": {run("m1 kube-apiserver v1.36.3", "n1 kubelet v1.32.0", "n2 kubelet v1.32.0", "n3 kubelet v1.32.0"), "(and 2 other hosts)"},
		"no API server is known":           {run("n1 kubelet v1.36.0"), ""},
	} {
		got := cluster.CheckSkew(c.all)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %v", name, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), c.want)):
			t.Errorf("%s: want one problem with %q, got %v", name, c.want, got)
		}
	}
}

// TestCheckSkewAgainstOracle compares CheckSkew with the policy written down pair by pair,
// over random clusters.
func TestCheckSkewAgainstOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 3000 {
		var all []cluster.Running
		masters := 1 + random.IntN(3)
		add := func(host, component string) {
			all = append(all, cluster.Running{Host: host, Component: component, Version: fmt.Sprintf("v1.%d.%d", 33+random.IntN(4), random.IntN(3))})
		}
		for i := range masters + random.IntN(2) {
			host := fmt.Sprintf("h%d", i)
			if i < masters {
				add(host, "kube-apiserver")
				add(host, "kube-scheduler")
			}
			add(host, "kubelet")
		}
		want := true
		for _, a := range all {
			for _, b := range all {
				onMaster := slices.ContainsFunc(all, func(r cluster.Running) bool { return r.Host == a.Host && r.Component == "kube-apiserver" })
				want = want && pairAllowed(a, b, onMaster)
			}
		}
		if got := len(cluster.CheckSkew(all)) == 0; got != want {
			t.Fatalf("%v: allowed %t, want %t: %v", all, got, want, cluster.CheckSkew(all))
		}
		if !want {
			refused++
		}
	}
	if refused == 0 || refused == 3000 {
		t.Errorf("%d of 3000 clusters were refused", refused)
	}
}

// pairAllowed is the policy for a component a, which may be on a master, and an API
// server b.
func pairAllowed(a, b cluster.Running, onMaster bool) bool {
	minor := func(r cluster.Running) (n int) { _, _ = fmt.Sscanf(r.Version, "v1.%d", &n); return n }
	older := map[string]int{"kube-apiserver": 1, "kube-scheduler": 1, "kubelet": 3}[a.Component]
	behind := minor(b) - minor(a)
	switch {
	case b.Component != "kube-apiserver", a.Host != b.Host && a.Component == "kube-scheduler":
		return true
	case a.Component == "kube-apiserver":
		return behind <= 1
	case a.Host != b.Host && a.Component == "kubelet" && onMaster:
		return true
	}
	return behind >= 0 && behind <= older
}

// TestUpgradeOrderKeepsSkew checks that every state between two versions is an ordinary
// wanted state when components change in the order of an upgrade: etcd, then master by
// master, then minions, in any order.
func TestUpgradeOrderKeepsSkew(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		hosts := fleet(masters(1+2*random.IntN(3)), minions(random.IntN(5)))
		from := cluster.Spec{Kubernetes: "v1.35.4", Versions: cluster.Versions{Etcd: []string{"v3.5.26", "v3.6.8"}[random.IntN(2)]}}
		before, after := mustResolve(t, from, hosts), mustResolve(t, cluster.Spec{Kubernetes: "v1.36.3"}, hosts)
		now := before.Wanted()
		steps := cluster.VersionChanges(now, after.Wanted())
		if got := cluster.CheckUpgrade(now, after.Wanted()); len(got) > 0 {
			t.Fatal(got)
		}
		random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		slices.SortStableFunc(steps, func(a, b cluster.VersionChange) int { return phase(a) - phase(b) })
		for _, step := range steps {
			i := slices.IndexFunc(now, func(r cluster.Running) bool { return r.Host == step.Host && r.Component == step.Component })
			now[i].Version = step.To
			if got := cluster.CheckSkew(now); len(got) > 0 {
				t.Fatalf("after %s of %s: %v", step.Component, step.Host, got)
			}
		}
		if left := cluster.VersionChanges(now, after.Wanted()); len(left) > 0 {
			t.Fatalf("left: %v", left)
		}
	}
}

// phase is the place of a change in the order of an upgrade: masters one after the other,
// with the API server of each first.
func phase(c cluster.VersionChange) int {
	var master int
	_, _ = fmt.Sscanf(c.Host, "m%d", &master)
	place := map[string]int{"kube-apiserver": 0, "kube-controller-manager": 1, "kube-scheduler": 2}
	within, known := place[c.Component]
	if !known {
		within = 3
	}
	switch {
	case c.Component == "etcd":
		return 0
	case master > 0:
		return 10*master + within
	}
	return 1000
}
