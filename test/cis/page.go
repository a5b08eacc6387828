package cis

import (
	"fmt"
	"strings"
)

const intro = `# Security of an installed cluster

This page is made of test/cis/checks.yaml (` + "`make docs`" + `). End-to-end tests evaluate the checks that a program can decide on an installed cluster, those that are not met too.

What an install does without being asked:
- **Keys.** Each host makes its own keys and gets certificates for what the inventory says it is. The authorities are three: cluster, etcd, front proxy; their keys are on masters only, mode 0600. API server, controller manager, scheduler and kube-proxy see the keys that they use and no others ([decision](decisions/2026-11-22-mounts-of-static-pods.md)).
- **Secrets** are encrypted before etcd stores them. The key is in /etc/kubernetes/encryption.yaml on every master: keep a copy elsewhere. An install never replaces a lost key by itself once etcd has data.
- **The API** knows RBAC and Node authorization only. Anonymous requests reach the health endpoints and nothing else.
- **Pods** outside of kube-system are held to the Pod Security level baseline, and clients are warned below restricted: ` + "`cluster.api.pod_security`" + `, and labels of namespaces. They have the runtime's seccomp profile and at most 4096 processes: ` + "`overrides.kubelet`" + `.
- **The audit log** is in /var/log/kubernetes/audit of each master, up to 1.1 GiB: who changed what, who ran or forwarded what in which pod, who read Secrets and ConfigMaps. ` + "`cluster.api.audit`" + ` changes it. To have it elsewhere too, ship the files.
- **Admission plugins** that overrides name are added to NodeRestriction and DenyServiceExternalIPs. One is removed by its name in ` + "`disable-admission-plugins`" + `.

What stays the operator's: accounts of people, roles, network policies (the pod network enforces none), where images come from, the firewall between hosts and the world.

## CIS Kubernetes Benchmark 1.11
Numbers are those of kube-bench's cis-1.11. *Met*: after an install, of itself. *Not met*: with the reason. *Operator*: what deployer leaves to whoever runs the cluster. An asterisk marks the checks that tests evaluate on an installed cluster.
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
	fmt.Fprintf(&b, "\n%d are met, %d are not, %d are the operator's.\n", counts[Met], counts[NotMet], counts[Operator])
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n| Check | What it is about | State | |\n|---|---|---|---|\n", s.Title)
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
