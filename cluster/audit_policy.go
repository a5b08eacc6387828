package cluster

// auditPolicy returns the user's policy, or the default one. The API server
// applies the first rule that matches a request, so the order counts:
//
//   - Metadata of every request, reads too, that gives access to a pod or a node
//     or that touches confidential data. Clients open exec, attach and port-forward
//     with GET (WebSockets), so they must precede the rule that drops reads.
//   - Nothing of other reads, of events, of leases and of the status that nodes
//     report, which are most of the requests of an idle cluster.
//   - Metadata of every other request.
//
// No rule records a body, so the log holds no secret.
func auditPolicy(s AuditSpec) map[string]any {
	if len(s.Policy) > 0 {
		return cloneMap(s.Policy)
	}
	status := auditRule("None", auditResources("", "nodes/status", "pods/status"))
	status["userGroups"] = []any{"system:nodes"}
	return map[string]any{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"omitStages": []any{"RequestReceived"},
		"rules": []any{
			auditRule("Metadata",
				auditResources("", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"),
				auditResources("", "secrets", "configmaps", "serviceaccounts/token"),
				auditResources("authentication.k8s.io", "tokenreviews"),
			),
			map[string]any{"level": "None", "verbs": []any{"get", "list", "watch"}},
			auditRule("None",
				auditResources("", "events"),
				auditResources("events.k8s.io", "events"),
				auditResources("coordination.k8s.io", "leases"),
			),
			status,
			auditRule("Metadata"),
		},
	}
}

// auditRule is a rule of a policy. Without resources it matches every request.
func auditRule(level string, resources ...any) map[string]any {
	rule := map[string]any{"level": level}
	if len(resources) > 0 {
		rule["resources"] = resources
	}
	return rule
}

// auditResources names resources of one API group; a subresource is named as
// RESOURCE/SUBRESOURCE and is not covered by its resource.
func auditResources(group string, names ...string) any {
	return map[string]any{"group": group, "resources": textList(names)}
}
