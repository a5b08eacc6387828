package cluster

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

var imageTags = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// The codes of problems with versions.
const (
	codeBadVersion     = "bad-version"
	codeUnknownVersion = "unknown-version"
	codeSkew           = "version-skew"
)

// checkVersions checks the versions of the whole cluster: Kubernetes from the table of
// releases, the rest within the limits of that release. See checkVersionKey for those of
// parts of the cluster.
func (c *checker) checkVersions() {
	c.checkKubernetesVersion("cluster.kubernetes", c.spec.Kubernetes)
	for _, p := range []struct{ key, value string }{
		{"etcd", c.spec.Versions.Etcd}, {"containerd", c.spec.Versions.Containerd},
		{"cni", c.spec.Versions.CNI}, {"coredns", c.spec.Versions.CoreDNS},
		{"calico", c.spec.Versions.Calico},
	} {
		c.checkNumbers("cluster.versions."+p.key, p.value, "v1.2.3")
	}
	// No rule compares these versions; the builds of distributions have their own form, such
	// as 1.1.5-1.deb12u1.
	for _, p := range []struct{ key, value string }{
		{"runc", c.spec.Versions.Runc}, {"pause", c.spec.Versions.Pause}, {"nginx", c.spec.Versions.Nginx}, {"haproxy", c.spec.Versions.HAProxy},
	} {
		if !imageTags.MatchString(p.value) {
			c.add(codeBadVersion, "cluster.versions."+p.key, "%q is not a version or tag such as 1.28.0", p.value)
		}
	}
	c.checkCompanion("cluster.versions.etcd", componentEtcd, c.spec.Versions.Etcd)
	c.checkCompanion("cluster.versions.containerd", componentContainerd, c.spec.Versions.Containerd)
}

// checkNumbers reports whether a version has the form of an example, and adds a problem
// when it has not.
func (c *checker) checkNumbers(key, version, example string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil || !strings.HasPrefix(version, "v") {
		c.add(codeBadVersion, key, "%q is not a version such as %s", version, example)
		return false
	}
	return true
}

func (c *checker) checkKubernetesVersion(key, version string) {
	if !c.checkNumbers(key, version, DefaultKubernetes) || c.spec.AllowUntested {
		return
	}
	switch parsed := semver.MustParse(version); {
	case !knownMinor(version):
		c.add(codeUnknownVersion, key, "%s is not among the supported versions: %s", version, strings.Join(SupportedKubernetes(), ", "))
	case parsed.Prerelease() != "":
		c.add(codeUnknownVersion, key, "%s is a pre-release: set allow_untested_versions: true to try it", version)
	}
}

// checkCompanion refuses versions of etcd and containerd that the Kubernetes version does
// not support.
func (c *checker) checkCompanion(key, component, version string) {
	r := releaseOf(c.spec.Kubernetes)
	min := map[string]string{componentEtcd: r.MinEtcd, componentContainerd: r.MinContainerd}[component]
	if _, err := semver.NewVersion(version); err == nil && min != "" && !atLeast(version, min) && !c.spec.AllowUntested {
		c.add(codeSkew, key, "%s is too old for Kubernetes %s: use v%s or newer", version, c.spec.Kubernetes, min)
	}
}

// checkVersionKey checks overrides.COMPONENT.version of the cluster or of a host.
func (c *checker) checkVersionKey(where, component string, settings map[string]any) {
	value, has := settings[versionKey]
	if !has || value == nil {
		return
	}
	key := where + "." + versionKey
	version, isText := value.(string)
	switch {
	case !isText:
		c.add(codeBadVersion, key, "%v is not a version such as %s: write a text", value, DefaultKubernetes)
	case component == componentEtcd || component == componentContainerd:
		if c.checkNumbers(key, version, "v1.2.3") {
			c.checkCompanion(key, component, version)
		}
	default:
		c.checkKubernetesVersion(key, version)
	}
}

// checkWantedSkew checks the version skew policy over the versions of all hosts, unless
// one of them is no version at all.
func (c *checker) checkWantedSkew() {
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Code == codeBadVersion || p.Code == codeUnknownVersion }) {
		return
	}
	all := versionSet(c.spec)
	var wanted []Running
	for _, h := range c.hosts {
		n := Node{RunsAPIServer: h.has(RoleMaster), IsNode: h.isNode(), IsEtcd: slices.Contains(c.place.etcd, h.Name)}
		wanted = append(wanted, running(h.Name, nodeVersions(all, n, mergeLayers(c.spec.Overrides, h.Overrides)))...)
	}
	for _, p := range CheckSkew(wanted) {
		p.Subject = c.versionSubject(p)
		c.problems = append(c.problems, p)
	}
}

// versionSubject returns the key that sets the version of a problem: that of the host, or
// of the cluster. A version by default has none.
func (c *checker) versionSubject(p Problem) string {
	key := componentKey(p.Component)
	i := slices.IndexFunc(c.hosts, func(h Host) bool { return h.Name == p.Subject })
	if i < 0 {
		return p.Subject
	}
	if section(c.hosts[i].Overrides, key)[versionKey] != nil {
		return p.Subject + ": overrides." + key + "." + versionKey
	}
	if section(c.spec.Overrides, key)[versionKey] != nil {
		return "cluster.overrides." + key + "." + versionKey
	}
	return p.Subject
}
