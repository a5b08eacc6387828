package certificates

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/engine"
	"deployer/keeper/host"
	"deployer/tasks/certificate"
	"deployer/tasks/httpcheck"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
)

// Process is one that reads its certificate only when it starts. All others read theirs again by
// themselves (roles/certificates-in-use).
type Process struct {
	Name    string
	Restart engine.Module
	Ready   engine.Module // nil: the steps of the renewal have another proof
}

// ReadyTimeout is the maximum wait for one process.
const ReadyTimeout = 5 * time.Minute

// Processes returns those of a host with these certificates, in the order in which they restart.
func Processes(own []certificate.Want) []Process {
	var out []Process
	if at := index(own, "kubelet-client"); at >= 0 {
		out = append(out, Process{"kubelet", &unit.Unit{
			Name: "kubelet.service", State: "started", OnlyIfUp: true, RestartIfOlderThan: []string{own[at].CertPath},
		}, nil})
	}
	for _, pod := range []struct {
		certificate, manifest string
		health                httpcheck.HTTP
	}{
		{"controller-manager", "kube-controller-manager", httpcheck.HTTP{URL: "https://127.0.0.1:10257/healthz", Insecure: true}},
		{"scheduler", "kube-scheduler", httpcheck.HTTP{URL: "https://127.0.0.1:10259/healthz", Insecure: true}},
		{"calico-typha", "calico-typha", httpcheck.HTTP{URL: "http://127.0.0.1:9098/readiness"}},
		{"kube-proxy", "kube-proxy", httpcheck.HTTP{URL: "http://127.0.0.1:10256/livez", Body: `"status":\{"IPv[46]"`}},
	} {
		at := index(own, pod.certificate)
		if at < 0 {
			continue
		}
		manifest := "/etc/kubernetes/manifests/" + pod.manifest + ".yaml"
		out = append(out, Process{pod.manifest,
			&staticpod.Reload{Manifest: manifest, Files: []string{own[at].CertPath}, Signal: "TERM", MissingOK: true},
			&staticpod.Ready{Manifest: manifest, Health: &pod.health, Timeout: ReadyTimeout, MissingOK: true},
		})
	}
	return out
}

// Run restarts the process when it began before its certificate, and waits until it is ready if the API
// answers: without it no process becomes ready.
func (p Process) Run(ctx context.Context, sys *host.System, api bool) error {
	err := host.Converge(ctx, sys, p.Restart)
	if err == nil && p.Ready != nil && api {
		err = host.Converge(ctx, sys, p.Ready)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// index returns the place of the certificate with a name; -1 when there is none.
func index(own []certificate.Want, name string) int {
	return slices.IndexFunc(own, func(w certificate.Want) bool { return w.Name == name })
}
