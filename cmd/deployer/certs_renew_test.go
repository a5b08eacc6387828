package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCertsRenewSelection: the flags become variables of the playbook, and flags that
// would renew forever or by mistake are refused before a host is contacted.
func TestCertsRenewSelection(t *testing.T) {
	c := newCertifiedSite(t)
	c.fleet.Hosts[0].Stop()
	given, err := (&runOptions{}).resolve()
	if err != nil {
		t.Fatal(err)
	}
	given.Inventory = "inventory.yaml"
	r, err := newRunner(env{}).CertsRenew(given)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		o     renewOptions
		hosts []string
		want  map[string]any
	}{
		"default": {want: map[string]any{"certs_renew_before": "720h0m0s", "certs_issued_before": "", "certs_hosts": []any{}}},
		"within":  {o: renewOptions{within: 2160 * time.Hour}, want: map[string]any{"certs_renew_before": "2160h0m0s", "certs_issued_before": "", "certs_hosts": []any{}}},
		// Certificates begin 5 minutes before they are signed.
		"all on a host": {o: renewOptions{all: true}, hosts: []string{"n002"},
			want: map[string]any{"certs_renew_before": "720h0m0s", "certs_issued_before": "2026-11-23T11:55:00Z", "certs_hosts": []any{"n002"}}},
	} {
		got, err := tt.o.variables(r, tt.hosts, now)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for _, tt := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"--within", "8760h"}, "use --all"},
		{exitUsage, []string{"--within", "1h", "--all"}, "exclude each other"},
		{exitUsage, []string{"n9"}, "n9"},
		{exitRefused, nil, "confirm with --yes"},
	} {
		_, stderr := c.deployer(tt.code, append([]string{"certs", "renew"}, tt.args...)...)
		if !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: %s", tt.args, stderr)
		}
	}
}
