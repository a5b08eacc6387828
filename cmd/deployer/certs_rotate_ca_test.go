package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCertsRotateCASelection: the flags become variables of the playbook, and wrong ones
// are refused before a host is contacted.
func TestCertsRotateCASelection(t *testing.T) {
	all := []any{"cluster", "etcd", "front-proxy", "etcd-calico"}
	for name, tt := range map[string]struct {
		o    authoritiesOption
		want map[string]any
	}{
		"default":                     {want: map[string]any{"ca_authorities": all, "ca_stop_after": ""}},
		"one authority, with --again": {o: authoritiesOption{names: []string{"etcd"}, again: true}, want: map[string]any{"ca_authorities": []any{"etcd"}, "ca_stop_after": "", "ca_min_age": "0s"}},
		"--stop-after":                {o: authoritiesOption{names: []string{"front-proxy", "cluster", "cluster"}, stopAfter: "trust"}, want: map[string]any{"ca_authorities": []any{"cluster", "front-proxy"}, "ca_stop_after": "trust"}},
	} {
		got, err := tt.o.variables()
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	c := newCertifiedSite(t)
	for _, h := range c.fleet.Hosts {
		h.Stop()
	}
	for _, tt := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"--authority", "kubernetes"}, `--authority is "kubernetes": write cluster, etcd, front-proxy, etcd-calico`},
		{exitUsage, []string{"--stop-after", "drop"}, `--stop-after is "drop": write trust or sign`},
		{exitRefused, nil, "confirm with --yes"},
	} {
		_, stderr := c.deployer(tt.code, append([]string{"certs", "rotate-ca"}, tt.args...)...)
		if !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: %s", tt.args, stderr)
		}
	}
}
