package cluster

import (
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// release is a minor version of Kubernetes with the versions that were tested with it.
type release struct {
	Minor    string // such as v1.36
	Default  string // the patch release that the catalogue holds
	Versions Versions
	// The oldest supported versions.
	MinEtcd, MinContainerd string
}

// releases returns the Kubernetes versions that deployer can install, newest
// first. The versions around Kubernetes must agree with the catalogue of
// package images.
//
// MinEtcd: kubeadm's MinExternalEtcdVersion, 3.5.24 in both minors
// (cmd/kubeadm/app/constants). MinContainerd: Kubernetes 1.36 is for containerd
// 2, and for 1.35 too deployer writes containerd's configuration in version 3,
// which containerd 2.0 introduced (containerd docs/cri/config.md).
func releases() []release {
	current := Versions{
		Etcd:       "v3.6.8",
		Containerd: "v2.2.1",
		Runc:       "v1.3.4",
		CNI:        "v1.9.1",
		CoreDNS:    "v1.14.7",
		Pause:      "3.10.1",
		Nginx:      "1.28.0",
		HAProxy:    "3.2.4",
		Calico:     "v3.31.7",
	}
	return []release{
		{Minor: "v1.36", Default: "v1.36.3", Versions: current, MinEtcd: "3.5.24", MinContainerd: "2.0.0"},
		{Minor: "v1.35", Default: "v1.35.4", Versions: current, MinEtcd: "3.5.24", MinContainerd: "2.0.0"},
	}
}

// releaseOf returns the release of a Kubernetes version, or the newest one for an
// unknown version.
func releaseOf(kubernetes string) release {
	all := releases()
	if i := slices.IndexFunc(all, func(r release) bool { return r.holds(kubernetes) }); i >= 0 {
		return all[i]
	}
	return all[0]
}

func (r release) holds(kubernetes string) bool {
	return kubernetes == r.Minor || strings.HasPrefix(kubernetes, r.Minor+".")
}

// SupportedKubernetes lists the minor versions that can be installed, newest
// first, such as v1.36.
func SupportedKubernetes() []string {
	var out []string
	for _, r := range releases() {
		out = append(out, r.Minor)
	}
	return out
}

func knownMinor(kubernetes string) bool {
	return slices.ContainsFunc(releases(), func(r release) bool { return r.holds(kubernetes) })
}

// atLeast reports whether version is min or newer. A version that does not
// parse is not; that it does not parse is reported elsewhere.
func atLeast(version, min string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	return !v.LessThan(semver.MustParse(min))
}
