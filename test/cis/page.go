package cis

import (
	"fmt"
	"strings"
)

const intro = `# Security of an installed cluster

` + "`make docs`" + ` generates this page from test/cis/checks.yaml. End-to-end tests evaluate every check that a program can decide on an installed cluster, including the checks that are not met.

Defaults of an installation:
- **Keys.** Each host generates its own keys and gets certificates for the roles that the inventory gives it. There are three certificate authorities: cluster, etcd and front proxy; their keys are on masters only, mode 0600. The pods of API server, controller manager, scheduler and kube-proxy mount only the keys that they use ([decision](decisions/2026-11-22-mounts-of-static-pods.md)).
- **Secrets** are encrypted before etcd stores them. The key is in /etc/kubernetes/encryption.yaml on every master: keep a copy outside of the cluster. Once etcd has data, an install does not replace a lost key; it fails.
- **The API** uses the authorization modes RBAC and Node only. Anonymous requests reach only the health endpoints (/livez, /readyz, /healthz).
- **Pods** outside of kube-system must meet the Pod Security level baseline, and clients get a warning about pods that do not meet restricted; change this with ` + "`cluster.api.pod_security`" + ` or labels of namespaces. Pods get the runtime's default seccomp profile and at most 4096 processes; change this with ` + "`overrides.kubelet`" + `.
- **Backups of etcd** carry proof that the cluster has saved them, and a restore refuses others: write the fingerprint that ` + "`deployer etcd backup`" + ` prints into the inventory ([proof of origin](guides/etcd.md#proof-of-origin)).
- **The audit log** is in /var/log/kubernetes/audit on each master and takes up to 1.1 GiB. The log records who changed what, who used exec, attach or port-forward in which pod, and who read Secrets and ConfigMaps. ` + "`cluster.api.audit`" + ` configures it. deployer does not ship the files to a central log.
- **Admission plugins** of ` + "`overrides.apiserver.extra_args`" + ` are added to NodeRestriction and DenyServiceExternalIPs. To remove a plugin, list it in ` + "`disable-admission-plugins`" + `.

The operator is responsible for user accounts, RBAC roles, network policies (the network plugin bgp enforces none, Calico does), the origin of images, and the firewall between the hosts and other networks; deployer can [close the ports of etcd and kubelets](guides/host-firewall.md).

## CIS Kubernetes Benchmark 1.11
The numbers are those of kube-bench's cis-1.11. *Met*: an install meets the check without further settings. *Not met*: the last column has the reason. *Operator*: the check depends on the operator of the cluster. An asterisk marks the checks that tests evaluate on an installed cluster.
`

// Page renders docs/security.md.
func Page(sections []Section) string {
	var b strings.Builder
	b.WriteString(intro)
	counts := map[string]int{}
	for _, s := range sections {
		for _, c := range s.Checks {
			counts[c.Verdict]++
		}
	}
	fmt.Fprintf(&b, "\n%d checks are met, %d are not met, %d are the operator's.\n", counts[Met], counts[NotMet], counts[Operator])
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n| Check | Subject | State | Note |\n|---|---|---|---|\n", s.Title)
		for _, c := range s.Checks {
			mark := ""
			if c.Test != nil {
				mark = "*"
			}
			fmt.Fprintf(&b, "| %s%s | %s | %s | %s |\n", c.ID, strings.ReplaceAll(mark, "*", `\*`), c.Title, c.Verdict, c.Why)
		}
	}
	return b.String()
}
