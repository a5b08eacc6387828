package cluster

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Running is one component of a cluster as it runs now.
type Running struct {
	Host      string
	Component string // kube-apiserver, kube-controller-manager, kube-scheduler, kubelet or kube-proxy
	Version   string // such as v1.36.3
}

// skewRule is how a component may differ from the API servers.
type skewRule struct {
	older int // minor versions that it may be older than the newest API server
	newer bool
}

// skewRules is the version skew policy (kubernetes.io/releases/
// version-skew-policy): API servers within one minor version of each other;
// controller manager and scheduler not newer and at most one older; kubelet and
// kube-proxy not newer and at most three older.
func skewRules() map[string]skewRule {
	return map[string]skewRule{
		"kube-apiserver":          {older: 1, newer: true},
		"kube-controller-manager": {older: 1},
		"kube-scheduler":          {older: 1},
		"kubelet":                 {older: 3},
		"kube-proxy":              {older: 3},
	}
}

// CheckSkew says what would break the version skew policy when the API servers
// go to the version wanted while everything else still runs as it does. Going
// back to an older minor version is refused, because the API server does not
// read what a newer one stored; so is going forward by more than one, because
// conversions are only kept for one.
func CheckSkew(wanted string, running []Running) Problems {
	var problems Problems
	add := func(subject, format string, args ...any) {
		problems = append(problems, Problem{Code: "version-skew", Subject: subject, Message: fmt.Sprintf(format, args...)})
	}
	target, err := semver.NewVersion(wanted)
	if err != nil {
		add("cluster.kubernetes", "%q is not a version such as %s", wanted, DefaultKubernetes)
		return problems
	}
	for _, r := range running {
		rule, known := skewRules()[r.Component]
		v, err := semver.NewVersion(r.Version)
		switch {
		case !known:
			add(r.Host, "%s is not a component with a skew policy", r.Component)
		case err != nil:
			add(r.Host, "%s runs %q, which is not a version", r.Component, r.Version)
		case v.Major() != target.Major():
			add(r.Host, "%s runs %s, and %s is of another major version", r.Component, r.Version, wanted)
		case v.Minor() > target.Minor() && rule.newer:
			add(r.Host, "%s runs %s: going back to %s is not possible, because it cannot read what was stored", r.Component, r.Version, wanted)
		case v.Minor() > target.Minor():
			add(r.Host, "%s runs %s, which is newer than the API server's %s: use the same version or newer", r.Component, r.Version, wanted)
		case target.Minor()-v.Minor() > uint64(rule.older): //nolint:gosec // 1 or 3
			add(r.Host, "%s runs %s, and %s is %d minor versions newer, more than %d: go to v%d.%d first",
				r.Component, r.Version, wanted, target.Minor()-v.Minor(), rule.older, target.Major(), v.Minor()+uint64(rule.older)) //nolint:gosec // 1 or 3
		}
	}
	return problems
}
