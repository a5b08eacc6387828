package inventory

import (
	"strings"
	"testing"
)

func TestDistribution(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Distribution{
		"":                                      {Peers: "auto", MinHosts: 30, Port: 7475, BytesPerSecond: 100 << 20},
		"distribution: {peers: on, port: 9000}": {Peers: "on", MinHosts: 30, Port: 9000, BytesPerSecond: 100 << 20},
		"distribution: {peers: off, min_hosts: 5, bytes_per_second: 10485760}": {Peers: "off", MinHosts: 5, Port: 7475, BytesPerSecond: 10 << 20},
	} {
		inv, err := Parse("i.yaml", []byte("hosts: {m1: {address: 10.0.0.1}}\n"+text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if inv.Distribution != want {
			t.Errorf("%s: %+v, want %+v", text, inv.Distribution, want)
		}
	}
	for text, want := range map[string]string{
		"{peers: maybe}":           "want one of auto, on, off",
		"{port: 80}":               "i.yaml:2:22: distribution.port is 80, want a port from 1024 to 65535",
		"{port: 70000}":            "i.yaml:2:22: distribution.port is 70000",
		"{min_hosts: 1}":           "i.yaml:2:27: distribution.min_hosts is 1, want at least 2",
		"{bytes_per_second: 1000}": "i.yaml:2:34: distribution.bytes_per_second is 1000, want at least 1048576",
		"{ports: 80}":              `did you mean "port"?`,
	} {
		_, err := Parse("i.yaml", []byte("hosts: {m1: {address: 10.0.0.1}}\ndistribution: "+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestDistributionEnabled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peers string
		hosts int
		want  bool
	}{{"auto", 29, false}, {"auto", 30, true}, {"on", 2, true}, {"on", 1, false}, {"off", 1000, false}} {
		if got := (Distribution{Peers: c.peers}).withDefaults().Enabled(c.hosts); got != c.want {
			t.Errorf("%s with %d hosts: %t", c.peers, c.hosts, got)
		}
	}
}
