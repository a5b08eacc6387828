package rules

import (
	"strings"

	"deployer/tasks/control/report"
)

// rowSigns say how bad the problem of a check is, by the beginning of its name; the first
// that fits counts.
var rowSigns = []struct {
	prefix   string
	severity Severity
	title    string
	guide    string
}{
	{"etcd", Critical, "etcd is not healthy", "guides/etcd.md#a-member-is-broken"},
	{"unit etcd.service", Critical, "etcd does not run", "guides/etcd.md#a-member-is-broken"},
	{"unit ", Critical, "a unit of the cluster does not run", "guides/apply.md"},
	{"Kubernetes API", Critical, "the Kubernetes API is not ready", "guides/runbooks.md#a-master-is-dead"},
	{"API", Critical, "the host does not reach the Kubernetes API", "guides/runbooks.md#a-master-is-dead"},
	{"node", Critical, "a node is not Ready", "guides/runbooks.md#a-master-is-dead"},
	{"kube-", Critical, "a component of Kubernetes is not healthy", "guides/apply.md"},
	{"kubelet", Critical, "a component of Kubernetes is not healthy", "guides/apply.md"},
	{"static pods", Critical, "a static pod does not run as its manifest says", "guides/apply.md#problems-that-no-run-repairs"},
	{"files in manifests", Critical, "another file defines a static pod of deployer", "guides/apply.md#problems-that-no-run-repairs"},
	{"rules for pods", Critical, "pods have no way out of the cluster", "guides/apply.md#problems-that-no-run-repairs"},
	{"rules of Services", Critical, "Services do not answer on a host", "guides/apply.md#problems-that-no-run-repairs"},
	{"pod egress", Critical, "pods have no way out of the cluster", "guides/apply.md#problems-that-no-run-repairs"},
	{"CNI configuration", Critical, "another CNI configuration is used", "guides/apply.md#problems-that-no-run-repairs"},
	{"kernel settings", Warning, "a kernel setting is not as wanted", "guides/apply.md#problems-that-no-run-repairs"},
	{"name servers of pods", Warning, "cluster DNS asks other name servers than the host", "guides/apply.md#problems-that-no-run-repairs"},
	{"APIService", Critical, "an APIService is not available", "guides/apply.md#problems-that-no-run-repairs"},
	{"webhook", Critical, "the API server cannot call a webhook", "guides/apply.md#problems-that-no-run-repairs"},
	{"deployment ", Warning, "a workload of the system is not complete", ""},
	{"daemonset ", Warning, "a workload of the system is not complete", ""},
}

// FromRows returns a finding for each row with a problem.
func FromRows(rows []report.Row) []Finding {
	var out []Finding
	for _, r := range report.Problems(rows) {
		f := Finding{Severity: Warning, Title: "a check has found a problem", Host: r.Host, Evidence: r.Check + ": " + r.Detail, Advice: r.Fix, File: "checks.json"}
		if isCertificate(r) {
			f.Title, f.Guide = "a certificate is not in order", "guides/certificates.md#renew"
			if strings.Contains(r.Detail, "expired") {
				f.Severity, f.Title, f.Guide = Critical, "a certificate has expired", "guides/runbooks.md#certificates-have-expired"
			}
			out = append(out, f)
			continue
		}
		for _, sign := range rowSigns {
			if strings.HasPrefix(r.Check, sign.prefix) {
				f.Severity, f.Title, f.Guide = sign.severity, sign.title, sign.guide
				break
			}
		}
		if r.Host == "" {
			f.File = ""
		}
		out = append(out, f)
	}
	return out
}

// isCertificate reports whether a row is that of a certificate.
func isCertificate(r report.Row) bool {
	return strings.HasPrefix(r.Check, "certificate") || strings.HasPrefix(r.Check, "authority")
}
