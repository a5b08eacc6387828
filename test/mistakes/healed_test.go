//go:build lab

package mistakes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// flushedRules: another program flushes the packet filter of a node, or restarts its service.
// Pods of the node have a way out of the cluster again, by themselves. The rules of Services
// come back when kube-proxy compares them, every 30 s (iptables.syncPeriod). Clients are served
// again before the next flush; otherwise the two outages would count as one.
func flushedRules(s *site) {
	for _, line := range []string{"nft flush ruleset", "systemctl restart nftables", "systemctl start nftables && systemctl reload nftables"} {
		s.Shell("n1", line)
		for what, list := range map[string]string{
			"the rules for pods":    "nft list table ip deployer_pods >/dev/null",
			"the rules of Services": "nft list ruleset | grep -q KUBE-SVC-",
		} {
			s.Eventually(time.Minute, what+" are back after "+line, func() error {
				_, err := s.SSH(s.T.Context(), "n1", list)
				return err
			})
		}
		s.requireServed(line)
	}
	s.unchanged()
}

// requireServed requires that the calls of all clients succeed again.
func (s *site) requireServed(after string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 30*time.Second)
	defer cancel()
	if err := s.clients.WaitServed(ctx); err != nil {
		s.T.Errorf("after %s: %v", after, err)
	}
}

// deletedCertificates: the directory with the certificates and keys of a master is deleted, and
// one apply repairs it. No process keeps the deleted directory.
func deletedCertificates(s *site) {
	authority := s.Shell("m1", "sha256sum </etc/kubernetes/pki/ca.crt")
	s.Shell("m2", "rm -rf /etc/kubernetes/pki")
	o := s.Run("apply", "-i", s.Inventory, "--yes")
	s.RequireExit(o, 0)
	if got := s.Shell("m2", "sha256sum </etc/kubernetes/pki/ca.crt"); got != authority {
		s.T.Errorf("m2 has another authority")
	}
	s.requireNoDeletedMounts("m2")
	s.unchanged()
	s.Must("verify")
}

// requireNoDeletedMounts requires that no component on a host has a directory mounted that was
// deleted: it would read its certificates from there for ever.
func (s *site) requireNoDeletedMounts(host string) {
	s.T.Helper()
	s.Eventually(time.Minute, "components have the present directories mounted", func() error {
		found := s.Shell(host, `for p in $(pidof kube-apiserver kube-controller-manager kube-scheduler kube-proxy); do grep -l '//deleted' /proc/$p/mountinfo; done; true`)
		if found != "" {
			return fmt.Errorf("deleted directories are mounted: %s", found)
		}
		return nil
	})
}

// copiedManifest: an editor or a person has left a copy beside a manifest, which the kubelet
// runs as well, so the flags of the copy may win over a change of install.
func copiedManifest(s *site) {
	const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	s.Shell("m1", "cp "+manifest+" "+manifest+".bak")
	defer s.Shell("m1", "rm -f "+manifest+".bak")
	status := s.Deployer("status")
	s.RequireExit(status, problems)
	s.RequireTexts(status.All(), "kube-apiserver.yaml.bak defines pod kube-system/kube-apiserver")
	s.requireRefused("kube-apiserver.yaml.bak")
	s.Shell("m1", "rm "+manifest+".bak")
	s.Eventually(2*time.Minute, "the kubelet has started the pod of the manifest again", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.Stdout)
		}
		return nil
	})
	s.unchanged()
}

// resolverStub: the resolver of the hosts becomes the stub of systemd-resolved, at an address
// that is another machine in each pod. DNS of the cluster goes on, and after the repair too.
func resolverStub(s *site) {
	for _, h := range nodes {
		s.Shell(h, "mkdir -p /run/systemd/resolve && cp /etc/resolv.conf /run/systemd/resolve/resolv.conf && echo nameserver 127.0.0.53 >/etc/resolv.conf")
	}
	s.Must("install")
	s.Kubectl("m1", "-n kube-system rollout restart deployment/coredns")
	s.Kubectl("m1", "-n kube-system rollout status deployment/coredns --timeout=90s")
	s.Must("verify")
	for _, h := range nodes {
		s.Shell(h, "cp /run/systemd/resolve/resolv.conf /etc/resolv.conf && rm -r /run/systemd/resolve")
	}
	s.Must("install")
	s.Must("verify")
}

// unchanged requires that the cluster is as its inventory says.
func (s *site) unchanged() {
	s.T.Helper()
	o := s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode")
	if o.Code != 0 {
		s.T.Errorf("apply --check: exit %d\n%s", o.Code, o.All())
	}
}
