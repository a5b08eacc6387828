package observe

import (
	"cmp"
	"slices"
	"strings"

	"deployer/engine/agent/statedir"
	"deployer/engine/agent/undo"
	"deployer/keeper/config"
	"deployer/keeper/world"
)

// driftDirs are the directories in which nobody but deployer changes what it wrote. Files elsewhere,
// such as those of users' playbooks in home directories, may change.
func driftDirs() []string {
	return []string{
		"/etc/cni/", "/etc/containerd/", "/etc/deployer/", "/etc/etcd/", "/etc/kubernetes/", "/etc/modules-load.d/", "/etc/sysctl.d/", "/etc/systemd/system/",
		"/opt/cni/bin/", "/usr/local/bin/",
	}
}

// Drift returns the files of this host that are not as the last run of deployer left them, by path. root is
// before every path; empty except in tests.
func Drift(stateDir, root string, own config.Own) ([]world.Drift, error) {
	left, err := undo.LeftFiles(statedir.Open(stateDir))
	if err != nil {
		return nil, err
	}
	for _, w := range own.Certificates { // they are renewed without a run
		delete(left, w.CertPath)
		delete(left, w.KeyPath)
		delete(left, w.Rotated)
	}
	var out []world.Drift
	for path, l := range left {
		if !slices.ContainsFunc(driftDirs(), func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			continue
		}
		difference, err := l.Difference(cmp.Or(root, "/"))
		if err != nil {
			return nil, err
		}
		if difference != "" {
			out = append(out, world.Drift{Path: path, Difference: difference, Run: l.Run})
		}
	}
	slices.SortFunc(out, func(a, b world.Drift) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}
