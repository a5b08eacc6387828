package main

import (
	"testing"
	"time"
)

func TestClosingLine(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		deployer, kubeadm []time.Duration
		want              string
	}{
		{[]time.Duration{27 * s}, []time.Duration{54 * s}, "install deployer_s=27.0 kubeadm_s=54.0 ratio=0.50"},
		{[]time.Duration{40 * s, 20 * s, 30 * s}, []time.Duration{60 * s, 50 * s}, "install deployer_s=30.0 kubeadm_s=55.0 ratio=0.55"},
		{[]time.Duration{20 * s}, nil, "install deployer_s=20.0 kubeadm_s=- ratio=-"},
		{nil, []time.Duration{54200 * time.Millisecond}, "install deployer_s=- kubeadm_s=54.2 ratio=-"},
	} {
		if got := closingLine(c.deployer, c.kubeadm); got != c.want {
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
