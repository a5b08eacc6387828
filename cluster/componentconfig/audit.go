package componentconfig

import (
	"fmt"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy checks an audit policy by the rules of the API server, which exits at its
// start when one is broken: k8s.io/apiserver pkg/audit/policy/reader.go and
// pkg/apis/audit/validation/validation.go.
func (k *checker) auditPolicy(value map[string]any) {
	var p auditv1.Policy
	if !k.decode(value, &p) {
		return
	}
	if p.APIVersion != "audit.k8s.io/v1" || p.Kind != "Policy" {
		k.add(nil, "apiVersion and kind are %q and %q: write audit.k8s.io/v1 and Policy", p.APIVersion, p.Kind)
	}
	if len(p.Rules) == 0 {
		k.add([]string{"rules"}, "a policy needs at least one rule")
	}
	stages := []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}
	k.stages([]string{"omitStages"}, p.OmitStages, stages)
	levels := []auditv1.Level{auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse}
	for i, rule := range p.Rules {
		at := []string{"rules", fmt.Sprintf("[%d]", i)}
		if !slices.Contains(levels, rule.Level) {
			k.add(childPath(at, "level"), "%q is unknown: use None, Metadata, Request or RequestResponse", rule.Level)
		}
		if len(rule.NonResourceURLs) > 0 && len(rule.Resources)+len(rule.Namespaces) > 0 {
			k.add(childPath(at, "nonResourceURLs"), "a rule is for paths or for resources, not for both")
		}
		for _, url := range rule.NonResourceURLs {
			if url != "*" && (!strings.HasPrefix(url, "/") || strings.Contains(strings.TrimSuffix(url, "*"), "*")) {
				k.add(childPath(at, "nonResourceURLs"), "%q does not begin with a slash, or has a * that is not at its end", url)
			}
		}
		for j, r := range rule.Resources {
			if len(r.ResourceNames) > 0 && len(r.Resources) == 0 {
				k.add(append(childPath(at, "resources"), fmt.Sprintf("[%d]", j), "resourceNames"), "resourceNames needs resources in the same rule")
			}
			if strings.Contains(r.Group, "/") {
				k.add(append(childPath(at, "resources"), fmt.Sprintf("[%d]", j), "group"), "%q has a version: write the group alone", r.Group)
			}
		}
		k.stages(childPath(at, "omitStages"), rule.OmitStages, stages)
	}
}

func (k *checker) stages(at []string, all []auditv1.Stage, known []string) {
	for _, s := range all {
		if !slices.Contains(known, string(s)) {
			k.add(at, "%q is unknown: use %s", s, strings.Join(known, ", "))
		}
	}
}
