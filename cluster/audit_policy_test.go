package cluster_test

import (
	"slices"
	"testing"

	"deployer/cluster"
)

// TestDefaultAuditPolicy: the audit log is written unless the inventory disables it,
// and records requests that give access to pods, nodes and confidential data, reads
// included.
func TestDefaultAuditPolicy(t *testing.T) {
	c := mustResolve(t, cluster.Spec{}, masters(1))
	if !c.Audit.Enabled || !slices.Contains(c.Nodes["m1"].Args.APIServer, "--audit-log-path=/var/log/kubernetes/audit/audit.log") {
		t.Fatal("the API server writes no audit log by default")
	}
	for _, request := range []struct{ user, verb, group, resource, want string }{
		{"admin", "get", "", "pods/exec", "Metadata"}, // kubectl over WebSockets
		{"admin", "create", "", "pods/exec", "Metadata"},
		{"admin", "get", "", "pods/attach", "Metadata"},
		{"admin", "get", "", "pods/portforward", "Metadata"},
		{"admin", "get", "", "pods/proxy", "Metadata"},
		{"admin", "get", "", "services/proxy", "Metadata"},
		{"admin", "get", "", "nodes/proxy", "Metadata"},
		{"admin", "get", "", "secrets", "Metadata"},
		{"system:nodes", "watch", "", "secrets", "Metadata"},
		{"admin", "list", "", "configmaps", "Metadata"},
		{"system:nodes", "create", "authentication.k8s.io", "tokenreviews", "Metadata"},
		{"system:nodes", "create", "", "serviceaccounts/token", "Metadata"},
		{"admin", "create", "", "pods", "Metadata"},
		{"admin", "patch", "apps", "deployments", "Metadata"},
		{"admin", "patch", "", "pods/status", "Metadata"},
		{"system:nodes", "patch", "", "pods/status", "None"},
		{"system:nodes", "update", "coordination.k8s.io", "leases", "None"},
		{"admin", "create", "", "events", "None"},
		{"admin", "get", "", "pods", "None"},
		{"admin", "get", "", "pods/log", "None"},
	} {
		if got := auditLevel(t, c.Audit.Policy, request.user, request.verb, request.group, request.resource); got != request.want {
			t.Errorf("%s of %q/%s by %s is logged at %q, want %s", request.verb, request.group, request.resource, request.user, got, request.want)
		}
	}
}

// auditLevel applies a policy as the API server does: the first rule whose users,
// verbs and resources all match decides; a rule without one of these matches any.
func auditLevel(t *testing.T, policy map[string]any, group, verb, apiGroup, resource string) string {
	t.Helper()
	for _, r := range policy["rules"].([]any) {
		rule := r.(map[string]any)
		if matches(rule["userGroups"], group) && matches(rule["verbs"], verb) && matchesResource(rule["resources"], apiGroup, resource) {
			return rule["level"].(string)
		}
	}
	return ""
}

func matches(list any, value string) bool {
	values, some := list.([]any)
	return !some || slices.Contains(values, any(value))
}

func matchesResource(list any, group, resource string) bool {
	entries, some := list.([]any)
	return !some || slices.ContainsFunc(entries, func(e any) bool {
		entry := e.(map[string]any)
		return entry["group"] == group && matches(entry["resources"], resource)
	})
}

func TestAuditIsSwitchedOff(t *testing.T) {
	c := mustResolve(t, cluster.Spec{API: cluster.APISpec{Audit: cluster.AuditSpec{Enabled: new(bool)}}}, masters(1))
	if c.Audit.Enabled || slices.ContainsFunc(c.Nodes["m1"].Args.APIServer, func(a string) bool { return flagName(a) == "--audit-log-path" }) {
		t.Error("the API server writes an audit log although the inventory switches it off")
	}
}
