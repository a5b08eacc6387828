package main

import (
	"strings"
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

func TestParseBusy(t *testing.T) {
	got := parseBusy("cpu  100 20 30 4000 500 6 7 8 90 10")
	if want := 1710 * time.Millisecond; got != want {
		t.Errorf("got %s, want %s: without idle, iowait and guests", got, want)
	}
}

func TestParseUsage(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5880437523\n": 5880437523 * time.Nanosecond,
		"usage_usec 5880437\nuser_usec 4000000\nsystem_usec 1880437\n": 5880437 * time.Microsecond,
	} {
		got, err := parseUsage(text)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestOtherWorkOnTheMachineIsTold(t *testing.T) {
	quiet := usage{machine: 100 * time.Second, own: 95 * time.Second}
	if got := quiet.String(); got != "processor time 95.0 s" {
		t.Error(got)
	}
	loud := usage{machine: 100 * time.Second, own: 60 * time.Second}
	if got := loud.String(); !strings.Contains(got, "40.0 s of other work") {
		t.Error(got)
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
