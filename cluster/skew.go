package cluster

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
)

// Running is a component of a cluster with the version that it has or is to have.
type Running struct {
	Host      string
	Component string // kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy, etcd or containerd
	Version   string // such as v1.36.3
}

// skewRule is the allowed difference of a component's minor version from the API servers
// that it reaches.
type skewRule struct {
	older uint64 // minor versions that it may be older than the newest of them
}

// skewRules is the version skew policy (kubernetes.io/releases/version-skew-policy):
// controller manager and scheduler are at most one minor version older than the API
// server, kubelet and kube-proxy at most three, and none is newer.
func skewRules() map[string]skewRule {
	return map[string]skewRule{
		"kube-controller-manager": {older: 1},
		"kube-scheduler":          {older: 1},
		"kubelet":                 {older: 3},
		"kube-proxy":              {older: 3},
	}
}

// etcdBridge is the oldest release of etcd 3.5 that may be in one cluster with members
// of 3.6, and the oldest one that 3.6 is an upgrade of: earlier ones can leave learners
// that 3.6 takes for voters (etcd.io/blog/2025/upgrade_from_3.5_to_3.6_issue).
const etcdBridge = "3.5.26"

// CheckSkew lists the violations of the version skew policy among components that
// run, or are to run, side by side. API servers must be within one minor version of
// each other. A component on a master talks only to the API server of its host; every
// other component talks to all of them. etcd's members must be within one minor
// version, with 3.6 beside 3.5 from 3.5.26 on. Hosts with the same violation are one
// problem.
func CheckSkew(all []Running) Problems {
	s := &skewChecker{servers: map[string]*semver.Version{}}
	versions := make([]*semver.Version, len(all))
	for i, r := range all {
		if r.Component == "runc" { // distributions number its builds in their own way
			continue
		}
		v, err := semver.NewVersion(r.Version)
		if err != nil {
			s.add(r, "is %q, which is not a version such as %s", r.Version, DefaultKubernetes)
			continue
		}
		versions[i] = v
		switch r.Component {
		case "kube-apiserver":
			s.servers[r.Host] = v
			s.server.widen(v)
		case "etcd":
			s.etcd.widen(v)
		}
	}
	for i, r := range all {
		if versions[i] != nil {
			s.check(r, versions[i])
		}
	}
	return s.list.problems
}

// skewChecker collects the problems of one [CheckSkew].
type skewChecker struct {
	servers      map[string]*semver.Version // API servers by host
	server, etcd versionSpan
	list         problemList
}

// versionSpan is the oldest and the newest of some versions; nil without one.
type versionSpan struct{ oldest, newest *semver.Version }

func (s *versionSpan) widen(v *semver.Version) {
	if s.oldest == nil || v.LessThan(s.oldest) {
		s.oldest = v
	}
	if s.newest == nil || v.GreaterThan(s.newest) {
		s.newest = v
	}
}

func (s *skewChecker) check(r Running, v *semver.Version) {
	switch rule, known := skewRules()[r.Component]; {
	case r.Component == "kube-apiserver" && minorsOlder(v, s.server.newest) > 1:
		s.add(r, "is %s, more than one minor version older than an API server of v%s: upgrade all API servers to v%d.%d first",
			r.Version, s.server.newest, v.Major(), v.Minor()+1)
	case r.Component == "etcd" && minorsOlder(v, s.etcd.newest) > 1:
		s.add(r, "is %s, more than one minor version older than a member of v%s: upgrade all members to v%d.%d first",
			r.Version, s.etcd.newest, v.Major(), v.Minor()+1)
	case r.Component == "etcd" && beforeBridge(v) && minorsOlder(v, s.etcd.newest) > 0:
		s.add(r, "is %s, which must not be in one cluster with a member of v%s: use v%s or newer there", r.Version, s.etcd.newest, etcdBridge)
	case known:
		s.checkClient(r, v, rule)
	}
}

// checkClient compares a component with the API servers that it talks to.
func (s *skewChecker) checkClient(r Running, v *semver.Version, rule skewRule) {
	reached, which := s.server, "an API server"
	if own := s.servers[r.Host]; own != nil {
		reached, which = versionSpan{own, own}, "the API server of its host"
	}
	switch {
	case reached.oldest == nil: // no API server is known
	case minorsOlder(reached.oldest, v) > 0:
		s.add(r, "is %s, newer than %s, which is v%s: upgrade the API server first", r.Version, which, reached.oldest)
	case minorsOlder(v, reached.newest) > rule.older:
		s.add(r, "is %s, more than %d minor versions older than %s, which is v%s: upgrade %s to v%d.%d first",
			r.Version, rule.older, which, reached.newest, r.Component, v.Major(), reached.newest.Minor()-rule.older)
	}
}

func (s *skewChecker) add(r Running, format string, args ...any) {
	s.list.add(Problem{Code: codeSkew, Subject: r.Host, Component: r.Component, Message: r.Component + " " + fmt.Sprintf(format, args...)})
}

// minorsOlder returns the number of minor versions that a is older than b; 0 when it is
// not. Every minor of another major version counts as far away.
func minorsOlder(a, b *semver.Version) uint64 {
	switch {
	case b == nil || a.Major() > b.Major():
		return 0
	case a.Major() < b.Major():
		return 1000
	case a.Minor() >= b.Minor():
		return 0
	}
	return b.Minor() - a.Minor()
}

// beforeBridge reports whether a version of etcd is older than the one that 3.6 works
// with.
func beforeBridge(v *semver.Version) bool { return v.LessThan(semver.MustParse(etcdBridge)) }

// Wanted lists the components of the cluster with the versions that they are to have, in
// inventory order.
func (c *Cluster) Wanted() []Running {
	var out []Running
	for _, host := range c.Order {
		out = append(out, running(host, c.Nodes[host].Versions)...)
	}
	return slices.Clip(out)
}

func running(host string, v NodeVersions) []Running {
	var out []Running
	for _, one := range v.list() {
		out = append(out, Running{Host: host, Component: one.program, Version: one.version})
	}
	return out
}
