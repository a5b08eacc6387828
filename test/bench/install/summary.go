package main

import (
	"fmt"
	"time"

	"deployer/test/bench/measure"
)

// sums are the figures of all rounds. A kubeadm cluster has two times: without the
// preparation of its hosts, and with it.
type sums struct {
	deployer, kubeadm, bare []time.Duration
	cpu                     []time.Duration // processor time of deployer's runs: controller and all hosts
}

func (s *sums) add(tool string, m measurement) {
	if tool == toolKubeadm {
		s.kubeadm, s.bare = append(s.kubeadm, m.took), append(s.bare, m.prepared+m.took)
		return
	}
	s.deployer, s.cpu = append(s.deployer, m.took), append(s.cpu, m.usage.Own)
}

// summaryLine returns a line for scripts to parse: medians in seconds and their
// ratios, "-" without a measurement. ratio excludes kubeadm's preparation, ratio_bare
// includes it.
func (s *sums) summaryLine() string {
	return fmt.Sprintf("install deployer_s=%s kubeadm_s=%s kubeadm_bare_s=%s ratio=%s ratio_bare=%s deployer_cpu_s=%s",
		seconds(s.deployer), seconds(s.kubeadm), seconds(s.bare), ratio(s.deployer, s.kubeadm), ratio(s.deployer, s.bare), seconds(s.cpu))
}

func ratio(a, b []time.Duration) string {
	if len(a) == 0 || len(b) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", measure.Median(a).Seconds()/measure.Median(b).Seconds())
}

func seconds(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", measure.Median(all).Seconds())
}
