package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// The flags of the API server that name its admission plugins.
const (
	flagEnablePlugins  = "enable-admission-plugins"
	flagDisablePlugins = "disable-admission-plugins"
)

// defaultAdmissionPlugins are the default plugins that Kubernetes does not enable by
// itself. NodeRestriction restricts a kubelet to its own node and pods.
// DenyServiceExternalIPs rejects Services that capture other addresses (CVE-2020-8554).
func defaultAdmissionPlugins() []string { return []string{"NodeRestriction", "DenyServiceExternalIPs"} }

// admissionPlugins returns the value of --enable-admission-plugins for the
// overrides of an API server: the default plugins and those that extra_args adds,
// less those that extra_args names in --disable-admission-plugins. Only the latter
// removes a default plugin, so a list of further plugins, or a null, cannot do it
// by accident. The API server refuses a name that is in both flags.
func admissionPlugins(overrides map[string]any) string {
	own := section(overrides, extraArgs)
	disabled := pluginNames(own[flagDisablePlugins])
	names := unique(append(defaultAdmissionPlugins(), pluginNames(own[flagEnablePlugins])...))
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(disabled, name) })
	return strings.Join(names, ",")
}

// pluginNames reads the value of a flag that takes a comma-separated list, which
// may be a list in the inventory too.
func pluginNames(value any) []string {
	var out []string
	switch v := value.(type) {
	case nil:
	case []any:
		for _, e := range v {
			out = append(out, pluginNames(e)...)
		}
	default:
		for _, name := range strings.Split(fmt.Sprint(v), ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// apiServerArgs are the flags of the API server with its overrides.
func (r *resolver) apiServerArgs(n Node, overrides map[string]any) []string {
	own := withoutKeys(section(overrides, extraArgs), flagEnablePlugins)
	own[flagEnablePlugins] = admissionPlugins(overrides)
	return flags(r.apiServerFlags(n), map[string]any{extraArgs: own})
}

// admissionConfig configures the admission plugin PodSecurity, which is enabled in
// every API server (kubernetes.io/docs/concepts/security/pod-security-admission)
// and allows every pod without it. Namespaces choose other levels by their
// labels. The version "latest" is that of the API server.
func admissionConfig(s PodSecuritySpec) map[string]any {
	exempt := unique(append([]string{"kube-system"}, s.ExemptNamespaces...))
	return map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AdmissionConfiguration",
		"plugins": []any{map[string]any{
			"name": "PodSecurity",
			"configuration": map[string]any{
				"apiVersion": "pod-security.admission.config.k8s.io/v1",
				"kind":       "PodSecurityConfiguration",
				"defaults": map[string]any{
					"enforce": s.Enforce, "enforce-version": "latest",
					"audit": s.Audit, "audit-version": "latest",
					"warn": s.Warn, "warn-version": "latest",
				},
				"exemptions": map[string]any{"namespaces": textList(exempt)},
			},
		}},
	}
}
