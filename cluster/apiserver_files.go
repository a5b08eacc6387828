package cluster

// apiServerFiles are the configuration files of the API server that hold no
// secret. The one with the encryption key is the keyring's.
func (r *resolver) apiServerFiles() []ConfigFile {
	out := []ConfigFile{{
		Src:   "authentication.yaml.tmpl",
		Dest:  authenticationFile,
		Value: authenticationConfig(),
	}, {
		Src:   "admission.yaml.tmpl",
		Dest:  admissionFile,
		Value: admissionConfig(r.spec.API.PodSecurity),
	}}
	if r.out.Audit.Enabled {
		out = append(out, ConfigFile{
			Src:   "audit-policy.yaml.tmpl",
			Dest:  auditPolicyFile,
			Value: r.out.Audit.Policy,
		})
	}
	return out
}

// authenticationConfig permits requests without credentials to read health endpoints
// and nothing else, so that probes and load balancers need no secret. Structured
// authentication and the conditions on paths are stable since Kubernetes 1.34
// (apiserver/pkg/features: StructuredAuthenticationConfiguration,
// AnonymousAuthConfigurableEndpoints).
func authenticationConfig() map[string]any {
	return map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"anonymous": map[string]any{
			"enabled": true,
			"conditions": []any{
				map[string]any{"path": "/livez"},
				map[string]any{"path": "/readyz"},
				map[string]any{"path": "/healthz"},
			},
		},
	}
}
