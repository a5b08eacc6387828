// Command install measures the time from bare hosts to a cluster of three masters and
// two minions that are Ready: with deployer, and with kubeadm by hand, on hosts of
// the same kind of lab. See docs/performance.md.
//
// The kubeadm hosts get programs, images and routes beforehand; deployer installs all
// of them in its measured time. The benchmark therefore prints kubeadm's time twice:
// without that preparation, and with it, which is the time from bare hosts.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"deployer/images"
	"deployer/test/bench/measure"
)

func main() {
	b := benchmark{out: os.Stdout}
	cmd := measure.Benchmark{Name: "install", Short: "Time from bare hosts to all Ready: deployer, and kubeadm by hand", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntVar(&b.runs, "runs", 3, "how often each is measured, in turns; the summary line has the medians")
	f.StringVar(&b.only, "only", "", "measure one of them: deployer or kubeadm")
	f.BoolVar(&b.keep, "keep", false, "leave the labs up, for a look at what was made")
	f.StringVar(&b.deployer, "deployer", "bin/deployer", "the program to measure")
	f.StringVar(&b.artifacts, "artifacts", "", "directory of built artifacts (default: artifacts-src in deployer's cache)")
	f.StringVar(&b.logs, "logs", "", "directory for events and logs (default: bench-install in deployer's cache)")
	f.IntVar(&b.masters, "masters", 3, "masters of each cluster")
	f.IntVar(&b.minions, "minions", 2, "minions of each cluster")
	measure.Main(cmd)
}

// complete checks the flags and sets the defaults of the empty ones.
func (b *benchmark) complete() error {
	switch b.only {
	case "", toolDeployer, toolKubeadm:
	default:
		return fmt.Errorf("--only %q: want %s or %s", b.only, toolDeployer, toolKubeadm)
	}
	if b.runs < 1 || b.masters < 1 || b.minions < 0 {
		return fmt.Errorf("--runs and --masters must be at least 1, --minions at least 0")
	}
	root, err := images.DefaultRoot()
	if err != nil {
		return err
	}
	b.cache = root
	if b.artifacts == "" {
		b.artifacts = filepath.Join(root, "artifacts-src")
	}
	if b.logs == "" {
		b.logs = filepath.Join(root, "bench-install")
	}
	if b.deployer, err = measure.Program(b.deployer); err != nil {
		return err
	}
	return os.MkdirAll(b.logs, 0o755)
}
