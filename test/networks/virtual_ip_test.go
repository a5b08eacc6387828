//go:build lab

package networks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/test/figures"
	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// The virtual address of the test, which no host of the lab has.
const virtualAddress = "172.31.0.200"

// maxFailover is the longest time without a write or an answer.
const maxFailover = 3 * time.Second

// maxOverlap is the longest time for which two hosts have the address while it moves
// (docs/guides/virtual-address.md). While it stays, no second host may have it at all.
const maxOverlap = time.Second

// TestVirtualIP: masters, and then two load balancers, hold an address of the API. Its host is stopped
// in several ways while a client writes through the address every 50 ms, and no two hosts ever have
// the address at one time, whichever links between them are cut.
func TestVirtualIP(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Proxies: 2})
	proxies := map[string]any{}
	for _, host := range []string{"p1", "p2"} {
		proxies[host] = map[string]any{"address": s.Address(host)}
	}
	s.Edit(func(inv map[string]any) {
		for host := range proxies {
			delete(harness.Section(inv, "hosts"), host)
		}
		inv["roles"] = map[string]any{"master": []any{"m1", "m2", "m3"}}
		harness.Section(inv, "cluster", "api")["virtual_ip"] = map[string]any{"address": virtualAddress}
	})
	// The address of the controller is no free one.
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "api", "virtual_ip")["address"] = "172.31.0.1"
	})
	o := s.Deployer("install")
	if o.Code == 0 {
		t.Error("the address of a host outside of the cluster was accepted")
	}
	s.RequireTexts(o.All(), "a host outside of the cluster has the address")
	if found := s.Shell("m1", "ls -d /etc/kubernetes /etc/deployer 2>/dev/null || true"); found != "" {
		t.Errorf("the address was refused, and m1 has %s", found)
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "api", "virtual_ip")["address"] = virtualAddress
	})
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireTexts(s.Must("kubeconfig").Stdout, "server: https://"+virtualAddress+":6443")
	s.Must("verify")
	startPods(s)

	v := &virtual{Site: s, holders: []string{"m1", "m2", "m3"}, watch: watchHolders(s, []string{"m1", "m2", "m3", "p1", "p2"})}
	v.moves("keepalived stops", func(h string) { s.Shell(h, "systemctl stop deployer-keepalived") },
		func(h string) { s.Shell(h, "systemctl start deployer-keepalived") })
	v.moves("keepalived is killed", func(h string) {
		s.Shell(h, "systemctl kill -s KILL deployer-keepalived; systemctl stop deployer-keepalived")
	},
		func(h string) { s.Shell(h, "systemctl start deployer-keepalived") })
	v.moves("the witness stops", func(h string) { s.Shell(h, "systemctl stop deployer-virtual-ip") },
		func(h string) { s.Shell(h, "systemctl start deployer-virtual-ip") })
	v.moves("the API server is killed", func(h string) { s.Shell(h, killAPIServer) }, nil)
	v.moves("the API server stops", func(h string) { s.Shell(h, "mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/") },
		func(h string) { s.Shell(h, "mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/") })
	v.moves("the cable is pulled", func(h string) { v.must(s.Partition(t.Context(), h)) }, func(h string) { v.must(s.Heal(t.Context(), h)) })
	v.moves("the others are out of reach, clients are not", func(h string) {
		for _, o := range v.others(h) {
			v.cut(h, o)
		}
	}, v.healAll)
	v.moves("the power fails", func(h string) { v.must(s.Kill(t.Context(), h)) }, func(h string) { v.must(s.Start(t.Context(), h)) })

	v.stays("the link to one other host is cut", func(h string) {
		other := v.others(h)[0]
		v.cut(h, other)
		// It starts anew, and sees no advertisement and no answer of the host with the address.
		s.Shell(other, "systemctl restart deployer-virtual-ip deployer-keepalived")
	}, v.healAll)
	v.stays("VRRP is filtered", func(h string) {
		for _, o := range v.others(h) {
			s.Shell(o, "nft 'add table inet filtered; add chain inet filtered i { type filter hook input priority 0; }; add rule inet filtered i ip protocol 112 drop'")
			s.Shell(o, "systemctl restart deployer-keepalived")
		}
	}, func(h string) {
		for _, o := range v.others(h) {
			s.Shell(o, "nft delete table inet filtered")
		}
	})
	v.stays("another master has no API server", func(h string) {
		s.Shell(v.others(h)[0], killAPIServer)
	}, func(string) {})
	s.Must("verify")
	v.names("no API server accepts connections")

	// Load balancers take the address over from the masters.
	s.Edit(func(inv map[string]any) {
		for host, settings := range proxies {
			harness.Section(inv, "hosts")[host] = settings
		}
		inv["roles"] = map[string]any{"master": []any{"m1", "m2", "m3"}, "proxy": []any{"p1", "p2"}}
	})
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	v.holders = []string{"p1", "p2"}
	s.Must("verify")
	// The address is on hosts without pods now: pods of the masters must not notice when it moves.
	pings := startMesh(s, []string{"m1", "m2", "m3"})
	pings.require(t, "before the address moves between load balancers")
	if left := s.Shell("m1", "ls /etc/deployer; systemctl list-units --all --plain 'deployer-keepalived*'"); strings.Contains(left, "keepalived") {
		t.Errorf("m1 does not hold the address any more, and has\n%s", left)
	}
	v.moves("the load balancer stops", func(h string) { s.Shell(h, "systemctl stop deployer-proxy") },
		func(h string) { s.Shell(h, "systemctl start deployer-proxy") })
	v.moves("the power of a load balancer fails", func(h string) { v.must(s.Kill(t.Context(), h)) }, func(h string) { v.must(s.Start(t.Context(), h)) })
	v.stays("the link between the load balancers is cut", func(h string) { v.cut(h, v.others(h)[0]) }, v.healAll)
	s.Must("verify")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings between pods were lost while the address moved, want none of at least 1000: %v", lost, sent, errors.Join(pings.errors...))
	}

	// Without the setting nothing of it is left.
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "api"), "virtual_ip") })
	s.Must("install")
	for _, host := range []string{"m1", "p1", "p2"} {
		if left := s.Shell(host, "ls /etc/deployer; systemctl list-units --all --plain 'deployer-*'; ip -o address show to "+virtualAddress); strings.Contains(left, "keepalived") || strings.Contains(left, "virtual-ip") || strings.Contains(left, virtualAddress) {
			t.Errorf("there is no virtual address any more, and %s has\n%s", host, left)
		}
	}
	s.Must("verify")
	v.watch.stop()
	two, _ := v.watch.overlap()
	figures.Record(figures.VIPFailover, v.longest.Seconds())
	fmt.Printf("vip_failover_s=%.2f vip_write_gap_s=%.2f two_holders_s=%.2f\n", v.longest.Seconds(), v.longestWrite.Seconds(), two.Seconds())
}

// killAPIServer ends the API server of a host without its delay for clients; the kubelet starts it again.
const killAPIServer = "pkill -KILL -x kube-apiserver"

// virtual is the cluster with a virtual address.
type virtual struct {
	*harness.Site
	holders               []string // hosts that may have the address
	watch                 *holderWatch
	longest, longestWrite time.Duration
}

func (v *virtual) must(err error) {
	v.T.Helper()
	if err != nil {
		v.T.Fatal(err)
	}
}

// others returns the other hosts that may have the address.
func (v *virtual) others(host string) []string {
	return slices.DeleteFunc(slices.Clone(v.holders), func(h string) bool { return h == host })
}

// moves breaks the host that has the address while a client uses it, and requires that another host
// gets the address in time.
func (v *virtual) moves(name string, breakIt, mend func(host string)) {
	v.T.Helper()
	already, _ := v.watch.overlap()
	before := v.holder()
	v.leadElsewhere(before)
	c := startClient(v)
	breakIt(before)
	time.Sleep(6 * time.Second)
	answers, writes := c.stop()
	if mend != nil {
		mend(before)
	}
	after := v.holder()
	if after == before {
		v.T.Errorf("%s: %s still has the address", name, before)
	}
	v.record(name, before+" to "+after, answers, writes)
	if two, when := v.watch.overlap(); two-already > maxOverlap {
		v.T.Errorf("%s: two hosts had the address for %s, want at most %s: %s", name, two-already, maxOverlap, when)
	}
	v.healthy()
}

// stays does something that must not move the address.
func (v *virtual) stays(name string, do, mend func(host string)) {
	v.T.Helper()
	already, _ := v.watch.overlap()
	before := v.holder()
	v.leadElsewhere(v.others(before)[0]) // not affected below
	c := startClient(v)
	do(before)
	time.Sleep(8 * time.Second)
	answers, writes := c.stop()
	after := v.holder()
	mend(before)
	if after != before {
		v.T.Errorf("%s: the address moved from %s to %s", name, before, after)
	}
	v.record(name, "stays on "+after, answers, writes)
	if two, when := v.watch.overlap(); two > already {
		v.T.Errorf("%s: two hosts had the address for %s: %s", name, two-already, when)
	}
	v.healthy()
}

func (v *virtual) record(name, where string, answers, writes time.Duration) {
	v.T.Helper()
	fmt.Printf("virtual address: %s: %s, vip_failover_s=%.2f vip_write_gap_s=%.2f\n", name, where, answers.Seconds(), writes.Seconds())
	v.longest, v.longestWrite = max(v.longest, answers), max(v.longestWrite, writes)
	if answers > maxFailover || writes > maxFailover {
		v.T.Errorf("%s: no answer for %s, no write for %s, want at most %s", name, answers, writes, maxFailover)
	}
}

// names checks that status names the cause when no host may have the address.
func (v *virtual) names(cause string) {
	v.T.Helper()
	const away = "for f in /etc/kubernetes/manifests/kube-apiserver.yaml; do mv $f /root/; done; pkill -KILL -x kube-apiserver"
	for _, h := range v.holders {
		v.Shell(h, away)
	}
	v.Eventually(30*time.Second, "the address is gone", func() error {
		if h := v.find(); h != "" {
			return fmt.Errorf("%s has it", h)
		}
		return nil
	})
	o := v.Deployer("status")
	v.RequireTexts(o.All(), "no host has "+virtualAddress, cause)
	for _, h := range v.holders {
		v.Shell(h, "mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/")
	}
	v.healthy()
}

// holder returns the host that has the address.
func (v *virtual) holder() string {
	v.T.Helper()
	holder := ""
	v.Eventually(20*time.Second, "a host has the address", func() error {
		if holder = v.find(); holder == "" {
			return fmt.Errorf("none has it")
		}
		return nil
	})
	return holder
}

// find returns the host that has the address; empty for none.
func (v *virtual) find() string {
	for _, h := range v.holders {
		if hasVirtual(v.Site, h) {
			return h
		}
	}
	return ""
}

// healthy waits until every host could hold the address: the next scenario breaks another one.
func (v *virtual) healthy() {
	v.T.Helper()
	v.Eventually(3*time.Minute, "all hosts are ready", func() error {
		for _, h := range []string{"m1", "m2", "m3"} {
			if out, err := v.SSH(v.T.Context(), h, "curl -sk --max-time 2 https://127.0.0.1:6443/readyz"); err != nil || out != "ok" {
				return errors.Join(fmt.Errorf("%s: %q", h, out), err)
			}
		}
		for _, h := range v.holders {
			if out, err := v.SSH(v.T.Context(), h, "systemctl is-active deployer-keepalived deployer-virtual-ip | sort -u"); err != nil || strings.TrimSpace(out) != "active" {
				return errors.Join(fmt.Errorf("%s: %q", h, out), err)
			}
		}
		return nil
	})
	time.Sleep(3 * time.Second) // the checks of the witnesses
}

// leadElsewhere moves the leadership of etcd off a host: an election stops all writes for longer than
// the address needs to move.
func (v *virtual) leadElsewhere(host string) {
	v.T.Helper()
	const etcdctl = "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "
	if !strings.HasPrefix(host, "m") {
		return
	}
	to := map[string]string{"m1": "m2", "m2": "m3", "m3": "m1"}[host]
	id := v.Shell(host, etcdctl+"member list | grep ', "+to+",' | cut -d, -f1")
	v.Shell(host, etcdctl+"move-leader "+id+" 2>/dev/null || true") // it fails where the host does not lead
}

// cut drops all frames between two hosts.
func (v *virtual) cut(a, b string) {
	v.T.Helper()
	mac := func(h string) string { return v.Shell(h, "cat /sys/class/net/eth0/address") }
	v.drop(a, mac(b))
	v.drop(b, mac(a))
}

func (v *virtual) drop(host, mac string) {
	v.T.Helper()
	v.Shell(host, "nft 'add table netdev cut; add chain netdev cut i { type filter hook ingress device eth0 priority 0; }; add rule netdev cut i ether saddr "+mac+" drop'")
}

// healAll ends all cuts.
func (v *virtual) healAll(string) {
	v.T.Helper()
	for _, h := range v.holders {
		v.Shell(h, "nft delete table netdev cut 2>/dev/null || true")
	}
}
