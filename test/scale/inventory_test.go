package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRooted(t *testing.T) {
	got := rooted([]string{
		"--client-ca-file=/etc/kubernetes/pki/ca.crt", "--etcd-servers-overrides=/events#https://10.99.0.11:2479",
		"--data-dir=/var/lib/etcd", "--v=2",
	}, "/tmp/m1")
	want := []string{
		"--client-ca-file=/tmp/m1/etc/kubernetes/pki/ca.crt", "--etcd-servers-overrides=/events#https://10.99.0.11:2479",
		"--data-dir=/tmp/m1/var/lib/etcd", "--v=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSiteHasTheProfileOfThousandNodes(t *testing.T) {
	c, err := resolve(settings{proxy: "nginx", timeout: 3 * time.Second, inflight: [2]int{400, 200}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Size.Name != "xlarge" || c.EtcdEvents == nil {
		t.Errorf("profile %s, etcd of events %v", c.Size.Name, c.EtcdEvents)
	}
	flags := strings.Join(c.Nodes["m1"].Args.APIServer, " ")
	for _, want := range []string{"--max-requests-inflight=400", "--max-mutating-requests-inflight=200", "--etcd-servers-overrides=/events#", "--goaway-chance=0.001"} {
		if !strings.Contains(flags, want) {
			t.Errorf("flags of the API server lack %s: %s", want, flags)
		}
	}
	text, err := proxyConfig(c, "p1")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "proxy_timeout 3s;") || !strings.Contains(text, "listen 10.99.0.14:6443") {
		t.Error(text)
	}
}
