//go:build lab

package mistakes

import (
	"fmt"
	"strings"
	"time"

	"deployer/test/harness"
)

// droppedPackets: another program makes the kernel of a node drop what its pods send, by the policy
// of a chain and by a chain of its own.
func droppedPackets(s *site) {
	s.deploy("traveller", "m3", 1, nil, nil)
	defer s.undeploy("traveller")
	for _, way := range []struct{ drop, undo, named, mend string }{
		{"iptables -P FORWARD DROP", "iptables -P FORWARD ACCEPT", "chain FORWARD of table ip filter drops packets by default",
			"iptables -I FORWARD -s 10.244.0.0/16 -j ACCEPT && iptables -I FORWARD -d 10.244.0.0/16 -j ACCEPT"},
		{"nft 'add table inet foreign; add chain inet foreign forward { type filter hook forward priority 10; policy accept; }; add rule inet foreign forward ip saddr 10.244.0.0/16 drop'",
			"nft delete table inet foreign", `chain forward of table inet foreign has the rule "ip saddr 10.244.0.0/16 drop"`,
			"nft insert rule inet foreign forward ip saddr 10.244.0.0/16 accept && nft insert rule inet foreign forward ip daddr 10.244.0.0/16 accept"},
	} {
		s.Shell("m3", way.drop)
		texts := []string{"pods of this host do not reach", "tried from default/traveller", way.named}
		status := s.Deployer("status")
		s.RequireExit(status, problems)
		s.RequireTexts(status.All(), texts...)
		verify := s.Deployer("verify")
		s.RequireExit(verify, problems)
		s.RequireTexts(verify.All(), append(texts, way.mend)...)
		s.RequireTexts(s.Deployer("diagnose", "--file", s.T.TempDir()+"/archive.tar.gz").All(), "pods have no way out of the cluster", "pod egress: "+way.named)
		check := s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode")
		s.RequireExit(check, problems)
		s.RequireTexts(check.All(), way.named)
		// The advice helps.
		s.Shell("m3", way.mend)
		s.Must("status")
		s.Shell("m3", way.undo)
		s.Shell("m3", "iptables -D FORWARD -s 10.244.0.0/16 -j ACCEPT 2>/dev/null; iptables -D FORWARD -d 10.244.0.0/16 -j ACCEPT 2>/dev/null; true")
	}
	s.unchanged()
}

// laterSetting: a file that a boot reads after deployer's undoes one of its kernel settings.
func laterSetting(s *site) {
	const file = "/etc/sysctl.d/99-zz-cis.conf"
	s.Shell("n1", "echo net.ipv4.ip_forward=0 >"+file)
	defer s.Shell("n1", "rm -f "+file)
	named := file + ` sets net.ipv4.ip_forward to "0" at the next boot`
	for _, args := range [][]string{{"status"}, {"verify"}, {"apply", "-i", s.Inventory, "--check", "--detailed-exitcode"}} {
		o := s.Run(append(args, "-i", s.Inventory)...)
		s.RequireExit(o, problems)
		s.RequireTexts(o.All(), named)
	}
	install := s.Deployer("install")
	s.RequireExit(install, problems)
	s.RequireTexts(install.All(), named, "remove the line from "+file)
	s.Shell("n1", "rm "+file)
	s.unchanged()
}

// blockedPods: pods that cannot leave their node now, because of a budget or a finalizer, are named
// before anything is drained, with the way out.
func blockedPods(s *site) {
	s.deploy("crash", "n1", 2, nil, []string{"/none"})
	s.deploy("held", "n1", 1, []string{"example.com/hold"}, nil)
	defer s.undeploy("crash", "held")
	defer s.Kubectl("m1", "delete pdb crash")
	s.apply("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: crash}\nspec: {minAvailable: 1, selector: {matchLabels: {app: crash}}}\n")
	s.Eventually(time.Minute, "the budget counts its pod", func() error {
		if got := s.Kubectl("m1", "get pdb crash -o 'jsonpath={.status.expectedPods}'"); got != "2" {
			return fmt.Errorf("expected pods: %q", got)
		}
		return nil
	})
	named := []string{"pods that cannot leave their node now", "n1: default/crash-", "PodDisruptionBudget default/crash allows no disruption now: 0 of 2 pods are healthy, 1 must be", "unhealthyPodEvictionPolicy: AlwaysAllow",
		"n1: default/held-", "it stays until its finalizers are removed: example.com/hold"}
	check := s.Deployer("scale-down", "n1", "--check")
	s.RequireExit(check, 0)
	s.RequireTexts(lastLines(check), named...)
	s.setCluster(105, "kubelet", "max_pods")
	plan := s.Deployer("upgrade", "plan", "--drain", "always")
	s.RequireExit(plan, 0)
	s.RequireTexts(lastLines(plan), named...)
	// The way out that is named is one.
	s.Kubectl("m1", "patch pdb crash --type merge -p '{\"spec\":{\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"}}'")
	if last := lastLines(s.Deployer("scale-down", "n1", "--check")); strings.Contains(last, "default/crash-") || !strings.Contains(last, "default/held-") {
		s.T.Errorf("with AlwaysAllow:\n%s", last)
	}
}

// lastLines returns the last twelve lines of an output.
func lastLines(o harness.Outcome) string {
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// reservedName: a container that the kubelet does not count has the name of the next container of a
// static pod, as after a clock that jumped. The advice names a command that hosts have.
func reservedName(s *site) {
	undo := s.occupyNextName("m2", "kube-scheduler")
	defer undo()
	s.Shell("m2", "pkill -KILL kube-scheduler")
	var verify string
	s.Eventually(2*time.Minute, "verify names the container", func() error {
		verify = s.Deployer("verify").All()
		if !strings.Contains(verify, "is reserved for") {
			return fmt.Errorf("%s", verify)
		}
		return nil
	})
	advice := "ctr -n k8s.io tasks kill -s KILL "
	s.RequireTexts(verify, advice)
	command := advice + strings.Fields(verify[strings.Index(verify, advice)+len(advice):])[0]
	s.RequireTexts(s.Deployer("status").All(), "is reserved for")
	s.Shell("m2", command)
	undo()
	s.Eventually(3*time.Minute, "the scheduler runs again", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return fmt.Errorf("%s", o.Stdout)
		}
		return nil
	})
}
