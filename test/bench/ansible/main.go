// Command ansible measures the time of the same tasks on the same hosts of a lab,
// executed by deployer, by ansible-core, by Ansible with the Mitogen strategy, and by
// one shell script for each host, which is as fast as it can be over OpenSSH. See
// docs/performance.md.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"deployer/test/bench/measure"
)

func main() {
	b := benchmark{out: os.Stdout, took: times{}, used: times{}}
	cmd := measure.Benchmark{Name: "ansible", Short: "The same tasks by deployer, Ansible, Mitogen and a shell script", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntVar(&b.rounds, "rounds", 3, "how often each is measured, in turns; the summary lines have the medians")
	f.IntVar(&b.hosts, "hosts", 10, "hosts of the lab")
	f.StringSliceVar(&b.tools, "tools", toolNames(), "what is measured")
	f.BoolVar(&b.keep, "keep", false, "leave the lab up, for a look at what was made")
	f.StringVar(&b.deployer, "deployer", "bin/deployer", "the program to measure")
	measure.Main(cmd)
}

// complete checks the flags, and that the programs exist.
func (b *benchmark) complete() error {
	if b.rounds < 1 || b.hosts < 1 {
		return fmt.Errorf("--rounds and --hosts must be at least 1")
	}
	for _, name := range b.tools {
		if !slices.Contains(toolNames(), name) {
			return fmt.Errorf("--tools %q: want some of %s", name, strings.Join(toolNames(), ", "))
		}
	}
	var err error
	if b.deployer, err = measure.Program(b.deployer); err != nil {
		return err
	}
	if _, err := exec.LookPath("ansible-playbook"); err != nil && b.measures(toolAnsible, toolMitogen) {
		return fmt.Errorf("%w: run `make bench-ansible`, which installs it", err)
	}
	return nil
}

// measures reports whether one of the tools was selected.
func (b *benchmark) measures(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(b.tools, n) })
}
