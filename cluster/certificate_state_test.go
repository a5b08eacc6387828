package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

func TestSortCertificates(t *testing.T) {
	t.Parallel()
	c := &cluster.Cluster{Order: []string{"m1", "n1"}}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return now.Add(time.Duration(days) * 24 * time.Hour) }
	list := []cluster.CertificateState{
		{Host: "n1", Name: "ok, late", State: cluster.CertificateOK, Expires: at(300)},
		{Host: "n1", Name: "ok, soon", State: cluster.CertificateOK, Expires: at(31)},
		{Host: "n1", Name: "ok, late", Path: "/b", State: cluster.CertificateOK, Expires: at(300)},
		{Host: "m1", Name: "ok, late", State: cluster.CertificateOK, Expires: at(300)},
		{Host: "m1", Name: "expiring", State: cluster.CertificateExpiring, Expires: at(5)},
		{Host: "n1", Name: "missing", State: cluster.CertificateMissing},
		{Host: "n1", Name: "damaged", State: "damaged", Expires: at(20)},
		{Host: "m1", Name: "expired", State: cluster.CertificateExpired, Expires: at(-1)},
		{Host: "n1", Name: "expired", State: cluster.CertificateExpired, Expires: at(-40)},
	}
	cluster.SortCertificates(c, list)
	var got []string
	for _, s := range list {
		got = append(got, s.Host+" "+s.Name)
	}
	want := []string{"n1 expired", "m1 expired", "n1 missing", "n1 damaged", "m1 expiring", "n1 ok, soon", "m1 ok, late", "n1 ok, late", "n1 ok, late"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteCertificateState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	c := &cluster.Cluster{Nodes: map[string]cluster.Node{"n1": {Certificates: []cluster.Certificate{
		{Name: "kubelet-client", Authority: cluster.AuthorityCluster, CertPath: "/c.crt", Rotated: "/c.pem"},
	}}}}
	for name, tt := range map[string]struct {
		given, want cluster.CertificateState
	}{
		"leaf":      {cluster.CertificateState{Name: "kubelet-client", Path: "/c.crt"}, cluster.CertificateState{Name: "kubelet-client", Path: "/c.crt", Authority: "cluster"}},
		"rotated":   {cluster.CertificateState{Name: "kubelet-client", Path: "/c.pem"}, cluster.CertificateState{Name: "kubelet-client, rotated", Path: "/c.pem", Authority: "cluster"}},
		"authority": {cluster.CertificateState{Path: "/etc/kubernetes/pki/etcd/ca.crt"}, cluster.CertificateState{Name: "authority etcd", Path: "/etc/kubernetes/pki/etcd/ca.crt", Authority: "etcd"}},
		"days": {cluster.CertificateState{Path: "/c.crt", Expires: now.Add(47 * time.Hour)},
			cluster.CertificateState{Path: "/c.crt", Authority: "cluster", Expires: now.Add(47 * time.Hour), DaysLeft: 1}},
		"days since": {cluster.CertificateState{Path: "/c.crt", Expires: now.Add(-47 * time.Hour)},
			cluster.CertificateState{Path: "/c.crt", Authority: "cluster", Expires: now.Add(-47 * time.Hour), DaysLeft: -1}},
	} {
		tt.given.Host, tt.want.Host = "n1", "n1"
		if diff := cmp.Diff(tt.want, tt.given.Complete(c, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestForeignAuthorities: a host is compared with the first master. During a rotation they
// have one certificate in common.
func TestForeignAuthorities(t *testing.T) {
	t.Parallel()
	c := &cluster.Cluster{Nodes: map[string]cluster.Node{"m1": {IsMaster: true}, "n1": {}, "n2": {}, "n3": {}}}
	row := func(host, sum string) cluster.CertificateState {
		return cluster.CertificateState{Host: host, Name: "authority cluster", Path: "/ca.crt", State: cluster.CertificateOK, Fingerprint: sum}
	}
	list := cluster.ForeignAuthorities(c, []cluster.CertificateState{
		row("n1", "old"), row("m1", "new"), row("m1", "old"), row("n2", "older"), row("n3", "new"), row("n3", "old"),
	})
	var got []string
	for _, s := range list {
		got = append(got, s.Host+" "+s.Fingerprint+" "+s.Name+": "+s.State)
	}
	want := []string{
		"n1 old authority cluster: ok",
		"m1 new authority cluster: ok", "m1 old authority cluster, also trusted: ok",
		"n2 older authority cluster: authority",
		"n3 new authority cluster: ok", "n3 old authority cluster, also trusted: ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
