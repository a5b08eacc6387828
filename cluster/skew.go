package cluster

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Running is a component of a cluster in its current version.
type Running struct {
	Host      string
	Component string // kube-apiserver, kube-controller-manager, kube-scheduler, kubelet or kube-proxy
	Version   string // such as v1.36.3
}

// skewRule is the allowed difference of a component's version from the API servers.
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

// CheckSkew lists the violations of the version skew policy when the API servers change
// to the version wanted and all other components keep theirs. It refuses an older minor
// version, because the API server does not read objects stored by a newer one, and a
// step of more than one minor version, because conversions exist for one only.
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
