//go:build lab

package networks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestHostEndpoints closes all masters by host endpoints of Calico that no policy opens. Calico's failsafe
// ports leave the cluster as it is: API servers reach kubelets, minions and clients the API, also through
// load balancers on masters, and witnesses each other, so that a virtual address moves. Health checks on
// the loopback interface, which the endpoints include, succeed.
func TestHostEndpoints(t *testing.T) {
	scenario(t)
	s := harness.New(t, "endpoints", plan.Spec{Masters: 3, Minions: 1})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		harness.Section(inv, "cluster", "api")["virtual_ip"] = map[string]any{"address": virtualAddress}
		inv["roles"] = map[string]any{"master": []any{"m1", "m2", "m3"}, "minion": []any{"n1"}, "proxy": []any{"m1", "m2"}}
	})
	s.Must("install")
	startPods(s)
	v := &virtual{Site: s, holders: []string{"m1", "m2"}, watch: watchHolders(s, []string{"m1", "m2", "m3"})}
	v.holder()
	closeHosts(s, []string{"m1", "m2", "m3"})

	for _, master := range []string{"m1", "m2", "m3"} {
		ports := []int{22, 2379, 2380, 6443, 10250, 8402}
		if master != "m3" {
			ports = append(ports, 8443) // the load balancer, beside the API server
		}
		for _, port := range ports {
			if _, err := s.SSH(t.Context(), "n1", tcp(s.Address(master), port)); err != nil {
				t.Errorf("n1 does not reach the failsafe port %d of %s: %v", port, master, err)
			}
		}
		if _, err := s.SSH(t.Context(), master, tcp(s.Address("n1"), 10250)); err != nil {
			t.Errorf("%s does not reach the kubelet of n1: %v", master, err)
		}
		s.Shell(master, "timeout 20 kubectl --kubeconfig /etc/kubernetes/admin.conf logs --prefix -l app=talkers --tail 1")
	}
	for _, h := range v.holders {
		s.Shell(h, "conntrack -D -p 112 2>/dev/null; true") // connections from before the endpoints stay open
	}
	if vrrpArrives(s, v.others(v.holder())[0]) {
		t.Error("VRRP passes host endpoints without a policy: the policy of docs/guides/networks.md is not needed")
	}
	before := v.holder()
	s.Shell(before, "systemctl stop deployer-keepalived")
	s.Eventually(30*time.Second, "the address moves", func() error {
		if now := v.find(); now == "" || now == before {
			return fmt.Errorf("%q has it", now)
		}
		_, err := s.SSH(t.Context(), "n1", "curl -sk --max-time 2 https://"+virtualAddress+":8443/readyz | grep -q ^ok")
		return err
	})
	s.Shell(before, "systemctl start deployer-keepalived")
	s.Shell("m1", `calicoctl apply -f - <<'EOF'
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: {name: vrrp}
spec: {selector: host == 'master', types: [Ingress, Egress], ingress: [{action: Allow, protocol: 112}], egress: [{action: Allow, protocol: 112}]}
EOF`)
	s.Eventually(20*time.Second, "the policy permits VRRP", func() error {
		if !vrrpArrives(s, before) {
			return fmt.Errorf("no advertisement arrives")
		}
		return nil
	})
	s.RequireReady([]string{"m1", "m2", "m3", "n1"})
	s.RequireTexts(s.Must("install").All(), "0 changed")
	if two, when := v.watch.overlap(); two > maxOverlap {
		t.Errorf("two hosts had the address for %s: %s", two, when)
	}
}

// closeHosts gives hosts a host endpoint each, which closes all ports but failsafe ones, and waits until it
// does.
func closeHosts(s *harness.Site, hosts []string) {
	s.T.Helper()
	for _, host := range hosts {
		s.Shell("m1", `calicoctl apply -f - <<'EOF'
apiVersion: projectcalico.org/v3
kind: HostEndpoint
metadata: {name: `+host+`, labels: {host: master}}
spec: {node: `+host+`, interfaceName: "*", expectedIPs: ["`+s.Address(host)+`"]}
EOF`)
		const healthOfKubeProxy = 10256
		s.Eventually(20*time.Second, "the host endpoint of "+host+" closes ports", func() error {
			if _, err := s.SSH(s.T.Context(), "n1", tcp(s.Address(host), healthOfKubeProxy)); err == nil {
				return fmt.Errorf("port %d is open", healthOfKubeProxy)
			}
			return nil
		})
	}
}

// vrrpArrives reports whether an advertisement of VRRP passes all filters of a host within two seconds.
func vrrpArrives(s *harness.Site, host string) bool {
	s.T.Helper()
	return strings.TrimSpace(s.Shell(host, `nft 'add table ip seen; add chain ip seen i { type filter hook input priority 10; }; add rule ip seen i ip protocol 112 counter'
sleep 2; nft list table ip seen | grep -o 'packets [0-9]*'; nft delete table ip seen`)) != "packets 0"
}
