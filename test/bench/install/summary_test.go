package main

import (
	"testing"
	"time"
)

func TestClosingLine(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		sums sums
		want string
	}{
		{sums{[]time.Duration{27 * s}, []time.Duration{54 * s}, []time.Duration{90 * s}, []time.Duration{80 * s}},
			"install deployer_s=27.0 kubeadm_s=54.0 kubeadm_bare_s=90.0 ratio=0.50 ratio_bare=0.30 deployer_cpu_s=80.0"},
		{sums{deployer: []time.Duration{40 * s, 20 * s, 30 * s}, kubeadm: []time.Duration{60 * s, 50 * s}},
			"install deployer_s=30.0 kubeadm_s=55.0 kubeadm_bare_s=- ratio=0.55 ratio_bare=- deployer_cpu_s=-"},
		{sums{deployer: []time.Duration{20 * s}}, "install deployer_s=20.0 kubeadm_s=- kubeadm_bare_s=- ratio=- ratio_bare=- deployer_cpu_s=-"},
	} {
		if got := c.sums.summaryLine(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestParseProcess(t *testing.T) {
	name, took, ok := parseProcess("71 (tmux: server) S 1 71 71 0 -1 4194560 12 0 0 0 100 20 3 4 20 0 1 0 8 0 0")
	if !ok || name != "tmux: server" || took != 1270*time.Millisecond {
		t.Errorf("%q %s %v", name, took, ok)
	}
	for _, line := range []string{"", "71 (cut", "71 (short) S 1"} {
		if _, _, ok := parseProcess(line); ok {
			t.Errorf("%q was taken for a process", line)
		}
	}
}
