package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// VersionChange is a component of a host whose version is another one than the wanted
// one.
type VersionChange struct {
	Host      string `json:"host"`
	Component string `json:"component"` // name of the component, as in Running
	From      string `json:"from"`      // the version that was found
	To        string `json:"to"`        // the wanted version
	Older     bool   `json:"older"`     // true when the wanted version is older than the found one
}

// String returns the change as text, such as "kube-apiserver of m1: v1.35.4 to v1.36.3".
func (c VersionChange) String() string {
	return fmt.Sprintf("%s of %s: %s to %s", c.Component, c.Host, c.From, c.To)
}

// ParseVersionChange reads what String has written.
func ParseVersionChange(text string) (c VersionChange, ok bool) {
	who, versions, ok1 := strings.Cut(text, ": ")
	component, host, ok2 := strings.Cut(who, " of ")
	from, to, ok3 := strings.Cut(versions, " to ")
	return VersionChange{Host: host, Component: component, From: from, To: to}, ok1 && ok2 && ok3
}

// Minor reports whether the minor or major version changes.
func (c VersionChange) Minor() bool {
	from, to := semver.MustParse(c.From), semver.MustParse(c.To)
	return from.Major() != to.Major() || from.Minor() != to.Minor()
}

// VersionChanges compares the versions that were found on hosts with the wanted ones, in
// the order of wanted. A component that was not found, or whose version is not one, has
// no change.
func VersionChanges(found, wanted []Running) []VersionChange {
	have := map[[2]string]string{}
	for _, r := range found {
		have[[2]string{r.Host, r.Component}] = r.Version
	}
	var out []VersionChange
	for _, w := range wanted {
		text := have[[2]string{w.Host, w.Component}]
		from, errFrom := semver.NewVersion(text)
		to, errTo := semver.NewVersion(w.Version)
		if errFrom != nil || errTo != nil || from.Equal(to) {
			continue
		}
		out = append(out, VersionChange{Host: w.Host, Component: w.Component, From: text, To: w.Version, Older: to.LessThan(from)})
	}
	return out
}

// The codes of problems with changes of versions.
const (
	CodeUpgrade   = "upgrade"
	CodeDowngrade = "downgrade"
	CodeJoin      = "join"
)

// NotJoined lists the hosts without an etcd, API server or kubelet that they are to have:
// they are not in the cluster yet, or not with this role, and an upgrade adds none. Every
// host of wanted must have been examined.
func NotJoined(found, wanted []Running) Problems {
	have := map[[2]string]bool{}
	for _, r := range found {
		have[[2]string{r.Host, r.Component}] = true
	}
	var list problemList
	last := ""
	for _, w := range wanted {
		member := w.Component == "etcd" || w.Component == "kube-apiserver" || w.Component == "kubelet"
		if !member || w.Host == last || have[[2]string{w.Host, w.Component}] {
			continue
		}
		last = w.Host // one reason is enough
		list.add(Problem{Code: CodeJoin, Subject: w.Host, Message: fmt.Sprintf("%s was not found: the host is not in the cluster yet, or not with this role, and an upgrade adds no hosts", w.Component)})
	}
	return list.problems
}

// RefuseChanges lists the changes of versions that an ordinary run must not make on hosts
// in use: downgrades, which only a rollback makes, and upgrades, which have an order and
// a command of their own.
func RefuseChanges(found, wanted []Running) Problems {
	var list problemList
	for _, c := range VersionChanges(found, wanted) {
		if c.Older {
			list.add(downgrade(c))
			continue
		}
		list.add(Problem{Code: CodeUpgrade, Subject: c.Host, Message: fmt.Sprintf("%s is %s, the inventory has %s: this is an upgrade", c.Component, c.From, c.To)})
	}
	return append(list.problems, CheckSkew(effective(found, wanted))...)
}

func downgrade(c VersionChange) Problem {
	return Problem{Code: CodeDowngrade, Subject: c.Host, Message: fmt.Sprintf("%s is %s, newer than %s of the inventory: a downgrade is refused; set the newer version in the inventory, or take an upgrade back with deployer rollback",
		c.Component, c.From, c.To)}
}

// CheckUpgrade lists the reasons why an upgrade from the found to the wanted versions is
// not possible: downgrades, a step of the API servers or of etcd of more than one minor
// version, etcd 3.6 after a release of 3.5 that it cannot follow, and versions that
// violate the skew policy before or after it. With only, just these components change,
// by the names of their programs.
func CheckUpgrade(found, wanted []Running, only ...string) Problems {
	var list problemList
	after := slices.Clone(found)
	for _, c := range VersionChanges(found, wanted) {
		if len(only) > 0 && !slices.Contains(only, c.Component) {
			continue
		}
		if p, refused := refuseStep(c); refused {
			list.add(p)
		}
		i := slices.IndexFunc(after, func(r Running) bool { return r.Host == c.Host && r.Component == c.Component })
		after[i].Version = c.To
	}
	before := CheckSkew(found)
	if len(list.problems) == 0 && len(before) == 0 {
		return CheckSkew(after)
	}
	return append(list.problems, before...)
}

// refuseStep returns the problem of a change of one component in an upgrade.
func refuseStep(c VersionChange) (Problem, bool) {
	from, to := semver.MustParse(c.From), semver.MustParse(c.To)
	p := Problem{Code: codeSkew, Subject: c.Host}
	switch stepwise := c.Component == "kube-apiserver" || c.Component == "etcd"; {
	case c.Older:
		return downgrade(c), true
	case stepwise && minorsOlder(from, to) > 1:
		p.Message = fmt.Sprintf("%s is %s, and %s is more than one minor version newer: upgrade to v%d.%d first", c.Component, c.From, c.To, from.Major(), from.Minor()+1)
	case c.Component == "etcd" && minorsOlder(from, to) > 0 && beforeBridge(from):
		p.Message = fmt.Sprintf("etcd is %s, which %s cannot follow: upgrade it to v%s or a later 3.5 first, with cluster.versions.etcd", c.From, c.To, etcdBridge)
	}
	return p, p.Message != ""
}

// effective returns the versions after a run that installs what is missing and changes no
// version: the found version of a component, or the wanted one where none was found.
func effective(found, wanted []Running) []Running {
	have := map[[2]string]string{}
	for _, r := range found {
		have[[2]string{r.Host, r.Component}] = r.Version
	}
	out := make([]Running, 0, len(wanted))
	for _, w := range wanted {
		if v := have[[2]string{w.Host, w.Component}]; v != "" {
			w.Version = v
		}
		out = append(out, w)
	}
	return out
}

// Irreversible lists the changes of an upgrade that a rollback does not take back: a
// newer minor version of the API server may store objects in a form that the older one
// cannot read, and etcd of a newer minor version changes its data.
func Irreversible(changes []VersionChange) []VersionChange {
	var out []VersionChange
	for _, c := range changes {
		if (c.Component == "kube-apiserver" || c.Component == "etcd") && c.Minor() {
			out = append(out, c)
		}
	}
	return out
}

// problemList collects problems; the same one of several hosts once.
type problemList struct {
	problems Problems
	seen     map[string]int
}

func (l *problemList) add(p Problem) {
	if i, again := l.seen[p.Message]; again {
		l.problems[i].More = append(l.problems[i].More, p.Subject)
		return
	}
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[p.Message] = len(l.problems)
	l.problems = append(l.problems, p)
}
